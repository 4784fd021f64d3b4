//! One server in one revision during a suite: its shared session, its catalog, what is known of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use super::conversation::{self, Conversation};
use super::exchange::CaseSpeaker;
use super::history::History;
use super::machine_paths::MachinePaths;
use super::opening::Opening;
use super::pool::{ServerPool, SessionUse};
use super::read_only::without_setup;
use super::resolve::{self, Reachable, Starts};
use super::reuse::ReusableSessions;
use super::scan::ScanResults;
use super::{Emitter, Options, Stop, Tamper, finding, micros};
use crate::diagnosis;
use crate::event::{Event, Finding, Phase, Reason, Section, ServerReady, ToolsChosen};
use crate::fault::FaultPlayer;
use crate::plan::{
    Case, ChosenTools, ListedTools, Offer, Plan, SessionNeed, SuitePlan, chosen_tools, rests_on_valid_calls,
};
use crate::redact::Redactor;
use crate::session::{ServerIdentity, Session};
use crate::source::Node;
use crate::source::template::{Names, Unfilled, fill};
use crate::suite::{Answers, RestartPolicy};
use crate::wire::{Catalog, Revision};

/// The defaults where neither suite nor command line says anything.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A server in one revision.
pub(crate) struct TargetSessions {
    pub(crate) plan: Arc<Plan>,
    suite: usize,
    pub(crate) index: usize,
    pub(crate) names: Result<Names, Unfilled>,
    pub(crate) server: Result<Reachable, Finding>,
    /// Fetched once, by the first session.
    catalog: OnceCell<Result<Arc<Catalog>, Finding>>,
    pub(crate) shared: Mutex<SharedSession>,
    pub(crate) pool: ServerPool,
    pub(crate) reusable: ReusableSessions,
    /// The results of the scans.
    pub(crate) scan_results: ScanResults,
    /// The calls that the server has served; `None` if no generated case has to know.
    pub(crate) history: Option<History>,
    /// Whether generated calls may change the server's data.
    writes: AtomicBool,
    /// The server's identity from the first session.
    identity: OnceCell<ServerIdentity>,
    emitter: Emitter,
    pub(crate) tamper: Option<Tamper>,
    pub(crate) stop: Stop,
    /// Whether sessions keep all of their frames.
    pub(crate) keeps_frames: bool,
    machine_paths: MachinePaths,
    /// The environment of this process.
    pub(crate) environment: Arc<BTreeMap<String, String>>,
    /// Whether a recording takes the place of the server.
    pub(crate) is_replayed: bool,
}

#[derive(Default)]
pub(crate) struct SharedSession {
    pub(crate) session: Option<Arc<OpenSession>>,
    known: Option<Revision>,
    /// Set where the session may not be opened again, with the reason.
    closed: Option<Finding>,
}

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
    /// Why, as a finding.
    pub(crate) fn into_finding(self) -> Finding {
        match self {
            Self::Broken(found) => *found,
            Self::NotApplicable(reason) => Finding::new("not-spoken", reason.to_string()),
            Self::Interrupted => Finding::new("interrupted", Reason::Interrupted.to_string()),
        }
    }
}

impl TargetSessions {
    pub(crate) fn new(plan: &Arc<Plan>, suite: usize, index: usize, options: &Options, emitter: &Emitter) -> Self {
        let planned = &plan.suites[suite];
        let mentioned = super::names::mentioned(plan, &options.environment);
        let names = super::names::of_suite(&planned.suite, &mentioned);
        let written = &planned.suite.servers[&planned.lanes[index].server];
        let replay = options.replay.as_ref().map(|replay| replay.server(planned.lane_id(index)));
        let given = replay.or_else(|| options.in_process.get(&planned.lanes[index].server).cloned());
        let server = match (given, &names) {
            (Some(given), _) => Ok(Reachable::InProcess(given)),
            (None, Ok(names)) => resolve::server(written, names, &options.environment, &emitter.recordings.redactor),
            (None, Err(Unfilled { span, reason })) => {
                let found = finding::unfilled(reason);
                Err(finding::at(found, &plan.sources, *span, finding::UNFILLED_HERE))
            }
        };
        let server = match &options.tamper {
            Some(tamper) => server.map(|server| server.tampered(tamper, &planned.lane_id(index))),
            None => server,
        };
        let server = server.map_err(|found| finding::at(found, &plan.sources, written.span, "this server"));
        Self {
            plan: Arc::clone(plan),
            suite,
            index,
            names,
            server,
            catalog: OnceCell::new(),
            shared: Mutex::default(),
            pool: ServerPool::new(options.parallel_of(&planned.suite)),
            reusable: ReusableSessions::default(),
            scan_results: ScanResults::default(),
            history: rests_on_valid_calls(planned, index).then(History::default),
            writes: AtomicBool::new(false),
            identity: OnceCell::new(),
            emitter: emitter.clone(),
            tamper: options.tamper.clone(),
            stop: options.stop.clone(),
            keeps_frames: options.keeps_frames,
            machine_paths: MachinePaths::of(&planned.suite.folder, &options.environment),
            environment: Arc::clone(&options.environment),
            is_replayed: options.replay.is_some(),
        }
    }

