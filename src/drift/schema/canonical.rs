//! One spelling for schemas that mean the same: references inlined, `allOf` flattened, older drafts translated.

use serde_json::{Map, Value, json};

use super::merge::{add_types, merged};

/// How many schemas may come of one: references can multiply them without end.
const MOST: usize = 4_000;

/// What is kept of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Words for people as well.
    Words,
    /// Only what decides which values are valid.
    Meaning,
}

/// Keywords that decide nothing.
pub(super) const WORDS: [&str; 12] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "enumNames",
    "markdownDescription",
];

/// Where something stands rather than what it is.
const PLACES: [&str; 7] = ["$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions"];

/// Keywords whose value is a schema.
pub(super) const ONE: [&str; 10] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is schemas by name.
pub(super) const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// Keywords whose value is a list of schemas.
pub(super) const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Stands for the schema that is so many references further out.
pub(super) const RECURSIVE: &str = "$recursive";

/// The schema in one spelling.
pub(super) fn canonical(schema: &Value, keep: Keep) -> Value {
    let mut speller = Speller { root: schema, keep, open: vec!["#".to_owned()], left: MOST };
    speller.spell(schema)
}

struct Speller<'a> {
    root: &'a Value,
    keep: Keep,
    /// The references that lead here.
    open: Vec<String>,
    left: usize,
}

impl Speller<'_> {
    fn spell(&mut self, schema: &Value) -> Value {
        let fields = match schema {
            Value::Bool(false) => return Value::Bool(false),
            Value::Object(fields) => translated(fields),
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        self.left = self.left.saturating_sub(1);
        let mut spelt = Map::new();
        let mut parts = Vec::new();
        for (key, value) in &fields {
            if PLACES.contains(&key.as_str()) || self.keep == Keep::Meaning && says_nothing(key) {
                continue;
            }
            match key.as_str() {
                "$ref" => match self.referred(value) {
                    Some(target) => parts.push(target),
                    None => drop(spelt.insert(key.clone(), value.clone())),
                },
                "allOf" => parts.extend(value.as_array().into_iter().flatten().map(|part| self.spell(part))),
                key if ONE.contains(&key) => drop(spelt.insert(key.to_owned(), self.spell(value))),
                key if LISTED.contains(&key) => {
                    let spelled = value.as_array().into_iter().flatten().map(|part| self.spell(part)).collect();
                    spelt.insert(key.to_owned(), Value::Array(spelled));
                }
                key if NAMED.contains(&key) => {
                    let named = value.as_object().into_iter().flatten();
                    let named = named.map(|(name, part)| (name.clone(), self.spell(part))).collect();
                    spelt.insert(key.to_owned(), Value::Object(named));
                }
                _ => drop(spelt.insert(key.clone(), value.clone())),
            }
        }
        parts.into_iter().fold(tidied(spelt), merged)
    }

    /// What a reference leads to; `None` where that is not in the schema.
    fn referred(&mut self, reference: &Value) -> Option<Value> {
        let reference = reference.as_str()?;
        if let Some(at) = self.open.iter().rposition(|open| open == reference) {
            return Some(json!({RECURSIVE: self.open.len() - at}));
        }
        if self.left == 0 || self.open.len() > 64 {
            return None;
        }
        let root = self.root;
        let target = root.pointer(&reference.strip_prefix('#')?.replace("%25", "%"))?;
        self.open.push(reference.to_owned());
        let spelt = self.spell(target);
        self.open.pop();
        Some(spelt)
    }
}

/// Whether a keyword decides nothing about values.
pub(super) fn says_nothing(key: &str) -> bool {
    WORDS.contains(&key) || key.starts_with("x-")
}

/// The keywords of older drafts in the words of 2020-12.
fn translated(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = fields.clone();
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        match fields.get(exclusive) {
            Some(Value::Bool(true)) => {
                if let Some(limit) = fields.shift_remove(bound) {
                    fields.insert(exclusive.to_owned(), limit);
                }
            }
            Some(Value::Bool(false)) => drop(fields.shift_remove(exclusive)),
            _ => {}
        }
    }
    if fields.get("items").is_some_and(Value::is_array) {
        let rest = fields.shift_remove("additionalItems");
        let first = fields.shift_remove("items").unwrap_or_default();
        fields.insert("prefixItems".to_owned(), first);
        fields.extend(rest.map(|rest| ("items".to_owned(), rest)));
    }
    if let Some(Value::Object(dependencies)) = fields.shift_remove("dependencies") {
        for (name, needed) in dependencies {
            let key = if needed.is_array() { "dependentRequired" } else { "dependentSchemas" };
            fields.entry(key).or_insert_with(|| json!({}))[&name] = needed;
        }
    }
    fields
}

/// Without what says nothing, and with one spelling for types, constants and unions of types.
fn tidied(mut fields: Map<String, Value>) -> Value {
    if let Some(only) = fields.shift_remove("const") {
        fields.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::String(name)) = fields.get("type") {
        fields["type"] = json!([name]);
    }
    if let Some(Value::Array(names)) = fields.get_mut("type") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        names.dedup();
    }
    if fields.contains_key("enum") {
        enumerated(&mut fields);
    }
    if let Some(Value::Array(names)) = fields.get_mut("required") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        names.dedup();
    }
    fields.retain(|key, value| !is_idle(key, value));
    let unions = ["anyOf", "oneOf"].into_iter().filter_map(|key| Some((key, fields.shift_remove(key)?)));
    let unions: Vec<_> = unions.collect();
    unions.into_iter().fold(Value::Object(fields), |whole, (key, branches)| {
        let branches = branches.as_array().cloned().unwrap_or_default();
        match add_types(key, &branches) {
            Some(branch) => merged(whole, branch),
            None => merged(whole, json!({key: branches})),
        }
    })
}

/// An enumeration says the types; what its type forbids is not in it.
fn enumerated(fields: &mut Map<String, Value>) {
    let types = fields.get("type").cloned();
    let Some(Value::Array(values)) = fields.get_mut("enum") else { return };
    if let Some(Value::Array(types)) = &types {
        let is_allowed = |value: &Value| types.iter().filter_map(Value::as_str).any(|name| is_of(value, name));
        values.retain(is_allowed);
    }
    let mut names: Vec<&str> = values.iter().map(type_of).collect();
    names.sort_unstable();
    names.dedup();
    let names = json!(names);
    fields.insert("type".to_owned(), names);
}

/// Whether a keyword with that value holds for every value.
fn is_idle(key: &str, value: &Value) -> bool {
    match key {
        "items"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "properties"
        | "patternProperties"
        | "dependentRequired"
        | "dependentSchemas" => value.as_object().is_some_and(Map::is_empty),
        "required" | "prefixItems" => value.as_array().is_some_and(Vec::is_empty),
        "minLength" | "minItems" | "minProperties" => value.as_u64() == Some(0),
        "uniqueItems" => *value == Value::Bool(false),
        _ => false,
    }
}

/// The name of a value's type, the narrowest that fits.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value is of the type of that name.
pub(super) fn is_of(value: &Value, name: &str) -> bool {
    type_of(value) == name || name == "number" && value.is_number()
}
