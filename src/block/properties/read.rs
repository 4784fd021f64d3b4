//! Properties: a test, and what its rounds are made of.

use std::sync::Arc;

use super::keys::{ArgumentKeys, PropertyKeys};
use crate::block::TEST_ONLY_KEYS;
use crate::schema::KEYWORDS;
use crate::source::grammar;
use crate::source::settings::Setting;
use crate::source::template::is_template;
use crate::source::{Diagnostic, Located, MistakeKind, Node, did_you_mean};
use crate::suite::{self, ArgumentKind, Arguments, Generated, NamedFaults, Property, Test, TestExtras};

/// Reads a property but for its rows, which may come from a file.
pub(crate) fn property(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Test> {
    point_to_tests(node, found);
    let test = suite::test(node, &NamedFaults::new(), found)?;
    let keys = PropertyKeys::decode(node, found)?;
    let property = Property {
        span: node.span,
        generate: generators(keys.generate, found),
        cases: keys.cases,
        seed: keys.seed,
        severity: keys.severity,
        why: keys.why,
        broken: keys.broken,
        reference: keys.reference,
    };
    let extras = TestExtras { property: Some(property.into()), rule: None, ..(*test.extras).clone() };
    Some(Test { extras: Arc::new(extras), ..test })
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

fn generators(written: Vec<(Located<String>, Node)>, found: &mut Vec<Diagnostic>) -> Vec<(Located<String>, Generated)> {
    let mut generated = Vec::new();
    for (name, value) in written {
        check_name(&name, found);
        let source = if value.get("tool").is_some() {
            let Some(keys) = ArgumentKeys::decode(&value, found) else { continue };
            Generated::Arguments(Box::new(arguments(keys)))
        } else if let Some(values) = value.get("each") {
            Generated::Each(values.clone())
        } else {
            check_keys(&value, found);
            Generated::Schema(value)
        };
        generated.push((name, source));
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
    let is_of_arguments = |name: &str| ArgumentKeys::KEYS.all_keys().any(|key| key.name == name);
    let unknown: Vec<_> = entries.iter().filter(|(key, _)| !is_of_arguments(&key.value)).collect();
    if unknown.is_empty() {
        let wrong = grammar::check(schema, &ArgumentKeys::SHAPE);
        found.extend(wrong.into_iter().filter(|one| one.kind == MistakeKind::MissingKey));
    }
    for (key, _) in unknown {
        let message = format!("`{}` is not a keyword of JSON Schema", key.value);
        let help = did_you_mean(&key.value, ["tool", "each"].into_iter().chain(keywords()));
        found.push(Diagnostic::error("unknown-key", message, key.span).with_help(help));
    }
}

fn arguments(keys: ArgumentKeys) -> Arguments {
    let kind = match keys.put {
        Some(values) => ArgumentKind::Put { values, into: keys.into.map(|into| into.0) },
        None if keys.invalid => ArgumentKind::Invalid,
        None => ArgumentKind::Valid,
    };
    Arguments { tool: keys.tool, with: keys.with, kind }
}
