//! A client with its patterns, on the tasks of a seed.

use super::breaker::Breaker;
use super::faults::{Reply, ReplyKind, SeedFaults, SimulatedAttempt};
use super::pattern::RetryPolicy;
use super::retry_budget::RetryBudget;
use super::routing::Router;
use super::{DEADLINE_MS, Patterns, SERVERS, TASKS, is_dispensable, tool_of};

/// The counts of the tasks of one seed, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SeedTally {
    /// Attempts that were made.
    pub(crate) attempts: u64,
    /// Calls that the tasks needed, also those that a breaker skipped.
    pub(crate) calls: u64,
    /// Calls with an answer in the end, also with a wrong or a late one.
    pub(crate) answered: u64,
    /// Answers that were right.
    pub(crate) right: u64,
    /// Answers that came before the deadline.
    pub(crate) in_time: u64,
    /// Tasks that the client knows to have failed: a call that they needed had no answer before the deadline.
    pub(crate) failed_safely: u64,
    /// Other tasks that used a wrong answer.
    pub(crate) failed_silently: u64,
}

struct SimulatedClient {
    patterns: Patterns,
    breaker: Breaker,
    budget: RetryBudget,
    router: Router,
}

/// A call with all its attempts.
#[derive(Debug, Clone, Copy, Default)]
struct SimulatedCall {
    attempts: u64,
    /// The time of all attempts.
    elapsed_ms: f64,
    /// The last reply; `None` if the call was skipped.
    content: Option<ReplyKind>,
}

/// Plays the tasks of a seed.
pub(crate) fn play(patterns: Patterns, faults: &SeedFaults<'_>) -> SeedTally {
    let mut client = SimulatedClient {
        patterns,
        breaker: Breaker::new(patterns.breaker),
        budget: RetryBudget::default(),
        router: Router::default(),
    };
    let mut tally = SeedTally::default();
    for task in 0..TASKS {
        client.play_task(task, faults, &mut tally);
    }
    tally
}

impl SimulatedClient {
    fn play_task(&mut self, task: usize, faults: &SeedFaults<'_>, tally: &mut SeedTally) {
        let (mut has_failed, mut is_wrong) = (false, false);
        for slot in 0..faults.fan_out {
            let call = self.call(SimulatedAttempt { task, slot, server: 0, number: 0 }, faults);
            tally.note(call);
            let may_fail = self.patterns.degrades && is_dispensable(slot, faults.fan_out);
            has_failed |= !(call.is_good() || may_fail);
            is_wrong |= call.is_good() && call.content == Some(ReplyKind::Wrong);
        }
        tally.failed_safely += u64::from(has_failed);
        tally.failed_silently += u64::from(is_wrong && !has_failed);
    }

    /// Makes a call, unless the breaker of its tool is open.
    fn call(&mut self, first: SimulatedAttempt, faults: &SeedFaults<'_>) -> SimulatedCall {
        let tool = tool_of(first.slot);
        if self.breaker.skips(tool) {
            return SimulatedCall::default();
        }
        let call = self.call_with_retries(first, faults);
        self.breaker.note(tool, call.is_good());
        call
    }

    fn call_with_retries(&mut self, first: SimulatedAttempt, faults: &SeedFaults<'_>) -> SimulatedCall {
        let mut call = SimulatedCall::default();
        for number in 0..=self.patterns.retries.most() as usize {
            let is_budgeted = matches!(self.patterns.retries, RetryPolicy::WithinBudget(_));
            if number > 0 && is_budgeted && !self.budget.allows_retry() {
                break;
            }
            let server = self.server_for(first, call.elapsed_ms);
            let attempt = SimulatedAttempt { server, number, ..first };
            let reply = if self.patterns.hedges { self.hedge(attempt, faults) } else { self.attempt(attempt, faults) };
            call.attempts += if self.patterns.hedges { SERVERS.len() as u64 } else { 1 };
            call.elapsed_ms += reply.latency_ms;
            call.content = Some(reply.content);
            self.budget.note(reply.content != ReplyKind::Error);
            if reply.content != ReplyKind::Error || call.elapsed_ms > DEADLINE_MS {
                break;
            }
        }
        call
    }

    fn server_for(&self, first: SimulatedAttempt, elapsed_ms: f64) -> usize {
        if self.patterns.routes { self.router.choose(tool_of(first.slot), first.task, elapsed_ms) } else { 0 }
    }

    /// Makes an attempt at both servers at once: the first answer counts, an error only if both are.
    fn hedge(&mut self, attempt: SimulatedAttempt, faults: &SeedFaults<'_>) -> Reply {
        let one = self.attempt(attempt, faults);
        let other = self.attempt(SimulatedAttempt { server: SERVERS.len() - 1 - attempt.server, ..attempt }, faults);
        match (one.content, other.content) {
            (ReplyKind::Error, ReplyKind::Error) => Reply { latency_ms: one.latency_ms.max(other.latency_ms), ..one },
            (ReplyKind::Error, _) => other,
            (_, ReplyKind::Error) => one,
            (_, _) if other.latency_ms < one.latency_ms => other,
            (_, _) => one,
        }
    }

    fn attempt(&mut self, attempt: SimulatedAttempt, faults: &SeedFaults<'_>) -> Reply {
        let reply = faults.reply(attempt);
        self.router.note(tool_of(attempt.slot), attempt.server, attempt.task, reply.latency_ms);
        reply
    }
}

impl SimulatedCall {
    fn is_answered(self) -> bool {
        matches!(self.content, Some(ReplyKind::Right | ReplyKind::Wrong))
    }

    /// The client has an answer before the deadline, and no reason to doubt it.
    fn is_good(self) -> bool {
        self.is_answered() && self.elapsed_ms <= DEADLINE_MS
    }
}

impl SeedTally {
    fn note(&mut self, call: SimulatedCall) {
        self.attempts += call.attempts;
        self.calls += 1;
        self.answered += u64::from(call.is_answered());
        self.right += u64::from(call.content == Some(ReplyKind::Right));
        self.in_time += u64::from(call.is_good());
    }

    /// Tasks that failed.
    pub(crate) fn failed_tasks(&self) -> u64 {
        self.failed_safely + self.failed_silently
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.calls += other.calls;
        self.answered += other.answered;
        self.right += other.right;
        self.in_time += other.in_time;
        self.failed_safely += other.failed_safely;
        self.failed_silently += other.failed_silently;
    }
}
