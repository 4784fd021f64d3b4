//! Two normalized schemas, compared keyword by keyword.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bounds::{SchemaEffect, bounds, effect};
use super::canonical::{NormalizeMode, RECURSIVE, canonical};
use super::counterexample::Effort;
use super::document::UNRESOLVED_REF;
use super::simplify::concerns;
use super::union::branches;
use super::{SchemaDirection, ServerChange};
use crate::drift::{ChangeLevel, Versions};
use crate::schema::{KEYWORDS, Keyword, KeywordValue, TypeSet, canonical_text};

/// The most changes of one schema: beyond that it is another schema.
const MOST: usize = 200;

/// Keywords of which only equality is understood.
const OPAQUE: [&str; 13] = [
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentSchemas",
    UNRESOLVED_REF,
    RECURSIVE,
];

/// The number of schemas that are compared.
const STEPS: usize = 100_000;

/// Collects what has changed on the way.
pub(crate) struct SchemaWalk {
    pub(crate) direction: SchemaDirection,
    found: Vec<ServerChange>,
    /// The number of breaking changes among them.
    breaking: usize,
    /// The number of schemas that may still be compared.
    steps: usize,
    is_cut: bool,
    effort: Effort,
    /// Only breaking changes matter.
    is_probe: bool,
    /// Examples are left out.
    pub(crate) is_quiet: bool,
}

/// The number of values that are named in one sentence.
const NAMED_VALUES: usize = 20;

impl SchemaWalk {
    pub(crate) fn new(direction: SchemaDirection) -> Self {
        let effort = Effort::default();
        Self {
            direction,
            found: Vec::new(),
            breaking: 0,
            steps: STEPS,
            is_cut: false,
            effort,
            is_probe: false,
            is_quiet: false,
        }
    }

    pub(crate) fn finish(self) -> Vec<ServerChange> {
        self.found
    }

    /// Keeps a change, except where there are enough of its kind.
    pub(crate) fn push(&mut self, change: ServerChange) -> Option<&mut ServerChange> {
        if self.is_full(change.level) {
            return None;
        }
        self.breaking += usize::from(change.level == ChangeLevel::Breaking);
        if self.is_probe && change.level != ChangeLevel::Breaking {
            return None;
        }
        self.found.push(change);
        self.found.last_mut()
    }

    /// There are enough changes of this level.
    pub(crate) fn is_full(&self, level: ChangeLevel) -> bool {
        let others = self.found.len() - self.breaking;
        let most = if self.is_probe { 1 } else { MOST };
        if level == ChangeLevel::Breaking { self.breaking >= most } else { others >= MOST }
    }

    /// The budget allows an example for these schemas.
    pub(crate) fn affords(&mut self, schemas: [&Value; 2]) -> bool {
        !self.is_quiet && self.effort.affords(schemas)
    }

    /// A change from one schema to another is breaking, as far as that can be shown.
    pub(crate) fn breaks(&mut self, old: &Value, new: &Value) -> bool {
        let mut walk = Self { is_probe: true, is_quiet: true, steps: self.steps, ..Self::new(self.direction) };
        walk.pair(old, new, "");
        self.steps = walk.steps;
        walk.breaking > 0
    }

    /// Reports once that the comparison is incomplete.
    fn report_cut(&mut self, at: &str) {
        if !std::mem::replace(&mut self.is_cut, true) {
            let says = "the schema is too large to compare further, so the rest is not proven compatible";
            self.push(ServerChange::breaking("schema-changed", at, says));
        }
    }

    /// This walk answers a nested question, and starts no further ones.
    pub(crate) fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// Compares two schemas at a place.
    pub(crate) fn pair(&mut self, old: &Value, new: &Value, at: &str) {
        if old == new || self.is_full(ChangeLevel::Breaking) {
            return;
        }
        let Some(steps) = self.steps.checked_sub(1) else { return self.report_cut(at) };
        self.steps = steps;
        if old.is_boolean() || new.is_boolean() {
            let effect = if new.is_boolean() { SchemaEffect::Narrowed } else { SchemaEffect::Widened };
            let says =
                if new.is_boolean() { "no value is allowed here any more" } else { "values are now allowed here" };
            self.report(effect, at, says, Versions { old, new });
            return;
        }
        self.words(old, new, at);
        self.default(old, new, at);
        if let (Some(was), Some(is)) = (branches(old), branches(new))
            && was.schemas.len() + is.schemas.len() > 2
        {
            return self.alternatives(&was, &is, Versions { old, new }, at);
        }
        if self.types(old, new, at) {
            return;
        }
        self.keywords(old, new, at);
    }

