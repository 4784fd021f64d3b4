//! Results that show calls.

use super::clients::Clients;
use crate::check::{CheckEnd, Confirmation};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel, Severity};

/// The result where everything is right, with calls as examples.
pub(crate) fn pass(reason: Reason, calls: Vec<Exchange>) -> CheckResult {
    let mut result = CheckResult { reason: Some(reason), ..CheckResult::new(Outcome::Passed) };
    add_calls(calls, &mut result);
    result
}

/// The message about a call that is answered with the result of another one.
pub(crate) fn swapped_message(tool: &str) -> String {
    format!("`{tool}` answers a call with the result of another one that runs at the same time")
}

/// The text that its answer should have.
pub(crate) fn swapped_expectation(own: &str, shows: &str) -> String {
    format!("`{own}`, the text of the call, and not `{shows}`")
}

/// The remedy for swapped answers.
pub(crate) const SWAPPED_HELP: &str =
    "keep what belongs to a call in variables of that call, not in ones that calls share";

/// The place of further tries with the same number of concurrent calls.
pub(crate) const AS_MANY_AT_ONCE: &str = "with as many calls at once";

/// The place of further tries, with the smallest load that shows a fault if it was seen again, as in `two calls are`.
pub(crate) fn describe_tries(place: &str, confirmation: &Confirmation, smallest: &str) -> String {
    if confirmation.is_seen_again() { format!("{place}; {smallest} enough") } else { place.to_owned() }
}

/// The result of a check that ends with a finding, and the calls that show it.
pub(crate) fn result_with(end: CheckEnd, calls: Vec<Exchange>) -> CheckResult {
    let mut result = end.into_result();
    let findings = std::mem::take(&mut result.findings);
    add_calls(calls, &mut result);
    for found in findings {
        show(found, Vec::new(), &mut result);
    }
    result
}

/// Adds a finding and the calls that show it.
pub(crate) fn show(found: Finding, calls: Vec<Exchange>, result: &mut CheckResult) {
    add_calls(calls, result);
    let exchange = result.exchanges.len().checked_sub(1);
    let is_must = found.level == RequirementLevel::Must;
    let severity = Some(if is_must { Severity::Critical } else { Severity::Medium });
    result.findings.push(Finding { exchange, severity, ..found });
}

fn add_calls(calls: Vec<Exchange>, result: &mut CheckResult) {
    result.frames.extend(calls.iter().flat_map(|call| std::iter::once(call.frame).chain(call.answer_frame)));
    result.exchanges.extend(calls);
}

/// The number of calls under way.
pub(crate) fn load(clients: &Clients<'_>) -> String {
    load_text(clients.sessions(), clients.in_flight())
}

fn load_text(sessions: usize, in_flight: usize) -> String {
    let sessions = if sessions == 1 { "one session".to_owned() } else { format!("{sessions} sessions") };
    format!("{in_flight} at a time in {sessions}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Phase;

    fn call(frame: u32, answer_frame: Option<u32>) -> Exchange {
        let (title, sent, received) = ("tools/call add".to_owned(), String::new(), String::new());
        Exchange { phase: Phase::Steps, title, tool: None, sent, received, frame, answer_frame, elapsed_us: 0 }
    }

    #[test]
    fn a_finding_points_to_the_last_call_that_shows_it() {
        for (calls, exchange, frames) in [
            (vec![], None, &[][..]),
            (vec![call(4, Some(5))], Some(0), &[4, 5]),
            (vec![call(4, Some(5)), call(8, None)], Some(1), &[4, 5, 8]),
        ] {
            let mut result = CheckResult::new(Outcome::Failed);
            show(Finding::new("lost-update", "it is lost"), calls, &mut result);
            assert_eq!((result.findings[0].exchange, &*result.frames), (exchange, frames));
        }
    }

    #[test]
    fn a_doubt_is_less_severe() {
        for (level, expected) in
            [(RequirementLevel::Must, Severity::Critical), (RequirementLevel::Should, Severity::Medium)]
        {
            let mut result = CheckResult::new(Outcome::Warned);
            show(Finding { level, ..Finding::new("stale-read", "it is stale") }, Vec::new(), &mut result);
            assert_eq!(result.findings[0].severity, Some(expected), "{level:?}");
        }
    }

    #[test]
    fn a_pass_shows_its_calls() {
        let result = pass(Reason::Measured("32 writes".to_owned()), vec![call(4, Some(5))]);
        assert_eq!((result.outcome, result.exchanges.len(), result.frames), (Outcome::Passed, 1, vec![4, 5]));
    }

    #[test]
    fn a_load_is_told_in_words() {
        assert_eq!(load_text(1, 16), "16 at a time in one session");
        assert_eq!(load_text(4, 16), "16 at a time in 4 sessions");
    }

    #[test]
    fn further_tries_name_the_smallest_load_only_where_they_showed_it() {
        for (confirmation, expected) in [
            (Confirmation::of(1, 1), "in a fresh server; two calls are enough"),
            (Confirmation::of(1, 3), "in a fresh server; two calls are enough"),
            (Confirmation::of(0, 3), "in a fresh server"),
            (Confirmation::NotJudged(CheckEnd::inconclusive("the time was over")), "in a fresh server"),
            (Confirmation::ControlFailed("the server may be full".to_owned()), "in a fresh server"),
        ] {
            assert_eq!(
                describe_tries("in a fresh server", &confirmation, "two calls are"),
                expected,
                "{confirmation:?}"
            );
        }
    }

    #[test]
    fn the_end_of_a_check_keeps_its_outcome_and_shows_the_calls() {
        let found = |level| Finding { level, ..Finding::new("lost-update", "it is lost") };
        for (what, end, outcome, findings) in [
            ("a fault", CheckEnd::failed(found(RequirementLevel::Must)), Outcome::Failed, 1),
            ("a doubt", CheckEnd::failed(found(RequirementLevel::Should)), Outcome::Warned, 1),
            (
                "both",
                CheckEnd::Failed(vec![found(RequirementLevel::Should), found(RequirementLevel::Must)]),
                Outcome::Failed,
                2,
            ),
            ("nothing that follows", CheckEnd::inconclusive("the server may be full"), Outcome::Inconclusive, 0),
        ] {
            let result = result_with(end, vec![call(4, Some(5)), call(8, None)]);
            assert_eq!((result.outcome, result.findings.len()), (outcome, findings), "{what}");
            assert_eq!(result.frames, [4, 5, 8], "{what}");
            assert!(result.findings.iter().all(|found| found.exchange == Some(1)), "{what}");
        }
    }
}
