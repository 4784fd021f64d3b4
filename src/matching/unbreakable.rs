//! Expectations that no answer can break, as far as their text shows.
//!
//! A matcher holds always if it holds for every value of the kind that it looks at, whatever stands at its path; that
//! nothing stands there is for `exists` and `type` to notice. What cannot be decided here counts as breakable.

use std::time::Duration;

use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::Value as Json;

use super::value::{Checks, ValuePlace};
use crate::schema::{compare, same};
use crate::source::template::has_template;
use crate::source::{Node, Value, parse_duration};

/// A place of an answer at which the protocol, or mcprove itself, always puts a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuaranteedValue {
    /// The path.
    pub path: &'static str,
    /// The JSON type of the value; `None` if that is not guaranteed.
    pub kind: Option<&'static str>,
}

/// More characters, elements or notifications than any answer has.
const BEYOND_ANY_ANSWER: u64 = 1 << 40;

/// A number so far from zero that no answer is meant to come near it.
const BEYOND_ANY_NUMBER: f64 = 1e15;

/// The longest wait that says something of a server: nobody sits through a longer one.
pub const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// No answer can break an item of an `expect:` list.
pub(crate) fn item_holds(item: &Node, guaranteed: &[GuaranteedValue]) -> bool {
    let at = item.get("at").and_then(Node::text);
    let is_given = at.is_some_and(|at| {
        let bare = at.trim_start_matches(['$', '.']);
        guaranteed.iter().find(|one| one.path == bare).is_some_and(|one| {
            let mut matchers = item.entries().iter().filter(|(key, _)| key.value != "at");
            matchers.all(|(key, node)| says_no_more(&key.value, node, one))
        })
    });
    is_given || every_entry(item, |key, node| key == "at" || entry_holds(key, node, at.is_some(), guaranteed))
}

/// A matcher requires nothing but what is guaranteed.
fn says_no_more(key: &str, node: &Node, given: &GuaranteedValue) -> bool {
    match key {
        "exists" => node.flag() == Some(true),
        "type" => node.text().is_some_and(|kind| Some(kind) == given.kind),
        _ => value_holds(key, node),
    }
}

/// No answer can break one key of an item.
pub(crate) fn entry_holds(key: &str, node: &Node, has_path: bool, guaranteed: &[GuaranteedValue]) -> bool {
    match key {
        "text" => mapping_holds(node),
        "all" if !has_path => node.items().iter().all(|item| item_holds(item, guaranteed)),
        "any" if !has_path => {
            let items = node.items();
            items.iter().any(|item| item_holds(item, guaranteed)) || has_complements(items) || are_all_answers(items)
        }
        "not" if !has_path => item_fails(node, guaranteed),
        "latency" => is_endless(node),
        _ => value_holds(key, node),
    }
}

/// The only limit of a time is one that nobody waits for.
fn is_endless(latency: &Node) -> bool {
    let under = latency.get("under").and_then(Node::text).and_then(parse_duration);
    latency.entries().len() == 1 && under.is_some_and(|under| under > LONGEST_WAIT)
}

/// Every answer breaks an item.
fn item_fails(item: &Node, guaranteed: &[GuaranteedValue]) -> bool {
    let has_path = item.get("at").is_some();
    item.entries().iter().any(|(key, node)| match key.value.as_str() {
        "text" => mapping_fails(&[node]),
        "not" if !has_path => item_holds(node, guaranteed),
        "any" if !has_path => node.items().iter().all(|item| item_fails(item, guaranteed)),
        "all" if !has_path => {
            node.items().iter().any(|item| item_fails(item, guaranteed)) || has_complements(node.items())
        }
        _ => false,
    }) || has_path && mapping_fails(&[item])
}

