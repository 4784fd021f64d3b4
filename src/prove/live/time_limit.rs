//! The time for one run with a mutant in front of the real servers: a server that a mutant slows down ends the proof for
//! nobody.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::event::RunEnd;
use crate::runner::Stop;
use crate::source::duration_text;

/// A mutant may take so many times as long as the same cases without it.
const TIMES: u32 = 10;

/// And so much more: every case of a quick suite may wait for an answer that does not come.
const MORE: Duration = Duration::from_secs(120);

/// The time for a run with a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeLimit {
    time: Duration,
    /// It is what is left of the time for the whole proof.
    is_of_proof: bool,
}

/// The result of a run that had a limit.
pub(super) struct LimitedRun<T> {
    pub(super) result: T,
    /// The time was over before it ended by itself.
    pub(super) is_over: bool,
}

impl TimeLimit {
    /// The limit for cases that took some time without the mutant, where so much of the time for the proof is left.
    pub(super) fn new(healthy: Duration, left: Option<Duration>) -> Self {
        let usual = healthy.saturating_mul(TIMES).saturating_add(MORE);
        match left {
            Some(left) if left < usual => Self { time: left, is_of_proof: true },
            Some(_) | None => Self { time: usual, is_of_proof: false },
        }
    }

    /// Why a mutant that did not end in time has no verdict.
    pub(super) fn reason(self) -> String {
        if self.is_of_proof {
            return "the time of `--budget` was over before the run with this mutant ended".to_owned();
        }
        format!(
            "its run had not ended after {}, far longer than the same cases take without it",
            duration_text(self.time)
        )
    }

    /// Runs with a wish to stop that is made once the time is over, or once `stop` is.
    pub(super) fn run<T>(self, runtime: &Runtime, stop: &Stop, run: impl FnOnce(Stop) -> T) -> LimitedRun<T> {
        let (sender, limited) = Stop::new();
        let (stopped, time) = (stop.clone(), self.time);
        let watch = runtime.spawn(async move {
            let end = tokio::select! {
                () = stopped.wait() => stopped.end(),
                () = sleep(time) => RunEnd::OutOfTime,
            };
            sender.send_replace(Some(end));
            std::future::pending::<()>().await;
        });
        let result = run(limited.clone());
        watch.abort();
        LimitedRun { result, is_over: limited.is_set() && !stop.is_set() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::run::paused_runtime;
    use super::*;

    #[test]
    fn a_run_gets_ten_times_as_long_or_what_is_left_for_the_proof() {
        let seconds = Duration::from_secs;
        for (healthy, left, time, is_of_proof) in [
            (0, None, 120, false),
            (3, None, 150, false),
            (3, Some(1000), 150, false),
            (3, Some(20), 20, true),
            (3, Some(0), 0, true),
            (u64::MAX, None, u64::MAX, false),
        ] {
            let limit = TimeLimit::new(seconds(healthy), left.map(seconds));
            assert_eq!((limit.time.as_secs(), limit.is_of_proof), (time, is_of_proof), "{healthy} {left:?}");
        }
    }

    #[test]
    fn a_run_that_does_not_end_by_itself_is_stopped() {
        let runtime = paused_runtime().unwrap();
        let limit = TimeLimit::new(Duration::from_secs(1), None);
        let (_sender, stop) = Stop::new();
        let endless = |stop: Stop| runtime.block_on(async { stop.wait().await });
        assert!(limit.run(&runtime, &stop, endless).is_over, "the time was over");
        let brief = |_: Stop| runtime.block_on(async { sleep(Duration::from_secs(5)).await });
        assert!(!limit.run(&runtime, &stop, brief).is_over, "it ended in time");
        let (sender, stop) = Stop::new();
        sender.send_replace(Some(RunEnd::Interrupted));
        let endless = |stop: Stop| runtime.block_on(async { stop.wait().await });
        assert!(!limit.run(&runtime, &stop, endless).is_over, "somebody else stopped it");
    }
}
