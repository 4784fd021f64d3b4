//! Sessions, as the revisions up to 2025-11-25 have them: each with its own users, requests in flight, and streams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use mcprove_server::transport::Input;
use mcprove_server::transport::envelope::{Judged, Refusal, UnreadId, judge};
use parking_lot::Mutex;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, InitializeRequestParams, JsonRpcMessage,
    JsonRpcRequest, ProtocolVersion, RequestId,
};
use serde_json::Value;
use tokio::sync::watch;

use super::super::random;
use super::super::server::{Conduct, Demo};
use super::super::store::SharedStore;
use super::super::tasks::Owner;
use super::authorization::Caller;
use super::exchange::{AnswerQueue, Line};
use super::refused::{Refused, json_response};
use super::stream::{Log, Numbering, StreamOpening, events};
use super::{SESSION_ID, exchange, post};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The number of streams of a session that can be taken up again.
const STREAMS_KEPT: usize = 64;

/// All sessions that are open.
pub(crate) struct Sessions {
    conduct: Conduct,
    open: Mutex<BTreeMap<String, Arc<HttpSession>>>,
}

/// One client's session.
pub(crate) struct HttpSession {
    conduct: Conduct,
    /// Who opened it.
    caller: Caller,
    owner: Owner,
    revision: ProtocolVersion,
    client: InitializeRequestParams,
    store: SharedStore,
    input: watch::Sender<Input>,
    running: Mutex<Vec<Running>>,
    /// The number of requests that were worked on so far.
    started: AtomicI64,
    streams: Mutex<Streams>,
}

/// A request that is worked on.
struct Running {
    id: RequestId,
    log: Arc<Log>,
    answers: Option<AnswerQueue>,
}

/// True if the client can be asked while a request is worked on.
#[derive(Clone, Copy)]
enum Asking {
    /// Messages before the answer travel on a stream.
    Possible,
    /// Only answers travel, in one array.
    Impossible,
}

#[derive(Default)]
struct Streams {
    kept: BTreeMap<usize, Arc<Log>>,
    opened: usize,
}

impl Sessions {
    /// None is open.
    pub(crate) fn new(conduct: Conduct) -> Self {
        Self { conduct, open: Mutex::default() }
    }

    /// The session that a request names; `id` is the request's own.
    pub(crate) fn find(&self, headers: &HeaderMap, id: Option<&Value>) -> Result<Arc<HttpSession>, Refused> {
        let refuse = |message: String| {
            let refusal = Refusal::with_id(id, ErrorCode::INVALID_REQUEST, message);
            Refused::of(StatusCode::BAD_REQUEST, refusal, UnreadId::LeftOut)
        };
        let named = super::single(headers, &SESSION_ID).map_err(refuse)?;
        let Some(named) = named else {
            let message = "no session is named; send `initialize` first and its `Mcp-Session-Id` with every request, or \
                name a revision in `params._meta`";
            return Err(refuse(message.to_owned()));
        };
        let found = self.open.lock().get(named).cloned();
        found.ok_or_else(|| unknown(named, id))
    }

    /// Refuses requests in a session of another user, or of another server, as if there were none.
    pub(crate) fn admit(&self, headers: &HeaderMap, caller: Caller) -> Result<(), Refused> {
        let Ok(Some(named)) = super::single(headers, &SESSION_ID) else { return Ok(()) };
        match self.open.lock().get(named) {
            Some(session) if !caller.may_use_session_of(session.caller) => Err(unknown(named, None)),
            Some(_) | None => Ok(()),
        }
    }

