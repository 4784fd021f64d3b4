//! Tools that `OpenAI` refuses only with `strict: true`.

use serde_json::Value;

use super::super::look::{ToolMember, places};
use super::super::{Lint, LintRule, Provider};
use super::{KEYWORD, REJECTED, WARNING};

const SUPPORTED: &str = "https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas";

const BASE: Lint = Lint { provider: Some(Provider::OpenAiStrict), variant: REJECTED, ..WARNING };

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "openai-strict-optional",
        says: "strict mode accepts no optional properties",
        why: "the request is refused, or the client makes every parameter required",
        cure: "name every property in `required`, and let those that may be left out be `null`",
        link: SUPPORTED,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": ["string", "null"], "description": "What to look for"}}, "required": ["word"], "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let declared = place.schema["properties"].as_object()?;
            let required = place.schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            let optional: Vec<&str> =
                declared.keys().map(String::as_str).filter(|name| !required.iter().any(|own| own == name)).collect();
            (!optional.is_empty()).then(|| format!("`required` does not name `{}`", optional.join("`, `")))
        }),
        ..BASE
    },
    Lint {
        id: "openai-strict-open",
        says: "strict mode accepts no object without `\"additionalProperties\": false`",
        why: "the request is refused, or the client closes every object",
        cure: "add it to every object; where names are free, make a list of names and values",
        link: SUPPORTED,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}, "required": ["word"], "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}, "required": ["word"], "additionalProperties": true}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let is_object = place.is("object") || place.has_any(&["properties"]);
            let is_closed = place.schema["additionalProperties"] == Value::Bool(false);
            (is_object && !is_closed).then(|| format!("{} has no `\"additionalProperties\": false`", place.noun()))
        }),
        ..BASE
    },
    Lint {
        id: "openai-strict-keyword",
        variant: KEYWORD,
        says: "strict mode accepts no `allOf`, `oneOf`, `not`, `dependentRequired`, `dependentSchemas`, `if`, `then` or `else`",
        why: "the request is refused",
        cure: "write `anyOf` for `oneOf`, join the parts of `allOf`, and check the rest within the tool",
        link: SUPPORTED,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "What to look for"}}, "required": ["word"], "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "What to look for"}}, "required": ["word"], "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let own: Vec<&str> = UNSUPPORTED.into_iter().filter(|keyword| place.has_any(&[keyword])).collect();
            (!own.is_empty()).then(|| format!("{} has `{}`", place.noun(), own.join("`, `")))
        }),
        ..BASE
    },
    Lint {
        id: "openai-strict-size",
        says: "strict mode accepts at most 5000 properties, 10 levels of nesting and 1000 values of `enum` in a schema",
        why: "the request is refused",
        cure: "split the tool, or take deep parts as text",
        link: SUPPORTED,
        good: r#"{"inputSchema": {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "description": "What to look for"}}, "required": ["words"], "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"words": {"type": "array", "description": "What to look for", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}}}}}}}}}}}, "required": ["words"], "additionalProperties": false}}"#,
        rule: LintRule::Tool(|tool| {
            let all = places(tool, ToolMember::INPUT);
            let properties = all.iter().filter(|place| place.role.name().is_some()).count();
            let depth = all.iter().map(|place| place.depth).max().unwrap_or_default();
            let values: usize = all.iter().filter_map(|place| place.schema["enum"].as_array()).map(Vec::len).sum();
            let over = [
                (properties, 5000, "properties"),
                (depth, 10, "levels of nesting"),
                (values, 1000, "values of `enum`"),
            ];
            let (count, most, what) = over.into_iter().find(|(count, most, _)| count > most)?;
            Some(("inputSchema".to_owned(), format!("the schema has {count} {what}; the maximum is {most}")))
        }),
        ..BASE
    },
];

/// Keywords that the page says are not supported; `oneOf` is missing there, and refused all the same.
const UNSUPPORTED: [&str; 8] = ["allOf", "oneOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"];
