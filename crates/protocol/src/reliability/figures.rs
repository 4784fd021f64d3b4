//! Figures over many calls.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{CallOutcome, CallRecord, Interval};

/// The number of tasks with figures of their own; calls of later ones are counted without a task.
const MOST_TASKS: usize = 100_000;

/// Adds up calls as they come.
#[derive(Debug, Default)]
pub struct Reliability {
    /// A good answer that takes longer is none.
    deadline: Option<Duration>,
    calls: u64,
    good: u64,
    looking_good: u64,
    struck: u64,
    unnoticed: u64,
    noticed: u64,
    conforming: u64,
    compared: u64,
    /// The number of times that the server heard of calls.
    heard: u64,
    /// The calls of each task with figures of its own.
    kept: u64,
    /// By task, what the client wanted.
    tasks: BTreeMap<String, BTreeMap<String, IntentTally>>,
}

/// The fate of an intent.
#[derive(Debug, Clone, Copy, Default)]
struct IntentTally {
    /// The client got what it wanted in the end.
    is_met: bool,
    /// The number of times that the server heard of it.
    heard: u64,
}

/// The figures of some calls. Shares are between 0 and 1, and `None` where there is nothing to take a share of.
#[derive(Debug, Clone, PartialEq)]
pub struct ReliabilityFigures {
    /// Physical attempts.
    pub calls: u64,
    /// Purposes of clients, each with one call or more.
    pub intents: u64,
    /// The tasks.
    pub tasks: u64,
    /// Availability: the share of the calls whose answer looks good.
    pub availability: Option<f64>,
    /// Correctness: the share of these whose answer is the server's own.
    pub correctness: Option<f64>,
    /// ETA, effective tool availability: the product of both.
    pub effective_availability: Option<f64>,
    /// TCSR, tool call success rate: the share of the intents that were met in the end, in time.
    pub success_rate: Option<f64>,
    /// TCAF, tool call amplification: calls for an intent.
    pub amplification: Option<f64>,
    /// The number of times that the server heard of calls.
    pub heard: u64,
    /// The number of times that it heard of an intent of which it had heard before: what it may do twice.
    pub heard_again: u64,
    /// The amplification at the server: how many times it heard of an intent.
    pub amplification_at_server: Option<f64>,
    /// The share of the structured results that fit the output schema of their tool.
    pub conformance: Option<f64>,
    /// Calls that a fault changed.
    pub struck: u64,
    /// Those of them that failed so that the client can know.
    pub failed_safely: u64,
    /// Those of them that failed and look good, to a client that compares results with the output schema, too.
    pub failed_silently: u64,
    /// Tasks of which at least one intent was not met.
    pub failed_tasks: u64,
    /// The share of these tasks, the blast radius, with its interval.
    pub blast_radius: Option<Interval>,
}

