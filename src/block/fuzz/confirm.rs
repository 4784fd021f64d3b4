//! Whether a problem shows again, and what it takes: in fresh servers, the call alone first, then what was said before it.

use std::time::Duration;

use tokio::time::Instant;

use super::calls::{Calls, Made};
use super::problem::Problem;
use super::replay::replay;
use crate::event::FindingKind;
use crate::plan::CheckContext;

/// How often a problem that showed again is tried once more.
const REPEATS: u32 = 2;

/// How many servers may be started for one problem.
const MOST_STARTS: u32 = 40;

/// How long one problem may take.
const MOST_TIME: Duration = Duration::from_secs(60);

/// How many calls of a session are said again at most.
pub(super) const LONGEST: usize = 5_000;

/// A problem that was tried again.
pub(super) struct Confirmed {
    /// As it showed last.
    pub(super) problem: Problem,
    /// The shortest sequence known: it shows at the last one.
    pub(super) calls: Vec<Made>,
    /// How often it showed of how often that sequence was said.
    pub(super) times: (u32, u32),
}

/// What is known of how a problem came about.
pub(super) struct Traces {
    /// The calls that may have brought it about, in order.
    pub(super) suspects: Vec<Made>,
    /// Everything that was said in the session before, the suspects included.
    pub(super) session: Vec<Made>,
}

/// Tries a problem again.
pub(super) async fn confirm(on: (&CheckContext<'_>, &Calls), problem: &Problem, traces: &Traces) -> Confirmed {
    let mut trial = Trial { on, problem, shown: None, starts: 0, begun: Instant::now() };
    let mut calls = trial.narrowed(traces).await;
    if let Some(found) = &mut calls {
        trial.shorten(found).await;
    }
    let Some(found) = calls else {
        let suspects = traces.suspects.clone();
        return Confirmed { problem: problem.clone(), calls: suspects, times: (0, trial.starts) };
    };
    let (mut shown, mut tried) = (1, 1);
    let repeats = if problem.kind == FindingKind::Hang { 0 } else { REPEATS };
    for _ in 0..repeats {
        tried += 1;
        shown += u32::from(trial.shows(&found, trial.patience()).await.is_some());
    }
    // How it showed again is better evidence: nothing else was going on.
    let problem = trial.shown.unwrap_or_else(|| problem.clone());
    Confirmed { problem, calls: found, times: (shown, tried) }
}

struct Trial<'a> {
    on: (&'a CheckContext<'a>, &'a Calls),
    problem: &'a Problem,
    shown: Option<Problem>,
    starts: u32,
    begun: Instant,
}

impl Trial<'_> {
    /// The calls up to the one at which it shows: of the suspects, or else of the whole session.
    async fn narrowed(&mut self, traces: &Traces) -> Option<Vec<Made>> {
        let wait = self.on.0.request_timeout;
        for calls in [&traces.suspects, &traces.session] {
            if calls.is_empty() {
                continue;
            }
            // Nobody takes a slow answer for none.
            let wait = if calls.len() == 1 { self.patience() } else { wait };
            let Some(at) = self.shows(calls, wait).await else { continue };
            let calls = calls[..=at].to_vec();
            // What was slow once is no hang: it must be silent for longer.
            if wait == self.patience() || self.lasts(&calls).await {
                return Some(calls);
            }
        }
        None
    }

    /// Whether the last of some calls stays silent for longer, alone or after the others.
    async fn lasts(&mut self, calls: &[Made]) -> bool {
        let patience = self.patience();
        let last = &calls[calls.len() - 1..];
        self.shows(last, patience).await.is_some() || self.shows(calls, patience).await == Some(calls.len() - 1)
    }

    /// Leaves out what it does not take.
    async fn shorten(&mut self, calls: &mut Vec<Made>) {
        let patience = self.patience();
        let mut length = 1;
        // A hang costs its time with every attempt.
        let is_dear = self.problem.kind == FindingKind::Hang;
        while length < calls.len() {
            let last = calls[calls.len() - length..].to_vec();
            if self.shows(&last, patience).await == Some(last.len() - 1) {
                *calls = last;
                break;
            }
            if is_dear || self.is_over() {
                return;
            }
            length *= 2;
        }
        let mut chunk = calls.len() / 2;
        while chunk > 0 && !is_dear && calls.len() > 1 {
            let mut at = 0;
            while at + chunk < calls.len() && !self.is_over() {
                let mut fewer = calls.clone();
                fewer.drain(at..at + chunk);
                if self.shows(&fewer, patience).await == Some(fewer.len() - 1) {
                    *calls = fewer;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
    }

    fn is_over(&self) -> bool {
        self.starts >= MOST_STARTS || self.begun.elapsed() > MOST_TIME
    }

    /// How long a call that may hang is waited for.
    fn patience(&self) -> Duration {
        if self.problem.kind == FindingKind::Hang { self.on.0.request_timeout * 2 } else { self.on.0.request_timeout }
    }

    async fn shows(&mut self, calls: &[Made], wait: Duration) -> Option<usize> {
        self.starts += 1;
        let said: Vec<&Made> = calls.iter().collect();
        // A server that does not start shows nothing.
        let replayed = replay(self.on, &said, self.problem, wait).await.ok()?;
        if replayed.problem.is_some() {
            self.shown = replayed.problem;
        }
        replayed.shown
    }
}
