//! The part of an answer that a snapshot keeps: without values that differ from run to run, in a stable order.
//!
//! Knows nothing about files: the caller reads and writes the recording.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::compare::{MatchExtent, differences, first_difference};
use super::value::RESULT;
use super::{mismatch::Mismatch, path::ValuePath, show};
use crate::schema::same;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, Value, is_hidden, settings};

settings! {
    /// The part of an answer that is kept, and how it is made comparable.
    pub struct Sample as "a sample", at span {
        /// The part of the answer that is recorded.
        at: ValuePath => default("result"),
        /// Paths whose values differ from run to run, with replacement texts; in a list, the type replaces the value.
        redact: Redactions,
        /// Paths of arrays whose order does not matter.
        sort: Vec<Located<ValuePath>>,
    }
}

#[derive(Debug, Clone)]
struct Redactions(Vec<Redaction>);

#[derive(Debug, Clone)]
struct Redaction {
    path: ValuePath,
    span: Span,
    /// The replacement; `None` for the type of the value.
    text: Option<String>,
}

impl Setting for Redactions {
    const SHAPE: Shape = Shape::NonEmpty(&Shape::Either(&[Shape::List(&Shape::Text), Shape::Map(&Shape::Text)]));

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let listed = node.items().iter().map(|item| (item.clone(), None));
        let named = node.entries().iter().map(|(key, text)| {
            let key = Node { value: Value::Text(key.value.clone()), span: key.span };
            (key, text.text().map(str::to_owned))
        });
        let redaction = |(written, text): (Node, Option<String>)| {
            Some(Redaction { path: ValuePath::decode(&written, found)?, span: written.span, text })
        };
        Some(Self(listed.chain(named).filter_map(redaction).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self(Vec::new()))
    }
}

/// The kept part of one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// Its fields in alphabetical order.
    pub value: Json,
    /// Redactions and sortings that did nothing, which would hide that the answer changed.
    pub idle: Vec<Mismatch>,
}

impl Sample {
    /// The same, whose mismatches mark that place.
    #[must_use]
    pub fn marked_at(self, span: Span) -> Self {
        Self { span, ..self }
    }

    /// The part of an answer that is kept; a mismatch where there is none.
    pub fn take(&self, message: &Json) -> Result<Taken, Box<Mismatch>> {
        let mut message = Cow::Borrowed(message);
        let mut idle = Vec::new();
        for redaction in &self.redact.0 {
            if redaction.path.edit(message.to_mut(), &mut |value| *value = redaction.stand_in(value)) == 0 {
                let words = format!("there is nothing to redact at `{}`", show::quote(redaction.path.as_str()));
                let label = "remove it, or correct the path";
                idle.push(Mismatch::new("stale-redaction", redaction.span, words, label));
            }
        }
        for Located { value: path, span } in &self.sort {
            let mut sorted = 0;
            path.edit(message.to_mut(), &mut |value| sorted += usize::from(sort(value)));
            if sorted == 0 {
                let words = format!("there is no array to sort at `{}`", show::quote(path.as_str()));
                idle.push(Mismatch::new("stale-redaction", *span, words, "remove it, or correct the path"));
            }
        }
        let part = self.at.find(&message).map_err(|reason| {
            let found = Mismatch::missing(self.span, reason, "finds nothing");
            Box::new(found.with_path(self.at.as_str()).with_actual(show::compact(&message)))
        })?;
        Ok(Taken { value: sort_fields(part.into_owned()), idle })
    }

    /// Compares a sampled value with the text of its recording; `file` is for the message.
    pub fn compare(&self, known: Option<&str>, value: &Json, file: &str) -> Option<Mismatch> {
        let Some(known) = known else {
            let words = format!("there is no snapshot `{file}`");
            let is_compared = show::is_compared(value);
            let lines = is_compared.then(|| show::diff(&Json::from(""), &Json::from(text(value).trim_end()))).flatten();
            let found = Mismatch::new("snapshot-missing", self.span, words, "this answer was never recorded");
            return Some(
                Mismatch { diff: lines, ..found.with_path(self.at.as_str()) }.with_actual(show::compact(value)),
            );
        };
        let expected: Json = match serde_json::from_str(known) {
            Ok(expected) => sort_fields(expected),
            Err(error) => {
                let words = format!("the snapshot `{file}` is not valid JSON: {error}");
                return Some(Mismatch::new("snapshot", self.span, words, "compared with that file"));
            }
        };
        if same(&expected, value) {
            return None;
        }
        let words = format!("the answer differs from the snapshot `{file}`");
        let label = differences(&expected, value, MatchExtent::Whole);
        let place = format!("{}{}", self.at.as_str(), first_difference(&expected, value));
        Some(Mismatch::new("snapshot", self.span, words, label).with_path(place).with_values(&expected, value))
    }

    /// A value differs from its recording only in members that results of other revisions have.
    pub fn differs_by_revision(&self, known: &str, value: &Json) -> bool {
        let bare = |value: &Json| {
            let mut value = sort_fields(value.clone());
            if let Some(fields) = value.as_object_mut() {
                fields.retain(|key, _| !matches!(key.as_str(), "_meta" | "resultType"));
            }
            value
        };
        let expected = serde_json::from_str::<Json>(known);
        expected
            .is_ok_and(|expected| !same(&sort_fields(expected.clone()), value) && same(&bare(&expected), &bare(value)))
    }

