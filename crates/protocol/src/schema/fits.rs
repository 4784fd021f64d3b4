//! A quick check of a value against one subschema.
//!
//! Only good for choosing: `unevaluated…` is ignored, and the `jsonschema` crate decides in the end.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use super::cost::{DEEPEST, STEPS, listing};
use super::{NumberLimit, SchemaId, SchemaRules, Schemas, TypeSet, canonical_text, compare, is_multiple, same};

impl Schemas {
    /// A value fits a subschema.
    pub fn fits(&self, id: SchemaId, value: &Value) -> bool {
        let mut question = FitQuery::new(self);
        let fits = question.fits(id, value, 0);
        self.charge(STEPS - question.left);
        fits
    }

    /// The `jsonschema` crate, which remembers answers as a question does, is soon done with a value.
    pub(crate) fn is_quick(&self, value: &Value) -> bool {
        let mut question = FitQuery::new(self);
        question.fits(self.root, value, 0);
        question.left > 0 && !question.is_cut
    }

    /// A value fits all of several subschemas.
    pub(crate) fn fits_all(&self, ids: &[SchemaId], value: &Value) -> bool {
        ids.iter().all(|id| self.fits(*id, value))
    }

    /// The subschemas that one subschema applies to a member.
    pub(crate) fn member_schemas<'a>(
        &'a self,
        rules: &'a SchemaRules,
        name: &'a str,
    ) -> impl Iterator<Item = SchemaId> + 'a {
        let own = rules.properties.get(name).copied();
        let text = (!rules.pattern_properties.is_empty()).then(|| Value::String(name.to_owned()));
        let mut found: Vec<SchemaId> = own.into_iter().collect();
        for (pattern, schema) in &rules.pattern_properties {
            if text.as_ref().is_some_and(|text| self.matches(pattern, text)) {
                found.push(*schema);
            }
        }
        if found.is_empty() {
            found.extend(rules.additional);
        }
        found.into_iter()
    }
}

/// One question, with what is known on the way.
struct FitQuery<'a> {
    schemas: &'a Schemas,
    left: usize,
    /// The answers so far, by subschema and the address of the value, since values do not move while they are judged. One
    /// that is still open counts as a fit. As in the `jsonschema` crate, answers about texts and numbers are not kept.
    known: BTreeMap<(SchemaId, usize), bool>,
    /// Something lay too deep, and was taken to fit.
    is_cut: bool,
}

impl<'a> FitQuery<'a> {
    fn new(schemas: &'a Schemas) -> Self {
        Self { schemas, left: STEPS, known: BTreeMap::new(), is_cut: false }
    }

    fn fits(&mut self, id: SchemaId, value: &Value, depth: usize) -> bool {
        self.is_cut |= depth > DEEPEST;
        if self.left == 0 || depth > DEEPEST {
            return true;
        }
        let schemas = self.schemas;
        let rules = &**schemas.rules(id);
        self.pay(1 + listing(rules, value));
        if !fits_plainly(rules, value) {
            return false;
        }
        let key = (id, std::ptr::from_ref(value).addr());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.known.insert(key, true);
        let fits = self.fits_inside(rules, value, depth) && self.fits_combined(rules, value, depth + 1);
        if value.is_object() || value.is_array() {
            self.known.insert(key, fits);
        } else {
            self.known.remove(&key);
        }
        fits
    }

