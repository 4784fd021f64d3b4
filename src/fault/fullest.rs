//! The fullest content that a schema describes: every field that any answer of a tool can have, as far as one can tell.
//!
//! Of alternatives it has none, since nobody knows whether a server ever uses all of them. The values only stand for
//! their kind: they need not be valid.

use serde_json::{Map, Value, json};

use crate::path::{DottedPath, PathStep};
use crate::schema::References;
use crate::wire::Tool;

/// The depth to which fields are looked for; a schema may refer to itself.
const DEEPEST: usize = 6;

/// The fullest structured content of a tool; `None` if it declares no field of it.
pub(crate) fn fullest_content(tool: &Tool) -> Option<Value> {
    let content = fullest(tool.raw.get("outputSchema")?);
    content.as_object().is_some_and(|members| !members.is_empty()).then_some(content)
}

/// The fullest value; null where the schema tells nothing.
pub(crate) fn fullest(schema: &Value) -> Value {
    FullestReader { references: References::new(schema) }.read(schema, DEEPEST)
}

/// The steps within the structured content, or within the JSON of a text.
fn steps_in(path: &DottedPath) -> Option<&[PathStep]> {
    let is_root = |step: &PathStep| *step == PathStep::Json || step.name() == Some("structuredContent");
    Some(&path.steps[path.steps.iter().position(is_root)? + 1..])
}

/// The schema of the value that a path into an answer leads to, within the output schema of the tool; of alternatives it
/// has none.
pub(crate) fn field_schema(schema: &Value, path: &DottedPath) -> Option<Value> {
    let reader = FullestReader { references: References::new(schema) };
    let mut at = reader.plain(schema)?;
    for step in steps_in(path)? {
        at = match step {
            PathStep::Member(name) => reader.member(at, name, DEEPEST)?,
            PathStep::Index(_) | PathStep::Each | PathStep::Where(..) => at.get("items")?,
            PathStep::Json => return None,
        };
        at = reader.plain(at)?;
    }
    Some(at.clone())
}

/// The value within the structured content, or the JSON of a text, that a path into an answer leads to.
pub(crate) fn value_in(content: &Value, path: &DottedPath) -> Option<Value> {
    let mut value = content;
    for step in steps_in(path)? {
        value = match step {
            PathStep::Member(name) => value.get(name)?,
            PathStep::Index(_) | PathStep::Each | PathStep::Where(..) => value.get(0)?,
            PathStep::Json => return None,
        };
    }
    Some(value.clone()).filter(|value| !value.is_null())
}

struct FullestReader<'a> {
    references: References<'a>,
}

impl<'a> FullestReader<'a> {
    fn read(&self, schema: &'a Value, depth: usize) -> Value {
        let (Some(deeper), Some(schema)) = (depth.checked_sub(1), self.plain(schema)) else { return Value::Null };
        let named = schema.get("const").into_iter().chain(schema["enum"].as_array().into_iter().flatten());
        if let Some(value) = named.into_iter().find(|value| !value.is_null()) {
            return value.clone();
        }
        match kind(schema) {
            Some("object") => self.members(schema, deeper).into(),
            Some("array") => {
                let items = schema["prefixItems"].as_array().into_iter().flatten().chain(schema.get("items"));
                items.map(|item| self.read(item, deeper)).collect::<Vec<_>>().into()
            }
            Some("string") => json!("x"),
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            _ => Value::Null,
        }
    }

    /// The schema without references, and that of the only alternative beside null; `None` where there are several.
    fn plain(&self, schema: &'a Value) -> Option<&'a Value> {
        let is_null = |one: &&Value| one["type"] == "null" || one["const"] == Value::Null && one.get("const").is_some();
        let schema = self.references.resolve(schema);
        for alternatives in ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()) {
            let mut others = alternatives.iter().filter(|one| !is_null(one));
            match (others.next(), others.next()) {
                (Some(only), None) => return Some(self.references.resolve(only)),
                (Some(_), Some(_)) => return None,
                (None, _) => {}
            }
        }
        Some(schema)
    }

    /// The schema of a member of an object, which parts of its schema may add.
    fn member(&self, schema: &'a Value, name: &str, depth: usize) -> Option<&'a Value> {
        let own = schema["properties"].get(name);
        own.or_else(|| {
            let deeper = depth.checked_sub(1)?;
            let parts = schema["allOf"].as_array().into_iter().flatten();
            parts.into_iter().find_map(|part| self.member(self.references.resolve(part), name, deeper))
        })
    }

    /// The members of an object, those that parts of its schema add included.
    fn members(&self, schema: &'a Value, depth: usize) -> Map<String, Value> {
        let own = schema["properties"].as_object().into_iter().flatten();
        let mut members: Map<String, Value> =
            own.map(|(name, property)| (name.clone(), self.read(property, depth))).collect();
        for part in schema["allOf"].as_array().into_iter().flatten().take(DEEPEST) {
            if depth > 0 {
                members.extend(self.members(self.references.resolve(part), depth - 1));
            }
        }
        members
    }
}

/// The type of a schema other than null, as it says, or as its keywords tell.
fn kind(schema: &Value) -> Option<&str> {
    let mut named = schema["type"]
        .as_str()
        .into_iter()
        .chain(schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str));
    let by_keywords = || match () {
        () if schema.get("properties").is_some() || schema.get("allOf").is_some() => Some("object"),
        () if schema.get("items").is_some() || schema.get("prefixItems").is_some() => Some("array"),
        () => None,
    };
    named.find(|name| *name != "null").or_else(by_keywords)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_value_has_every_field() {
        for (schema, expected) in [
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["null", "integer"]}}}),
                json!({"a": "x", "b": 1}),
            ),
            (
                json!({"properties": {"rows": {"items": {"$ref": "#/$defs/Row"}}}, "$defs": {"Row": {"properties": {"ok": {"type": "boolean"}}}}}),
                json!({"rows": [{"ok": true}]}),
            ),
            (json!({"properties": {"next": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}), json!({"next": "x"})),
            (
                json!({"properties": {"shape": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}),
                json!({"shape": null}),
            ),
            (
                json!({"allOf": [{"properties": {"a": {"enum": [null, "on"]}}}], "properties": {"b": {"const": 7}}}),
                json!({"b": 7, "a": "on"}),
            ),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), json!({})),
            (json!(true), Value::Null),
        ] {
            assert_eq!(fullest(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"type": "object", "properties": {"parent": {"$ref": "#"}}});
        assert!(fullest(&schema).pointer("/parent/parent/parent").is_some());
    }

    #[test]
    fn values_are_found_by_the_path_of_an_answer() {
        let content = json!({"rows": [{"ok": true, "note": null}]});
        for (path, expected) in [
            ("result.structuredContent.rows[3].ok", Some(json!(true))),
            ("result.content[0].text.json().rows[0].ok", Some(json!(true))),
            ("result.structuredContent.rows[0].note", None),
            ("result.structuredContent.cols", None),
            ("result.isError", None),
        ] {
            assert_eq!(value_in(&content, &DottedPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
