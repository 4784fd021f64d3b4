//! Opens sessions of a target: with a fresh server, or with the server of another session.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tokio::time::Instant;

use super::resolve::{self, Reachable, Starts};
use super::running::other_processes;
use super::store_copies::{CopyLease, StoreCopies, StoreUse};
use super::store_move::StoreMove;
use super::target::RunTarget;
use super::{RunMessage, SessionFrames, finding, micros, names, store_paths};
use crate::carrier::on_link;
use crate::diagnosis;
use crate::event::{Code, FailureClass, Finding, Reason, RequirementLevel, ServerStarts, Severity, StepProblem};
use crate::fault::FaultPlayer;
use crate::plan::arguments::ConfigSource;
use crate::plan::{Case, CaseStore, OpenServer, ServerChoice};
use crate::session::{ClosedSession, Connector, Disturbance, OpenFailure, Session, SessionSettings};
use crate::source::template::{Names, Unfilled};
use crate::suite::{Answers, Handshake, StartChanges};
use crate::transport::{ConnectError, Link};
use crate::wire::Revision;

/// A session after the suite's setup.
pub(crate) struct OpenSession {
    pub(crate) session: Session,
    /// The target's names and what the suite's setup captured.
    pub(crate) names: Names,
}

/// Why a case got no session.
pub(crate) enum SessionError {
    /// The case does not apply to the server.
    NotApplicable(Reason),
    /// The server could not be used.
    Broken(Box<Finding>),
    /// The run was stopped while the session was opened.
    Interrupted,
}

impl SessionError {
    pub(crate) fn broken(found: Finding) -> Self {
        Self::Broken(Box::new(found))
    }

    /// The error of a case whose suite's setup went wrong: where a step was not allowed, the case does not apply.
    pub(crate) fn of_setup(found: Finding) -> Self {
        match found.step_problem.as_deref() {
            Some(StepProblem::ReadOnly) => Self::NotApplicable(Reason::ReadOnly(found.message)),
            Some(StepProblem::ToolNotAllowed) => Self::NotApplicable(Reason::ToolNotAllowed(found.message)),
            _ => Self::broken(found),
        }
    }

    /// Why, as a finding.
    pub(crate) fn into_finding(self) -> Finding {
        match self {
            Self::Broken(found) => *found,
            Self::NotApplicable(reason) => Finding::new(Code::NOT_SPOKEN, reason.to_string()),
            Self::Interrupted => Finding::new("interrupted", Reason::Interrupted.to_string()),
        }
    }
}

/// The settings of a new session.
#[derive(Clone, Copy)]
pub(crate) struct SessionOpening<'a> {
    /// The client's answers to requests of the server.
    pub(crate) answers: &'a Answers,
    pub(crate) handshake: Handshake,
    /// Names that only this session has, beside those of its target.
    pub(crate) names: &'a Names,
    /// The faults that strike what it sends and gets.
    pub(crate) faults: Option<&'a Arc<FaultPlayer>>,
    /// True if the server may end during its start; then its start is no finding and in no recording.
    pub(crate) may_end: bool,
    /// The copy of its store that a process gets which is started for the session.
    pub(crate) store: StoreUse<'a>,
    /// The session whose server it has, too; `None` where it is the first.
    pub(crate) beside: Option<&'a Session>,
    /// The revision, where it is not that of the target.
    pub(crate) revision: Option<Revision>,
}

impl<'a> SessionOpening<'a> {
    /// With a handshake, and without names of its own.
    pub(crate) fn with(answers: &'a Answers) -> Self {
        static NONE: LazyLock<Names> = LazyLock::new(Names::new);
        Self {
            answers,
            handshake: Handshake::Perform,
            names: &NONE,
            faults: None,
            may_end: false,
            store: StoreUse::Anew,
            beside: None,
            revision: None,
        }
    }

    /// The same with the server of another session.
    fn beside(self, session: &'a Session) -> Self {
        Self { beside: Some(session), ..self }
    }

    /// As a case wants it; `names` are all that it has.
    pub(crate) fn of_case(case: &'a Case, names: &'a Names) -> Self {
        Self { handshake: case.handshake, names, store: StoreUse::Of(&case.id), ..Self::with(&case.answers) }
    }
}

/// Opens a session with a fresh server.
pub(crate) async fn open(target: &RunTarget, how: SessionOpening<'_>) -> Result<Session, SessionError> {
    open_at(target, target.server.clone(), target.known_revision(), how).await
}

/// Opens a session with the server of another session, which has an address.
pub(crate) async fn open_beside(
    target: &RunTarget,
    session: &Session,
    how: SessionOpening<'_>,
) -> Result<Session, SessionError> {
    let address = session.endpoint().map(|endpoint| endpoint.address().clone());
    let server = address.map_or_else(|| target.server.clone(), |address| Ok(Reachable::Http(address)));
    let opened = open_at(target, server, Some(session.server.revision), how.beside(session)).await?;
    opened.learn(&target.known_catalog());
    Ok(opened)
}

