//! The consequences of a failed precondition or valid call.

use super::finding;
use crate::check::refused_bare_call::refused_bare_call;
use crate::event::{CheckResult, Code, Finding, Outcome, Reason, RefusedCall, RequirementLevel, StepProblem};
use crate::matching::breaks_own_schema;
use crate::plan::MustServe;
use crate::plan::arguments::ConfigSource;
use crate::source::{Sources, Span, shorten, visible_line};
use crate::suite::Step;
use crate::wire::denies_tool;

/// A valid call that was refused.
pub(crate) struct ValidCallRefusal {
    /// The exchange.
    pub(crate) exchange: usize,
    /// The tool, where it was a call of one.
    pub(crate) tool: Option<String>,
    pub(crate) call: RefusedCall,
    /// The server's own words.
    pub(crate) words: String,
}

/// The verdict on a case whose witness did not go well: it does not apply where an answer lacks what the next step of
/// the witness goes on with, and nothing is known otherwise. `last_answer` is what the server said last.
pub(crate) fn precondition_failed(found: &[Finding], witness: &[Step], last_answer: &str) -> CheckResult {
    if let Some(why) = Reason::of_refusal(last_answer) {
        return CheckResult::because(Outcome::Inconclusive, why);
    }
    let problem = found.first().and_then(|found| found.step_problem.as_deref());
    if let Some(StepProblem::MissingValue(Some(path))) = problem
        && witness.iter().flat_map(|step| &step.capture).any(|capture| is_within(path, &capture.name.value))
    {
        return CheckResult::because(Outcome::Skipped, Reason::MissingValue(path.clone()));
    }
    let why = found.first().map(|found| match &found.help {
        Some(help) => format!("{}; {help}", found.message),
        None => found.message.clone(),
    });
    CheckResult::because(Outcome::Inconclusive, Reason::PreconditionFailed(why.unwrap_or_default()))
}

/// The verdict on a case whose valid call was refused: a failure where somebody vouches for the call, and nothing is
/// known otherwise.
pub(crate) fn valid_call_refused(
    refusal: ValidCallRefusal,
    must_serve: Option<MustServe>,
    config_source: ConfigSource,
    sources: &Sources,
    span: Span,
) -> CheckResult {
    let ValidCallRefusal { exchange, tool, call, words } = refusal;
    if let Some(why) = Reason::of_refusal(&words) {
        return CheckResult::because(Outcome::Inconclusive, why);
    }
    // Other arguments would not help: what the server refuses is its own result.
    if breaks_own_schema(&words).is_some() {
        let found = finding::at(own_schema_violation(&words, exchange), sources, span, "this case");
        return match must_serve {
            Some(_) => CheckResult::with_findings(Outcome::Failed, vec![found]),
            None => CheckResult::because(Outcome::Inconclusive, Reason::PreconditionFailed(found.message)),
        };
    }
    let is_denied = tool.as_ref().is_some_and(|tool| denies_tool(&words, tool));
    // That is reported beside the cases.
    let Some(must_serve) = must_serve.filter(|_| !is_denied) else {
        return CheckResult::because(Outcome::Inconclusive, Reason::ValidCallRefused(call));
    };
    let tool = tool.unwrap_or_default();
    let (found, label) = match must_serve {
        MustServe::Arguments => {
            let said = if words.is_empty() { String::new() } else { format!(": {}", excerpt(&words)) };
            let message = format!("`{tool}` refused the arguments that are given for it{said}");
            let help = format!("give arguments that it serves {}", config_source.help_to_give_arguments(&tool));
            (Finding { help: Some(help), ..Finding::new(Code::VALID_CALL_REFUSED, message) }, "given here")
        }
        MustServe::NoArguments => (refused_bare_call(&tool, &words, config_source), "called here"),
    };
    let found = Finding { exchange: Some(exchange), ..found };
    CheckResult::with_findings(Outcome::Failed, vec![finding::at(found, sources, span, label)])
}

/// A refusal of a call that was served before, confirmed by a second one.
pub(crate) fn served_then_refused(title: &str, words: &str, exchange: usize) -> Finding {
    let said = if words.is_empty() { String::new() } else { format!(": {}", excerpt(words)) };
    let message = format!("`{title}` was served before, and now the same call is refused{said}");
    let help = "no call in between may have changed data; look for state that earlier calls leave behind".to_owned();
    Finding { help: Some(help), exchange: Some(exchange), ..Finding::new("served-then-refused", message) }
}

/// A refusal of a call that was served before and afterwards.
pub(crate) fn unsteady_answer(exchange: usize) -> Finding {
    let message = "a valid call was served, then refused, then served again, with the same arguments".to_owned();
    Finding { level: RequirementLevel::Should, exchange: Some(exchange), ..Finding::new("unsteady-answer", message) }
}

/// A failure that is told in a result without `isError: true`; the frame shows it.
pub(crate) fn error_as_success(tool: &str, sent: &str, words: &str, frame: u32) -> Finding {
    let message =
        format!("`{tool}` reports a failure as a success: the text of its result says so, without `isError: true`");
    let help = "set `isError: true`, so that callers, and the models behind them, see that the call failed".to_owned();
    Finding {
        level: RequirementLevel::Should,
        help: Some(help),
        frame: Some(frame),
        ..Finding::new(Code::ERROR_AS_SUCCESS, message)
    }
    .with_evidence("the call", format!("{tool} {sent}"))
    .with_evidence("answered", words)
}

