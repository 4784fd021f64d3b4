//! The options of a run, and its observer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::argument_memory::ArgumentMemory;
use super::{RunFolder, Snapshots};
use crate::baseline::Baseline;
use crate::event::{Event, Reason, RunEnd};
use crate::redact::Redactor;
use crate::session::{SessionEnd, WrittenRequest};
use crate::suite::{MOST_PARALLEL, Order, Suite};
use crate::transport::stdio::ServerCommand;
use crate::transport::{Link, Owner, TransportKind};
use crate::wire::{ForgottenCalls, Frame};

/// Everything about a run that the plan does not say.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number of cases that run at a time, whatever the suites say.
    pub parallel: Option<usize>,
    /// The number of cases that run at a time where neither says.
    pub processors: usize,
    /// The time for a case, whatever the suites say.
    pub timeout: Option<Duration>,
    /// When to stop early.
    pub bail: Bail,
    /// The number of times that a failed case is tried again, whatever the suites say.
    pub retries: Option<u32>,
    /// The number of times that every case runs; if it is more than one, nothing is tried again.
    pub repeat: u32,
    /// The order of cases, whatever the suites say.
    pub order: Option<Order>,
    /// The seed of a shuffled order.
    pub seed: u32,
    /// True if cases are also run alone and in another order.
    pub isolation: Isolation,
    /// The environment of this process, for `{{ env.NAME }}` and for what servers inherit.
    pub environment: Arc<BTreeMap<String, String>>,
    /// Servers in this process, by name, that stand in for those of the suites.
    pub in_process: BTreeMap<String, InProcess>,
    /// True if sessions keep every frame, also of calls of which only the last are kept otherwise.
    pub keeps_frames: bool,
    /// Recordings that stand in for all servers.
    pub replay: Option<Replay>,
    /// The link between the run and its servers.
    pub tamper: Option<Tamper>,
    /// The least exercised coverage; reports say whether it was reached.
    pub thresholds: Thresholds,
    /// The failures that are known and do not count.
    pub baseline: Arc<Baseline>,
    /// The paths of suites that were typed, none for the current folder; nothing where suites were named in another way.
    pub paths: Option<Vec<String>>,
    /// When the run began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The secrets that runs with these options learn, such as captured ones.
    pub secrets: Redactor,
    /// The arguments that tools served before, and those that runs with these options find.
    pub arguments: Arc<ArgumentMemory>,
    /// The treatment of recorded answers.
    pub snapshots: Arc<Snapshots>,
    /// The folder of the run, in which servers and tests may write.
    pub run_folder: Arc<RunFolder>,
    /// Says when somebody wants the run to stop.
    pub stop: Stop,
}

/// True if cases are also run alone and in another order, to see whether they depend on one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// They run once, as the suite says.
    Trusted,
    /// They run in three ways, and their verdicts are compared.
    Verified,
}

impl Options {
    /// One case at a time, each once, in the order of the suites; everything else is to be changed by who wants it.
    pub fn new(started_unix_ms: u64, stop: Stop) -> Self {
        Self {
            parallel: None,
            processors: 1,
            timeout: None,
            bail: Bail::Never,
            retries: None,
            repeat: 1,
            order: None,
            seed: 0,
            isolation: Isolation::Trusted,
            environment: Arc::default(),
            in_process: BTreeMap::new(),
            keeps_frames: false,
            replay: None,
            tamper: None,
            thresholds: Thresholds::default(),
            baseline: Arc::default(),
            paths: None,
            started_unix_ms,
            secrets: Redactor::default(),
            arguments: Arc::default(),
            snapshots: Arc::default(),
            run_folder: Arc::default(),
            stop,
        }
    }

    /// The flags that say how often cases run, and for how long.
    pub(crate) fn flags_of_cases(&self) -> Vec<String> {
        let repeat = (self.repeat > 1).then(|| format!("--repeat {}", self.repeat));
        let retries = self.retries.map(|retries| format!("--retries {retries}"));
        let timeout = self.timeout.map(|time| format!("--timeout {}ms", time.as_millis()));
        repeat.into_iter().chain(retries).chain(timeout).collect()
    }

    /// The order in which the cases of a suite begin.
    pub(crate) fn order_of(&self, suite: &Suite) -> Order {
        self.order.unwrap_or(suite.options.order)
    }

    /// Returns true if somebody says how many cases of a suite run at a time.
    pub(crate) fn says_parallel(&self, suite: &Suite) -> bool {
        self.parallel.or(suite.options.parallel).is_some()
    }

    /// The number of cases of a suite that run at a time; by default, only generated ones run beside others.
    pub(crate) fn parallel_of(&self, suite: &Suite) -> usize {
        self.parallel.or(suite.options.parallel).unwrap_or(self.processors).clamp(1, MOST_PARALLEL)
    }
}

/// The least exercised coverage in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Thresholds {
    /// Of the share of leaves.
    pub plain: Option<f64>,
    /// Of the share that is weighted by how often families fail.
    pub weighted: Option<f64>,
}

/// A way to fresh servers in this process.
#[derive(Clone)]
pub struct InProcess(Arc<dyn Fn() -> Link + Send + Sync>);

impl InProcess {
    /// Connects to a fresh server each time.
    pub fn new(connect: impl Fn() -> Link + Send + Sync + 'static) -> Self {
        Self(Arc::new(connect))
    }

