//! Tools that Anthropic refuses.

use std::sync::LazyLock;

use jsonschema::{Draft, Validator};
use serde_json::json;

use super::super::look::{Role, ToolMember, outermost};
use super::super::{Lint, LintRule, Provider};
use super::names::{self, bad_name, describe_character};
use super::{NAME, REJECTED, WARNING};

const TOOL_USE: &str = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use";

const BASE: Lint = Lint { provider: Some(Provider::Anthropic), variant: REJECTED, ..WARNING };

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "anthropic-name",
        variant: NAME,
        says: "Anthropic accepts names of at most 128 letters, digits, `_` and `-`",
        why: "a single such name makes it refuse the whole request",
        cure: "rename the tool",
        link: TOOL_USE,
        good: r#"{"name": "find-notes_v2"}"#,
        bad: r#"{"name": "notes.find"}"#,
        rule: LintRule::Tool(|tool| Some(("name".to_owned(), bad_name(&tool.name, 128, "_-")?))),
        ..BASE
    },
    Lint {
        id: "anthropic-top-level",
        says: "Anthropic accepts no `oneOf`, `anyOf` or `allOf` at the outermost level of a schema",
        why: "a single such schema makes it refuse the whole request",
        cure: "move the choice into a property, or check it within the tool",
        link: "https://github.com/anthropics/claude-code/issues/40075",
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}, "id": {"type": "string", "description": "Which note"}}, "additionalProperties": false, "oneOf": [{"required": ["word"]}, {"required": ["id"]}]}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| outermost(place, &["oneOf", "anyOf", "allOf"])),
        ..BASE
    },
    Lint {
        id: "anthropic-property-name",
        says: "Anthropic accepts names of parameters of at most 64 letters, digits, `_`, `.` and `-`",
        why: "a single such name makes it refuse the whole request",
        cure: "rename the parameter",
        link: "https://github.com/twilio-labs/mcp/issues/58",
        good: r#"{"inputSchema": {"type": "object", "properties": {"filter.word": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"filter[word]": {"type": "string", "description": "What to look for"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let Role::Parameter(name) = place.role else { return None };
            let count = name.chars().count();
            if count == 0 || count > 64 {
                return Some(format!("`{name}` has {count} characters, and it takes 1 to 64"));
            }
            let strange = name.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.'))?;
            Some(format!("`{name}` holds {}", describe_character(strange)))
        }),
        ..BASE
    },
    Lint {
        id: "anthropic-dialect",
        says: "Anthropic accepts only schemas that are valid in draft 2020-12, whatever `$schema` says",
        why: "a single schema that is valid only in an earlier draft makes it refuse the whole request",
        cure: "write it in 2020-12: `prefixItems` for a list of schemas in `items`, a number in `exclusiveMinimum`",
        link: "https://github.com/anthropics/claude-code/issues/86665",
        good: r#"{"inputSchema": {"type": "object", "properties": {"range": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "description": "First and last"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"range": {"type": "array", "items": [{"type": "integer"}, {"type": "integer"}], "description": "First and last"}}, "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let Role::Root = place.role else { return None };
            let error = META.as_ref()?.iter_errors(place.schema).next()?;
            let at = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
            Some(format!("`{at}` is not valid in 2020-12"))
        }),
        ..BASE
    },
    Lint {
        id: "anthropic-duplicate-name",
        variant: NAME,
        says: "Anthropic accepts no two tools with the same name",
        why: "the whole request is refused",
        cure: "give each tool a unique name",
        link: "https://github.com/danny-avila/LibreChat/issues/13162",
        good: r#"[{"name": "find_notes"}, {"name": "find_tasks", "description": "Finds tasks whose title holds a word."}]"#,
        bad: r#"[{"name": "find_notes"}, {"name": "find_notes", "description": "Finds tasks whose title holds a word."}]"#,
        also: &["duplicate-name"],
        rule: LintRule::List(names::duplicate_name),
        ..BASE
    },
];

/// The validator of schemas in 2020-12.
static META: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let schema = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    jsonschema::options().with_draft(Draft::Draft202012).build(&schema).ok()
});
