//! Ctrl-C and SIGTERM: the first asks the run to end well, the second ends it at once, the third ends the program.
//!
//! Listens in a thread of its own, for as long as the program lives unless that has many runs, so that nothing can keep a
//! signal from being heard.
//! A run may be too busy to stop: then the program exits without it.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::cli::exit::Exit;
use crate::cli::system_signals::{SystemSignals, survive_full_files};
use crate::cli::terminal;
use crate::event::RunEnd;
use crate::runner::end_run_folders;
use crate::transport::orphans;

/// The time for which tasks that were asked to end may block all others. Whoever sends a signal often waits no longer than
/// a few seconds before they kill.
const STUCK_AFTER: Duration = Duration::from_secs(2);

/// The interval at which that is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The urgency with which the user wants the run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Not at all.
    None,
    /// The time that the run was given is almost over.
    Spent,
    /// It is over: what is under way is cut off.
    Overdue,
    /// After cleaning up.
    Soon,
    /// At once; reports are still written where there are any.
    Now,
}

/// The time that a command is given. A run is asked to end when it is almost spent, unless the run was over first; a proof
/// has what the run leaves.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    time: Duration,
    begun: Instant,
    /// True if the time was almost spent before the run was over, false if the run was over first.
    is_spent: Arc<OnceLock<bool>>,
}

impl Budget {
    /// The time begins now.
    pub(crate) fn new(time: Duration) -> Self {
        Self { time, begun: Instant::now(), is_spent: Arc::default() }
    }

    /// The time that is left.
    pub(crate) fn remaining(&self) -> Duration {
        self.time.saturating_sub(self.begun.elapsed())
    }

    /// The run is over, and is not asked to end any more; returns true if it was already.
    pub(crate) fn end_run(&self) -> bool {
        *self.is_spent.get_or_init(|| false)
    }

    /// The time of the run is over; returns false if the run was over before.
    fn spend(&self) -> bool {
        *self.is_spent.get_or_init(|| true)
    }

    /// Returns when so little is left that a run must stop; never returns if the run is over by then.
    async fn wait_until_nearly_spent(&self) {
        sleep(self.remaining().saturating_sub(CLEANUP_TIME.min(self.time / 4))).await;
        if !self.spend() {
            std::future::pending::<()>().await;
        }
    }
}

/// The time before the end of its budget at which a run is asked to end: teardown, servers and reports need some of it.
const CLEANUP_TIME: Duration = Duration::from_secs(5);

/// The time after it at which the run is cut off.
const OVERTIME: Duration = Duration::from_secs(5);

/// The work that is still done after a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnding {
    /// Teardown runs, and reports are written.
    Reports,
    /// Servers are ended, and nothing else is left to do.
    Plain,
}

impl RunEnding {
    /// The message where the run does not stop.
    fn stuck_words(self) -> &'static str {
        match self {
            Self::Reports => {
                "the run does not stop: writing reports of its results so far; press Ctrl-C again to exit without them"
            }
            Self::Plain => "mcprove is too busy to stop: exiting at once",
        }
    }

    /// The messages at the first signal, and at the second.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Reports => [
                "stopping: teardown, then reports; press Ctrl-C again to stop at once",
                "stopping at once; press Ctrl-C again to exit without reports",
            ],
            Self::Plain => [
                "stopping: servers are ended; press Ctrl-C again to stop at once",
                "stopping at once; press Ctrl-C again to exit without waiting for servers",
            ],
        }
    }
}

/// How long signals are listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SignalScope {
    /// As long as the program lives, so that nothing can keep a signal from being heard.
    #[default]
    Program,
    /// As long as somebody follows the urgency: one of many runs of a program, which listens by itself in between.
    Run,
}

/// The runtime that must not be stuck once a signal came, or else the program exits.
pub(crate) struct RunningTask {
    /// The one runtime that everything runs on.
    pub(crate) runtime: Handle,
    /// Runs in any case before the program exits.
    pub(crate) cleanup: Cleanup,
}

/// The work before the program exits; returns the number of failures that were found until then.
pub(crate) type Cleanup = Box<dyn FnOnce() -> usize + Send>;