impl Reliability {
    /// No call yet; good answers that take longer than the deadline are no success.
    pub fn new(deadline: Option<Duration>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// One more call.
    pub fn add(&mut self, call: &CallRecord) {
        let is_in_time = self.deadline.is_none_or(|deadline| call.took <= deadline);
        let is_good = call.outcome == CallOutcome::Served && is_in_time;
        let is_unnoticed = call.outcome == CallOutcome::Altered && call.conforms != Some(false);
        self.calls += 1;
        self.good += u64::from(call.outcome == CallOutcome::Served);
        self.looking_good += u64::from(call.outcome.looks_good());
        self.struck += u64::from(call.is_struck);
        self.unnoticed += u64::from(call.is_struck && is_unnoticed);
        self.noticed += u64::from(call.is_struck && !is_good && !is_unnoticed);
        self.heard += u64::from(call.heard);
        self.compared += u64::from(call.conforms.is_some());
        self.conforming += u64::from(call.conforms == Some(true));
        if self.tasks.len() >= MOST_TASKS && !self.tasks.contains_key(&call.task) {
            return;
        }
        self.kept += 1;
        let intent = self.tasks.entry(call.task.clone()).or_default().entry(call.intent.clone()).or_default();
        intent.is_met |= is_good;
        intent.heard += u64::from(call.heard);
    }

    /// The figures so far.
    pub fn figures(&self) -> ReliabilityFigures {
        let intents = || self.tasks.values().flat_map(BTreeMap::values);
        let (all, met) = (intents().count() as u64, intents().filter(|intent| intent.is_met).count() as u64);
        let is_failed = |intents: &&BTreeMap<String, IntentTally>| intents.values().any(|intent| !intent.is_met);
        let (tasks, failed_tasks) = (self.tasks.len() as u64, self.tasks.values().filter(is_failed).count() as u64);
        ReliabilityFigures {
            calls: self.calls,
            intents: all,
            tasks,
            availability: share(self.looking_good, self.calls),
            correctness: share(self.good, self.looking_good),
            effective_availability: share(self.good, self.calls),
            success_rate: share(met, all),
            amplification: share(self.kept, all),
            heard: self.heard,
            heard_again: intents().map(|intent| intent.heard.saturating_sub(1)).sum(),
            amplification_at_server: share(intents().map(|intent| intent.heard).sum(), all),
            conformance: share(self.conforming, self.compared),
            struck: self.struck,
            failed_safely: self.noticed,
            failed_silently: self.unnoticed,
            failed_tasks,
            blast_radius: (tasks > 0).then(|| Interval::wilson(failed_tasks, tasks)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

impl ReliabilityFigures {
    /// The figures for programs.
    pub fn json(&self) -> Value {
        json!({
            "calls": self.calls,
            "intents": self.intents,
            "tasks": self.tasks,
            "availability": self.availability,
            "correctness": self.correctness,
            "eta": self.effective_availability,
            "tcsr": self.success_rate,
            "tcaf": self.amplification,
            "heard": self.heard,
            "heard_again": self.heard_again,
            "tcaf_at_server": self.amplification_at_server,
            "schema_conformance": self.conformance,
            "struck": self.struck,
            "failed_safely": self.failed_safely,
            "failed_silently": self.failed_silently,
            "failed_tasks": self.failed_tasks,
            "blast_radius": self.blast_radius.map(|blast| {
                json!({ "share": blast.share, "low": blast.low, "high": blast.high })
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(task: &str, intent: &str, outcome: CallOutcome) -> CallRecord {
        CallRecord {
            task: task.to_owned(),
            intent: intent.to_owned(),
            tool: "add".to_owned(),
            outcome,
            took: Duration::from_millis(20),
            heard: 1,
            is_struck: outcome != CallOutcome::Served,
            conforms: None,
        }
    }

    fn figures(deadline: Option<Duration>, calls: &[CallRecord]) -> ReliabilityFigures {
        let mut reliability = Reliability::new(deadline);
        for call in calls {
            reliability.add(call);
        }
        reliability.figures()
    }

    #[test]
    fn a_careful_client_and_a_careless_one_differ() {
        use CallOutcome::{Error, Served};
        let careless = figures(None, &[call("1", "a", Served), call("1", "b", Error), call("2", "a", Served)]);
        let careful = figures(
            None,
            &[call("1", "a", Served), call("1", "b", Error), call("1", "b", Served), call("2", "a", Served)],
        );
        assert_eq!((careless.failed_tasks, careful.failed_tasks), (1, 0));
        assert_eq!((careless.intents, careful.intents), (3, 3));
        assert_eq!((careless.success_rate, careful.success_rate), (Some(2.0 / 3.0), Some(1.0)));
        assert_eq!((careless.amplification, careful.amplification), (Some(1.0), Some(4.0 / 3.0)));
        assert_eq!((careful.failed_safely, careful.failed_silently), (1, 0));
    }

    /// A call that is given up may end after the one that repeats it.
    #[test]
    fn figures_do_not_depend_on_the_order_in_which_calls_end() {
        use CallOutcome::{Served, Unanswered};
        let late = figures(None, &[call("1", "a", Served), call("1", "a", Unanswered)]);
        assert_eq!((late.intents, late.failed_tasks, late.amplification), (1, 0, Some(2.0)));
    }

    #[test]
    fn what_looks_good_and_is_wrong_is_available_and_not_correct() {
        let found = figures(None, &[call("1", "a", CallOutcome::Altered), call("2", "a", CallOutcome::Served)]);
        assert_eq!((found.availability, found.correctness), (Some(1.0), Some(0.5)));
        assert_eq!((found.effective_availability, found.failed_silently), (Some(0.5), 1));
        assert_eq!(found.failed_tasks, 1);
    }

    #[test]
    fn what_the_output_schema_shows_is_no_silent_failure() {
        let wrong = |conforms| CallRecord { conforms, ..call("1", "a", CallOutcome::Altered) };
        for (conforms, safely, silently) in [(None, 0, 1), (Some(true), 0, 1), (Some(false), 1, 0)] {
            let found = figures(None, &[wrong(conforms)]);
            assert_eq!((found.failed_safely, found.failed_silently), (safely, silently), "{conforms:?}");
            assert_eq!(found.failed_tasks, 1, "{conforms:?}");
        }
    }

    #[test]
    fn what_a_server_hears_of_an_intent_is_counted() {
        use CallOutcome::{Served, Unanswered};
        let heard = |heard, outcome| CallRecord { heard, ..call("1", "a", outcome) };
        for (calls, again, amplification) in [
            (vec![heard(1, Served)], 0, Some(1.0)),
            // The client repeats a call whose answer was lost, or that was.
            (vec![heard(1, Unanswered), heard(1, Served)], 1, Some(2.0)),
            (vec![heard(0, Unanswered), heard(1, Served)], 0, Some(1.0)),
            (vec![heard(5, Served)], 4, Some(5.0)),
            (vec![], 0, None),
        ] {
            let found = figures(None, &calls);
            assert_eq!((found.heard_again, found.amplification_at_server), (again, amplification), "{calls:?}");
        }
    }

    #[test]
    fn late_answers_are_no_success() {
        let served = [call("1", "a", CallOutcome::Served)];
        let found = |deadline| figures(Some(Duration::from_millis(deadline)), &served);
        assert_eq!((found(19).success_rate, found(20).success_rate), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn nothing_of_nothing_is_no_share() {
        let found = figures(None, &[]);
        assert_eq!((found.availability, found.blast_radius, found.amplification), (None, None, None));
    }
}
