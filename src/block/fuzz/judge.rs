//! Judges answers.

use serde_json::{Value, json};

use super::calls::{CallGenerator, GeneratedCall};
use super::problem::{FuzzProblem, NOT_VALIDATED, without_numbers};
use crate::check::answer_data::texts_of;
use crate::event::{Code, Finding, FindingKind, ReproductionCheck};
use crate::generate::InvalidValue;
use crate::matching::{breaks_own_schema, interpreter_message, stack_trace};
use crate::source::visible_line;
use crate::wire::admitted_failure;

/// The error of a server that broke while it worked.
const INTERNAL: i64 = -32603;

/// The number of characters of a value a message shows.
const SHOWN: usize = 80;

/// The result of a call.
#[derive(Debug)]
pub(crate) struct JudgedAnswer {
    pub(crate) fate: Fate,
    pub(crate) problems: Vec<FuzzProblem>,
    /// True if checking the content against the output schema took too long.
    pub(crate) is_unjudged: bool,
}

impl JudgedAnswer {
    fn new(fate: Fate, problems: impl IntoIterator<Item = FuzzProblem>) -> Self {
        Self { fate, problems: problems.into_iter().collect(), is_unjudged: false }
    }
}

/// Checking against the schema takes too long.
struct TooLong;

/// The way in which the server treated a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Served,
    Refused,
    /// The answer promises another one, or asks for something.
    Open,
    /// Neither a result nor an error came.
    Unusable,
}

pub(crate) fn judge(calls: &CallGenerator, made: &GeneratedCall, message: &Value) -> JudgedAnswer {
    if let Some(error) = message.get("error") {
        let text = error["message"].as_str().unwrap_or_default();
        let problem = || broken(calls, made, text, &|mark| json!({"error": {"message": {"contains": mark}}}));
        return JudgedAnswer::new(Fate::Refused, refused_by_error(error).or_else(problem));
    }
    let Some(result) = message.get("result").filter(|result| result.is_object()) else {
        return JudgedAnswer::new(Fate::Unusable, None);
    };
    if result["isError"] == true {
        let text = texts_of(result).collect::<Vec<_>>().join("\n");
        let holds = |mark: &str| json!({"text": {"contains": mark}});
        let problem = find_stack_trace(&text, holds).or_else(|| broken(calls, made, &text, &holds));
        return JudgedAnswer::new(Fate::Refused, problem.into_iter().chain(error_content(calls, made, result)));
    }
    let kind = result.get("resultType").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "complete") || result.get("task").is_some() {
        return JudgedAnswer::new(Fate::Open, None);
    }
    let callee = &calls.callees[made.tool];
    let tool = &callee.name;
    if let Some(words) = admitted_failure(result).filter(|_| !callee.runs_code) {
        let output = output(calls, made, result).ok().flatten();
        return JudgedAnswer::new(Fate::Refused, [unflagged_failure(tool, &words)].into_iter().chain(output));
    }
    let served = calls.refusable(made).map(|violation| accepted_invalid_call(tool, violation));
    let output = output(calls, made, result);
    let is_unjudged = output.is_err();
    JudgedAnswer { is_unjudged, ..JudgedAnswer::new(Fate::Served, served.into_iter().chain(output.ok().flatten())) }
}

/// An error that blames the server.
fn refused_by_error(error: &Value) -> Option<FuzzProblem> {
    let text = error["message"].as_str().unwrap_or_default();
    if let Some(problem) = find_stack_trace(text, |mark| json!({"error": {"message": {"contains": mark}}})) {
        return Some(problem);
    }
    if error["code"].as_i64() != Some(INTERNAL) {
        return None;
    }
    let shown: String = visible_line(text).chars().take(SHOWN).collect();
    let message = format!("the server answered with an internal error ({INTERNAL}): {shown}");
    let help = "answer what a caller can mend with `isError: true` and a text, or with -32602".to_owned();
    let found = Finding { help: Some(help), ..Finding::new("internal-error", message) };
    let check = ReproductionCheck::Broken(vec![json!({"not": {"error": {"code": INTERNAL}}})]);
    let signature = format!("{INTERNAL} {}", without_numbers(text));
    Some(FuzzProblem::new(FindingKind::PropertyFailure, signature, check, found).into_advice())
}

/// An error that shows the insides of the server; `holds` is an expectation that what gave it away is there.
fn find_stack_trace(text: &str, holds: impl Fn(&str) -> Value) -> Option<FuzzProblem> {
    let mark = stack_trace(text)?;
    let found = Finding::new("stack-trace", "the server answered with a stack trace, which helps no caller");
    let text: String = text.chars().take(2_000).collect();
    let found = Finding { help: Some("say in words what was wrong with the call".to_owned()), ..found };
    let check = ReproductionCheck::Broken(vec![json!({"not": holds(mark)})]);
    let signature = without_numbers(mark);
    let found = found.with_evidence("the text", text);
    Some(FuzzProblem::new(FindingKind::PropertyFailure, signature, check, found).into_advice())
}

