//! One item of an `expect:` list, compiled: its grammar, what it judges, and how its parts play together.

use std::collections::BTreeSet;

use super::answer::{self, AnswerCheck};
use super::mismatch::{GroupVerdict, Mismatch};
use super::value::{self, AT, ELEMENT_KEYS, PathChecks, SIMPLE_KEYS};
use super::{Answer, read, reply::ResponseKind, show};
use crate::source::grammar::{Key, Object, Shape, key};
use crate::source::{Diagnostic, Located, Node};

/// The grammar of one item of an `expect:` list.
pub static EXPECTATION: Object = Object {
    name: "an expectation",
    doc: "Matchers of the value `at` a path, of the answer's `text`, or of the whole answer; all keys of one item must \
          hold.",
    keys: &[&AT, &SIMPLE_KEYS, &ELEMENT_KEYS, &answer::KEYS, &LOGIC_KEYS],
};

static EXPECTATION_SHAPE: Shape = Shape::Object(&EXPECTATION);

static LOGIC_KEYS: [Key; 3] = [
    key(
        "not",
        Shape::Object(&EXPECTATION),
        "The nested expectation must fail; beside `at`, its matchers apply to that value.",
    ),
    key("all", Shape::List(&EXPECTATION_SHAPE), "All of these must hold; beside `at`, they apply to that value."),
    key(
        "any",
        Shape::List(&EXPECTATION_SHAPE),
        "At least one of these must hold; beside `at`, they apply to that value.",
    ),
];

/// The compiled parts of one item; all must hold.
#[derive(Debug)]
pub(super) struct ExpectationItem(Vec<AnswerCheck>);

impl ExpectationItem {
    /// Compiles an item; `None` after a mistake, or where a template stands in the way.
    pub(super) fn build(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let at = node.entries().iter().find(|(key, _)| key.value == "at");
        let mut parts: Vec<Option<AnswerCheck>> = Vec::new();
        match at {
            Some((key, _)) => {
                refuse_strangers(node, found);
                parts
                    .push(PathChecks::build(key, node, found).map(|target| {
                        AnswerCheck::all(move |answer, found| target.check(answer.message, None, found))
                    }));
            }
            None => missing_target(node, found),
        }
        for (key, value) in node.entries() {
            if let Some(matcher) = answer::find(&key.value) {
                parts.push((matcher.build)(key, value, found));
            } else if at.is_none() && is_logic(&key.value) {
                parts.push(logic(key, value, found));
            }
        }
        if parts.is_empty() && node.entries().iter().all(|(key, _)| value::find(&key.value).is_none()) {
            let message = "this expectation is empty";
            let help = "add a matcher, such as `is_error: false` or `at:` with `equals:`";
            found.push(Diagnostic::error("empty-expectation", message, node.span).with_help(help.to_owned()));
            return None;
        }
        parts.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }

    /// Adds everything that is not as expected.
    pub(super) fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
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

/// Reports value matchers that have no value to look at.
fn missing_target(node: &Node, found: &mut Vec<Diagnostic>) {
    let is_stray = |name: &str| SIMPLE_KEYS.iter().chain(&ELEMENT_KEYS).any(|key| key.name == name);
    if let Some((key, _)) = node.entries().iter().find(|(key, _)| is_stray(&key.value)) {
        found.push(
            Diagnostic::error("missing-target", format!("`{}` has no value to check", key.value), key.span).with_help(
                "add `at:` with a path such as `result.structuredContent`, or put it under `text:`".to_owned(),
            ),
        );
    }
}

/// Beside `at`, combined matchers are value matchers, although the grammar of an item allows all.
fn refuse_strangers(node: &Node, found: &mut Vec<Diagnostic>) {
    for (outer, value) in node.entries().iter().filter(|(key, _)| is_logic(&key.value)) {
        for mapping in std::iter::once(value).chain(value.items()) {
            for (key, _) in mapping.entries().iter().filter(|(key, _)| value::find(&key.value).is_none()) {
                let help = format!(
                    "beside `at`, `{}` holds matchers of that value; `{}` needs an item of its own",
                    outer.value, key.value
                );
                found.push(
                    Diagnostic::error("unknown-key", format!("a value check has no key `{}`", key.value), key.span)
                        .with_help(help),
                );
            }
            refuse_strangers(mapping, found);
        }
    }
}

fn is_logic(name: &str) -> bool {
    LOGIC_KEYS.iter().any(|key| key.name == name)
}

fn logic(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let span = key.span;
    if key.value == "not" {
        let item = ExpectationItem::build(node, found)?;
        return Some(AnswerCheck::one(move |answer| {
            item.verdict(answer).refuted(|| {
                let reply = ResponseKind::of(answer.message).describe();
                let label = format!("got {}", show::quoted(&reply));
                let message = "the answer matches an expectation under `not`";
                Mismatch::new("not", span, message, label).with_actual(reply)
            })
        }));
    }
    let items = items(key, node, found)?;
    if key.value == "all" {
        return Some(AnswerCheck::all(move |answer, found| items.iter().for_each(|item| item.check(answer, found))));
    }
    Some(AnswerCheck::one(move |answer| {
        GroupVerdict::none_of(items.iter().map(|item| item.verdict(answer)), |reasons| {
            let message = format!("the answer matches none of the {}", show::count(items.len(), "alternative"));
            let reply = ResponseKind::of(answer.message).describe();
            Mismatch::new("any", span, message, reasons.join("; ")).with_actual(reply)
        })
    }))
}

fn items(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Vec<ExpectationItem>> {
    if node.items().is_empty() {
        read::nothing_expected(key, "list at least one expectation", found);
        return None;
    }
    let built: Vec<Option<ExpectationItem>> =
        node.items().iter().map(|item| ExpectationItem::build(item, found)).collect();
    built.into_iter().collect()
}

/// Adds the variants that an item judges, those of the items within included.
pub(super) fn judges(node: &Node, variants: &mut BTreeSet<&'static str>) {
    let at = node.get("at").and_then(Node::text);
    if let Some(at) = at {
        judges_at(at, node, variants);
    }
    for (key, value) in node.entries() {
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
        _ => value::judges(node, variants),
    }
}

/// The names that the `assert:` expressions below an item need from the suite, with their places.
pub(super) fn free_names(node: &Node, names: &mut Vec<Located<String>>) {
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
