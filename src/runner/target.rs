//! A server in one revision during a run: how it is reached, and what is known of it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::hang::FailedTools;
use super::history::History;
use super::machine_paths::MachinePaths;
use super::names::GivenNames;
use super::resolve::{self, Reachable, Starts};
use super::scan::ScanResults;
use super::shutdowns::ShutdownCounts;
use super::start_pace::StartPace;
use super::store_copies::{StoreCopies, StoreSource, cure_of_temporary_folder};
use super::untold_ends::UntoldEnds;
use super::{Emitter, Options, RunFolder, SessionFrames, SessionPurpose, Stop, Tamper, finding, micros, names};
use crate::event::{Code, Event, Finding, Section, ServerReady, SessionJudged, ToolsChosen};
use crate::plan::{Body, Case, ChosenTools, ListedTools, Offer, Plan, SuitePlan, chosen_tools, rests_on_valid_calls};
use crate::redact::Redactor;
use crate::session::{AnsweredTools, ClosedSession, ServerIdentity, Session};
use crate::source::Node;
use crate::source::template::{Names, Unfilled, fill};
use crate::suite::{Protocol, RestartPolicy, Server, Suite, absolute_path, is_builtin};
use crate::transport::Owner;
use crate::transport::http::{HttpAddress, TokenSource};
use crate::wire::{Catalog, Revision};

/// The defaults where neither suite nor command line says anything.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
pub(crate) const CASE_TIMEOUT: Duration = Duration::from_secs(30);
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A server in one revision.
pub(crate) struct RunTarget {
    pub(crate) plan: Arc<Plan>,
    suite: usize,
    pub(crate) index: usize,
    pub(crate) names: Result<Names, Unfilled>,
    pub(crate) server: Result<Reachable, Finding>,
    /// Fetched once, by the first session.
    pub(crate) catalog: OnceCell<Result<Arc<Catalog>, Finding>>,
    /// The same with the arguments that tools serve; only where generated calls need them.
    pub(crate) learned: OnceCell<Arc<Catalog>>,
    /// The servers that ended meanwhile.
    pub(crate) untold_ends: UntoldEnds,
    /// The server's identity from the first session.
    identity: OnceCell<ServerIdentity>,
    /// True if generated calls may change the server's data.
    writes: AtomicBool,
    pub(crate) scan_results: ScanResults,
    pub(crate) shutdowns: ShutdownCounts,
    /// The calls that the server has served; `None` if no generated case has to know.
    pub(crate) history: Option<History>,
    /// The tools that have answered; `None` where what answers is no server, but a recording, or may be a mutant.
    pub(crate) answered: Option<Arc<AnsweredTools>>,
    /// The tools of which a generated case has failed, since they answered nothing.
    pub(crate) hung_tools: FailedTools,
    /// The tools of which one has failed, since the server ended at each of their calls.
    pub(crate) ending_tools: FailedTools,
    /// How many processes of the server start at a time.
    pub(crate) start_pace: StartPace,
    pub(crate) emitter: Emitter,
    pub(crate) tamper: Option<Tamper>,
    pub(crate) stop: Stop,
    /// True if sessions keep all of their frames.
    pub(crate) keeps_frames: bool,
    machine_paths: MachinePaths,
    /// The folder of the run.
    pub(crate) run_folder: Arc<RunFolder>,
    /// The copies of the server's store, if it has one.
    pub(crate) stores: Option<Arc<StoreCopies>>,
    /// The copies of the files of tests, by the path of those.
    fixtures: Mutex<BTreeMap<PathBuf, Arc<StoreCopies>>>,
    /// The tokens of users, by the address of the server and their name: each is fetched once.
    user_tokens: Mutex<BTreeMap<(String, String), Arc<TokenSource>>>,
    /// The environment of this process.
    pub(crate) environment: Arc<BTreeMap<String, String>>,
    /// True if a recording takes the place of the server.
    pub(crate) is_replayed: bool,
}

