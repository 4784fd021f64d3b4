//! Which failures have one cause: what is mended once is shown once, with the first place and the number of the others.

use serde_json::Value;

use crate::event::{CaseResult, Code, FailureClass, Finding, Outcome, Reason, RefusedCall, StepProblem};
use crate::suite::builtin_name;

/// The common traits of failures that have one cause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cause {
    outcome: Outcome,
    is_flaky: bool,
    /// The code of its findings; `None` for cases without any.
    pub(crate) code: Option<Code>,
    class: Option<FailureClass>,
    /// The tool or prompt, where each is mended on its own: one that reports failures as successes does so in every
    /// case.
    pub(crate) about: Option<String>,
    /// The expectation of a built-in rule, as file, line and column: what another rule says in the same words is
    /// another cause.
    expectation: Option<(String, usize, usize)>,
    /// The message, or the reason where there is no finding, without what differs from place to place.
    says: String,
    /// It is the same wherever it is met, so that one place shows all there is to see.
    pub(crate) is_general: bool,
}

/// The causes of a case, each once, in the order of its findings.
pub(crate) fn causes(result: &CaseResult) -> Vec<Cause> {
    let findings = match result.earlier.first() {
        Some(attempt) if result.is_flaky() => &attempt.findings,
        Some(_) | None => &result.findings,
    };
    if findings.is_empty() {
        return vec![of_reason(result)];
    }
    let mut causes: Vec<Cause> = Vec::new();
    for cause in findings.iter().map(|finding| of_finding(result, finding)) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

/// The cause of one of a case's findings.
pub(crate) fn of_finding(result: &CaseResult, finding: &Finding) -> Cause {
    let is_general = is_general(result, finding);
    let message = &finding.message;
    let is_of_suite = is_expectation_of_suite(finding);
    let is_of_tool = finding.code == Code::ERROR_AS_SUCCESS || is_of_suite;
    // A test may have files of its own, which the message names.
    let says = if is_general && !is_bad_store(finding) {
        without_names(message)
    } else if is_of_suite {
        without_values(message)
    } else {
        message.clone()
    };
    Cause {
        about: is_of_tool.then(|| result.identity(finding).tool),
        outcome: result.outcome,
        is_flaky: result.is_flaky(),
        code: Some(finding.code.clone()),
        class: finding.class,
        expectation: finding
            .quote
            .as_ref()
            .filter(|_| is_general)
            .map(|quote| (quote.file.clone(), quote.line, quote.column)),
        says,
        is_general,
    }
}

/// Why a case was not judged; what the server answered differs from call to call, and most reasons from tool to tool
/// by its name only.
fn of_reason(result: &CaseResult) -> Cause {
    let is_general = result.outcome == Outcome::Inconclusive;
    let says = result.reason.as_ref().map(without_data).unwrap_or_default();
    let says = if is_general { without_names(&without_repeats(&without_asides(&says))) } else { says };
    let (outcome, is_flaky) = (result.outcome, result.is_flaky());
    Cause { outcome, is_flaky, code: None, class: None, about: None, expectation: None, says, is_general }
}

/// A reason without the data of an answer, which differ from call to call; the words of a server stay.
fn without_data(reason: &Reason) -> String {
    let is_data = |answer: &str| serde_json::from_str::<Value>(answer).is_ok() || answer.starts_with('{');
    let words = |answer: &str| if is_data(answer) { String::new() } else { answer.to_owned() };
    if let Reason::ValidCallRefused(call) = reason {
        let call = RefusedCall { answer: words(&call.answer), ..call.clone() };
        return Reason::ValidCallRefused(call).to_string();
    }
    if let Reason::NothingServed(_) = reason {
        return Reason::NothingServed(String::new()).to_string();
    }
    // A limit may name the time that is left.
    if let Reason::CallsLimited(_) = reason {
        return Reason::CallsLimited(String::new()).to_string();
    }
    reason.to_string()
}

/// A finding says the same of every message, tool or argument: those of scans, of refusals that cases are
/// generated for, and of built-in rules. What somebody wrote in a suite is about what it says.
fn is_general(result: &CaseResult, finding: &Finding) -> bool {
    let is_of_scan = finding.frame.is_some() && finding.exchange.is_none();
    if is_of_scan && finding.class == Some(FailureClass::ProtocolError) {
        return true;
    }
    // A server that does not start, or lacks a variable or its store, says the same of every case.
    let is_unfilled = finding.step_problem.as_deref() == Some(&StepProblem::Unfilled);
    let is_of_start = finding.class.is_some() || is_unfilled || is_bad_store(finding);
    if result.outcome == Outcome::Errored && is_of_start {
        return true;
    }
    if finding.class.is_some() || finding.reproduction.is_some() {
        return false;
    }
    if let Some(quote) = &finding.quote {
        return builtin_name(&quote.file).is_some();
    }
    is_of_scan || result.case.probes.iter().any(|probe| probe == "negative-path")
}

/// An expectation in a suite that somebody wrote is not met: calls of one tool that miss it with other values fail alike.
fn is_expectation_of_suite(finding: &Finding) -> bool {
    let is_written = finding.quote.as_ref().is_some_and(|quote| builtin_name(&quote.file).is_none());
    // An answer without the value that is looked for misses its expectation as another value does.
    let is_unmet = matches!(finding.step_problem.as_deref(), None | Some(StepProblem::MissingValue(_)));
    is_written && finding.class.is_none() && is_unmet && !is_bad_store(finding)
}

/// The store of a server or the files of a test cannot be copied.
fn is_bad_store(finding: &Finding) -> bool {
    finding.code == Code::BAD_STORE
}

/// A reason in which the names in backticks stand nowhere else: servers repeat them in what they answer.
fn without_repeats(reason: &str) -> String {
    let names = reason.split('`').skip(1).step_by(2).filter(|name| name.len() > 2);
    names.fold(reason.to_owned(), |text, name| text.replace(name, "…"))
}

/// A message without what stands in backticks, and without its numbers.
fn without_names(message: &str) -> String {
    without_numbers(&without_quoted(message, '`'))
}

/// A message without texts in quotes, and without its numbers; what stands in backticks are places.
fn without_values(message: &str) -> String {
    without_numbers(&without_quoted(message, '"'))
}

fn without_quoted(message: &str, mark: char) -> String {
    let parts = message.split(mark).enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "…" });
    parts.collect::<Vec<_>>().join(&mark.to_string())
}

