//! Answers to a single question about a schema, for callers that ask no second one.
//!
//! Whoever asks more than once keeps a [`Maker`].

use jsonschema::Validator;
use serde_json::{Value, json};

use super::Maker;

/// The longest objection in characters.
const LONGEST: usize = 160;

/// A small value that satisfies the schema; `None` where none was found.
pub fn valid(schema: &Value) -> Option<Value> {
    Maker::new(schema).ok().map(|maker| maker.smallest().clone())
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

/// The first thing that a schema has against a value, in words; `None` where it has nothing, or is unusable.
pub fn objection(schema: &Value, value: &Value) -> Option<String> {
    let validator = compile(schema)?;
    let error = validator.iter_errors(value).next()?;
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let at = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
    let says: String = error.to_string().trim_end_matches('.').chars().take(LONGEST).collect();
    Some(format!("{at}{says}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objection_says_where() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "number"}}});
        assert_eq!(objection(&schema, &json!({"a": "x"})).unwrap(), "`a`: \"x\" is not of type \"number\"");
        assert_eq!(objection(&schema, &json!({"a": 1})), None);
        assert_eq!(objection(&json!({"type": "nothing"}), &json!(1)), None);
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
