//! A mock over streamable HTTP, both eras at one address: `http://HOST:PORT/mcp`.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_core::Stream;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::conversation::UNKNOWN_METHOD;
use super::{Conversation, MockReply, MockServer, ReplyStream};
use crate::fault::{ReplyContent, ServerReply};
use crate::testserver::http::refuse_foreign;
use crate::testserver::random;
use crate::wire::{HttpHead, RpcMessage, classify};

/// The one path at which it serves.
pub const PATH: &str = "/mcp";

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Longer bodies are refused instead of filling the memory.
const LONGEST_BODY: usize = 32 << 20;

/// The headers of a recorded response that are about its connection, its length or its session.
const OWN_HEADERS: [&str; 7] =
    ["connection", "content-encoding", "content-length", "date", "keep-alive", "mcp-session-id", "transfer-encoding"];

type ReplySender = UnboundedSender<ServerReply>;

/// A session of a client, or all requests that belong to none.
struct MockSession {
    conversation: Conversation<ReplySender>,
    /// The way on which the server speaks first.
    listening: ReplySender,
    /// Its other end, until the client opens a stream for it.
    unheard: Option<UnboundedReceiver<ServerReply>>,
}

struct MockState {
    server: Arc<MockServer>,
    sessions: Mutex<BTreeMap<String, MockSession>>,
    /// Requests without a session, as 2026-07-28 has them.
    stateless: Mutex<MockSession>,
}

impl MockSession {
    fn new(conversation: Conversation<ReplySender>) -> Self {
        let (listening, unheard) = unbounded_channel();
        Self { conversation, listening, unheard: Some(unheard) }
    }

    /// Sends what is said because of a message to where it belongs.
    fn on_message(&mut self, body: &[u8], stream: ReplySender) {
        for MockReply { stream, reply } in self.conversation.on_message(body, stream) {
            // Nobody reads what goes to a client that has gone.
            let _ = match stream {
                ReplyStream::Request(stream) => stream.send(reply).is_ok(),
                ReplyStream::Listening => self.listening.send(reply).is_ok(),
            };
        }
    }
}

/// Answers until the future is dropped.
///
/// # Errors
///
/// Fails where no more connections can be accepted.
pub async fn serve(server: Arc<MockServer>, listener: TcpListener) -> io::Result<()> {
    let stateless = Mutex::new(MockSession::new(Conversation::without_session(Arc::clone(&server))));
    let state = Arc::new(MockState { server, sessions: Mutex::default(), stateless });
    let service = any(|State(state): State<Arc<MockState>>, request: Request| async move {
        answer(&state, request).await.unwrap_or_else(|refusal| refusal)
    });
    axum::serve(listener, Router::new().fallback(service).with_state(state)).await
}