/// An error in which the server says itself that it is wrong: its SDK refused its own result, or the tool broke.
/// Where the call was valid, that is more than poor wording.
fn broken(
    calls: &CallGenerator,
    made: &GeneratedCall,
    text: &str,
    holds: &dyn Fn(&str) -> Value,
) -> Option<FuzzProblem> {
    let callee = &calls.callees[made.tool];
    let (tool, shown) = (&callee.name, visible_line(text).chars().take(2 * SHOWN).collect::<String>());
    let (kind, mark, message) = if let Some(mark) = breaks_own_schema(text) {
        let message = format!("the server says that a result of `{tool}` violates its output schema: {shown}");
        (FindingKind::SchemaViolation, mark, message)
    } else {
        let mark = interpreter_message(text).filter(|_| !callee.runs_code)?;
        (FindingKind::PropertyFailure, mark, format!("`{tool}` answered with a message of the interpreter: {shown}"))
    };
    let is_own_schema = kind == FindingKind::SchemaViolation;
    let code = if is_own_schema { "output-schema" } else { "interpreter-message" };
    let help = "catch what goes wrong in the tool, and say in words what was wrong with the call".to_owned();
    let found = Finding { help: Some(help).filter(|_| !is_own_schema), ..Finding::new(code, message) };
    let check = ReproductionCheck::Broken(vec![json!({"not": holds(mark)})]);
    let problem = FuzzProblem::new(kind, without_numbers(mark), check, found);
    Some(if is_own_schema || made.breach.is_none() { problem } else { problem.into_advice() })
}

/// A call was served that the schema forbids.
fn accepted_invalid_call(tool: &str, violation: &InvalidValue) -> FuzzProblem {
    let message = format!("`{tool}` served a call that its schema forbids: {}", violation.says);
    let found = Finding {
        path: Some(violation.at.clone()).filter(|at| !at.is_empty()),
        help: Some("refuse it with -32602, or with `isError: true` and a text that names the argument".to_owned()),
        ..Finding::new(NOT_VALIDATED, message)
    };
    let signature = format!("input {} {}", violation.keyword, violation.at);
    let check = ReproductionCheck::Broken(vec![json!({"refused": true})]);
    FuzzProblem::new(FindingKind::SchemaViolation, signature, check, found).into_advice()
}

/// A result whose text reports a failure, without `isError`.
fn unflagged_failure(tool: &str, words: &str) -> FuzzProblem {
    let message = format!("`{tool}` reports a failure as a success, without `isError: true`: {words}");
    let help = "set `isError: true`, so that callers, and the models behind them, see that the call failed".to_owned();
    let found = Finding { help: Some(help), ..Finding::new(Code::ERROR_AS_SUCCESS, message) };
    let check = ReproductionCheck::Broken(vec![json!({"refused": true})]);
    let signature = "error as success".to_owned();
    FuzzProblem::new(FindingKind::PropertyFailure, signature, check, found).into_advice()
}

/// A refusal with structured content that is not what the tool declares: clients that check it throw.
fn error_content(calls: &CallGenerator, made: &GeneratedCall, result: &Value) -> Option<FuzzProblem> {
    result.get("structuredContent")?;
    let problem = output(calls, made, result).ok().flatten()?;
    let message = format!("in a refusal, {}", problem.found.message);
    let help = Some("say in a text what was wrong, and leave `structuredContent` out of errors".to_owned());
    let found = Finding { code: Code::ERROR_CONTENT, message, help, ..problem.found };
    Some(FuzzProblem { found, ..problem }.into_advice())
}