/// Each kind of answer has an alternative that accepts it: a success, the error of a tool, an error of JSON-RPC.
fn are_all_answers(items: &[Node]) -> bool {
    let only = |item: &Node| match item.entries() {
        [(key, node)] => Some((key.value.clone(), node.clone())),
        _ => None,
    };
    let has = |name: &str, flag: bool| {
        items.iter().filter_map(only).any(|(key, node)| key == name && node.flag() == Some(flag))
    };
    has("is_error", true) && has("is_error", false) && has("error", true)
}

/// No value can break a mapping of matchers.
pub(crate) fn mapping_holds(mapping: &Node) -> bool {
    every_entry(mapping, value_holds)
}

/// The same among alternatives, where it is enough that the value is there.
fn alternative_holds(mapping: &Node) -> bool {
    every_entry(mapping, |key, node| key == "exists" && node.flag() == Some(true) || value_holds(key, node))
}

fn every_entry(mapping: &Node, holds: impl Fn(&str, &Node) -> bool) -> bool {
    let entries = mapping.entries();
    !entries.is_empty() && entries.iter().all(|(key, node)| holds(&key.value, node))
}

/// No value of the kind that a matcher looks at can break it.
pub(crate) fn value_holds(key: &str, node: &Node) -> bool {
    match key {
        "matches" => node.text().is_some_and(|pattern| !has_template(node) && every_text_matches(pattern)),
        "length" => has_no_limit(node),
        "at_most" | "less_than" => bound(node).is_some_and(|most| most >= BEYOND_ANY_NUMBER),
        "at_least" | "greater_than" => bound(node).is_some_and(|least| least <= -BEYOND_ANY_NUMBER),
        "schema" => !has_template(node) && every_value_fits(&node.to_json()),
        "all" => !node.items().is_empty() && node.items().iter().all(mapping_holds),
        "any" => any_holds(node.items()),
        "not" => mapping_fails(&[node]),
        _ => false,
    }
}

fn any_holds(groups: &[Node]) -> bool {
    let refused: Vec<&Node> = groups.iter().filter_map(negated_mapping).collect();
    groups.iter().any(alternative_holds)
        || has_complements(groups)
        || are_all_types(groups)
        || are_all_numbers(groups)
        || !refused.is_empty() && (mapping_fails(&refused) || implies(&refused, groups))
}

/// The mapping under the `not` of a group that says nothing else.
fn negated_mapping(group: &Node) -> Option<&Node> {
    match group.entries() {
        [(key, node)] if key.value == "not" => Some(node),
        _ => None,
    }
}

/// One group says the opposite of another.
fn has_complements(groups: &[Node]) -> bool {
    let is_same = |one: &Node, other: &Node| one.to_json() == other.to_json();
    groups.iter().filter_map(negated_mapping).any(|node| groups.iter().any(|group| is_same(group, node)))
}

/// The groups name every type of JSON.
fn are_all_types(groups: &[Node]) -> bool {
    let named: Vec<&str> = groups.iter().filter_map(|group| only(group, "type")?.text()).collect();
    let has = |name: &&str| named.contains(name);
    ["string", "number", "boolean", "null", "array", "object"].iter().all(has)
}

/// The groups leave no number out.
fn are_all_numbers(groups: &[Node]) -> bool {
    let limits = |names: [&str; 2]| {
        let of = move |group: &Node| {
            let (key, node) = group.entries().first().filter(|_| group.entries().len() == 1)?;
            let Value::Number(limit) = &node.value else { return None };
            names.contains(&key.value.as_str()).then(|| (limit.clone(), key.value == names[1]))
        };
        groups.iter().filter_map(of).collect::<Vec<_>>()
    };
    let (below, above) = (limits(["less_than", "at_most"]), limits(["greater_than", "at_least"]));
    below.iter().any(|(most, has_most)| {
        above.iter().any(|(least, has_least)| match compare(least, most) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => *has_most || *has_least,
            std::cmp::Ordering::Greater => false,
        })
    })
}

fn only<'a>(group: &'a Node, name: &str) -> Option<&'a Node> {
    match group.entries() {
        [(key, node)] if key.value == name => Some(node),
        _ => None,
    }
}