async fn answer(state: &MockState, request: Request) -> Result<Response, Response> {
    let headers = request.headers().clone();
    refuse_foreign(&headers).map_or(Ok(()), Err)?;
    if request.uri().path() != PATH {
        return Err(refuse(StatusCode::NOT_FOUND, &Value::Null, &format!("mock: the address ends in `{PATH}`")));
    }
    match *request.method() {
        Method::POST => post(state, &headers, request.into_body()).await,
        Method::GET => listen(state, &headers),
        Method::DELETE => {
            let id = session_id(&headers)?;
            state.sessions.lock().remove(id).ok_or_else(|| unknown_session(&Value::Null))?;
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        _ => Err((StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, POST, DELETE")]).into_response()),
    }
}

async fn post(state: &MockState, headers: &HeaderMap, body: Body) -> Result<Response, Response> {
    let too_large = |_| refuse(StatusCode::PAYLOAD_TOO_LARGE, &Value::Null, "mock: the body is too long");
    let body = to_bytes(body, LONGEST_BODY).await.map_err(too_large)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (sender, mut replies) = unbounded_channel();
    let mut opened = None;
    if message["method"] == "initialize" && !headers.contains_key(SESSION_ID) {
        let mut session = MockSession::new(Conversation::new(Arc::clone(&state.server)));
        session.on_message(&body, sender);
        let no_name = || refuse(StatusCode::INTERNAL_SERVER_ERROR, &message["id"], "mock: there are no random numbers");
        let name = random::name().ok_or_else(no_name)?;
        opened = HeaderValue::try_from(&name).ok();
        state.sessions.lock().insert(name, session);
    } else if headers.contains_key(SESSION_ID) {
        let id = session_id(headers)?;
        let mut sessions = state.sessions.lock();
        let session = sessions.get_mut(id).ok_or_else(|| unknown_session(&message["id"]))?;
        session.on_message(&body, sender);
    } else {
        state.stateless.lock().on_message(&body, sender);
    }
    if !matches!(classify(&message), RpcMessage::Request { .. } | RpcMessage::Invalid(_)) && replies.is_empty() {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let first = replies.recv().await;
    let mut response = response(first, replies, headers.contains_key(SESSION_ID));
    opened.map(|name| response.headers_mut().insert(SESSION_ID, name));
    Ok(response)
}

/// Opens the stream on which the server speaks first.
fn listen(state: &MockState, headers: &HeaderMap) -> Result<Response, Response> {
    if !headers.contains_key(SESSION_ID) {
        return Err((StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response());
    }
    let mut sessions = state.sessions.lock();
    let session = sessions.get_mut(session_id(headers)?).ok_or_else(|| unknown_session(&Value::Null))?;
    let replies = session.unheard.take().unwrap_or_else(|| {
        let (listening, replies) = unbounded_channel();
        session.listening = listening;
        replies
    });
    Ok(events(None, replies))
}

/// The response to a message: one body where the answer is all there is, else events.
fn response(first: Option<ServerReply>, replies: UnboundedReceiver<ServerReply>, in_session: bool) -> Response {
    let Some(first) = first else { return StatusCode::ACCEPTED.into_response() };
    let is_event = |head: &HttpHead| {
        head.is_success() && head.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    };
    let is_refused = first.http.as_deref().is_some_and(|head| !head.is_success());
    let is_one = first.response().is_some() && !first.http.as_deref().is_some_and(is_event);
    let is_other_body = matches!(first.content, ReplyContent::Bytes(_)) && first.http.is_some();
    if !is_refused && !is_one && !is_other_body {
        return events(Some(first), replies);
    }
    // In a session, this status says that the session is gone.
    let is_unknown = !in_session && first.message().is_some_and(|message| message["error"]["code"] == UNKNOWN_METHOD);
    let recorded = first.http.clone();
    let body = first.content.bytes().unwrap_or_default();
    let status = recorded.as_deref().and_then(|head| StatusCode::from_u16(head.status).ok());
    let status = status.unwrap_or(if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::OK });
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    for (name, value) in recorded.iter().flat_map(|head| &head.headers) {
        if let (Ok(name), Ok(value), false) = (
            HeaderName::try_from(name),
            HeaderValue::try_from(value),
            OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)),
        ) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn events(first: Option<ServerReply>, replies: UnboundedReceiver<ServerReply>) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache, no-transform")];
    (StatusCode::OK, headers, Body::from_stream(Events { first, replies })).into_response()
}

/// Replies as events; the recorded end of the server breaks the connection.
struct Events {
    first: Option<ServerReply>,
    replies: UnboundedReceiver<ServerReply>,
}

impl Stream for Events {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let next = match self.first.take() {
                Some(first) => Some(first),
                None => match self.replies.poll_recv(context) {
                    Poll::Ready(next) => next,
                    Poll::Pending => return Poll::Pending,
                },
            };
            let Some(reply) = next else { return Poll::Ready(None) };
            let item = match reply.content {
                ReplyContent::Message(message) => Ok(format!("event: message\ndata: {message}\n\n").into()),
                ReplyContent::Torn(bytes) => Ok(bytes.into()),
                ReplyContent::Ended(_) => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                ReplyContent::Bytes(_) | ReplyContent::Stderr(_) | ReplyContent::Stalled => continue,
            };
            return Poll::Ready(Some(item));
        }
    }
}

fn session_id(headers: &HeaderMap) -> Result<&str, Response> {
    let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
    id.ok_or_else(|| {
        refuse(StatusCode::BAD_REQUEST, &Value::Null, "mock: the header `Mcp-Session-Id` is missing or no text")
    })
}

fn unknown_session(id: &Value) -> Response {
    refuse(StatusCode::NOT_FOUND, id, "mock: there is no such session; send `initialize` first")
}

fn refuse(status: StatusCode, id: &Value, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": message}});
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
