//! Values that a call takes from the answers of earlier ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::check::learning::ServedCall;
use crate::generate::PLACEHOLDER;
use crate::path::{DottedPath, PathStep};
use crate::reproduce::literal;
use crate::schema::{below, name_of, put_at};

/// The fewest characters of a text that is taken from an answer whatever its member is called.
const SHORTEST_DRAWN: usize = 8;

/// A call that was served after others, with the values that it shares with them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkedCall {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) links: Vec<AnswerLink>,
}

/// An argument that an earlier answer showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerLink {
    /// JSON pointer to the argument.
    pub(crate) at: String,
    /// The number of the earlier call.
    pub(crate) source: usize,
    /// The path of the value in its response.
    pub(crate) path: String,
}

/// The calls in the same order, each with the values that earlier answers showed first.
pub(crate) fn link_calls(served: &[ServedCall]) -> Vec<LinkedCall> {
    let mut shown: BTreeMap<String, Vec<ShownValue>> = BTreeMap::new();
    let mut calls = Vec::new();
    for (at, call) in served.iter().enumerate() {
        let own = leaves(&call.arguments);
        let links = own.iter().filter_map(|(pointer, value)| {
            let found = best(shown.get(&value.to_string())?, pointer, value)?;
            Some(AnswerLink { at: pointer.clone(), source: found.source, path: found.path.to_string() })
        });
        let links = links.collect();
        calls.push(LinkedCall { tool: call.tool.clone(), arguments: call.arguments.clone(), links });
        let given: BTreeSet<String> = own.iter().map(|(_, value)| value.to_string()).collect();
        let root = DottedPath { steps: vec![PathStep::Member("result".to_owned())] };
        let is_plain = |value: &Value| value.is_string() || value.is_i64();
        for (path, value) in root.below(&json!({"result": call.result}), true, &is_plain) {
            // What a call was given is no answer of it.
            if !given.contains(&value.to_string()) {
                shown.entry(value.to_string()).or_default().push(ShownValue { source: at, path });
            }
        }
    }
    calls
}

/// A place where an answer shows a value.
struct ShownValue {
    source: usize,
    path: DottedPath,
}

/// The place from which an argument takes its value: the first whose member is named like it, or of a long text the first.
fn best<'a>(shown: &'a [ShownValue], pointer: &str, value: &Value) -> Option<&'a ShownValue> {
    let parameter = pointer.split('/').rev().map(name_of).find(|step| step.parse::<usize>().is_err())?.to_lowercase();
    let parameter = parameter.trim_end_matches('s');
    let is_named = |shown: &&ShownValue| {
        let member = shown.path.names().next_back().unwrap_or_default().to_lowercase();
        !member.is_empty() && (parameter.ends_with(&member) || member.ends_with(parameter))
    };
    let is_long = value.as_str().is_some_and(|text| text.chars().count() >= SHORTEST_DRAWN);
    let is_own = value.as_str() != Some(PLACEHOLDER);
    shown.iter().filter(|_| is_own).find(is_named).or_else(|| shown.first().filter(|_| is_long))
}

/// The texts and whole numbers of arguments, each with its JSON pointer.
pub(crate) fn leaves(arguments: &Value) -> Vec<(String, Value)> {
    fn collect(at: &str, value: &Value, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, one)| collect(&below(at, name), one, found)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| collect(&format!("{at}/{index}"), item, found));
            }
            Value::String(_) => found.push((at.to_owned(), value.clone())),
            Value::Number(number) if number.is_i64() => found.push((at.to_owned(), value.clone())),
            Value::Number(_) | Value::Null | Value::Bool(_) => {}
        }
    }
    let mut found = Vec::new();
    collect("", arguments, &mut found);
    found
}

impl LinkedCall {
    /// The arguments in a session in which earlier calls got these responses.
    pub(crate) fn arguments_after(&self, answers: &BTreeMap<usize, Value>) -> Value {
        let mut arguments = self.arguments.clone();
        for link in &self.links {
            if let Some(value) = answers.get(&link.source).and_then(|answer| link.value_in(answer)) {
                put_at(&mut arguments, &link.at, value);
            }
        }
        arguments
    }

