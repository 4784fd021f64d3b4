//! Properties: a test, and what its rounds are made of.

use super::keys::{ARGUMENTS, VALUES};
use crate::source::grammar::{self, Shape};
use crate::source::template::{expression_problem, is_template};
use crate::source::{Diagnostic, Located, Node, did_you_mean};
use crate::suite::{self, ArgumentKind, Arguments, Generated, Property, Test, key_span};

/// The most rounds: whoever wants more wants `fuzz`.
const MOST_ROUNDS: u64 = 100_000;

/// Reads a property but for its rows, which may come from a file.
pub(super) fn property(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Test> {
    for key in ["negative_path", "rule"].into_iter().filter(|key| node.get(key).is_some()) {
        let message = format!("`{key}` belongs to a test, and this is a property");
        let help = "put it on a test under `tests:`".to_owned();
        found.push(Diagnostic::error("misplaced-key", message, key_span(node, key)).with_help(help));
    }
    let test = suite::test(node, found)?;
    let said = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let property = Property {
        span: node.span,
        generate: generated(node, found),
        cases: cases(node, found),
        seed: node.get("seed").and_then(Node::whole).unwrap_or(0),
        severity: said("severity"),
        why: said("why"),
        broken: node.get("broken").cloned(),
        reference: node.get("reference").cloned(),
    };
    Some(Test { property: Some(property.into()), rule: None, ..test })
}

fn cases(node: &Node, found: &mut Vec<Diagnostic>) -> Option<u32> {
    let cases = node.get("cases")?;
    let number = cases.whole()?;
    if number == 0 || number > MOST_ROUNDS {
        let message = format!("{number} rounds make no sense; write 1 to {MOST_ROUNDS}");
        found.push(Diagnostic::error("bad-number", message, cases.span));
    }
    u32::try_from(number).ok()
}

fn generated(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<(Located<String>, Generated)> {
    let Some(written) = node.get("generate") else { return Vec::new() };
    if written.entries().is_empty() && written.kind() == "a mapping" {
        let help = "name something, as in `text: { type: string }`, or remove the key".to_owned();
        found.push(Diagnostic::error("empty-list", "`generate` names nothing", written.span).with_help(help));
    }
    let mut generated = Vec::new();
    for (name, value) in written.entries() {
        check_name(name, found);
        let source = if value.get("tool").is_some() {
            arguments(value, found).map(|arguments| Generated::Arguments(Box::new(arguments)))
        } else if value.get("each").is_some() {
            each(value, found)
        } else {
            schema(value, found)
        };
        generated.extend(source.map(|source| (name.clone(), source)));
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
        let message = format!("`{}` can be no name of a template", name.value);
        let help = "write letters, digits and `_`, as in `user_name`".to_owned();
        found.push(Diagnostic::error("bad-name", message, name.span).with_help(help));
    }
}

/// Every keyword of a JSON Schema in its dialects, those first that are written most.
const KEYWORDS: [&str; 63] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "prefixItems",
    "additionalItems",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "definitions",
    "$defs",
    "$ref",
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// A mapping is a schema; that it can be satisfied is checked with the suite as a whole.
fn schema(value: &Node, found: &mut Vec<Diagnostic>) -> Option<Generated> {
    if value.kind() == "a mapping" {
        check_keys(value, found);
        return Some(Generated::Schema(value.clone()));
    }
    if value.text().is_some_and(is_template) {
        return Some(Generated::Schema(value.clone()));
    }
    let message = format!("a JSON Schema or `{{ tool: … }}` is expected here, not {}", value.kind());
    let help = "write for example `{ type: string, maxLength: 50 }`".to_owned();
    found.push(Diagnostic::error("wrong-type", message, value.span).with_help(help));
    None
}

/// A schema of other keys than keywords alone takes anything, and nobody means that; an empty one says so itself.
fn check_keys(schema: &Node, found: &mut Vec<Diagnostic>) {
    let entries = schema.entries();
    if entries.is_empty() || entries.iter().any(|(key, _)| KEYWORDS.contains(&key.value.as_str())) {
        return;
    }
    let is_of_arguments = |name: &str| ARGUMENTS.all_keys().any(|key| key.name == name);
    let unknown: Vec<_> = entries.iter().filter(|(key, _)| !is_of_arguments(&key.value)).collect();
    if unknown.is_empty() {
        found.extend(grammar::check(schema, &Shape::Object(&ARGUMENTS)));
    }
    for (key, _) in unknown {
        let message = format!("`{}` is no keyword of a JSON Schema", key.value);
        let help = did_you_mean(&key.value, ["tool", "each"].into_iter().chain(KEYWORDS));
        found.push(Diagnostic::error("unknown-key", message, key.span).with_help(help));
    }
}

/// One value after another.
fn each(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Generated> {
    let wrong = grammar::check(node, &Shape::Object(&VALUES));
    let values = node.get("each")?;
    if wrong.is_empty() && values.text().is_none() && values.items().is_empty() {
        let help = "list at least one value".to_owned();
        found.push(Diagnostic::error("empty-list", "`each` has no values", values.span).with_help(help));
        return None;
    }
    let is_sound = wrong.is_empty();
    found.extend(wrong);
    is_sound.then(|| Generated::Each(values.clone()))
}

fn arguments(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Arguments> {
    let wrong = grammar::check(node, &Shape::Object(&ARGUMENTS));
    if !wrong.is_empty() {
        found.extend(wrong);
        return None;
    }
    let into = node.get("into").and_then(Node::located_text);
    if let Some(into) = &into {
        if let Some(reason) = expression_problem(&into.value) {
            found.push(Diagnostic::error("bad-expression", format!("invalid expression: {reason}"), into.span));
        }
        if node.get("put").is_none() {
            let message = "`into` picks parameters for `put`, and there is none";
            found.push(Diagnostic::error("misplaced-key", message, key_span(node, "into")));
        }
    }
    let is_invalid = node.get("invalid").and_then(Node::flag) == Some(true);
    let kind = match node.get("put") {
        Some(_) if is_invalid => {
            let message = "arguments are either `invalid` or have something `put` into them";
            let other = key_span(node, "invalid");
            let wrong = Diagnostic::error("two-ways", message, key_span(node, "put"));
            found.push(wrong.with_other(other, "the other way is here"));
            return None;
        }
        Some(values) if values.text().is_none() && values.items().is_empty() => {
            let help = "list at least one value".to_owned();
            found.push(Diagnostic::error("empty-list", "`put` has nothing to put", values.span).with_help(help));
            return None;
        }
        Some(values) => ArgumentKind::Put { values: values.clone(), into },
        None if is_invalid => ArgumentKind::Invalid,
        None => ArgumentKind::Valid,
    };
    Some(Arguments { tool: node.get("tool")?.clone(), with: node.get("with").cloned(), kind })
}
