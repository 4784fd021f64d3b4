//! The two eras on one connection: sessions opened by `initialize`, and stateless requests with their own `_meta`.
//!
//! Stands between rmcp's loop and the handler. Refuses what belongs to no era, and adds to results what the newer
//! revision asks for and rmcp leaves out. Knows nothing about tools.

use std::borrow::Cow;

use rmcp::model::{
    CacheScope, ClientNotification, ClientRequest, ErrorCode, ErrorData, MetaObject, ProtocolVersion, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, Service};
use serde_json::{Value, json};

use super::faulty::HookedRequest;
use super::server::Demo;
use super::tasks;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The era in which a request is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DemoEra {
    /// 2025-11-25 and before.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// The demo server with its eras kept apart.
pub(crate) struct Eras {
    demo: Demo,
}

impl Eras {
    /// Puts the eras in front of `demo`.
    pub(crate) fn new(demo: Demo) -> Self {
        Self { demo }
    }

    /// Answers a request in its era.
    pub(crate) async fn answer(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let method = request.method().to_owned();
        let era = admit(&request, &context)?;
        if let Some(fixtures) = self.demo.fixtures() {
            fixtures.note(&request, &mut context);
        }
        let revision = context.protocol_version();
        let answer = match tasks::answer_task_call(&self.demo, &request, &context).filter(|_| era == DemoEra::Legacy) {
            Some(answer) => answer,
            None => Service::handle_request(&self.demo, request, context).await,
        };
        let mut result = answer.map_err(|error| explain(error, &method))?;
        match era {
            DemoEra::Legacy => tasks::declare(&self.demo, revision.as_ref(), &mut result),
            DemoEra::Modern => complete(&mut result, self.demo.freshness()),
        }
        Ok(result)
    }
}

impl Service<RoleServer> for Eras {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let fault = self.demo.fault();
        fault.request(HookedRequest::new(fault, self, request, context)).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.demo, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.demo)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.demo)
    }
}

/// The era of a request, or why it has none.
fn admit(request: &ClientRequest, context: &RequestContext<RoleServer>) -> Result<DemoEra, ErrorData> {
    let is_open = context.peer.peer_info().is_some();
    let names_version = context.meta.protocol_version().is_some();
    let opens = matches!(request, ClientRequest::InitializeRequest(_));
    // rmcp itself asks for the metadata of `server/discover`, and `ping` is allowed at any time.
    let is_always_open = matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
    match (opens, names_version, is_open) {
        (true, true, _) => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, unknown_method("initialize"), None)),
        (true, false, true) => Err(ErrorData::invalid_request(
            "the session is initialized already; start the server again to open another",
            None,
        )),
        (false, true, _) => Ok(DemoEra::Modern),
        (false, false, false) if !is_always_open => Err(no_session(context)),
        (true, false, false) | (false, false, _) => Ok(DemoEra::Legacy),
    }
}

fn no_session(context: &RequestContext<RoleServer>) -> ErrorData {
    let missing = context.meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
    ErrorData::invalid_params(
        format!(
            "no session is open, and `params._meta` lacks {}; send `initialize` first, or name them in every request",
            missing.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ")
        ),
        None,
    )
}

/// rmcp says no more about an unknown method than its name.
fn explain(error: ErrorData, method: &str) -> ErrorData {
    if error.code == ErrorCode::METHOD_NOT_FOUND && error.message == method {
        return ErrorData { message: unknown_method(method).into(), ..error };
    }
    error
}

/// The error message for a method that is not served.
pub(crate) fn unknown_method(method: &str) -> String {
    format!("the server offers no method `{method}`; it serves tools, resources, prompts and completions")
}

/// Adds the server's name, and how many milliseconds a list may be kept.
#[expect(clippy::wildcard_enum_match_arm, reason = "the server gives no other results in this era")]
pub(crate) fn complete(result: &mut ServerResult, lists_stay_fresh: u64) {
    let (meta, freshness) = match result {
        ServerResult::CallToolResult(result) => (&mut result.meta, None),
        ServerResult::InputRequiredResult(result) => (&mut result.meta, None),
        ServerResult::CreateTaskResult(result) => (&mut result.meta, None),
        ServerResult::CompleteResult(result) => (&mut result.meta, None),
        ServerResult::GetPromptResult(result) => (&mut result.meta, None),
        // What users are there can change at any time, so this keeps rmcp's "stale at once, for this client alone".
        ServerResult::ReadResourceResult(result) => (&mut result.meta, None),
        ServerResult::ListToolsResult(result) => {
            (&mut result.meta, Some((&mut result.ttl_ms, &mut result.cache_scope)))
        }
        ServerResult::ListPromptsResult(result) => {
            (&mut result.meta, Some((&mut result.ttl_ms, &mut result.cache_scope)))
        }
        ServerResult::ListResourcesResult(result) => {
            (&mut result.meta, Some((&mut result.ttl_ms, &mut result.cache_scope)))
        }
        ServerResult::ListResourceTemplatesResult(result) => {
            (&mut result.meta, Some((&mut result.ttl_ms, &mut result.cache_scope)))
        }
        ServerResult::DiscoverResult(result) => {
            result.ttl_ms = lists_stay_fresh;
            result.cache_scope = CacheScope::Public;
            return;
        }
        ServerResult::CustomResult(result) => {
            result.0["_meta"] = json!({ SERVER_INFO: server_info() });
            return;
        }
        _ => return,
    };
    meta.get_or_insert_with(MetaObject::new).0.insert(SERVER_INFO.to_owned(), server_info());
    if let Some((ttl, scope)) = freshness {
        *ttl = Some(lists_stay_fresh);
        *scope = Some(CacheScope::Public);
    }
}

fn server_info() -> Value {
    serde_json::to_value(Demo::identity()).unwrap_or_default()
}
