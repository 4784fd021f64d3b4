//! The opposite of a subschema, said in keywords that values can be made from.

use indexmap::IndexMap;

use super::{Bound, Contains, Kinds, Rules, SchemaId, Schemas};

impl Schemas {
    /// A subschema that takes what another refuses.
    pub(in crate::generate) fn negate(&mut self, id: SchemaId) -> SchemaId {
        if let Some(known) = self.negated.get(&id) {
            return *known;
        }
        let rules = self.rules(id).clone();
        let negated = self.add(Rules { at: rules.at.clone(), reject: Some(id), ..Rules::default() });
        // A schema that refers to itself meets its own opposite, which therefore has to exist by then.
        self.negated.insert(id, negated);
        let at = rules.at.clone();
        if rules.never {
            self.set(negated, Rules { at, ..Rules::default() });
            return negated;
        }
        let mut ways = Vec::new();
        self.against_values(&rules, &mut ways);
        against_texts(&rules, id, &mut ways);
        self.against_arrays(&rules, id, &mut ways);
        self.against_objects(&rules, id, &mut ways);
        self.against_combinations(&rules, id, &mut ways);
        let whichever: Vec<SchemaId> = ways.into_iter().map(|way| self.add(Rules { at: at.clone(), ..way })).collect();
        // What takes everything has an opposite that takes nothing.
        self.set(negated, Rules { at, never: whichever.is_empty(), whichever, ..Rules::default() });
        negated
    }

    fn against_values(&mut self, rules: &Rules, ways: &mut Vec<Rules>) {
        if let Some(kinds) = rules.kinds.filter(|kinds| *kinds != Kinds::ALL) {
            ways.push(Rules { kinds: Some(Kinds::ALL.but(kinds)), ..Rules::default() });
        }
        if let Some(values) = &rules.values {
            ways.push(Rules { forbidden: values.clone(), ..Rules::default() });
        }
        if !rules.forbidden.is_empty() {
            ways.push(Rules { values: Some(rules.forbidden.clone()), ..Rules::default() });
        }
        let turned = |bound: &Bound| Bound { number: bound.number.clone(), exclusive: !bound.exclusive };
        let numbers = || Rules { kinds: Some(Kinds::NUMBER), ..Rules::default() };
        ways.extend(rules.low.iter().map(|bound| Rules { high: vec![turned(bound)], ..numbers() }));
        ways.extend(rules.high.iter().map(|bound| Rules { low: vec![turned(bound)], ..numbers() }));
        if let Some(step) = &rules.step {
            let only = self.add(Rules { step: Some(step.clone()), ..Rules::default() });
            ways.push(Rules { reject: Some(only), ..numbers() });
        }
    }

    fn against_arrays(&mut self, rules: &Rules, id: SchemaId, ways: &mut Vec<Rules>) {
        let arrays = || Rules { kinds: Some(Kinds::ARRAY), ..Rules::default() };
        if let Some(min) = rules.min_items.filter(|min| *min > 0) {
            ways.push(Rules { max_items: Some(min - 1), ..arrays() });
        }
        if let Some(max) = rules.max_items {
            ways.push(Rules { min_items: Some(max.saturating_add(1)), ..arrays() });
        }
        for (at, item) in rules.prefix.iter().enumerate() {
            let anything = self.add(Rules::default());
            let mut prefix = vec![anything; at];
            prefix.push(self.negate(*item));
            ways.push(Rules { prefix, min_items: Some(at + 1), ..arrays() });
        }
        match (rules.items, rules.prefix.is_empty()) {
            (Some(items), true) => {
                let schema = self.negate(items);
                ways.push(Rules { contains: Some(Contains { schema, min: 1, max: None }), ..arrays() });
            }
            (Some(_), false) => ways.push(Rules { reject: Some(id), ..arrays() }),
            (None, _) => {}
        }
        match &rules.contains {
            Some(Contains { schema, min: 1, max: None }) => {
                let items = Some(self.negate(*schema));
                ways.push(Rules { items, ..arrays() });
            }
            Some(_) => ways.push(Rules { reject: Some(id), ..arrays() }),
            None => {}
        }
        if rules.unique || rules.unevaluated_items.is_some() {
            ways.push(Rules { reject: Some(id), min_items: Some(2), ..arrays() });
        }
    }

    fn against_objects(&mut self, rules: &Rules, id: SchemaId, ways: &mut Vec<Rules>) {
        let objects = || Rules { kinds: Some(Kinds::OBJECT), ..Rules::default() };
        for name in &rules.required {
            let never = self.add(Rules { never: true, ..Rules::default() });
            ways.push(Rules { properties: IndexMap::from([(name.clone(), never)]), ..objects() });
        }
        for (name, schema) in &rules.properties {
            let properties = IndexMap::from([(name.clone(), self.negate(*schema))]);
            ways.push(Rules { properties, required: vec![name.clone()], ..objects() });
        }
        for (name, wanted) in &rules.dependent {
            for absent in wanted {
                let never = self.add(Rules { never: true, ..Rules::default() });
                let properties = IndexMap::from([(absent.clone(), never)]);
                ways.push(Rules { properties, required: vec![name.clone()], ..objects() });
            }
        }
        for (name, schema) in &rules.dependent_schemas {
            let all = vec![self.negate(*schema)];
            ways.push(Rules { all, required: vec![name.clone()], ..objects() });
        }
        if let Some(min) = rules.min_properties.filter(|min| *min > 0) {
            ways.push(Rules { max_properties: Some(min - 1), ..objects() });
        }
        if let Some(max) = rules.max_properties {
            ways.push(Rules { min_properties: Some(max.saturating_add(1)), ..objects() });
        }
        let open = rules.additional.is_some() || rules.names.is_some() || rules.unevaluated_properties.is_some();
        if open || !rules.pattern_properties.is_empty() {
            ways.push(Rules { reject: Some(id), min_properties: Some(1), ..objects() });
        }
    }

    fn against_combinations(&mut self, rules: &Rules, id: SchemaId, ways: &mut Vec<Rules>) {
        for member in &rules.all {
            let all = vec![self.negate(*member)];
            ways.push(Rules { all, ..Rules::default() });
        }
        for members in [&rules.any, &rules.whichever] {
            if !members.is_empty() {
                let all = members.iter().map(|member| self.negate(*member)).collect();
                ways.push(Rules { all, ..Rules::default() });
            }
        }
        for inner in rules.not.iter().chain(&rules.reject) {
            ways.push(Rules { all: vec![*inner], ..Rules::default() });
        }
        if !rules.one.is_empty() || rules.condition.is_some() {
            ways.push(Rules { reject: Some(id), ..Rules::default() });
        }
    }
}

fn against_texts(rules: &Rules, id: SchemaId, ways: &mut Vec<Rules>) {
    let texts = || Rules { kinds: Some(Kinds::TEXT), ..Rules::default() };
    if let Some(min) = rules.min_length.filter(|min| *min > 0) {
        ways.push(Rules { max_length: Some(min - 1), ..texts() });
    }
    if let Some(max) = rules.max_length {
        ways.push(Rules { min_length: Some(max.saturating_add(1)), ..texts() });
    }
    if rules.pattern.is_some() {
        ways.push(Rules { reject: Some(id), ..texts() });
    }
}
