//! Cases that a check decides rather than steps.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::captured::{CapturedValues, help_for_unsendable};
use super::case::without_session;
use super::conversation::Conversation;
use super::ending::{SessionEndReason, end};
use super::exchange::CaseSpeaker;
use super::history::History;
use super::opening::{OpenSession, open_requested};
use super::sessions::TargetSessions;
use super::snapshot::Purpose;
use super::suite_steps::{set_up, tear_down};
use super::target::RunTarget;
use super::verdict::{without_own_limits, without_unread_answers};
use super::{Options, SessionPurpose, Stop, finding, snapshot};
use crate::diagnosis;
use crate::event::{CheckResult, Code, Finding, Outcome, Phase, Reason, RunEnd};
use crate::plan::{
    BoxFuture, Case, CaseStore, Check, CheckContext, CheckMachine, CloseServer, ClosedServer, FreshServers, OpenServer,
    RunningServer, ServerChoice, StepOutcome, StepRunner, SuiteSetup,
};
use crate::session::{InVain, Session};
use crate::source::template::Names;
use crate::suite::Step;
use crate::transport::Owner;
use crate::wire::Catalog;

/// Runs the check of a case, which keeps its own time.
pub(crate) async fn run_check(
    sessions: &Arc<TargetSessions>,
    case: &Case,
    check: &dyn Check,
    options: &Options,
) -> CheckResult {
    let begun = Instant::now();
    let target = sessions.target.as_ref();
    target.retire_stores(&case.id);
    // In a frozen plan, the server was not asked yet; a server that cannot be asked is reported by what speaks to it.
    let listed = sessions.shared.catalog(target).await;
    if let Err(error) = listed
        && check.needs_lists()
    {
        return without_session(error, &options.stop);
    }
    let catalog = target.known_catalog();
    let servers = TargetServers::new(sessions, case, options).reading_at_most(check.largest_message());
    let names = servers.names().await;
    let recordings = &target.emitter.recordings;
    let record = |file: PathBuf, value: Value| {
        snapshot::hand_on(&target.emitter, case, target.suite().folder.join(file), &value);
    };
    let owner = case.owner();
    let context = CheckContext {
        record: (recordings.snapshots.purpose == Purpose::Update).then_some(&record),
        ..servers.context(&owner, &catalog, &names)
    };
    let probed = tokio::select! {
        probed = check.run(context) => probed,
        () = wait_for_stop(&options.stop, check) => CheckResult::because(Outcome::Inconclusive, options.stop.reason()),
    };
    let probed = match &target.history {
        Some(history) => report_denials_beside(probed, history),
        None => probed,
    };
    let place = |found: Finding| finding::at(found, &target.plan.sources, case.span, "");
    let findings = probed.findings.into_iter().map(place).collect();
    let judged = without_own_limits(CheckResult { findings, duration: begun.elapsed(), ..probed });
    let judged = explain_refusal(judged, &servers.captured.unsendable());
    without_unread_answers(judged, servers.not_read.load(Ordering::Relaxed))
}

/// Says which captured values a server cannot know, if a call was refused that should be valid.
fn explain_refusal(mut judged: CheckResult, unsendable: &[String]) -> CheckResult {
    if let (Some(Reason::ValidCallRefused(refused)), Some(help)) = (&mut judged.reason, help_for_unsendable(unsendable))
    {
        refused.help = help;
    }
    judged
}

/// Leaves tools that the server lists and does not know to the findings about the whole server, where each stands once.
fn report_denials_beside(mut probed: CheckResult, history: &History) -> CheckResult {
    let is_denial = |found: &mut Finding| found.code == Code::TOOL_DENIED;
    let denied: Vec<Finding> = probed.findings.extract_if(.., is_denial).collect();
    if !denied.is_empty() && probed.findings.is_empty() {
        probed.outcome = Outcome::Inconclusive;
    }
    for found in denied {
        history.record_denied(found);
    }
    probed
}

