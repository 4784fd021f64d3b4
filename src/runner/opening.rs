//! Opens sessions of a target: with a fresh server, or beside another session of the same one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::resolve::{self, Reachable, Starts};
use super::target::{REQUEST_TIMEOUT, SessionError, TargetSessions};
use super::{RunMessage, finding, micros};
use crate::carrier::on_link;
use crate::event::{FailureClass, Finding, Reason, ServerStarts};
use crate::fault::FaultPlayer;
use crate::plan::{OpenServer, ServerChoice};
use crate::session::{Connector, OpenFailure, Session, SessionSettings};
use crate::source::template::{Names, Unfilled};
use crate::suite::{AddedSettings, Answers, Handshake, Protocol};
use crate::transport::{ConnectError, Link};
use crate::wire::Revision;

/// The settings of a new session.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// The client's answers to requests of the server.
    pub(crate) answers: &'a Answers,
    pub(crate) handshake: Handshake,
    /// Names that only this session has, beside those of its target.
    pub(crate) names: &'a Names,
    /// The faults that strike what it sends and gets.
    pub(crate) faults: Option<&'a Arc<FaultPlayer>>,
    /// Whether the server may end during its start; then its start is no finding and in no recording.
    pub(crate) may_end: bool,
}

impl<'a> Opening<'a> {
    /// With a handshake, and without names of its own.
    pub(crate) fn with(answers: &'a Answers) -> Self {
        static NONE: LazyLock<Names> = LazyLock::new(Names::new);
        Self { answers, handshake: Handshake::Perform, names: &NONE, faults: None, may_end: false }
    }
}

impl TargetSessions {
    /// Opens the session that a check asks for; `opening` has what the request leaves open.
    pub(crate) async fn open_requested(
        &self,
        request: &OpenServer<'_>,
        opening: Opening<'_>,
    ) -> Result<Session, SessionError> {
        let catalog = self.known_catalog();
        if let Some(faults) = request.faults {
            faults.learn(&catalog);
        }
        let opening = Opening { faults: request.faults, ..opening };
        let session = match request.server {
            ServerChoice::Fresh => self.open(self.known_revision(), opening).await?,
            ServerChoice::Configured(added) => self.open_configured(added, opening).await?,
            ServerChoice::Of(session) if session.endpoint().is_none() => {
                let found = Finding::new("not-applicable", "the server can have one session only");
                return Err(SessionError::Broken(Box::new(found)));
            }
            ServerChoice::Of(session) => self.open_beside(session, opening).await?,
            ServerChoice::AsUser { session, user } => {
                let server = self.address_of_user(session, user);
                self.open_at(server, Some(session.server.revision), opening).await?
            }
        };
        session.learn(&catalog);
        Ok(session)
    }

    /// Opens a session with the server of another session, which has an address.
    pub(crate) async fn open_beside(&self, session: &Session, how: Opening<'_>) -> Result<Session, SessionError> {
        let address = session.endpoint().map(|endpoint| endpoint.address().clone());
        let server = address.map_or_else(|| self.server.clone(), |address| Ok(Reachable::Http(address)));
        let opened = self.open_at(server, Some(session.server.revision), how).await?;
        opened.learn(&self.known_catalog());
        Ok(opened)
    }

    fn address_of_user(&self, session: &Session, user: &str) -> Result<Reachable, Finding> {
        let Some(endpoint) = session.endpoint() else { return self.server.clone() };
        let planned = self.planned();
        let written = &planned.suite.servers[&planned.lanes[self.index].server];
        let names = self.names.clone().unwrap_or_default();
        resolve::address_of_user(written, endpoint.address(), user, &names, self.redactor()).map(Reachable::Http)
    }

    /// Starts a server and shakes hands.
    pub(crate) async fn open(&self, known: Option<Revision>, how: Opening<'_>) -> Result<Session, SessionError> {
        self.open_at(self.server.clone(), known, how).await
    }

    /// Starts a server with more settings and shakes hands. A recorded session had them when it was recorded.
    async fn open_configured(&self, added: &AddedSettings, how: Opening<'_>) -> Result<Session, SessionError> {
        if self.is_replayed && added.must_not_start {
            let found = Finding::failure(FailureClass::ProcessExited, "the recorded server did not start");
            return Err(SessionError::Broken(Box::new(found)));
        }
        let server = if self.is_replayed { self.server.clone() } else { self.server_with(added) };
        self.open_at(server, self.known_revision(), Opening { may_end: added.must_not_start, ..how }).await
    }

