//! The host of a model: it connects to the suite's servers through the client of the official SDK, as a real host does,
//! offers their tools to the model, and makes the calls.
//!
//! The SDK's client decides what to send and must be able to read what comes back; its messages travel in the sessions of
//! this program, so that every frame is in the transcript, struck by faults, and played back in a proof.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientJsonRpcMessage, ListToolsResult, ProtocolVersion,
    ServerJsonRpcMessage, ServerPeerInfo,
};
use rmcp::service::{RunningService, ServiceError, serve_directly};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::provider::ToolResult;
use crate::check::answer_data::{AnswerData, kinds_of};
use crate::check::evidence::exchange;
use crate::event::{Exchange, Finding};
use crate::fault::FaultPlayer;
use crate::matching::words_of;
use crate::plan::{CaseStore, CheckContext, CloseServer, FreshServers, OpenServer};
use crate::session::{Session, SessionReply, SessionRequest};
use crate::transport::Owner;
use crate::wire::Tool;

/// Between the name of a server and that of a tool, where several servers have a tool of that name.
const SEPARATOR: &str = "__";

/// A tool as it is offered to a model.
#[derive(Debug, Clone)]
pub(crate) struct ModelTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) origin: ToolOrigin,
}

/// The origin of an offered tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolOrigin {
    /// A server of the suite.
    Server {
        server: String,
        /// Its name there.
        tool: String,
    },
    /// Nowhere: it is there to see whether the model leaves it alone.
    Decoy,
}

/// The servers of an agent, each with a client of the SDK.
pub(crate) struct AgentHost<'a> {
    connections: Vec<HostConnection<'a>>,
    /// The tools of all servers, in listed order.
    pub(crate) tools: Vec<ModelTool>,
    /// The same as the servers list them.
    pub(crate) listed: Vec<ListedTool>,
    /// Names that several servers use, with the names under which their tools are offered.
    pub(crate) clashes: Vec<String>,
}

/// A tool as its server lists it.
#[derive(Debug, Clone)]
pub(crate) struct ListedTool {
    pub(crate) server: String,
    pub(crate) tool: Tool,
}

/// A tool that was called, and what came of it.
pub(crate) struct HostCall {
    pub(crate) result: ToolResult,
    /// Why there is no answer that the SDK's client can read.
    pub(crate) failure: Option<Finding>,
    pub(crate) exchange: Option<Exchange>,
}

impl HostCall {
    /// A call that no server answers; the text stands for an answer.
    pub(crate) fn not_made(text: &str) -> Self {
        Self { result: refusal(text), failure: None, exchange: None }
    }
}

/// Why there is no host.
pub(crate) enum HostFailure {
    /// A server cannot be started or reached.
    Unavailable(Finding),
    /// A server does not tell its tools in a way that the SDK's client can read.
    Unusable(Finding),
}

