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
            let most = MOST_AT_A_PLACE.min(all);
            let mut walk = Walk::new(most);
            self.walk(id, &mut walk, &beside);
            all = all.saturating_sub(most - walk.left);
            (walk.left == 0).then(|| &**self.rules(id))
        })
    }

    /// Whether there are values that take too long, because of all that they may hold.
    pub(in crate::generate) fn is_heavy(&self) -> bool {
        let mut walk = Walk::new(MOST_AT_A_PLACE);
        let next = |rules: &Rules| beside(rules).into_iter().chain(inside(rules)).collect();
        self.walk(self.root, &mut walk, &next);
        walk.left == 0 || walk.comes_back
    }

    /// Whether all errors of a value can be told.
    pub(in crate::generate) fn errors_are_few(&self, value: &Value) -> bool {
        self.errors(self.root, value, 0, &mut BTreeMap::new()) < MOST_ERRORS
    }

    /// Counts steps down to nothing; what is in the middle of being judged is not entered again.
    fn walk(&self, id: SchemaId, walk: &mut Walk, next: &dyn Fn(&Rules) -> Vec<SchemaId>) {
        if walk.open.contains(&id) {
            walk.comes_back = true;
            return;
        }
        if walk.left == 0 || walk.open.len() == DEEPEST {
            walk.left = 0;
            return;
        }
        walk.left -= 1;
        walk.open.push(id);
        for inner in next(self.rules(id)) {
            self.walk(inner, walk, next);
        }
        walk.open.pop();
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

/// A way through subschemas.
struct Walk {
    /// How many steps may still be taken.
    left: usize,
    /// What is in the middle of being judged.
    open: Vec<SchemaId>,
    /// Whether something leads to itself: then it depends on the value how long it takes.
    comes_back: bool,
}

impl Walk {
    fn new(left: usize) -> Self {
        Self { left, open: Vec::new(), comes_back: false }
    }
}

/// The subschemas that may have to be asked about the same place; all of them twice where what nobody has looked at is
/// found by looking once more.
fn beside(rules: &Rules) -> Vec<SchemaId> {
    let mut ids = asked(rules);
    if rules.unevaluated_properties.is_some() || rules.unevaluated_items.is_some() {
        ids.extend_from_within(..);
    }
    ids
}

fn asked(rules: &Rules) -> Vec<SchemaId> {
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
