//! One run of a target as figures: folded from its events, which hold no secrets.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lists;
use super::run_trace::RunTrace;
use super::status::{TargetStatus, TargetVerdict, of_case, of_session};
use crate::drift::Recorded;
use crate::event::{CaseResult, Event, Outcome, Reason};

/// Everything that a monitor keeps of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunObservation {
    /// The verdict; drift is judged later.
    pub verdict: TargetVerdict,
    /// The number of cases by outcome.
    pub cases: BTreeMap<Outcome, usize>,
    /// The calls of tools that were answered, in order.
    pub calls: Vec<TimedCall>,
    /// The names of the cases that were skipped because they would call a tool that may change data.
    pub not_allowed: Vec<String>,
    /// The lists of the server; `None` if it could not be asked.
    pub offered: Option<Recorded>,
    /// The day on which the certificate of the server ends, in days since 1970; `None` where it shows none.
    pub certificate_end: Option<i64>,
    /// The time that the run took.
    pub took: Duration,
    /// What happened when; only where traces are sent.
    pub trace: Option<Box<RunTrace>>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedCall {
    /// The tool.
    pub tool: String,
    /// From request to answer.
    pub took: Duration,
}

impl RunObservation {
    /// A run that came to nothing but a verdict.
    pub fn of(status: TargetStatus, detail: impl Into<String>) -> Self {
        Self { verdict: TargetVerdict::new(status, detail), ..Self::default() }
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::CaseFinished(result) => self.on_case(result),
            Event::SessionJudged(judged) => self.take(of_session(judged)),
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
    }

    /// Takes in a verdict beside those of cases.
    pub fn take(&mut self, verdict: TargetVerdict) {
        self.verdict = std::mem::take(&mut self.verdict).or_worse(verdict);
    }

    fn on_case(&mut self, result: &CaseResult) {
        self.take(of_case(result));
        let calls = result.exchanges.iter().filter(|exchange| exchange.answer_frame.is_some());
        self.calls.extend(calls.filter_map(|exchange| {
            let took = Duration::from_micros(exchange.elapsed_us);
            exchange.tool.clone().map(|tool| TimedCall { tool, took })
        }));
        if result.case.name == lists::NAME {
            return;
        }
        *self.cases.entry(result.outcome).or_default() += 1;
        if matches!(result.reason, Some(Reason::ReadOnly(_) | Reason::ToolNotAllowed(_))) {
            self.not_allowed.push(result.case.name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Exchange, FailureClass, Finding, Phase};

    fn call(tool: &str, answer_frame: Option<u32>) -> Exchange {
        let (sent, received) = (String::new(), String::new());
        let (title, tool) = (Exchange::call_title(tool), Some(tool.to_owned()));
        Exchange { phase: Phase::Steps, title, tool, sent, received, frame: 1, answer_frame, elapsed_us: 1500 }
    }

    #[test]
    fn cases_calls_and_the_worst_verdict_are_kept() {
        let mut seen = RunObservation::default();
        let late = Finding::failure(FailureClass::Timeout, "no answer");
        for result in [
            CaseResult::of_test(lists::NAME, Outcome::Passed),
            CaseResult {
                exchanges: vec![call("echo", Some(2)), call("slow", None)],
                findings: vec![late],
                ..CaseResult::of_test("asks", Outcome::Failed)
            },
            CaseResult::of_test("passes", Outcome::Passed),
            CaseResult {
                reason: Some(Reason::ReadOnly("it writes".to_owned())),
                ..CaseResult::of_test("writes", Outcome::Skipped)
            },
        ] {
            seen.on_event(&Event::CaseFinished(Box::new(result)));
        }
        assert_eq!(seen.verdict, TargetVerdict::new(TargetStatus::Timeout, "`asks`: no answer"));
        assert_eq!(seen.calls, [TimedCall { tool: "echo".to_owned(), took: Duration::from_micros(1500) }]);
        assert_eq!(seen.cases, [(Outcome::Passed, 1), (Outcome::Failed, 1), (Outcome::Skipped, 1)].into());
        assert_eq!(seen.not_allowed, ["writes"]);
    }
}
