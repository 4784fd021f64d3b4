//! Tries whether a problem shows again on fresh servers: the call alone first, then the calls before it.

use std::time::Duration;

use tokio::time::Instant;

use super::calls::GeneratedCall;
use super::problem::FuzzProblem;
use super::replay::FuzzTarget;
use crate::check::{CheckEnd, Confirmation};
use crate::event::FindingKind;
use crate::reproduce::SlowDdmin;

/// The number of times that a problem that showed again is tried once more.
const REPEATS: usize = 2;

/// The number of servers that may be started for one problem.
const MOST_STARTS: usize = 40;

/// The time that one problem may take.
const MOST_TIME: Duration = Duration::from_secs(60);

/// The number of calls of a session that are said again at most.
pub(crate) const LONGEST: usize = 5_000;

/// A problem that was tried again.
pub(crate) struct Confirmed {
    /// As it showed last.
    pub(crate) problem: FuzzProblem,
    /// The shortest known sequence: it shows at the last call.
    pub(crate) calls: Vec<GeneratedCall>,
    pub(crate) confirmation: Confirmation,
}

/// The calls that may have caused a problem.
pub(crate) struct Traces {
    /// The likely ones, in order.
    pub(crate) suspects: Vec<GeneratedCall>,
    /// All calls of the session until then.
    pub(crate) session: Vec<GeneratedCall>,
}

/// Tries a problem again.
pub(crate) async fn confirm(target: FuzzTarget<'_>, problem: &FuzzProblem, traces: &Traces) -> Confirmed {
    let mut trial = Trial { target, problem, shown: None, starts: 0, end: None, begun: Instant::now() };
    let Some(found) = trial.find_trigger(traces).await else {
        let confirmation = trial.end.map_or_else(|| Confirmation::of(0, trial.starts), Confirmation::NotJudged);
        return Confirmed { problem: problem.clone(), calls: traces.suspects.clone(), confirmation };
    };
    let calls = trial.minimize(found).await;
    let (mut shown, mut tried) = (1, 1);
    for _ in 0..if problem.kind == FindingKind::Hang { 0 } else { REPEATS } {
        tried += 1;
        shown += usize::from(trial.first_call_that_shows(&calls, trial.timeout()).await.is_some());
    }
    // The replay is better evidence: no other calls were pending.
    let problem = trial.shown.unwrap_or_else(|| problem.clone());
    Confirmed { problem, calls, confirmation: Confirmation::of(shown, tried) }
}

struct Trial<'a> {
    target: FuzzTarget<'a>,
    problem: &'a FuzzProblem,
    shown: Option<FuzzProblem>,
    starts: usize,
    /// The reason for which a server could not be tried.
    end: Option<CheckEnd>,
    begun: Instant,
}

impl Trial<'_> {
    /// The calls up to the one at which the problem shows: of the suspects, or else of the whole session.
    async fn find_trigger(&mut self, traces: &Traces) -> Option<Vec<GeneratedCall>> {
        for calls in [&traces.suspects, &traces.session] {
            if calls.is_empty() {
                continue;
            }
            let wait = if calls.len() == 1 { self.timeout() } else { self.target.context.request_timeout };
            let Some(at) = self.first_call_that_shows(calls, wait).await else { continue };
            let calls = calls[..=at].to_vec();
            // A slow answer is no hang: a hang is silent for longer.
            if wait == self.timeout() || self.hangs_longer(&calls).await {
                return Some(calls);
            }
        }
        None
    }

    /// The last call hangs for longer, alone or after the others.
    async fn hangs_longer(&mut self, calls: &[GeneratedCall]) -> bool {
        self.first_call_that_shows(&calls[calls.len() - 1..], self.timeout()).await.is_some()
            || self.shows_at_last_call(calls).await
    }

    /// Leaves out the calls that are not needed; the last one shows it and stays.
    async fn minimize(&mut self, mut calls: Vec<GeneratedCall>) -> Vec<GeneratedCall> {
        let earlier = calls[..calls.len() - 1].to_vec();
        // Every replay of a hang takes as long as its timeout.
        let most = if self.problem.kind == FindingKind::Hang { 1 } else { usize::MAX };
        let mut search = SlowDdmin::new(earlier);
        while search.answers() < most && !self.is_over() {
            let Some(mut fewer) = search.next_part() else { break };
            fewer.extend(calls.last().cloned());
            let shows = self.shows_at_last_call(&fewer).await;
            search.answer(shows);
            if shows {
                calls = fewer;
            }
        }
        calls
    }

    fn is_over(&self) -> bool {
        self.starts >= MOST_STARTS || self.begun.elapsed() > MOST_TIME
    }

    /// The time for a call that may hang.
    fn timeout(&self) -> Duration {
        let timeout = self.target.context.request_timeout;
        if self.problem.kind == FindingKind::Hang { timeout * 2 } else { timeout }
    }

    async fn shows_at_last_call(&mut self, calls: &[GeneratedCall]) -> bool {
        self.first_call_that_shows(calls, self.timeout()).await == Some(calls.len() - 1)
    }

    /// The index of the call at which the problem shows.
    async fn first_call_that_shows(&mut self, calls: &[GeneratedCall], wait: Duration) -> Option<usize> {
        self.starts += 1;
        match self.target.replay(calls, self.problem, wait).await {
            Ok(reproduced) => {
                let reproduced = reproduced?;
                self.shown = Some(reproduced.problem);
                Some(reproduced.at)
            }
            Err(end) => {
                self.end = Some(end);
                None
            }
        }
    }
}