    pub(crate) fn connect(&self) -> Link {
        (self.0)()
    }
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("InProcess").finish_non_exhaustive()
    }
}

/// A way to recorded servers: connects to the one of a target, which is named as in [`SessionFrames::target`].
#[derive(Clone)]
pub struct Replay(Arc<dyn Fn(&str) -> Link + Send + Sync>);

impl Replay {
    /// Connects to a fresh session of a recorded server each time.
    pub fn new(connect: impl Fn(&str) -> Link + Send + Sync + 'static) -> Self {
        Self(Arc::new(connect))
    }

    /// The server of one target.
    pub(crate) fn server(&self, target: String) -> InProcess {
        let connect = Arc::clone(&self.0);
        InProcess::new(move || connect(&target))
    }
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Replay").finish_non_exhaustive()
    }
}

/// Stands between a run and its servers, target by target; targets are named as in [`SessionFrames::target`].
#[derive(Clone)]
pub struct Tamper {
    start: Arc<StartHook>,
    link: Arc<Linking>,
}

type StartHook = dyn Fn(&str, &mut ServerCommand) + Send + Sync;
type Linking = dyn Fn(&str, Link) -> Link + Send + Sync;

impl Tamper {
    /// `start` may change how a server is started, `link` what travels.
    pub fn new(
        start: impl Fn(&str, &mut ServerCommand) + Send + Sync + 'static,
        link: impl Fn(&str, Link) -> Link + Send + Sync + 'static,
    ) -> Self {
        Self { start: Arc::new(start), link: Arc::new(link) }
    }

    pub(crate) fn start(&self, target: &str, command: &mut ServerCommand) {
        (self.start)(target, command);
    }

    pub(crate) fn link(&self, target: &str, link: Link) -> Link {
        (self.link)(target, link)
    }
}

impl std::fmt::Debug for Tamper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tamper").finish_non_exhaustive()
    }
}

/// When to stop early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bail {
    /// Run everything.
    Never,
    /// Stop once so many cases failed or errored.
    After(usize),
}

/// The time for teardown after an interrupt: CI kills what does not end soon, and reports are still to be written.
const AFTER_STOP: Duration = Duration::from_secs(3);

/// A wish to stop that many can wait for.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<RunEnd>>);

impl Stop {
    /// A wish and the way to make it.
    pub fn new() -> (watch::Sender<Option<RunEnd>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// Returns true if it was made.
    pub fn is_set(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Why it was made; an interruption where nobody made it.
    pub(crate) fn end(&self) -> RunEnd {
        self.0.borrow().unwrap_or(RunEnd::Interrupted)
    }

    /// Why a case that was under way has no verdict.
    pub(crate) fn reason(&self) -> Reason {
        match self.end() {
            RunEnd::OutOfTime => Reason::NotEvaluated("the time of `--budget` was over before it ended".to_owned()),
            RunEnd::Interrupted | RunEnd::Bailed => Reason::Interrupted,
        }
    }

    /// Cleans up within the usual time, or within little once the wish is made; the error is the time that was allowed.
    pub(crate) async fn with_limit<T>(
        &self,
        usual: Duration,
        cleaning: impl Future<Output = T>,
    ) -> Result<T, Duration> {
        let wished = async {
            self.wait().await;
            sleep(AFTER_STOP).await;
        };
        tokio::select! {
            cleaned = timeout(usual, cleaning) => cleaned.map_err(|_| usual),
            () = wished => Err(AFTER_STOP),
        }
    }

    /// Returns once it is made; never returns if nobody can make it any more.
    pub async fn wait(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Somebody who watches a run.
pub trait Observer {
    /// The next event, without secrets.
    fn event(&mut self, event: &Event);

    /// Blocks and loops became that many more cases than were planned at first.
    fn on_planned(&mut self, _more: usize) {}

    /// The frames of a session that ended, secrets included: whoever writes them down takes them out with `redactor`.
    fn session(&mut self, frames: &SessionFrames, redactor: &Redactor);
}

/// What the calls of a session are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionPurpose {
    /// They are judged, by a case or by a look at the whole server.
    #[default]
    Verdict,
    /// They look for arguments that tools serve, and judge nothing.
    Arguments,
}

/// Everything that travelled in one session.
#[derive(Debug, Clone)]
pub struct SessionFrames {
    /// When the session began.
    pub began: Instant,
    /// From then to its end.
    pub lasted: Duration,
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// `file@server/revision`, with the revision that was asked for.
    pub target: String,
    /// `stdio`, `memory`, `http` or `sse`.
    pub transport: TransportKind,
    /// The revision that was spoken.
    pub revision: String,
    /// The case for which the session was opened; `None` for a shared one.
    pub case: Option<String>,
    /// What its calls are for.
    pub purpose: SessionPurpose,
    /// True if the handshake succeeded; a conversation that did not begin is shown and judges nothing.
    pub has_begun: bool,
    /// The frames that are kept.
    pub frames: Vec<Frame>,
    /// The calls of tools in the others.
    pub forgotten: ForgottenCalls,
    /// The numbers of the frames of each owner.
    pub owners: BTreeMap<Owner, Vec<u32>>,
    /// What the suite writes of requests, by their frames.
    pub written: BTreeMap<u32, WrittenRequest>,
    /// The end of the conversation by the server; `None` where it did not end it.
    pub ending: Option<SessionEnd>,
}
