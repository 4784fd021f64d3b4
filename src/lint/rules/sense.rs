//! Schemas that are valid and cannot be meant.

use serde_json::Value;

use super::super::look::{LintPosition, ToolMember};
use super::super::{Lint, LintRule};
use super::{INVALID, WARNING};
use crate::schema::refuses;

const VALIDATION: &str = "https://json-schema.org/draft/2020-12/json-schema-validation";

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "foreign-ref",
        variant: INVALID,
        says: "a `$ref` points to another document",
        why: "clients do not fetch other documents, and should not, so they do not know the referenced schema",
        cure: "put the referenced schema under `$defs` of the same schema",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/basic#schema-validation",
        good: r##"{"outputSchema": {"type": "object", "properties": {"note": {"$ref": "#/$defs/Note"}}, "$defs": {"Note": {"type": "string"}}}}"##,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"note": {"$ref": "https://example.com/note.json"}}}}"#,
        rule: LintRule::Schemas(ToolMember::BOTH, |place| {
            // A schema with an address of its own may name itself by it.
            let reference = place.schema["$ref"].as_str().filter(|_| place.root.get("$id").is_none())?;
            let leads_away = ["http://", "https://", "file:"].iter().any(|start| reference.starts_with(start));
            leads_away.then(|| format!("`{reference}` is another document"))
        }),
        ..WARNING
    },
    Lint {
        id: "contradiction",
        variant: INVALID,
        says: "two keywords leave no value that satisfies both",
        why: "every call is wrong, or the server does not enforce what it declares",
        cure: "put the lower bound below the upper one, and values of the declared type into `enum` and `const`",
        link: VALIDATION,
        good: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer", "minimum": 1, "maximum": 9}}}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer", "minimum": 9, "maximum": 1}}}}"#,
        rule: LintRule::Schemas(ToolMember::BOTH, |place| {
            let number = |keyword: &str| place.schema[keyword].as_f64();
            let crossed = BOUNDS
                .into_iter()
                .find(|(low, high)| number(low).zip(number(high)).is_some_and(|(low, high)| low > high));
            if let Some((low, high)) = crossed {
                return Some(format!("`{low}` is above `{high}`"));
            }
            if number("exclusiveMinimum").zip(number("exclusiveMaximum")).is_some_and(|(low, high)| low >= high) {
                return Some("no number is above `exclusiveMinimum` and below `exclusiveMaximum`".to_owned());
            }
            no_choice(place)
        }),
        ..WARNING
    },
    Lint {
        id: "undeclared-required",
        variant: INVALID,
        says: "`required` names a property that is not declared",
        why: "a call with only the declared properties is refused; most often the name is misspelt, or the property was renamed",
        cure: "declare the property, or take its name out of `required`",
        link: "https://json-schema.org/draft/2020-12/json-schema-validation#section-6.5.3",
        good: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer"}}, "required": ["found"]}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer"}}, "required": ["count"]}}"#,
        rule: LintRule::Schemas(ToolMember::BOTH, |place| {
            // Composed schemas may declare properties elsewhere, and a pattern may cover them.
            let declared = place.schema["properties"].as_object()?;
            if place.has_any(&["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"]) {
                return None;
            }
            let required = place.schema["required"].as_array()?.iter().filter_map(Value::as_str);
            let missing: Vec<&str> = required.filter(|name| !declared.contains_key(*name)).collect();
            let is_branch = place.at.contains("anyOf[") || place.at.contains("oneOf[") || place.at.contains("allOf[");
            (!missing.is_empty() && !is_branch)
                .then(|| format!("`required` names `{}`, which `properties` does not declare", missing.join("`, `")))
        }),
        ..WARNING
    },
    Lint {
        id: "bad-default",
        variant: INVALID,
        says: "a `default` violates its own schema",
        why: "clients fill it in, and their calls are refused",
        cure: "write a default that the schema allows, or none",
        link: "https://json-schema.org/draft/2020-12/json-schema-validation#section-9.2",
        good: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer", "default": 10}}}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer", "default": "10"}}}}"#,
        rule: LintRule::Schemas(ToolMember::BOTH, |place| {
            // `null` is how many generators spell that there is none.
            let default = place.schema.get("default").filter(|default| !default.is_null())?;
            violates(place, default).then(|| format!("the default {default} violates the schema of {}", place.noun()))
        }),
        ..WARNING
    },
    Lint {
        id: "bad-example",
        variant: INVALID,
        says: "one of the `examples` violates its own schema",
        why: "models copy examples, and their calls are refused",
        cure: "write examples that the schema allows",
        link: "https://json-schema.org/draft/2020-12/json-schema-validation#section-9.5",
        good: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer", "examples": [10]}}}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer", "examples": ["ten"]}}}}"#,
        rule: LintRule::Schemas(ToolMember::BOTH, |place| {
            let examples = place.schema["examples"].as_array()?;
            let wrong = examples.iter().find(|example| violates(place, example))?;
            Some(format!("the example {wrong} violates the schema of {}", place.noun()))
        }),
        ..WARNING
    },
    Lint {
        id: "repeated-enum",
        variant: INVALID,
        says: "an `enum` lists a value twice",
        why: "the specification of JSON Schema advises against it, earlier dialects forbid it, and strict clients refuse it",
        cure: "list every value once",
        link: "https://json-schema.org/draft/2020-12/json-schema-validation#section-6.1.2",
        good: r#"{"outputSchema": {"type": "object", "properties": {"order": {"enum": ["new", "old"]}}}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"order": {"enum": ["new", "new"]}}}}"#,
        rule: LintRule::Schemas(ToolMember::BOTH, |place| {
            let listed = place.schema["enum"].as_array()?;
            let twice = listed.iter().enumerate().find(|(at, value)| listed[..*at].contains(value));
            twice.map(|(_, value)| format!("`enum` lists {value} twice"))
        }),
        ..WARNING
    },
];

/// Bounds of which the first must not be above the second.
const BOUNDS: [(&str, &str); 4] =
    [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")];

/// Why none of the listed values will do.
fn no_choice(place: &LintPosition<'_>) -> Option<String> {
    let listed = place.schema["enum"].as_array()?;
    let of_type = |value: &&Value| !refuses(&serde_json::json!({"type": place.schema["type"]}), value);
    let named = place.schema.get("type").is_some();
    if listed.is_empty() {
        return Some("`enum` is empty, so no value is valid".to_owned());
    }
    (named && !listed.iter().any(|value| of_type(&value)))
        .then(|| format!("no value of `enum` is of the type {}", place.schema["type"]))
}

/// A value violates a schema; a schema that depends on the rest of the document is left alone.
fn violates(place: &LintPosition<'_>, value: &Value) -> bool {
    !place.schema.to_string().contains("Ref\"")
        && !place.schema.to_string().contains("\"$ref\"")
        && refuses(place.schema, value)
}
