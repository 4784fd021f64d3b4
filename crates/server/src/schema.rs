//! Arguments against a schema, and what to say when they do not fit.
//!
//! The schema that a client sees is the only place that says what is valid: the sentences here are read off it. They are
//! for a model to act on, so each names the parameter, the value that came, and a value to try.

use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use rmcp::model::{JsonObject, object};
use serde_json::Value;

/// Longer values are cut in messages.
const SHOWN: usize = 80;

/// A JSON Schema of an object.
pub struct Schema {
    declared: Arc<JsonObject>,
    /// Compiled when something is first held against it, which takes longer than everything else that a server does
    /// before its first answer.
    validator: OnceLock<Validator>,
}

impl Schema {
    /// Takes a schema of an object.
    pub fn new(schema: Value) -> Self {
        Self::of(Arc::new(object(schema)))
    }

    /// Takes a schema that is part of this program.
    pub fn of(declared: Arc<JsonObject>) -> Self {
        Self { declared, validator: OnceLock::new() }
    }

    fn validator(&self) -> &Validator {
        self.validator.get_or_init(|| {
            let schema = Value::Object((*self.declared).clone());
            jsonschema::validator_for(&schema)
                .unwrap_or_else(|error| panic!("a schema of the server does not compile: {error}"))
        })
    }

    /// The schema as a client sees it.
    pub fn to_json_object(&self) -> Arc<JsonObject> {
        self.declared.clone()
    }

    /// The mistakes in `arguments`, one sentence each; empty if they fit.
    pub fn complaints(&self, arguments: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        for error in self.validator().iter_errors(arguments) {
            for complaint in self.explain(&error) {
                // A value that breaks two rules of one parameter is one mistake.
                if !complaints.contains(&complaint) {
                    complaints.push(complaint);
                }
            }
        }
        complaints
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other rules concern a single value and read the same")]
    fn explain(&self, error: &ValidationError<'_>) -> Vec<String> {
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                vec![self.missing(property.as_str().unwrap_or_default())]
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().map(|name| self.unknown(name, &error.instance()[name])).collect()
            }
            ValidationErrorKind::MinProperties { .. } => vec![self.too_few(error.instance())],
            _ => vec![self.unfit(error.instance_path().as_str().trim_start_matches('/'), error.instance())],
        }
    }

    fn missing(&self, name: &str) -> String {
        format!("the parameter `{name}` is missing; it must be {}", self.expectation_of(name))
    }

    fn unknown(&self, name: &str, value: &Value) -> String {
        let (name, value) = (shorten(name), shorten(&value.to_string()));
        format!(
            "there is no parameter `{name}`, but it is given as `{value}`; the parameters are {}",
            self.names(|_| true)
        )
    }

    fn too_few(&self, given: &Value) -> String {
        let others = self.names(|name| given.get(name).is_none());
        format!("too few parameters are given; give at least one of {others} too")
    }

    fn unfit(&self, name: &str, value: &Value) -> String {
        let value = shorten(&value.to_string());
        let is_whole = !name.contains('/');
        let way_out = if !is_whole || self.is_required(name) { "" } else { ", or left out" };
        format!("the parameter `{name}` is `{value}`; it must be {}{way_out}", self.expectation_of(name))
    }

    /// The expected value of a parameter in words, with an example.
    fn expectation_of(&self, name: &str) -> String {
        let rule = self.rule_at(name);
        let expected = expectation(rule);
        match rule["examples"].get(0) {
            Some(example) => format!("{expected}, such as `{example}`"),
            None => expected,
        }
    }

    /// The rule of a parameter, or of a part of one: `suites/0` is the first of `suites`.
    fn rule_at<'a>(&'a self, path: &str) -> &'a Value {
        let (name, parts) = path.split_once('/').unwrap_or((path, ""));
        let parts = parts.split('/').filter(|part| !part.is_empty());
        let part_of = |rule: &'a Value, part: &str| rule.get("items").unwrap_or_else(|| &rule["properties"][part]);
        parts.fold(&self.properties()[name], part_of)
    }

    /// The names of the parameters that `is_meant`.
    fn names(&self, is_meant: impl Fn(&str) -> bool) -> String {
        let names = self.properties().as_object().into_iter().flat_map(JsonObject::keys);
        let names: Vec<_> = names.filter(|name| is_meant(name)).map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }

    fn properties(&self) -> &Value {
        self.declared.get("properties").unwrap_or(&Value::Null)
    }

    fn is_required(&self, name: &str) -> bool {
        let required = self.declared.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|entry| entry == name))
    }
}

/// One parameter's rule in words.
fn expectation(rule: &Value) -> String {
    if let Some(options) = rule["enum"].as_array() {
        let options = options.iter().map(|option| format!("`{option}`")).collect::<Vec<_>>();
        return format!("one of {}", options.join(", "));
    }
    let kind = match rule["type"].as_str() {
        Some("integer") => "an integer",
        Some("string") => "a string",
        Some("boolean") => "`true` or `false`",
        Some("object") => "an object",
        Some("array") => "a list",
        Some(_) | None => "a number",
    };
    let mut words = vec![kind.to_owned()];
    if let (Some(low), Some(high)) = (rule["minLength"].as_u64(), rule["maxLength"].as_u64()) {
        words.push(format!("of {low} to {high} characters"));
    }
    if let (Some(low), Some(high)) = (rule["minItems"].as_u64(), rule["maxItems"].as_u64()) {
        words.push(format!("of {low} to {high} items"));
    }
    if let (Some(low), Some(high)) = (rule["minimum"].as_i64(), rule["maximum"].as_i64()) {
        words.push(format!("from {low} to {high}"));
    }
    if let Some(pattern) = rule["pattern"].as_str() {
        words.push(format!("that matches `{pattern}`"));
    }
    words.join(" ")
}

/// The beginning of a text that may be long.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mistake_names_the_parameter_and_what_it_must_be() {
        let schema = Schema::new(json!({
            "type": "object",
            "properties": {
                "suites": {
                    "type": "array",
                    "items": { "type": "string", "minLength": 1, "maxLength": 9 },
                    "minItems": 1,
                    "maxItems": 2,
                    "examples": [["a.yml"]],
                },
                "fast": { "type": "boolean" },
                "values": { "type": "object" },
            },
            "required": ["suites"],
            "additionalProperties": false,
        }));
        for (arguments, expected) in [
            (json!({}), r#"the parameter `suites` is missing; it must be a list of 1 to 2 items, such as `["a.yml"]`"#),
            (json!({ "suites": [7] }), "the parameter `suites/0` is `7`; it must be a string of 1 to 9 characters"),
            (
                json!({ "suites": ["a"], "fast": "no" }),
                r#"the parameter `fast` is `"no"`; it must be `true` or `false`, or left out"#,
            ),
            (
                json!({ "suites": ["a"], "values": 1 }),
                "the parameter `values` is `1`; it must be an object, or left out",
            ),
        ] {
            assert_eq!(schema.complaints(&arguments), [expected]);
        }
    }
}
