//! Enumerations: which values came or went.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bounds::SchemaEffect;
use super::simplify::is_of;
use super::walk::{SchemaWalk, short, types};
use crate::drift::{ChangeLevel, Versions};
use crate::schema::written;

/// How many values are named in one sentence.
const NAMED_VALUES: usize = 20;

impl SchemaWalk {
    /// Compares enumerations, as far as types do not say it all.
    pub(super) fn choices(&mut self, old: &Value, new: &Value, at: &str) {
        let [was, is] = [old, new].map(|schema| schema["enum"].as_array());
        let fits = |value: &Value, schema: &Value| types(schema).iter().any(|name| is_of(value, name));
        let missing = |values: &[Value], other: &Value, others: &[Value]| -> Vec<Value> {
            let others: BTreeSet<String> = others.iter().map(written).collect();
            let is_missing = |value: &&Value| fits(value, other) && !others.contains(&written(value));
            values.iter().filter(is_missing).cloned().collect()
        };
        let (lost, gained) = match (was, is) {
            (Some(was), Some(is)) => (missing(was, new, is), missing(is, old, was)),
            (Some(_), None) => return self.keyword(SchemaEffect::Widened, "enum", at, Versions { old, new }),
            (None, Some(values))
                if *values == [json!(true), json!(false)] || *values == [json!(false), json!(true)] =>
            {
                return;
            }
            (None, Some(_)) => return self.keyword(SchemaEffect::Narrowed, "enum", at, Versions { old, new }),
            (None, None) => return,
        };
        let pair = Versions { old: &json!({"enum": was}), new: &json!({"enum": is}) };
        self.chosen(SchemaEffect::Narrowed, &lost, "no longer allowed", at, pair);
        self.chosen(SchemaEffect::Widened, &gained, "new", at, pair);
    }

    /// Tells of values that came or went.
    fn chosen(&mut self, effect: SchemaEffect, values: &[Value], words: &str, at: &str, pair: Versions<'_>) {
        let Some(example) = values.iter().min_by_key(|value| value.to_string().len()) else { return };
        let mut list = values.iter().take(NAMED_VALUES).map(short).collect::<Vec<_>>().join(", ");
        if values.len() > NAMED_VALUES {
            list.extend([" and ", &(values.len() - NAMED_VALUES).to_string(), " more"]);
        }
        let verb = if values.len() == 1 { "is" } else { "are" };
        let was_quiet = std::mem::replace(&mut self.is_quiet, true);
        if let Some(told) = self.told(effect, at, format!("{list} {verb} {words}"), pair) {
            told.example = (told.level == ChangeLevel::Breaking).then(|| example.clone());
        }
        self.is_quiet = was_quiet;
    }
}
