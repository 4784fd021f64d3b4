//! Faults of tools, resources and prompts.

use std::time::Duration;

use rmcp::model::{ContentBlock, Resource};
use serde_json::Value;
use tokio::time::sleep;

use super::Entry;
use super::edits::{failure, is_failure, tool};
use super::hooks::{Answer, Call, Hooks, Pending, SOUND};
use crate::demo::tools;

/// Longer messages come back shortened.
const LONGEST_ECHO: usize = 1000;

/// How long an answer lies where other calls put theirs.
const WRITING: Duration = Duration::from_millis(20);

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "TOOL-CRASH",
        wrong: "falls over when a call lacks a required argument",
        hooks: Hooks { call: Some(fall_over_what_is_missing), ..SOUND },
    },
    Entry {
        variant: "TOOL-SPURIOUS-ERROR",
        wrong: "fails every third call, whatever it asks",
        hooks: Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    if call.memory.count("calls") % 3 == 0 {
                        return Ok(failure("the directory is busy; try again later"));
                    }
                    call.proceed().await
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-ERROR-AS-SUCCESS",
        wrong: "reports failures of tools as successes, with the reason as their text",
        hooks: Hooks { result: |_, _, result| result.is_error = Some(false), ..SOUND },
    },
    Entry {
        variant: "TOOL-UNHELPFUL-ERROR",
        wrong: "explains every failure of a tool with `Internal error`",
        hooks: Hooks {
            result: |_, _, result| {
                if is_failure(result) {
                    result.content = vec![ContentBlock::text("Internal error")];
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-RESULT-LOST",
        wrong: "gives back the first 1000 characters of what `echo` gets, without a word about the rest",
        hooks: Hooks {
            arguments: |_, tool, arguments| {
                if tool == "echo"
                    && let Some(message) = arguments["message"].as_str()
                {
                    arguments["message"] = message.chars().take(LONGEST_ECHO).collect::<String>().into();
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-RESULT-MISROUTED",
        wrong: "answers a call with the result of another one that runs at the same time",
        hooks: Hooks { call: Some(answer_with_the_latest), ..SOUND },
    },
    Entry {
        variant: "TOOL-WRONG-RESULT",
        wrong: "adds one too many in `add`",
        hooks: Hooks {
            value: |tool, value| {
                if tool == "add" {
                    value["sum"] = match value["sum"].as_i64() {
                        Some(sum) => (sum + 1).into(),
                        None => (value["sum"].as_f64().unwrap_or_default() + 1.0).into(),
                    };
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-PARAM-IGNORED",
        wrong: "returns all users from `list_users`, whatever `limit` says",
        hooks: Hooks {
            arguments: |_, tool, arguments| {
                if tool == "list_users"
                    && let Some(arguments) = arguments.as_object_mut()
                {
                    arguments.shift_remove("limit");
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-LIST-DIVERGENCE",
        wrong: "lists `search_users` as `find_users`, under which nobody can call it",
        hooks: Hooks { tools: |_, list| tool(list, "search_users", |tool| tool.name = "find_users".into()), ..SOUND },
    },
    Entry {
        variant: "TOOL-RESOURCE-UNREADABLE",
        wrong: "lists the resource `users://archived`, which cannot be read",
        hooks: Hooks {
            resources: |list| {
                let archived = Resource::new("users://archived", "archived_users");
                list.resources.push(archived.with_title("Archived users").with_mime_type("application/json"));
            },
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-PROMPT-RENDER",
        wrong: "leaves `{{name}}` in the prompt `welcome_user` instead of the name",
        hooks: Hooks {
            prompt: |arguments| {
                if let Some(name) = arguments.get_mut("name").filter(|name| name.is_string()) {
                    *name = "{{name}}".into();
                }
            },
            ..SOUND
        },
    },
];

fn fall_over_what_is_missing(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let listed = tools::list();
        let required =
            listed.iter().find(|tool| call.is_of(&tool.name)).and_then(|tool| tool.input_schema.get("required"));
        let given = call.request.arguments.as_ref();
        let is_missing =
            |name: &Value| !given.is_some_and(|given| given.contains_key(name.as_str().unwrap_or_default()));
        if required.and_then(Value::as_array).is_some_and(|required| required.iter().any(is_missing)) {
            return call.memory.fall_over().await;
        }
        call.proceed().await
    })
}

/// Puts the answer where all calls put theirs, and takes from there what it finds a little later.
fn answer_with_the_latest(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let memory = call.memory;
        let answer = call.proceed().await?;
        memory.keep("latest", &answer);
        sleep(WRITING).await;
        Ok(memory.kept("latest").unwrap_or(answer))
    })
}
