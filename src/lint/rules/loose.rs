//! Schemas that let through what the tool cannot mean.

use serde_json::Value;

use super::super::look::{LintPosition, Role, ToolMember};
use super::super::{Lint, LintRule};
use super::{ADVICE, TOOLS, WARNING};
use crate::source::words;

const UNDERSTANDING: &str = "https://json-schema.org/understanding-json-schema/reference";

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "untyped-parameter",
        says: "a parameter has neither a type nor a description",
        why: "any value passes: a model has to guess, and a wrong guess is found out only within the tool",
        cure: "say what it is with `type`, `enum`, `const`, `$ref` or `anyOf`",
        link: UNDERSTANDING,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"title": "Word"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            place.role.name()?;
            // A description may say that any value will do.
            let is_open =
                place.schema != &Value::Bool(false) && !place.has_any(TELLING) && !place.has_any(&["description"]);
            is_open.then(|| format!("{} has neither a type nor a description", place.noun()))
        }),
        ..WARNING
    },
    Lint {
        id: "array-without-items",
        says: "an array does not declare its items",
        why: "any item passes, and some providers refuse the whole request",
        cure: "add `items` with the schema of one item",
        link: "https://json-schema.org/understanding-json-schema/reference/array",
        good: r#"{"inputSchema": {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}, "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"words": {"type": "array", "description": "What to look for"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let is_open =
                place.is("array") && !place.has_any(&["items", "prefixItems", "contains", "enum", "const", "$ref"]);
            is_open.then(|| format!("{} is a list of anything", place.noun()))
        }),
        ..WARNING
    },
    Lint {
        id: "object-without-properties",
        says: "an object does not declare its properties",
        why: "any object passes, and a model has to guess its members",
        cure: "declare its `properties`; for free names, declare the schema of the values with `additionalProperties`",
        link: "https://json-schema.org/understanding-json-schema/reference/object",
        good: r#"{"inputSchema": {"type": "object", "properties": {"tags": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Tags by name"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"tags": {"type": "object", "description": "Tags by name"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            place.role.name()?;
            (place.is("object") && says_nothing(place)).then(|| format!("{} is an object of anything", place.noun()))
        }),
        ..ADVICE
    },
    Lint {
        id: "open-object",
        says: "undeclared arguments are accepted",
        why: "a misspelt optional argument is silently ignored",
        cure: "add `\"additionalProperties\": false` to the outermost level, unless the tool means to take anything",
        link: "https://json-schema.org/understanding-json-schema/reference/object#additionalproperties",
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let is_whole = matches!(place.role, Role::Root);
            let is_said =
                place.has_any(&["additionalProperties", "unevaluatedProperties", "$ref", "patternProperties"]);
            (is_whole && !is_said).then(|| "`additionalProperties` is left open".to_owned())
        }),
        ..ADVICE
    },
    Lint {
        id: "unbounded-number",
        says: "a number that sounds like a limit, a page, a count or a port has no bounds",
        why: "models send 0, -1 and 1000000, and only the tool can tell that it cannot serve them",
        cure: "add `minimum` and, where there is one, `maximum`",
        link: "https://json-schema.org/understanding-json-schema/reference/numeric#range",
        good: r#"{"inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "The most notes"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "description": "The most notes"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let name = place.role.name()?;
            let sounds = words(name).iter().any(|word| BOUNDED.contains(&word.as_str()));
            let is_number = place.is("integer") || place.is("number");
            let has_bounds = place.has_any(&[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "enum",
                "const",
                "multipleOf",
            ]);
            (sounds && is_number && !has_bounds)
                .then(|| format!("{} has neither `minimum` nor `maximum`", place.noun()))
        }),
        ..ADVICE
    },
    Lint {
        id: "single-choice",
        says: "a parameter has one possible value",
        why: "it costs tokens and says nothing, and a model can only get it wrong",
        cure: "leave it out, or list the other values",
        link: "https://json-schema.org/understanding-json-schema/reference/enum",
        good: r#"{"inputSchema": {"type": "object", "properties": {"order": {"enum": ["new", "old"], "description": "What comes first"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"order": {"enum": ["new"], "description": "What comes first"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let Role::Parameter(_) = place.role else { return None };
            let listed = place.schema["enum"].as_array().is_some_and(|listed| listed.len() == 1);
            (listed || place.has_any(&["const"])).then(|| format!("{} has one possible value", place.noun()))
        }),
        ..ADVICE
    },
    Lint {
        id: "choice-in-words",
        says: "a description lists the possible values, and the schema does not",
        why: "clients and strict modes enforce `enum`, but not a description",
        cure: "list the values in `enum`",
        link: "https://json-schema.org/understanding-json-schema/reference/enum",
        good: r#"{"inputSchema": {"type": "object", "properties": {"order": {"type": "string", "enum": ["new", "old"], "description": "What comes first, one of: new, old"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"order": {"type": "string", "description": "What comes first, one of: new, old"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            place.role.name()?;
            let description = place.schema["description"].as_str()?.to_lowercase();
            let lists =
                ["one of:", "one of \"", "one of '", "one of `"].iter().any(|words| description.contains(words));
            let is_free = place.schema["type"] == "string" && !place.has_any(&["enum", "const", "pattern", "format"]);
            (lists && is_free).then(|| format!("{} takes any text, and its description lists its values", place.noun()))
        }),
        ..ADVICE
    },
    Lint {
        id: "loose-output",
        says: "the `outputSchema` declares nothing about the result",
        why: "every result conforms, so a client can rely on nothing",
        cure: "declare the `properties` of the result and which are `required`, or leave the schema out",
        link: TOOLS,
        good: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer"}}, "required": ["found"]}}"#,
        bad: r#"{"outputSchema": {"type": "object"}}"#,
        rule: LintRule::Schemas(ToolMember::OUTPUT, |place| {
            let is_whole = matches!(place.role, Role::Root);
            let is_open = !place.has_any(&["type"]) || place.is("object");
            (is_whole && is_open && says_nothing(place)).then(|| "any object conforms to the `outputSchema`".to_owned())
        }),
        ..ADVICE
    },
];

/// Keywords that say what a value is.
const TELLING: &[&str] =
    &["type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "not", "properties", "items"];

/// The schema says nothing of the members of an object.
fn says_nothing(place: &LintPosition<'_>) -> bool {
    let telling =
        ["properties", "patternProperties", "propertyNames", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"];
    !place.has_any(&telling)
        && place.schema["additionalProperties"].as_object().is_none_or(serde_json::Map::is_empty)
        && place.schema["additionalProperties"] != Value::Bool(false)
}

/// Words in names of numbers that only make sense within bounds.
const BOUNDED: &[&str] = &[
    "limit",
    "page",
    "count",
    "port",
    "offset",
    "size",
    "depth",
    "timeout",
    "percent",
    "percentage",
    "latitude",
    "longitude",
    "head",
    "tail",
    "retries",
    "top",
];
