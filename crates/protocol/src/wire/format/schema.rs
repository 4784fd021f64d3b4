//! JSON Schemas: whether they are valid in their dialect, without any network.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ReferencingError, ValidationError, ValidationOptions, Validator};
use parking_lot::Mutex;
use serde_json::Value;

use crate::source::shorten;

/// Why a schema does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaError {
    /// It is no valid schema of its dialect.
    Broken(String),
    /// It may well be valid: it leads to what is not here, is of a dialect that is not known, or has a pattern that only
    /// other engines may understand.
    Unjudged(String),
}

/// The number of times that a pattern may start anew within a text before it does not match.
const BACKTRACKS: usize = 100_000;

/// Compiles a schema of the dialect it names, by default 2020-12; references leave the document never.
///
/// Formats are held to where the dialect says so. A schema can be written so that judging a value takes for ever: what
/// judges values that come from a server is guarded, by `schema::Judge`.
pub fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    options(schema).build(schema)
}

/// The options with which every schema is compiled.
pub fn options(schema: &Value) -> ValidationOptions<'static> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
    let options = jsonschema::options().offline().with_pattern_options(patterns);
    if schema.get("$schema").is_some() { options } else { options.with_draft(Draft::Draft202012) }
}

/// The number of schemas that are remembered.
const MOST_KNOWN: usize = 10_000;

/// The number of characters of a reason that are kept: a sentence may quote a whole schema.
const MOST_REASON: usize = 4_000;

/// The number of values in a schema above which it is not compiled: that would take too long.
const LARGEST: usize = 50_000;

/// The errors of schemas by their hashes: servers list the same schemas in every session, and every lint checks them.
static KNOWN: LazyLock<Mutex<BTreeMap<u64, Option<SchemaError>>>> = LazyLock::new(Mutex::default);

/// The depth of schemas that are checked without the validator.
const DEEPEST_PLAIN: usize = 8;

/// A schema has only keywords that every dialect knows, with values that every dialect allows.
fn is_plain(schema: &Value, depth: usize) -> bool {
    let Value::Object(members) = schema else { return false };
    let inner = |schema: &Value| depth > 0 && is_plain(schema, depth - 1);
    members.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => value.as_str().is_some_and(|name| TYPES.contains(&name)),
        "title" | "description" => value.is_string(),
        "properties" => value.as_object().is_some_and(|properties| properties.values().all(inner)),
        "required" => value.as_array().is_some_and(|names| are_different_texts(names)),
        "items" => inner(value),
        "additionalProperties" => value.is_boolean() || inner(value),
        "minimum" | "maximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "default" => true,
        _ => false,
    })
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["object", "string", "number", "integer", "boolean", "array", "null"];

/// These are texts, few enough to be compared, and no two of them are the same.
fn are_different_texts(values: &[Value]) -> bool {
    values.len() <= 50
        && values.iter().enumerate().all(|(at, value)| value.is_string() && !values[..at].contains(value))
}

/// Why a schema is too large for anybody to wait until it is ready; `None` where it is not.
pub fn is_too_large(schema: &Value) -> Option<String> {
    (!holds_at_most(schema, LARGEST)).then(|| format!("it holds more than {LARGEST} values"))
}

/// A value holds at most this number of values, itself included.
pub fn holds_at_most(value: &Value, most: usize) -> bool {
    let mut left = most;
    fits_into(value, &mut left)
}

