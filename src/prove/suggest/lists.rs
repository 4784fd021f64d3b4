//! Expectations of lists.

use serde_json::{Map, Value, json};

use super::answer::ExchangeAnswer;
use super::answer_path::{Difference, differences};
use super::candidate::{CandidateExpectation, SuggestionContext};
use crate::path::{DottedPath, PathStep};
use crate::wire::{Catalog, ListKind};

/// The most names that a suite may list.
const MOST: usize = 20;

/// The most characters of an entry that a suite may hold.
const LONGEST: usize = 400;

/// Expectations where a page of a list differs.
pub(crate) fn candidates(context: &SuggestionContext<'_>, kind: ListKind) -> Vec<CandidateExpectation> {
    let (was, is) = (items(&context.healthy.message, kind), items(&context.changed.message, kind));
    let all = offered_names(context, kind);
    let named = |item: &Value| item[key(kind)].as_str().map(str::to_owned);
    let mut found = Vec::new();
    let word = kind.as_str();
    let item = |check: Value| json!({ word: check });
    for one in &was {
        let Some(name) = named(one) else { continue };
        match is.iter().find(|other| named(other).as_ref() == Some(&name)) {
            None => found.extend(context.pin(&name.clone().into()).map(|pinned| {
                CandidateExpectation::new(item(json!({"includes": [pinned]})), &*name, format!("leave `{name}` out"))
            })),
            Some(other) => found.extend(entry(context, kind, &ListEntry { name: &name, healthy: one, changed: other })),
        }
    }
    let unlisted: Vec<String> = is.iter().filter_map(named).filter(|name| !all.contains(name)).collect();
    if !unlisted.is_empty() || is.len() != was.len() || next(context.healthy) != next(context.changed) {
        let could = unlisted.first().map_or("list something else".to_owned(), |name| format!("list `{name}` as well"));
        let exact: Option<Vec<Value>> = all.iter().map(|name| context.pin(&name.clone().into())).collect();
        if let Some(exact) = exact.filter(|exact| !exact.is_empty() && exact.len() <= MOST) {
            found.push(CandidateExpectation::new(item(json!({"exact": exact})), "the whole list", could.clone()));
        }
        found.push(CandidateExpectation::new(item(json!({"count": all.len()})), "how many there are", could));
    }
    found
}

/// An entry of a list, as the healthy server lists it and as the mutant does.
struct ListEntry<'a> {
    name: &'a str,
    healthy: &'a Value,
    changed: &'a Value,
}

/// Expectations of one entry that differs.
fn entry(context: &SuggestionContext<'_>, kind: ListKind, entry: &ListEntry<'_>) -> Vec<CandidateExpectation> {
    let name = entry.name;
    let mut found = Vec::new();
    for Difference { path, healthy, changed } in differences(entry.healthy, entry.changed) {
        let about = format!("{name}, {path}");
        let how = match (&healthy, &changed) {
            (None, _) => "with an additional",
            (_, None) => "without",
            (Some(_), Some(_)) => "with another",
        };
        let could = format!("list `{name}` {how} `{path}`");
        if let Some(whole) = part(context, kind, entry, &path) {
            found.push(CandidateExpectation::new(
                json!({ kind.as_str(): {"includes": [whole]} }),
                about.clone(),
                could.clone(),
            ));
        }
        let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
        let at = format!("$.result.{}[?@.{}=='{quoted}']{}", kind.member(), key(kind), query(&path));
        let matchers = match &healthy {
            None => json!({"at": at, "exists": false}),
            Some(Value::String(text)) if text.chars().count() > 60 => {
                let long = text.chars().count();
                json!({"at": at, "each": {"length": long}})
            }
            Some(Value::Array(items)) => json!({"at": at, "each": {"length": items.len()}}),
            Some(value @ Value::Object(_)) => json!({"at": at, "each": {"type": crate::reproduce::json_type(value)}}),
            Some(value) => match context.pin(value) {
                Some(value) => json!({"at": at, "each": {"equals": value}}),
                None => continue,
            },
        };
        if !crate::source::template::is_template(name) {
            found.push(CandidateExpectation::new(matchers, about, could));
        }
    }
    found
}

/// The name of an entry and what it has at a path, which is the list where the way leads through one.
fn part(
    context: &SuggestionContext<'_>,
    kind: ListKind,
    entry: &ListEntry<'_>,
    path: &DottedPath,
) -> Option<Map<String, Value>> {
    let way: Vec<&str> = path.steps.iter().map_while(PathStep::name).collect();
    let value = way.iter().try_fold(entry.healthy, |value, name| value.get(*name))?;
    let value = context.pin(value).filter(|value| value.to_string().len() <= LONGEST)?;
    let inner = way.iter().rev().fold(value, |inner, name| json!({ *name: inner }));
    let mut whole = Map::from_iter([(key(kind).to_owned(), context.pin(&entry.name.into())?)]);
    whole.extend(inner.as_object()?.clone());
    Some(whole)
}

/// The rest of a JSONPath that leads there.
fn query(path: &DottedPath) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Member(name) => format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")),
        PathStep::Index(index) => format!("[{index}]"),
        PathStep::Each | PathStep::Where(..) | PathStep::Json => String::new(),
    };
    path.steps.iter().map(step).collect()
}

fn items(message: &Value, kind: ListKind) -> Vec<Value> {
    message["result"][kind.member()].as_array().cloned().unwrap_or_default()
}

fn next(answer: &ExchangeAnswer) -> Option<&Value> {
    answer.message["result"].get("nextCursor")
}

/// The names of everything that the healthy server lists, on all pages.
fn offered_names(context: &SuggestionContext<'_>, kind: ListKind) -> Vec<String> {
    let listed = raw(context.survivor.catalog, kind);
    listed.into_iter().filter_map(|item| item[key(kind)].as_str().map(str::to_owned)).collect()
}

fn raw(catalog: &Catalog, kind: ListKind) -> Vec<Value> {
    match kind {
        ListKind::Tools => catalog.tools.iter().map(|tool| tool.raw.clone()).collect(),
        ListKind::Resources => catalog.resources.clone(),
        ListKind::ResourceTemplates => catalog.resource_templates.clone(),
        ListKind::Prompts => catalog.prompts.clone(),
    }
}

/// The key by which an entry is known.
fn key(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::ResourceTemplates => "uriTemplate",
    }
}

/// The whole list instead of one of its pages, as a list step shows it: as it was, and with the changed page.
pub(crate) fn whole(
    catalog: &Catalog,
    kind: ListKind,
    was: &ExchangeAnswer,
    is: &ExchangeAnswer,
) -> Option<(ExchangeAnswer, ExchangeAnswer)> {
    let page = items(&was.message, kind);
    let all = raw(catalog, kind);
    if page.len() == all.len() {
        return None;
    }
    let begin = (0..=all.len().checked_sub(page.len())?).find(|at| all[*at..].starts_with(&page))?;
    let rest = if next(is).is_some() || next(was).is_none() { &all[begin + page.len()..] } else { &[] };
    let changed = [&all[..begin], &items(&is.message, kind), rest].concat();
    let with = |answer: &ExchangeAnswer, items: Vec<Value>| {
        let mut message = answer.message.clone();
        if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
            result.insert(kind.member().to_owned(), items.into());
            result.shift_remove("nextCursor");
        }
        ExchangeAnswer { message, ..answer.clone() }
    };
    Some((with(was, all), with(is, changed)))
}
