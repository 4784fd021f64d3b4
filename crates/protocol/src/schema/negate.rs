//! The opposite of a subschema, in keywords that values can be made from.

use indexmap::IndexMap;

use super::{ConditionRule, ContainsRule, SchemaId, SchemaRules, Schemas, TypeSet};

impl Schemas {
    /// A subschema that takes what another refuses.
    pub(crate) fn negate(&mut self, id: SchemaId) -> SchemaId {
        if let Some(known) = self.negated.get(&id) {
            return *known;
        }
        let rules = self.rules(id).clone();
        let negated = self.add(SchemaRules { at: rules.at.clone(), reject: Some(id), ..SchemaRules::default() });
        // A schema that refers to itself meets its own opposite, which therefore has to exist by then.
        self.negated.insert(id, negated);
        let at = rules.at.clone();
        if rules.never {
            self.replace(negated, SchemaRules { at, ..SchemaRules::default() });
            return negated;
        }
        let mut ways = Vec::new();
        self.against_values(&rules, &mut ways);
        against_texts(&rules, id, &mut ways);
        self.against_arrays(&rules, id, &mut ways);
        self.against_objects(&rules, id, &mut ways);
        self.against_combinations(&rules, id, &mut ways);
        let whichever: Vec<SchemaId> =
            ways.into_iter().map(|way| self.add(SchemaRules { at: at.clone(), ..way })).collect();
        // The opposite of a schema that takes everything takes nothing.
        self.replace(negated, SchemaRules { at, never: whichever.is_empty(), whichever, ..SchemaRules::default() });
        negated
    }

    fn against_values(&mut self, rules: &SchemaRules, ways: &mut Vec<SchemaRules>) {
        if let Some(kinds) = rules.kinds.filter(|kinds| *kinds != TypeSet::ALL) {
            ways.push(SchemaRules { kinds: Some(TypeSet::ALL.but(kinds)), ..SchemaRules::default() });
        }
        if let Some(values) = &rules.values {
            ways.push(SchemaRules { forbidden: values.clone(), ..SchemaRules::default() });
        }
        if !rules.forbidden.is_empty() {
            ways.push(SchemaRules { values: Some(rules.forbidden.clone()), ..SchemaRules::default() });
        }
        let numbers = || SchemaRules { kinds: Some(TypeSet::NUMBER), ..SchemaRules::default() };
        ways.extend(rules.low.iter().map(|bound| SchemaRules { high: vec![bound.opposite()], ..numbers() }));
        ways.extend(rules.high.iter().map(|bound| SchemaRules { low: vec![bound.opposite()], ..numbers() }));
        if let Some(step) = &rules.step {
            let only = self.add(SchemaRules { step: Some(step.clone()), ..SchemaRules::default() });
            ways.push(SchemaRules { reject: Some(only), ..numbers() });
        }
    }

    fn against_arrays(&mut self, rules: &SchemaRules, id: SchemaId, ways: &mut Vec<SchemaRules>) {
        let arrays = || SchemaRules { kinds: Some(TypeSet::ARRAY), ..SchemaRules::default() };
        ways.extend(less(rules.min_items).map(|count| SchemaRules { max_items: Some(count), ..arrays() }));
        ways.extend(more(rules.max_items).map(|count| SchemaRules { min_items: Some(count), ..arrays() }));
        for (at, item) in rules.prefix.iter().enumerate() {
            let anything = self.add(SchemaRules::default());
            let mut prefix = vec![anything; at];
            prefix.push(self.negate(*item));
            ways.push(SchemaRules { prefix, min_items: Some(at + 1), ..arrays() });
        }
        match (rules.items, rules.prefix.is_empty()) {
            (Some(items), true) => {
                let schema = self.negate(items);
                ways.push(SchemaRules { contains: Some(ContainsRule { schema, min: 1, max: None }), ..arrays() });
            }
            (Some(_), false) => ways.push(SchemaRules { reject: Some(id), ..arrays() }),
            (None, _) => {}
        }
        match &rules.contains {
            Some(ContainsRule { schema, min: 1, max: None }) => {
                let items = Some(self.negate(*schema));
                ways.push(SchemaRules { items, ..arrays() });
            }
            Some(_) => ways.push(SchemaRules { reject: Some(id), ..arrays() }),
            None => {}
        }
        if rules.unique || rules.unevaluated_items.is_some() {
            ways.push(SchemaRules { reject: Some(id), min_items: Some(2), ..arrays() });
        }
    }

