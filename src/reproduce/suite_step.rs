//! Requests as steps of suites, whose texts are no templates.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::event::ReproductionCall;
use crate::redact::{Part, mark, parts};
use crate::source::template::is_template;

/// A request in the words of a suite.
pub fn suite_step(call: &ReproductionCall) -> Map<String, Value> {
    let params = &call.params;
    let members = params.as_object().map_or(0, Map::len);
    let name = params["name"].as_str();
    let object =
        |members: Vec<(&str, Value)>| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let arguments = params.get("arguments").filter(|arguments| arguments.is_object());
    let is_plain = members == 1 + usize::from(arguments.is_some());
    match (call.method.as_str(), name) {
        ("", _) => object(vec![("send", literal(params))]),
        (method @ ("tools/call" | "prompts/get"), Some(name)) if is_plain => {
            let word = if method == "tools/call" { "call" } else { "prompt" };
            let arguments = arguments.filter(|arguments| **arguments != json!({}));
            object(
                [(word, literal(&name.into()))]
                    .into_iter()
                    .chain(arguments.map(|args| ("args", literal(args))))
                    .collect(),
            )
        }
        ("resources/read", _) if members == 1 && params["uri"].is_string() => {
            object(vec![("read", literal(&params["uri"]))])
        }
        (method, _) => {
            let word = if method.starts_with("notifications/") { "notify" } else { "request" };
            let params = Some(params).filter(|params| !params.is_null()).map(|params| ("params", literal(params)));
            object([(word, literal(&method.into()))].into_iter().chain(params).collect())
        }
    }
}

/// A value that a suite does not take for a template, but for secrets, which it reads from the environment.
pub fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) => literal_text(text).into(),
        Value::Array(items) => items.iter().map(literal).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (literal_text(name), literal(value))).collect::<Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The same for a text.
pub fn literal_text(text: &str) -> String {
    if !is_template(text) {
        return text.to_owned();
    }
    let mut whole = String::new();
    for part in parts(text) {
        let said = match part {
            Part::Literal(said) => said,
            Part::Secret(variable) => {
                whole += &mark(variable);
                continue;
            }
        };
        let mut rest = said.as_ref();
        while let Some(at) = ["{{", "{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
            let _ = write!(whole, "{}{{{{ '{}' }}}}", &rest[..at], &rest[at..at + 2]);
            rest = &rest[at + 2..];
        }
        whole += rest;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_taken_literally_but_for_secrets() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a {{ 7*7 }} b", "a {{ '{{' }} 7*7 }} b"),
            ("{% x %}{# y", "{{ '{%' }} x %}{{ '{#' }} y"),
            ("k={{ env.MCPROVE_SECRET_KEY }}", "k={{ env.MCPROVE_SECRET_KEY }}"),
            ("k={{ 'env.MCPROVE_SECRET_KEY }}", "k={{ '{{' }} env.MCPROVE_SECRET_KEY }}"),
        ] {
            assert_eq!(literal_text(text), expected);
        }
    }
}