/// Every value breaks one of these mappings.
fn mapping_fails(mappings: &[&Node]) -> bool {
    let conjuncts = conjuncts(mappings);
    let fails = |(key, node): &(&str, &Node)| match *key {
        "not" => mapping_holds(node),
        "any" => !node.items().is_empty() && node.items().iter().all(|group| mapping_fails(&[group])),
        "matches" => node.text().is_some_and(|pattern| !has_template(node) && no_text_matches(pattern)),
        _ => false,
    };
    let contradicts = |(key, node): &(&str, &Node)| *key == "not" && contains_all(&conjuncts, node);
    conjuncts.iter().any(|one| fails(one) || contradicts(one))
        || values(&conjuncts).is_some_and(|values| {
            values.iter().all(|value| mappings.iter().any(|mapping| accepts(mapping, value) == Some(false)))
        })
}

/// Everything that a mapping requires is required already.
fn contains_all(conjuncts: &[(&str, &Node)], mapping: &Node) -> bool {
    every_entry(mapping, |key, node| {
        conjuncts.iter().any(|(known, other)| *known == key && other.to_json() == node.to_json())
    })
}

/// The matchers of mappings that must all hold, those within `all` included.
fn conjuncts<'a>(mappings: &[&'a Node]) -> Vec<(&'a str, &'a Node)> {
    let mut found = Vec::new();
    for (key, node) in mappings.iter().flat_map(|mapping| mapping.entries()) {
        if key.value == "all" {
            let groups: Vec<&Node> = node.items().iter().collect();
            found.extend(conjuncts(&groups));
        }
        found.push((key.value.as_str(), node));
    }
    found
}

/// The only values for which matchers can hold together; `None` where that is not known.
fn values(conjuncts: &[(&str, &Node)]) -> Option<Vec<Json>> {
    let of = |name: &str| conjuncts.iter().find(|(key, node)| *key == name && !has_template(node));
    match of("equals") {
        Some((_, node)) => Some(vec![node.to_json()]),
        None => of("one_of").map(|(_, node)| node.items().iter().map(Node::to_json).collect()),
    }
}

/// A value that satisfies all of these mappings satisfies one of the groups as well.
fn implies(mappings: &[&Node], groups: &[Node]) -> bool {
    values(&conjuncts(mappings)).is_some_and(|values| {
        let is_taken = |value: &Json| groups.iter().any(|group| accepts(group, value) == Some(true));
        values.iter().all(is_taken)
    })
}

/// Applies the matchers of a mapping to a value; `None` where templates decide.
fn accepts(mapping: &Node, value: &Json) -> Option<bool> {
    if has_template(mapping) {
        return None;
    }
    let checks = Checks::build(mapping, &mut Vec::new())?;
    let mut found = Vec::new();
    checks.check(value, ValuePlace::Named("the value"), &mut found);
    Some(found.is_empty())
}

fn bound(node: &Node) -> Option<f64> {
    if let Value::Number(limit) = &node.value { limit.as_f64() } else { None }
}

pub(crate) fn has_no_limit(range: &Node) -> bool {
    let is_open =
        |name: &str, open: &dyn Fn(u64) -> bool| range.get(name).is_none_or(|limit| limit.whole().is_some_and(open));
    !range.entries().is_empty()
        && is_open("min", &|least| least == 0)
        && is_open("max", &|most| most >= BEYOND_ANY_ANSWER)
}

/// A pattern is found in every text: it matches nothing at all, or any text from end to end.
fn every_text_matches(pattern: &str) -> bool {
    let Ok(tree) = regex_syntax::parse(pattern) else { return false };
    holds_anywhere(&tree)
}

