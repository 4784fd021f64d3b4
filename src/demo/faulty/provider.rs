//! Faults that show once a model works with the tools.

use rmcp::model::{ErrorData, JsonObject};
use serde_json::{Value, json};

use super::Entry;
use super::edits::{describe, input, is_failure, tool};
use super::hooks::{Answer, Call, Hooks, Pending, SOUND};
use crate::demo::tools;

/// A name that providers refuse.
const BAD_NAME: &str = "math/add";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "PROVIDER-SCHEMA-REJECTED",
        wrong: "declares the input of `list_users` without `type: object`",
        hooks: Hooks {
            tools: |_, list| {
                input(list, "list_users", |schema| {
                    schema.shift_remove("type");
                });
            },
            ..SOUND
        },
    },
    Entry {
        variant: "PROVIDER-KEYWORD-UNSUPPORTED",
        wrong: "declares `email` of `create_user` with `$ref` and `$defs`, which strict providers refuse",
        hooks: Hooks { tools: |_, list| input(list, "create_user", |schema| refer(schema, "email")), ..SOUND },
    },
    Entry {
        variant: "PROVIDER-TOOL-NAME-INVALID",
        wrong: "calls its tool `add` `math/add`, a name that providers refuse",
        hooks: Hooks {
            tools: |_, list| tool(list, "add", |tool| tool.name = BAD_NAME.into()),
            call: Some(under_a_bad_name),
            ..SOUND
        },
    },
    Entry {
        variant: "PROVIDER-STRICT-ARG-TYPES",
        wrong: "takes numbers that models send as text, such as `\"2\"`, for 0",
        hooks: Hooks { call: Some(misread_numbers), ..SOUND },
    },
    Entry {
        variant: "PROVIDER-SELECTION-AMBIGUOUS",
        wrong: "gives all tools the same description",
        hooks: Hooks {
            tools: |_, list| {
                for tool in &mut list.tools {
                    tool.description = Some("Works with the directory.".into());
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "PROVIDER-CONTEXT-BLOAT",
        wrong: "praises each tool with 20,000 characters in its description",
        hooks: Hooks {
            tools: |_, list| {
                for tool in &mut list.tools {
                    describe(tool, &" It is fast, small and kind.".repeat(714));
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "PROVIDER-RESULT-UNUSABLE",
        wrong: "answers with structured content alone, and no text for models that read nothing else",
        hooks: Hooks {
            result: |_, _, result| {
                if !is_failure(result) {
                    result.content.clear();
                }
            },
            ..SOUND
        },
    },
];

/// Moves the rule of a parameter to the definitions.
fn refer(schema: &mut JsonObject, parameter: &str) {
    let rule = schema.get_mut("properties").and_then(|properties| properties.get_mut(parameter)).map(Value::take);
    let Some(rule) = rule else {
        return;
    };
    schema["properties"][parameter] = json!({ "$ref": format!("#/$defs/{parameter}") });
    schema.insert("$defs".to_owned(), json!({ parameter: rule }));
}

fn under_a_bad_name(mut call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        if call.is_of("add") {
            let message = format!("the server offers no tool `add`; there is `{BAD_NAME}`");
            return Err(ErrorData::invalid_params(message, None));
        }
        if call.is_of(BAD_NAME) {
            call.request.name = "add".into();
        }
        call.proceed().await
    })
}

fn misread_numbers(mut call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let listed = tools::list();
        let tool = listed.iter().find(|tool| call.is_of(&tool.name));
        let rules = tool.and_then(|tool| tool.input_schema.get("properties")).unwrap_or(&Value::Null);
        for (name, value) in call.request.arguments.iter_mut().flatten() {
            let is_number = ["number", "integer"].iter().any(|kind| rules[name.as_str()]["type"] == *kind);
            if is_number && value.is_string() {
                *value = 0.into();
            }
        }
        call.proceed().await
    })
}
