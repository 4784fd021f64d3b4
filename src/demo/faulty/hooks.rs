//! The places where the demo server can be made to go wrong, and what a server without faults does there: nothing.

use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, ErrorData, JsonObject, ListResourcesResult, ListToolsResult,
    ProgressNotificationParam, ProtocolVersion, ReadResourceResult, ServerConfig, ServerResult,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::fault::{Fault, Heard, Memory};
use crate::demo::era::Eras;
use crate::demo::server::Demo;
use crate::demo::settings::Settings;

/// What a hook that takes its time gives.
pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a call of a tool comes to.
pub(in crate::demo) type Answer = Result<CallToolResult, ErrorData>;

type Rewrite = fn(&Memory, Vec<u8>) -> Vec<u8>;
type AroundRequest = fn(Request<'_>) -> Pending<'_, Result<ServerResult, ErrorData>>;
type AroundCall = fn(Call<'_>) -> Pending<'_, Answer>;
type ReadHook = for<'a> fn(&'a Memory, &'a str) -> Pending<'a, Option<ReadResourceResult>>;

/// The places, from the outside to the inside.
pub(super) struct Hooks {
    /// A line, or the body of a POST, came in.
    pub(super) heard: fn(&Memory, &[u8]) -> Heard,
    /// A message goes out.
    pub(super) said: Option<Rewrite>,
    /// What a server over HTTP does not look at.
    pub(super) waives: fn(Check) -> bool,
    /// Wraps every request, in both eras.
    pub(super) request: Option<AroundRequest>,
    /// Whether a request is served that belongs to no session and names no revision.
    pub(super) admits: fn(&ClientRequest) -> bool,
    /// Whether a revision is agreed to that does not exist.
    pub(super) agrees: fn(&ProtocolVersion) -> bool,
    /// What the server says about itself.
    pub(super) info: fn(&mut ServerConfig),
    /// Whether a cursor is taken.
    pub(super) turns_to: fn(&str) -> bool,
    /// The list of tools.
    pub(super) tools: fn(&Memory, &mut ListToolsResult),
    /// The list of resources.
    pub(super) resources: fn(&mut ListResourcesResult),
    /// Reads an address instead of the directory.
    pub(super) read: Option<ReadHook>,
    /// The arguments of a prompt.
    pub(super) prompt: fn(&mut JsonObject),
    /// Wraps every call of a tool.
    pub(super) call: Option<AroundCall>,
    /// The schema to which arguments are held, where it is not the declared one.
    pub(super) rules: Option<fn(&mut Value)>,
    /// The arguments of a tool, after they were found to fit.
    pub(super) arguments: fn(&Memory, &str, &mut Value),
    /// What a tool gives, before it becomes an answer.
    pub(super) value: fn(&str, &mut Value),
    /// The answer of a tool.
    pub(super) result: fn(&Memory, &str, &mut CallToolResult),
    /// A progress message.
    pub(super) progress: fn(&mut ProgressNotificationParam),
    /// Which settings of the directory are enforced.
    pub(super) settings: fn(&mut Settings),
    /// Whether a cancelled export stops.
    pub(super) stops_when_cancelled: bool,
    /// Whether every conversation has a directory of its own.
    pub(super) keeps_apart: bool,
    /// Whether the end of input is the end.
    pub(super) ends_with_input: bool,
}

/// What a server over HTTP looks at besides messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::demo) enum Check {
    /// Who asks whom: `Host` and `Origin`.
    Origin,
    /// The token that it was told to require.
    Token,
    /// The types that a client accepts.
    Accept,
    /// The headers that repeat what the message says.
    Repetition,
    /// Whether a session is over.
    End,
}

/// The hooks of a server that does everything right.
pub(super) const SOUND: Hooks = Hooks {
    heard: |_, _| Heard::Sound,
    said: None,
    waives: |_| false,
    request: None,
    admits: |_| false,
    agrees: |_| false,
    info: |_| {},
    turns_to: |_| false,
    tools: |_, _| {},
    resources: |_| {},
    read: None,
    prompt: |_| {},
    call: None,
    rules: None,
    arguments: |_, _, _| {},
    value: |_, _| {},
    result: |_, _, _| {},
    progress: |_| {},
    settings: |_| {},
    stops_when_cancelled: true,
    keeps_apart: true,
    ends_with_input: true,
};

/// A request on its way through the server.
pub(in crate::demo) struct Request<'a> {
    pub(super) memory: &'a Memory,
    eras: &'a Eras,
    pub(super) asked: ClientRequest,
    context: RequestContext<RoleServer>,
}

impl<'a> Request<'a> {
    /// A request that came to `eras`.
    pub(in crate::demo) fn new(
        fault: &'a Fault,
        eras: &'a Eras,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Self {
        Self { memory: fault.memory(), eras, asked: request, context }
    }

    /// Answers it as it should be answered.
    pub(super) async fn proceed(self) -> Result<ServerResult, ErrorData> {
        self.eras.answer(self.asked, self.context).await
    }
}

/// A call of a tool on its way to the tool.
pub(in crate::demo) struct Call<'a> {
    pub(super) memory: &'a Memory,
    pub(super) demo: &'a Demo,
    pub(super) request: CallToolRequestParams,
    pub(super) context: &'a RequestContext<RoleServer>,
}

impl<'a> Call<'a> {
    /// A call that came to `demo`.
    pub(in crate::demo) fn new(
        fault: &'a Fault,
        demo: &'a Demo,
        request: CallToolRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Self {
        Self { memory: fault.memory(), demo, request, context }
    }

    /// Whether it is a call of this tool.
    pub(super) fn is_of(&self, tool: &str) -> bool {
        self.request.name == tool
    }

    /// Runs the tool as it should run.
    pub(super) async fn proceed(self) -> Answer {
        self.demo.run(self.request, self.context).await
    }
}
