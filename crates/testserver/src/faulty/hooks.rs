//! The places inside the demo server where it can be made to go wrong; a correct server does nothing there.

use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock, ErrorData, ListToolsResult, ReadResourceResult,
    ServerResult, Tool,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::server_fault::{FaultMemory, ServerFault};
use crate::era::Eras;
use crate::server::Demo;
use crate::settings::Settings;

/// The result of a hook that takes its time.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a call of a tool.
pub(crate) type CallResult = Result<CallToolResult, ErrorData>;

type AroundRequest = fn(HookedRequest<'_>) -> Pending<'_, Result<ServerResult, ErrorData>>;
type AroundCall = fn(ToolCall<'_>) -> Pending<'_, CallResult>;
type ReadHook = for<'a> fn(&'a FaultMemory, &'a str) -> Pending<'a, Option<ReadResourceResult>>;

/// The places, from the outside to the inside.
#[expect(clippy::struct_excessive_bools, reason = "each is a place where one server goes wrong")]
pub(crate) struct Hooks {
    /// Runs when the server starts.
    pub(crate) start: fn(&FaultMemory),
    /// Gets each line that comes in, or the body of a POST; can answer an earlier one.
    pub(crate) heard: fn(&FaultMemory, &[u8]) -> Option<Vec<u8>>,
    /// Wraps every request, in both eras.
    pub(crate) request: Option<AroundRequest>,
    /// Changes the list of tools.
    pub(crate) tools: fn(&FaultMemory, &mut ListToolsResult),
    /// Reads an address instead of the directory.
    pub(crate) read: Option<ReadHook>,
    /// Wraps every call of a tool.
    pub(crate) call: Option<AroundCall>,
    /// Changes the schema to which arguments are held.
    pub(crate) rules: Option<fn(&mut Value)>,
    /// Changes the arguments of a tool, after they were found to fit.
    pub(crate) arguments: fn(&FaultMemory, &str, &mut Value),
    /// Changes the settings that are enforced.
    pub(crate) settings: fn(&mut Settings),
    /// True if a cancelled export stops.
    pub(crate) stops_when_cancelled: bool,
    /// True if every conversation has a directory of its own.
    pub(crate) keeps_apart: bool,
    /// True if all clients that listen are told of changes.
    pub(crate) tells_everybody: bool,
    /// True if requests need the token that the server was told to require.
    pub(crate) checks_tokens: bool,
    /// True if sessions over HTTP can be ended.
    pub(crate) ends_sessions: bool,
}

/// The hooks of a server that does everything right.
pub(crate) const SOUND: Hooks = Hooks {
    start: |_| {},
    heard: |_, _| None,
    request: None,
    tools: |_, _| {},
    read: None,
    call: None,
    rules: None,
    arguments: |_, _, _| {},
    settings: |_| {},
    stops_when_cancelled: true,
    keeps_apart: true,
    tells_everybody: false,
    checks_tokens: true,
    ends_sessions: true,
};

/// A request on its way through the server.
pub(crate) struct HookedRequest<'a> {
    pub(crate) memory: &'a FaultMemory,
    eras: &'a Eras,
    pub(crate) asked: ClientRequest,
    context: RequestContext<RoleServer>,
}

impl<'a> HookedRequest<'a> {
    /// A request that came to `eras`.
    pub(crate) fn new(
        fault: &'a ServerFault,
        eras: &'a Eras,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Self {
        Self { memory: fault.memory(), eras, asked: request, context }
    }

    /// The id that the answer will have.
    pub(crate) fn id(&self) -> Value {
        self.context.id.clone().into_json_value()
    }

    /// Answers it as it should be answered.
    pub(crate) async fn proceed(self) -> Result<ServerResult, ErrorData> {
        self.eras.answer(self.asked, self.context).await
    }
}

/// A call of a tool on its way to the tool.
pub(crate) struct ToolCall<'a> {
    pub(crate) memory: &'a FaultMemory,
    pub(crate) demo: &'a Demo,
    pub(crate) request: CallToolRequestParams,
    pub(crate) context: &'a RequestContext<RoleServer>,
}

impl<'a> ToolCall<'a> {
    /// A call that came to `demo`.
    pub(crate) fn new(
        fault: &'a ServerFault,
        demo: &'a Demo,
        request: CallToolRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Self {
        Self { memory: fault.memory(), demo, request, context }
    }

    /// It is a call of this tool.
    pub(crate) fn is_of(&self, tool: &str) -> bool {
        self.request.name == tool
    }

    /// Runs the tool as it should run.
    pub(crate) async fn proceed(self) -> CallResult {
        self.demo.run(self.request, self.context).await
    }
}

/// Adds words to the description of a tool.
pub(crate) fn describe(tool: &mut Tool, more: &str) {
    let description = tool.description.take().unwrap_or_default();
    tool.description = Some(format!("{description}{more}").into());
}

/// An error of a tool.
pub(crate) fn failure(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// A tool reports a failure.
pub(crate) fn is_failure(result: &CallToolResult) -> bool {
    result.is_error == Some(true)
}
