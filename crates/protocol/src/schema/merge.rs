//! Several subschemas as one: everything about a value that is no matter of its items or members; and which of them
//! exclude each other.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Number, Value, json};

use super::{
    NumberLimit, STEPS, SchemaId, SchemaRules, Schemas, StringPattern, TypeSet, canonical_text, child_ids, compare,
    is_multiple,
};

/// The number of values of an enumeration that are kept.
const MOST_VALUES: usize = 2_000;

/// Several subschemas merged.
#[derive(Clone, Debug, Default)]
pub struct MergedRules {
    pub kinds: TypeSet,
    pub values: Option<Vec<Value>>,
    pub low: Option<NumberLimit>,
    pub high: Option<NumberLimit>,
    pub steps: Vec<Number>,
    pub(crate) min_length: usize,
    pub(crate) max_length: Option<usize>,
    pub(crate) patterns: Vec<Arc<StringPattern>>,
    pub format: Option<String>,
    pub(crate) min_items: usize,
    pub(crate) max_items: Option<usize>,
    pub(crate) unique: bool,
    pub(crate) min_properties: usize,
    pub(crate) max_properties: Option<usize>,
    /// Why the last kind went.
    why: Option<String>,
}

impl MergedRules {
    /// Merges several subschemas, or says why they exclude each other.
    pub fn of(schemas: &Schemas, flat: &[SchemaId]) -> Result<Self, String> {
        let rules: Vec<&SchemaRules> = flat.iter().map(|id| &**schemas.rules(*id)).collect();
        if let Some(never) = rules.iter().find(|rules| rules.never) {
            return Err(format!("nothing is allowed {}", place(&never.at)));
        }
        let mut plain = Self::default();
        for rules in &rules {
            plain.add(schemas, rules)?;
        }
        plain.drop_impossible(&rules);
        if let Some(values) = plain.values.take() {
            let begun = schemas.count_steps();
            // Values that are not judged in time are taken to fit; generated values are validated again.
            let fits = |value: &Value| schemas.count_steps() - begun > STEPS || schemas.fits_all(flat, value);
            let fitting: Vec<Value> = values
                .into_iter()
                .filter(|value| plain.kinds.has(TypeSet::of(value)) && fits(value))
                .take(MOST_VALUES)
                .collect();
            if fitting.is_empty() {
                let at = rules.iter().rev().find(|rules| rules.values.is_some()).map_or("", |rules| &rules.at);
                return Err(format!("no value that is listed {} fits the other keywords", place(at)));
            }
            plain.values = Some(fitting);
        }
        if plain.kinds.is_empty() {
            return Err(plain.why.unwrap_or_else(|| "no type is left".to_owned()));
        }
        Ok(plain)
    }

    fn add(&mut self, schemas: &Schemas, rules: &SchemaRules) -> Result<(), String> {
        if let Some(kinds) = rules.kinds {
            self.kinds = self.kinds.and(kinds);
            if self.kinds.is_empty() {
                return Err(format!("`type` {} excludes the types that other keywords require", place(&rules.at)));
            }
        }
        if let Some(values) = &rules.values {
            // Which of the values fit is found out when everything is known.
            self.values = Some(match self.values.take() {
                Some(fewer) if fewer.len() <= values.len() => fewer,
                _ => values.clone(),
            });
        }
        for bound in &rules.low {
            self.low = Some(stricter(self.low.take(), bound, Ordering::Greater));
        }
        for bound in &rules.high {
            self.high = Some(stricter(self.high.take(), bound, Ordering::Less));
        }
        self.steps.extend(rules.step.clone().filter(|step| !self.steps.contains(step)));
        self.min_length = self.min_length.max(rules.min_length.unwrap_or(0));
        self.max_length = smaller(self.max_length, rules.max_length);
        let pattern = rules.pattern.as_ref().and_then(|pattern| schemas.pattern(pattern));
        let is_new = |pattern: &&Arc<StringPattern>| !self.patterns.iter().any(|known| known.source == pattern.source);
        let pattern = pattern.filter(is_new).cloned();
        self.patterns.extend(pattern);
        self.format = self.format.take().or_else(|| rules.format.clone());
        self.min_items = self.min_items.max(rules.min_items.unwrap_or(0));
        self.max_items = smaller(self.max_items, rules.max_items);
        self.unique |= rules.unique;
        self.min_properties = self.min_properties.max(rules.min_properties.unwrap_or(0)).max(rules.required.len());
        self.max_properties = smaller(self.max_properties, rules.max_properties);
        Ok(())
    }