/// Listens for signals once it returns: `stop` is set by the first one, the receiver follows each.
///
/// A run with a budget is also asked to stop shortly before that is spent.
pub(crate) fn listen(
    stop: watch::Sender<Option<RunEnd>>,
    ending: RunEnding,
    scope: SignalScope,
    running: Option<RunningTask>,
    budget: Option<Budget>,
) -> watch::Receiver<Urgency> {
    let [soon, now] = ending.words();
    let (sender, receiver) = watch::channel(Urgency::None);
    let followed = (scope == SignalScope::Run).then(|| sender.clone());
    let (ready, listening) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        let listens = async move {
            survive_full_files();
            let mut signals = SystemSignals::listen();
            // Whoever does not wait for it loses nothing but time.
            let _ = ready.send(());
            let (runtime, cleanup) = running.map(|running| (running.runtime, running.cleanup)).unzip();
            tokio::select! {
                _ = signals.next() => {}
                () = wait_until_budget_nearly_spent(budget.as_ref()) => {
                    let _ = stop.send(Some(RunEnd::OutOfTime));
                    let _ = sender.send(Urgency::Spent);
                    tokio::select! {
                        _ = signals.next() => {}
                        () = sleep(CLEANUP_TIME + OVERTIME) => {
                            let _ = sender.send(Urgency::Overdue);
                            wait_until_stuck(runtime.as_ref()).await;
                            print_notice("the time of `--budget` is over, and the run does not stop");
                            exit_now(exit_after_budget(run_cleanup(cleanup, &mut signals).await));
                        }
                    }
                }
            }
            // Whoever runs holds the other ends, and hears of it even if nobody reads what is said.
            let _ = stop.send(Some(RunEnd::Interrupted));
            let _ = sender.send(Urgency::Soon);
            print_notice(soon);
            if !is_stuck_before_signal(&mut signals, runtime.as_ref()).await {
                let _ = sender.send(Urgency::Now);
                print_notice(now);
                if !is_stuck_before_signal(&mut signals, runtime.as_ref()).await {
                    exit_now(Exit::Interrupted);
                }
            }
            print_notice(ending.stuck_words());
            run_cleanup(cleanup, &mut signals).await;
            exit_now(Exit::Interrupted);
        };
        runtime.block_on(async {
            tokio::select! {
                () = listens => {}
                () = wait_until_unfollowed(followed) => {}
            }
        });
    });
    // A signal that comes before it is listened for would end the program without a report, or be lost. Where the
    // system gives no thread or no signals, the channel closes.
    let _ = listening.recv();
    receiver
}

/// Returns once nobody follows the urgency any more.
async fn wait_until_unfollowed(urgency: Option<watch::Sender<Urgency>>) {
    match urgency {
        Some(urgency) => urgency.closed().await,
        None => std::future::pending().await,
    }
}

/// Returns when so little of the budget is left that the run must stop.
async fn wait_until_budget_nearly_spent(budget: Option<&Budget>) {
    match budget {
        Some(budget) => budget.wait_until_nearly_spent().await,
        None => std::future::pending().await,
    }
}

/// Waits for the next signal; `true` where the runtime is stuck before it comes.
async fn is_stuck_before_signal(signals: &mut SystemSignals, running: Option<&Handle>) -> bool {
    tokio::select! {
        _ = signals.next() => false,
        () = wait_until_stuck(running) => true,
    }
}

/// Returns once a runtime has not had a turn for anything new in a while. One that is gone refuses, which is an answer.
async fn wait_until_stuck(running: Option<&Handle>) {
    let Some(running) = running else { return std::future::pending().await };
    while timeout(STUCK_AFTER, running.spawn(async {})).await.is_ok() {
        sleep(POLL_INTERVAL).await;
    }
}

/// Runs the cleanup before the program ends; returns the failures that were found, or `None` after the next signal.
async fn run_cleanup(cleanup: Option<Cleanup>, signals: &mut SystemSignals) -> Option<usize> {
    let Some(cleanup) = cleanup else { return Some(0) };
    tokio::select! {
        failures = tokio::task::spawn_blocking(cleanup) => Some(failures.unwrap_or_default()),
        _ = signals.next() => None,
    }
}

/// The exit code of a run that does not stop after its budget. Failures count, although not every case was judged.
fn exit_after_budget(failures: Option<usize>) -> Exit {
    match failures {
        None => Exit::Interrupted,
        Some(0) => Exit::Nothing,
        Some(_) => Exit::Findings,
    }
}

/// Ends the program as Ctrl-C does where nothing is cleaned up.
pub(crate) fn exit_interrupted() -> ! {
    exit_now(Exit::Interrupted)
}

#[expect(clippy::exit, reason = "the user asked often enough, or waits for what does not end: nothing may hold it up")]
fn exit_now(exit: Exit) -> ! {
    terminal::restore();
    orphans::kill_all_children();
    end_run_folders();
    std::process::exit(exit as i32);
}

/// Prints a notice to stderr; a closed stderr is no error.
fn print_notice(words: &str) {
    let _ = writeln!(std::io::stderr().lock(), "\n{words}");
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    /// Returns true if a runtime is given up within a minute, on a clock that does not wait.
    fn is_given_up(running: &Handle) -> bool {
        let watching = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        watching.block_on(async { timeout(Duration::from_secs(60), wait_until_stuck(Some(running))).await.is_ok() })
    }

    #[test]
    fn a_budget_ends_a_run_only_if_it_is_spent_first() {
        let (first, second) = (Budget::new(Duration::ZERO), Budget::new(Duration::ZERO));
        assert!(first.spend() && first.end_run(), "the time was over before the run");
        assert!(!second.end_run() && !second.spend(), "the run was over before the time");
    }

    #[test]
    fn failures_count_though_the_run_does_not_stop_after_its_budget() {
        for (failures, expected) in
            [(Some(0), Exit::Nothing), (Some(1), Exit::Findings), (Some(7), Exit::Findings), (None, Exit::Interrupted)]
        {
            assert_eq!(exit_after_budget(failures), expected, "{failures:?}");
        }
    }

    #[test]
    fn what_gives_no_turns_is_given_up() {
        let idle = Builder::new_current_thread().build().unwrap();
        assert!(is_given_up(idle.handle()), "nobody runs it");
    }

    #[test]
    fn what_is_gone_is_not_waited_for() {
        let gone = Builder::new_current_thread().build().unwrap();
        let handle = gone.handle().clone();
        drop(gone);
        assert!(!is_given_up(&handle));
    }
}
