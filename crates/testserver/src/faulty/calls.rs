//! The faulty servers whose tools, schemas, settings or timing go wrong inside.

use std::future::pending;
use std::time::Duration;

use rmcp::model::{CallToolResult, ClientRequest, ContentBlock};
use serde_json::Value;
use tokio::time::sleep;

use super::hooks::{CallResult, Hooks, Pending, SOUND, ToolCall, describe, failure, is_failure};
use crate::catalog::DIRECTORY;
use crate::settings::{Settings, Spelling};

/// The time for which an answer lies where other calls put theirs.
const WRITING: Duration = Duration::from_millis(20);

pub(crate) const HOOKS: &[(&str, Hooks)] = &[
    (
        "TOOL-UNKNOWN-ACCEPTED",
        Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    if DIRECTORY.tool(&call.request.name).is_some() {
                        return call.proceed().await;
                    }
                    Ok(CallToolResult::success(vec![ContentBlock::text("done")]))
                })
            }),
            ..SOUND
        },
    ),
    ("TOOL-CRASH", Hooks { call: Some(fall_over_what_is_missing), ..SOUND }),
    (
        "TOOL-SPURIOUS-ERROR",
        Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    if call.memory.count_call() % 3 == 0 {
                        return Ok(failure("the directory is busy; try again later"));
                    }
                    call.proceed().await
                })
            }),
            ..SOUND
        },
    ),
    ("TOOL-RESULT-MISROUTED", Hooks { call: Some(answer_with_the_latest), ..SOUND }),
    ("TOOL-LIST-ORDER", Hooks { call: Some(list_newest_first), ..SOUND }),
    (
        "TOOL-PAGE-WRONG",
        Hooks {
            arguments: |_, tool, arguments| {
                if let Some(limit) = bounded(tool, arguments) {
                    arguments["limit"] = (limit + 1).into();
                }
            },
            ..SOUND
        },
    ),
    (
        "TOOL-PARAM-IGNORED",
        Hooks {
            arguments: |_, tool, arguments| {
                if tool == "list_users"
                    && let Some(arguments) = arguments.as_object_mut()
                {
                    arguments.shift_remove("limit");
                }
            },
            ..SOUND
        },
    ),
    (
        "SCHEMA-INPUT-NOT-VALIDATED",
        Hooks {
            rules: Some(|schema| {
                drop_keywords(schema, &["required", "minProperties"]);
                for_each_parameter(schema, |rule| drop_keywords(rule, &["type"]));
            }),
            ..SOUND
        },
    ),
    (
        "SCHEMA-CONSTRAINT-NOT-ENFORCED",
        Hooks {
            rules: Some(|schema| {
                let keywords = ["minLength", "maxLength", "minimum", "maximum", "pattern", "enum"];
                for_each_parameter(schema, |rule| drop_keywords(rule, &keywords));
            }),
            ..SOUND
        },
    ),
    (
        "PROVIDER-CONTEXT-BLOAT",
        Hooks {
            tools: |_, list| {
                for tool in &mut list.tools {
                    describe(tool, &" It is fast, small and kind.".repeat(714));
                }
            },
            ..SOUND
        },
    ),
    (
        "TIMEOUT-STARTUP-HANG",
        Hooks {
            request: Some(|request| {
                Box::pin(async move {
                    let opens = matches!(
                        request.asked,
                        ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
                    );
                    if opens { pending().await } else { request.proceed().await }
                })
            }),
            ..SOUND
        },
    ),
    (
        "TIMEOUT-BLOCKED-LOOP",
        Hooks {
            request: Some(|request| {
                Box::pin(async move {
                    let _turn = request.memory.turn.lock().await;
                    request.proceed().await
                })
            }),
            ..SOUND
        },
    ),
    ("CONFIG-READONLY-MODE", Hooks { settings: |settings| settings.read_only = false, ..SOUND }),
    ("CONFIG-READONLY-HINT", Hooks { call: Some(keep_queries), ..SOUND }),
    ("CONFIG-SCOPE-NOT-ENFORCED", Hooks { settings: |settings| settings.domain = None, ..SOUND }),
    ("CONFIG-DENYLIST-BYPASS", Hooks { settings: |settings| settings.spelling = Spelling::Exact, ..SOUND }),
    ("CONFIG-SETTING-IGNORED", Hooks { settings: |settings| change_limit(settings, |_| usize::MAX), ..SOUND }),
    (
        "CONFIG-INVALID-VALUE-ACCEPTED",
        Hooks {
            settings: |settings| {
                settings.max_users.take_if(|text| !text.parse().is_ok_and(|number: usize| number > 0));
            },
            ..SOUND
        },
    ),
    (
        "CONFIG-LIMIT-NOT-ENFORCED",
        Hooks { settings: |settings| change_limit(settings, |limit| limit.saturating_mul(2)), ..SOUND },
    ),
];

