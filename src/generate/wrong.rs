//! Values made from a JSON Schema: one that satisfies it, and one of a wrong type.
//!
//! What is made is checked with the schema before it is handed out, so a caller never has to wonder.
//! Knows nothing about tools. Start reading in [`valid`].

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// How deep objects may nest before the maker gives up; schemas may refer to themselves.
const MAX_DEPTH: usize = 8;

/// A small value that satisfies the schema; `None` where none was found.
pub fn valid(schema: &Value) -> Option<Value> {
    let validator = compile(schema)?;
    candidates(schema, schema, 0).into_iter().find(|value| validator.is_valid(value))
}

/// A value that the schema refuses because of its type; `None` for schemas that take any type.
///
/// Prefers values that no server can mistake for a sloppy spelling of the right type, such as `"7"` for a number.
pub fn wrong_type(schema: &Value) -> Option<Value> {
    let validator = compile(schema)?;
    let wrong = [json!(42), json!("not a value of this type"), json!({"unexpected": true}), json!([[]]), json!(true)];
    wrong.into_iter().find(|value| !validator.is_valid(value) && !same_type(schema, value))
}

/// Whether a value satisfies the schema; an unusable schema is satisfied by nothing.
pub fn satisfies(schema: &Value, value: &Value) -> bool {
    compile(schema).is_some_and(|validator| validator.is_valid(value))
}

fn compile(schema: &Value) -> Option<Validator> {
    jsonschema::options().build(schema).ok()
}

/// Whether a value has one of the types that the schema names: then it was refused for another reason.
fn same_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "integer" | "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    };
    match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        // Without a declared type, an enumeration's own values are the best guess at one.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let kind = std::mem::discriminant(value);
            schema["enum"]
                .as_array()
                .is_some_and(|known| known.iter().any(|known| std::mem::discriminant(known) == kind))
        }
    }
}

/// Values worth trying, the most telling first.
fn candidates(schema: &Value, root: &Value, depth: usize) -> Vec<Value> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let mut found: Vec<Value> = Vec::new();
    found.extend(schema.get("const").cloned());
    found.extend(schema["examples"].as_array().into_iter().flatten().cloned());
    found.extend(schema.get("default").cloned());
    found.extend(schema["enum"].as_array().into_iter().flatten().take(1).cloned());
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?)) {
        found.extend(candidates(target, root, depth + 1));
    }
    for choice in ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten() {
        found.extend(candidates(choice, root, depth + 1));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::Null if schema.get("properties").is_some() => vec!["object"],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    found.extend(types.into_iter().filter_map(|name| of_type(name, schema, root, depth)));
    if found.is_empty() && depth > 0 {
        found.push(json!("text"));
    }
    found
}

fn of_type(name: &str, schema: &Value, root: &Value, depth: usize) -> Option<Value> {
    Some(match name {
        "string" => text(schema),
        "integer" => integer(number(schema)),
        "number" => json!(number(schema)),
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" => {
            let wanted = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap_or(0);
            let item = candidates(&schema["items"], root, depth + 1).into_iter().next();
            Value::Array(std::iter::repeat_n(item.unwrap_or(Value::Null), wanted.min(32)).collect())
        }
        "object" => object(schema, root, depth)?,
        _ => return None,
    })
}

fn object(schema: &Value, root: &Value, depth: usize) -> Option<Value> {
    let mut fields = Map::new();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let property = &schema["properties"][name];
        let value = candidates(property, root, depth + 1).into_iter().find(|value| {
            // References need the root to be resolved; the whole is checked in the end.
            property.to_string().contains("\"$ref\"") || property.is_null() || satisfies(property, value)
        })?;
        fields.insert(name.to_owned(), value);
    }
    Some(fields.into())
}

fn text(schema: &Value) -> Value {
    let by_format = match schema["format"].as_str() {
        Some("email") => "ann@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("uuid") => "123e4567-e89b-42d3-a456-426614174000",
        Some("ipv4") => "127.0.0.1",
        _ => "text",
    };
    let shortest = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap_or(0).min(100_000);
    let longest = usize::try_from(schema["maxLength"].as_u64().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mut text: String = by_format.chars().take(longest).collect();
    while text.chars().count() < shortest {
        text.push('x');
    }
    text.into()
}

/// A number that JSON writes without a fraction.
fn integer(number: f64) -> Value {
    let text = format!("{:.0}", number.ceil());
    text.parse::<i64>().map_or(Value::Null, Value::from)
}

fn number(schema: &Value) -> f64 {
    let bound = |key: &str| schema[key].as_f64();
    let step = bound("multipleOf").unwrap_or(1.0);
    let low = bound("minimum").or(bound("exclusiveMinimum").map(|low| low + step));
    let high = bound("maximum").or(bound("exclusiveMaximum").map(|high| high - step));
    let wanted = match (low, high) {
        (Some(low), _) => low,
        (None, Some(high)) => high.min(step),
        (None, None) => step,
    };
    (wanted / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_what_was_asked() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "integer", "minimum": 5}}, "required": ["a", "b"]}),
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/p"}, "minItems": 2}}, "required": ["a"], "$defs": {"p": {"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 0}}, "required": ["n"]}}}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"t": {"type": "string", "minLength": 300}}, "required": ["t"]}),
        ] {
            let value = valid(&schema).unwrap_or_else(|| panic!("nothing for {schema}"));
            assert!(satisfies(&schema, &value), "{schema} {value}");
        }
        assert_eq!(valid(&json!({"type": "string", "pattern": "^q[0-9]{7}$"})), None);
        assert_eq!(
            valid(&json!({"type": "object", "required": ["self"], "properties": {"self": {"$ref": "#"}}})),
            None
        );
    }

    #[test]
    fn a_wrong_type_is_wrong_for_its_type() {
        assert_eq!(wrong_type(&json!({"type": "string"})), Some(json!(42)));
        assert_eq!(wrong_type(&json!({"type": "integer"})), Some(json!("not a value of this type")));
        assert_eq!(wrong_type(&json!({"type": ["integer", "string"]})), Some(json!({"unexpected": true})));
        assert_eq!(wrong_type(&json!({"enum": ["a", "b"]})), Some(json!(42)));
        assert_eq!(wrong_type(&json!({})), None);
        assert_eq!(wrong_type(&json!({"type": "integer", "maximum": 3})), Some(json!("not a value of this type")));
    }
}
