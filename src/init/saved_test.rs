//! One call and its answer as a test of a suite, and its place in the text of the suite.

use serde_json::{Map, Value, json};

use super::expectation::{Types, expectations};
use crate::reproduce::{lasts, literal, literal_text};
use crate::source::{Node, visible_line, with_line_ends_of, yaml_writer};

/// The most characters of a test's name.
const LONGEST_NAME: usize = 60;

/// A call that was answered.
pub(crate) struct CallAsTest<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) answer: &'a Value,
    /// The answer to the same call a second time, of a tool that changes nothing.
    pub(crate) again: Option<&'a Value>,
}

impl CallAsTest<'_> {
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

    /// What two answers share, or of one only what repeats an argument: nobody knows what else comes again.
    fn expectations(&self) -> Vec<Value> {
        if let Some(again) = self.again {
            return expectations(self.answer, again, Types::Seen);
        }
        let mut expected = expectations(self.answer, self.answer, Types::Seen);
        expected.truncate(1);
        let content = &self.answer["result"]["structuredContent"];
        let repeats = |name: &String| self.arguments.get(name).is_some_and(|given| content.get(name) == Some(given));
        let repeated: Map<String, Value> = self
            .arguments
            .iter()
            .filter(|(name, _)| repeats(name))
            .map(|(name, given)| (name.clone(), given.clone()))
            .collect();
        if !repeated.is_empty() && lasts(&Value::Object(repeated.clone())) {
            expected.push(json!({"at": "result.structuredContent", "includes": literal(&repeated.into())}));
        }
        expected
    }
}

/// The text of a suite with one more test behind its last one; everything else stays as it is.
///
/// # Errors
///
/// Fails, with a reason, where the tests are not written one below the other.
pub(crate) fn with_test(suite: &str, root: &Node, test: &Value) -> Result<String, &'static str> {
    with_written_test(suite, root, &|indent| yaml_writer::block(&json!([test]), indent))
}

/// The same with a test that is written so, for the indent of the list.
pub(crate) fn with_written_test(
    suite: &str,
    root: &Node,
    written: &dyn Fn(usize) -> String,
) -> Result<String, &'static str> {
    let Some((_, tests)) = root.entries().iter().find(|(key, _)| key.value == "tests") else {
        let whole = format!("{}\n\ntests:\n{}", suite.trim_end(), written(2));
        return Ok(with_line_ends_of(suite, &whole));
    };
    if tests.items().is_empty() {
        return Err("its list of tests is empty; remove the key `tests`");
    }
    behind_last(suite, tests, written).ok_or("its tests are in brackets; write them one below the other")
}

/// The text with more behind the last item of a list; `None` where the items are not written one below the other.
pub(crate) fn behind_last(suite: &str, sequence: &Node, written: &dyn Fn(usize) -> String) -> Option<String> {
    let (first, last) = (sequence.items().first()?, sequence.items().last()?);
    let (start, end) = (first.span.start as usize, last.span.end as usize);
    let line = suite[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &suite[line..start];
    if before.trim() != "-" {
        return None;
    }
    let indent = before.len() - before.trim_start().len();
    // A text of several lines ends behind its last one.
    let is_line_start = suite[..end].ends_with('\n');
    let at = if is_line_start { end } else { suite[end..].find('\n').map_or(suite.len(), |rest| end + rest + 1) };
    let (head, tail) = suite.split_at(at);
    let end_of_head = if head.ends_with('\n') { "" } else { "\n" };
    let between = sequence.items().get(1).map(|second| &suite[first.span.end as usize..second.span.start as usize]);
    let is_apart = between.is_some_and(|between| between.replace('\r', "").contains("\n\n"));
    let gap = if is_apart { "\n" } else { "" };
    Some(with_line_ends_of(suite, &format!("{head}{end_of_head}{gap}{}{tail}", written(indent))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    fn expectations_of(arguments: &Value, answer: &Value, again: Option<&Value>) -> Vec<Value> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = CallAsTest { tool: "t", arguments: &arguments, answer, again };
        call.test(&[])["expect"].as_array().cloned().unwrap_or_default()
    }

    #[test]
    fn what_stays_the_same_is_expected() {
        let structured = |content: Value| json!({"result": {"structuredContent": content, "content": []}});
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        for (answer, again, expected) in [
            (
                structured(json!({"sum": 5})),
                Some(structured(json!({"sum": 5}))),
                vec![json!({"at": "result.structuredContent", "equals": {"sum": 5}})],
            ),
            (text("pong"), Some(text("pong")), vec![json!({"text": {"equals": "pong"}})]),
            // One answer of a tool that writes.
            (
                structured(json!({"id": "u9", "name": "Ann"})),
                None,
                vec![json!({"at": "result.structuredContent", "includes": {"name": "Ann"}})],
            ),
            (structured(json!({"name": "Bob"})), None, vec![]),
            (text("pong"), None, vec![]),
        ] {
            let expected: Vec<Value> = std::iter::once(json!({"is_error": false})).chain(expected).collect();
            assert_eq!(expectations_of(&json!({"name": "Ann"}), &answer, again.as_ref()), expected, "{answer}");
        }
        let failed = json!({"result": {"isError": true, "content": []}});
        assert_eq!(expectations_of(&json!({}), &failed, None), [json!({"is_error": true})]);
        let refused = json!({"error": {"code": -32602, "message": "no"}});
        assert_eq!(expectations_of(&json!({}), &refused, None), [json!({"error": {"code": -32602}})]);
    }

    #[test]
    fn names_are_unique() {
        let arguments = json!({"a": 2, "b": "x"}).as_object().cloned().unwrap_or_default();
        let answer = json!({"result": {}});
        let call = CallAsTest { tool: "add", arguments: &arguments, answer: &answer, again: None };
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
            let of_windows = |text: &str| text.replace('\n', "\r\n");
            for (text, expected) in [
                (text.to_owned(), expected.clone()),
                (of_windows(text), expected.map(|expected| of_windows(&expected))),
            ] {
                let mut sources = Sources::default();
                let source = sources.add(SourceFile::new("s.yml", text.as_str()));
                let root = parse(&sources, source).unwrap();
                assert_eq!(with_test(&text, &root, &test), expected, "{text}");
            }
        }
    }
}
