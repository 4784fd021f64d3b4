//! Whether subschemas exclude each other, as far as one look tells.

use crate::schema::SchemaId;

use super::Graph;
use super::merge::{MergedRules, place};

impl Graph {
    /// Why subschemas exclude each other; `None` where that is not seen at once.
    pub(super) fn conflict(&self, flat: &[SchemaId]) -> Option<String> {
        self.schemas.charge(flat.len());
        let plain = match MergedRules::of(&self.schemas, flat) {
            Ok(plain) => plain,
            Err(why) => return Some(why),
        };
        let only_objects = plain.kinds.but(crate::schema::TypeSet::OBJECT).is_empty();
        if !only_objects || plain.values.is_some() {
            return None;
        }
        let required = flat.iter().flat_map(|id| &self.schemas.rules(*id).required);
        required.into_iter().find_map(|name| {
            self.schemas.charge(1 + flat.len() / 8);
            let below: Vec<SchemaId> = self.child_ids(flat, name);
            let below = self.without_choices(&below);
            let why = MergedRules::of(&self.schemas, &below).err()?;
            let at = flat.iter().find(|id| self.schemas.rules(**id).required.contains(name));
            let at = at.map_or("", |id| self.schemas.rules(*id).at.as_str());
            Some(format!("`required` {} asks for `{name}`, for which {why}", place(at)))
        })
    }

    /// Whether two subschemas can be seen to have no value in common.
    pub(super) fn exclude_each_other(&self, one: SchemaId, other: SchemaId) -> bool {
        self.conflict(&self.without_choices(&[one, other])).is_some()
    }

    /// Subschemas with what they include without a choice.
    pub(super) fn without_choices(&self, ids: &[SchemaId]) -> Vec<SchemaId> {
        let mut todo: Vec<SchemaId> = ids.iter().rev().copied().collect();
        let mut flat = Vec::new();
        while let Some(id) = todo.pop() {
            if !flat.contains(&id) {
                flat.push(id);
                todo.extend(self.schemas.rules(id).all.iter().rev());
            }
        }
        flat
    }
}