impl RunTarget {
    pub(crate) fn new(plan: &Arc<Plan>, suite: usize, index: usize, options: &Options, emitter: &Emitter) -> Self {
        let planned = &plan.suites[suite];
        let given = GivenNames::of(plan, options);
        let mut names = names::of_suite(&planned.suite, &given);
        let mut fixture_problem = None;
        if let (Some(fixture), Ok(names)) = (&planned.suite.fixture, &mut names) {
            let target = format!("{} fixture", planned.target_id(index));
            let copies = StoreCopies::new(StoreSource::of_fixture(fixture), target, &options.run_folder);
            let path = copies.first_path(&Owner::Session);
            fixture_problem =
                if options.replay.is_some() || path.exists() { None } else { copies.prepare(&Owner::Session).err() };
            names.insert("fixture".to_owned(), path.display().to_string().into());
        }
        let written = &planned.suite.servers[&planned.targets[index].server];
        let replay = options.replay.as_ref().map(|replay| replay.server(planned.target_id(index)));
        let in_process = replay.or_else(|| options.in_process.get(&planned.targets[index].server).cloned());
        let server = match (in_process, &names) {
            (Some(server), _) => Ok(Reachable::InProcess(server)),
            (None, Ok(names)) => {
                let (names, redactor) = (names::of_server(written, names), &emitter.recordings.redactor);
                resolve::server(written, &names, &options.environment, redactor)
            }
            (None, Err(unfilled)) => Err(finding::at_template(unfilled, &plan.sources)),
        };
        let target_id = planned.target_id(index);
        let mut machine_paths = MachinePaths::of(&planned.suite.folder, &options.environment);
        let mut stores = None;
        if let (Some(store), Ok(names)) = (&written.store, &names)
            && let Ok(source) = StoreSource::of(store, &written.folder, names)
        {
            stores = Some(StoreCopies::new(source, target_id.clone(), &options.run_folder));
        }
        if stores.is_some() || given.run_folder.is_some() {
            machine_paths = machine_paths.with(options.run_folder.path(), "<run.dir>");
        }
        let server = fixture_problem.map_or(server, Err);
        let server = match &given.run_folder {
            Some(folder) if options.replay.is_none() => server.and_then(|server| {
                let made = options.run_folder.make();
                made.map_err(|error| unusable_run_folder(folder, &error)).map(|()| server)
            }),
            Some(_) | None => server,
        };
        let server = match &options.tamper {
            Some(tamper) => server.map(|server| server.with_tamper(tamper, &target_id)),
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
            learned: OnceCell::new(),
            untold_ends: UntoldEnds::default(),
            identity: OnceCell::new(),
            writes: AtomicBool::new(false),
            scan_results: ScanResults::default(),
            shutdowns: ShutdownCounts::default(),
            history: rests_on_valid_calls(planned, index).then(History::default),
            answered: (options.replay.is_none() && options.tamper.is_none()).then(Arc::default),
            hung_tools: FailedTools::default(),
            ending_tools: FailedTools::default(),
            start_pace: StartPace::new(options.processors),
            emitter: emitter.clone(),
            tamper: options.tamper.clone(),
            stop: options.stop.clone(),
            keeps_frames: options.keeps_frames,
            machine_paths,
            run_folder: Arc::clone(&options.run_folder),
            fixtures: Mutex::default(),
            user_tokens: Mutex::default(),
            stores,
            environment: Arc::clone(&options.environment),
            is_replayed: options.replay.is_some(),
        }
    }

    /// The address with the token that earlier sessions of the user have there, if the user has one.
    pub(crate) fn with_user_token(&self, address: HttpAddress, user: &str) -> HttpAddress {
        let Some(tokens) = address.tokens.clone() else { return address };
        let mut known = self.user_tokens.lock();
        let tokens = Arc::clone(known.entry((address.url.clone(), user.to_owned())).or_insert(tokens));
        HttpAddress { tokens: Some(tokens), ..address }
    }

    /// Another server of the suite, in the same revision if the run uses it there; `None` if the run does not use it.
    pub(crate) fn other_server(&self, server: &str, options: &Options) -> Option<Self> {
        let targets = &self.suite_plan().targets;
        let of_server = |index: &usize| targets[*index].server == server;
        let same = (0..targets.len()).filter(of_server).find(|index| targets[*index].protocol == self.protocol());
        let index = same.or_else(|| (0..targets.len()).find(of_server))?;
        Some(Self::new(&self.plan, self.suite, index, options, &self.emitter))
    }

    pub(crate) fn suite_plan(&self) -> &SuitePlan {
        &self.plan.suites[self.suite]
    }