    fn against_objects(&mut self, rules: &SchemaRules, id: SchemaId, ways: &mut Vec<SchemaRules>) {
        let objects = || SchemaRules { kinds: Some(TypeSet::OBJECT), ..SchemaRules::default() };
        for name in &rules.required {
            let never = self.add(SchemaRules { never: true, ..SchemaRules::default() });
            ways.push(SchemaRules { properties: IndexMap::from([(name.clone(), never)]), ..objects() });
        }
        for (name, schema) in &rules.properties {
            let properties = IndexMap::from([(name.clone(), self.negate(*schema))]);
            ways.push(SchemaRules { properties, required: vec![name.clone()], ..objects() });
        }
        for (name, wanted) in &rules.dependent {
            for absent in wanted {
                let never = self.add(SchemaRules { never: true, ..SchemaRules::default() });
                let properties = IndexMap::from([(absent.clone(), never)]);
                ways.push(SchemaRules { properties, required: vec![name.clone()], ..objects() });
            }
        }
        for (name, schema) in &rules.dependent_schemas {
            let all = vec![self.negate(*schema)];
            ways.push(SchemaRules { all, required: vec![name.clone()], ..objects() });
        }
        ways.extend(less(rules.min_properties).map(|count| SchemaRules { max_properties: Some(count), ..objects() }));
        ways.extend(more(rules.max_properties).map(|count| SchemaRules { min_properties: Some(count), ..objects() }));
        let open = rules.additional.is_some() || rules.names.is_some() || rules.unevaluated_properties.is_some();
        if open || !rules.pattern_properties.is_empty() {
            ways.push(SchemaRules { reject: Some(id), min_properties: Some(1), ..objects() });
        }
    }

    fn against_combinations(&mut self, rules: &SchemaRules, id: SchemaId, ways: &mut Vec<SchemaRules>) {
        for member in &rules.all {
            let all = vec![self.negate(*member)];
            ways.push(SchemaRules { all, ..SchemaRules::default() });
        }
        for members in [&rules.any, &rules.whichever] {
            if !members.is_empty() {
                let all = members.iter().map(|member| self.negate(*member)).collect();
                ways.push(SchemaRules { all, ..SchemaRules::default() });
            }
        }
        for inner in rules.not.iter().chain(&rules.reject) {
            ways.push(SchemaRules { all: vec![*inner], ..SchemaRules::default() });
        }
        if let Some(ConditionRule { when, then, otherwise }) = rules.condition {
            let mut branches = Vec::new();
            branches.extend(then.map(|then| vec![when, self.negate(then)]));
            branches.extend(otherwise.map(|otherwise| vec![self.negate(when), self.negate(otherwise)]));
            ways.extend(branches.into_iter().map(|all| SchemaRules { all, ..SchemaRules::default() }));
        }
        if !rules.one.is_empty() {
            ways.push(SchemaRules { reject: Some(id), ..SchemaRules::default() });
        }
    }
}

fn against_texts(rules: &SchemaRules, id: SchemaId, ways: &mut Vec<SchemaRules>) {
    let texts = || SchemaRules { kinds: Some(TypeSet::TEXT), ..SchemaRules::default() };
    ways.extend(less(rules.min_length).map(|count| SchemaRules { max_length: Some(count), ..texts() }));
    ways.extend(more(rules.max_length).map(|count| SchemaRules { min_length: Some(count), ..texts() }));
    if rules.pattern.is_some() {
        ways.push(SchemaRules { reject: Some(id), ..texts() });
    }
}

/// The maximum that breaks a minimum, where any does.
fn less(min: Option<usize>) -> Option<usize> {
    min?.checked_sub(1)
}

/// The minimum that breaks a maximum.
fn more(max: Option<usize>) -> Option<usize> {
    max.map(|max| max.saturating_add(1))
}
