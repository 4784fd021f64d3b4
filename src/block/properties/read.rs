//! Properties: a test, and what its rounds are made of.

use super::keys::ARGUMENTS;
use crate::block::TEST_ONLY_KEYS;
use crate::schema::KEYWORDS;
use crate::source::grammar::{self, Shape};
use crate::source::template::{expression_problem, is_template};
use crate::source::{Diagnostic, Located, MistakeKind, Node, did_you_mean};
use crate::suite::{self, ArgumentKind, Arguments, Generated, NamedFaults, Property, Test};

/// Reads a property but for its rows, which may come from a file.
pub(crate) fn property(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Test> {
    point_to_tests(node, found);
    let test = suite::test(node, &NamedFaults::new(), found)?;
    let said = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let property = Property {
        span: node.span,
        generate: read_generators(node, found),
        cases: node.get("cases").and_then(Node::whole).and_then(|cases| u32::try_from(cases).ok()),
        seed: node.get("seed").and_then(Node::whole).unwrap_or(0),
        severity: said("severity"),
        why: said("why"),
        broken: node.get("broken").cloned(),
        reference: node.get("reference").cloned(),
    };
    Some(Test { property: Some(property.into()), rule: None, ..test })
}

/// Says of keys that only a test has where they belong.
fn point_to_tests(node: &Node, found: &mut [Diagnostic]) {
    let of_tests = || TEST_ONLY_KEYS.into_iter().flatten().map(|key| key.name);
    for (name, _) in node.entries().iter().filter(|(name, _)| of_tests().any(|key| key == name.value)) {
        if let Some(unknown) = found.iter_mut().find(|one| one.is_unknown_key_at(name.span)) {
            unknown.help = Some("put it on a test under `tests:`".to_owned());
        }
    }
}

fn read_generators(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<(Located<String>, Generated)> {
    let Some(written) = node.get("generate") else { return Vec::new() };
    let mut generated = Vec::new();
    for (name, value) in written.entries() {
        check_name(name, found);
        let source = if let Some(tool) = value.get("tool") {
            Generated::Arguments(Box::new(arguments(tool, value, found)))
        } else if let Some(values) = value.get("each") {
            Generated::Each(values.clone())
        } else {
            check_keys(value, found);
            Generated::Schema(value.clone())
        };
        generated.push((name.clone(), source));
    }
    for (name, _) in generated.iter().filter(|(_, generated)| generated.puts()).skip(1) {
        let message = "a property has one `put`, whose value is `payload`";
        found.push(Diagnostic::error("two-ways", message, name.span));
    }
    generated
}

fn check_name(name: &Located<String>, found: &mut Vec<Diagnostic>) {
    let mut letters = name.value.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if is_template(&name.value) || !begins || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        let message = format!("`{}` is not a valid name for templates", name.value);
        let help = "write letters, digits and `_`, as in `user_name`".to_owned();
        found.push(Diagnostic::error("bad-name", message, name.span).with_help(help));
    }
}

/// A schema of other keys than keywords alone takes anything, and nobody means that; an empty one says so itself.
fn check_keys(schema: &Node, found: &mut Vec<Diagnostic>) {
    let entries = schema.entries();
    let keywords = || KEYWORDS.iter().filter(|keyword| keyword.is_standard).map(|keyword| keyword.name);
    if entries.is_empty() || entries.iter().any(|(key, _)| keywords().any(|keyword| keyword == key.value)) {
        return;
    }
    let is_of_arguments = |name: &str| ARGUMENTS.all_keys().any(|key| key.name == name);
    let unknown: Vec<_> = entries.iter().filter(|(key, _)| !is_of_arguments(&key.value)).collect();
    if unknown.is_empty() {
        let wrong = grammar::check(schema, &Shape::Object(&ARGUMENTS));
        found.extend(wrong.into_iter().filter(|one| one.kind == MistakeKind::MissingKey));
    }
    for (key, _) in unknown {
        let message = format!("`{}` is not a keyword of JSON Schema", key.value);
        let help = did_you_mean(&key.value, ["tool", "each"].into_iter().chain(keywords()));
        found.push(Diagnostic::error("unknown-key", message, key.span).with_help(help));
    }
}

fn arguments(tool: &Node, node: &Node, found: &mut Vec<Diagnostic>) -> Arguments {
    let into = node.get("into").and_then(Node::located_text);
    if let Some(into) = &into
        && let Some(reason) = expression_problem(&into.value)
    {
        found.push(Diagnostic::error("bad-expression", format!("invalid expression: {reason}"), into.span));
    }
    let kind = match node.get("put") {
        Some(values) => ArgumentKind::Put { values: values.clone(), into },
        None if node.get("invalid").and_then(Node::flag) == Some(true) => ArgumentKind::Invalid,
        None => ArgumentKind::Valid,
    };
    Arguments { tool: tool.clone(), with: node.get("with").cloned(), kind }
}
