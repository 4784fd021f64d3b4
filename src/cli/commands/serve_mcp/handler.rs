//! The server as rmcp's handler: its tools, and their calls.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientNotification, ClientRequest, ErrorData,
    Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig, ServerResult, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler, Service};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};

use super::child::{Children, CommandReach, StopReason};
use super::command_line::command_line;
use super::folder::Folder;
use super::outcome::{EndedCommand, refusal, result_of};
use crate::server::declared::{DeclaredTool, find_tool, only_page};
use crate::server::era::{Era, MODERN, admit, complete, explain, open_session, unknown_method};
use crate::server::transport::Input;

/// The methods that are served, in words.
const SERVES: &str = "tools";

/// The milliseconds for which the list of tools may be kept, which never changes.
const LISTS_STAY_FRESH: u64 = 3_600_000;

/// The time between two messages about progress; many clients stop waiting after a minute without one.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

const INSTRUCTIONS: &str = "Tests MCP servers with suites in YAML. Write a suite, `check` it, `run` it; `tools` and \
    `call` look at a server by hand. `plan` lists cases, `prove` tells which faults a suite would catch, `coverage` which it \
    means to, `grow` adds tests, `findings` shows what runs have kept, and `explain` explains a code in brackets. Paths are within the folder in which this server was started. A suite:\n\
    suite: Users\n\
    server: { command: [node, server.js] }\n\
    tests:\n\
    \x20 - name: a user is found\n\
    \x20   call: get_user\n\
    \x20   args: { id: u1 }\n\
    \x20   expect: [{ at: result.structuredContent.name, equals: Ann }]";

/// The tools, each with the same schema of its output.
static TOOLS: LazyLock<Vec<DeclaredTool>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Declarations {
        tools: Vec<DeclaredTool>,
        output: Arc<JsonObject>,
    }
    let declarations: Declarations = serde_json::from_str(include_str!("tools.json"))
        .unwrap_or_else(|error| panic!("the tools of `serve mcp` cannot be read: {error}"));
    let mut tools = declarations.tools;
    for declared in &mut tools {
        declared.tool.output_schema = Some(Arc::clone(&declarations.output));
    }
    tools
});

/// The server, in both eras.
pub(super) struct ToolServer {
    handler: ToolHandler,
}

/// The server within one era.
struct ToolHandler {
    folder: Folder,
    children: Arc<Children>,
    input: watch::Receiver<Input>,
    leaving: watch::Receiver<bool>,
}

impl ToolServer {
    /// A server that runs commands in `folder`, and ends them when its input is over or it is `leaving`.
    pub(super) fn new(
        folder: Folder,
        children: Arc<Children>,
        input: watch::Receiver<Input>,
        leaving: watch::Receiver<bool>,
    ) -> Self {
        Self { handler: ToolHandler { folder, children, input, leaving } }
    }
}

impl Service<RoleServer> for ToolServer {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let method = request.method().to_owned();
        let era = admit(&request, &context, SERVES)?;
        if !is_served(&request) {
            return Err(unknown_method(&method, SERVES));
        }
        let answer = Service::handle_request(&self.handler, request, context).await;
        let mut result = answer.map_err(|error| explain(error, &method, SERVES))?;
        if era == Era::Modern {
            complete(&mut result, &identity(), LISTS_STAY_FRESH);
        }
        Ok(result)
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.handler, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.handler)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.handler)
    }
}

/// rmcp answers requests about prompts and resources with empty lists, although none are declared.
fn is_served(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::InitializeRequest(_)
            | ClientRequest::DiscoverRequest(_)
            | ClientRequest::PingRequest(_)
            | ClientRequest::ListToolsRequest(_)
            | ClientRequest::CallToolRequest(_)
            | ClientRequest::SubscriptionsListenRequest(_)
    )
}

/// Name and version, as both eras show them.
fn identity() -> Implementation {
    Implementation::new("mcprove", env!("CARGO_PKG_VERSION")).with_title("mcprove")
}

impl ServerHandler for ToolHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(identity()).with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&MODERN)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        Ok(open_session(ServerHandler::get_info(self), request, &context))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(|declared| declared.tool.clone()).collect()))
    }

    /// A tool that does not exist is the protocol's error; arguments that do not fit are the tool's own.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let declared = find_tool(TOOLS.iter(), &request.name)?;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let complaints = declared.input.complaints(&arguments);
        if !complaints.is_empty() {
            return Ok(refusal(complaints.join("\n")).into());
        }
        Ok(match command_line(&request.name, &arguments, &self.folder) {
            Ok(words) => {
                let reach = if declared.changes() { CommandReach::Servers } else { CommandReach::Files };
                let ran = self.run(words, reach, &context).await;
                outcome(&request.name, ran)
            }
            Err(reason) => refusal(reason),
        }
        .into())
    }

    /// Accepts every subscription, and promises nothing in it: the list of tools never changes.
    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::default())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut input = self.input.clone();
        tokio::select! {
            () = context.cancelled() => {}
            _ = input.wait_for(Input::is_over) => {}
        }
        Ok(())
    }
}

impl ToolHandler {
    /// Runs a command until it ends or nobody waits for it any more.
    async fn run(
        &self,
        words: Vec<String>,
        reach: CommandReach,
        context: &RequestContext<RoleServer>,
    ) -> io::Result<Option<EndedCommand>> {
        let (mut input, mut leaving, cancelled) = (self.input.clone(), self.leaving.clone(), context.ct.clone());
        let stop = async move {
            tokio::select! {
                biased;
                _ = leaving.wait_for(|leaving| *leaving) => StopReason::Leaving,
                _ = input.wait_for(Input::is_over) => StopReason::Leaving,
                () = cancelled.cancelled() => StopReason::Cancelled,
            }
        };
        tokio::select! {
            ran = Arc::clone(&self.children).run(words, reach, stop) => ran,
            never = report_progress(context) => match never {},
        }
    }
}

/// Tells a client that asked for it every few seconds how long the call has taken; never returns.
async fn report_progress(context: &RequestContext<RoleServer>) -> std::convert::Infallible {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let start = Instant::now();
    let mut ticks = interval_at(start + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    loop {
        let seconds = (ticks.tick().await - start).as_secs();
        #[expect(clippy::cast_precision_loss, reason = "no call takes 2^53 seconds")]
        let progress = ProgressNotificationParam::new(token.clone(), seconds as f64);
        // It fails when the client is gone, which ends the call by itself.
        drop(context.peer.notify_progress(progress.with_message(format!("{seconds} s so far"))).await);
    }
}

fn outcome(tool: &str, ran: io::Result<Option<EndedCommand>>) -> CallToolResult {
    match ran {
        Ok(Some(ended)) => result_of(tool, &ended),
        // rmcp sends no answer to a cancelled request, so nobody reads this.
        Ok(None) => refusal("the call was stopped, and ended with what it started"),
        Err(error) => refusal(format!("mcprove cannot start itself: {error}; start this server again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ci` calls no tool that may change data by itself, and passes no server of which most tools are left alone.
    #[test]
    fn half_of_the_tools_only_read() {
        let changing = TOOLS.iter().filter(|declared| declared.changes()).count();
        assert!(changing * 2 <= TOOLS.len(), "{changing} of {} tools may change something", TOOLS.len());
    }
}