/// Takes what a value holds from what is left; whether that was enough.
fn fits_into(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits_into(item, left)),
        Value::Object(members) => members.values().all(|member| fits_into(member, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The error of a schema; `None` where it compiles.
pub fn flaw(schema: &Value) -> Option<SchemaError> {
    // Most schemas are plain, and to compile their dialect's own schema takes longer than many a run.
    if is_plain(schema, DEEPEST_PLAIN) {
        return None;
    }
    if let Some(why) = is_too_large(schema) {
        return Some(SchemaError::Unjudged(why));
    }
    let mut hasher = DefaultHasher::new();
    schema.hash(&mut hasher);
    let hash = hasher.finish();
    if let Some(known) = KNOWN.lock().get(&hash) {
        return known.clone();
    }
    let found = compile(schema).err().map(|error| judge(&error));
    let mut known = KNOWN.lock();
    if known.len() < MOST_KNOWN {
        known.insert(hash, found.clone());
    }
    found
}

fn judge(error: &ValidationError<'_>) -> SchemaError {
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let sentence = error.to_string().trim_end_matches('.').to_owned();
    let text = if place.is_empty() { sentence } else { format!("`{place}`: {sentence}") };
    let text = shorten(&text, MOST_REASON);
    let is_unsure = if let ValidationErrorKind::Referencing(error) = error.kind() {
        leads_away(error)
    } else {
        // ECMA-262 has patterns that other engines lack; a bracket without its end is wrong everywhere.
        let is_format = matches!(error.kind(), ValidationErrorKind::Format { .. });
        is_format && error.instance().as_str().is_none_or(is_balanced)
    };
    if is_unsure { SchemaError::Unjudged(text) } else { SchemaError::Broken(text) }
}

fn leads_away(error: &ReferencingError) -> bool {
    matches!(
        error,
        ReferencingError::Unretrievable { .. }
            | ReferencingError::UnknownSpecification { .. }
            | ReferencingError::CircularMetaschema { .. }
    )
}

/// The brackets and parentheses of a pattern have their ends.
fn is_balanced(pattern: &str) -> bool {
    let (mut depth, mut is_in_class) = (0_u32, false);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next().is_none() => return false,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '(' if !is_in_class => depth += 1,
            ')' if !is_in_class => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0 && !is_in_class
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_surely_wrong_is_broken() {
        let check = |schema: Value, expected: Option<bool>| {
            let found = flaw(&schema).map(|flaw| matches!(flaw, SchemaError::Broken(_)));
            assert_eq!(found, expected, "{schema}: {:?}", flaw(&schema));
        };
        check(json!({"type": "object", "properties": {"a": {"pattern": "^[a-z]+$"}}}), None);
        check(json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "definitions": {}}), None);
        check(json!({"type": "record"}), Some(true));
        check(json!({"properties": {"a": {"type": "text"}}}), Some(true));
        check(json!({"required": "a"}), Some(true));
        check(json!({"properties": {"a": {"pattern": "["}}}), Some(true));
        check(json!({"properties": {"a": {"$ref": "#/$defs/Nowhere"}}}), Some(true));
        check(json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}}), Some(false));
        check(json!({"$schema": "https://example.com/own-dialect", "type": "object"}), Some(false));
    }

    #[test]
    fn plain_schemas_are_valid_in_the_eyes_of_the_validator() {
        let plain = json!({
            "type": "object", "title": "t", "description": "d", "required": ["a"], "additionalProperties": false,
            "properties": {
                "a": {"type": "string", "minLength": 1, "maxLength": 9, "default": null},
                "b": {"type": "array", "items": {"type": "integer", "minimum": -1, "maximum": 1.5}, "minItems": 0},
                "c": {"type": "object", "additionalProperties": {"type": "null"}},
            },
        });
        assert!(is_plain(&plain, DEEPEST_PLAIN) && compile(&plain).is_ok());
        let members = [
            ("type", json!("text")),
            ("type", json!(["string"])),
            ("title", json!(1)),
            ("required", json!(["a", "a"])),
            ("required", json!("a")),
            ("minLength", json!(-1)),
            ("minItems", json!(0.5)),
            ("minimum", json!("0")),
            ("properties", json!({"a": true})),
            ("pattern", json!("[")),
            ("$ref", json!("#/$defs/none")),
            ("$schema", json!("https://example.com")),
        ];
        for (keyword, value) in members {
            let schema = json!({ keyword: value });
            assert!(!is_plain(&schema, DEEPEST_PLAIN), "{schema}");
        }
    }

    #[test]
    fn patterns_are_balanced_or_not() {
        for right in ["", "a(b)[(]", r"\(\[", "(?<n>a)", r"[\]]", "]"] {
            assert!(is_balanced(right), "{right}");
        }
        for wrong in ["[", "(", "a)", r"a\", "[a(]b("] {
            assert!(!is_balanced(wrong), "{wrong}");
        }
    }
}
