//! Which branches of a schema values have taken: alternatives, conditions, members there or not, listed values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::schema::{SchemaId, SchemaRules, Schemas, TypeSet, ValuePosition, each_place, same};

/// A set of branches that were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchSet {
    words: Vec<u64>,
}

impl BranchSet {
    /// The number of branches that were taken.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
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
pub(crate) struct Branches {
    own: BTreeMap<SchemaId, SchemaBranches>,
    count: usize,
}

impl Branches {
    /// Numbers the branches of everything that the root leads to.
    pub(crate) fn new(schemas: &Schemas) -> Self {
        let mut branches = Self::default();
        let mut todo = vec![(schemas.root(), BTreeSet::new())];
        let mut met = BTreeSet::new();
        while let Some((id, mut required)) = todo.pop() {
            if !met.insert(id) {
                continue;
            }
            required.extend(required_names(schemas, id));
            let rules = schemas.rules(id);
            let own = SchemaBranches::new(schemas, rules, &required, branches.count);
            let count = own.count(rules);
            if count > 0 {
                branches.own.insert(id, own);
                branches.count += count;
            }
            todo.extend(rules.inside().map(|id| (id, BTreeSet::new())));
            todo.extend(rules.beside().map(|id| (id, required.clone())));
        }
        branches
    }

    /// The number of branches; a schema without a choice has one.
    pub(crate) fn count(&self) -> usize {
        self.count.max(1)
    }

    /// Notes what a value takes.
    pub(crate) fn mark(&self, schemas: &Schemas, value: &Value, seen: &mut BranchSet) {
        if self.count == 0 {
            seen.add(0);
            return;
        }
        each_place(schemas, value, &mut |place| {
            for id in place.judges {
                if let Some(own) = self.own.get(id) {
                    own.mark(schemas, *id, place, seen);
                }
            }
        });
    }
}

/// The branches of one subschema.
#[derive(Clone, Debug)]
struct SchemaBranches {
    /// The number of the first.
    first: usize,
    optional: Vec<String>,
    lists_values: bool,
    lists_kinds: bool,
    /// Arrays may be empty as well as not.
    may_be_empty: bool,
}

impl SchemaBranches {
    fn new(schemas: &Schemas, rules: &SchemaRules, required: &BTreeSet<String>, first: usize) -> Self {
        let can_be = |id: &SchemaId| !schemas.rules(*id).never;
        let optional = rules.properties.iter().filter(|(name, id)| !required.contains(*name) && can_be(id));
        let optional = optional.map(|(name, _)| name.clone()).collect();
        let lists_values = rules.values.as_ref().is_some_and(|values| values.len() > 1);
        let free = rules.values.is_none();
        let lists_kinds = free && rules.named.len() > 1;
        let lists = free && rules.kinds == Some(TypeSet::ARRAY) && rules.contains.is_none();
        let may_be_empty = lists && rules.min_items.unwrap_or(0) == 0 && rules.max_items != Some(0);
        Self { first, optional, lists_values, lists_kinds, may_be_empty }
    }

    fn values<'a>(&self, rules: &'a SchemaRules) -> &'a [Value] {
        rules.values.as_deref().filter(|_| self.lists_values).unwrap_or_default()
    }

    fn kinds<'a>(&self, rules: &'a SchemaRules) -> &'a [TypeSet] {
        if self.lists_kinds { &rules.named } else { &[] }
    }

    fn count(&self, rules: &SchemaRules) -> usize {
        let pairs = usize::from(rules.condition.is_some()) + self.optional.len() + usize::from(self.may_be_empty);
        rules.any.len() + rules.one.len() + pairs * 2 + self.values(rules).len() + self.kinds(rules).len()
    }

    /// Notes the branches that the value of a place takes, in the order in which `count` adds them up.
    fn mark(&self, schemas: &Schemas, id: SchemaId, place: ValuePosition<'_>, seen: &mut BranchSet) {
        let (rules, value) = (schemas.rules(id), place.value);
        let mut next = self.first;
        let mut each = |taken: bool| {
            if taken {
                seen.add(next);
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
            let there = value.as_object().map(|members| members.contains_key(name));
            each(there == Some(true));
            each(there == Some(false));
        }
        self.values(rules).iter().for_each(|known| each(same(known, value)));
        self.kinds(rules).iter().for_each(|kinds| each(kinds.has(TypeSet::of(value))));
        if let (true, Value::Array(items)) = (self.may_be_empty, value) {
            each(items.is_empty());
            each(!items.is_empty());
        }
    }
}

/// The names that a subschema requires, with what it includes.
fn required_names(schemas: &Schemas, id: SchemaId) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut todo = vec![id];
    let mut met = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if met.insert(id) {
            let rules = schemas.rules(id);
            names.extend(rules.required.iter().cloned());
            todo.extend(&rules.all);
        }
    }
    names
}