    fn drop_impossible(&mut self, rules: &[&SchemaRules]) {
        let at = |says: fn(&SchemaRules) -> bool| {
            rules.iter().rev().find(|rules| says(rules)).map_or("", |rules| rules.at.as_str())
        };
        if self.max_length.is_some_and(|max| max < self.min_length) {
            self.drop(TypeSet::TEXT, "`minLength` and `maxLength`", at(|rules| rules.max_length.is_some()));
        }
        if self.max_items.is_some_and(|max| max < self.min_items) {
            self.drop(TypeSet::ARRAY, "`minItems` and `maxItems`", at(|rules| rules.max_items.is_some()));
        }
        if self.max_properties.is_some_and(|max| max < self.min_properties) {
            let keywords = "`maxProperties` and `required`";
            self.drop(TypeSet::OBJECT, keywords, at(|rules| rules.max_properties.is_some()));
        }
        let numeric = at(|rules| !rules.low.is_empty() || !rules.high.is_empty() || rules.step.is_some());
        if self.has_no_whole() {
            self.drop(TypeSet::INTEGER, "the bounds of numbers", numeric);
        }
        if self.has_no_fraction() {
            self.drop(TypeSet::FRACTION, "the bounds of numbers", numeric);
        }
    }

    fn drop(&mut self, kinds: TypeSet, keywords: &str, at: &str) {
        if self.kinds.has(kinds) {
            self.kinds = self.kinds.but(kinds);
            self.why = Some(format!("{keywords} exclude each other {}", place(at)));
        }
    }

    fn has_no_whole(&self) -> bool {
        let (low, high) = whole_bounds(self);
        if low > high {
            return true;
        }
        let whole_steps: Vec<i128> = self.steps.iter().filter_map(Number::as_i128).collect();
        whole_steps.iter().any(|step| low.checked_add((-low).rem_euclid(*step)).is_none_or(|first| first > high))
    }

    fn has_no_fraction(&self) -> bool {
        let number = |bound: &Option<NumberLimit>| bound.as_ref().and_then(|bound| bound.number.as_f64());
        let nothing_between = match (number(&self.low), number(&self.high)) {
            (Some(low), Some(high)) => low > high || (low.total_cmp(&high).is_eq() && low.fract() == 0.0),
            _ => false,
        };
        let closed = |bound: &Option<NumberLimit>| bound.as_ref().is_none_or(|bound| !bound.exclusive);
        let pinned = number(&self.low).is_some() && number(&self.low) == number(&self.high);
        let one = serde_json::Number::from(1);
        nothing_between
            || (pinned && !(closed(&self.low) && closed(&self.high)))
            || self.steps.iter().any(|step| is_multiple(step, &one))
    }
}

impl Schemas {
    /// Why subschemas exclude each other; `None` where that is not seen at once.
    pub(crate) fn conflict(&self, flat: &[SchemaId]) -> Option<String> {
        self.charge(flat.len());
        let plain = match MergedRules::of(self, flat) {
            Ok(plain) => plain,
            Err(why) => return Some(why),
        };
        let only_objects = plain.kinds.but(TypeSet::OBJECT).is_empty();
        if !only_objects || plain.values.is_some() {
            return None;
        }
        let required = flat.iter().flat_map(|id| &self.rules(*id).required);
        required.into_iter().find_map(|name| {
            self.charge(1 + flat.len() / 8);
            let below = self.without_choices(&self.member_ids(flat, name));
            let why = MergedRules::of(self, &below).err()?;
            let at = flat.iter().find(|id| self.rules(**id).required.contains(name));
            let at = at.map_or("", |id| self.rules(*id).at.as_str());
            Some(format!("`required` {} asks for `{name}`, for which {why}", place(at)))
        })
    }