    /// Who opened the session that a request names.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        self.find(headers, None).ok().map(|session| session.caller)
    }

    /// The way in which an answer to a message without a readable id shows that.
    pub(crate) fn unread_id(&self, headers: &HeaderMap) -> UnreadId {
        UnreadId::of(self.find(headers, None).ok().map(|session| session.revision.clone()).as_ref())
    }

    /// Answers a request of the session that the headers name, without waiting for its end, as a fault has it.
    pub(crate) fn say(&self, headers: &HeaderMap, answer: &[u8]) {
        if let (Ok(session), Ok(answer)) = (self.find(headers, None), serde_json::from_slice::<Value>(answer)) {
            session.say(&answer);
        }
    }

    /// Opens a session with the message that asks for it.
    pub(crate) async fn open(&self, caller: Caller, message: Value) -> Result<Response, Refused> {
        post::check(&message, UnreadId::LeftOut)?;
        let id = message.get("id").cloned();
        let request = match judge(message) {
            Judged::Message(message) => *message,
            Judged::Refused(refusal) => return Err(refusal_response(refusal, UnreadId::LeftOut)),
            Judged::Batch(_) | Judged::Ignored => return Err(no_opening(id.as_ref())),
        };
        let JsonRpcMessage::Request(request) = request else { return Err(no_opening(id.as_ref())) };
        let ClientRequest::InitializeRequest(initialize) = &request.request else {
            return Err(no_opening(id.as_ref()));
        };
        let mut client = initialize.params.clone();
        let (input, _) = watch::channel(Input::Open);
        let (conduct, store) = (self.conduct.in_session(), self.conduct.directory());
        let demo = Demo::new(store.clone(), input.subscribe(), conduct.clone());
        let log = exchange::start(demo, None, request, None);
        let answer = log.last().await.unwrap_or_default();
        let Some(revision) = answer
            .pointer("/result/protocolVersion")
            .and_then(|revision| serde_json::from_value::<ProtocolVersion>(revision.clone()).ok())
        else {
            return Ok(json_response(status(&answer), &answer));
        };
        client.protocol_version = revision.clone();
        let (running, streams) = (Mutex::default(), Mutex::default());
        let name = random::name().ok_or_else(|| {
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random numbers for a session id")
        })?;
        let owner = if conduct.rules.needs_tokens() {
            Owner::User(caller.user.name())
        } else {
            Owner::Session(name.as_str().into())
        };
        let mut response = json_response(StatusCode::OK, &answer);
        if let Ok(value) = HeaderValue::from_str(&name) {
            response.headers_mut().insert(SESSION_ID, value);
        }
        let started = AtomicI64::new(0);
        let session = HttpSession { conduct, caller, owner, revision, client, store, input, running, started, streams };
        self.open.lock().insert(name, Arc::new(session));
        Ok(response)
    }

    /// Ends a session with everything that runs in it.
    pub(crate) fn end(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let session = self.find(headers, None)?;
        if !self.conduct.fault.hooks().ends_sessions {
            return Ok(());
        }
        self.open.lock().retain(|_, open| !Arc::ptr_eq(open, &session));
        session.input.send_replace(Input::Ended);
        // Streams of requests end with their answers.
        let running: Vec<_> = session.running.lock().iter().map(|running| Arc::clone(&running.log)).collect();
        for log in session.streams.lock().kept.values() {
            if !running.iter().any(|running| Arc::ptr_eq(running, log)) {
                log.end();
            }
        }
        Ok(())
    }
}

