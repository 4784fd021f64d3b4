//! The two eras on one connection: sessions opened by `initialize`, and stateless requests with their own `_meta`.
//!
//! Stands between rmcp's loop and the handler. Refuses what belongs to no era, and adds to results what the newer
//! revision asks for and rmcp leaves out.

use rmcp::RoleServer;
use rmcp::model::{
    CacheScope, ClientRequest, ErrorCode, ErrorData, Implementation, InitializeRequestParams, InitializeResult,
    MetaObject, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::RequestContext;
use serde_json::json;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The era in which a request is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25 and before.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// Revisions that open with `initialize`; a client that asks for another one is offered the newest.
pub const LEGACY: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];

/// Revisions that a request can name for itself.
pub const MODERN: [ProtocolVersion; 1] = [ProtocolVersion::V_2026_07_28];

/// Opens a session, in the revision that the client asks for if that has sessions; the answer to `initialize`.
pub fn open_session(
    server: ServerConfig,
    mut request: InitializeRequestParams,
    context: &RequestContext<RoleServer>,
) -> InitializeResult {
    if !LEGACY.contains(&request.protocol_version) {
        request.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    }
    let mut answer = server.with_protocol_version(request.protocol_version.clone());
    // Extensions came later.
    answer.capabilities.extensions = None;
    context.peer.set_peer_info(request);
    answer
}

/// The era of a request, or why it has none.
pub fn admit(request: &ClientRequest, context: &RequestContext<RoleServer>, serves: &str) -> Result<Era, ErrorData> {
    let is_open = context.peer.peer_info().is_some();
    let names_version = context.meta.protocol_version().is_some();
    let opens = matches!(request, ClientRequest::InitializeRequest(_));
    // rmcp itself asks for the metadata of `server/discover`, and `ping` is allowed at any time.
    let is_always_open = matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
    match (opens, names_version, is_open) {
        (true, true, _) => Err(unknown_method("initialize", serves)),
        (true, false, true) => Err(ErrorData::invalid_request(
            "the session is initialized already; start the server again to open another",
            None,
        )),
        (false, true, _) => Ok(Era::Modern),
        (false, false, false) if !is_always_open => Err(no_session(context)),
        (true, false, false) | (false, false, _) => Ok(Era::Legacy),
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

/// Names in an error for an unknown method what the server `serves`; rmcp says no more than the method.
pub fn explain(error: ErrorData, method: &str, serves: &str) -> ErrorData {
    if error.code == ErrorCode::METHOD_NOT_FOUND && error.message == method {
        return unknown_method(method, serves);
    }
    error
}

/// The error for a method that is not served.
pub fn unknown_method(method: &str, serves: &str) -> ErrorData {
    let message = format!("the server offers no method `{method}`; it serves {serves}");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Adds the server's name, and how many milliseconds a list may be kept.
#[expect(clippy::wildcard_enum_match_arm, reason = "the server gives no other results in this era")]
pub fn complete(result: &mut ServerResult, server: &Implementation, lists_stay_fresh: u64) {
    let server_info = serde_json::to_value(server).unwrap_or_default();
    let (meta, freshness) = match result {
        ServerResult::CallToolResult(result) => (&mut result.meta, None),
        ServerResult::InputRequiredResult(result) => (&mut result.meta, None),
        ServerResult::CreateTaskResult(result) => (&mut result.meta, None),
        ServerResult::CompleteResult(result) => (&mut result.meta, None),
        ServerResult::GetPromptResult(result) => (&mut result.meta, None),
        // What a resource holds can change at any time, so this keeps rmcp's "stale at once, for this client alone".
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
            result.0["_meta"] = json!({ SERVER_INFO: server_info });
            return;
        }
        _ => return,
    };
    meta.get_or_insert_with(MetaObject::new).0.insert(SERVER_INFO.to_owned(), server_info);
    if let Some((ttl, scope)) = freshness {
        *ttl = Some(lists_stay_fresh);
        *scope = Some(CacheScope::Public);
    }
}
