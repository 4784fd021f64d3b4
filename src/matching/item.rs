//! One item of an `expect:` list, compiled: its grammar, what it judges, and how its parts play together.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::answer::{self, AnswerCheck};
use super::mismatch::{GroupVerdict, Mismatch, reasons};
use super::unbreakable;
use super::value::{self, AIMED_ELEMENT_KEYS, AIMED_SIMPLE_KEYS, PathChecks, VALUE};
use super::{Answer, reply::ResponseKind, show};
use crate::source::grammar::{Key, Need, Object, Shape, alternative};
use crate::source::template::{self, Names};
use crate::source::{Diagnostic, Located, Node, Value};

/// The grammar of one item of an `expect:` list.
pub static EXPECTATION: Object = Object {
    name: "an expectation",
    doc: "Matchers of the value `at` a path, of the answer's `text`, or of the whole answer; all keys of one item must \
          hold.",
    keys: &[
        &AT,
        &AIMED_SIMPLE_KEYS,
        &AIMED_ELEMENT_KEYS,
        &answer::MESSAGE_KEYS,
        &answer::HTTP_KEYS,
        &answer::ANY_KEYS,
        &LOGIC_KEYS,
    ],
};

static AT: [Key; 1] = value::at(Need::Alternative, &value::NAMES);

static EXPECTATION_SHAPE: Shape = Shape::Object(&EXPECTATION);

static EXPECTATIONS: Shape = Shape::List(&EXPECTATION_SHAPE);

const VALUES: Shape = Shape::NonEmpty(&Shape::List(&Shape::Object(&VALUE)));

static LOGIC_KEYS: [Key; 3] = [
    alternative(
        "not",
        Shape::Object(&EXPECTATION),
        "The nested expectation must fail; beside `at`, its matchers apply to that value.",
    )
    .shape_beside("at", Shape::Object(&VALUE)),
    alternative(
        "all",
        Shape::NonEmpty(&EXPECTATIONS),
        "All of these must hold; beside `at`, they apply to that value.",
    )
    .shape_beside("at", VALUES),
    alternative(
        "any",
        Shape::NonEmpty(&EXPECTATIONS),
        "At least one of these must hold; beside `at`, they apply to that value.",
    )
    .shape_beside("at", VALUES),
];

/// The compiled parts of one item; all must hold.
#[derive(Debug)]
pub(crate) struct ExpectationItem(Box<[AnswerCheck]>);

impl ExpectationItem {
    /// Compiles an item; `None` after a mistake, or where a template stands in the way.
    pub(crate) fn build(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let at = node.entries().iter().find(|(key, _)| key.value == "at");
        let mut parts: Vec<Option<AnswerCheck>> = Vec::new();
        if at.is_some() {
            let target = PathChecks::build(node, found);
            parts.push(
                target.map(|target| AnswerCheck::all(move |answer, found| target.check(answer.message, None, found))),
            );
        }
        for (key, value) in node.entries() {
            if let Some(matcher) = answer::find(&key.value) {
                parts.push((matcher.build)(key, value, found));
            } else if at.is_none() && is_logic(&key.value) {
                parts.push(logic(key, value, found));
            }
        }
        parts.into_iter().collect::<Option<_>>().map(Self)
    }

    /// Adds everything that is not as expected.
    pub(crate) fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        for part in &self.0 {
            part.check(answer, found);
        }
    }

    fn verdict(&self, answer: &Answer<'_>) -> GroupVerdict {
        let mut found = Vec::new();
        self.check(answer, &mut found);
        GroupVerdict::of(found)
    }
}

/// A key combines expectations.
pub fn is_logic(name: &str) -> bool {
    LOGIC_KEYS.iter().any(|key| key.name == name)
}

fn logic(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let span = key.span;
    if key.value == "not" {
        let item = ExpectationItem::build(node, found)?;
        return Some(AnswerCheck::one(move |answer| {
            item.verdict(answer).negate(|| {
                let reply = ResponseKind::of(answer.message).describe();
                let label = format!("got {}", show::quote(&reply));
                let message = "the answer matches an expectation under `not`";
                Mismatch::new("not", span, message, label).with_actual(reply)
            })
        }));
    }
    let items = items(node, found)?;
    if key.value == "all" {
        return Some(AnswerCheck::all(move |answer, found| items.iter().for_each(|item| item.check(answer, found))));
    }
    let comparisons: Vec<bool> = node.items().iter().map(compares_answers).collect();
    Some(AnswerCheck::one(move |answer| {
        GroupVerdict::none_of(items.iter().map(|item| item.verdict(answer)), |mismatches| {
            let message = format!("the answer matches none of the {}", show::count(items.len(), "alternative"));
            let compared = mismatches.iter().zip(&comparisons).filter(|(_, is_comparison)| **is_comparison);
            let values = compared.filter_map(|(mismatch, _)| mismatch.actual.clone());
            let reply = ResponseKind::of(answer.message).describe();
            let actual: Vec<String> = std::iter::once(reply).chain(values).collect();
            Mismatch::new("any", span, message, reasons(&mismatches)).with_actual(actual.join("; "))
        })
    }))
}

