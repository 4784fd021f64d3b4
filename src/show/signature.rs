//! Tools as typed signatures, and schemas as the types that people write.

use std::fmt::Write as _;

use serde_json::Value;

use crate::schema::References;
use crate::source::{shorten, visible_line};
use crate::wire::Tool;

/// The depth to which objects are spelled out, and the most members and choices that are.
const MOST_DEPTH: usize = 2;
const MOST_MEMBERS: usize = 6;
const MOST_CHOICES: usize = 8;

/// The number of characters of a value that are shown.
const SHOWN: usize = 40;

/// A tool in the form in which it is called: `add(a: number, b: number = 0)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    /// Each as `name: type`, with `?` behind the name if it may be left out.
    pub(crate) parameters: Vec<String>,
    /// The type of its structured content.
    pub(crate) result: Option<String>,
}

impl Signature {
    /// On one line: `add(a: number, b: number) → { sum: number }`.
    pub(crate) fn line(&self) -> String {
        let result = self.result.as_deref().map(|result| format!(" → {result}")).unwrap_or_default();
        format!("{}({}){result}", self.name, self.parameters.join(", "))
    }

    pub(crate) fn of(tool: &Tool) -> Self {
        let schema = tool.arguments_schema();
        let types = TypeNames { references: References::new(&schema) };
        let declared = types.references.resolve(&schema);
        let required: Vec<&str> =
            declared["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let members = declared["properties"].as_object();
        let parameters = members.into_iter().flatten();
        let parameters = parameters.map(|(name, schema)| types.parameter(name, schema, required.contains(&&**name)));
        let result = tool.output_schema().map(type_name);
        Self { name: visible_line(&tool.name).into_owned(), parameters: parameters.collect(), result }
    }
}

/// A schema as a type: `string`, `integer 1..10`, `"asc" | "desc"`, `{ id: string, tags?: string[] }`.
pub(crate) fn type_name(schema: &Value) -> String {
    let types = TypeNames { references: References::new(schema) };
    types.of(schema, 0)
}

struct TypeNames<'a> {
    references: References<'a>,
}