/// A refusal with structured content that the output schema forbids; the frame shows it.
pub(crate) fn unfit_error_content(tool: &str, sent: &str, objection: &str, frame: u32) -> Finding {
    let message = format!(
        "`{tool}` refuses a call with structured content that its output schema forbids: {objection}; clients that check \
         it throw, and hide why the call was refused"
    );
    let help = "say in a text what was wrong, and leave `structuredContent` out of errors".to_owned();
    Finding {
        level: RequirementLevel::Should,
        help: Some(help),
        frame: Some(frame),
        ..Finding::new(Code::ERROR_CONTENT, message)
    }
    .with_evidence("the call", format!("{tool} {sent}"))
}

/// The same of a prompt, whose failures have no flag.
pub(crate) fn prompt_error_as_success(prompt: &str, sent: &str, words: &str, frame: u32) -> Finding {
    let message =
        format!("the prompt `{prompt}` reports a failure as its text, which a model takes for what its user says");
    let help = "answer with a JSON-RPC error, such as -32602 for arguments that cannot be served".to_owned();
    Finding {
        level: RequirementLevel::Should,
        help: Some(help),
        frame: Some(frame),
        ..Finding::new(Code::ERROR_AS_SUCCESS, message)
    }
    .with_evidence("the prompt", format!("{prompt} {sent}"))
    .with_evidence("answered", words)
}

/// A result that the server's own SDK refused.
pub(crate) fn own_schema_violation(words: &str, exchange: usize) -> Finding {
    let message = format!("the tool's result violates its own output schema; the server says: {}", excerpt(words));
    Finding { exchange: Some(exchange), ..Finding::new("output-schema", message) }
}

/// As much of the server's words as a sentence takes.
fn excerpt(words: &str) -> String {
    shorten(&visible_line(words.trim()), 200)
}

/// Returns true if a path leads into the value of that name.
fn is_within(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_into_names() {
        assert!(is_within("page.nextCursor", "page"));
        assert!(is_within("page[0]", "page"));
        assert!(!is_within("pages.nextCursor", "page"));
        assert!(!is_within("offer.arguments[page]", "page"));
    }

    /// A suite of one line, for findings that quote it.
    fn sources() -> (Sources, Span) {
        let mut sources = Sources::default();
        let file = sources.add(crate::source::SourceFile::new("s.yml", "arguments: {}"));
        let span = crate::source::parse(&sources, file).unwrap().span;
        (sources, span)
    }

    #[test]
    fn a_refused_call_is_a_failure_only_where_somebody_vouches_for_it() {
        use Outcome::{Failed, Inconclusive};
        let own = "Output validation error: 'total' is a required property";
        assert!(breaks_own_schema(own).is_some(), "the words of an SDK");
        let (sources, span) = sources();
        for (what, words, must_serve, outcome, code) in [
            ("arguments of the suite", "no user `u1`", Some(MustServe::Arguments), Failed, Some("valid-call-refused")),
            ("no arguments", "closed today", Some(MustServe::NoArguments), Failed, Some("valid-call-refused")),
            ("generated arguments", "no user `u1`", None, Inconclusive, None),
            (
                "the machine lacks something",
                "getaddrinfo ENOTFOUND example.com",
                Some(MustServe::Arguments),
                Inconclusive,
                None,
            ),
            ("the server limits calls", "Rate limit exceeded", Some(MustServe::Arguments), Inconclusive, None),
            ("its own result is wrong", own, Some(MustServe::Arguments), Failed, Some("output-schema")),
            ("its own result is wrong, by chance", own, None, Inconclusive, None),
        ] {
            let call = RefusedCall {
                call: "tools/call find".to_owned(),
                answer: words.to_owned(),
                help: "under `arguments:`".to_owned(),
                purpose: crate::event::CallPurpose::Precondition,
            };
            let tool = Some("find".to_owned());
            let refusal = ValidCallRefusal { exchange: 0, tool, call, words: words.to_owned() };
            let result = valid_call_refused(refusal, must_serve, ConfigSource::Suite, &sources, span);
            let found = result.findings.first().map(|found| found.code.as_str());
            assert_eq!((result.outcome, found), (outcome, code), "{what}");
            assert_eq!(result.reason.is_none(), outcome == Failed, "{what}");
        }
    }

    #[test]
    fn a_precondition_that_fails_leaves_the_case_undecided() {
        let missing = |path: &str| {
            Finding::new("missing", "no such value").with_problem(StepProblem::MissingValue(Some(path.to_owned())))
        };
        for (what, found, last, outcome) in [
            ("an expectation is broken", Finding::new("equals", "it differs"), "{}", Outcome::Inconclusive),
            (
                "the machine lacks something",
                Finding::new("equals", "it differs"),
                "connect ECONNREFUSED 127.0.0.1:5432",
                Outcome::Inconclusive,
            ),
            ("a value is missing that no step of it captures", missing("user.id"), "{}", Outcome::Inconclusive),
        ] {
            let result = precondition_failed(&[found], &[], last);
            let is_lack = matches!(result.reason, Some(Reason::SurroundingsLack(_)));
            assert_eq!((result.outcome, is_lack), (outcome, last != "{}"), "{what}");
        }
    }
}