fn fall_over_what_is_missing(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        let required =
            DIRECTORY.tool(&call.request.name).and_then(|declared| declared.tool.input_schema.get("required"));
        let given = call.request.arguments.as_ref();
        let is_missing =
            |name: &Value| !given.is_some_and(|given| given.contains_key(name.as_str().unwrap_or_default()));
        if required.and_then(Value::as_array).is_some_and(|required| required.iter().any(is_missing)) {
            return call.memory.fall_over().await;
        }
        call.proceed().await
    })
}

/// Puts the answer where all calls of the conversation put theirs, and takes from there what it finds a little later.
fn answer_with_the_latest(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        let (memory, store) = (call.memory, call.demo.shared_store().clone());
        let answer = call.proceed().await?;
        memory.keep(&store, "latest", &answer);
        sleep(WRITING).await;
        Ok(memory.kept_answer(&store, "latest").unwrap_or(answer))
    })
}

/// The number of users that a call of `list_users` asks for at most.
fn bounded(tool: &str, arguments: &Value) -> Option<u64> {
    arguments["limit"].as_u64().filter(|_| tool == "list_users")
}

/// Turns the whole list around before it is cut.
fn list_newest_first(mut call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        if !call.is_of("list_users") {
            return call.proceed().await;
        }
        let asked = call.request.arguments.as_mut();
        let limit = asked.filter(|asked| asked.get("limit").is_some_and(is_possible_limit));
        let limit = limit.and_then(|asked| asked.remove("limit")?.as_u64());
        let answer = call.proceed().await?;
        let Some(mut list) = answer.structured_content.clone() else { return Ok(answer) };
        if let Some(users) = list["users"].as_array_mut() {
            users.reverse();
            users.truncate(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
        }
        Ok(CallToolResult::structured(list))
    })
}

/// A limit that the server takes.
fn is_possible_limit(limit: &Value) -> bool {
    limit.as_u64().is_some_and(|limit| (1..=100).contains(&limit))
}

fn for_each_parameter(schema: &mut Value, change: impl Fn(&mut Value)) {
    let rules = schema.get_mut("properties").and_then(Value::as_object_mut);
    rules.into_iter().flat_map(|rules| rules.values_mut()).for_each(change);
}

fn drop_keywords(schema: &mut Value, keywords: &[&str]) {
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|keyword, _| !keywords.contains(&keyword.as_str()));
    }
}

/// Changes a limit that makes sense; any other stays, to be refused.
fn change_limit(settings: &mut Settings, change: fn(usize) -> usize) {
    if let Some(text) = &mut settings.max_users
        && let Ok(limit) = text.parse()
        && limit > 0
    {
        *text = change(limit).to_string();
    }
}

fn keep_queries(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        let demo = call.demo;
        let query = call.request.arguments.as_ref().and_then(|arguments| arguments.get("query")).cloned();
        let is_search = call.is_of("search_users");
        let answer = call.proceed().await?;
        if let Some(query) =
            query.as_ref().and_then(|query| query.as_str()).filter(|_| is_search && !is_failure(&answer))
        {
            demo.store().create(query, "search@example.com", None);
        }
        Ok(answer)
    })
}