/// Opens the session that a check asks for; the client answers the server with `answers`, and `case` has the copies of its
/// store.
pub(crate) async fn open_requested(
    target: &RunTarget,
    request: &OpenServer<'_>,
    answers: &Answers,
    case: &str,
) -> Result<Session, Finding> {
    let catalog = target.known_catalog();
    if let Some(faults) = request.faults {
        faults.learn(&catalog);
    }
    let store = if request.store == CaseStore::Anew { StoreUse::Anew } else { StoreUse::Of(case) };
    let how = SessionOpening { faults: request.faults, store, ..SessionOpening::with(answers) };
    let opened = match request.server {
        ServerChoice::Fresh => open(target, how).await,
        ServerChoice::Configured(changes) => open_configured(target, changes, how).await,
        ServerChoice::InRevision(revision) => {
            let how = SessionOpening { revision: Some(revision), ..how };
            open_at(target, target.server.clone(), Some(revision), how).await
        }
        ServerChoice::Of(session) if session.endpoint().is_none() => {
            return Err(Finding::new("not-applicable", "the server can have one session only"));
        }
        ServerChoice::Of(session) => open_beside(target, session, how).await,
        ServerChoice::AsUser { session, user } => {
            let server = address_of_user(target, session, user);
            open_at(target, server, Some(session.server.revision), how.beside(session)).await
        }
    };
    let session = opened.map_err(SessionError::into_finding)?;
    session.learn(&catalog);
    Ok(session)
}

/// The server of a session, reached in the name of a user.
fn address_of_user(target: &RunTarget, session: &Session, user: &str) -> Result<Reachable, Finding> {
    let Some(endpoint) = session.endpoint() else { return target.server.clone() };
    let names = target.names.clone().unwrap_or_default();
    let (reached, environment) = (endpoint.address(), &target.environment);
    let address = resolve::address_of_user(target.settings(), reached, user, &names, environment, target.redactor());
    address.map(|address| Reachable::Http(target.with_user_token(address, user)))
}

/// Opens a session with a server whose start is changed. A recorded session had the changes when it was recorded.
async fn open_configured(
    target: &RunTarget,
    changes: &StartChanges,
    how: SessionOpening<'_>,
) -> Result<Session, SessionError> {
    if target.is_replayed && changes.must_not_start {
        let found = Finding::failure(FailureClass::ProcessExited, "the recorded server did not start");
        return Err(SessionError::broken(found));
    }
    let server = if target.is_replayed { target.server.clone() } else { server_with(target, changes) };
    open_at(target, server, target.known_revision(), SessionOpening { may_end: changes.must_not_start, ..how }).await
}

fn server_with(target: &RunTarget, changes: &StartChanges) -> Result<Reachable, Finding> {
    if target.starts() == Starts::Nothing {
        let why = "the server is not started by this run, so nothing can be added to its start";
        return Err(Finding::new("not-started-here", why));
    }
    let names = target.names.as_ref().map_err(|unfilled| finding::at_template(unfilled, &target.plan.sources))?;
    let names = names::of_server(target.settings(), names);
    let server = resolve::server(&target.settings().with(changes), &names, &target.environment, target.redactor())?;
    Ok(match &target.tamper {
        Some(tamper) => server.with_tamper(tamper, &target.id()),
        None => server,
    })
}

