//! Parameters of a file of invariants, which are filled in before it is read as YAML.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::{Unconverted, cannot_convert};
use crate::source::{Diagnostic, Node, SourceId, Span, did_you_mean, yaml_writer};

/// The name that stands for the tool of a loop, and is filled in by the suite.
pub(crate) const TOOL_NAME: &str = "tool_name";

/// Fails for values of parameters that none of the files declares.
///
/// # Errors
///
/// A mistake for each of them.
pub(crate) fn check_given(texts: &[String], given: &BTreeMap<String, String>) -> Result<(), Vec<Diagnostic>> {
    let declared: BTreeSet<String> = texts.iter().flat_map(|text| defaults(text).into_keys()).collect();
    let unknown = given.keys().filter(|name| !declared.contains(*name));
    let mistakes: Vec<Diagnostic> = unknown
        .map(|name| {
            let message = format!("the file declares no parameter `{name}`");
            let help = did_you_mean(name, declared.iter().map(String::as_str));
            Diagnostic::without_place("bad-invariants", message).with_help(help)
        })
        .collect();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

/// The text with the values of its parameters: the given ones, or else their defaults.
///
/// # Errors
///
/// A mistake for each parameter that the file uses and does not declare.
pub(crate) fn fill(text: &str, source: SourceId, given: &BTreeMap<String, String>) -> Result<String, Vec<Diagnostic>> {
    let defaults = defaults(text);
    let mut mistakes = Vec::new();
    let mut filled = String::new();
    let mut at = 0;
    for (begin, end, name) in references(text) {
        filled += &text[at..begin];
        let default = defaults.get(name);
        match default.and_then(|_| given.get(name)).or(default) {
            Some(value) => filled += value,
            None if name == TOOL_NAME => filled += &text[begin..end],
            None => {
                let message = format!("`{name}` is no parameter under `metadata`");
                let help = did_you_mean(name, defaults.keys().map(String::as_str));
                let span = Span { source, start: at_byte(begin), end: at_byte(end) };
                mistakes.push(Diagnostic::error("bad-invariants", message, span).with_help(help));
            }
        }
        at = end;
    }
    filled += &text[at..];
    if mistakes.is_empty() { Ok(filled) } else { Err(mistakes) }
}

fn at_byte(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// The defaults of the declared parameters, as texts.
fn defaults(text: &str) -> BTreeMap<String, String> {
    // References outside of texts are no YAML.
    let mut readable = text.to_owned();
    for (begin, end, _) in references(text) {
        readable.replace_range(begin..end, &"x".repeat(end - begin));
    }
    let root = yaml_writer::read_value(&readable).unwrap_or_default();
    let declared = root["metadata"]["parameters"].as_object().into_iter().flatten();
    let as_text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    declared.map(|(name, parameter)| (name.clone(), as_text(&parameter["default"]))).collect()
}

/// The places of `{{ name }}` with the name.
fn references(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find("{{").map(|begin| at + begin) {
        at = begin + 2;
        let Some(length) = text[at..].find("}}") else { break };
        let name = text[at..at + length].trim();
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if is_name {
            found.push((begin, at + length + 2, name));
            at += length + 2;
        }
    }
    found
}

/// The text of a value in a suite, in which only the name of a loop's tool is a template.
pub(crate) fn literal(node: &Node) -> Value {
    escape(&node.to_json())
}

fn escape(value: &Value) -> Value {
    match value {
        Value::String(text) => literal_text(text).into(),
        Value::Array(items) => items.iter().map(escape).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (literal_text(name), escape(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The same for a text.
pub(crate) fn literal_text(text: &str) -> String {
    let mut whole = String::new();
    let mut at = 0;
    for (begin, end, name) in references(text) {
        if name == TOOL_NAME {
            whole += &crate::reproduce::literal_text(&text[at..begin]);
            whole += "{{ tool.name }}";
            at = end;
        }
    }
    whole + &crate::reproduce::literal_text(&text[at..])
}

/// Fails for a regular expression with parts that mcprove does not know, such as look-around and references to groups.
pub(crate) fn check_pattern(node: &Node) -> Result<(), Unconverted> {
    let pattern = node.text().unwrap_or_default();
    let Err(error) = Regex::new(pattern) else { return Ok(()) };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    Err(cannot_convert(node, format!("`{pattern}` is no regular expression that mcprove knows: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources};

    #[test]
    fn parameters_are_filled_in_and_others_are_mistakes() {
        let declared = "metadata: { parameters: { who: { type: string, default: whoami }, n: { default: 3 } } }\n";
        for (text, given, expected) in [
            ("a: \"{{who}}\"", "", Ok("a: \"whoami\"")),
            ("a: {{ n }}", "", Ok("a: 3")),
            ("a: \"{{ who }}\"", "who", Ok("a: \"given\"")),
            ("a: \"{{steps.x.response.id}} {{tool_name}}\"", "", Ok("a: \"{{steps.x.response.id}} {{tool_name}}\"")),
            ("a: \"{{whom}}\"", "", Err("`whom` is no parameter under `metadata`")),
            ("a: 1", "whom", Ok("a: 1")),
        ] {
            let text = format!("{declared}{text}");
            let source = Sources::default().add(SourceFile::new("f.yaml", text.clone()));
            let given = Some(given).filter(|name| !name.is_empty()).map(|name| (name.to_owned(), "given".to_owned()));
            let filled = fill(&text, source, &given.into_iter().collect());
            let seen =
                filled.as_ref().map(|filled| &filled[declared.len()..]).map_err(|found| found[0].message.as_str());
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[test]
    fn given_values_are_of_declared_parameters() {
        let texts = ["metadata: { parameters: { who: { default: a } } }".to_owned(), "version: 1".to_owned()];
        for (name, is_declared) in [("who", true), ("whom", false)] {
            let given = [(name.to_owned(), "given".to_owned())].into_iter().collect();
            assert_eq!(check_given(&texts, &given).is_ok(), is_declared, "{name}");
        }
    }

    #[test]
    fn only_the_tool_of_a_loop_is_a_template() {
        for (text, expected) in [
            ("rule.{{tool_name}}", "rule.{{ tool.name }}"),
            ("{{7*7}}", "{{ '{{' }}7*7}}"),
            ("{{ tool_name }} {{x}}", "{{ tool.name }} {{ '{{' }}x}}"),
        ] {
            assert_eq!(literal_text(text), expected);
        }
    }
}