impl HttpSession {
    /// Answers one message.
    pub(crate) async fn answer(&self, message: Value) -> Result<Response, Refused> {
        post::check(&message, self.unread_id())?;
        if message.get("method").is_some_and(|method| method == "initialize") {
            let message_id = message.get("id");
            let message = "the session is initialized already; leave `Mcp-Session-Id` out to open another";
            let refusal = Refusal::with_id(message_id, ErrorCode::INVALID_REQUEST, message);
            return Err(Refused::of(StatusCode::BAD_REQUEST, refusal, self.unread_id()));
        }
        match judge(message) {
            Judged::Message(message) => match *message {
                JsonRpcMessage::Request(request) => Ok(self.reply(self.start(request, Asking::Possible)).await),
                JsonRpcMessage::Notification(notification) => {
                    self.cancel(&notification.notification);
                    Ok(StatusCode::ACCEPTED.into_response())
                }
                answer @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) => {
                    self.take(&answer);
                    Ok(StatusCode::ACCEPTED.into_response())
                }
            },
            Judged::Ignored => Ok(StatusCode::ACCEPTED.into_response()),
            Judged::Refused(refusal) => Err(refusal_response(refusal, self.unread_id())),
            Judged::Batch(_) => Err(post::no_batch(self.unread_id())),
        }
    }

    /// Answers several messages at once. Progress of their requests is not reported: it is optional, and the answers
    /// travel in one array.
    pub(crate) async fn answer_all(&self, messages: Vec<Value>) -> Result<Response, Refused> {
        if self.revision != ProtocolVersion::V_2025_03_26 || messages.is_empty() {
            return Err(post::no_batch(self.unread_id()));
        }
        let (mut running, mut answers) = (Vec::new(), Vec::new());
        for message in messages {
            match judge(message) {
                Judged::Message(message) => match *message {
                    JsonRpcMessage::Request(request) => running.push(self.start(request, Asking::Impossible)),
                    JsonRpcMessage::Notification(notification) => self.cancel(&notification.notification),
                    answer @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) => self.take(&answer),
                },
                Judged::Refused(refusal) => answers.push(refusal.into_answer(self.unread_id())),
                Judged::Batch(_) | Judged::Ignored => {}
            }
        }
        for log in running {
            answers.extend(log.last().await.filter(exchange::is_answer));
        }
        if answers.is_empty() {
            return Ok(StatusCode::ACCEPTED.into_response());
        }
        Ok(json_response(StatusCode::OK, &Value::Array(answers)))
    }

    /// Opens a stream on which the server could speak first, or goes on with one that broke.
    pub(crate) fn listen(&self, headers: &HeaderMap) -> Result<Response, Refused> {
        let last =
            super::single(headers, &LAST_EVENT_ID).map_err(|message| Refused::new(StatusCode::BAD_REQUEST, message))?;
        let Some(last) = last else {
            let log = Log::new();
            let listened = Arc::clone(&log);
            self.conduct.fault.listens(move |message| listened.say(message));
            return Ok(self.events(log));
        };
        let found = last.split_once('-').and_then(|(stream, from)| {
            let (stream, from) = (stream.parse().ok()?, from.parse().ok()?);
            let log = self.streams.lock().kept.get(&stream).cloned()?;
            (from <= log.message_count())
                .then_some((log, Numbering { stream: Some(stream), from, opening: StreamOpening::Plain }))
        });
        let Some((log, numbering)) = found else {
            let message = format!("no event `{last}` is kept in this session; leave `Last-Event-ID` out");
            return Err(Refused::new(StatusCode::BAD_REQUEST, message));
        };
        Ok(events(log, numbering, None))
    }

    fn start(&self, request: JsonRpcRequest<ClientRequest>, asking: Asking) -> Arc<Log> {
        let id = request.id.clone();
        let demo = Demo::new(self.store.clone(), self.input.subscribe(), self.conduct.clone());
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let (line, answers) = match asking {
            Asking::Possible => Some(Line::new(number)).unzip(),
            Asking::Impossible => (None, None),
        };
        let log = exchange::start(demo.owned_by(self.owner.clone()), Some(self.client.clone()), request, line);
        let mut running = self.running.lock();
        running.retain(|running| !running.log.is_over());
        running.push(Running { id, log: Arc::clone(&log), answers });
        log
    }

    /// Hands an answer of the client to whoever asked.
    fn take(&self, answer: &ClientJsonRpcMessage) {
        for answers in self.running.lock().iter().filter_map(|running| running.answers.as_ref()) {
            answers.take(answer);
        }
    }

    /// As JSON, unless something comes before the answer.
    async fn reply(&self, log: Arc<Log>) -> Response {
        match log.first().await {
            Some(answer) if exchange::is_answer(&answer) => json_response(status(&answer), &answer),
            Some(_) | None => self.events(log),
        }
    }

    fn events(&self, log: Arc<Log>) -> Response {
        let mut streams = self.streams.lock();
        let stream = streams.opened;
        streams.opened += 1;
        streams.kept.insert(stream, Arc::clone(&log));
        if streams.kept.len() > STREAMS_KEPT {
            streams.kept.pop_first();
        }
        // Clients of older revisions do not expect an event without a message.
        let is_newest = self.revision == ProtocolVersion::V_2025_11_25;
        let opening = if is_newest { StreamOpening::Primed } else { StreamOpening::Plain };
        events(log, Numbering { stream: Some(stream), from: 0, opening }, None)
    }

    fn say(&self, answer: &Value) {
        let running = self.running.lock();
        for asked in running.iter().filter(|running| answer["id"] == running.id.clone().into_json_value()) {
            asked.log.say(answer.clone());
        }
    }

    fn cancel(&self, notification: &ClientNotification) {
        let ClientNotification::CancelledNotification(cancelled) = notification else {
            return;
        };
        let running = self.running.lock();
        for asked in running.iter().filter(|running| Some(&running.id) == cancelled.params.request_id.as_ref()) {
            asked.log.cancel();
        }
    }

    fn unread_id(&self) -> UnreadId {
        UnreadId::of(Some(&self.revision))
    }
}

/// Mistakes in parameters are the answer to a good request.
fn refusal_response(refusal: Refusal, unread_id: UnreadId) -> Refused {
    let status = if refusal.code() == ErrorCode::INVALID_PARAMS { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    Refused::of(status, refusal, unread_id)
}

fn status(answer: &Value) -> StatusCode {
    match answer.pointer("/error/code").and_then(Value::as_i64) {
        Some(code) if code == i64::from(ErrorCode::INVALID_REQUEST.0) => StatusCode::BAD_REQUEST,
        Some(_) | None => StatusCode::OK,
    }
}

fn no_opening(id: Option<&Value>) -> Refused {
    let refusal = Refusal::with_id(id, ErrorCode::INVALID_REQUEST, "`initialize` must be a request");
    Refused::of(StatusCode::BAD_REQUEST, refusal, UnreadId::LeftOut)
}

fn unknown(named: &str, id: Option<&Value>) -> Refused {
    let message = format!("no session `{named}` is open; send `initialize` without `Mcp-Session-Id` to open one");
    let refusal = Refusal::with_id(id, ErrorCode::INVALID_REQUEST, message);
    Refused::of(StatusCode::NOT_FOUND, refusal, UnreadId::LeftOut)
}