    /// Compares what both say about the types that both have: additional types of one of them are reported elsewhere.
    fn keywords(&mut self, old: &Value, new: &Value, at: &str) {
        self.choices(old, new, at);
        let kinds = [old, new].map(TypeSet::of_schema);
        let matters = |keyword: &str| kinds.iter().all(|kinds| concerns(keyword, *kinds));
        for bound in bounds().filter(|bound| matters(bound.name)) {
            if old.get(bound.name) != new.get(bound.name) {
                self.keyword(effect(bound, Versions { old, new }), bound.name, at, Versions { old, new });
            }
        }
        if matters("properties") {
            self.object(old, new, at);
        }
        if matters("items") {
            self.array(old, new, at);
        }
        for keyword in OPAQUE.into_iter().filter(|keyword| matters(keyword)) {
            if meaning(keyword, old) != meaning(keyword, new) {
                self.keyword(opaque(keyword, Versions { old, new }), keyword, at, Versions { old, new });
            }
        }
    }

    /// Reports a keyword that differs, with an example of its effect alone.
    pub(crate) fn keyword(
        &mut self,
        effect: SchemaEffect,
        keyword: &str,
        at: &str,
        Versions { old, new }: Versions<'_>,
    ) {
        if self.is_full(self.level(effect)) {
            return;
        }
        let [was, is] = [old, new].map(|schema| schema.get(keyword));
        let says = match (was, is) {
            _ if [UNRESOLVED_REF, RECURSIVE].contains(&keyword) => "the schema it refers to changed".to_owned(),
            (Some(was), Some(is)) => format!("`{keyword}` changed from {} to {}", short(was), short(is)),
            (None, Some(is)) => format!("`{keyword}` was added: {}", short(is)),
            (Some(was), None) => format!("`{keyword}` was removed; it was {}", short(was)),
            (None, None) => return,
        };
        let mut alone = old.clone();
        match (is, alone.as_object_mut()) {
            (Some(is), Some(alone)) => drop(alone.insert(keyword.to_owned(), is.clone())),
            (None, Some(alone)) => drop(alone.shift_remove(keyword)),
            (_, None) => {}
        }
        if let Some(change) = self.report(effect, at, says, Versions { old, new: &alone }) {
            (change.before, change.after) = (was.cloned(), is.cloned());
        }
    }

    /// The level of a change for the affected side.
    pub(crate) fn level(&self, effect: SchemaEffect) -> ChangeLevel {
        match (self.direction, effect) {
            (_, SchemaEffect::Unclear)
            | (SchemaDirection::Sent, SchemaEffect::Narrowed)
            | (SchemaDirection::Read, SchemaEffect::Widened) => ChangeLevel::Breaking,
            (SchemaDirection::Sent, SchemaEffect::Widened) | (SchemaDirection::Read, SchemaEffect::Narrowed) => {
                ChangeLevel::Compatible
            }
        }
    }

    /// Reports a change with that effect; `pair` holds what was and is allowed as far as it matters.
    pub(crate) fn report(
        &mut self,
        effect: SchemaEffect,
        at: &str,
        says: impl Into<String>,
        pair: Versions<'_>,
    ) -> Option<&mut ServerChange> {
        let level = self.level(effect);
        if self.is_full(level) {
            return None;
        }
        let (mut example, mut is_decided) = (None, true);
        if level == ChangeLevel::Breaking && !self.is_quiet {
            (example, is_decided) = self.example(pair);
        }
        let what = match effect {
            SchemaEffect::Narrowed => "schema-narrowed",
            SchemaEffect::Widened => "schema-widened",
            SchemaEffect::Unclear => "schema-changed",
        };
        let mut says = says.into();
        if effect == SchemaEffect::Unclear && example.is_none() {
            says += if is_decided {
                ", which cannot be shown to be compatible"
            } else {
                "; checking whether that is compatible takes too long"
            };
        }
        let change = ServerChange::new(level, what, at, says).with_values(Some(pair.old), Some(pair.new));
        self.push(ServerChange { example, ..change })
    }

