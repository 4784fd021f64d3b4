//! Tasks as the extension `io.modelcontextprotocol/tasks` of 2026-07-28 has them: the server decides which calls become
//! tasks, for clients that declare it, and they poll. The types are rmcp's; its own manager knows no owners.

use std::time::Duration;

use mcprove_server::era;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, CreateTaskResult, DetailedTask, ErrorData,
    GetTaskResult, JsonObject, ServerResult, Task as Shown, TaskAckResult, TaskPayload,
};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde_json::Value;

use super::book::Tasks;
use super::task::{Stage, State, Task};
use super::{POLL, Support, TaskProtocol, task_id};
use crate::fixtures;
use crate::server::Demo;

/// The time for which a task is kept, in milliseconds.
const TTL: u64 = 300_000;

/// The task that a call becomes, if it does; a call that lacks input is told so first.
pub(crate) async fn create(
    tasks: &Tasks,
    demo: &Demo,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Option<CallToolResponse>, ErrorData> {
    match support(demo, &request.name) {
        Support::Required => require_extension(context)?,
        Support::Optional if require_extension(context).is_ok() && takes_time(request) => {}
        Support::Optional | Support::Forbidden | Support::Undeclared => return Ok(None),
    }
    if let Some(missing) = demo.missing_input(request, context).await? {
        return Ok(Some(missing));
    }
    let task = tasks.start((TaskProtocol::Extension, Duration::from_millis(TTL)), demo, request, context)?;
    let created = CreateTaskResult::new(detail(&task, task.beginning()).task);
    Ok(Some(CallToolResponse::Task(created)))
}

/// True if a tool of the server can be called as a task; some fixtures can, in this revision alone.
fn support(demo: &Demo, tool: &str) -> Support {
    let of_fixture = demo.fixtures().and_then(|_| fixtures::task_support(tool));
    of_fixture.unwrap_or_else(|| Support::of(tool))
}

/// Does a call say that it takes more than no time?
fn takes_time(request: &CallToolRequestParams) -> bool {
    let given = |name| request.arguments.as_ref().and_then(|given| given.get(name)?.as_f64());
    given("delay_ms").or_else(|| given("seconds")) > Some(0.0)
}

/// The answer to a request about tasks; nothing for all others.
pub(crate) async fn answer(
    tasks: &Tasks,
    method: &str,
    params: &Value,
    context: &RequestContext<RoleServer>,
) -> Option<Result<Value, ErrorData>> {
    if !["tasks/get", "tasks/update", "tasks/cancel"].contains(&method) {
        return None;
    }
    let found = require_extension(context).and_then(|()| tasks.find(task_id(params)?));
    let task = match found {
        Ok(task) => task,
        Err(error) => return Some(Err(error)),
    };
    Some(match method {
        "tasks/get" => value(&GetTaskResult::new(detail(&task, task.state()))),
        "tasks/cancel" => {
            // What has ended stays as it is, and the client is told so when it asks.
            task.cancel().await;
            value(&TaskAckResult::new())
        }
        _ => update(&task, params),
    })
}

fn update(task: &Task, params: &Value) -> Result<Value, ErrorData> {
    let Some(answers) = params["inputResponses"].as_object() else {
        return Err(ErrorData::invalid_params(
            "`inputResponses` must be an object with an answer under each key",
            None,
        ));
    };
    task.answer(answers);
    value(&TaskAckResult::new())
}

/// Refuses clients that do not declare the extension.
fn require_extension(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if context.client_capabilities().is_some_and(|declared| declared.supports_tasks()) {
        return Ok(());
    }
    Err(ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_tasks().build()))
}

fn detail(task: &Task, state: State) -> DetailedTask {
    let payload = match state.stage {
        Stage::Working => TaskPayload::Working,
        Stage::Asking(input_requests) => TaskPayload::InputRequired { input_requests },
        Stage::Ended(Ok(result)) => {
            let mut result = ServerResult::CallToolResult(result);
            // It is no list.
            era::complete(&mut result, &Demo::identity(), 0);
            TaskPayload::Completed { result: object(&result) }
        }
        Stage::Ended(Err(error)) => TaskPayload::Failed { error: object(&error) },
        Stage::Cancelled => TaskPayload::Cancelled,
    };
    let shown = Shown::new(&task.id, payload.status(), &task.created_at, state.updated_at);
    DetailedTask::new(shown.with_ttl_ms(TTL).with_poll_interval_ms(POLL), payload)
}

fn value(result: &impl Serialize) -> Result<Value, ErrorData> {
    serde_json::to_value(result).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A value that is an object for sure.
fn object(value: &impl Serialize) -> JsonObject {
    serde_json::to_value(value).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}
