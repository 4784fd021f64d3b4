//! Requests as steps of suites, whose texts are no templates.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::event::ReproductionCall;
use crate::redact::{Part, mark, parts};
use crate::source::{map_texts, replace_path, template};

/// A request in the words of a suite, with what it captures.
pub fn suite_step(call: &ReproductionCall) -> Map<String, Value> {
    let mut step = action(&call.method, &call.written.clone().unwrap_or_else(|| literal(&call.params)));
    if !call.capture.is_empty() {
        step.insert("capture".to_owned(), json!(call.capture));
    }
    step
}

/// A request whose parameters are written as a suite writes them.
fn action(method: &str, params: &Value) -> Map<String, Value> {
    let members = params.as_object().map_or(0, Map::len);
    let name = params["name"].as_str();
    let object =
        |members: Vec<(&str, Value)>| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let arguments = params.get("arguments").filter(|arguments| arguments.is_object());
    let is_plain = members == 1 + usize::from(arguments.is_some());
    match (method, name) {
        ("", _) => object(vec![("send", params.clone())]),
        (method @ ("tools/call" | "prompts/get"), Some(name)) if is_plain => {
            let word = if method == "tools/call" { "call" } else { "prompt" };
            let arguments = arguments.filter(|arguments| **arguments != json!({}));
            let arguments = arguments.map(|args| ("args", args.clone()));
            object([(word, name.into())].into_iter().chain(arguments).collect())
        }
        ("resources/read", _) if members == 1 && params["uri"].is_string() => {
            object(vec![("read", params["uri"].clone())])
        }
        (method, _) => {
            let word = if method.starts_with("notifications/") { "notify" } else { "request" };
            let params = Some(params).filter(|params| !params.is_null()).map(|params| ("params", params.clone()));
            object([(word, literal(&method.into()))].into_iter().chain(params).collect())
        }
    }
}

/// A value that a suite does not take for a template, but for secrets, which it reads from the environment.
pub fn literal(value: &Value) -> Value {
    map_texts(value.clone(), &literal_text)
}

/// The same for a text.
pub fn literal_text(text: &str) -> String {
    let written = |part| match part {
        Part::Literal(said) => template::literal_text(&said),
        Part::Secret(variable) => mark(variable),
    };
    if template::is_template(text) { parts(text).into_iter().map(written).collect() } else { text.to_owned() }
}

/// A value as a suite writes it, in which the path of the server's store is the name of it.
pub fn with_store_named(written: Value, store: Option<&Path>) -> Value {
    let Some(store) = store.map(|store| store.display().to_string()) else { return written };
    map_texts(written, &|text| replace_path(text, &store, "{{ store }}"))
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

    #[test]
    fn a_store_has_a_name_wherever_it_is() {
        let written = json!({"paths": ["/srv/data/a.txt", "/srv/database"]});
        let named = json!({"paths": ["{{ store }}/a.txt", "/srv/database"]});
        assert_eq!(with_store_named(written.clone(), Some(Path::new("/srv/data"))), named);
        assert_eq!(with_store_named(written.clone(), None), written);
    }
}