fn holds_anywhere(tree: &Hir) -> bool {
    if is_nullable(tree) {
        return true;
    }
    match tree.kind() {
        HirKind::Capture(group) => holds_anywhere(&group.sub),
        HirKind::Alternation(branches) => branches.iter().any(holds_anywhere),
        HirKind::Concat(parts) => concat_holds(parts),
        HirKind::Look(look) => is_start(*look) || is_end(*look),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Repetition(_) => false,
    }
}

fn concat_holds(parts: &[Hir]) -> bool {
    let look = |part: &Hir| if let HirKind::Look(look) = part.kind() { Some(*look) } else { None };
    let starts = parts.iter().take_while(|part| look(part).is_some_and(is_start)).count();
    let ends = parts[starts..].iter().rev().take_while(|part| look(part).is_some_and(is_end)).count();
    let inner = &parts[starts..parts.len() - ends];
    let is_anchored = starts > 0 && ends > 0;
    inner.iter().all(is_nullable) && (!is_anchored || inner.iter().any(takes_everything))
}

fn is_start(look: Look) -> bool {
    matches!(look, Look::Start | Look::StartLF | Look::StartCRLF)
}

fn is_end(look: Look) -> bool {
    matches!(look, Look::End | Look::EndLF | Look::EndCRLF)
}

/// A pattern matches an empty piece of text at any place.
fn is_nullable(tree: &Hir) -> bool {
    match tree.kind() {
        HirKind::Empty => true,
        HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => false,
        HirKind::Repetition(repetition) => repetition.min == 0 || is_nullable(&repetition.sub),
        HirKind::Capture(group) => is_nullable(&group.sub),
        HirKind::Concat(parts) => parts.iter().all(is_nullable),
        HirKind::Alternation(branches) => branches.iter().any(is_nullable),
    }
}

/// A pattern takes any text from end to end, line ends included.
fn takes_everything(tree: &Hir) -> bool {
    match tree.kind() {
        HirKind::Repetition(repetition) => {
            repetition.min == 0 && repetition.max.is_none() && is_every_character(&repetition.sub)
        }
        HirKind::Capture(group) => takes_everything(&group.sub),
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Concat(_)
        | HirKind::Alternation(_) => false,
    }
}

fn is_every_character(tree: &Hir) -> bool {
    match tree.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            matches!(class.ranges(), [all] if all.start() == '\0' && all.end() == char::MAX)
        }
        HirKind::Capture(group) => is_every_character(&group.sub),
        HirKind::Alternation(branches) => branches.iter().any(is_every_character),
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Class(Class::Bytes(_))
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Concat(_) => false,
    }
}

fn no_text_matches(pattern: &str) -> bool {
    let Ok(tree) = regex_syntax::parse(pattern) else { return false };
    match tree.kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().is_empty(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().is_empty(),
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Capture(_)
        | HirKind::Concat(_)
        | HirKind::Alternation(_) => false,
    }
}

/// Keywords of JSON Schema that refuse nothing.
const ANNOTATIONS: [&str; 13] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];

fn every_value_fits(schema: &Json) -> bool {
    let Json::Object(keywords) = schema else { return schema == &Json::Bool(true) };
    keywords.iter().all(|(keyword, value)| match keyword.as_str() {
        name if ANNOTATIONS.contains(&name) => true,
        "type" => ["string", "number", "boolean", "null", "array", "object"]
            .iter()
            .all(|kind| value.as_array().is_some_and(|kinds| kinds.iter().any(|one| same(one, &Json::from(*kind))))),
        "minLength" | "minItems" | "minProperties" => value.as_u64() == Some(0),
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "items" | "additionalProperties" | "propertyNames" => every_value_fits(value),
        "properties" | "patternProperties" => {
            value.as_object().is_some_and(|fields| fields.values().all(every_value_fits))
        }
        "allOf" => value.as_array().is_some_and(|all| all.iter().all(every_value_fits)),
        "anyOf" => value.as_array().is_some_and(|any| any.iter().any(every_value_fits)),
        "pattern" => value.as_str().is_some_and(every_text_matches),
        _ => false,
    })
}
