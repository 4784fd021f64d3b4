//! Runs a plan against its servers and tells what happens, event by event.
//!
//! Suites run one after another; within a suite, cases begin in order, as many at a time as allowed, and a
//! panic or a hang of one ends that one only.
//! Knows nothing about reports: whoever watches is an [`Observer`]. Start reading in [`run`].

mod argument_memory;
mod captured;
mod case;
mod case_result;
mod check;
mod collector;
mod conversation;
mod coverage;
mod crash;
mod ending;
#[cfg(feature = "cli")]
mod examine;
mod exchange;
mod finding;
mod foreign_origin;
mod fresh;
mod hang;
mod history;
mod injected;
mod isolation;
mod learning;
mod logins;
mod machine_paths;
mod names;
mod open_targets;
mod opening;
mod options;
mod other_processes;
mod permission;
mod pool;
mod port;
mod precondition;
mod raw;
mod raw_http;
mod rerun;
mod resolve;
mod reuse;
mod rounds;
mod rule;
mod run_folder;
mod running;
mod scan;
mod sessions;
mod shared;
mod shutdowns;
mod silence;
mod snapshot;
mod start;
mod start_pace;
mod store_copies;
mod store_damage;
mod store_move;
mod store_paths;
mod store_turns;
mod subscription;
mod suite;
mod suite_steps;
mod target;
mod task;
mod tool_settings;
mod trace;
mod untold_ends;
mod verdict;
mod visit;
mod witness;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use self::collector::RunCollector;
use self::coverage::CoverageCollector;
use self::running::RunningServers;
use self::snapshot::{Recordings, SnapshotCheck};
use self::store_damage::StoreWatch;
use self::suite::SuiteRun;
use crate::baseline;
use crate::event::{CaseResult, Coverage, Event, FORMAT, RunFinished, RunStarted, Section, ServerStarts, SuiteInfo};
use crate::plan::{Body, Plan, SuitePlan};
use crate::suite::Order;
use crate::taxonomy::Registry;

pub use self::argument_memory::{ArgumentMemory, ListedNames, ToolArguments};
pub(crate) use self::conversation::as_answer;
#[cfg(feature = "cli")]
pub(crate) use self::coverage::score_parts;
#[cfg(feature = "cli")]
pub(crate) use self::examine::examine_servers;
pub use self::fresh::Fresh;
pub use self::logins::{LoginPlace, login_places};
pub use self::names::{redactor, variables_in};
pub use self::options::{
    Bail, InProcess, Isolation, Observer, Options, Replay, SessionFrames, SessionPurpose, Stop, Tamper, Thresholds,
};
pub use self::run_folder::{RunFolder, end_run_folders, remove_run_folders};
pub use self::snapshot::{Purpose, SnapshotChange, SnapshotNews, Snapshots};
pub use self::start::{Started, starts, store_mistakes};
pub(crate) use self::target::REQUEST_TIMEOUT;
pub use self::visit::{ServerVisit, Visited, Visitor, visit_servers};

/// The result of a run; the exit code follows from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Cases that failed, sessions with violations included.
    pub failed: usize,
    /// Cases that the environment or this program broke.
    pub errored: usize,
    /// Cases that this program broke.
    pub internal: usize,
    /// Cases that ran to passed, warned or failed.
    pub judged: usize,
    /// True if somebody stopped the run.
    pub interrupted: bool,
    /// The number of cases that were not begun because of that, or since enough had failed.
    pub not_run: usize,
    /// The coverage of the run.
    pub coverage: Option<Coverage>,
    /// The ids of the cases that did not pass; failures that are known are not among them. Behind the suite's file, ids
    /// are without secrets here.
    pub not_passed: Vec<String>,
    /// The files of suites of which something failed that is no case.
    pub beyond_cases: BTreeSet<String>,
    /// The counts of recorded answers.
    pub snapshots: SnapshotNews,
    /// The ids of all cases that are decided.
    pub decided: Vec<String>,
    /// The ids of the cases that passed only after they had failed.
    pub flaky: Vec<String>,
    /// The number of entries of the baseline that could not be compared with this run.
    pub unmatched: usize,
}

/// A message to the task that calls the observer.
enum RunMessage {
    Event(Event),
    /// So many more cases are planned.
    Planned(usize),
    Session(SessionFrames),
    Started(ServerStarts),
    Section(Section),
    Snapshot(SnapshotCheck),
    /// The result of a check of the suite itself, which no run can select.
    SuiteCheck(Box<CaseResult>),
    SnapshotFiles(Vec<PathBuf>),
}

/// The way from tasks to the observer, and what all tasks may look at.
#[derive(Clone)]
struct Emitter {
    sender: mpsc::UnboundedSender<RunMessage>,
    recordings: Arc<Recordings>,
    /// A permit for each server that may start at a time: as many as there are processors, whatever runs, but for those
    /// whose starts leave the processors free.
    starting: Arc<Semaphore>,
    running: Arc<RunningServers>,
}

impl Emitter {
    fn new(sender: mpsc::UnboundedSender<RunMessage>, recordings: Arc<Recordings>, options: &Options) -> Self {
        let starting = Arc::new(Semaphore::new(options.processors.max(1)));
        Self { sender, recordings, starting, running: Arc::default() }
    }