    pub(crate) fn suite(&self) -> &Suite {
        &self.suite_plan().suite
    }

    pub(crate) fn server_name(&self) -> &str {
        &self.suite_plan().targets[self.index].server
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.suite_plan().targets[self.index].protocol
    }

    /// The server as the suite describes it.
    pub(crate) fn settings(&self) -> &Server {
        &self.suite().servers[self.server_name()]
    }

    /// `file@server/revision`.
    pub(crate) fn id(&self) -> String {
        self.suite_plan().target_id(self.index)
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.emitter.recordings.redactor
    }

    /// The program that a connection to a fresh server starts.
    pub(crate) fn starts(&self) -> Starts {
        self.server.as_ref().map_or(Starts::Nothing, Reachable::starts)
    }

    /// The time that the server has to start.
    pub(crate) fn start_timeout(&self) -> Duration {
        self.suite().options.start_timeout.unwrap_or(START_TIMEOUT)
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        self.suite().options.request_timeout.unwrap_or(REQUEST_TIMEOUT)
    }

    /// Returns true if setup and teardown of the suite belong to every session rather than to the shared one.
    pub(crate) fn sets_up_every_session(&self) -> bool {
        self.suite().options.restart_policy == RestartPolicy::PerTest
    }

    /// Returns true if a session that a check opens needs the suite's setup: it is the first with its server, or each
    /// one does.
    pub(crate) fn sets_up_checks(&self) -> bool {
        self.sets_up_every_session() || self.server.as_ref().is_ok_and(|server| !server.is_shared())
    }

    /// Returns true if generated calls may change the server's data: somebody allowed it.
    pub(crate) fn may_write(&self) -> bool {
        self.writes.load(Ordering::Relaxed)
    }

    /// The server's identity from the first session.
    pub(crate) fn identity(&self) -> Option<&ServerIdentity> {
        self.identity.get()
    }

    /// The revision that the first session spoke.
    pub(crate) fn known_revision(&self) -> Option<Revision> {
        self.identity().map(|identity| identity.revision)
    }

    /// Remembers the identity of the server and reports that it is ready, once.
    pub(crate) fn identify(&self, session: &Session) {
        if self.identity.set(session.server.clone()).is_ok() {
            self.emitter.event(Event::ServerReady(ServerReady {
                file: self.suite().file.clone(),
                server: self.server_name().to_owned(),
                transport: session.server.transport,
                revision: session.server.revision.to_string(),
                implementation: session.server.implementation.clone(),
                ready_us: micros(session.server.ready),
            }));
        }
    }

    /// The offer from which templates are expanded; the catalog is the one that was requested.
    pub(crate) fn offer<'a>(&'a self, catalog: &'a Catalog) -> Offer<'a> {
        static NOTHING: Value = Value::Null;
        let identity = self.identity();
        Offer {
            catalog,
            capabilities: identity.map_or(&NOTHING, |identity| &identity.capabilities),
            transport: identity.map(|identity| identity.transport),
            revision: identity.map(|identity| identity.revision),
        }
    }

    /// The part of the server's offer that is known without a request.
    pub(crate) fn known_catalog(&self) -> Arc<Catalog> {
        self.listed_catalog().unwrap_or_default()
    }

    /// The server's catalog; `None` if it was not requested or could not be listed.
    pub(crate) fn listed_catalog(&self) -> Option<Arc<Catalog>> {
        self.learned.get().cloned().or_else(|| self.catalog.get()?.clone().ok())
    }

    /// Returns true if nobody wrote a case for this server.
    pub(crate) fn is_generated(&self, case: &Case) -> bool {
        let is_derived = case.is_derived || case.rule.is_some() || matches!(case.body, Body::Check(_));
        is_derived || is_builtin(self.plan.sources.file(case.span.source))
    }

