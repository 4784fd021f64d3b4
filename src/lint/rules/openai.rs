//! Tools that `OpenAI` refuses.

use super::super::look::{Role, ToolMember, outermost};
use super::super::{Lint, LintRule, Provider};
use super::cost::more_tools_than;
use super::names::bad_name;
use super::{BLOAT, NAME, REJECTED, WARNING};

const REFERENCE: &str = "https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools";

const BASE: Lint = Lint { provider: Some(Provider::OpenAi), variant: REJECTED, ..WARNING };

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "openai-name",
        variant: NAME,
        says: "OpenAI accepts names of at most 64 letters, digits, `_` and `-`",
        why: "a single such name makes it refuse the whole request",
        cure: "rename the tool",
        link: REFERENCE,
        good: r#"{"name": "find-notes_v2"}"#,
        bad: r#"{"name": "notes.find"}"#,
        rule: LintRule::Tool(|tool| Some(("name".to_owned(), bad_name(&tool.name, 64, "_-")?))),
        ..BASE
    },
    Lint {
        id: "openai-top-level",
        says: "OpenAI accepts no `oneOf`, `anyOf`, `allOf`, `enum`, `const` or `not` at the outermost level of a schema",
        why: "a single such schema makes it refuse the whole request",
        cure: "move the choice into a property, or check it within the tool",
        link: "https://github.com/langchain-ai/langchainjs/issues/9804",
        good: r#"{"inputSchema": {"type": "object", "properties": {"word": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"word": {"type": "string", "description": "What to look for"}, "id": {"type": "string", "description": "Which note"}}, "additionalProperties": false, "anyOf": [{"required": ["word"]}, {"required": ["id"]}]}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            outermost(place, &["oneOf", "anyOf", "allOf", "enum", "const", "not"])
        }),
        ..BASE
    },
    Lint {
        id: "openai-no-properties",
        says: "OpenAI accepts no object schema without `properties`, even for a function without parameters",
        why: "a single such schema makes it refuse the whole request, unless the client adds them",
        cure: "write `\"properties\": {}`",
        link: "https://github.com/github/github-mcp-server/issues/1548",
        good: r#"{"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "additionalProperties": false}}"#,
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            let is_whole = matches!(place.role, Role::Root);
            (is_whole && place.is("object") && !place.has_any(&["properties", "$ref"]))
                .then(|| "the `inputSchema` has no `properties`".to_owned())
        }),
        ..BASE
    },
    Lint {
        id: "openai-array-items",
        says: "OpenAI accepts no `\"type\": \"array\"` without `items`",
        why: "a single such schema makes it refuse the whole request",
        cure: "add `items` with the schema of one item",
        link: "https://github.com/spacelift-io/spacectl/issues/402",
        good: r#"{"inputSchema": {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}, "description": "What to look for"}}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"type": "object", "properties": {"words": {"type": "array", "description": "What to look for"}}, "additionalProperties": false}}"#,
        also: &["array-without-items"],
        rule: LintRule::Schemas(ToolMember::INPUT, |place| {
            (place.is("array") && !place.has_any(&["items", "prefixItems"]))
                .then(|| format!("{} has no `items`", place.noun()))
        }),
        ..BASE
    },
    Lint {
        id: "openai-tool-count",
        variant: BLOAT,
        says: "OpenAI accepts at most 128 tools",
        why: "a longer list makes it refuse the whole request",
        cure: "let users turn groups of tools off",
        link: "https://github.com/zed-industries/zed/issues/42393",
        good: r#"[{"times": 40}]"#,
        bad: r#"[{"times": 129}]"#,
        also: &["many-tools", "heavy-list"],
        rule: LintRule::List(|subject| more_tools_than(128, subject)),
        ..BASE
    },
];