/// Waits until the run is asked to stop, and then for a check that ends by itself.
async fn wait_for_stop(stop: &Stop, check: &dyn Check) {
    stop.wait().await;
    if check.ends_by_itself() {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

pub(crate) struct TargetServers<'a> {
    sessions: Arc<TargetSessions>,
    case: &'a Case,
    options: &'a Options,
    /// The captures of the suite's setup in the session that was opened last.
    learned: Mutex<Names>,
    captured: CapturedValues,
    /// The check strikes messages with faults, which may break them.
    strikes: AtomicBool,
    /// The memory that a message may take to be read, in bytes; `None` for any message.
    largest_message: Option<usize>,
    /// What its sessions are for.
    purpose: SessionPurpose,
    /// The number of messages that took more.
    not_read: Arc<AtomicUsize>,
}

impl<'a> TargetServers<'a> {
    pub(crate) fn new(sessions: &Arc<TargetSessions>, case: &'a Case, options: &'a Options) -> Self {
        Self {
            sessions: Arc::clone(sessions),
            case,
            options,
            learned: Mutex::default(),
            captured: CapturedValues::default(),
            strikes: AtomicBool::new(false),
            largest_message: None,
            purpose: SessionPurpose::Verdict,
            not_read: Arc::default(),
        }
    }

    /// The same, where larger messages are not read; `None` for any message.
    pub(crate) fn reading_at_most(self, largest_message: Option<usize>) -> Self {
        Self { largest_message, ..self }
    }

    /// The same for a search for arguments.
    pub(crate) fn searching_arguments(self) -> Self {
        Self { purpose: SessionPurpose::Arguments, ..self }
    }

    /// The names that a check can use: those of the target and of the suite's setup, and the path of its store.
    pub(crate) async fn names(&self) -> Names {
        let target = self.target();
        let mut names = self.sessions.shared.names_of_checks(target).await;
        self.captured.note(&target.suite().setup, &names);
        if let Some(stores) = &target.stores {
            names.insert("store".to_owned(), stores.first_path(&self.case.owner()).display().to_string().into());
        }
        names
    }

    /// The context of work on the target; frames belong to `owner`.
    pub(crate) fn context<'b>(&'b self, owner: &'b Owner, catalog: &'b Catalog, names: &'b Names) -> CheckContext<'b> {
        let target = self.target();
        CheckContext {
            owner,
            suite: target.suite(),
            server_name: target.server_name(),
            catalog,
            server: target.identity(),
            names,
            machine: self,
            servers: self,
            steps: self,
            request_timeout: target.request_timeout(),
            case_timeout: self.options.timeout,
            sources: &target.plan.sources,
            record: None,
            is_replayed: target.is_replayed,
        }
    }

    fn target(&self) -> &RunTarget {
        &self.sessions.target
    }

    async fn open(&self, request: OpenServer<'_>) -> Result<Session, Finding> {
        let session = self.open_unlimited(request).await?;
        self.largest_message.iter().for_each(|largest| session.limit_messages(*largest));
        Ok(session)
    }

    async fn open_unlimited(&self, request: OpenServer<'_>) -> Result<Session, Finding> {
        let target = self.target();
        if request.faults.is_some() {
            self.strikes.store(true, Ordering::Relaxed);
        }
        if matches!(request, OpenServer { server: ServerChoice::Fresh, faults: None, setup: SuiteSetup::Run, .. })
            && let Some(session) = self.sessions.shared.take_untouched(target, self.case).await
        {
            return Ok(session);
        }
        let session = open_requested(target, &request, &self.case.answers, &self.case.id).await?;
        let is_started =
            matches!(request.server, ServerChoice::Fresh | ServerChoice::Configured(_) | ServerChoice::InRevision(_));
        if !is_started || request.setup == SuiteSetup::Skip || !target.sets_up_checks() {
            return Ok(session);
        }
        let earlier =
            Some(self.setup_names()).filter(|names| request.store == CaseStore::Continued && !names.is_empty());
        let OpenSession { session, names } = set_up(target, session, earlier).await?;
        session.use_own_values(self.captured.note(&target.suite().setup, &names));
        *self.learned.lock() = names;
        Ok(session)
    }

    /// Takes note of the messages of a session that break the published schema. The other rules are about what was said
    /// before, and a check may have said what no client says.
    fn note_broken_messages(&self, session: &Session) {
        let found = session.take_all_violations();
        if found.is_empty() {
            return;
        }
        let (frames, scan_results) = (session.frames(), &self.target().scan_results);
        let mut left = scan_results.take_unclaimed(Some(self.case), found, session, &frames);
        left.retain(|owned| owned.violation.is_about_one_message());
        let is_judged = self.purpose == SessionPurpose::Verdict && !self.strikes.load(Ordering::Relaxed);
        if is_judged && !left.is_empty() {
            scan_results.add_beside(Some(self.case), diagnosis::of_violations(&left, &frames));
        }
    }

    fn setup_names(&self) -> Names {
        self.learned.lock().clone()
    }

    async fn close(&self, session: &Session, way: CloseServer) -> ClosedServer {
        let target = self.target();
        let reason = match way {
            CloseServer::Shutdown(order) => SessionEndReason::Shutdown(self.case, order),
            CloseServer::AfterTeardown | CloseServer::WithoutTeardown => match self.purpose {
                SessionPurpose::Verdict => SessionEndReason::CaseOver(self.case),
                SessionPurpose::Arguments => SessionEndReason::SearchOver(self.case),
            },
        };
        if matches!(way, CloseServer::AfterTeardown) && target.sets_up_checks() {
            // The server ends with it; generated calls may have taken away what it looks for.
            tear_down(target, session, self.setup_names()).await;
        }
        self.note_broken_messages(session);
        self.not_read.fetch_add(session.not_read(), Ordering::Relaxed);
        let ended = end(target, session, reason).await;
        target.stores.iter().for_each(|stores| stores.remove_left());
        ClosedServer { exit: ended.exit, shutdown: ended.shutdown }
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
        let target = self.target().other_server(server, self.options)?;
        let sessions = Arc::new(TargetSessions::of(target, self.options));
        let (largest_message, not_read) = (self.largest_message, Arc::clone(&self.not_read));
        Some(Box::new(Self { largest_message, not_read, ..Self::new(&sessions, self.case, self.options) }))
    }

    fn in_vain(&self, tool: &str, owner: &Owner) -> Option<InVain> {
        self.sessions.target.answered.as_ref()?.in_vain(tool, owner, || true)
    }

    fn note_end(&self, tool: &str, owner: &Owner) {
        self.sessions.target.answered.iter().for_each(|answered| answered.note_end(tool, owner));
    }

    fn running(&self) -> Vec<RunningServer> {
        self.target().emitter.running.list()
    }

    fn wait_for_stop(&self) -> BoxFuture<'_, RunEnd> {
        Box::pin(async {
            self.options.stop.wait().await;
            self.options.stop.end()
        })
    }
}

