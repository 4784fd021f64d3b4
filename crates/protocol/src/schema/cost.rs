//! Estimates the cost of validation by the `jsonschema` crate.
//!
//! That crate remembers what a reference leads to says about an object or a list, and nothing else: a reference that is
//! followed twice at each of forty steps beside each other is followed a million million times, and so is what collects
//! all errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{SchemaId, SchemaRules, Schemas, item_ids};
use crate::wire::format::holds_at_most;

/// The number of questions to subschemas about one place, counted anew for every way that leads to them.
const MOST_AT_A_PLACE: usize = 50_000;

/// The same for all subschemas together.
const MOST_AT_ALL: usize = 2_000_000;

/// The depth of schemas within each other that look at a value once more.
const MOST_LEVELS: usize = 12;

/// The depth of references, alternatives and places within each other; deeper ones count as endless. A message is at
/// most 127 levels deep, and each level may go through a reference and an alternative.
pub(crate) const DEEPEST: usize = 400;

/// The number of steps of one question: one for each subschema at a place, more where that is costly.
pub(crate) const STEPS: usize = 400_000;

/// Steps per place below which none are counted.
const PLAIN: usize = 1_000;

/// The number of subschemas that are asked for all errors of a value: each may find one.
const MOST_ERRORS: u64 = 100_000;

impl Schemas {
    /// A subschema that takes too long to judge anything; `None` where all are quick.
    pub(crate) fn endless(&self) -> Option<&SchemaRules> {
        let mut all = MOST_AT_ALL;
        let costly = (0..self.lines.len()).map(SchemaId).find(|id| {
            let most = MOST_AT_A_PLACE.min(all);
            let mut walk = CostWalk::new(most);
            self.walk(*id, &mut walk, &asked_together);
            all = all.saturating_sub(most - walk.left);
            walk.left == 0
        });
        costly.map(|id| self.rules(id)).or_else(|| self.looking_again()).map(|rules| &**rules)
    }

    /// A subschema within too many others that look at a value once more, each of which doubles what is inside of it.
    fn looking_again(&self) -> Option<&Arc<SchemaRules>> {
        let again = || self.lines.iter().filter(|rules| rules.looks_again());
        let outer: BTreeSet<&str> = again().map(|rules| rules.at.as_str()).collect();
        let levels = |at: &str| at.match_indices('/').filter(|(end, _)| outer.contains(&at[..*end])).count();
        again().find(|rules| levels(&rules.at) > MOST_LEVELS)
    }

    /// The number of steps that one place of a value can take, so that a whole value takes at most that for each of its
    /// places; `None` where it depends on the value.
    ///
    /// `uniqueItems` counts for nothing: many items are compared by their hashes.
    pub fn weight(&self) -> Option<usize> {
        let mut walk = CostWalk::new(MOST_AT_A_PLACE);
        let next = |rules: &SchemaRules| {
            asked_together(rules).into_iter().chain(rules.inside()).chain(contains_schema(rules)).collect()
        };
        self.walk(self.root, &mut walk, &next);
        let costly = self.patterns.values().any(|pattern| pattern.is_costly());
        let listed = self.lines.iter().map(|rules| count_listed(rules) / OTHERS_PER_STEP).sum::<usize>();
        (walk.left > 0 && !walk.comes_back && !costly).then_some(MOST_AT_A_PLACE - walk.left + listed)
    }

    /// A judge of this weight is soon done with a value, without asking a single subschema.
    pub(crate) fn is_light(weight: Option<usize>, value: &Value) -> bool {
        weight.is_some_and(|weight| weight <= PLAIN || holds_at_most(value, STEPS / weight))
    }

    /// The number of subschemas that are asked for all errors of a value; `None` where they are too many.
    pub fn errors(&self, value: &Value) -> Option<usize> {
        let count = self.errors_of(self.root, value, 0, &mut BTreeMap::new());
        usize::try_from(count).ok().filter(|_| count < MOST_ERRORS)
    }