/// Returns true if an item compares the answer with something that the suite knows, such as an earlier answer: both belong
/// to the evidence.
fn compares_answers(item: &Node) -> bool {
    let Some(expression) = item.get("assert").and_then(Node::text) else { return false };
    let used = template::names_in(expression);
    let is_of_answer = |name: &String| name.split('.').next().is_some_and(|name| answer::PROVIDED.contains(&name));
    used.iter().any(is_of_answer) && !answer::free_names(expression).is_empty()
}

fn items(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Vec<ExpectationItem>> {
    let built: Vec<Option<ExpectationItem>> =
        node.items().iter().map(|item| ExpectationItem::build(item, found)).collect();
    built.into_iter().collect()
}

/// Adds the variants that an item judges, those of the items within included; what always holds judges nothing.
pub(crate) fn judges(node: &Node, variants: &mut BTreeSet<&'static str>) {
    let at = node.get("at").and_then(Node::text);
    if let Some(at) = at {
        judges_at(at, node, variants);
    }
    for (key, value) in node.entries() {
        if unbreakable::entry_holds(&key.value, value, at.is_some(), &[]) {
            continue;
        }
        if let Some(matcher) = answer::find(&key.value) {
            variants.extend((matcher.judges)(value));
        }
        match key.value.as_str() {
            "text" => value::judges(value, variants),
            "not" | "all" | "any" if at.is_none() => {
                std::iter::once(value).chain(value.items()).for_each(|item| judges(item, variants));
            }
            _ => {}
        }
    }
}

/// A path into the error says what `error` says; one to `isError` what `is_error` says.
fn judges_at(at: &str, node: &Node, variants: &mut BTreeSet<&'static str>) {
    let bare = at.trim_start_matches(['$', '.', '[', '"', '\'']);
    if node.entries().iter().all(|(key, value)| key.value == "at" || unbreakable::value_holds(&key.value, value)) {
        return;
    }
    let flag = node.get("equals").and_then(Node::flag);
    match bare {
        "result.isError" => variants.extend(match flag {
            Some(true) => ["TOOL-ERROR-AS-SUCCESS"],
            _ => ["TOOL-SPURIOUS-ERROR"],
        }),
        bare if bare.starts_with("error") => {
            variants.insert("TOOL-ERROR-AS-SUCCESS");
            if bare.contains("code") {
                variants.insert("PROTO-WRONG-ERROR-CODE");
            }
        }
        "id" | "jsonrpc" => {}
        // That there is a result says nothing of what is in it.
        "result" if node.entries().iter().all(|(key, _)| ["at", "exists", "type"].contains(&key.value.as_str())) => {}
        _ => value::judges(node, variants),
    }
}

/// The members of the answer that the paths and `assert:` expressions of an item look at.
pub(crate) fn members(node: &Node, members: &mut BTreeSet<String>) {
    for (key, value) in node.entries() {
        match (key.value.as_str(), value.text()) {
            ("at", Some(path)) => {
                let path = path.trim_start_matches(['$', '.']);
                members.extend(path.split(['.', '[']).next().map(str::to_owned));
            }
            ("assert", Some(expression)) => {
                members.extend(answer::free_names(expression));
            }
            ("not" | "all" | "any", _) => {
                std::iter::once(value).chain(value.items()).for_each(|item| self::members(item, members));
            }
            _ => {}
        }
    }
}

/// An item as a suite writes it, in which `is_open` names stay names, and every other one is replaced by its value; `None`
/// where one has no value, or an expression becomes too long.
pub(crate) fn bind(node: &Node, names: &Names, is_open: &mut dyn FnMut(&str) -> bool) -> Option<Json> {
    match &node.value {
        Value::List(items) => {
            items.iter().map(|item| bind(item, names, is_open)).collect::<Option<Vec<_>>>().map(Json::Array)
        }
        Value::Map(entries) => {
            let bound = entries.iter().map(|(key, value)| {
                let value = match (key.value.as_str(), value.text()) {
                    ("assert", Some(expression)) if !template::is_template(expression) => {
                        let used = answer::free_names(expression).into_iter().filter(|name| !is_open(name));
                        let known = used.map(|name| names.get(&name).cloned().map(|value| (name, value)));
                        let bound = template::bind(expression, &known.collect::<Option<Names>>()?)?;
                        template::literal_text(&bound).into()
                    }
                    ("not" | "all" | "any", _) => bind(value, names, is_open)?,
                    _ => template::bind_templates(&value.to_json(), names, is_open)?,
                };
                Some((key.value.clone(), value))
            });
            bound.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            template::bind_templates(&node.to_json(), names, is_open)
        }
    }
}

/// The names that the `assert:` expressions below an item need from the suite, with their places.
pub(crate) fn free_names(node: &Node, names: &mut Vec<Located<String>>) {
    for (key, value) in node.entries() {
        match (key.value.as_str(), value.text()) {
            ("assert", Some(expression)) => {
                names.extend(answer::free_names(expression).into_iter().map(|name| Located::new(name, value.span)));
            }
            ("not" | "all" | "any", _) => {
                std::iter::once(value).chain(value.items()).for_each(|item| free_names(item, names));
            }
            _ => {}
        }
    }
}