impl TypeNames<'_> {
    fn parameter(&self, name: &str, schema: &Value, is_required: bool) -> String {
        let mark = if is_required || schema.get("default").is_some() { "" } else { "?" };
        let mut text = format!("{}{mark}: {}", visible_line(name), self.of(schema, 0));
        if let Some(default) = schema.get("default") {
            let _ = write!(text, " = {}", value_text(default));
        }
        text
    }

    fn of(&self, schema: &Value, depth: usize) -> String {
        if depth > MOST_DEPTH + 2 {
            return "…".to_owned();
        }
        let schema = self.resolve(schema);
        if let Some(constant) = schema.get("const") {
            return value_text(constant);
        }
        if let Some(choices) = schema["enum"].as_array() {
            return union(choices.iter().take(MOST_CHOICES + 1).map(value_text));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema[key].as_array().filter(|branches| !branches.is_empty()) {
                return union(branches.iter().take(MOST_CHOICES + 1).map(|branch| self.of(branch, depth + 1)));
            }
        }
        match &schema["type"] {
            Value::String(kind) => self.of_kind(kind, schema, depth),
            Value::Array(kinds) if !kinds.is_empty() => {
                union(kinds.iter().filter_map(Value::as_str).map(|kind| self.of_kind(kind, schema, depth)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                if schema["properties"].is_object() {
                    self.object(schema, depth)
                } else {
                    "any".to_owned()
                }
            }
        }
    }

    fn of_kind(&self, kind: &str, schema: &Value, depth: usize) -> String {
        match kind {
            "array" => match schema.get("items").filter(|items| items.is_object()) {
                Some(items) => {
                    let item = self.of(items, depth + 1);
                    if item.contains(" | ") { format!("({item})[]") } else { format!("{item}[]") }
                }
                None => "any[]".to_owned(),
            },
            "object" => self.object(schema, depth),
            "integer" | "number" => kind.to_owned() + &bounds(schema),
            _ => match schema["format"].as_str() {
                Some(format) => format!("{} ({})", visible_line(kind), visible_line(&shorten(format, SHOWN))),
                None => visible_line(kind).into_owned(),
            },
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> String {
        let Some(members) = schema["properties"].as_object().filter(|members| !members.is_empty()) else {
            return "object".to_owned();
        };
        if depth >= MOST_DEPTH {
            return "{ … }".to_owned();
        }
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
        let shown = members.iter().take(MOST_MEMBERS).map(|(name, member)| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{}{mark}: {}", visible_line(name), self.of(member, depth + 1))
        });
        let mut shown: Vec<String> = shown.collect();
        if members.len() > MOST_MEMBERS {
            shown.push("…".to_owned());
        }
        format!("{{ {} }}", shown.join(", "))
    }

    fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let Some(reference) = schema["$ref"].as_str() else { return schema };
        let target = self.references.target("", reference);
        target.and_then(|pointer| self.references.document.pointer(&pointer)).unwrap_or(schema)
    }
}

/// ` 1..10`, ` from 0`, ` up to 9`, or nothing.
fn bounds(schema: &Value) -> String {
    let number = |key: &str| schema.get(key).filter(|limit| limit.is_number());
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => format!(" {least}..{most}"),
        (Some(least), None) => format!(" from {least}"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

/// Types with bars between them, each once.
fn union(types: impl Iterator<Item = String>) -> String {
    let mut each: Vec<String> = Vec::new();
    for one in types {
        if !each.contains(&one) {
            each.push(one);
        }
    }
    if each.len() > MOST_CHOICES {
        each.truncate(MOST_CHOICES);
        each.push("…".to_owned());
    }
    each.join(" | ")
}

fn value_text(value: &Value) -> String {
    visible_line(&shorten(&value.to_string(), SHOWN)).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_types() {
        for (schema, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": "string", "format": "date-time"}), "string (date-time)"),
            (json!({"type": "integer", "minimum": 1, "maximum": 10}), "integer 1..10"),
            (json!({"type": "number", "minimum": 0}), "number from 0"),
            (json!({"enum": ["asc", "desc"]}), "\"asc\" | \"desc\""),
            (json!({"const": 7}), "7"),
            (json!({"type": ["string", "null"]}), "string | null"),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "string | null"),
            (json!({"type": "array", "items": {"type": "string"}}), "string[]"),
            (json!({"type": "array", "items": {"type": ["string", "number"]}}), "(string | number)[]"),
            (json!({"type": "array"}), "any[]"),
            (json!({"type": "object"}), "object"),
            (
                json!({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"]}),
                "{ id: string, n?: integer }",
            ),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}), "boolean"),
            (json!({"$ref": "#/$defs/none"}), "any"),
            (json!({}), "any"),
            (json!(true), "any"),
            (json!({"type": "string\u{1b}[31m"}), "string\\u{1b}[31m"),
        ] {
            assert_eq!(type_name(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {
            "type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "all": {"type": "array", "items": {"$ref": "#/$defs/node"}}}
        }}});
        assert_eq!(type_name(&tree), "{ next?: { next?: { … }, all?: { … }[] }, all?: { … }[] }");
        let round = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(type_name(&round), "any");
        let branches = json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]}}, "$ref": "#/$defs/a"});
        assert!(type_name(&branches).len() < 1_000);
    }

    #[test]
    fn parameters_say_what_may_be_left_out() {
        let tool = Tool::new(json!({"name": "find", "inputSchema": {
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}, "after": {"type": "string"}},
            "required": ["query"]
        }, "outputSchema": {"type": "object", "properties": {"found": {"type": "integer"}}, "required": ["found"]}}));
        let signature = Signature::of(&tool);
        assert_eq!(signature.parameters, ["query: string", "limit: integer = 10", "after?: string"]);
        assert_eq!(signature.result.as_deref(), Some("{ found: integer }"));
    }
}
