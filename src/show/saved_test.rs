//! One call and its answer as a test of a suite, and its place in the text of the suite.

use serde_json::{Map, Value, json};

use super::lasting::lasts;
use crate::reproduce::{literal, literal_text};
use crate::source::{Node, visible_line, yaml_writer};

/// The most characters of a value that a test expects as a whole.
const LONGEST_VALUE: usize = 400;

/// The most members of an answer that are expected one by one.
const MOST_MEMBERS: usize = 5;

/// The most characters of a test's name.
const LONGEST_NAME: usize = 60;

/// A call that was answered.
pub(crate) struct AnsweredCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) answer: &'a Value,
    /// The answer to the same call a second time, of a tool that changes nothing.
    pub(crate) again: Option<&'a Value>,
}

impl AnsweredCall<'_> {
    /// The call as a test; `taken` are the names of other tests.
    pub(crate) fn test(&self, taken: &[&str]) -> Value {
        let values = self.arguments.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                format!("{name}={value}")
            }
        });
        let whole = std::iter::once(self.tool.to_owned()).chain(values).collect::<Vec<_>>().join(" ");
        let name: String = visible_line(&whole).chars().take(LONGEST_NAME).collect();
        let name = literal_text(name.trim_end());
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let name = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(&name.as_str()));
        let mut test = json!({"name": name, "call": literal_text(self.tool)});
        if !self.arguments.is_empty() {
            test["args"] = literal(&Value::Object(self.arguments.clone()));
        }
        test["expect"] = self.expectations().into();
        test
    }

    /// What the answer of a right server is always like, as far as one or two answers tell.
    fn expectations(&self) -> Vec<Value> {
        if let Some(error) = self.answer.get("error") {
            return vec![json!({"error": {"code": error["code"]}})];
        }
        let result = &self.answer["result"];
        if result["isError"] == true {
            return vec![json!({"is_error": true})];
        }
        let mut expected = vec![json!({"is_error": false})];
        let again = self.again.map(|again| &again["result"]);
        match (&result["structuredContent"], again.map(|again| &again["structuredContent"])) {
            (Value::Null, _) => expected.extend(again.and_then(|again| text_expectation(result, again))),
            (content, Some(again)) if content == again && is_lasting(content) => {
                expected.push(json!({"at": "result.structuredContent", "equals": literal(content)}));
            }
            (content, again) => expected.extend(self.member_expectations(content, again)),
        }
        expected
    }

    /// The members that were the same in both answers, or that repeat an argument where there is only one.
    fn member_expectations(&self, content: &Value, again: Option<&Value>) -> Vec<Value> {
        let is_stable = |name: &String, value: &Value| match again {
            Some(again) => again.get(name) == Some(value),
            None => self.arguments.get(name) == Some(value),
        };
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let members = content.as_object().into_iter().flatten();
        let members = members.filter(|(name, value)| is_name(name) && is_stable(name, value) && is_lasting(value));
        let members = members.filter(|(name, _)| !name.starts_with(|c: char| c.is_ascii_digit()));
        let expected = |(name, value): (&String, &Value)| json!({"at": format!("result.structuredContent.{name}"), "equals": literal(value)});
        members.map(expected).take(MOST_MEMBERS).collect()
    }
}

/// The only text of an answer, if it is the same in both.
fn text_expectation(result: &Value, again: &Value) -> Option<Value> {
    let [block] = result["content"].as_array()?.as_slice() else { return None };
    let text = &block["text"];
    let is_same = again["content"].as_array()?.first()?["text"] == *text;
    (is_same && text.is_string() && is_lasting(text))
        .then(|| json!({"at": "result.content[0].text", "equals": literal(text)}))
}

/// A value lasts, and is short enough to be expected as a whole.
fn is_lasting(value: &Value) -> bool {
    value.to_string().chars().count() <= LONGEST_VALUE && lasts(value)
}

