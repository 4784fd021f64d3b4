//! Problems as findings, with the calls that reproduce them.

use super::Fuzz;
use super::calls::{CallGenerator, GeneratedCall};
use super::problem_list::{NotedProblem, ProblemStage};
use crate::check::Confirmation;
use crate::event::{Doubt, Exchange, Finding, FindingKind, Phase, Reproduction, ReproductionCall, RequirementLevel};
use crate::source::beginning;

/// The number of calls of a sequence that are shown.
const MOST_SHOWN: usize = 10;

/// A finding and the exchange that shows it; `None` for a problem that is not reported.
pub(crate) fn finding(
    known: NotedProblem,
    calls: &CallGenerator,
    setup: &[ReproductionCall],
    settings: &Fuzz,
) -> Option<(Finding, Option<Exchange>)> {
    let ProblemStage::Tried { calls: sequence, confirmation } = known.stage else { return None };
    let problem = known.problem;
    let number = known.suspects.last().copied().unwrap_or_default();
    let mut found = problem.found;
    let often = if known.times == 1 { "once".to_owned() } else { format!("{} times", known.times) };
    let is_across_sessions = problem.kind == FindingKind::StateLeak && found.level == RequirementLevel::Must;
    let place = if is_across_sessions {
        "by calls in two sessions of one server".to_owned()
    } else {
        place_of_tries(problem.kind, sequence.len(), &confirmation)
    };
    // What fuzzing finds is wrong by itself, so that a finding keeps its level if it is seen once.
    found = found
        .with_evidence("reproduced", confirmation.sentence(&place))
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
    let doubt = (!confirmation.is_seen_again()).then_some(if settings.in_flight > 1 {
        Doubt::SideBySide
    } else {
        Doubt::NeverAgain
    });
    let reproduction = Reproduction { kind: problem.kind, tool, sessions, check: problem.check, doubt };
    found.reproduction = Some(Box::new(reproduction));
    Some((found, exchange))
}

/// The calls that were made again, in words.
fn place_of_tries(kind: FindingKind, calls: usize, confirmation: &Confirmation) -> String {
    match (calls, kind) {
        (1, _) if !confirmation.is_seen_again() => "by this call in a fresh server".to_owned(),
        _ if !confirmation.is_seen_again() => "by the calls before it in a fresh server".to_owned(),
        (2, FindingKind::StateLeak) => "by two calls of a fresh server, and not by the second alone".to_owned(),
        (1, _) => "by this call alone in a fresh server".to_owned(),
        (calls, _) => format!("by {calls} calls of a fresh server"),
    }
}

/// The calls of a sequence, one a line, the last ones where there are many.
fn lines(sequence: &[GeneratedCall], calls: &CallGenerator) -> String {
    let left_out = sequence.len().saturating_sub(MOST_SHOWN);
    let line = |made: &GeneratedCall| {
        format!("{} {}", calls.callees[made.tool].name, beginning(&made.arguments.to_string(), 120))
    };
    let first = (left_out > 0).then(|| format!("({left_out} more before)"));
    first.into_iter().chain(sequence[left_out..].iter().map(line)).collect::<Vec<_>>().join("\n")
}

/// The exchange of a call whose problem did not show again: its answer is unknown.
fn unanswered_exchange(made: &GeneratedCall, calls: &CallGenerator) -> Exchange {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::problem::FuzzProblem;
    use super::*;

    #[test]
    fn tries_say_what_was_called_again() {
        use FindingKind::{Crash, Hang, StateLeak};
        for (kind, calls, shown, tried, expected) in [
            (Crash, 1, 3, 3, "3 of 3 times, by this call alone in a fresh server"),
            (Crash, 1, 2, 3, "2 of 3 times (flaky), by this call alone in a fresh server"),
            (Crash, 4, 3, 3, "3 of 3 times, by 4 calls of a fresh server"),
            (Hang, 1, 1, 1, "once more, by this call alone in a fresh server"),
            (Crash, 1, 0, 1, "not by this call in a fresh server"),
            (Crash, 4, 0, 2, "0 of 2 times, by the calls before it in a fresh server"),
            (StateLeak, 2, 1, 1, "once more, by two calls of a fresh server, and not by the second alone"),
        ] {
            let confirmation = Confirmation::of(shown, tried);
            assert_eq!(confirmation.sentence(&place_of_tries(kind, calls, &confirmation)), expected);
        }
    }

    #[test]
    fn a_finding_has_the_calls_that_show_it_and_says_how_sure_it_is() {
        use crate::event::ReproductionCheck;
        let entry = json!({"name": "get", "inputSchema": {"type": "object"}});
        let calls = CallGenerator::of_test("{ seed: 7 }", &[entry], &[]);
        let made = || GeneratedCall { tool: 0, arguments: json!({}), breach: None };
        let setup = [ReproductionCall::new("ping", json!(null))];
        let must = RequirementLevel::Must;
        let should = RequirementLevel::Should;
        for (problem, kind, level, sequence, shown, in_flight, sessions, doubt) in [
            ("a crash", FindingKind::Crash, must, 1, 3, 8, vec![2], None),
            ("a crash that takes two calls", FindingKind::Crash, must, 2, 3, 8, vec![3], None),
            ("a crash under load alone", FindingKind::Crash, must, 1, 0, 8, vec![2], Some(Doubt::SideBySide)),
            ("a crash that never came again", FindingKind::Crash, must, 1, 0, 1, vec![2], Some(Doubt::NeverAgain)),
            ("a leak into another session", FindingKind::StateLeak, must, 2, 1, 8, vec![2, 1], None),
            ("a text that comes again in its session", FindingKind::StateLeak, should, 2, 1, 8, vec![3], None),
        ] {
            let settings: Fuzz = crate::check::tests::settings(&format!("{{ seed: 7, in_flight: {in_flight} }}"));
            let found = Finding { level, ..Finding::new("crash", "it is wrong") };
            let known = NotedProblem {
                problem: FuzzProblem::new(kind, "", ReproductionCheck::Ends, found),
                tool: Some(0),
                times: 2,
                suspects: vec![4],
                stage: ProblemStage::Tried {
                    calls: (0..sequence).map(|_| made()).collect(),
                    confirmation: Confirmation::of(shown, 3.max(shown)),
                },
            };
            let (found, exchange) = finding(known, &calls, &setup, &settings).unwrap();
            let reproduction = found.reproduction.unwrap();
            let lengths: Vec<usize> = reproduction.sessions.iter().map(Vec::len).collect();
            assert_eq!((lengths, reproduction.doubt), (sessions, doubt), "{problem}");
            assert_eq!(
                (found.level, exchange.map(|exchange| exchange.title)),
                (level, Some("tools/call get".to_owned()))
            );
            let seen = found.evidence.iter().find(|(name, _)| name == "seen").map(|(_, text)| text.as_str());
            assert_eq!(seen, Some("2 times, first around call 5 of seed 7"), "{problem}");
        }
    }

    #[test]
    fn only_problems_that_were_tried_are_reported() {
        use crate::event::ReproductionCheck;
        let entry = json!({"name": "get", "inputSchema": {"type": "object"}});
        let calls = CallGenerator::of_test("{ seed: 7 }", &[entry], &[]);
        for stage in [ProblemStage::Seen, ProblemStage::Dropped] {
            let problem = FuzzProblem::new(FindingKind::Hang, "", ReproductionCheck::Ends, Finding::new("timeout", ""));
            let known = NotedProblem { problem, tool: Some(0), times: 1, suspects: vec![4], stage };
            assert!(finding(known, &calls, &[], &crate::check::tests::settings("{}")).is_none());
        }
    }
}
