//! `tools`, `resources`, `resource_templates`, `prompts`: what a server lists.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::super::compare::{MatchExtent, differences, fits};
use super::super::value::{RANGE, Range};
use super::super::{Answer, mismatch::Mismatch, read, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Object, Shape, alternative, key};
use crate::source::{Diagnostic, Located, Node, Span, template::text_of};
use crate::wire::ListKind;

pub(crate) static TOOLS: AnswerMatcher = AnswerMatcher {
    key: key("tools", Shape::Object(&LISTED), "Entries of the server's list of tools."),
    judges: |_| &["TOOL-LIST-DIVERGENCE"],
    build: |_, node, found| build(&OF_TOOLS, node, found),
};

pub(crate) static RESOURCES: AnswerMatcher = AnswerMatcher {
    key: key("resources", Shape::Object(&LISTED), "Entries of the server's list of resources, by URI or name."),
    judges: |node| if node.get("includes").is_some() { &["TOOL-RESOURCE-UNREADABLE"] } else { &[] },
    build: |_, node, found| build(&OF_RESOURCES, node, found),
};

pub(crate) static RESOURCE_TEMPLATES: AnswerMatcher = AnswerMatcher {
    key: key(
        "resource_templates",
        Shape::Object(&LISTED),
        "Entries of the server's list of resource templates, by URI template or name.",
    ),
    judges: |node| if node.get("includes").is_some() { &["TOOL-RESOURCE-UNREADABLE"] } else { &[] },
    build: |_, node, found| build(&OF_RESOURCE_TEMPLATES, node, found),
};

pub(crate) static PROMPTS: AnswerMatcher = AnswerMatcher {
    key: key("prompts", Shape::Object(&LISTED), "Entries of the server's list of prompts."),
    judges: |node| if node.get("includes").is_some() { &["TOOL-PROMPT-RENDER"] } else { &[] },
    build: |_, node, found| build(&OF_PROMPTS, node, found),
};

static LISTED: Object = Object {
    name: "a list check",
    doc: "The entries of a list, by name or by some of their fields.",
    keys: &[&[
        alternative(
            "includes",
            Shape::NonEmpty(&Shape::List(&Shape::Either(&[Shape::Text, Shape::Map(&Shape::Any)]))),
            "Entries that must be listed: names, or mappings of fields that an entry must have.",
        ),
        alternative("excludes", Shape::NonEmpty(&Shape::List(&Shape::Text)), "Names that must not be listed."),
        alternative("exact", Shape::List(&Shape::Text), "All names that must be listed, and no others, in any order."),
        alternative("count", RANGE, "The number of entries: exact, or `min` and `max`."),
    ]],
};

/// A list and its words.
#[derive(Debug)]
struct ListSubject {
    kind: ListKind,
    code: &'static str,
    noun: &'static str,
}

static OF_TOOLS: ListSubject = ListSubject { kind: ListKind::Tools, code: "tools", noun: "tool" };
static OF_RESOURCES: ListSubject = ListSubject { kind: ListKind::Resources, code: "resources", noun: "resource" };
static OF_RESOURCE_TEMPLATES: ListSubject =
    ListSubject { kind: ListKind::ResourceTemplates, code: "resource-templates", noun: "resource template" };
static OF_PROMPTS: ListSubject = ListSubject { kind: ListKind::Prompts, code: "prompts", noun: "prompt" };

struct Listed {
    of: &'static ListSubject,
    includes: Vec<Located<Json>>,
    excludes: Vec<Located<String>>,
    exact: Option<Located<Vec<String>>>,
    count: Option<Located<Range>>,
}

fn build(of: &'static ListSubject, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let items = |name: &str| node.get(name).map(Node::items).unwrap_or_default();
    let texts = |name: &str| items(name).iter().filter_map(Node::located_text).collect::<Vec<_>>();
    let find = |name: &str| node.entries().iter().find(|(key, _)| key.value == name);
    let count = match find("count") {
        None => None,
        Some((key, count)) => Some(Located::new(Range::build(key, count, found)?, read::mark(key, count))),
    };
    let exact = find("exact")
        .map(|(key, _)| Located::new(texts("exact").into_iter().map(|name| name.value).collect(), key.span));
    let includes: Vec<_> = items("includes").iter().map(|item| Located::new(item.to_json(), item.span)).collect();
    let listed = Listed { of, includes, excludes: texts("excludes"), exact, count };
    Some(AnswerCheck::all(move |answer, found| listed.check(answer, found)))
}

