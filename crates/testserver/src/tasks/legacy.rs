//! Tasks as 2025-11-25 has them: clients ask for a task with `task` in a call, and wait for its result with
//! `tasks/result`. rmcp has no types for them, so this is JSON.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CustomResult, ErrorCode, ErrorData, ProtocolVersion, ServerResult,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::book::{Tasks, unknown};
use super::task::{RELATED, Stage, State, Task};
use super::{POLL, Support, TaskProtocol, task_id};
use crate::catalog::DIRECTORY;
use crate::server::Demo;

/// The time for which a task is kept, in milliseconds: at least, if the client does not say, and at most.
const TTL: (u64, u64, u64) = (1_000, 300_000, 3_600_000);

type TaskAnswer = Result<Value, ErrorData>;

/// The answer to a call that asks to become a task; nothing if it is to be answered like any other.
pub(crate) fn create(
    tasks: &Tasks,
    demo: &Demo,
    request: &CallToolRequestParams,
    (wish, context): (&Value, &RequestContext<RoleServer>),
) -> Option<Result<ServerResult, ErrorData>> {
    match Support::of(&request.name) {
        Support::Required | Support::Optional => {}
        Support::Undeclared if DIRECTORY.tool(&request.name).is_none() => return None,
        Support::Forbidden | Support::Undeclared => {
            let message = format!("the tool `{}` cannot be called as a task; leave `task` out", request.name);
            return Some(Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)));
        }
    }
    let created = ttl(wish).and_then(|ttl| tasks.start((TaskProtocol::Legacy, ttl), demo, request, context));
    Some(created.map(|task| {
        let result =
            json!({ "task": task_json(&task, &task.beginning()), "_meta": { RELATED: { "taskId": task.id } } });
        ServerResult::CustomResult(CustomResult(result))
    }))
}

/// Refuses a plain call of a tool that works as a task only.
pub(crate) fn admit(tool: &str) -> Result<(), ErrorData> {
    if Support::of(tool) == Support::Required {
        let message = format!("the tool `{tool}` can only be called as a task; add `task` to `params`");
        return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
    }
    Ok(())
}

/// The answer to a request about tasks; nothing for all others.
pub(crate) async fn answer(
    tasks: &Tasks,
    method: &str,
    params: &Value,
    context: &RequestContext<RoleServer>,
) -> Option<TaskAnswer> {
    let task = || tasks.find(task_id(params)?);
    Some(match method {
        "tasks/list" => list(tasks, params),
        "tasks/get" => task().map(|task| task_json(&task, &task.state())),
        "tasks/cancel" => match task() {
            Ok(task) => cancel(&task).await,
            Err(error) => Err(error),
        },
        "tasks/result" => match task() {
            Ok(task) => result(tasks, &task, context).await,
            Err(error) => Err(error),
        },
        _ => return None,
    })
}

fn list(tasks: &Tasks, params: &Value) -> TaskAnswer {
    let (page, next) = tasks.page(params["cursor"].as_str())?;
    let page: Vec<_> = page.iter().map(|task| task_json(task, &task.state())).collect();
    let mut list = json!({ "tasks": page });
    if let Some(next) = next {
        list["nextCursor"] = next.into();
    }
    Ok(list)
}

async fn cancel(task: &Task) -> TaskAnswer {
    if task.cancel().await {
        return Ok(task_json(task, &task.state()));
    }
    let message = format!("the task `{}` has ended, so it cannot be cancelled", task.id);
    Err(ErrorData::invalid_params(message, None))
}

/// The result of the plain call, once the task has ended.
async fn result(tasks: &Tasks, task: &Task, context: &RequestContext<RoleServer>) -> TaskAnswer {
    let stage = tokio::select! {
        biased;
        stage = task.end(&context.peer) => stage,
        // Nobody reads the answer to a request that is cancelled.
        () = context.ct.cancelled() => None,
        () = tasks.wait_for_end_of_input() => None,
    };
    match stage {
        Some(Stage::Ended(outcome)) => outcome.map(|result| relate_to_task(task, result)),
        Some(Stage::Cancelled) => {
            Err(ErrorData::invalid_params(format!("the task `{}` was cancelled, so it has no result", task.id), None))
        }
        Some(Stage::Working | Stage::Asking(_)) | None => Err(unknown(&task.id)),
    }
}

fn relate_to_task(task: &Task, result: CallToolResult) -> Value {
    let mut result = ServerResult::CallToolResult(result);
    result.strip_result_type_for_legacy_peer();
    // A result always serializes.
    let mut result = serde_json::to_value(result).unwrap_or_default();
    if !result["_meta"].is_object() {
        result["_meta"] = json!({});
    }
    result["_meta"][RELATED] = json!({ "taskId": task.id });
    result
}

/// A task as this revision shows it.
fn task_json(task: &Task, state: &State) -> Value {
    let (status, message) = match &state.stage {
        Stage::Working => ("working", Some("the call is being worked on".to_owned())),
        Stage::Asking(_) => ("input_required", None),
        Stage::Ended(Ok(result)) if result.is_error == Some(true) => ("failed", text(result)),
        Stage::Ended(Ok(_)) => ("completed", None),
        Stage::Ended(Err(error)) => ("failed", Some(error.message.to_string())),
        Stage::Cancelled => ("cancelled", Some("the task was cancelled".to_owned())),
    };
    let mut shown = json!({
        "taskId": task.id,
        "status": status,
        "createdAt": task.created_at,
        "lastUpdatedAt": state.updated_at,
        "ttl": milliseconds(task.ttl),
        "pollInterval": POLL,
    });
    if let Some(message) = message {
        shown["statusMessage"] = message.into();
    }
    shown
}

fn text(result: &CallToolResult) -> Option<String> {
    result.content.iter().find_map(|block| Some(block.as_text()?.text.clone()))
}

/// The time for which a task is kept for a client that wishes this.
fn ttl(wish: &Value) -> Result<Duration, ErrorData> {
    let (least, usual, most) = TTL;
    let wished = match wish.get("ttl") {
        None if wish.is_object() => Some(usual),
        Some(ttl) => ttl.as_u64(),
        None => None,
    };
    let wished = wished.ok_or_else(|| {
        ErrorData::invalid_params("`task` must be an object, and its `ttl` a whole number of milliseconds", None)
    })?;
    Ok(Duration::from_millis(wished.clamp(least, most)))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Adds the capability, and which tools have it.
pub(crate) fn declare(revision: Option<&ProtocolVersion>, result: &mut ServerResult) {
    let is_list = matches!(result, ServerResult::ListToolsResult(_));
    let opens = matches!(&*result, ServerResult::InitializeResult(opened)
        if opened.protocol_version == ProtocolVersion::V_2025_11_25);
    if !(opens || is_list && TaskProtocol::of(revision) == Some(TaskProtocol::Legacy)) {
        return;
    }
    let Ok(mut whole) = serde_json::to_value(&*result) else { return };
    if opens {
        whole["capabilities"]["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    for tool in whole.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
        let support = match Support::of(tool["name"].as_str().unwrap_or_default()) {
            Support::Required => "required",
            Support::Optional => "optional",
            Support::Forbidden => "forbidden",
            Support::Undeclared => continue,
        };
        tool["execution"] = json!({ "taskSupport": support });
    }
    *result = ServerResult::CustomResult(CustomResult(whole));
}