impl<'a> AgentHost<'a> {
    /// Connects to the servers of these names, and lists their tools.
    pub(crate) async fn open(
        context: &CheckContext<'a>,
        servers: &[String],
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<Self, HostFailure> {
        let mut host = Self { connections: Vec::new(), tools: Vec::new(), listed: Vec::new(), clashes: Vec::new() };
        for server in servers {
            match HostConnection::open(context, server, faults).await {
                Ok(connection) => host.connections.push(connection),
                Err(failure) => {
                    host.close().await;
                    return Err(failure);
                }
            }
        }
        for connection in &mut host.connections {
            match connection.tools().await {
                Ok(tools) => host.listed.extend(tools),
                Err(found) => {
                    host.close().await;
                    return Err(HostFailure::Unusable(found));
                }
            }
        }
        host.tools = host.listed.iter().map(ListedTool::to_offered_tool).collect();
        host.clashes = resolve_clashes(&mut host.tools);
        Ok(host)
    }

    /// Calls a tool of a server.
    pub(crate) async fn call(&mut self, server: &str, tool: &str, arguments: Map<String, Value>) -> HostCall {
        match self.connections.iter_mut().find(|connection| connection.server == server) {
            Some(connection) => connection.call(tool, arguments).await,
            None => HostCall::not_made(&format!("there is no server `{server}`")),
        }
    }

    /// The revision that the first server speaks.
    pub(crate) fn revision(&self) -> String {
        self.connections.first().map(|first| first.session.server.revision.to_string()).unwrap_or_default()
    }

    /// Ends the connections and their servers; tells of servers that had ended by themselves.
    pub(crate) async fn close(self) -> Vec<Finding> {
        let mut ended = Vec::new();
        for connection in self.connections {
            ended.extend(connection.close().await);
        }
        ended
    }
}

impl ListedTool {
    fn to_offered_tool(&self) -> ModelTool {
        let Self { server, tool } = self;
        ModelTool {
            name: tool.name.clone(),
            description: tool.raw["description"].as_str().unwrap_or_default().to_owned(),
            schema: tool.input_schema().clone(),
            origin: ToolOrigin::Server { server: server.clone(), tool: tool.name.clone() },
        }
    }
}

/// The name of a tool that several servers have.
pub(crate) fn offered_name(server: &str, tool: &str) -> String {
    format!("{server}{SEPARATOR}{tool}")
}

/// Puts the name of the server before each name that several servers use; tells of each such name.
fn resolve_clashes(tools: &mut [ModelTool]) -> Vec<String> {
    let mut offered: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let of_name = |name: &str, tools: &[ModelTool]| tools.iter().filter(|tool| tool.name == name).count();
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    for name in names.iter().filter(|name| of_name(name, tools) > 1).cloned().collect::<Vec<_>>() {
        for tool in tools.iter_mut().filter(|tool| tool.name == name) {
            if let ToolOrigin::Server { server, .. } = &tool.origin {
                tool.name = offered_name(server, &name);
                offered.entry(name.clone()).or_default().push(format!("`{}`", tool.name));
            }
        }
    }
    let told = |(name, offered): (String, Vec<String>)| {
        format!("several servers have a tool `{name}`; the model is offered {}", offered.join(" and "))
    };
    offered.into_iter().map(told).collect()
}

/// An answer that no server gave.
fn refusal(text: &str) -> ToolResult {
    let message = json!({ "result": { "content": [{ "type": "text", "text": text }], "isError": true } });
    ToolResult { text: text.to_owned(), is_error: true, message: Arc::new(message) }
}

/// A session with a server, and the SDK's client in it.
struct HostConnection<'a> {
    server: String,
    servers: Reached<'a>,
    owner: Owner,
    session: Session,
    client: RunningService<RoleClient, ()>,
    /// Messages that the client wants to send.
    wanted: UnboundedReceiver<Value>,
    answers: UnboundedSender<ServerJsonRpcMessage>,
}

/// The way to the fresh servers of a name.
enum Reached<'a> {
    /// Those of the case.
    Own(&'a dyn FreshServers),
    /// Those of another server of the suite.
    Other(Box<dyn FreshServers + 'a>),
}

impl Reached<'_> {
    fn get(&self) -> &dyn FreshServers {
        match self {
            Self::Own(servers) => *servers,
            Self::Other(servers) => servers.as_ref(),
        }
    }
}

/// A request of the client that was sent and answered, or was not.
enum Sent {
    Answered(SessionReply),
    /// The answer is nothing that the client can read.
    Unreadable(SessionReply, String),
    Failed(Box<Finding>),
}

impl<'a> HostConnection<'a> {
    async fn open(
        context: &CheckContext<'a>,
        server: &str,
        faults: Option<&Arc<FaultPlayer>>,
    ) -> Result<Self, HostFailure> {
        let servers = if server == context.server_name {
            Reached::Own(context.servers)
        } else {
            let not_used = || Finding::new("not-selected", format!("the run does not use the server `{server}`"));
            Reached::Other(context.servers.of_server(server).ok_or_else(|| HostFailure::Unavailable(not_used()))?)
        };
        let opened = servers.get().open(OpenServer { faults, store: CaseStore::Anew, ..OpenServer::FRESH }).await;
        let session = opened.map_err(HostFailure::Unavailable)?;
        let peer = match peer_info(&session) {
            Ok(peer) => peer,
            Err(found) => {
                servers.get().close(&session, CloseServer::AfterTeardown).await;
                return Err(HostFailure::Unusable(found));
            }
        };
        let (ask, wanted) = unbounded_channel();
        let (answers, answered) = unbounded_channel();
        let client = serve_directly((), ClientWire { ask, answered }, Some(peer));
        Ok(Self { server: server.to_owned(), servers, owner: context.owner.clone(), session, client, wanted, answers })
    }