impl Listed {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let entries = answer.list(self.of.kind);
        if answer.method == self.of.kind.method() && answer.message.get("result").is_none() {
            let span = self.first_span();
            return found.extend(span.map(|span| {
                self.mismatch(span, "the server answered the list request with an error", "got an error")
            }));
        }
        found.extend(self.includes.iter().filter_map(|item| self.missing(item, &entries)));
        for name in self.excludes.iter().filter(|name| entries.iter().any(|entry| is_named(entry, &name.value))) {
            let message = format!("the server lists the {} `{}`, but should not", self.of.noun, name.value);
            found.push(self.mismatch(name.span, message, "is listed"));
        }
        if let Some(exact) = &self.exact {
            found.extend(self.inexact(exact, &entries));
        }
        if let Some(count) = self.count.as_ref().filter(|count| !count.value.has(entries.len())) {
            let has = show::count(entries.len(), self.of.noun);
            let message = format!("the server lists {has}, not {}", count.value);
            found.push(self.mismatch(count.span, message, format!("found {}", entries.len())));
        }
    }

    fn mismatch(&self, span: Span, message: impl Into<String>, label: impl AsRef<str>) -> Mismatch {
        Mismatch::new(self.of.code, span, message, label).with_path(format!("result.{}", self.of.kind.member()))
    }

    fn first_span(&self) -> Option<Span> {
        let includes = self.includes.first().map(|item| item.span);
        let excludes = self.excludes.first().map(|name| name.span);
        includes.or(excludes).or(self.exact.as_ref().map(|e| e.span)).or(self.count.as_ref().map(|c| c.span))
    }

    fn missing(&self, item: &Located<Json>, entries: &[&Json]) -> Option<Mismatch> {
        let noun = self.of.noun;
        let Json::Object(fields) = &item.value else {
            let name = text_of(&item.value);
            if entries.iter().any(|entry| is_named(entry, &name)) {
                return None;
            }
            return Some(self.mismatch(
                item.span,
                format!("the server lists no {noun} `{name}`"),
                hint(&name, entries),
            ));
        };
        if entries.iter().any(|entry| fits(&item.value, entry, MatchExtent::Part)) {
            return None;
        }
        let name = ["name", "uri", "uriTemplate"].iter().find_map(|member| fields.get(*member)).map(text_of);
        let named = name.as_ref().and_then(|name| entries.iter().find(|entry| is_named(entry, name)));
        Some(match (named, name) {
            (Some(entry), Some(name)) => self
                .mismatch(
                    item.span,
                    format!("the {noun} `{name}` is not listed as described"),
                    differences(&item.value, entry, MatchExtent::Part),
                )
                .with_values(&item.value, entry),
            (_, Some(name)) => {
                self.mismatch(item.span, format!("the server lists no {noun} `{name}`"), hint(&name, entries))
            }
            (_, None) => {
                let looked = show::count(entries.len(), noun);
                self.mismatch(item.span, format!("the server lists no such {noun}"), format!("none of {looked} fits"))
            }
        })
    }

    fn inexact(&self, exact: &Located<Vec<String>>, entries: &[&Json]) -> Option<Mismatch> {
        let missing: Vec<&str> = exact
            .value
            .iter()
            .map(String::as_str)
            .filter(|name| !entries.iter().any(|entry| is_named(entry, name)))
            .collect();
        let mut seen = BTreeSet::new();
        let mut extra = Vec::new();
        for entry in entries {
            let is_repeated = !seen.insert(name_of(entry));
            if is_repeated || !exact.value.iter().any(|name| is_named(entry, name)) {
                extra.push(name_of(entry));
            }
        }
        if missing.is_empty() && extra.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        if !missing.is_empty() {
            parts.push(format!("missing: {}", show::names(missing.into_iter(), 5)));
        }
        if !extra.is_empty() {
            parts.push(format!("unexpected: {}", show::names(extra.into_iter(), 5)));
        }
        let message = format!("the server does not list exactly these {}s", self.of.noun);
        let actual: Json = entries.iter().map(|entry| name_of(entry)).collect();
        let expected: Json = exact.value.iter().map(String::as_str).collect();
        Some(self.mismatch(exact.span, message, parts.join("; ")).with_values(&expected, &actual))
    }
}

/// The names of an entry: for resources the URI first, then the name.
fn names_of(entry: &Json) -> impl Iterator<Item = &str> {
    ["uri", "uriTemplate", "name"].into_iter().filter_map(|member| entry[member].as_str())
}

fn is_named(entry: &Json, name: &str) -> bool {
    names_of(entry).any(|known| known == name)
}

fn name_of(entry: &Json) -> &str {
    names_of(entry).next().unwrap_or("(without a name)")
}

fn hint(name: &str, entries: &[&Json]) -> String {
    let names = entries.iter().flat_map(|entry| names_of(entry));
    match show::did_you_mean(name, names) {
        hint if !hint.is_empty() => format!("not listed{hint}"),
        _ if entries.is_empty() => "the list is empty".to_owned(),
        _ => format!("not among {}", show::names(entries.iter().map(|entry| name_of(entry)), 5)),
    }
}
