//! Requests without a session, as 2026-07-28 has them: what they are about stands in headers, too.

use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use mcprove_server::era::{MODERN, unknown_method};
use mcprove_server::transport::envelope::{Judged, Refusal, UnreadId, judge};
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, JsonRpcRequest};
use serde_json::Value;

use super::super::era::SERVES;
use super::super::server::Demo;
use super::super::settings::Rules;
use super::super::tasks::Owner;
use super::authorization::Caller;
use super::refused::{Refused, json_response};
use super::stream::{CancelOnDrop, Numbering, StreamOpening, events};
use super::{ServerState, exchange, mirrored, post};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Does the message name a revision for itself?
pub(crate) fn names_version(message: &Value) -> bool {
    message.pointer("/params/_meta").is_some_and(|meta| meta.get(VERSION_KEY).is_some())
}

/// Answers one message.
pub(crate) async fn answer(
    server: &ServerState,
    headers: &HeaderMap,
    caller: Caller,
    message: Value,
) -> Result<Response, Refused> {
    post::check(&message, UnreadId::LeftOut)?;
    let id = message.get("id").cloned();
    let is_complete = lacks(&message).is_empty();
    let checked = message.get("method").is_some().then(|| check(server, headers, &message)).transpose();
    if message["method"] == "initialize" && id.is_some() {
        checked?;
        let refusal =
            Refusal::with_id(id.as_ref(), ErrorCode::METHOD_NOT_FOUND, unknown_method("initialize", SERVES).message);
        return Err(Refused::of(StatusCode::NOT_FOUND, refusal, UnreadId::LeftOut));
    }
    match judge(message) {
        Judged::Message(message) => {
            checked?;
            match *message {
                JsonRpcMessage::Request(request) => Ok(reply(server, caller, request, is_complete).await),
                JsonRpcMessage::Notification(_) => Ok(StatusCode::ACCEPTED.into_response()),
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Err(no_question()),
            }
        }
        Judged::Ignored if id.is_none() => checked.map(|_| StatusCode::ACCEPTED.into_response()),
        Judged::Ignored | Judged::Batch(_) => Err(no_question()),
        Judged::Refused(refusal) if refusal.code() == ErrorCode::INVALID_PARAMS => {
            checked?;
            Err(Refused::of(
                if is_complete { StatusCode::OK } else { StatusCode::BAD_REQUEST },
                refusal,
                UnreadId::LeftOut,
            ))
        }
        Judged::Refused(refusal) => Err(Refused::of(StatusCode::BAD_REQUEST, refusal, UnreadId::LeftOut)),
    }
}

fn no_question() -> Refused {
    let message = "this revision has no requests from the server, so there is nothing to answer";
    Refused::new(StatusCode::BAD_REQUEST, message)
}

/// Answers a request that has no session; `is_complete` if `_meta` lacks nothing.
async fn reply(
    server: &ServerState,
    caller: Caller,
    request: JsonRpcRequest<ClientRequest>,
    is_complete: bool,
) -> Response {
    let demo = Demo::new(server.store(caller.user).clone(), server.input.subscribe(), server.conduct.clone());
    let owner = if server.conduct.rules.needs_tokens() { Owner::User(caller.user.name()) } else { Owner::Anybody };
    let log = exchange::start(demo.owned_by(owner), None, request, None);
    let guard = CancelOnDrop(log.clone());
    match log.first().await {
        Some(answer) if exchange::is_answer(&answer) => json_response(status(&answer, is_complete), &answer),
        Some(_) | None => {
            let numbering = Numbering { stream: None, from: 0, opening: StreamOpening::Plain };
            events(log, numbering, Some(guard))
        }
    }
}

/// The status that goes with an answer.
fn status(answer: &Value, is_complete: bool) -> StatusCode {
    let Some(code) = answer.pointer("/error/code").and_then(Value::as_i64) else {
        return StatusCode::OK;
    };
    match i32::try_from(code).map(ErrorCode) {
        Ok(ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Ok(
            ErrorCode::HEADER_MISMATCH
            | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::INVALID_REQUEST,
        ) => StatusCode::BAD_REQUEST,
        Ok(ErrorCode::INVALID_PARAMS) if !is_complete => StatusCode::BAD_REQUEST,
        Ok(_) | Err(_) => StatusCode::OK,
    }
}

/// The required fields of `_meta` that are missing or of the wrong type.
fn lacks(message: &Value) -> Vec<&'static str> {
    let meta = message.pointer("/params/_meta").unwrap_or(&Value::Null);
    let mut lacking = Vec::new();
    if !meta.get(VERSION_KEY).is_some_and(Value::is_string) {
        lacking.push(VERSION_KEY);
    }
    if !meta.get(CAPABILITIES_KEY).is_some_and(Value::is_object) {
        lacking.push(CAPABILITIES_KEY);
    }
    lacking
}

/// Holds the headers to the message: first the revision, since the other rules are those of a revision.
fn check(server: &ServerState, headers: &HeaderMap, message: &Value) -> Result<(), Refused> {
    let id = message.get("id");
    let is_request = id.is_some();
    let mismatch = |text: String| {
        let refusal = Refusal::with_id(id, ErrorCode::HEADER_MISMATCH, text);
        Refused::of(StatusCode::BAD_REQUEST, refusal, UnreadId::LeftOut)
    };
    let header = super::single(headers, &super::PROTOCOL_VERSION).map_err(mismatch)?;
    let named = message.pointer("/params/_meta").and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    match (header, named) {
        (Some(header), None) if !super::is_one_of(&MODERN, header) => {
            return Err(Refused::unsupported_version(id, header));
        }
        (_, None) if is_request => return Err(incomplete(message)),
        (None, _) => return Err(mismatch("the header `MCP-Protocol-Version` is missing".to_owned())),
        (Some(header), Some(named)) if header != named => {
            let text = format!("the header `MCP-Protocol-Version` is `{header}`, but the message names `{named}`");
            return Err(mismatch(text));
        }
        (Some(header), _) if !super::is_one_of(&MODERN, header) => {
            return Err(Refused::unsupported_version(id, header));
        }
        (Some(_), _) => {}
    }
    if is_request && !lacks(message).is_empty() {
        return Err(incomplete(message));
    }
    let method = message["method"].as_str().unwrap_or_default();
    mirrored::expect(headers, &METHOD, method).map_err(mismatch)?;
    let Some(name) = name(method, message, &server.conduct.rules) else {
        return Ok(());
    };
    mirrored::expect(headers, &NAME, name).map_err(mismatch)?;
    match server.conduct.input_schema(name).filter(|_| method == "tools/call") {
        Some(schema) => mirrored::expect_arguments(headers, &schema, &message["params"]["arguments"]).map_err(mismatch),
        None => Ok(()),
    }
}

fn incomplete(message: &Value) -> Refused {
    let lacking: Vec<_> = lacks(message).iter().map(|key| format!("`{key}`")).collect();
    let text = format!("`params._meta` lacks {}, or it is of the wrong type", lacking.join(" and "));
    let refusal = Refusal::with_id(message.get("id"), ErrorCode::INVALID_PARAMS, text);
    Refused::of(StatusCode::BAD_REQUEST, refusal, UnreadId::LeftOut)
}

/// The name, URI or task id in a request, where a header has to repeat it.
fn name<'a>(method: &str, message: &'a Value, rules: &Rules) -> Option<&'a str> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" if rules.has_tasks() => "taskId",
        _ => return None,
    };
    message.get("params")?.get(field)?.as_str()
}
