//! The time and the calls that a check may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::CheckEnd;
use crate::event::Reason;
use crate::source::duration_text;

/// A time that no check takes.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The limits of one check, which all its sessions share.
#[derive(Debug, Clone)]
pub(crate) struct CheckLimits {
    deadline: Instant,
    time: Duration,
    max_calls: usize,
    made: Arc<AtomicUsize>,
    advice: &'static str,
    budget_advice: &'static str,
}

impl CheckLimits {
    /// No limits, for a check that makes a known number of requests, each of which has its time.
    pub(crate) fn none() -> Self {
        Self::new(A_YEAR, "")
    }

    /// Limits of time only. `advice` says what a user can do about them, as in "raise `max_time`".
    pub(crate) fn new(time: Duration, advice: &'static str) -> Self {
        let (deadline, max_calls, made) = (Instant::now() + time, usize::MAX, Arc::default());
        Self { deadline, time, max_calls, made, advice, budget_advice: advice }
    }

    pub(crate) fn with_max_calls(self, max_calls: usize) -> Self {
        Self { max_calls, ..self }
    }

    /// A budget that several checks share, of which `made` counts the calls; `budget_advice` says how to get more.
    pub(crate) fn with_shared_budget(
        self,
        made: &Arc<AtomicUsize>,
        max_calls: usize,
        budget_advice: &'static str,
    ) -> Self {
        Self { made: Arc::clone(made), max_calls, budget_advice, ..self }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }

    /// The end where the time is over.
    pub(crate) fn end_if_over(&self) -> Option<CheckEnd> {
        self.is_over().then(|| self.out_of_time())
    }

    /// The number of calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// Counts calls that are about to be made; `Err` if there is no time or no budget for them.
    pub(crate) fn spend(&self, calls: usize) -> Result<(), CheckEnd> {
        if self.is_over() {
            return Err(self.out_of_time());
        }
        if self.made.fetch_add(calls, Ordering::Relaxed) + calls > self.max_calls {
            return Err(self.out_of_calls());
        }
        Ok(())
    }

    /// A pause of that length, if there is time for it.
    pub(crate) fn pause(&self, length: Duration) -> Option<Duration> {
        (self.remaining() > length).then_some(length)
    }

    /// Waits for so long, or until the time is over.
    pub(crate) async fn wait(&self, time: Duration) {
        tokio::time::sleep(time.min(self.remaining())).await;
    }

    pub(crate) fn out_of_time(&self) -> CheckEnd {
        let (time, advice) = (duration_text(self.time), self.advice);
        CheckEnd::Spent(Reason::NotEvaluated(format!("the time of {time} ended before all calls were made; {advice}")))
    }

    fn out_of_calls(&self) -> CheckEnd {
        let (max_calls, advice) = (self.max_calls, self.budget_advice);
        CheckEnd::Spent(Reason::NotEvaluated(format!("the budget of {max_calls} calls is spent; {advice}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_and_time_are_bounded_across_sessions() {
        let limits = CheckLimits::new(Duration::from_secs(5), "raise `time`").with_max_calls(3);
        let beside = limits.clone();
        assert!(limits.spend(2).is_ok() && beside.spend(1).is_ok());
        let check = |end: Result<(), CheckEnd>, expected: &str| {
            let Err(CheckEnd::Spent(Reason::NotEvaluated(why))) = end else { panic!("{end:?}") };
            assert_eq!(why, expected);
        };
        check(limits.spend(1), "the budget of 3 calls is spent; raise `time`");
        limits.wait(Duration::from_secs(9)).await;
        assert!(limits.is_over());
        check(limits.spend(0), "the time of 5 s ended before all calls were made; raise `time`");
        let made = Arc::default();
        let [one, other] = [7, 9].map(|time| {
            let limits = CheckLimits::new(Duration::from_secs(time), "raise `time`");
            limits.with_shared_budget(&made, 2, "raise `calls`")
        });
        assert!(one.spend(1).is_ok() && other.spend(1).is_ok());
        check(one.spend(1), "the budget of 2 calls is spent; raise `calls`");
    }
}
