//! What it costs to judge values where nothing is remembered on the way, as in the `jsonschema` crate.
//!
//! A reference that is followed twice at each of forty steps is followed a million million times.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Rules, SchemaId, Schemas, item_ids};

/// How often subschemas may be asked about one place, counted anew for every way that leads to them.
const MOST_AT_A_PLACE: usize = 50_000;

/// The same for all subschemas together.
const MOST_AT_ALL: usize = 2_000_000;

/// How many references and alternatives may be inside of each other at one place.
const DEEPEST: usize = 400;

/// How many errors may be collected of a value, at worst.
const MOST_ERRORS: u64 = 300_000;

impl Schemas {
    /// A subschema that takes too long to judge anything; `None` where all are quick.
    pub(in crate::generate) fn endless(&self) -> Option<&Rules> {
        let mut all = MOST_AT_ALL;
        (0..self.lines.len()).map(SchemaId).find_map(|id| {
            let mut left = MOST_AT_A_PLACE.min(all);
            let before = left;
            self.walk(id, &mut Vec::new(), &mut left, &beside);
            all = all.saturating_sub(before - left);
            (left == 0).then(|| &**self.rules(id))
        })
    }

    /// Whether there are values that take too long, because of all that they may hold.
    pub(in crate::generate) fn is_heavy(&self) -> bool {
        let mut left = MOST_AT_A_PLACE;
        let next = |rules: &Rules| beside(rules).into_iter().chain(inside(rules)).collect();
        self.walk(self.root, &mut Vec::new(), &mut left, &next);
        left == 0
    }

    /// Whether all errors of a value can be told.
    pub(in crate::generate) fn errors_are_few(&self, value: &Value) -> bool {
        self.errors(self.root, value, 0, &mut BTreeMap::new()) < MOST_ERRORS
    }

    /// Counts steps down to nothing; what is in the middle of being judged is not entered again.
    fn walk(&self, id: SchemaId, open: &mut Vec<SchemaId>, left: &mut usize, next: &dyn Fn(&Rules) -> Vec<SchemaId>) {
        if *left == 0 || open.contains(&id) {
            return;
        }
        if open.len() == DEEPEST {
            *left = 0;
            return;
        }
        *left -= 1;
        open.push(id);
        for inner in next(self.rules(id)) {
            self.walk(inner, open, left, next);
        }
        open.pop();
    }

    /// How many errors a value can have at most, those of alternatives included.
    fn errors(&self, id: SchemaId, value: &Value, depth: usize, known: &mut BTreeMap<(SchemaId, usize), u64>) -> u64 {
        let key = (id, std::ptr::from_ref(value).addr());
        if let Some(known) = known.get(&key) {
            return *known;
        }
        if depth > DEEPEST {
            return MOST_ERRORS;
        }
        known.insert(key, 1);
        let rules = self.rules(id);
        let mut count = 1_u64;
        for inner in beside(rules) {
            count = count.saturating_add(self.errors(inner, value, depth + 1, known));
        }
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let contained = rules.contains.as_ref().map(|contains| contains.schema);
                    for inner in item_ids(self, &[id], at).into_iter().chain(contained) {
                        count = count.saturating_add(self.errors(inner, item, depth + 1, known));
                    }
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    for inner in self.member_schemas(rules, name) {
                        count = count.saturating_add(self.errors(inner, member, depth + 1, known));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        known.insert(key, count);
        count
    }
}

/// The subschemas that may have to be asked about the same place.
fn beside(rules: &Rules) -> Vec<SchemaId> {
    let lists = rules.all.iter().chain(&rules.any).chain(&rules.one).chain(&rules.not).copied();
    let condition = rules
        .condition
        .iter()
        .flat_map(|condition| [condition.when].into_iter().chain(condition.then).chain(condition.otherwise));
    lists.chain(condition).chain(rules.dependent_schemas.iter().map(|(_, id)| *id)).collect()
}

/// The subschemas of items and members.
fn inside(rules: &Rules) -> Vec<SchemaId> {
    let named = rules.properties.values().copied().chain(rules.pattern_properties.iter().map(|(_, id)| *id));
    let items = rules.prefix.iter().copied().chain(rules.items).chain(rules.contains.iter().map(|one| one.schema));
    named.chain(items).chain(rules.additional).collect()
}
