//! Tools that Google refuses: the Gemini API, and Vertex AI.
//!
//! Declarations hold a JSON Schema in `parametersJsonSchema`, or in `parameters` a subset of what `OpenAPI` 3.0 has.

use super::super::look::{Role, ToolMember};
use super::super::{Lint, LintRule, Provider};
use super::names::{bad_name, describe_character};
use super::{KEYWORD, NAME, REJECTED, WARNING};

const DECLARATION: &str = "https://ai.google.dev/api/caching#FunctionDeclaration";
const SCHEMA: &str = "https://ai.google.dev/api/caching#Schema";
const VERTEX: &str = "https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration";

const BASE: Lint =
    Lint { provider: Some(Provider::GeminiOpenApi), variant: REJECTED, also: &["open-object"], ..WARNING };

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "gemini-name",
        provider: Some(Provider::Gemini),
        variant: NAME,
        also: &[],
        says: "Gemini accepts names of at most 128 letters, digits, `_`, `:`, `.` and `-`, of which Vertex AI wants a letter or `_` first",
        why: "a single such name makes it refuse the whole request",
        cure: "rename the tool",
        link: DECLARATION,
        good: r#"{"name": "notes.find"}"#,
        bad: r#"{"name": "2_find_notes"}"#,
        rule: LintRule::Tool(|tool| {
            if let Some(says) = bad_name(&tool.name, 128, "_-.:") {
                return Some(("name".to_owned(), says));
            }
            let first = tool.name.chars().next().filter(|c| !c.is_ascii_alphabetic() && *c != '_')?;
            Some(("name".to_owned(), format!("the name begins with {}", describe_character(first))))
        }),
        ..BASE
    },
    Lint {
        id: "gemini-openapi-keyword",
        variant: KEYWORD,
        says: "`parameters` accepts only the keywords that its `Schema` has",
        why: "an unknown keyword is an unknown field, and the whole request is refused; many clients take some of them out",
        cure: "leave the keyword out, or have the client send `parametersJsonSchema`",
        link: SCHEMA,
        good: r#"{"inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1, "description": "The most notes"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "exclusiveMinimum": 0, "description": "The most notes"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let own = place.schema.as_object()?.keys();
            let unknown: Vec<&str> = own.map(String::as_str).filter(|keyword| !FIELDS.contains(keyword)).collect();
            (!unknown.is_empty()).then(|| format!("{} has `{}`", place.noun(), unknown.join("`, `")))
        }),
        ..BASE
    },
    Lint {
        id: "gemini-openapi-type",
        variant: KEYWORD,
        says: "`parameters` accepts one `type`, but no list of types",
        why: "the whole request is refused",
        cure: "write `\"nullable\": true` or `anyOf`, or have the client send `parametersJsonSchema`",
        link: SCHEMA,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "What to look for"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": ["string", "integer"], "description": "What to look for"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            place.schema["type"]
                .is_array()
                .then(|| format!("the `type` of {} is {}", place.noun(), place.schema["type"]))
        }),
        ..BASE
    },
    Lint {
        id: "gemini-openapi-enum",
        says: "`parameters` accepts only strings as values of `enum`",
        why: "the whole request is refused",
        cure: "write the values as texts, or have the client send `parametersJsonSchema`",
        link: SCHEMA,
        good: r#"{"inputSchema": {"type": "object", "properties": {"size": {"type": "string", "enum": ["10", "20"], "description": "How many notes"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"size": {"type": "integer", "enum": [10, 20], "description": "How many notes"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let other = place.schema["enum"].as_array()?.iter().find(|value| !value.is_string())?;
            Some(format!("the `enum` of {} holds {other}", place.noun()))
        }),
        ..BASE
    },
    Lint {
        id: "gemini-openapi-empty-value",
        says: "`parameters` accepts no empty text in `enum`",
        why: "the whole request is refused",
        cure: "leave the empty text out, and let the parameter be optional",
        link: SCHEMA,
        good: r#"{"inputSchema": {"type": "object", "properties": {"order": {"type": "string", "enum": ["up", "down"], "description": "The order"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"order": {"type": "string", "enum": ["", "up", "down"], "description": "The order"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let has_empty = place.schema["enum"].as_array()?.iter().any(|value| value == "");
            has_empty.then(|| format!("the `enum` of {} holds an empty text", place.noun()))
        }),
        ..BASE
    },
    Lint {
        id: "gemini-openapi-properties",
        says: "`parameters` accepts `properties` and `required` only beside the type `object`",
        why: "the whole request is refused",
        cure: "write `\"type\": \"object\"`, or take the keyword out",
        link: SCHEMA,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "object", "properties": {"text": {"type": "string"}}, "description": "What to look for"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "properties": {"text": {"type": "string"}}, "description": "What to look for"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let named = place.schema["type"].as_str().filter(|named| *named != "object")?;
            let keyword = ["properties", "required"].into_iter().find(|keyword| place.has_any(&[keyword]))?;
            Some(format!("{} is of the type `{named}` and has `{keyword}`", place.noun()))
        }),
        ..BASE
    },
    Lint {
        id: "gemini-openapi-boolean",
        variant: KEYWORD,
        says: "`parameters` accepts no `true` or `false` in the place of a schema",
        why: "the whole request is refused",
        cure: "write a schema with a `type`, or have the client send `parametersJsonSchema`",
        link: SCHEMA,
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": true}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            // A keyword that `parameters` does not have is a lint of its own.
            let is_known = !place.at.ends_with("additionalProperties");
            (place.schema.is_boolean() && is_known)
                .then(|| format!("the schema of {} is {}", place.noun(), place.schema))
        }),
        also: &["open-object", "untyped-parameter"],
        ..BASE
    },
    Lint {
        id: "gemini-openapi-parameter-name",
        says: "`parameters` accepts names of at most 64 letters, digits and `_`, a letter or `_` first",
        why: "the documentation of Vertex AI forbids others",
        cure: "rename the parameter",
        link: VERTEX,
        good: r#"{"inputSchema": {"type": "object", "properties": {"search_word": {"type": "string", "description": "What to look for"}}}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"search-word": {"type": "string", "description": "What to look for"}}}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let Role::Parameter(name) = place.role else { return None };
            let count = name.chars().count();
            let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let strange = name.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_');
            match strange {
                _ if count > 64 => Some(format!("`{name}` has {count} characters")),
                Some(strange) => Some(format!("`{name}` holds {}", describe_character(strange))),
                None if !begins => Some(format!("`{name}` begins with neither a letter nor `_`")),
                None => None,
            }
        }),
        ..BASE
    },
];

/// The fields of `Schema` in the Gemini API; Vertex AI has `additionalProperties`, too.
const FIELDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];