    fn event(&self, event: Event) {
        self.send(RunMessage::Event(event));
    }

    fn session(&self, frames: SessionFrames) {
        self.send(RunMessage::Session(frames));
    }

    fn send(&self, message: RunMessage) {
        // The receiver lives as long as the run.
        let _ = self.sender.send(message);
    }
}

/// Runs every case of `plan`; `observer` is told everything in one order, from one task, without secrets.
pub async fn run(plan: Plan, mut options: Options, registry: &Registry, observer: &mut dyn Observer) -> Summary {
    let begun = Instant::now();
    let plan = Arc::new(plan);
    let redactor = names::redactor(&plan, &options);
    let recordings = Arc::new(Recordings { snapshots: Arc::clone(&options.snapshots), redactor });
    options.baseline = Arc::new(options.baseline.masked_by(&recordings.redactor));
    let (baseline, thresholds) = (Arc::clone(&options.baseline), options.thresholds);
    let mut collector = RunCollector {
        suite_files: plan.suites.iter().map(|planned| planned.suite.file.clone()).collect(),
        judge: CoverageCollector::new(&plan),
        recorded: snapshot::SnapshotLedger::new(&plan, Arc::clone(&recordings)),
        known: baseline::BaselineMatches::new(&baseline),
        summary: Summary::default(),
        blocks: plan
            .suites
            .iter()
            .flat_map(|planned| planned.blocks.iter())
            .map(|block| Arc::clone(&block.settings))
            .collect(),
        kept: Vec::new(),
        sections: Vec::new(),
        starts: ServerStarts::default(),
        recordings,
        observer,
    };
    collector.event(Event::RunStarted(run_started(&plan, &options)));
    let stop = options.stop.clone();
    let options = Arc::new(options);
    let (not_run, isolation) = match options.isolation {
        Isolation::Trusted => {
            let recordings = Arc::clone(&collector.recordings);
            (run_suites(&plan, &options, &recordings, &mut |message| collector.on_message(message)).await, None)
        }
        Isolation::Verified => isolation::verify(&plan, &options, &mut collector).await,
    };
    collector.summary.interrupted = stop.is_set();
    collector.summary.not_run = not_run;
    collector.close(&plan, not_run);
    let coverage = collector.judge.score(registry, thresholds);
    let part = plan.selection.shard.is_some().then(|| collector.facts());
    collector.summary.coverage = Some(coverage.clone());
    // Whoever updates is asked about each of them.
    let is_told = collector.recordings.snapshots.purpose == Purpose::Compare;
    let stale = collector.summary.snapshots.stale.iter().filter(|_| is_told);
    let stale_snapshots = stale.map(|file| file.display().to_string()).collect();
    let finished = RunFinished {
        duration_us: micros(begun.elapsed()),
        interrupted: collector.summary.interrupted,
        ended_by: stop.is_set().then(|| stop.end()),
        not_run,
        coverage: Some(coverage),
        stale_snapshots,
        isolation,
        sections: collector.sections(),
        starts: collector.starts,
        proof: None,
        unjudged: Vec::new(),
        tools: Vec::new(),
        fails_on_flaky: false,
        servers: Vec::new(),
        shard: part.map(Box::new),
    };
    collector.event(Event::RunFinished(Box::new(finished)));
    collector.summary
}

/// Runs the suites one after another and hands on what they tell; returns how many cases were not reached.
async fn run_suites(
    plan: &Arc<Plan>,
    options: &Arc<Options>,
    recordings: &Arc<Recordings>,
    on_message: &mut dyn FnMut(RunMessage),
) -> usize {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let suites = async {
        let emitter = Emitter::new(sender, Arc::clone(recordings), options);
        let (mut not_run, mut stores) = (0, StoreWatch::default());
        for index in 0..plan.suites.len() {
            not_run += SuiteRun::new(plan, index, options, &emitter, &mut stores).run().await;
        }
        not_run
    };
    let mut suites = std::pin::pin!(suites);
    let not_run = loop {
        tokio::select! {
            biased;
            Some(message) = receiver.recv() => on_message(message),
            not_run = &mut suites => break not_run,
        }
    };
    while let Ok(message) = receiver.try_recv() {
        on_message(message);
    }
    not_run
}

fn run_started(plan: &Plan, options: &Options) -> RunStarted {
    let suites = plan.suites.iter().map(|SuitePlan { suite, .. }| SuiteInfo {
        file: suite.file.clone(),
        name: suite.name.value.clone(),
        from_command_line: suite.asked.is_some(),
        command: suite.command_line().map(|line| line.command),
    });
    let is_shuffled = plan.suites.iter().any(|planned| options.order_of(&planned.suite) == Order::Shuffled);
    RunStarted {
        format: FORMAT,
        program: concat!("mcprove ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_unix_ms: options.started_unix_ms,
        suites: suites.collect(),
        paths: options.paths.clone(),
        planned: plan.cases().filter(|case| !matches!(case.body, Body::Template(_))).count(),
        seed: is_shuffled.then_some(options.seed),
        shard: plan
            .selection
            .shard
            .as_ref()
            .map(|shard| Box::new(shard.info(plan, options.flags_of_cases(), options.baseline.hash()))),
        parts: None,
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