impl CheckMachine for TargetServers<'_> {
    fn neutral(&self, value: Value) -> Value {
        self.target().neutral(value)
    }

    fn keep_secret(&self, secret: &str) {
        self.target().redactor().learn_foreign(secret);
    }

    fn store(&self) -> Option<PathBuf> {
        self.target().stores.as_ref().map(|stores| stores.store())
    }

    fn at_store(&self, value: Value) -> Value {
        match &self.target().stores {
            Some(stores) => stores.at_store(value),
            None => value,
        }
    }

    fn path_in_copy(&self, path: &Path) -> Result<Option<PathBuf>, String> {
        self.target().path_in_copy(path, &self.case.id)
    }
}

impl StepRunner for TargetServers<'_> {
    fn run<'a>(&'a self, session: &'a Session, step: &'a Step, names: &'a Names) -> BoxFuture<'a, StepOutcome> {
        Box::pin(async {
            let target = self.target();
            let mut known = self.sessions.shared.names(target).await;
            known.extend(self.setup_names());
            known.extend(names.clone());
            let owner = self.case.owner();
            let speaker = CaseSpeaker { session, owner: &owner, catalog: target.known_catalog() };
            let mut conversation = Conversation::new(speaker, known, target);
            let (index, answered) = conversation.speak(Phase::Steps, step).await;
            let (answer, unmet) = match answered {
                Ok(Some(heard)) => {
                    let unmet = conversation.judge(step, &heard, index);
                    (Ok(heard.reply.message), unmet)
                }
                Ok(None) => (Err(Finding::new("no-answer", "the step has no answer")), Vec::new()),
                Err(found) => {
                    let label = step.name.as_deref().unwrap_or("this request");
                    (Err(finding::at(found, &target.plan.sources, step.span, label)), Vec::new())
                }
            };
            let names = conversation.captured_names();
            StepOutcome { exchange: conversation.exchanges.swap_remove(index), answer, unmet, names }
        })
    }
}