fn without_numbers(text: &str) -> String {
    text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("0")
}

/// A reason without what stands in brackets: counts of calls, which differ from tool to tool.
fn without_asides(reason: &str) -> String {
    let mut text = String::new();
    let mut rest = reason;
    while let Some((before, inside)) = rest.split_once(" (")
        && let Some((_, after)) = inside.split_once(')')
    {
        text += before;
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CallPurpose, Exchange};
    use crate::report::tests::fixture::{exchange, failed, passed};
    use crate::source::Quote;

    #[test]
    fn rules_that_fail_in_the_same_words_have_causes_of_their_own() {
        let cause = |file: &str, line: usize| {
            let quote = Quote {
                file: file.to_owned(),
                line,
                column: 9,
                text: "- assert: status == 400".to_owned(),
                marked: (2, 6),
                label: "is false".to_owned(),
            };
            let finding = Finding { quote: Some(quote), ..Finding::new("assert", "the expression does not hold") };
            of_finding(&failed(passed(1, "rule", None), Vec::new()), &finding)
        };
        let rule = "<builtin:compliance/2026-07-28/basic>";
        assert_eq!(cause(rule, 7), cause(rule, 7));
        assert_ne!(cause(rule, 7), cause(rule, 60));
        assert_eq!(cause("own.yml", 7), cause("own.yml", 60), "what somebody wrote is told apart by its case");
    }

    #[test]
    fn expectations_of_a_suite_fail_alike_where_only_values_differ() {
        let cause = |tool: &str, message: &str| {
            let quote = Quote {
                file: "own.yml".to_owned(),
                line: 4,
                column: 9,
                text: "- equals: 0".to_owned(),
                marked: (2, 6),
                label: "found 1".to_owned(),
            };
            let finding = Finding { quote: Some(quote), exchange: Some(0), ..Finding::new("equals", message) };
            let is_missing = message.contains("has no field");
            let finding = if is_missing { finding.with_problem(StepProblem::MissingValue(None)) } else { finding };
            let result = failed(passed(1, "case", None), Vec::new());
            let exchange = Exchange { frame: 3, ..exchange(tool, "{}", "{}") };
            of_finding(&CaseResult { exchanges: vec![exchange], ..result }, &finding)
        };
        for (one, other, is_same) in [
            (("add", "`sum` is 1, not 0"), ("add", "`sum` is 44, not 3"), true),
            (("add", r#"the text is "a", not "b""#), ("add", r#"the text is "c", not "d""#), true),
            (("add", "`sum` is 1, not 0"), ("sub", "`sum` is 1, not 0"), false),
            (("add", "`sum` is 1, not 0"), ("add", "`total` is 1, not 0"), false),
            (
                ("add", "it has no field `a`; there is no user 7"),
                ("add", "it has no field `a`; there is no user 170"),
                true,
            ),
            (("add", "it has no field `a`"), ("add", "it has no field `b`"), false),
        ] {
            assert_eq!(cause(one.0, one.1) == cause(other.0, other.1), is_same, "{one:?} {other:?}");
        }
    }

    #[test]
    fn counts_beside_a_reason_make_no_other_cause() {
        for (reason, expected) in [
            ("every call was refused (85 calls; seed 1, calls 26fd26a3)", "every call was refused"),
            ("a (b) c (d", "a c (d"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(without_asides(reason), expected);
        }
    }

    #[test]
    fn a_failure_that_is_told_as_a_success_has_one_cause_in_each_tool() {
        let cause = |tool: &str, words: &str| {
            let exchange = Exchange { frame: 3, ..exchange(tool, "{}", "{}") };
            let message = format!("`{tool}` reports a failure as a success");
            let finding = Finding { frame: Some(4), ..Finding::new(Code::ERROR_AS_SUCCESS, message) };
            let finding = finding.with_evidence("answered", words);
            let result = failed(passed(1, "case", None), Vec::new());
            of_finding(&CaseResult { exchanges: vec![exchange], ..result }, &finding)
        };
        assert_eq!(cause("info", "no file `a`"), cause("info", "no file `b`"));
        assert_ne!(cause("info", "no file `a`"), cause("text", "no file `a`"));
    }

    #[test]
    fn a_name_that_the_server_repeats_makes_no_other_cause() {
        let reason =
            |tool: &str, why: &str| without_names(&without_repeats(&format!("`{tool}` failed: {tool}: {why}")));
        assert_eq!(reason("get_user", "it is closed"), reason("find", "it is closed"));
        assert_ne!(reason("get_user", "it is closed"), reason("get_user", "it is late"));
    }

    #[test]
    fn the_data_of_an_answer_makes_no_other_cause() {
        let refused = |answer: &str| {
            let (call, help, purpose) = ("tools/call add".to_owned(), "with".to_owned(), CallPurpose::Check);
            without_data(&Reason::ValidCallRefused(RefusedCall { call, answer: answer.to_owned(), help, purpose }))
        };
        for (one, other, is_same) in [
            (r#"{"code":-32602}"#, r#"{"code":-32603}"#, true),
            (r#"{"cut":"#, r#"{"code":1}"#, true),
            ("it is closed", "it is late", false),
            ("it is closed", r#"{"code":1}"#, false),
        ] {
            assert_eq!(refused(one) == refused(other), is_same, "{one} | {other}");
        }
    }

    #[test]
    fn a_limit_of_calls_is_one_cause() {
        let limited = |words: &str| without_data(&Reason::CallsLimited(words.to_owned()));
        assert_eq!(limited("Rate limit exceeded"), limited("429 Too Many Requests: again in one minute"));
        assert_ne!(limited("Rate limit exceeded"), without_data(&Reason::SurroundingsLack("fetch failed".to_owned())));
    }

    #[test]
    fn names_and_numbers_make_no_other_cause() {
        for (one, other, is_same) in [
            ("the key `a b` of a `_meta` breaks", "the key `c` of a `_meta` breaks", true),
            ("the answer 12 came twice", "the answer 7 came twice", true),
            ("the answer came twice", "the answer came late", false),
            ("an `open", "an `other", true),
        ] {
            assert_eq!(without_names(one) == without_names(other), is_same, "{one} | {other}");
        }
    }
}