    /// Lists the tools, all pages.
    async fn tools(&mut self) -> Result<Vec<ListedTool>, Finding> {
        let peer = self.client.peer().clone();
        let (listed, sent) = self.carry(async move { peer.list_all_tools().await }).await;
        let listed = match (listed, sent) {
            (Ok(listed), _) => listed,
            (Err(_), Some(Sent::Failed(found))) => return Err(*found),
            (Err(_), Some(Sent::Unreadable(reply, why))) => return Err(unreadable("tools/list", &reply, &why)),
            (Err(why), Some(Sent::Answered(reply))) if !matches!(why, ServiceError::McpError(_)) => {
                let why = reason::<ListToolsResult>(&reply, &why);
                return Err(unreadable("tools/list", &reply, &why));
            }
            (Err(why), Some(Sent::Answered(_)) | None) => {
                return Err(Finding::new("no-tools", format!("the tools cannot be listed: {}", service_text(&why))));
            }
        };
        let listed = listed.into_iter().map(|tool| {
            let raw = serde_json::to_value(&tool).unwrap_or_default();
            ListedTool { server: self.server.clone(), tool: Tool::new(raw) }
        });
        Ok(listed.collect())
    }

    async fn call(&mut self, tool: &str, arguments: Map<String, Value>) -> HostCall {
        let title = format!("tools/call {tool}");
        let peer = self.client.peer().clone();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let (called, sent) = self.carry(async move { peer.call_tool_once(params).await }).await;
        let sent = match (sent, &called) {
            // It is an answer to some other request, as the SDK reads it.
            (Some(Sent::Answered(reply)), Err(why)) if !matches!(why, ServiceError::McpError(_)) => {
                let why = reason::<CallToolResult>(&reply, why);
                Some(Sent::Unreadable(reply, why))
            }
            (sent, _) => sent,
        };
        match sent {
            Some(Sent::Answered(reply)) => {
                let exchange = Some(exchange(&title, &reply));
                HostCall { result: readable_result(&reply.message), failure: None, exchange }
            }
            Some(Sent::Unreadable(reply, why)) => {
                let exchange = Some(exchange(&title, &reply));
                let found = unreadable(&title, &reply, &why);
                HostCall { result: refusal(&found.message), failure: Some(found), exchange }
            }
            Some(Sent::Failed(found)) => {
                HostCall { result: refusal(&found.message), failure: Some(*found), exchange: None }
            }
            None => HostCall::not_made(&called.err().map(|why| service_text(&why)).unwrap_or_default()),
        }
    }

    /// Waits for the client, and carries its requests to the server meanwhile; the last of them is handed back.
    async fn carry<T>(&mut self, asking: impl Future<Output = T>) -> (T, Option<Sent>) {
        tokio::pin!(asking);
        let mut last = None;
        loop {
            tokio::select! {
                done = &mut asking => return (done, last),
                Some(message) = self.wanted.recv() => last = self.send(&message).await.or(last),
            }
        }
    }

    /// Sends a request; notifications of the client speak of ids that are not those of the session, and stay here.
    async fn send(&self, message: &Value) -> Option<Sent> {
        let (id, method) = (message.get("id")?, message["method"].as_str()?);
        let request = SessionRequest {
            owner: &self.owner,
            method,
            params: message.get("params").cloned(),
            timeout: None,
            progress: false,
        };
        let sent = match self.session.request(request).await {
            Ok(reply) => match readable(&reply.message, id) {
                Ok(answer) => {
                    let _ = self.answers.send(answer);
                    return Some(Sent::Answered(reply));
                }
                Err(why) => Sent::Unreadable(reply, why),
            },
            Err(failure) => Sent::Failed(Box::new(Finding::from(&failure))),
        };
        // The client waits for some answer.
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no answer"}});
        if let Ok(answer) = serde_json::from_value(error) {
            let _ = self.answers.send(answer);
        }
        Some(sent)
    }

    async fn close(self) -> Option<Finding> {
        let _ = self.client.cancel().await;
        self.servers.get().close(&self.session, CloseServer::AfterTeardown).await.exit
    }
}

/// An answer with the id of the client, as the SDK reads it.
fn readable(message: &Value, id: &Value) -> Result<ServerJsonRpcMessage, String> {
    let mut message = message.clone();
    message["id"] = id.clone();
    serde_json::from_value(message).map_err(|why| why.to_string())
}

/// Why an answer that the SDK took for one to another request is none to this one.
fn reason<T: serde::de::DeserializeOwned>(reply: &SessionReply, why: &ServiceError) -> String {
    let read = serde_json::from_value::<T>(reply.message["result"].clone());
    read.err().map_or_else(|| service_text(why), |why| why.to_string())
}

fn unreadable(title: &str, reply: &SessionReply, why: &str) -> Finding {
    Finding {
        frame: Some(reply.answer_frame),
        help: Some("compare the answer with the schema of the specification; `compliance` checks its parts".to_owned()),
        ..Finding::new("sdk-unreadable", format!("the client of the SDK cannot read the answer to `{title}`"))
    }
    .with_evidence("reason", why)
}