/// Structured content that is not what the tool declares.
fn output(calls: &CallGenerator, made: &GeneratedCall, result: &Value) -> Result<Option<FuzzProblem>, TooLong> {
    let callee = &calls.callees[made.tool];
    let Some(judge) = &callee.output else { return Ok(None) };
    let problem = |code: &'static str, message: String, signature: String| {
        let found = Finding { path: Some("result.structuredContent".to_owned()), ..Finding::new(code, message) };
        let check = ReproductionCheck::Broken(vec![json!({"output_schema": true})]);
        FuzzProblem::new(FindingKind::SchemaViolation, signature, check, found)
    };
    let Some(content) = result.get("structuredContent") else {
        let message = format!("`{}` declares an `outputSchema` and answers without `structuredContent`", callee.name);
        return Ok(Some(problem("missing-structured-content", message, "missing".to_owned())));
    };
    let judge = judge.as_ref().map_err(|_| TooLong)?;
    if judge.is_valid(content).ok_or(TooLong)? {
        return Ok(None);
    }
    // Where there are more reasons than can be told, none is.
    let error = judge.errors(content).and_then(|mut errors| errors.next());
    let reason = error.as_ref().map(|error| {
        let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
        let sentence: String = error.to_string().trim_end_matches('.').chars().take(2 * SHOWN).collect();
        if place.is_empty() { format!(": {sentence}") } else { format!(": `{place}`: {sentence}") }
    });
    let reason = reason.unwrap_or_default();
    let message = format!("the structured content of `{}` breaks its output schema{reason}", callee.name);
    let rule = error.map(|error| error.schema_path().to_string()).unwrap_or_default();
    let content: String = content.to_string().chars().take(500).collect();
    let mut problem = problem("output-schema", message, format!("output {rule}"));
    problem.found.actual = Some(content);
    Ok(Some(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RequirementLevel;

    fn entry(name: &str) -> Value {
        json!({
            "name": name,
            "inputSchema": {
                "type": "object",
                "properties": {"page": {"type": "integer", "minimum": 1}},
                "required": ["page"],
            },
            "outputSchema": {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
        })
    }

    /// A call of the kind: valid, or with a number that is too small.
    fn call(calls: &CallGenerator, is_valid: bool) -> GeneratedCall {
        let made = (0..500).map(|number| calls.make(number, &calls.pool(0)));
        let is_meant = |made: &GeneratedCall| {
            if is_valid {
                made.breach.is_none()
            } else {
                calls.refusable(made).is_some_and(|broken| broken.keyword == "minimum")
            }
        };
        made.into_iter().find(is_meant).unwrap()
    }

    #[test]
    fn answers_and_what_they_show() {
        use Fate::{Open, Refused, Served, Unusable};
        use RequirementLevel::{Must, Should};
        let right = json!({"content": [{"type": "text", "text": "{\"total\": 3}"}], "structuredContent": {"total": 3}});
        let text =
            |text: &str, is_error: bool| json!({"content": [{"type": "text", "text": text}], "isError": is_error});
        let rows = [
            ("served", true, json!({"result": right}), Served, None),
            ("refused in words", true, json!({"result": text("page: there is no such page", true)}), Refused, None),
            (
                "refused by a code",
                false,
                json!({"error": {"code": -32602, "message": "page is too small"}}),
                Refused,
                None,
            ),
            ("served, and forbidden", false, json!({"result": right}), Served, Some((NOT_VALIDATED, Should))),
            (
                "an internal error",
                true,
                json!({"error": {"code": -32603, "message": "boom"}}),
                Refused,
                Some(("internal-error", Should)),
            ),
            (
                "content of another type",
                true,
                json!({"result": {"content": [], "structuredContent": {"total": "3"}}}),
                Served,
                Some(("output-schema", Must)),
            ),
            (
                "content that is missing",
                true,
                json!({"result": text("3", false)}),
                Served,
                Some(("missing-structured-content", Must)),
            ),
            (
                "a refusal with content of another type",
                true,
                json!({"result": {"content": [], "structuredContent": {"code": "E7"}, "isError": true}}),
                Refused,
                Some(("error-content", Should)),
            ),
            (
                "a refusal with content as it is declared",
                true,
                json!({"result": {"content": [], "structuredContent": {"total": 0}, "isError": true}}),
                Refused,
                None,
            ),
            ("a refusal without content", true, json!({"result": text("no", true)}), Refused, None),
            (
                "a message of the interpreter",
                true,
                json!({"result": text("KeyError: 'page'", true)}),
                Refused,
                Some(("interpreter-message", Must)),
            ),
            (
                "the same for a forbidden call",
                false,
                json!({"result": text("KeyError: 'page'", true)}),
                Refused,
                Some(("interpreter-message", Should)),
            ),
            ("a task", true, json!({"result": {"task": {"taskId": "t1"}}}), Open, None),
            ("a question", true, json!({"result": {"resultType": "input_required"}}), Open, None),
            ("no object", true, json!({"result": 5}), Unusable, None),
            ("nothing", true, json!({}), Unusable, None),
        ];
        let calls = CallGenerator::of_test("{ seed: 7 }", &[entry("list_pages")], &[]);
        for (what, is_valid, message, fate, expected) in rows {
            let judged = judge(&calls, &call(&calls, is_valid), &message);
            let found = judged.problems.first().map(|problem| (problem.found.code.as_str(), problem.found.level));
            assert_eq!((judged.fate, found), (fate, expected), "{what}");
            assert!(!judged.is_unjudged, "{what}");
        }
    }

    #[test]
    fn failures_that_look_like_successes() {
        let failed = json!({"result": {"content": [], "structuredContent": {"success": false, "error": "no such page", "total": 0}}});
        // Who runs what callers write shows their failures as results.
        for (tool, expected) in [("list_pages", Fate::Refused), ("run_python_code", Fate::Served)] {
            let calls = CallGenerator::of_test("{ seed: 7 }", &[entry(tool)], &[]);
            assert_eq!(judge(&calls, &call(&calls, true), &failed).fate, expected, "{tool}");
        }
    }

    #[test]
    fn errors_that_show_the_insides() {
        let trace = "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in get\nValueError: bad";
        let rows = [
            (json!({"code": -32000, "message": trace}), Some("stack-trace")),
            (json!({"code": -32603, "message": trace}), Some("stack-trace")),
            (json!({"code": -32603, "message": "failed"}), Some("internal-error")),
            (json!({"code": -32602, "message": "page must be positive"}), None),
            (json!({"code": -32000}), None),
        ];
        for (error, expected) in rows {
            let found = refused_by_error(&error);
            assert_eq!(found.as_ref().map(|problem| problem.found.code.as_str()), expected, "{error}");
        }
    }
}
