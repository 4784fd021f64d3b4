//! Results that are no tool errors, and say of themselves that the call failed.

use serde_json::{Map, Value};

use super::surroundings::lack_in_result;
use super::{Members, read_json};
use crate::source::shorten;

/// The number of characters of its own words that are quoted.
const QUOTED: usize = 120;

/// Longer texts are data, not the report of a failure.
const LONGEST_REPORT: usize = 64 * 1024;

/// A longer text of a prompt is no sentence about a failure.
const LONGEST_SENTENCE: usize = 300;

/// The words of sentences about failures.
const FAILURES: [&str; 13] = [
    "not found",
    "no such",
    "unknown",
    "does not exist",
    "doesn't exist",
    "invalid",
    "cannot",
    "could not",
    "couldn't",
    "is allowed",
    "are allowed",
    "not allowed",
    "syntax error",
];

/// The beginnings of sentences about failures.
const BEGINNINGS: [&str; 7] =
    ["error:", "error -", "error occurred", "database error:", "failed to", "failure:", "exception:"];

/// Members that say what went wrong.
const REASONS: [&str; 7] = ["error", "errors", "error_message", "errorMessage", "message", "reason", "detail"];

/// Members that stand beside an `error` and say more about it, in lower case and without separators.
const ABOUT_ERRORS: [&str; 18] = [
    "error",
    "errors",
    "errortype",
    "errorcode",
    "errorname",
    "errormessage",
    "code",
    "type",
    "name",
    "message",
    "reason",
    "detail",
    "details",
    "hint",
    "suggestion",
    "status",
    "timestamp",
    "requestid",
];

/// Members of a report about something else than the call: a job that was asked about, a program that was run, a check.
const ABOUT_OTHERS: [&str; 22] = [
    "id",
    "jobid",
    "taskid",
    "runid",
    "buildid",
    "executionid",
    "workflowid",
    "exitcode",
    "exitstatus",
    "returncode",
    "stdout",
    "stderr",
    "output",
    "logs",
    "tests",
    "testresults",
    "checks",
    "issues",
    "violations",
    "url",
    "job",
    "task",
];

/// The message answers a request with a result that is no error, by its flag or in its own words.
pub fn is_served(message: &Value) -> bool {
    let result = message.member("result").filter(|result| result.is_object());
    result.is_some_and(|result| result["isError"] != true && admitted_failure(result).is_none())
}

/// The failure that a result without `isError: true` admits: as JSON with `"success": false` and the reason beside it, as
/// the sentence of an error, or in the words of a machine that lacks something. `None` where it says nothing, or reports on something else.
pub fn admitted_failure(result: &Value) -> Option<String> {
    let is_final = result.member("resultType").is_none_or(|kind| kind == "complete") && result.member("task").is_none();
    if !is_final || result.member("isError").is_some_and(|flag| *flag == true) {
        return None;
    }
    if let Some(admitted) = result.member("structuredContent").and_then(Value::as_object).and_then(admits) {
        return Some(admitted);
    }
    let text = only_text(result)?;
    if !text.starts_with('{') {
        return lack_in_result(text).or_else(|| failing_sentence(text));
    }
    if text.len() > LONGEST_REPORT
        || !["\"success\"", "\"ok\"", "\"status\"", "\"error\""].iter().any(|key| text.contains(key))
    {
        return None;
    }
    admits(read_json(text)?.as_object()?)
}

/// What the surroundings of a server lack by the words of a result without `isError: true`, such as `fetch failed`.
pub fn admitted_lack(result: &Value) -> Option<String> {
    let text = only_text(result).filter(|_| result.member("isError").is_none_or(|flag| *flag != true))?;
    let admitted = if text.starts_with('{') { admitted_failure(result)? } else { text.to_owned() };
    lack_in_result(&admitted)
}

/// The text of a result that has no other content.
fn only_text(result: &Value) -> Option<&str> {
    let [block] = result.member("content")?.as_array()?.as_slice() else { return None };
    block.member("text")?.as_str().map(str::trim)
}

/// The failure that a prompt admits: its only message is the sentence of an error, which a model would take for what its
/// user says. `None` where it says nothing of the kind.
pub fn admitted_prompt_failure(result: &Value) -> Option<String> {
    let [message] = result.member("messages")?.as_array()?.as_slice() else { return None };
    let text = message.member("content")?.member("text")?.as_str()?.trim();
    failing_sentence(text)
}

/// A text that is nothing but the sentence of an error.
fn failing_sentence(text: &str) -> Option<String> {
    // Nearly all results end here.
    let begins_with =
        |word: &&str| text.as_bytes().get(..word.len()).is_some_and(|said| said.eq_ignore_ascii_case(word.as_bytes()));
    if !BEGINNINGS.iter().any(begins_with) {
        return None;
    }
    let line =
        text.lines().next().filter(|line| line.len() == text.len() && line.chars().count() <= LONGEST_SENTENCE)?;
    let lower = line.to_lowercase();
    FAILURES.iter().any(|word| lower.contains(word)).then(|| shorten(line, QUOTED))
}

