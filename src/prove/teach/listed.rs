//! What can be expected of what a server lists.

use serde_json::{Map, Value, json};

use super::candidate::{Candidate, Scene};
use super::difference::{Difference, Place, Step, differences};
use super::heard::Heard;
use crate::wire::{Catalog, ListKind};

/// How many names a suite may list.
const MOST: usize = 20;

/// How many characters of an entry a suite may hold.
const LONGEST: usize = 400;

/// What can be expected where a page of a list differs.
pub(super) fn candidates(scene: &Scene<'_>, kind: ListKind) -> Vec<Candidate> {
    let (was, is) = (items(&scene.healthy.message, kind), items(&scene.changed.message, kind));
    let all = offered(scene, kind);
    let named = |item: &Value| item[key(kind)].as_str().map(str::to_owned);
    let mut found = Vec::new();
    let word = kind.word();
    let item = |check: Value| json!({ word: check });
    for one in &was {
        let Some(name) = named(one) else { continue };
        match is.iter().find(|other| named(other).as_ref() == Some(&name)) {
            None => found.extend(scene.pinned(&name.clone().into()).map(|pinned| {
                Candidate::new(item(json!({"includes": [pinned]})), &*name, format!("leave `{name}` out"))
            })),
            Some(other) => found.extend(entry(scene, kind, (&name, one, other))),
        }
    }
    let strangers: Vec<String> = is.iter().filter_map(named).filter(|name| !all.contains(name)).collect();
    if !strangers.is_empty() || is.len() != was.len() || next(scene.healthy) != next(scene.changed) {
        let could = strangers.first().map_or("list something else".to_owned(), |name| format!("list `{name}` as well"));
        let exact: Option<Vec<Value>> = all.iter().map(|name| scene.pinned(&name.clone().into())).collect();
        if let Some(exact) = exact.filter(|exact| !exact.is_empty() && exact.len() <= MOST) {
            found.push(Candidate::new(item(json!({"exact": exact})), "the whole list", could.clone()));
        }
        found.push(Candidate::new(item(json!({"count": all.len()})), "how many there are", could));
    }
    found
}

/// What differs in one entry.
fn entry(scene: &Scene<'_>, kind: ListKind, (name, one, other): (&str, &Value, &Value)) -> Vec<Candidate> {
    let mut found = Vec::new();
    for Difference { place, healthy, changed } in differences(one, other) {
        let about = format!("{name}, {}", place.path());
        let how = match (&healthy, &changed) {
            (None, _) => "with an additional",
            (_, None) => "without",
            (Some(_), Some(_)) => "with another",
        };
        let could = format!("list `{name}` {how} `{}`", place.path());
        if let Some(whole) = part(scene, one, (name, key(kind)), &place) {
            found.push(Candidate::new(json!({ kind.word(): {"includes": [whole]} }), about.clone(), could.clone()));
        }
        let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
        let at = format!("$.result.{}[?@.{}=='{quoted}']{}", kind.member(), key(kind), query(&place));
        let matchers = match &healthy {
            None => json!({"at": at, "exists": false}),
            Some(Value::String(text)) if text.chars().count() > 60 => {
                let long = text.chars().count();
                json!({"at": at, "each": {"length": long}})
            }
            Some(Value::Array(items)) => json!({"at": at, "each": {"length": items.len()}}),
            Some(value @ Value::Object(_)) => json!({"at": at, "each": {"type": super::trust::kind(value)}}),
            Some(value) => match scene.pinned(value) {
                Some(value) => json!({"at": at, "each": {"equals": value}}),
                None => continue,
            },
        };
        if !crate::source::template::is_template(name) {
            found.push(Candidate::new(matchers, about, could));
        }
    }
    found
}

/// The name of an entry and what it has at a place, which is the list where the way leads through one.
fn part(scene: &Scene<'_>, entry: &Value, (name, key): (&str, &str), place: &Place) -> Option<Map<String, Value>> {
    let way: Vec<&String> =
        place.0.iter().map_while(|step| if let Step::Member(name) = step { Some(name) } else { None }).collect();
    let value = way.iter().try_fold(entry, |value, name| value.get(name.as_str()))?;
    let value = scene.pinned(value).filter(|value| value.to_string().len() <= LONGEST)?;
    let inner = way.iter().rev().fold(value, |inner, name| json!({ name.as_str(): inner }));
    let mut whole = Map::from_iter([(key.to_owned(), scene.pinned(&name.into())?)]);
    whole.extend(inner.as_object()?.clone());
    Some(whole)
}

fn query(place: &Place) -> String {
    let step = |step: &Step| match step {
        Step::Member(name) => format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")),
        Step::Index(index) => format!("[{index}]"),
        Step::Json => String::new(),
    };
    place.0.iter().map(step).collect()
}

fn items(message: &Value, kind: ListKind) -> Vec<Value> {
    message["result"][kind.member()].as_array().cloned().unwrap_or_default()
}

fn next(heard: &Heard) -> Option<&Value> {
    heard.message["result"].get("nextCursor")
}

/// The names of everything that the healthy server lists, on all pages.
fn offered(scene: &Scene<'_>, kind: ListKind) -> Vec<String> {
    let listed = raw(scene.survivor.catalog, kind);
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

/// What an entry is known by.
fn key(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::ResourceTemplates => "uriTemplate",
    }
}

/// The whole list instead of one of its pages, as a list step shows it: as it was, and with the changed page.
pub(super) fn whole(catalog: &Catalog, kind: ListKind, (was, is): (&Heard, &Heard)) -> Option<(Heard, Heard)> {
    let page = items(&was.message, kind);
    let all = raw(catalog, kind);
    if page.len() == all.len() {
        return None;
    }
    let begin = (0..=all.len().checked_sub(page.len())?).find(|at| all[*at..].starts_with(&page))?;
    let rest = if next(is).is_some() || next(was).is_none() { &all[begin + page.len()..] } else { &[] };
    let changed = [&all[..begin], &items(&is.message, kind), rest].concat();
    let with = |heard: &Heard, items: Vec<Value>| {
        let mut message = heard.message.clone();
        if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
            result.insert(kind.member().to_owned(), items.into());
            result.shift_remove("nextCursor");
        }
        Heard { message, ..heard.clone() }
    };
    Some((with(was, all), with(is, changed)))
}