async fn open_at(
    target: &RunTarget,
    server: Result<Reachable, Finding>,
    known: Option<Revision>,
    SessionOpening { answers, handshake, names: own, faults, may_end, store, beside, revision }: SessionOpening<'_>,
) -> Result<Session, SessionError> {
    let broken = |found: Finding| SessionError::broken(target.at_server(found));
    let unfilled = |unfilled: Unfilled| broken(finding::at_template(&unfilled, &target.plan.sources));
    let server = server.map_err(SessionError::broken)?;
    let names = target.names.clone().map_err(unfilled)?;
    let names: Names = names.into_iter().chain(own.clone()).collect();
    let starts = server.starts();
    let permits = if starts == Starts::Nothing { Vec::new() } else { target.start_pace.turn(&target.emitter).await };
    let copy = match &target.stores {
        Some(stores) if starts != Starts::Nothing => Some(CopiedStore::of(stores, store).await.map_err(broken)?),
        Some(_) | None => None,
    };
    let moving_beside = beside.zip(target.stores.as_ref()).and_then(|(session, stores)| stores.moving_of(session));
    let moving = copy.as_ref().map(|copy| &copy.moving).or(moving_beside.as_ref());
    let server = match &copy {
        Some(CopiedStore { moving, .. }) => server.at_copy(target.settings(), moving).map_err(broken)?,
        None => server,
    };
    let settings = SessionSettings {
        revision: revision.or(target.protocol().revision()),
        known,
        start_timeout: target.start_timeout(),
        request_timeout: target.request_timeout(),
        answers: resolve::answers(answers, &names, &target.suite().folder, moving).map_err(unfilled)?,
        performs_handshake: handshake == Handshake::Perform,
        keeps_frames: target.keeps_frames,
        disturbance: match faults {
            Some(_) => Disturbance::Faults,
            None if target.tamper.is_some() || target.is_replayed => Disturbance::Proof,
            None => Disturbance::None,
        },
        answered: target.answered.clone().filter(|_| faults.is_none()),
    };
    let (begun, processes) = (Instant::now(), AtomicUsize::new(0));
    let connector: &Connector<'_> = &|| {
        processes.fetch_add(usize::from(starts != Starts::Nothing), Ordering::Relaxed);
        Box::pin(connect(target, &server, copy.as_ref(), moving, faults))
    };
    let revision = settings.revision.or(known).map_or("auto".to_owned(), |revision| revision.to_string());
    let mut opened = Box::pin(Session::open(connector, settings)).await;
    let processes = processes.into_inner();
    if processes > 0 {
        let waited_us = micros(begun.elapsed());
        target.emitter.send(RunMessage::Started(ServerStarts { processes, waited_us }));
    }
    let unused = match &mut opened {
        Ok(session) => std::mem::take(&mut session.earlier),
        Err(failed) => std::mem::take(&mut failed.connections),
    };
    if let Ok(session) = &opened
        && !unused.is_empty()
    {
        target.report(session.server.revision.as_str(), [ended_by_discovery()]);
    }
    if !(may_end && opened.is_err()) {
        for closed in unused {
            report_unopened(target, &revision, closed);
        }
    }
    let failed = match opened {
        Ok(session) => {
            if starts == Starts::WithStream && !session.has_handshake() {
                // A server on a stream may still be starting.
                session.hold_while_starting(permits);
            } else if starts != Starts::Nothing && known.is_some() {
                // Without a known revision, an old server may have let a question of newer clients pass.
                target.start_pace.note(&session);
            }
            return Ok(session);
        }
        Err(failed) => *failed,
    };
    match &failed.failure {
        OpenFailure::NotSpoken { asked, speaks } => {
            let (supported, requested) = (speaks.clone(), asked.to_string());
            Err(SessionError::NotApplicable(Reason::RevisionNotSupported { supported, requested }))
        }
        OpenFailure::Connect(_) | OpenFailure::Handshake(_) | OpenFailure::Refused { .. } => {
            // Two processes of a server may be in each other's way: at a port, a lock, a file.
            let others = other_processes(&target.emitter.running.list(), target.server_name());
            let finding = diagnosis::of_open_failure(&failed.failure, ConfigSource::of(target.suite()));
            Err(broken(finding.with_evidence("other processes", others)))
        }
    }
}

/// A server that had to be started again, because the first question of newer clients ended it.
fn ended_by_discovery() -> Finding {
    Finding {
        level: RequirementLevel::Should,
        severity: Some(Severity::Low),
        help: Some(
            "answer a method that the server does not know with the error -32601, before `initialize`, too: clients of the \
             revision 2026-07-28 ask `server/discover` first, and not all of them start the server again"
                .to_owned(),
        ),
        ..Finding::new("discovery-fatal", "the server ends when `server/discover` is its first request")
    }
}

/// A copy of the store for a process that is about to start.
struct CopiedStore {
    lease: CopyLease,
    moving: StoreMove,
}

impl CopiedStore {
    async fn of(stores: &Arc<StoreCopies>, using: StoreUse<'_>) -> Result<Self, Finding> {
        let lease = stores.take(using).await?;
        let moving = lease.moving(stores);
        Ok(Self { lease, moving })
    }
}

async fn connect(
    target: &RunTarget,
    server: &Reachable,
    copy: Option<&CopiedStore>,
    moving: Option<&StoreMove>,
    faults: Option<&Arc<FaultPlayer>>,
) -> Result<Link, ConnectError> {
    let mut link = resolve::connect(server, target.start_timeout()).await?;
    if let Some(processes) = &link.processes {
        copy.inspect(|copy| copy.lease.note_process(processes));
        target.emitter.running.add(target.server_name(), target.protocol().as_str(), processes);
    }
    if let Some(moving) = moving {
        link = store_paths::at_copy(link, moving);
    }
    // Recorded messages have the faults in them.
    if let Some(faults) = faults.filter(|_| !target.is_replayed) {
        link = on_link(link, Arc::clone(faults));
    }
    Ok(match &target.tamper {
        Some(tamper) => tamper.link(&target.id(), link),
        None => link,
    })
}

/// Reports what is left of a connection that became no session.
fn report_unopened(target: &RunTarget, revision: &str, closed: ClosedSession) {
    let mut found = diagnosis::of_violations(&closed.violations, &closed.frames);
    // A server that does not start often says one thing all the time.
    found.dedup_by(|later, earlier| later.message == earlier.message);
    target.report(revision, found);
    let frames = target.frames_of(revision.to_owned(), None, closed);
    target.emitter.session(SessionFrames { has_begun: false, ..frames });
}