fn admits(report: &Map<String, Value>) -> Option<String> {
    let is_denied = |key: &&str| report.member(key) == Some(&Value::Bool(false));
    let has_error = report.member("error").is_some_and(is_said);
    let failed = report.member("status").filter(|status| *status == "error" || *status == "failed");
    // Nearly all results end here.
    if !has_error && failed.is_none() && !is_denied(&"success") {
        return None;
    }
    if report.keys().any(|key| ABOUT_OTHERS.contains(&plain(key).as_str())) {
        return None;
    }
    let reason =
        REASONS.iter().find_map(|key| report.member(key).filter(|value| is_said(value)).map(|value| (*key, value)));
    // A check may find that something is not in order, and have served well.
    let denied = ["success", "ok"].into_iter().filter(|key| *key == "success" || has_error).find(is_denied);
    let begin = match (denied, failed, reason) {
        (Some(key), ..) => format!("\"{key}\": false"),
        (None, Some(status), Some(_)) => format!("\"status\": {status}"),
        (None, None, Some(("error", error))) if is_alone(report) => return Some(quote_entry("error", error)),
        _ => return None,
    };
    Some(match reason {
        Some((key, value)) => format!("{begin}, {}", quote_entry(key, value)),
        None => begin,
    })
}

/// A report holds nothing but an error.
fn is_alone(report: &Map<String, Value>) -> bool {
    report.iter().all(|(key, value)| !is_said(value) || ABOUT_ERRORS.contains(&plain(key).as_str()))
}

/// A value is more than an empty placeholder.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn quote_entry(key: &str, value: &Value) -> String {
    format!("\"{key}\": {}", shorten(&value.to_string(), QUOTED))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(content: &Value, expected: Option<&str>) {
        let as_text = json!({"content": [{"type": "text", "text": content.to_string()}]});
        let as_data = json!({"content": [], "structuredContent": content});
        for result in [as_text, as_data] {
            assert_eq!(admitted_failure(&result).as_deref(), expected, "{result}");
        }
    }

    #[test]
    fn failures_in_words() {
        let not_found = json!({"success": false, "table": "nope", "error": "Table not found", "errorType": "NotFound"});
        check(&not_found, Some(r#""success": false, "error": "Table not found""#));
        check(&json!({"success": false}), Some(r#""success": false"#));
        check(&json!({"ok": false, "error": "no_channel"}), Some(r#""ok": false, "error": "no_channel""#));
        check(
            &json!({"status": "error", "message": "no such page"}),
            Some(r#""status": "error", "message": "no such page""#),
        );
        check(&json!({"status": "failed", "error": {"code": 7}}), Some(r#""status": "failed", "error": {"code":7}"#));
        check(&json!({"error": "no such user"}), Some(r#""error": "no such user""#));
        check(&json!({"error": "no such user", "code": "E7", "data": null}), Some(r#""error": "no such user""#));
    }

    #[test]
    fn reports_on_something_else() {
        check(&json!({"success": true, "error": null}), None);
        check(&json!({"rows": [1, 2], "error": "3 rows were left out"}), None);
        check(&json!({"error": null}), None);
        check(&json!({"error": false, "count": 3}), None);
        check(&json!({"status": "error"}), None);
        check(&json!({"id": "job-7", "status": "failed", "error": "out of memory"}), None);
        check(&json!({"success": false, "exit_code": 1, "stdout": "1 test failed"}), None);
        check(&json!({"success": false, "issues": ["line 3 is too long"]}), None);
        check(&json!({"ok": false, "reason": "the domain has no mail server"}), None);
        check(&json!({"message": "done"}), None);
        check(&json!([{"success": false}]), None);
    }

    #[test]
    fn machines_that_lack_something() {
        let result = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        for (text, expected) in [
            ("Error fetching quote: fetch failed", Some("Error fetching quote: fetch failed")),
            (r#"{"success": false, "error": "fetch failed"}"#, Some(r#""success": false, "error": "fetch failed""#)),
            (r#"{"success": false, "error": "no such quote"}"#, None),
            ("ECONNREFUSED is an error of connections", None),
            ("3 quotes", None),
        ] {
            assert_eq!(admitted_lack(&result(text)).as_deref(), expected, "{text}");
        }
        let flagged = json!({"isError": true, "content": [{"type": "text", "text": "fetch failed"}]});
        assert_eq!(admitted_lack(&flagged), None);
    }

    #[test]
    fn sentences_about_failures() {
        let result = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        for (text, is_admitted) in [
            ("Error: Only CREATE TABLE statements are allowed", true),
            ("Database error: Parser Error: syntax error at or near \"x\"", true),
            ("Error occurred: Invalid arguments for tool plan_task", true),
            ("Failed to open book.docx: no such file", true),
            // A report, which may say so of something else.
            ("Error: 3 of 5 checks", false),
            ("Failed: 1 test, `login` was not found", false),
            ("The user was not found in the cache and was read from disk", false),
            ("Error: not found\nError: not found\n2 lines of the log", false),
            ("errors are not allowed to pass silently", false),
        ] {
            assert_eq!(admitted_failure(&result(text)).is_some(), is_admitted, "{text}");
        }
    }

    #[test]
    fn flagged_and_open_results_admit_nothing() {
        let failed = json!({"success": false});
        assert_eq!(admitted_failure(&json!({"isError": true, "structuredContent": failed})), None);
        assert_eq!(admitted_failure(&json!({"resultType": "input_required", "structuredContent": failed})), None);
        let [first, second] =
            [json!({"type": "text", "text": "{\"success\": false}"}), json!({"type": "text", "text": "more"})];
        assert_eq!(admitted_failure(&json!({"content": [first, second]})), None);
    }
}