/// The text of a suite with one more test behind its last one; everything else stays as it is.
///
/// # Errors
///
/// Fails, with a reason, where the tests are not written one below the other.
pub(crate) fn with_test(suite: &str, root: &Node, test: &Value) -> Result<String, &'static str> {
    let Some((_, tests)) = root.entries().iter().find(|(key, _)| key.value == "tests") else {
        return Ok(format!("{}\n\ntests:\n{}", suite.trim_end(), yaml_writer::block(&json!([test]), 2)));
    };
    let (Some(first), Some(last)) = (tests.items().first(), tests.items().last()) else {
        return Err("its list of tests is empty; remove the key `tests`");
    };
    let (start, end) = (first.span.start as usize, last.span.end as usize);
    let line = suite[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &suite[line..start];
    if before.trim() != "-" {
        return Err("its tests are in brackets; write them one below the other");
    }
    let indent = before.len() - before.trim_start().len();
    // A text of several lines ends behind its last one.
    let is_line_start = suite[..end].ends_with('\n');
    let at = if is_line_start { end } else { suite[end..].find('\n').map_or(suite.len(), |rest| end + rest + 1) };
    let (head, tail) = suite.split_at(at);
    let end_of_head = if head.ends_with('\n') { "" } else { "\n" };
    let between = tests.items().get(1).map(|second| &suite[first.span.end as usize..second.span.start as usize]);
    let gap = if between.is_some_and(|between| between.contains("\n\n")) { "\n" } else { "" };
    Ok(format!("{head}{end_of_head}{gap}{}{tail}", yaml_writer::block(&json!([test]), indent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    fn expectations(arguments: &Value, answer: &Value, again: Option<&Value>) -> Vec<Value> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = AnsweredCall { tool: "t", arguments: &arguments, answer, again };
        call.test(&[])["expect"].as_array().cloned().unwrap_or_default()
    }

    #[test]
    fn what_stays_the_same_is_expected() {
        let structured = |content: Value| json!({"result": {"structuredContent": content, "content": []}});
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        let served = json!({"is_error": false});
        let whole = |content: Value| json!({"at": "result.structuredContent", "equals": content});
        let member =
            |name: &str, value: Value| json!({"at": format!("result.structuredContent.{name}"), "equals": value});
        for (arguments, answer, again, expected) in [
            (
                json!({}),
                structured(json!({"sum": 5})),
                Some(structured(json!({"sum": 5}))),
                vec![whole(json!({"sum": 5}))],
            ),
            // One answer of a tool that writes: only what repeats an argument.
            (
                json!({"name": "Ann"}),
                structured(json!({"id": "u9", "name": "Ann"})),
                None,
                vec![member("name", json!("Ann"))],
            ),
            (
                json!({}),
                structured(json!({"a": 1, "at": "2026-11-27T08:00:00Z"})),
                Some(structured(json!({"a": 1, "at": "2026-11-27T08:00:00Z"}))),
                vec![member("a", json!(1))],
            ),
            (json!({}), structured(json!({"n": 1})), Some(structured(json!({"n": 2}))), vec![]),
            (
                json!({}),
                text("pong"),
                Some(text("pong")),
                vec![json!({"at": "result.content[0].text", "equals": "pong"})],
            ),
            (
                json!({}),
                text("{{ x }}"),
                Some(text("{{ x }}")),
                vec![json!({"at": "result.content[0].text", "equals": "{{ '{{' }} x }}"})],
            ),
            (json!({}), text("at /tmp/abc/d"), Some(text("at /tmp/abc/d")), vec![]),
            (json!({}), text("pong"), None, vec![]),
        ] {
            let expected: Vec<Value> = std::iter::once(served.clone()).chain(expected).collect();
            assert_eq!(expectations(&arguments, &answer, again.as_ref()), expected, "{answer}");
        }
        let failed = json!({"result": {"isError": true, "content": []}});
        assert_eq!(expectations(&json!({}), &failed, None), [json!({"is_error": true})]);
        let refused = json!({"error": {"code": -32602, "message": "no"}});
        assert_eq!(expectations(&json!({}), &refused, None), [json!({"error": {"code": -32602}})]);
    }

    #[test]
    fn names_are_unique() {
        let arguments = json!({"a": 2, "b": "x"}).as_object().cloned().unwrap_or_default();
        let answer = json!({"result": {}});
        let call = AnsweredCall { tool: "add", arguments: &arguments, answer: &answer, again: None };
        assert_eq!(call.test(&[])["name"], "add a=2 b=x");
        assert_eq!(call.test(&["add a=2 b=x", "add a=2 b=x (2)"])["name"], "add a=2 b=x (3)");
    }

    #[test]
    fn a_test_is_added_behind_the_others() {
        let test = json!({"name": "new", "call": "c", "expect": [{"is_error": false}]});
        let new = "- name: new\n  call: c\n  expect:\n    - is_error: false\n";
        let new2 = "  - name: new\n    call: c\n    expect:\n      - is_error: false\n";
        for (text, expected) in [
            ("suite: a # why\n", Ok(format!("suite: a # why\n\ntests:\n{new2}"))),
            (
                "tests:\n- name: a # first\n  list: tools # last\n# end\nsuite: a\n",
                Ok(format!("tests:\n- name: a # first\n  list: tools # last\n{new}# end\nsuite: a\n")),
            ),
            (
                "tests:\n  - name: a\n    list: tools\n\n  - name: b\n    list: tools",
                Ok(format!("tests:\n  - name: a\n    list: tools\n\n  - name: b\n    list: tools\n\n{new2}")),
            ),
            (
                "tests:\n  - name: a\n    call: x\n    args: { a: 1 }\n    expect:\n      - text: |\n          one\n          two\nsetup: []\n",
                Ok(format!(
                    "tests:\n  - name: a\n    call: x\n    args: {{ a: 1 }}\n    expect:\n      - text: |\n          one\n          two\n{new2}setup: []\n"
                )),
            ),
            (
                "tests:\n  - { name: a, list: tools } # one\n",
                Ok(format!("tests:\n  - {{ name: a, list: tools }} # one\n{new2}")),
            ),
            ("tests: [{ name: a }]\n", Err("its tests are in brackets; write them one below the other")),
            ("tests: []\n", Err("its list of tests is empty; remove the key `tests`")),
        ] {
            let mut sources = Sources::default();
            let source = sources.add(SourceFile::new("s.yml", text));
            let root = parse(&sources, source).unwrap();
            assert_eq!(with_test(text, &root, &test), expected, "{text}");
        }
    }
}
