//! Faults of the protocol and of the life of a session.

use rmcp::model::{CallToolResult, ClientRequest, ContentBlock, ErrorCode, ErrorData, NumberOrString, ProgressToken};
use serde::de::IgnoredAny;

use super::Entry;
use super::edits::{as_call_result, call_result};
use super::fault::Heard;
use super::hooks::{Check, Hooks, SOUND};
use crate::demo::tools;

/// The cursor that leads nowhere.
const MORE: &str = "more";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "PROTO-REQUEST-BEFORE-INIT",
        wrong: "lists its tools for clients that have not opened a session",
        hooks: Hooks { admits: |request| matches!(request, ClientRequest::ListToolsRequest(_)), ..SOUND },
    },
    Entry {
        variant: "PROTO-VERSION-NEGOTIATION",
        wrong: "agrees to any revision that `initialize` offers, even to one that does not exist",
        hooks: Hooks { agrees: |_| true, ..SOUND },
    },
    Entry {
        variant: "PROTO-CAPABILITY-MISMATCH",
        wrong: "does not declare its prompts, and serves them all the same",
        hooks: Hooks { info: |info| info.capabilities.prompts = None, ..SOUND },
    },
    Entry {
        variant: "PROTO-WRONG-ERROR-CODE",
        wrong: "refuses unknown methods with -32603, the code of internal errors",
        hooks: Hooks {
            request: Some(|request| {
                Box::pin(async move {
                    request.proceed().await.map_err(|error| match error.code {
                        ErrorCode::METHOD_NOT_FOUND => ErrorData { code: ErrorCode::INTERNAL_ERROR, ..error },
                        _ => error,
                    })
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TOOL-UNKNOWN-ACCEPTED",
        wrong: "answers calls of tools that do not exist with `done`",
        hooks: Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    if tools::list().iter().any(|tool| call.is_of(&tool.name)) {
                        return call.proceed().await;
                    }
                    Ok(CallToolResult::success(vec![ContentBlock::text("done")]))
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-PAGINATION",
        wrong: "gives each page of the tools a cursor, and the cursor leads to the same page again",
        hooks: Hooks {
            turns_to: |cursor| cursor == MORE,
            tools: |_, list| list.next_cursor = Some(MORE.to_owned()),
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-MALFORMED-ENVELOPE",
        wrong: "leaves `jsonrpc` out of the answers of tools",
        hooks: Hooks {
            said: Some(|_, line| {
                call_result(line, |message| {
                    message.as_object_mut().map(|message| message.shift_remove("jsonrpc"));
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-REPLY-CORRELATION",
        wrong: "turns the id of a call into text when it answers",
        hooks: Hooks {
            said: Some(|_, line| {
                call_result(line, |message| {
                    if message["id"].is_number() {
                        message["id"] = message["id"].to_string().into();
                    }
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-BAD-INPUT-FATAL",
        wrong: "falls over when a line is not JSON",
        hooks: Hooks {
            heard: |_, line| match serde_json::from_slice::<IgnoredAny>(line) {
                Ok(_) => Heard::Sound,
                Err(_) => Heard::Fatal,
            },
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-STDOUT-NOISE",
        wrong: "logs a line to standard output for every call of a tool",
        hooks: Hooks {
            said: Some(|_, line| match as_call_result(&line) {
                Some(_) => [b"INFO a call was answered\n".as_slice(), &line].concat(),
                None => line,
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-NOTIFICATION-CONTRACT",
        wrong: "reports progress under a token of its own instead of the client's",
        hooks: Hooks {
            progress: |progress| progress.progress_token = ProgressToken(NumberOrString::String("export".into())),
            ..SOUND
        },
    },
    Entry {
        variant: "PROTO-HTTP-CONTRACT",
        wrong: "answers whatever `Accept` lists, and whatever `Mcp-Method` and `Mcp-Name` say about the message",
        hooks: Hooks { waives: |check| matches!(check, Check::Accept | Check::Repetition), ..SOUND },
    },
];