    /// The variants of the fault taxonomy that a pass or a failure says something about.
    pub fn judges(&self) -> BTreeSet<&'static str> {
        if self.is_of_error() { ["TOOL-ERROR-AS-SUCCESS"].into() } else { RESULT.iter().copied().collect() }
    }

    /// It keeps an error rather than a result.
    pub fn is_of_error(&self) -> bool {
        self.at.as_str().trim_start_matches(['$', '.', '[', '"', '\'']).starts_with("error")
    }
}

/// A value as it stands in a file: indented, what cannot be seen spelled out, a line break at the end.
pub fn text(value: &Json) -> String {
    let mut text = String::new();
    for c in format!("{value:#}").chars() {
        if c != '\n' && is_hidden(c) {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text + "\n"
}

impl Redaction {
    /// The replacement of a value.
    fn stand_in(&self, value: &Json) -> Json {
        let kind = || show::kind(value).trim_start_matches("an ").trim_start_matches("a ").to_owned();
        self.text.clone().unwrap_or_else(|| format!("[{}]", kind())).into()
    }
}

/// Puts the elements of an array in the order of their texts; tells whether it is one.
fn sort(value: &mut Json) -> bool {
    let Json::Array(items) = value else { return false };
    items.sort_by_cached_key(|item| sort_fields(item.clone()).to_string());
    true
}

/// The value with the fields of every object in alphabetical order: their order means nothing.
fn sort_fields(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut entries: Vec<(String, Json)> = fields.into_iter().collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            entries.into_iter().map(|(key, value)| (key, sort_fields(value))).collect()
        }
        Json::Array(items) => items.into_iter().map(sort_fields).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    fn sample(settings: &str) -> Sample {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("s.yml", settings));
        let node = parse(&sources, id).unwrap();
        let mut found = Vec::new();
        let built = Sample::decode(&node, &mut found);
        built.unwrap_or_else(|| panic!("{settings}: {found:?}"))
    }

    #[test]
    fn what_is_kept() {
        let message = json!({"id": 7, "result": {
            "z": [3, 1, 2],
            "a": {"id": "u-91", "at": 1700, "name": "Ann"},
            "list": [{"id": 1}, {"id": 2}],
            "text": "{\"id\":\"u-91\",\"n\":1}",
        }});
        let check = |settings: &str, expected: Json, idle: usize| {
            let taken = sample(settings).take(&message).unwrap();
            assert_eq!(taken.value.to_string(), expected.to_string(), "{settings}");
            assert_eq!(taken.idle.len(), idle, "{settings}: {:?}", taken.idle);
        };
        check("{ at: result.a }", json!({"at": 1700, "id": "u-91", "name": "Ann"}), 0);
        check(
            "{ at: result.a, redact: [result.a.id, result.a.at] }",
            json!({"at": "[number]", "id": "[string]", "name": "Ann"}),
            0,
        );
        check("{ at: result.a.id, redact: { result.a.id: \"[id]\" } }", json!("[id]"), 0);
        check(
            "{ at: result.list, redact: ['$.result.list[*].id'] }",
            json!([{"id": "[number]"}, {"id": "[number]"}]),
            0,
        );
        check("{ at: result.text, redact: [result.text.json().id] }", json!("{\"id\":\"[string]\",\"n\":1}"), 0);
        check("{ at: 'result.list[-1]', redact: { 'result.list[-1].id': x, result.gone: y } }", json!({"id": "x"}), 1);
        check("{ at: result.z, sort: [result.z] }", json!([1, 2, 3]), 0);
        check("{ at: result.z, sort: [result.a] }", json!([3, 1, 2]), 1);
        let none = sample("{ at: result.gone }").take(&message).unwrap_err();
        assert_eq!(none.code, "missing-value");
    }

    #[test]
    fn what_differs() {
        let check = |known: Option<&str>, value: Json, expected: Option<(&str, &str)>| {
            let found = sample("{}").compare(known, &value, "f.json");
            let found = found.as_ref().map(|found| (found.code, found.path.as_deref().unwrap_or_default()));
            assert_eq!(found, expected, "{known:?}");
        };
        check(Some("{\"b\": 1, \"a\": 2}"), json!({"a": 2, "b": 1.0}), None);
        check(Some("{\r\n\"a\": 2}\r\n"), json!({"a": 2}), None);
        check(
            Some("{\"a\": [1, {\"x y\": 2}]}"),
            json!({"a": [1, {"x y": 3}]}),
            Some(("snapshot", "result.a[1][\"x y\"]")),
        );
        check(Some("{\"a\": 1}"), json!({"a": 1, "b": 2}), Some(("snapshot", "result.b")));
        check(Some("[1]"), json!([1, 2]), Some(("snapshot", "result[1]")));
        check(Some("<<<<<<< ours"), json!(1), Some(("snapshot", "")));
        check(None, json!(1), Some(("snapshot-missing", "result")));
    }

    #[test]
    fn what_differs_by_revision() {
        let check = |known: &str, value: Json, expected: bool| {
            assert_eq!(sample("{}").differs_by_revision(known, &value), expected, "{known}");
        };
        check(r#"{"content": []}"#, json!({"_meta": {}, "content": [], "resultType": "complete"}), true);
        check(r#"{"content": [], "resultType": "complete"}"#, json!({"content": []}), true);
        check(r#"{"content": [1]}"#, json!({"content": [], "resultType": "complete"}), false);
        check(r#"{"content": []}"#, json!({"content": []}), false);
        check("[1]", json!([2]), false);
    }

    #[test]
    fn a_file_hides_nothing() {
        assert_eq!(text(&json!({"a": "x\u{202e}y\n"})), "{\n  \"a\": \"x\\u202ey\\n\"\n}\n");
    }
}