    /// Another server of the suite, in the same revision if the run uses it there; `None` if the run does not use it.
    pub(crate) fn beside_server(&self, server: &str, options: &Options) -> Option<Self> {
        let lanes = &self.planned().lanes;
        let of_server = |lane: &&usize| lanes[**lane].server == server;
        let all: Vec<usize> = (0..lanes.len()).collect();
        let same = all.iter().filter(of_server).find(|lane| lanes[**lane].protocol == lanes[self.index].protocol);
        let index = same.or_else(|| all.iter().find(of_server))?;
        Some(Self::new(&self.plan, self.suite, *index, options, &self.emitter))
    }

    /// The program that a connection to a fresh server starts.
    pub(crate) fn starts(&self) -> Starts {
        self.server.as_ref().map_or(Starts::Nothing, Reachable::starts)
    }

    /// The time that the server has to start.
    pub(crate) fn start_timeout(&self) -> Duration {
        self.planned().suite.options.start_timeout.unwrap_or(START_TIMEOUT)
    }

    pub(crate) fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.emitter.recordings.redactor
    }

    pub(crate) fn planned(&self) -> &SuitePlan {
        &self.plan.suites[self.suite]
    }

    /// Whether generated calls may change the server's data: somebody allowed it.
    pub(crate) fn may_write(&self) -> bool {
        self.writes.load(Ordering::Relaxed)
    }

    /// The revision that the first session spoke.
    pub(crate) fn known_revision(&self) -> Option<Revision> {
        self.identity.get().map(|identity| identity.revision)
    }

    /// A value without what is secret or belongs to this machine.
    pub(crate) fn neutral(&self, value: Value) -> Value {
        self.machine_paths.mask(self.emitter.recordings.redactor.value(value))
    }

    /// The server's identity from the first session.
    pub(crate) fn identity(&self) -> Option<&ServerIdentity> {
        self.identity.get()
    }

    /// The server's catalog; requested on first use.
    pub(crate) async fn catalog(&self) -> Result<Arc<Catalog>, SessionError> {
        if let Some(known) = self.catalog.get() {
            return known.clone().map_err(|found| SessionError::Broken(Box::new(found)));
        }
        self.ready().await?;
        match self.catalog.get() {
            Some(Ok(catalog)) => Ok(Arc::clone(catalog)),
            Some(Err(found)) => Err(SessionError::Broken(Box::new(found.clone()))),
            None => Ok(Arc::default()),
        }
    }

    /// The offer from which templates are expanded; the catalog is the one that was requested.
    pub(crate) fn offer<'a>(&'a self, catalog: &'a Catalog) -> Offer<'a> {
        static NOTHING: Value = Value::Null;
        let identity = self.identity.get();
        Offer {
            catalog,
            capabilities: identity.map_or(&NOTHING, |identity| &identity.capabilities),
            transport: identity.map(|identity| identity.transport),
            revision: identity.map(|identity| identity.revision),
        }
    }

    /// The part of the server's offer that is known without a request.
    pub(crate) fn known_catalog(&self) -> Arc<Catalog> {
        self.listed().unwrap_or_default()
    }

    /// The server's catalog; `None` if it was not requested or could not be listed.
    pub(crate) fn listed(&self) -> Option<Arc<Catalog>> {
        self.catalog.get()?.clone().ok()
    }

    /// The sections that blocks write about the listed tools; empty if the list is not known.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let (planned, catalog) = (self.planned(), self.known_catalog());
        let Some(revision) = self.known_revision() else { return Vec::new() };
        let listed = ListedTools {
            file: &planned.suite.file,
            server: &planned.lanes[self.index].server,
            revision: revision.as_str(),
            tools: &catalog.tools,
        };
        planned.blocks.iter().filter_map(|block| block.settings.section_of_tools(&listed)).collect()
    }

    /// A node with the target's names filled in.
    pub(crate) fn filled(&self, node: &Node) -> Option<Value> {
        fill(node, self.names.as_ref().ok()?).ok().map(|filled| filled.to_json())
    }

    /// The target's names, with what the suite's setup captured in the shared session.
    pub(crate) async fn known_names(&self) -> Names {
        let shared = self.shared.lock().await.session.clone();
        shared.map_or_else(|| self.names.clone().unwrap_or_default(), |shared| shared.names.clone())
    }

    /// Opens the first session, so that the catalog and the era are known before the first case.
    async fn ready(&self) -> Result<(), SessionError> {
        if !self.sets_up_every_session() {
            return self.session().await.map(drop);
        }
        let mut shared = self.shared.lock().await;
        if self.catalog.get().is_some() {
            return Ok(());
        }
        // A server that hangs while it starts costs its time once, not once per case.
        if let Some(reason) = &shared.closed {
            return Err(without_setup(reason.clone()));
        }
        let session = self.open_once(&mut shared, &self.planned().suite.answers).await?;
        self.close(&session).await;
        Ok(())
    }

    /// The session that cases share; a dead one is replaced where the suite allows it.
    pub(crate) async fn session(&self) -> Result<Arc<OpenSession>, SessionError> {
        let mut shared = self.shared.lock().await;
        if let Some(opened) = shared.session.as_ref().filter(|opened| opened.session.is_open()) {
            return Ok(Arc::clone(opened));
        }
        if let Some(reason) = &shared.closed {
            return Err(without_setup(reason.clone()));
        }
        if let Some(dead) = shared.session.take() {
            Box::pin(self.close(&dead.session)).await;
            if self.planned().suite.options.restart_policy == RestartPolicy::Never {
                let reason = Finding::new(
                    "server-ended",
                    "the server ended earlier, and `restart_policy: never` does not start it again",
                );
                shared.closed = Some(reason.clone());
                return Err(SessionError::Broken(Box::new(reason)));
            }
        }
        let session = self.open_once(&mut shared, &self.planned().suite.answers).await?;
        let opened = match self.set_up(session).await {
            Ok(opened) => Arc::new(opened),
            Err(found) => {
                shared.closed = Some(found.clone());
                return Err(without_setup(found));
            }
        };
        shared.session = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// A session for one case alone.
    ///
    /// Where every case has a fresh server, the suite's setup runs in it; elsewhere the setup ran once, in the shared
    /// session, and what it captured is known.
    pub(crate) async fn own_session(
        self: &Arc<Self>,
        case: &Case,
        turn: SessionUse,
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<OpenSession, SessionError> {
        self.catalog().await.map(drop).or_else(|none| match none {
            // A server whose list is broken may still serve calls.
            SessionError::Broken(_) if self.catalog.get().is_some() => Ok(()),
            SessionError::Broken(_) | SessionError::NotApplicable(_) | SessionError::Interrupted => Err(none),
        })?;
        let known = self.shared.lock().await.known;
        let session = self.fresh_session(known, case, turn, faults).await?;
        session.learn(&self.known_catalog());
        if let Some(faults) = faults {
            faults.learn(&self.known_catalog());
        }
        if case.session == SessionNeed::InTurn {
            session.mark();
        }
        if self.sets_up_every_session() {
            return self.set_up(session).await.map_err(without_setup);
        }
        Ok(OpenSession { session, names: self.known_names().await })
    }

    /// Whether setup and teardown of the suite belong to every session rather than to the shared one.
    pub(crate) fn sets_up_every_session(&self) -> bool {
        self.planned().suite.options.restart_policy == RestartPolicy::PerTest
    }

    /// Whether a session that a probe opens needs the suite's setup: it is the first with its server, or each one does.
    pub(crate) fn sets_up_probes(&self) -> bool {
        self.sets_up_every_session() || self.server.as_ref().is_ok_and(|server| !server.is_shared())
    }

    async fn open_once(&self, shared: &mut SharedSession, answers: &Answers) -> Result<Session, SessionError> {
        let opened = self.open(shared.known, Opening::with(answers)).await;
        let session = match opened {
            Ok(session) => session,
            Err(SessionError::Broken(found)) => {
                shared.closed = Some((*found).clone());
                return Err(SessionError::Broken(found));
            }
            Err(other) => return Err(other),
        };
        if shared.known.is_none() {
            shared.known = Some(session.server.revision);
            self.announce(&session);
        }
        let _ = self.identity.set(session.server.clone());
        self.catalog.get_or_init(|| self.ask_for_catalog(&session)).await;
        Ok(session)
    }

    async fn ask_for_catalog(&self, session: &Session) -> Result<Arc<Catalog>, Finding> {
        let revision = session.server.revision.to_string();
        // Work that is done once per server is kept out of the futures of cases, which are copied around.
        match Box::pin(session.catalog()).await {
            Ok(catalog) => {
                let found =
                    catalog.find_repeats().into_iter().map(finding::repeated).map(|found| self.at_server(found));
                self.judged(&revision, found.collect());
                self.announce_tools(&catalog, revision);
                Ok(Arc::new(catalog))
            }
            Err(failure) => {
                let broken = diagnosis::of_violations(&session.take_violations(""), &session.frames());
                let found = conversation::joined(vec![Finding::from(&failure)], broken);
                let found: Vec<Finding> = found.into_iter().map(|found| self.at_server(found)).collect();
                self.judged(&revision, found.clone());
                Err(found[0].clone())
            }
        }
    }

    /// Runs the setup of the suite in a session, and ends the session where it fails.
    pub(crate) async fn set_up(&self, session: Session) -> Result<OpenSession, Finding> {
        let names = self.names.clone().unwrap_or_default();
        let suite = &self.planned().suite;
        if suite.setup.is_empty() {
            return Ok(OpenSession { session, names });
        }
        let speaker = CaseSpeaker { session: &session, owner: "", catalog: self.known_catalog() };
        let mut conversation = Conversation::new(speaker, names, self);
        let failed = Box::pin(conversation.all(Phase::SuiteSetup, &suite.setup)).await.err();
        let names = conversation.learned();
        drop(conversation);
        match failed.and_then(|mut found| if found.is_empty() { None } else { Some(found.remove(0)) }) {
            None => Ok(OpenSession { session, names }),
            Some(found) => {
                let what = if finding::is_not_allowed(&found) { "was not run" } else { "failed" };
                let found = Finding { message: format!("the suite's setup {what}: {}", found.message), ..found };
                self.close(&session).await;
                Err(found)
            }
        }
    }

    /// Says which tools generated cases call although they may change data, before the first of them does.
    fn announce_tools(&self, catalog: &Catalog, revision: String) {
        let planned = self.planned();
        let Some(ChosenTools { writing, left_alone, help }) = chosen_tools(planned, self.index, catalog) else {
            return;
        };
        if !writing.is_empty() {
            self.writes.store(true, Ordering::Relaxed);
            self.history.iter().for_each(History::expect_writes);
        }
        let (file, server) = (planned.suite.file.clone(), planned.lanes[self.index].server.clone());
        self.emitter.event(Event::ToolsChosen(ToolsChosen { file, server, revision, writing, left_alone, help }));
    }

    fn announce(&self, session: &Session) {
        let planned = self.planned();
        self.emitter.event(Event::ServerReady(ServerReady {
            file: planned.suite.file.clone(),
            server: planned.lanes[self.index].server.clone(),
            transport: session.server.transport,
            revision: session.server.revision.to_string(),
            implementation: session.server.implementation.clone(),
            ready_us: micros(session.server.ready),
        }));
    }
}
