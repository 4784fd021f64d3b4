//! Which branches of a schema values have taken: alternatives, conditions, members there or not, listed values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::schema::{Kinds, Place, Rules, SchemaId, Schemas, each_place, same};

/// A set of branches that were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// How many branches were taken.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether a branch was taken.
    pub fn has(&self, branch: usize) -> bool {
        self.words.get(branch / 64).is_some_and(|word| word & (1 << (branch % 64)) != 0)
    }

    /// Adds what another set has.
    pub fn merge(&mut self, other: &Self) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        for (own, more) in self.words.iter_mut().zip(&other.words) {
            *own |= more;
        }
    }

    fn add(&mut self, branch: usize) {
        if self.words.len() <= branch / 64 {
            self.words.resize(branch / 64 + 1, 0);
        }
        self.words[branch / 64] |= 1 << (branch % 64);
    }
}

/// The branches of a schema, numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Branches {
    /// The number of the first branch of each subschema that has any.
    first: BTreeMap<SchemaId, usize>,
    count: usize,
}

impl Branches {
    /// Numbers the branches of everything that the root leads to.
    pub(super) fn new(schemas: &Schemas) -> Self {
        let mut branches = Self::default();
        let mut todo = vec![schemas.root()];
        let mut met = BTreeSet::new();
        while let Some(id) = todo.pop() {
            if !met.insert(id) {
                continue;
            }
            let rules = schemas.rules(id);
            let count = Own::of(schemas, rules).count();
            if count > 0 {
                branches.first.insert(id, branches.count);
                branches.count += count;
            }
            todo.extend(leads_to(rules));
        }
        branches
    }

    /// How many there are; a schema without a choice has one.
    pub(super) fn count(&self) -> usize {
        self.count.max(1)
    }

    /// Notes what a value takes.
    pub(super) fn mark(&self, schemas: &Schemas, value: &Value, seen: &mut Seen) {
        if self.count == 0 {
            seen.add(0);
            return;
        }
        each_place(schemas, value, &mut |place| {
            for id in place.judges {
                if let Some(first) = self.first.get(id) {
                    let own = Own::of(schemas, schemas.rules(*id));
                    own.taken(schemas, place, &mut |branch| seen.add(first + branch));
                }
            }
        });
    }
}

/// The branches of one subschema.
struct Own<'a> {
    rules: &'a Rules,
    optional: Vec<&'a str>,
    values: &'a [Value],
    kinds: &'a [Kinds],
    /// Whether arrays may be empty as well as not.
    empty: bool,
}

impl<'a> Own<'a> {
    fn of(schemas: &Schemas, rules: &'a Rules) -> Self {
        let can_be = |id: &SchemaId| !schemas.rules(*id).never;
        let optional = rules.properties.iter().filter(|(name, id)| !rules.required.contains(name) && can_be(id));
        let optional = optional.map(|(name, _)| name.as_str()).collect();
        let several = |values: &'a Vec<Value>| if values.len() > 1 { &values[..] } else { &[] };
        let values = rules.values.as_ref().map_or(&[][..], several);
        let kinds = if rules.named.len() > 1 && values.is_empty() { &rules.named[..] } else { &[] };
        let lists = rules.kinds == Some(Kinds::ARRAY) && rules.contains.is_none() && values.is_empty();
        let empty = lists && rules.min_items.unwrap_or(0) == 0 && rules.max_items != Some(0);
        Self { rules, optional, values, kinds, empty }
    }

    fn count(&self) -> usize {
        let rules = self.rules;
        let conditions = if rules.condition.is_some() { 2 } else { 0 };
        let lists = if self.empty { 2 } else { 0 };
        let members = self.optional.len() * 2;
        rules.any.len() + rules.one.len() + conditions + members + self.values.len() + self.kinds.len() + lists
    }

    /// Tells the branches that the value of a place takes; the order is the one that `count` adds them up in.
    fn taken(&self, schemas: &Schemas, place: Place<'_>, tell: &mut dyn FnMut(usize)) {
        let (rules, value) = (self.rules, place.value);
        let mut next = 0;
        let mut each = |taken: bool| {
            if taken {
                tell(next);
            }
            next += 1;
        };
        // Alternatives that fit are judges of their own.
        rules.any.iter().chain(&rules.one).for_each(|id| each(place.judges.contains(id)));
        if let Some(condition) = &rules.condition {
            let holds = schemas.fits(condition.when, value);
            each(holds);
            each(!holds);
        }
        for name in &self.optional {
            let there = value.as_object().map(|members| members.contains_key(*name));
            each(there == Some(true));
            each(there == Some(false));
        }
        self.values.iter().for_each(|known| each(same(known, value)));
        self.kinds.iter().for_each(|kinds| each(kinds.has(Kinds::of(value))));
        if let (true, Value::Array(items)) = (self.empty, value) {
            each(items.is_empty());
            each(!items.is_empty());
        }
    }
}

/// The subschemas that judge the same place or one below.
fn leads_to(rules: &Rules) -> Vec<SchemaId> {
    let condition = rules.condition.iter().flat_map(|condition| condition.then.into_iter().chain(condition.otherwise));
    let lists = rules.all.iter().chain(&rules.any).chain(&rules.one).chain(&rules.prefix).copied();
    let named = rules.pattern_properties.iter().chain(&rules.dependent_schemas).map(|(_, id)| *id);
    let single = rules.items.into_iter().chain(rules.additional);
    lists.chain(condition).chain(rules.properties.values().copied()).chain(named).chain(single).collect()
}