    /// The sections that blocks write about the listed tools; empty if the list is not known.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let (planned, catalog) = (self.suite_plan(), self.known_catalog());
        let Some(revision) = self.known_revision() else { return Vec::new() };
        let listed = ListedTools {
            file: &planned.suite.file,
            server: self.server_name(),
            revision: revision.as_str(),
            tools: &catalog.tools,
        };
        planned.blocks.iter().filter_map(|block| block.settings.section_of_tools(&listed)).collect()
    }

    /// Reports which tools generated cases call although they may change data, before the first of them does.
    pub(crate) fn announce_tools(&self, catalog: &Catalog, revision: String) {
        let Some(ChosenTools { writing, left_alone, help }) = chosen_tools(self.suite_plan(), self.index, catalog)
        else {
            return;
        };
        if !writing.is_empty() {
            self.writes.store(true, Ordering::Relaxed);
            self.history.iter().for_each(History::expect_writes);
        }
        let (file, server) = (self.suite().file.clone(), self.server_name().to_owned());
        self.emitter.event(Event::ToolsChosen(ToolsChosen { file, server, revision, writing, left_alone, help }));
    }

    /// Ends the use of the copies of the store that a case has.
    pub(crate) fn retire_stores(&self, case: &str) {
        for copies in self.stores.iter().chain(self.fixtures.lock().values()) {
            copies.retire(case);
        }
    }

    /// The copies of the files that a case gets.
    pub(crate) fn fixtures_of(&self, case: &Case) -> Option<Arc<StoreCopies>> {
        let fixture = case.fixture.as_ref()?;
        let mut known = self.fixtures.lock();
        let copies = known.entry(fixture.folder.join(&fixture.path.value)).or_insert_with(|| {
            StoreCopies::new(StoreSource::of_fixture(fixture), format!("{} fixture", self.id()), &self.run_folder)
        });
        Some(Arc::clone(copies))
    }

    /// The path in the copy of the store that a case has, for a path that leads into the store; `None` for any other. The
    /// error says why there is no copy.
    pub(crate) fn path_in_copy(&self, path: &Path, case: &str) -> Result<Option<PathBuf>, String> {
        let Some(stores) = self.stores.as_ref().filter(|_| !self.is_replayed) else { return Ok(None) };
        let path = absolute_path("", path);
        if stores.is_in_store(&path) {
            stores.prepare(&Owner::of_case(case)).map(|moving| moving.path(&path)).map_err(|found| found.message)
        } else {
            Ok(None)
        }
    }

    /// A value without what is secret or belongs to this machine.
    pub(crate) fn neutral(&self, value: Value) -> Value {
        self.machine_paths.mask(self.redactor().value(value))
    }

    /// A node with the target's names filled in.
    pub(crate) fn fill(&self, node: &Node) -> Option<Value> {
        fill(node, self.names.as_ref().ok()?).ok().map(|filled| filled.to_json())
    }

    /// A finding that points at the server in the suite.
    pub(crate) fn at_server(&self, found: Finding) -> Finding {
        finding::at(found, &self.plan.sources, self.settings().span, "this server")
    }

    /// Reports what a server did wrong outside of any case, if it did.
    pub(crate) fn report(&self, revision: &str, findings: impl IntoIterator<Item = Finding>) {
        let findings: Vec<Finding> = findings.into_iter().map(|found| self.at_server(found)).collect();
        if findings.is_empty() {
            return;
        }
        let suite = self.suite();
        self.emitter.event(Event::SessionJudged(SessionJudged {
            file: suite.file.clone(),
            suite: suite.name.value.clone(),
            line: self.plan.sources.place(self.settings().span).1,
            from_command_line: suite.asked.is_some(),
            server: self.server_name().to_owned(),
            revision: revision.to_owned(),
            findings: finding::without_quotes_of_flags(suite, findings),
        }));
    }

    /// The frames of a closed session, as they are handed on.
    pub(crate) fn frames_of(&self, revision: String, case: Option<&Case>, closed: ClosedSession) -> SessionFrames {
        SessionFrames {
            began: closed.began,
            lasted: closed.lasted,
            file: self.suite().file.clone(),
            server: self.server_name().to_owned(),
            target: self.id(),
            transport: closed.transport,
            revision,
            case: case.map(|case| case.id.clone()),
            purpose: SessionPurpose::Verdict,
            has_begun: true,
            frames: closed.frames,
            forgotten: closed.forgotten,
            owners: closed.owners,
            written: closed.written,
            ending: closed.end,
        }
    }
}

fn unusable_run_folder(folder: &Path, error: &io::Error) -> Finding {
    let message = format!("the folder of this run, `{}`, cannot be made: {error}", folder.display());
    let help = cure_of_temporary_folder(error).to_owned();
    Finding { help: Some(help), ..Finding::new(Code::BAD_STORE, message) }
}
