//! The faulty servers that keep state wrongly between calls and sessions, and after cancellations.

use std::fs;
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::hooks::{CallResult, Hooks, Pending, SOUND, ToolCall, failure, is_failure};
use super::server_fault::FaultMemory;
use crate::settings::DamagedData;
use crate::store::User;

/// The time for which a change lies around before it is written.
const WRITING: Duration = Duration::from_millis(20);

/// The number of bytes each call leaves behind.
const LEAK: usize = 1024 * 1024;

/// The file that outlives a run.
const FILE: &str = "users.json";

pub(crate) const HOOKS: &[(&str, Hooks)] = &[
    ("STATE-CROSS-SESSION-LEAK", Hooks { keeps_apart: false, ..SOUND }),
    ("STATE-CROSS-RUN-LEAK", Hooks { start: read_earlier_runs, call: Some(remember_earlier_runs), ..SOUND }),
    ("STATE-LOST-UPDATE", Hooks { call: Some(write_back_what_was_read), ..SOUND }),
    ("STATE-WRONG-DELETION", Hooks { call: Some(delete_nobody), ..SOUND }),
    ("STATE-STALE-READ", Hooks { call: Some(answer_from_memory), ..SOUND }),
    ("STATE-STALE-SESSION", Hooks { ends_sessions: false, ..SOUND }),
    (
        "STATE-CORRUPT-STORE",
        Hooks {
            call: Some(stumble_over_quotes),
            settings: |settings| settings.damaged_data = DamagedData::ForgetsAll,
            ..SOUND
        },
    ),
    ("STATE-SUBSCRIPTION-LEAK", Hooks { tells_everybody: true, call: Some(tell_everybody), ..SOUND }),
    (
        "STATE-RESOURCE-LEAK",
        Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    call.memory.leak(LEAK);
                    call.proceed().await
                })
            }),
            ..SOUND
        },
    ),
    ("TIMEOUT-CANCEL-IGNORED", Hooks { stops_when_cancelled: false, ..SOUND }),
    (
        "TIMEOUT-CANCEL-REPLY",
        Hooks {
            heard: answer_cancelled_call,
            request: Some(|request| {
                Box::pin(async move {
                    let (memory, id) = (request.memory, request.id());
                    let answer = request.proceed().await;
                    memory.open().retain(|open| *open != id);
                    answer
                })
            }),
            ..SOUND
        },
    ),
];

fn read_earlier_runs(memory: &FaultMemory) {
    let text = fs::read(memory.environment.folder.join(FILE)).unwrap_or_default();
    memory.remember(serde_json::from_slice(&text).unwrap_or_default());
}

fn remember_earlier_runs(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        let (memory, demo) = (call.memory, call.demo);
        if demo.store().is_untouched() {
            for user in memory.earlier() {
                let text = |field: &str| user[field].as_str().unwrap_or_default();
                demo.store().create(text("name"), text("email"), user["age"].as_i64());
            }
        }
        let answer = call.proceed().await;
        let users: Value = demo.store().all().map(User::to_json).collect();
        // A folder that cannot be written to makes this server right again. A file that is half written would be another
        // fault.
        let folder = &memory.environment.folder;
        let half = folder.join(format!("{FILE}.{}.{}", std::process::id(), memory.count_call()));
        let _ = fs::write(&half, users.to_string()).and_then(|()| fs::rename(&half, folder.join(FILE)));
        answer
    })
}

fn write_back_what_was_read(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        if ["create_user", "update_user", "delete_user"].iter().any(|tool| call.is_of(tool)) {
            let read = call.demo.store().clone();
            sleep(WRITING).await;
            *call.demo.store() = read;
        }
        call.proceed().await
    })
}

fn delete_nobody(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        if !call.is_of("delete_user") {
            return call.proceed().await;
        }
        let demo = call.demo;
        let before = demo.store().clone();
        let answer = call.proceed().await?;
        if !is_failure(&answer) {
            let mut store = demo.store();
            *store = before;
            // A file that cannot be written keeps the deletion, which makes this server right again.
            let _ = store.save();
        }
        Ok(answer)
    })
}

fn answer_from_memory(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        if !call.is_of("get_user") {
            return call.proceed().await;
        }
        let memory = call.memory;
        let store = call.demo.shared_store().clone();
        let key = Value::from(call.request.arguments.clone()).to_string();
        if let Some(answer) = memory.kept_answer(&store, &key) {
            return Ok(answer);
        }
        let answer = call.proceed().await?;
        memory.keep(&store, &key, &answer);
        Ok(answer)
    })
}

fn stumble_over_quotes(call: ToolCall<'_>) -> Pending<'_, CallResult> {
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

fn tell_everybody(call: ToolCall<'_>) -> Pending<'_, CallResult> {
    Box::pin(async move {
        let (memory, peer) = (call.memory, call.context.peer.clone());
        let is_new = call.is_of("create_user");
        let answer = call.proceed().await?;
        if is_new && !is_failure(&answer) {
            let uri = "users://all";
            // It fails when the client is gone.
            let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
            let params = json!({ "uri": uri });
            memory.tell_listeners(
                &json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params }),
            );
        }
        Ok(answer)
    })
}

fn answer_cancelled_call(memory: &FaultMemory, line: &[u8]) -> Option<Vec<u8>> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let mut open = memory.open();
    if message["method"] == "tools/call" && !message["id"].is_null() {
        open.push(message["id"].clone());
    }
    let at = open.iter().position(|id| *id == message["params"]["requestId"])?;
    let answer = (message["method"] == "notifications/cancelled").then(|| {
        let error = json!({ "code": 0, "message": "the request was cancelled" });
        json!({ "jsonrpc": "2.0", "id": open.remove(at), "error": error })
    })?;
    Some(format!("{answer}\n").into_bytes())
}