    /// A value that was good for callers and is not any more, or comes now and could not before; and whether all was
    /// tried.
    fn example(&mut self, Versions { old, new }: Versions<'_>) -> (Option<Value>, bool) {
        match self.direction {
            SchemaDirection::Sent => self.effort.example(old, new),
            SchemaDirection::Read => self.effort.example(new, old),
        }
    }

    fn words(&mut self, old: &Value, new: &Value, at: &str) {
        let is_text = |keyword: &&Keyword| keyword.holds == KeywordValue::Annotation && keyword.name != "default";
        for keyword in KEYWORDS.iter().filter(is_text).map(|keyword| keyword.name) {
            let (was, is) = (old.get(keyword), new.get(keyword));
            if was != is {
                let says = format!("its {keyword} changed");
                self.push(ServerChange::cosmetic("description-changed", at, says).with_values(was, is));
            }
        }
    }

    /// Defaults in output schemas are cosmetic.
    fn default(&mut self, old: &Value, new: &Value, at: &str) {
        let (was, is) = (old.get("default"), new.get("default"));
        if was == is {
            return;
        }
        let (level, says) = match (self.direction, was, is) {
            (SchemaDirection::Read, ..) => (ChangeLevel::Cosmetic, "its default changed".to_owned()),
            (SchemaDirection::Sent, Some(was), Some(is)) => {
                let says = format!("its default changed from {} to {}", short(was), short(is));
                (ChangeLevel::Breaking, says)
            }
            (SchemaDirection::Sent, None, Some(is)) => {
                (ChangeLevel::Compatible, format!("its default is now {}", short(is)))
            }
            (SchemaDirection::Sent, Some(was), None) => {
                (ChangeLevel::Compatible, format!("its schema no longer declares the default {}", short(was)))
            }
            (SchemaDirection::Sent, None, None) => return,
        };
        self.push(ServerChange::new(level, "default-changed", at, says).with_values(was, is));
    }

    /// Compares types; true where nothing else is left to compare.
    fn types(&mut self, old: &Value, new: &Value, at: &str) -> bool {
        let (was, is) = (TypeSet::of_schema(old), TypeSet::of_schema(new));
        let (lost, gained) = (!was.but(is).is_empty(), !is.but(was).is_empty());
        let words = |schema: &Value| {
            let names = schema["type"].as_array().map(|names| names.iter().filter_map(Value::as_str));
            names.map_or("anything".to_owned(), |names| names.collect::<Vec<_>>().join(" or "))
        };
        let says = format!("its type changed from {} to {}", words(old), words(new));
        let alone = |schema: &Value| schema.get("type").map_or(json!({}), |names| json!({"type": names}));
        let pair = Versions { old: &alone(old), new: &alone(new) };
        let is_unknown = |schema: &Value| {
            schema["type"].as_array().is_some_and(|names| names.iter().any(|name| TypeSet::from_names(name).is_empty()))
        };
        let effect = match (lost, gained) {
            _ if old["type"] != new["type"] && (is_unknown(old) || is_unknown(new)) => SchemaEffect::Unclear,
            (false, false) => return false,
            (true, true) => SchemaEffect::Unclear,
            (true, false) => SchemaEffect::Narrowed,
            (false, true) => SchemaEffect::Widened,
        };
        self.report(effect, at, says, pair);
        !was.has(is)
    }