    fn pay(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps);
    }

    fn fits_combined(&mut self, rules: &SchemaRules, value: &Value, depth: usize) -> bool {
        // A judge looks at references last, and those are among these, so that one refusal hides no costs of others.
        let refusing = rules.all.iter().filter(|id| !self.fits(**id, value, depth)).count();
        self.fits_alternatives(rules, value, depth) && refusing == 0
    }

    fn fits_alternatives(&mut self, rules: &SchemaRules, value: &Value, depth: usize) -> bool {
        let mut fits = |id: SchemaId| self.fits(id, value, depth);
        (rules.any.is_empty() || rules.any.iter().any(|id| fits(*id)))
            && (rules.whichever.is_empty() || rules.whichever.iter().any(|id| fits(*id)))
            && (rules.one.is_empty() || rules.one.iter().filter(|id| fits(**id)).take(2).count() == 1)
            && rules.not.is_none_or(|id| !fits(id))
            && rules.reject.is_none_or(|id| !fits(id))
            && rules.condition.as_ref().is_none_or(|condition| {
                let next = if fits(condition.when) { condition.then } else { condition.otherwise };
                next.is_none_or(fits)
            })
    }

    fn fits_inside(&mut self, rules: &SchemaRules, value: &Value, depth: usize) -> bool {
        match value {
            Value::String(_) => rules.pattern.as_ref().is_none_or(|pattern| self.matches(pattern, value)),
            Value::Array(items) => self.fits_items(rules, items, depth + 1),
            Value::Object(members) => self.fits_members(rules, members, value, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }

    fn fits_items(&mut self, rules: &SchemaRules, items: &[Value], depth: usize) -> bool {
        let contained = rules.contains.as_ref().is_none_or(|contains| {
            let count = items.iter().filter(|item| self.fits(contains.schema, item, depth)).count();
            count >= contains.min && contains.max.is_none_or(|max| count <= max)
        });
        contained
            && items.iter().enumerate().all(|(at, item)| {
                let schema = rules.prefix.get(at).copied().or(rules.items);
                schema.is_none_or(|schema| self.fits(schema, item, depth))
            })
    }

    fn fits_members(&mut self, rules: &SchemaRules, members: &Map<String, Value>, whole: &Value, depth: usize) -> bool {
        let schemas = self.schemas;
        members.iter().all(|(name, value)| {
            rules.names.is_none_or(|names| self.fits_name(names, name, depth))
                && self.asks_by_name(rules, name).is_none_or(|name| {
                    schemas.member_schemas(rules, name).all(|schema| self.fits(schema, value, depth))
                })
        }) && rules
            .dependent_schemas
            .iter()
            .all(|(name, schema)| !members.contains_key(name) || self.fits(*schema, whole, depth))
    }

    /// A pattern matches; where nothing is remembered, the cost of that is counted first.
    fn matches(&mut self, pattern: &str, text: &Value) -> bool {
        self.pay(self.schemas.matching(pattern, text));
        self.left == 0 || self.schemas.matches(pattern, text)
    }

    /// Pays for the patterns that a name is held against; `None` where nothing is left.
    fn asks_by_name<'n>(&mut self, rules: &SchemaRules, name: &'n str) -> Option<&'n str> {
        self.pay(self.schemas.names_cost(rules, name));
        (self.left > 0).then_some(name)
    }

    /// A name is no part of the value, so what is found out about it is not kept.
    fn fits_name(&mut self, names: SchemaId, name: &str, depth: usize) -> bool {
        let mut question = FitQuery { left: self.left, ..Self::new(self.schemas) };
        let fits = question.fits(names, &Value::String(name.to_owned()), depth);
        self.left = question.left;
        self.is_cut |= question.is_cut;
        fits
    }
}

/// Validates a value without looking at other subschemas.
fn fits_plainly(rules: &SchemaRules, value: &Value) -> bool {
    let known = !rules.never
        && rules.kinds.is_none_or(|kinds| kinds.has(TypeSet::of(value)))
        && rules.values.as_ref().is_none_or(|values| values.iter().any(|known| same(known, value)))
        && !rules.forbidden.iter().any(|forbidden| same(forbidden, value));
    known
        && match value {
            Value::Number(number) => fits_numbers(rules, number),
            Value::String(text) => {
                let bounded = rules.min_length.is_some() || rules.max_length.is_some();
                !bounded || within(text.chars().count(), rules.min_length, rules.max_length)
            }
            Value::Array(items) => {
                within(items.len(), rules.min_items, rules.max_items) && (!rules.unique || all_differ(items))
            }
            Value::Object(members) => {
                within(members.len(), rules.min_properties, rules.max_properties)
                    && rules.required.iter().all(|name| members.contains_key(name))
                    && rules.dependent.iter().all(|(name, wanted)| {
                        !members.contains_key(name) || wanted.iter().all(|name| members.contains_key(name))
                    })
            }
            Value::Null | Value::Bool(_) => true,
        }
}

fn fits_numbers(rules: &SchemaRules, number: &Number) -> bool {
    rules.low.iter().all(|bound| above(number, bound))
        && rules.high.iter().all(|bound| beneath(number, bound))
        && rules.step.as_ref().is_none_or(|step| is_multiple(number, step))
}

/// A number keeps to a lower bound.
pub(crate) fn above(number: &Number, bound: &NumberLimit) -> bool {
    match compare(number, &bound.number) {
        Ordering::Greater => true,
        Ordering::Equal => !bound.exclusive,
        Ordering::Less => false,
    }
}

/// A number keeps to an upper bound.
pub(crate) fn beneath(number: &Number, bound: &NumberLimit) -> bool {
    match compare(number, &bound.number) {
        Ordering::Less => true,
        Ordering::Equal => !bound.exclusive,
        Ordering::Greater => false,
    }
}

fn within(count: usize, min: Option<usize>, max: Option<usize>) -> bool {
    min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
}

/// No two items are the same.
fn all_differ(items: &[Value]) -> bool {
    let mut met = BTreeSet::new();
    items.iter().all(|item| met.insert(canonical_text(item)))
}