fn service_text(why: &ServiceError) -> String {
    if let ServiceError::McpError(error) = why {
        return format!("error {}: {}", error.code.0, error.message);
    }
    why.to_string()
}

/// The handshake as the SDK knows it.
fn peer_info(session: &Session) -> Result<ServerPeerInfo, Finding> {
    let result = &session.server.result;
    let version: ProtocolVersion = read_part(&json!(session.server.revision.as_str()), "protocolVersion")?;
    let mut info = ServerPeerInfo::new(version, read_part(&result["capabilities"], "capabilities")?);
    if let Some(named) = result.get("serverInfo") {
        info.server_info = Some(read_part(named, "serverInfo")?);
    }
    info.instructions = result["instructions"].as_str().map(str::to_owned);
    Ok(info)
}

fn read_part<T: serde::de::DeserializeOwned>(part: &Value, name: &str) -> Result<T, Finding> {
    serde_json::from_value(part.clone()).map_err(|why| {
        let message = format!("the client of the SDK cannot read `{name}` of the handshake");
        Finding::new("sdk-unreadable", message).with_evidence("reason", why.to_string())
    })
}

/// The part of an answer that a model reads: its texts, or what stands for them.
fn readable_result(message: &Arc<Value>) -> ToolResult {
    let result = &message["result"];
    let is_error = message.get("error").is_some() || result["isError"] == true;
    let mut text = words_of(message);
    if text.is_empty() {
        let named = || kinds_of(result).map(|kind| format!("[{kind}]")).collect::<Vec<_>>().join(" ");
        text = AnswerData::of_result(result).structured_content().map_or_else(named, Value::to_string);
    }
    ToolResult { text, is_error, message: Arc::clone(message) }
}

/// The client's end of a session.
struct ClientWire {
    ask: UnboundedSender<Value>,
    answered: UnboundedReceiver<ServerJsonRpcMessage>,
}

/// The session is over.
#[derive(Debug, Clone, Copy)]
struct SessionOver;

impl fmt::Display for SessionOver {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the session is over")
    }
}

impl std::error::Error for SessionOver {}

impl Transport<RoleClient> for ClientWire {
    type Error = SessionOver;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), SessionOver>> + Send + 'static {
        let sent = serde_json::to_value(&item).ok().and_then(|message| self.ask.send(message).ok());
        async move { sent.ok_or(SessionOver) }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.answered.recv().await
    }

    async fn close(&mut self) -> Result<(), SessionOver> {
        self.answered.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(server: &str, name: &str) -> ModelTool {
        ListedTool { server: server.to_owned(), tool: Tool::new(json!({ "name": name, "inputSchema": {} })) }
            .to_offered_tool()
    }

    #[test]
    fn tools_of_one_name_are_offered_with_their_server() {
        let mut tools = vec![listed("files", "search"), listed("mail", "search"), listed("mail", "send")];
        let clashes = resolve_clashes(&mut tools);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["files__search", "mail__search", "send"]);
        let expected = "several servers have a tool `search`; the model is offered `files__search` and `mail__search`";
        assert_eq!(clashes, [expected]);
        let ToolOrigin::Server { tool, .. } = &tools[0].origin else { panic!("{tools:?}") };
        assert_eq!(tool, "search", "the server is called by its own name for it");
    }

    #[test]
    fn a_model_reads_texts_or_what_stands_for_them() {
        let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
        for (message, text, is_error) in [
            (json!({ "result": { "content": [{ "type": "text", "text": "Ann" }] } }), "Ann", false),
            (json!({ "result": { "content": [{ "type": "text", "text": "no" }], "isError": true } }), "no", true),
            (json!({ "result": { "content": [], "structuredContent": { "id": 1 } } }), "{\"id\":1}", false),
            (json!({ "result": { "content": [image.clone(), image] } }), "[image] [image]", false),
            (json!({ "result": { "content": [] } }), "", false),
            (json!({ "error": { "code": -32602, "message": "no such id" } }), "no such id", true),
        ] {
            let result = readable_result(&Arc::new(message.clone()));
            assert_eq!((result.text.as_str(), result.is_error), (text, is_error), "{message}");
        }
    }

    #[test]
    fn an_answer_must_be_one_that_the_sdk_reads() {
        let is_read = |message: Value| readable(&message, &json!(7)).is_ok();
        assert!(is_read(json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } })));
        assert!(is_read(json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": "no" } })));
        assert!(!is_read(json!({ "jsonrpc": "2.0", "id": 1, "error": { "message": "no code" } })));
        assert!(!is_read(json!({ "id": 1, "result": {} })), "it is no JSON-RPC");
    }
}