    /// The same with another text in the place of each that is like this one.
    pub(crate) fn with_text(&self, text: &str, other: &str) -> Self {
        let mut arguments = self.arguments.clone();
        let is_own = |at: &String| self.links.iter().all(|link| link.at != *at);
        for (at, _) in leaves(&self.arguments).into_iter().filter(|(at, value)| is_own(at) && value == text) {
            put_at(&mut arguments, &at, other.into());
        }
        Self { arguments, ..self.clone() }
    }

    /// The arguments as a suite writes them, with the names of captured values.
    pub(crate) fn written_arguments<'n>(&self, name_of: impl Fn(&AnswerLink) -> Option<&'n str>) -> Value {
        let mut arguments = literal(&self.arguments);
        for link in &self.links {
            if let Some(name) = name_of(link) {
                put_at(&mut arguments, &link.at, format!("{{{{ {name} }}}}").into());
            }
        }
        arguments
    }
}

impl AnswerLink {
    /// The value in a response of the earlier call.
    pub(crate) fn value_in(&self, answer: &Value) -> Option<Value> {
        DottedPath::parse(&self.path).ok()?.find(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(tool: &str, arguments: Value, result: Value) -> ServedCall {
        ServedCall { tool: tool.to_owned(), arguments, result }
    }

    fn text(text: &str) -> Value {
        json!({"content": [{"type": "text", "text": text}]})
    }

    #[test]
    fn values_are_taken_from_the_first_answer_that_shows_them() {
        let created =
            || served("create_user", json!({"name": "Ann"}), json!({"structuredContent": {"id": 7, "name": "Ann"}}));
        let listed = || served("list_users", json!({}), text(r#"{"users": [{"id": 7, "token": "3f9a7c21-d0"}]}"#));
        for (earlier, arguments, expected) in [
            (vec![created()], json!({"user_id": 7}), vec![("/user_id", 0, "result.structuredContent.id")]),
            (vec![created(), listed()], json!({"ids": [7]}), vec![("/ids/0", 0, "result.structuredContent.id")]),
            (
                vec![listed(), created()],
                json!({"id": 7}),
                vec![("/id", 0, "result.content[0].text.json().users[0].id")],
            ),
            // A short value under another name is no reference, and neither is what the call itself was given.
            (vec![created()], json!({"limit": 7}), vec![]),
            (vec![created()], json!({"name": "Ann"}), vec![]),
            (
                vec![listed()],
                json!({"with": "3f9a7c21-d0"}),
                vec![("/with", 0, "result.content[0].text.json().users[0].token")],
            ),
        ] {
            let calls: Vec<ServedCall> =
                earlier.into_iter().chain([served("use", arguments.clone(), Value::Null)]).collect();
            let links = link_calls(&calls).pop().unwrap().links;
            let links: Vec<_> = links.iter().map(|link| (link.at.as_str(), link.source, link.path.as_str())).collect();
            assert_eq!(links, expected, "{arguments}");
        }
    }

    #[test]
    fn linked_arguments_follow_the_answers_of_a_session() {
        let link = AnswerLink { at: "/id".to_owned(), source: 0, path: "result.structuredContent.id".to_owned() };
        let call = LinkedCall { tool: "get".to_owned(), arguments: json!({"id": 7, "full": true}), links: vec![link] };
        let answers = BTreeMap::from([(0, json!({"result": {"structuredContent": {"id": 8}}}))]);
        assert_eq!(call.arguments_after(&answers), json!({"id": 8, "full": true}));
        assert_eq!(call.arguments_after(&BTreeMap::new()), json!({"id": 7, "full": true}));
        assert_eq!(call.written_arguments(|_| Some("user_id")), json!({"id": "{{ user_id }}", "full": true}));
        assert_eq!(call.written_arguments(|_| None), json!({"id": 7, "full": true}));
        let named = LinkedCall { arguments: json!({"id": 7, "of": ["Ann", "Bob"]}), ..call };
        assert_eq!(named.with_text("Ann", "Ann-2").arguments, json!({"id": 7, "of": ["Ann-2", "Bob"]}));
    }
}