    /// Two subschemas are seen to have no value in common.
    pub(crate) fn exclude_each_other(&self, one: SchemaId, other: SchemaId) -> bool {
        self.conflict(&self.without_choices(&[one, other])).is_some()
    }

    /// Subschemas with what they include without a choice.
    pub(crate) fn without_choices(&self, ids: &[SchemaId]) -> Vec<SchemaId> {
        let mut todo: Vec<SchemaId> = ids.iter().rev().copied().collect();
        let mut flat = Vec::new();
        while let Some(id) = todo.pop() {
            if !flat.contains(&id) {
                flat.push(id);
                todo.extend(self.rules(id).all.iter().rev());
            }
        }
        flat
    }

    /// The subschemas that judge a member, those of members that nothing else looks at included.
    pub(crate) fn member_ids(&self, flat: &[SchemaId], name: &str) -> Vec<SchemaId> {
        let mut ids = child_ids(self, flat, name);
        if ids.is_empty() {
            ids.extend(flat.iter().filter_map(|id| self.rules(*id).unevaluated_properties));
        }
        ids
    }
}

/// The number of schemas that are compared with each other.
const MOST_COMPARED: usize = 200;

/// No value satisfies two of several schemas, as far as that is easily seen.
pub fn are_disjoint(branches: &[Value]) -> bool {
    let fixed: Option<Vec<&Vec<Value>>> = branches.iter().map(|branch| branch["enum"].as_array()).collect();
    if let Some(fixed) = fixed {
        let mut met = BTreeSet::new();
        return fixed.into_iter().all(|values| {
            let own: BTreeSet<String> = values.iter().map(canonical_text).collect();
            own.into_iter().all(|value| met.insert(value))
        });
    }
    if branches.len() > MOST_COMPARED {
        return false;
    }
    let schemas = Schemas::parse(&json!({"anyOf": branches}));
    let ids = &schemas.rules(schemas.root()).any;
    let excludes = |one, other| schemas.count_steps() < STEPS && schemas.exclude_each_other(one, other);
    ids.iter().enumerate().all(|(at, one)| ids[at + 1..].iter().all(|other| excludes(*one, *other)))
}

/// The whole numbers between the bounds; far out where there are none.
pub fn whole_bounds(plain: &MergedRules) -> (i128, i128) {
    const FAR: i128 = 1 << 120;
    let exact = |bound: &NumberLimit, up: bool| {
        if let Some(number) = bound.number.as_i128() {
            let inward = if up { 1 } else { -1 };
            return number + if bound.exclusive { inward } else { 0 };
        }
        let number = bound.number.as_f64().unwrap_or(0.0);
        let rounded = if up { number.ceil() } else { number.floor() };
        let whole: i128 = format!("{rounded:.0}").parse().unwrap_or(if number < 0.0 { -FAR } else { FAR });
        let whole = whole.clamp(-FAR / 2, FAR / 2);
        let touches = bound.exclusive && number.fract() == 0.0;
        whole + if touches { if up { 1 } else { -1 } } else { 0 }
    };
    let low = plain.low.as_ref().map_or(-FAR, |bound| exact(bound, true));
    let high = plain.high.as_ref().map_or(FAR, |bound| exact(bound, false));
    (low, high)
}

/// Of two limits, the one that allows fewer numbers: the one that `wins`, or the exclusive one of two that are equal.
pub fn stricter(known: Option<NumberLimit>, new: &NumberLimit, wins: Ordering) -> NumberLimit {
    match known {
        None => new.clone(),
        Some(known) => {
            let order = compare(&new.number, &known.number);
            let new_wins = order == wins || (order == Ordering::Equal && new.exclusive);
            if new_wins { new.clone() } else { known }
        }
    }
}

fn smaller(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Describes the position of a subschema.
fn place(at: &str) -> String {
    if at.is_empty() { "at the top".to_owned() } else { format!("at `{at}`") }
}
