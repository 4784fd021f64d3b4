//! Cases that a check decides rather than steps.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::conversation::Conversation;
use super::exchange::CaseSpeaker;
use super::opening::Opening;
use super::snapshot::Purpose;
use super::target::{OpenSession, REQUEST_TIMEOUT, SessionError, TargetSessions};
use super::{Options, Stop, finding, snapshot};
use crate::event::{CheckResult, Finding, Outcome, Phase, Reason};
use crate::plan::{
    BoxFuture, Case, Check, CheckContext, CloseServer, ClosedServer, FreshServers, OpenServer, RunningServer,
    ServerChoice, StepOutcome, StepRunner, SuiteSetup,
};
use crate::session::Session;
use crate::source::template::{Names, fill};
use crate::suite::Step;

/// Runs the check of a case, which keeps its own time.
pub(crate) async fn run_check(
    target: &Arc<TargetSessions>,
    case: &Case,
    check: &dyn Check,
    options: &Options,
) -> CheckResult {
    let begun = Instant::now();
    // Where the plan was frozen, nobody has asked the server yet; why it cannot be asked is told by whoever speaks to it.
    let _ = target.catalog().await;
    let catalog = target.known_catalog();
    let suite = &target.planned().suite;
    let servers = TargetServers::new(target, case, options);
    let names = target.known_names().await;
    let recordings = &target.emitter().recordings;
    let record =
        |file: PathBuf, value: Value| snapshot::hand_on(target.emitter(), case, suite.folder.join(file), &value);
    let context = CheckContext {
        owner: &case.id,
        suite,
        server_name: &target.planned().lanes[target.index].server,
        catalog: &catalog,
        server: target.identity(),
        names: &names,
        filled: &|node| fill(node, &names).ok().map(|filled| filled.to_json()),
        neutral: &|value| target.neutral(value),
        servers: &servers,
        steps: &servers,
        request_timeout: suite.options.request_timeout.unwrap_or(REQUEST_TIMEOUT),
        case_timeout: options.timeout,
        sources: &target.plan.sources,
        record: (recordings.snapshots.purpose == Purpose::Update).then_some(&record),
        is_replayed: target.is_replayed,
    };
    let probed = tokio::select! {
        probed = check.run(context) => probed,
        () = stopped(&options.stop, check) => CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
    };
    let place = |found: Finding| finding::at(found, &target.plan.sources, case.span, "");
    let findings = probed.findings.into_iter().map(place).collect();
    CheckResult { findings, duration: begun.elapsed(), ..probed }
}

/// Waits until the run is asked to stop, and then for a check that ends by itself.
async fn stopped(stop: &Stop, check: &dyn Check) {
    stop.wait().await;
    if check.ends_by_itself() {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

pub(crate) struct TargetServers<'a> {
    target: Arc<TargetSessions>,
    case: &'a Case,
    options: &'a Options,
    /// The captures of the suite's setup in the session that was opened last.
    learned: Mutex<Names>,
}

impl<'a> TargetServers<'a> {
    pub(crate) fn new(target: &Arc<TargetSessions>, case: &'a Case, options: &'a Options) -> Self {
        Self { target: Arc::clone(target), case, options, learned: Mutex::default() }
    }

    async fn open(&self, request: OpenServer<'_>) -> Result<Session, Finding> {
        if matches!(request, OpenServer { server: ServerChoice::Fresh, faults: None, setup: SuiteSetup::Run })
            && let Some(session) = self.target.take_untouched(self.case).await
        {
            return Ok(session);
        }
        let opened = self.target.open_requested(&request, Opening::with(&self.case.answers)).await;
        let session = opened.map_err(SessionError::into_finding)?;
        let is_started = matches!(request.server, ServerChoice::Fresh | ServerChoice::Configured(_));
        if !is_started || request.setup == SuiteSetup::Skip || !self.target.sets_up_probes() {
            return Ok(session);
        }
        let OpenSession { session, names } = self.target.set_up(session).await?;
        *self.learned.lock() = names;
        Ok(session)
    }

    async fn close(&self, session: &Session, way: CloseServer) -> ClosedServer {
        match way {
            CloseServer::Shutdown(order) => {
                let shutdown = self.target.shut_down_own(session, self.case, order).await;
                return ClosedServer { exit: None, shutdown };
            }
            CloseServer::AfterTeardown if self.target.sets_up_probes() => {
                let names = self.learned.lock().clone();
                // The server ends with it; calls that were made up may have taken away what it looks for.
                self.target.run_teardown(session, names).await;
            }
            CloseServer::AfterTeardown | CloseServer::WithoutTeardown => {}
        }
        ClosedServer { exit: self.target.close_own(session, self.case).await.exit, shutdown: None }
    }
}

impl FreshServers for TargetServers<'_> {
    fn open<'a>(&'a self, request: OpenServer<'a>) -> BoxFuture<'a, Result<Session, Finding>> {
        Box::pin(self.open(request))
    }

    fn close<'a>(&'a self, session: &'a Session, way: CloseServer) -> BoxFuture<'a, ClosedServer> {
        Box::pin(self.close(session, way))
    }

    fn of_server<'a>(&'a self, server: &str) -> Option<Box<dyn FreshServers + 'a>> {
        let target = Arc::new(self.target.beside_server(server, self.options)?);
        Some(Box::new(Self::new(&target, self.case, self.options)))
    }

    fn running(&self) -> Vec<RunningServer> {
        self.target.emitter().running.list()
    }

    fn wait_for_stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.options.stop.wait())
    }
}

impl StepRunner for TargetServers<'_> {
    fn run<'a>(&'a self, session: &'a Session, step: &'a Step, names: &'a Names) -> BoxFuture<'a, StepOutcome> {
        Box::pin(async {
            let mut known = self.target.known_names().await;
            known.extend(self.learned.lock().clone());
            known.extend(names.clone());
            let speaker = CaseSpeaker { session, owner: &self.case.id, catalog: self.target.known_catalog() };
            let mut conversation = Conversation::new(speaker, known, &self.target);
            let (index, answered) = conversation.speak(Phase::Steps, step).await;
            let (answer, unmet) = match answered {
                Ok(Some(heard)) => {
                    let unmet = conversation.judge(step, &heard, index);
                    (Ok(heard.reply.message), unmet)
                }
                Ok(None) => (Err(Finding::new("no-answer", "the step has no answer")), Vec::new()),
                Err(found) => {
                    let label = step.name.as_deref().unwrap_or("this request");
                    (Err(finding::at(found, &self.target.plan.sources, step.span, label)), Vec::new())
                }
            };
            let names = conversation.learned();
            StepOutcome { exchange: conversation.exchanges.swap_remove(index), answer, unmet, names }
        })
    }
}