    fn server_with(&self, added: &AddedSettings) -> Result<Reachable, Finding> {
        if self.starts() == Starts::Nothing {
            let why = "the server is not started by this run, so nothing can be added to its start";
            return Err(Finding::new("not-started-here", why));
        }
        let planned = self.planned();
        let written = planned.suite.servers[&planned.lanes[self.index].server].with(added);
        let unfilled = |Unfilled { span, reason }: &Unfilled| {
            finding::at(finding::unfilled(reason), &self.plan.sources, *span, finding::UNFILLED_HERE)
        };
        let names = self.names.as_ref().map_err(unfilled)?;
        let server = resolve::server(&written, names, &self.environment, self.redactor())?;
        Ok(match &self.tamper {
            Some(tamper) => server.tampered(tamper, &planned.lane_id(self.index)),
            None => server,
        })
    }

    async fn open_at(
        &self,
        server: Result<Reachable, Finding>,
        known: Option<Revision>,
        Opening { answers, handshake, names: own, faults, may_end }: Opening<'_>,
    ) -> Result<Session, SessionError> {
        let broken = |found: Finding| SessionError::Broken(Box::new(self.at_server(found)));
        let server = server.map_err(|found| SessionError::Broken(Box::new(found)))?;
        let unfilled = |Unfilled { span, reason }| {
            broken(finding::at(finding::unfilled(&reason), &self.plan.sources, span, finding::UNFILLED_HERE))
        };
        let names = self.names.clone().map_err(unfilled)?;
        let names: Names = names.into_iter().chain(own.clone()).collect();
        let answers = resolve::answers(answers, &names, &self.planned().suite.folder).map_err(unfilled)?;
        let start_timeout = self.start_timeout();
        let settings = SessionSettings {
            revision: match self.planned().lanes[self.index].protocol {
                Protocol::Auto => None,
                Protocol::Fixed(revision) => Some(revision),
            },
            known,
            start_timeout,
            request_timeout: self.planned().suite.options.request_timeout.unwrap_or(REQUEST_TIMEOUT),
            answers,
            performs_handshake: handshake == Handshake::Perform,
            keeps_frames: self.keeps_frames,
        };
        let starts = server.starts();
        let permit = self.permit(starts).await;
        let (begun, processes) = (Instant::now(), AtomicUsize::new(0));
        let connector: &Connector<'_> = &|| {
            processes.fetch_add(usize::from(starts != Starts::Nothing), Ordering::Relaxed);
            Box::pin(self.connect(&server, start_timeout, faults))
        };
        let revision = settings.revision.or(known).map_or("auto".to_owned(), |revision| revision.to_string());
        let mut opened = Box::pin(Session::open(connector, settings)).await;
        let processes = processes.into_inner();
        if processes > 0 {
            let waited_us = micros(begun.elapsed());
            self.emitter().send(RunMessage::Started(ServerStarts { processes, waited_us }));
        }
        let over = match &mut opened {
            Ok(session) => std::mem::take(&mut session.earlier),
            Err(failed) => std::mem::take(&mut failed.connections),
        };
        if !(may_end && opened.is_err()) {
            for closed in over {
                self.not_begun(&revision, closed);
            }
        }
        let failed = match opened {
            Ok(session) => return Ok(started(session, permit.filter(|_| starts == Starts::WithStream))),
            Err(failed) => *failed,
        };
        match &failed.failure {
            OpenFailure::NotSpoken { asked, speaks } => {
                let (supported, requested) = (speaks.clone(), asked.to_string());
                Err(SessionError::NotApplicable(Reason::RevisionNotSupported { supported, requested }))
            }
            OpenFailure::Connect(_) | OpenFailure::Handshake(_) | OpenFailure::Refused { .. } => {
                Err(broken(Finding::from(&failed.failure)))
            }
        }
    }

    /// Waits until a server may start, where one is started; its time to start begins after that.
    async fn permit(&self, starts: Starts) -> Option<OwnedSemaphorePermit> {
        match starts {
            Starts::Nothing => None,
            Starts::WithStream | Starts::WithAddress => Arc::clone(&self.emitter().starting).acquire_owned().await.ok(),
        }
    }

    async fn connect(
        &self,
        server: &Reachable,
        within: Duration,
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<Link, ConnectError> {
        let mut link = resolve::connect(server, within).await?;
        if let Some(processes) = &link.processes {
            let lane = &self.planned().lanes[self.index];
            self.emitter().running.add(&lane.server, lane.protocol.as_str(), processes);
        }
        // What was recorded has the faults in it.
        if let Some(faults) = faults.filter(|_| !self.is_replayed) {
            link = on_link(link, Arc::clone(faults));
        }
        Ok(match &self.tamper {
            Some(tamper) => tamper.link(&self.planned().lane_id(self.index), link),
            None => link,
        })
    }
}

/// A session whose server has started; without a handshake, a server on a stream may still be at it.
fn started(session: Session, permit: Option<OwnedSemaphorePermit>) -> Session {
    if let Some(permit) = permit.filter(|_| !session.has_handshake()) {
        session.hold_while_starting(permit);
    }
    session
}
