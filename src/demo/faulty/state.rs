//! Faults of state between calls and sessions, and after cancellations.

use std::fs;
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Entry;
use super::edits::{failure, is_failure};
use super::fault::{Heard, Memory};
use super::hooks::{Answer, Call, Check, Hooks, Pending, SOUND};
use crate::demo::store::User;

/// How long a change lies around before it is written.
const WRITING: Duration = Duration::from_millis(20);

/// What a call leaves behind where nothing is given back.
const LEAK: usize = 1024 * 1024;

/// The file that outlives a run.
const FILE: &str = "users.json";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "STATE-CROSS-SESSION-LEAK",
        wrong: "keeps one directory for all sessions",
        hooks: Hooks { keeps_apart: false, ..SOUND },
    },
    Entry {
        variant: "STATE-CROSS-RUN-LEAK",
        wrong: "keeps its users in the file `users.json`, and starts the next run with them",
        hooks: Hooks { call: Some(remember_earlier_runs), ..SOUND },
    },
    Entry {
        variant: "STATE-LOST-UPDATE",
        wrong: "forgets all but the last of several changes that are under way at the same time",
        hooks: Hooks { call: Some(write_back_what_was_read), ..SOUND },
    },
    Entry {
        variant: "STATE-STALE-READ",
        wrong: "answers `get_user` as it did the first time, whatever has changed since",
        hooks: Hooks { call: Some(answer_from_memory), ..SOUND },
    },
    Entry {
        variant: "STATE-STALE-SESSION",
        wrong: "goes on to serve a session after its end",
        hooks: Hooks { waives: |check| check == Check::End, ..SOUND },
    },
    Entry {
        variant: "STATE-CORRUPT-STORE",
        wrong: "cannot list, search or export any users once the name of one has a quotation mark",
        hooks: Hooks { call: Some(stumble_over_quotes), ..SOUND },
    },
    Entry {
        variant: "STATE-SUBSCRIPTION-LEAK",
        wrong: "tells every client about every new user, although nobody subscribed",
        hooks: Hooks { call: Some(tell_everybody), ..SOUND },
    },
    Entry {
        variant: "STATE-RESOURCE-LEAK",
        wrong: "holds on to one more MiB of memory with every call",
        hooks: Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    call.memory.hoard(LEAK);
                    call.proceed().await
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TIMEOUT-CANCEL-IGNORED",
        wrong: "goes on with a cancelled export, and reports its progress",
        hooks: Hooks { stops_when_cancelled: false, ..SOUND },
    },
    Entry {
        variant: "TIMEOUT-CANCEL-REPLY",
        wrong: "answers a call that a notification cancels with an error",
        hooks: Hooks {
            heard: answer_what_is_cancelled,
            said: Some(|memory, line| {
                let answered = serde_json::from_slice::<Value>(&line).map(|message| message["id"].clone());
                memory.open().retain(|id| answered.as_ref().ok() != Some(id));
                line
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TIMEOUT-CANCEL-FATAL",
        wrong: "falls over when a notification cancels something",
        hooks: Hooks {
            heard: |_, line| match serde_json::from_slice::<Value>(line) {
                Ok(message) if message["method"] == "notifications/cancelled" => Heard::Fatal,
                Ok(_) | Err(_) => Heard::Sound,
            },
            ..SOUND
        },
    },
];

fn remember_earlier_runs(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let (memory, demo) = (call.memory, call.demo);
        let file = memory.surroundings.folder.join(FILE);
        if demo.store().is_untouched() {
            let users = fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Vec<Value>>(&text).ok());
            for user in users.iter().flatten() {
                let text = |field: &str| user[field].as_str().unwrap_or_default();
                demo.store().create(text("name"), text("email"), user["age"].as_i64());
            }
        }
        let answer = call.proceed().await;
        let users: Value = demo.store().all().map(User::to_json).collect();
        // A folder that cannot be written to makes this server right again.
        let _ = fs::write(&file, users.to_string());
        answer
    })
}

fn write_back_what_was_read(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        if ["create_user", "update_user", "delete_user"].iter().any(|tool| call.is_of(tool)) {
            let read = call.demo.store().clone();
            sleep(WRITING).await;
            *call.demo.store() = read;
        }
        call.proceed().await
    })
}

fn answer_from_memory(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        if !call.is_of("get_user") {
            return call.proceed().await;
        }
        let memory = call.memory;
        let key = Value::from(call.request.arguments.clone()).to_string();
        if let Some(answer) = memory.kept(&key) {
            return Ok(answer);
        }
        let answer = call.proceed().await?;
        memory.keep(&key, &answer);
        Ok(answer)
    })
}

fn stumble_over_quotes(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let demo = call.demo;
        let reads_all = ["list_users", "search_users", "export_users"].iter().any(|tool| call.is_of(tool));
        let answer = call.proceed().await?;
        let broken = demo.store().all().find(|user| user.name.contains('"')).map(|user| user.id.clone());
        match broken {
            Some(id) if reads_all && !is_failure(&answer) => {
                Ok(failure(&format!("the directory is damaged: the record `{id}` cannot be read")))
            }
            Some(_) | None => Ok(answer),
        }
    })
}

fn tell_everybody(call: Call<'_>) -> Pending<'_, Answer> {
    Box::pin(async move {
        let peer = call.context.peer.clone();
        let is_new = call.is_of("create_user");
        let answer = call.proceed().await?;
        if is_new && !is_failure(&answer) {
            // It fails when the client is gone.
            let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new("users://all")).await;
        }
        Ok(answer)
    })
}

fn answer_what_is_cancelled(memory: &Memory, line: &[u8]) -> Heard {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Heard::Sound;
    };
    let mut open = memory.open();
    if message["method"] == "tools/call" && !message["id"].is_null() {
        open.push(message["id"].clone());
    }
    let cancelled = &message["params"]["requestId"];
    match open.iter().position(|id| id == cancelled) {
        Some(position) if message["method"] == "notifications/cancelled" => {
            let error = json!({ "code": 0, "message": "the request was cancelled" });
            let answer = json!({ "jsonrpc": "2.0", "id": open.remove(position), "error": error });
            Heard::Answered(format!("{answer}\n").into_bytes())
        }
        Some(_) | None => Heard::Sound,
    }
}
