//! Adds to a valid value what it could hold besides: optional members, items of empty arrays.

use serde_json::Value;

use crate::generate::make::{self, Variety};
use crate::generate::rng::Rng;
use crate::generate::shape::{Graph, LARGEST};
use crate::schema::{Formats, Judges, SchemaId, Schemas, ValuePosition, child_ids, each_place, item_ids, token};

use super::{is_at_or_below, weight};

/// The number of values that are broken.
const MOST: usize = 80;

/// The depth at which additions are still added to.
const DEEPEST: usize = 3;

/// A valid value, of which what is below a pointer is to be broken.
pub(crate) struct Host {
    pub value: Value,
    pub below: String,
    depth: usize,
}

/// Something that can be added: where, under which name, what judges it.
struct Addition {
    at: String,
    name: String,
    ids: Vec<SchemaId>,
}

/// The value itself, then values with one thing more each, as many as there may be, and until so many steps are counted.
pub(crate) fn hosts(graph: &mut Graph, judge: &Judges, base: &Value, most: usize, steps: usize) -> Vec<Host> {
    let most = most.clamp(1, MOST);
    let mut hosts = vec![Host { value: base.clone(), below: String::new(), depth: 0 }];
    let mut next = 0;
    while next < hosts.len() && hosts.len() < most {
        if hosts[next].depth < DEEPEST {
            let more: Vec<Host> = additions(&graph.schemas, &hosts[next])
                .into_iter()
                .map_while(|addition| {
                    (graph.schemas.count_steps() < steps).then(|| extend(graph, &hosts[next], addition))
                })
                .flatten()
                .filter(|host| judge.takes(&host.value, Formats::Ignored))
                .take(most - hosts.len())
                .collect();
            hosts.extend(more);
        }
        next += 1;
    }
    hosts.truncate(most);
    hosts
}

fn extend(graph: &mut Graph, host: &Host, addition: Addition) -> Option<Host> {
    let Addition { at, name, ids } = addition;
    let node = graph.grow(ids);
    if graph.node(node).size > LARGEST {
        return None;
    }
    graph.schemas.charge(weight(&host.value));
    let made = make::value(graph, node, Variety::Plain, &mut Rng::new(0));
    let mut value = host.value.clone();
    let below = match value.pointer_mut(&at)? {
        Value::Object(members) => {
            members.insert(name.clone(), made);
            format!("{at}/{}", token(&name))
        }
        Value::Array(items) => {
            items.push(made);
            format!("{at}/{}", items.len() - 1)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    Some(Host { value, below, depth: host.depth + 1 })
}

fn additions(schemas: &Schemas, host: &Host) -> Vec<Addition> {
    let mut found = Vec::new();
    each_place(schemas, &host.value, &mut |place| {
        if is_at_or_below(place.at, &host.below) {
            found.extend(additions_at(schemas, place));
        }
    });
    found
}

fn additions_at(schemas: &Schemas, place: ValuePosition<'_>) -> Vec<Addition> {
    let addition = |name: &str, ids| Addition { at: place.at.to_owned(), name: name.to_owned(), ids };
    match place.value {
        Value::Object(members) => {
            let listed = place.judges.iter().flat_map(|id| schemas.rules(*id).properties.keys());
            let mut names: Vec<&str> = listed.map(String::as_str).collect();
            let open = place.judges.iter().any(|id| schemas.rules(*id).additional.is_some());
            names.extend((open && members.is_empty()).then_some("extra"));
            names.retain(|name| !members.contains_key(*name));
            names.dedup();
            names.into_iter().map(|name| addition(name, child_ids(schemas, place.judges, name))).collect()
        }
        Value::Array(items) if items.is_empty() => {
            let ids = item_ids(schemas, place.judges, 0);
            if ids.is_empty() { Vec::new() } else { vec![addition("", ids)] }
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
