//! Problems as findings, with the calls that reproduce them.

use super::Fuzz;
use super::calls::{Calls, GeneratedCall};
use super::confirm::Repetitions;
use super::problem_list::{NotedProblem, ProblemStage};
use crate::event::{Doubt, Exchange, Finding, FindingKind, Phase, Reproduction, ReproductionCall, RequirementLevel};
use crate::source::beginning;

/// How many calls of a sequence are shown.
const MOST_SHOWN: usize = 10;

/// A finding and the exchange that shows it; `None` for a problem that is not reported.
pub(crate) fn finding(
    known: NotedProblem,
    calls: &Calls,
    setup: &[ReproductionCall],
    settings: &Fuzz,
) -> Option<(Finding, Option<Exchange>)> {
    let ProblemStage::Tried { calls: sequence, repetitions } = known.stage else { return None };
    let problem = known.problem;
    let number = known.suspects.last().copied().unwrap_or_default();
    let mut found = problem.found;
    let often = if known.times == 1 { "once".to_owned() } else { format!("{} times", known.times) };
    let is_across_sessions = problem.kind == FindingKind::StateLeak && found.level == RequirementLevel::Must;
    let how = if is_across_sessions {
        format!("{} of {} times, by calls in two sessions of one server", repetitions.shown, repetitions.tried)
    } else {
        reproduced(problem.kind, sequence.len(), repetitions)
    };
    found = found
        .with_evidence("reproduced", how)
        .with_evidence("seen", format!("{often}, first around call {} of seed {}", number + 1, settings.seed));
    if sequence.len() > 1 {
        found = found.with_evidence("calls", lines(&sequence, calls));
    }
    let last = sequence.last();
    let tool = last.map(|made| calls.callees[made.tool].name.clone());
    let exchange = problem.exchange.or_else(|| last.map(|made| unanswered_exchange(made, calls)));
    found.severity = found.severity.or(Some(problem.kind.severity()));
    let said: Vec<ReproductionCall> = sequence.iter().map(|made| calls.reproduction(made)).collect();
    let sessions: Vec<Vec<ReproductionCall>> =
        if is_across_sessions { said.into_iter().map(|call| vec![call]).collect() } else { vec![said] };
    // Once with each server.
    let with_setup = |(at, said): (usize, Vec<ReproductionCall>)| {
        let setup = if at == 0 { setup } else { &[] };
        setup.iter().cloned().chain(said).collect()
    };
    let sessions = sessions.into_iter().enumerate().map(with_setup).collect();
    let doubt =
        (repetitions.shown == 0).then_some(if settings.in_flight > 1 { Doubt::SideBySide } else { Doubt::NeverAgain });
    let reproduction = Reproduction { kind: problem.kind, tool, sessions, check: problem.check, doubt };
    found.reproduction = Some(Box::new(reproduction));
    Some((found, exchange))
}

fn reproduced(kind: FindingKind, calls: usize, repetitions: Repetitions) -> String {
    let Repetitions { shown, tried } = repetitions;
    if shown == 0 {
        let what = if calls == 1 { "by this call" } else { "by the calls before it" };
        return format!("0 of {tried} times, {what} in a fresh server");
    }
    let flaky = if shown < tried { " (flaky)" } else { "" };
    let what = match (calls, kind) {
        (2, FindingKind::StateLeak) => "by two calls of a fresh server, and not by the second alone".to_owned(),
        (1, _) => "by this call alone in a fresh server".to_owned(),
        (calls, _) => format!("by {calls} calls of a fresh server"),
    };
    format!("{shown} of {tried} times{flaky}, {what}")
}

/// The calls of a sequence, one a line, the last ones where there are many.
fn lines(sequence: &[GeneratedCall], calls: &Calls) -> String {
    let left_out = sequence.len().saturating_sub(MOST_SHOWN);
    let line = |made: &GeneratedCall| {
        format!("{} {}", calls.callees[made.tool].name, beginning(&made.arguments.to_string(), 120))
    };
    let first = (left_out > 0).then(|| format!("({left_out} more before)"));
    first.into_iter().chain(sequence[left_out..].iter().map(line)).collect::<Vec<_>>().join("\n")
}

/// The exchange of a call whose problem did not show again: its answer is unknown.
fn unanswered_exchange(made: &GeneratedCall, calls: &Calls) -> Exchange {
    Exchange {
        phase: Phase::Steps,
        title: format!("tools/call {}", calls.callees[made.tool].name),
        tool: Some(calls.callees[made.tool].name.clone()),
        sent: beginning(&made.arguments.to_string(), 600),
        received: String::new(),
        frame: 1,
        answer_frame: None,
        elapsed_us: 0,
    }
}