    /// The number of steps that judging a place takes beyond the one for asking.
    fn beyond_asking(&self, rules: &SchemaRules, value: &Value) -> u64 {
        let pattern = rules.pattern.as_ref().filter(|_| value.is_string());
        (listing(rules, value) + pattern.map_or(0, |pattern| self.matching(pattern, value))) as u64
    }

    /// The number of steps that it takes to match a name against patterns.
    pub(crate) fn names_cost(&self, rules: &SchemaRules, name: &str) -> usize {
        if rules.pattern_properties.is_empty() {
            return 0;
        }
        let name = Value::String(name.to_owned());
        let costs = rules.pattern_properties.iter().map(|(pattern, _)| self.matching(pattern, &name));
        costs.fold(0, usize::saturating_add)
    }

    /// Counts steps down to zero; a subschema that is being judged is not entered again.
    fn walk(&self, id: SchemaId, walk: &mut CostWalk, next: &dyn Fn(&SchemaRules) -> Vec<SchemaId>) {
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

    /// The number of errors that a value can have at most, those of alternatives included.
    fn errors_of(
        &self,
        id: SchemaId,
        value: &Value,
        depth: usize,
        known: &mut BTreeMap<(SchemaId, usize), u64>,
    ) -> u64 {
        let key = (id, std::ptr::from_ref(value).addr());
        if let Some(known) = known.get(&key) {
            return *known;
        }
        if depth > DEEPEST || known.len() > STEPS {
            return MOST_ERRORS;
        }
        known.insert(key, 1);
        let rules = self.rules(id);
        let mut count = 1 + self.beyond_asking(rules, value);
        for inner in asked_together(rules) {
            count = count.saturating_add(self.errors_of(inner, value, depth + 1, known));
        }
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    for inner in item_ids(self, &[id], at).into_iter().chain(contains_schema(rules)) {
                        count = count.saturating_add(self.errors_of(inner, item, depth + 1, known));
                    }
                    if count >= MOST_ERRORS {
                        break;
                    }
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    count = count.saturating_add(self.names_cost(rules, name) as u64);
                    for inner in self.member_schemas(rules, name) {
                        count = count.saturating_add(self.errors_of(inner, member, depth + 1, known));
                    }
                    if count >= MOST_ERRORS {
                        break;
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
struct CostWalk {
    /// The number of steps that may still be taken.
    left: usize,
    /// The subschemas that are being judged.
    open: Vec<SchemaId>,
    /// A schema leads to itself: then the time depends on the value.
    comes_back: bool,
}

impl CostWalk {
    fn new(left: usize) -> Self {
        Self { left, open: Vec::new(), comes_back: false }
    }
}

/// The subschemas that may have to be asked about the same place; all of them twice where what nobody has looked at is
/// found by looking once more.
fn asked_together(rules: &SchemaRules) -> Vec<SchemaId> {
    let conditions = rules.condition.as_ref().map(|condition| condition.when);
    let mut ids: Vec<SchemaId> = rules.beside().chain(rules.not).chain(conditions).collect();
    if rules.looks_again() {
        ids.extend_from_within(..);
    }
    ids
}

fn contains_schema(rules: &SchemaRules) -> Option<SchemaId> {
    rules.contains.as_ref().map(|contains| contains.schema)
}

/// The number of texts of a list that are compared with a text in one step.
const TEXTS_PER_STEP: usize = 64;

/// The number of other values of a list that are compared with a value in one step.
const OTHERS_PER_STEP: usize = 8;

/// The number of values that a subschema lists.
fn count_listed(rules: &SchemaRules) -> usize {
    rules.values.as_ref().map_or(0, Vec::len) + rules.forbidden.len()
}

/// The number of steps that it takes to look for a value among those that are listed.
pub(crate) fn listing(rules: &SchemaRules, value: &Value) -> usize {
    count_listed(rules) / if value.is_string() { TEXTS_PER_STEP } else { OTHERS_PER_STEP }
}