    /// Compares enumerations, as far as types do not say it all.
    fn choices(&mut self, old: &Value, new: &Value, at: &str) {
        let [was, is] = [old, new].map(|schema| schema["enum"].as_array());
        let fits = |value: &Value, schema: &Value| TypeSet::of_schema(schema).has(TypeSet::of(value));
        let missing = |values: &[Value], other: &Value, others: &[Value]| -> Vec<Value> {
            let others: BTreeSet<String> = others.iter().map(canonical_text).collect();
            let is_missing = |value: &&Value| fits(value, other) && !others.contains(&canonical_text(value));
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
        self.report_values(SchemaEffect::Narrowed, &lost, "no longer allowed", at, pair);
        self.report_values(SchemaEffect::Widened, &gained, "new", at, pair);
    }

    /// Reports values that were added or removed.
    fn report_values(&mut self, effect: SchemaEffect, values: &[Value], words: &str, at: &str, pair: Versions<'_>) {
        let Some(example) = values.iter().min_by_key(|value| value.to_string().len()) else { return };
        let mut list = values.iter().take(NAMED_VALUES).map(short).collect::<Vec<_>>().join(", ");
        if values.len() > NAMED_VALUES {
            list.extend([" and ", &(values.len() - NAMED_VALUES).to_string(), " more"]);
        }
        let verb = if values.len() == 1 { "is" } else { "are" };
        let was_quiet = std::mem::replace(&mut self.is_quiet, true);
        if let Some(change) = self.report(effect, at, format!("{list} {verb} {words}"), pair) {
            change.example = (change.level == ChangeLevel::Breaking).then(|| example.clone());
        }
        self.is_quiet = was_quiet;
    }

    fn array(&mut self, old: &Value, new: &Value, at: &str) {
        let anything = json!({});
        let list = |schema: &Value| schema["prefixItems"].as_array().cloned().unwrap_or_default();
        let (was, is) = (list(old), list(new));
        let (rest_was, rest_is) = (old.get("items").unwrap_or(&anything), new.get("items").unwrap_or(&anything));
        for place in 0..was.len().max(is.len()) {
            let (was, is) = (was.get(place).unwrap_or(rest_was), is.get(place).unwrap_or(rest_is));
            self.pair(was, is, &format!("{at}/[{place}]"));
        }
        self.pair(rest_was, rest_is, &format!("{at}/[]"));
    }
}

/// The value of a keyword without annotations: a schema, schemas, schemas by name, or anything else.
fn meaning(keyword: &str, schema: &Value) -> Option<Value> {
    let spelt = |part: &Value| canonical(part, NormalizeMode::ValidationOnly);
    schema.get(keyword).map(|part| match part {
        Value::Array(parts) => parts.iter().map(spelt).collect(),
        Value::Object(named) if KeywordValue::of(keyword) == KeywordValue::Named => {
            Value::Object(named.iter().map(|(name, part)| (name.clone(), spelt(part))).collect())
        }
        Value::Object(_) => spelt(part),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => part.clone(),
    })
}

/// The effect of adding, removing or changing a keyword that is only compared for equality: alone, it only restricts.
fn opaque(keyword: &str, Versions { old, new }: Versions<'_>) -> SchemaEffect {
    let has = |name: &str| [old, new].iter().any(|schema| schema.get(name).is_some());
    // These look at what others have looked at.
    if has("unevaluatedItems") || has("unevaluatedProperties") || [UNRESOLVED_REF, RECURSIVE].contains(&keyword) {
        return SchemaEffect::Unclear;
    }
    // It may have known a property that stands elsewhere now, and is taken for a new one.
    let known = |name: &String| old["properties"].get(name).is_some();
    let has_moved = new["properties"].as_object().is_some_and(|named| !named.keys().all(known));
    let deciding = if ["then", "else"].contains(&keyword) && old.get("if").is_some() != new.get("if").is_some() {
        "if"
    } else {
        keyword
    };
    match (old.get(deciding), new.get(deciding)) {
        (None, Some(_)) => SchemaEffect::Narrowed,
        (Some(_), None) if !has_moved || ["not", "contains"].contains(&keyword) => SchemaEffect::Widened,
        _ => SchemaEffect::Unclear,
    }
}

/// A value in a sentence.
pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(60).collect();
    if cut.len() < text.len() { format!("`{cut}…`") } else { format!("`{cut}`") }
}
