//! Calls that go on as tasks, for servers that are told to have them: a client gets a name at once and the result later.
//!
//! `book` keeps the tasks of a conversation, or of all that a process serves over HTTP, each for its owner alone; `task`
//! is one of them, from `working` to its end. Two revisions write that differently: `legacy` is the capability of
//! 2025-11-25, where clients ask for tasks and wait for results, `extension` that of 2026-07-28, where the server decides
//! and clients poll. All other revisions know no tasks, and servers that have them show nothing of it there.

mod book;
mod extension;
mod legacy;
mod task;

use mcprove_server::transport::envelope::Augmentation;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, CustomRequest, CustomResult, ErrorCode, ErrorData,
    ProtocolVersion, ServerResult,
};
use rmcp::service::RequestContext;
use serde_json::Value;

pub(crate) use self::book::{Book, Owner, Tasks};
pub(crate) use self::task::task_of;
use super::server::Demo;

/// After how many milliseconds a client may ask again.
const POLL: u64 = 100;

/// True if a tool can be called as a task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// Only as one.
    Required,
    /// Either way.
    Optional,
    /// Never, and its declaration says so.
    Forbidden,
    /// Never, which goes without saying.
    Undeclared,
}

impl Support {
    fn of(tool: &str) -> Self {
        match tool {
            "rehearse" => Self::Required,
            "export_users" => Self::Optional,
            "echo" => Self::Forbidden,
            _ => Self::Undeclared,
        }
    }
}

/// The way in which a request knows tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskProtocol {
    Legacy,
    Extension,
}

impl TaskProtocol {
    /// Of a request in this revision, if there is one.
    fn of(revision: Option<&ProtocolVersion>) -> Option<Self> {
        match revision? {
            revision if *revision == ProtocolVersion::V_2025_11_25 => Some(Self::Legacy),
            revision if *revision == ProtocolVersion::V_2026_07_28 => Some(Self::Extension),
            _ => None,
        }
    }
}

/// The answer to a call of 2025-11-25 that asks to become a task.
pub(crate) fn answer_task_call(
    demo: &Demo,
    request: &ClientRequest,
    context: &RequestContext<RoleServer>,
) -> Option<Result<ServerResult, ErrorData>> {
    let ClientRequest::CallToolRequest(call) = request else { return None };
    let wish: &Augmentation = context.extensions.get()?;
    let tasks =
        demo.tasks().filter(|_| TaskProtocol::of(context.protocol_version().as_ref()) == Some(TaskProtocol::Legacy))?;
    legacy::create(tasks, demo, &call.params, (&wish.0, context))
}

/// The answer to a call that becomes a task on the server's own account; an error if a plain call is not allowed.
pub(crate) async fn instead(
    demo: &Demo,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Option<CallToolResponse>, ErrorData> {
    match (demo.tasks(), TaskProtocol::of(context.protocol_version().as_ref())) {
        (Some(_), Some(TaskProtocol::Legacy)) => legacy::admit(&request.name).map(|()| None),
        (Some(tasks), Some(TaskProtocol::Extension)) => extension::create(tasks, demo, request, context).await,
        (None, _) | (_, None) => Ok(None),
    }
}

/// The answer to a request about tasks; all others are unknown.
pub(crate) async fn answer(
    demo: &Demo,
    request: CustomRequest,
    context: RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let params = request.params.unwrap_or_default();
    let answer = match (demo.tasks(), TaskProtocol::of(context.protocol_version().as_ref())) {
        (Some(tasks), Some(TaskProtocol::Legacy)) => legacy::answer(tasks, &request.method, &params, &context).await,
        (Some(tasks), Some(TaskProtocol::Extension)) => {
            extension::answer(tasks, &request.method, &params, &context).await
        }
        (None, _) | (_, None) => None,
    };
    answer.unwrap_or_else(|| Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))).map(CustomResult)
}

/// Adds to a result of an older revision what it says about tasks and rmcp's types have no place for.
pub(crate) fn declare(demo: &Demo, revision: Option<&ProtocolVersion>, result: &mut ServerResult) {
    if demo.tasks().is_some() {
        legacy::declare(revision, result);
    }
}

/// The task that a request names.
fn task_id(params: &Value) -> Result<&str, ErrorData> {
    params["taskId"]
        .as_str()
        .ok_or_else(|| ErrorData::invalid_params("`taskId` must be a string that names a task", None))
}
