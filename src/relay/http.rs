//! A relay around a server over HTTP: every request and every response passes here, streams event by event.

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::body::ReadBody;
use super::connection::ConnectionReset;
use super::events::{EventSplitter, RelayedEvent};
use super::interrupted::ResumedStream;
use super::traffic::RelayedExchange;
use super::upstream::Unreached;
use super::{BATCH, MOST_READ, Relay, RelayStop, TOO_LARGE};
use crate::fault::{ChangedMessage, LiveRequest, MessageKind, ReplyContent, RequestHead, ServerReply};
use crate::transport::Transfer;
use crate::wire::HttpHead;

/// The longest time for which the answer to a copy of a request is read: one that breaks off would be a cancellation.
const COPY_TIMEOUT: Duration = Duration::from_secs(60);

/// The most events that wait for a client that reads slowly.
const EVENTS_AHEAD: usize = 16;

/// The time that a client has to read the half of an answer before its connection is reset.
const BEFORE_RESET: Duration = Duration::from_millis(20);

/// The address and the connection of a request.
pub struct RequestPlace {
    /// The server serves the protocol at that address: faults that name no path are about it.
    pub is_endpoint: bool,
    /// Resets the connection; without it, a connection that breaks off is closed.
    pub reset: Option<ConnectionReset>,
}

/// Answers a request with what `next`, the server, makes of what it hears.
pub async fn answer<F>(
    relay: &Arc<Relay>,
    request: Request,
    place: RequestPlace,
    next: impl Fn(Request) -> F,
) -> Response
where
    F: Future<Output = Response> + Send + 'static,
{
    if relay.is_transparent() {
        return next(request).await;
    }
    let RequestPlace { is_endpoint, reset } = place;
    let (mut parts, body) = request.into_parts();
    let body = match ReadBody::of(body, MOST_READ).await {
        Ok(ReadBody::Whole(body)) => body,
        Ok(ReadBody::Long(body)) => {
            relay.note_once(TOO_LARGE);
            return next(Request::from_parts(parts, body)).await;
        }
        // The client has gone, so nobody reads the answer.
        Err(_) => return StatusCode::BAD_REQUEST.into_response(),
    };
    if !relay.looks_into(&body) {
        return next(Request::from_parts(parts, Body::from(body))).await;
    }
    // What is compressed can be neither read nor changed.
    parts.headers.remove(header::ACCEPT_ENCODING);
    let exchange =
        Arc::new(relay.match_request(LiveRequest { is_at_endpoint: is_endpoint, ..incoming(&parts, &body) }));
    let kind = exchange.live.request.kind();
    if kind == MessageKind::Batch {
        relay.note_once(BATCH);
    }
    if kind == MessageKind::Request && !is_endpoint {
        relay.note_once(
            "a message went to another path than that of `--upstream`: faults that name no path do not strike there",
        );
    }
    let heard = relay.hear(&exchange, &body);
    let response = match heard.bytes {
        Some(bytes) => {
            rewrite_headers(&mut parts.headers, heard.headers);
            if bytes != body {
                parts.headers.remove(header::CONTENT_LENGTH);
            }
            let bytes = Bytes::from(bytes);
            let request = || {
                let body = match heard.transfer {
                    Some(time) => passing(bytes.to_vec(), time, ResponseEnd::Whole),
                    None => Body::from(bytes.clone()),
                };
                Request::from_parts(parts.clone(), body)
            };
            for copy in heard.copies {
                let mut parts = parts.clone();
                parts.headers.remove(header::CONTENT_LENGTH);
                let request = Request::from_parts(parts, Body::from(copy.bytes));
                tokio::spawn(read_and_drop(next(request)));
            }
            let response = next(request()).await;
            if response.extensions().get::<Unreached>().is_some() {
                exchange.unhear();
            }
            response
        }
        None if matches!(exchange.live.request.kind(), MessageKind::Notification | MessageKind::Response) => {
            StatusCode::ACCEPTED.into_response()
        }
        None => StatusCode::OK.into_response(),
    };
    let LiveRequest { scope, head, .. } = &exchange.live.request;
    let ends_session = !scope.is_empty() && head.as_ref().is_some_and(|head| head.verb == "DELETE");
    if ends_session && response.status().is_success() {
        relay.interrupted.give_up_session(scope);
    }
    if response.headers().contains_key(header::CONTENT_ENCODING) {
        relay.note_once("the server compresses answers although nobody asked for it: they pass unread");
        return response;
    }
    if is_stream(&response) {
        rewrite_stream(relay, exchange, response, reset)
    } else {
        rewrite_response(relay, &exchange, response, reset).await
    }
}

/// Reads the answer to a copy of a request, which nobody gets.
async fn read_and_drop(answer: impl Future<Output = Response>) {
    let read = async {
        let mut pieces = pin!(answer.await.into_body().into_data_stream());
        while let Some(Ok(_)) = poll_fn(|context| pieces.as_mut().poll_next(context)).await {}
    };
    // One that never ends is not waited for.
    let _ = timeout(COPY_TIMEOUT, read).await;
}

fn incoming(parts: &Parts, body: &[u8]) -> LiveRequest {
    let headers = headers_by_name(&parts.headers);
    let scope = headers.get("mcp-session-id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let head = RequestHead {
        verb: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: RequestHead::query(parts.uri.query().unwrap_or_default()),
        headers,
    };
    LiveRequest::new(body, scope, Some(head))
}

/// Headers by name; several of one name are joined as HTTP has it.
fn headers_by_name(headers: &HeaderMap) -> Map<String, Value> {
    let mut named = Map::new();
    for name in headers.keys() {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        named.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    named
}

fn rewrite_headers(headers: &mut HeaderMap, changes: Vec<(String, Option<String>)>) {
    for (name, value) in changes {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
        match value.map(|value| HeaderValue::from_bytes(value.as_bytes())) {
            Some(Ok(value)) => drop(headers.insert(name, value)),
            Some(Err(_)) => {}
            None => drop(headers.remove(name)),
        }
    }
}

fn is_stream(response: &Response) -> bool {
    let declared = response.headers().get(header::CONTENT_TYPE);
    declared.is_some_and(|declared| declared.as_bytes().starts_with(b"text/event-stream"))
}

fn head_of(response: &Response) -> HttpHead {
    let headers = headers_by_name(response.headers()).into_iter();
    let headers = headers.map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()));
    HttpHead { status: response.status().as_u16(), headers: headers.collect() }
}

/// Gives a response the head that faults left: what differs from the one that it had.
fn put_head(response: &mut Response, before: &HttpHead, after: &HttpHead) {
    if let (true, Ok(status)) = (before.status != after.status, StatusCode::from_u16(after.status)) {
        *response.status_mut() = status;
    }
    let gone = before.headers.iter().filter(|(name, _)| after.header(name).is_none());
    let gone: Vec<_> = gone.map(|(name, _)| (name.clone(), None)).collect();
    let new = after.headers.iter().filter(|(name, value)| before.header(name) != Some(value));
    let new: Vec<_> = new.map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    rewrite_headers(response.headers_mut(), gone);
    rewrite_headers(response.headers_mut(), new);
}

/// Rewrites a response that is no stream.
async fn rewrite_response(
    relay: &Relay,
    exchange: &RelayedExchange,
    response: Response,
    reset: Option<ConnectionReset>,
) -> Response {
    let (parts, body) = response.into_parts();
    let body = match ReadBody::of(body, MOST_READ).await {
        Ok(ReadBody::Whole(body)) => body,
        Ok(ReadBody::Long(body)) => {
            relay.note_once(TOO_LARGE);
            exchange.forget();
            return Response::from_parts(parts, body);
        }
        Err(error) => {
            let why = "the answer of the server breaks off";
            relay.note_once(why);
            let response = (StatusCode::BAD_GATEWAY, format!("mcprove relay: {why}: {error}\n")).into_response();
            let _ = relay.answer(exchange, Some(ServerReply::at_once(b"", Some(Arc::new(head_of(&response))))));
            return response;
        }
    };
    let mut response = Response::from_parts(parts, Body::from(body.clone()));
    if !relay.looks_into(&body) {
        exchange.forget();
        return response;
    }
    let head = Arc::new(head_of(&response));
    let reply = ServerReply::at_once(&body, Some(Arc::clone(&head)));
    let mut changed = relay.answer(exchange, Some(reply));
    if !changed.is_changed {
        return response;
    }
    if let Some(end) = changed.end() {
        relay.stop(RelayStop::Ended(end));
        pending::<()>().await;
    }
    if changed.loss.is_some() {
        pending::<()>().await;
    }
    sleep(changed.delay_before_transfer()).await;
    let (transfer, end) =
        (changed.transfer, if changed.breaks_off() { ResponseEnd::Broken(reset) } else { ResponseEnd::Whole });
    let is_whole = matches!(end, ResponseEnd::Whole);
    let new_head = changed.own.iter().find_map(|reply| reply.http.clone()).unwrap_or_else(|| Arc::clone(&head));
    let content_type = if changed.before.is_empty() && changed.after.is_empty() && changed.own.len() < 2 {
        let own = changed.own.pop().and_then(|reply| reply.content.bytes()).unwrap_or_default();
        if own.is_empty() {
            response.headers_mut().remove(header::CONTENT_TYPE);
        }
        let content_type = (body.is_empty() && !own.is_empty()).then(|| type_of(&own));
        if is_whole {
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
        *response.body_mut() = passing(own, transfer, end);
        content_type
    } else {
        if response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::OK;
        }
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = passing(all_events(relay, exchange, std::mem::take(&mut changed)), transfer, end);
        Some("text/event-stream")
    };
    if changed.on_listening {
        let messages = if body.is_empty() { Vec::new() } else { vec![body.to_vec()] };
        relay.broadcast(&exchange.live.request.scope, &messages);
    }
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    put_head(&mut response, &head, &new_head);
    response
}

/// The end of a body.
enum ResponseEnd {
    Whole,
    /// In the middle, with its connection.
    Broken(Option<ConnectionReset>),
}

/// A body whose bytes take so long, and that may break off behind them.
fn passing(bytes: Vec<u8>, time: Duration, end: ResponseEnd) -> Body {
    if time.is_zero() && matches!(end, ResponseEnd::Whole) {
        return Body::from(bytes);
    }
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut transfer = Transfer::new(bytes, time);
        while let Some(part) = transfer.next().await {
            if sender.send(Ok(part.into())).await.is_err() {
                return;
            }
        }
        if let ResponseEnd::Broken(reset) = end {
            break_off(&sender, reset.as_ref()).await;
        }
    });
    Body::from_stream(PiecesBody(pieces))
}

/// Ends a body in the middle.
async fn break_off(sender: &mpsc::Sender<Piece>, reset: Option<&ConnectionReset>) {
    sleep(BEFORE_RESET).await;
    if let Some(reset) = reset {
        reset.order();
    }
    // A client that has gone already needs no reset.
    let _ = sender.send(Err(axum::Error::new("a fault resets the connection"))).await;
}

/// The type of a body where there was none.
fn type_of(body: &[u8]) -> &'static str {
    match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => "application/json",
        Err(_) => "text/plain",
    }
}

fn all_events(relay: &Relay, exchange: &RelayedExchange, changed: ChangedMessage) -> Vec<u8> {
    // A body that is empty is no message.
    let messages = changed.messages().filter(|message| !message.is_empty());
    let events = messages.zip(0..).map(|(message, number)| {
        let mut event = RelayedEvent::message(message);
        renumber(relay, exchange, &mut event, number);
        event.write()
    });
    events.collect::<Vec<_>>().concat()
}

fn renumber(relay: &Relay, exchange: &RelayedExchange, event: &mut RelayedEvent, number: u64) {
    if let Some(id) = relay.player.event_id(&exchange.live, number) {
        event.put_id(id);
    }
}

/// A stream of events, changed as it comes.
fn rewrite_stream(
    relay: &Arc<Relay>,
    exchange: Arc<RelayedExchange>,
    response: Response,
    reset: Option<ConnectionReset>,
) -> Response {
    let described = head_of(&response);
    let head = relay.player.head(&exchange.live, &described);
    let (parts, body) = response.into_parts();
    let (sender, events) = mpsc::channel(EVENTS_AHEAD);
    let is_listening = exchange.live.request.head.as_ref().is_some_and(|head| head.verb == "GET");
    let pushed = relay.listen(if is_listening { &exchange.live.request.scope } else { UNHEARD });
    let http = Arc::new(described.clone());
    let feed = StreamRewriter {
        relay: Arc::clone(relay),
        exchange,
        http,
        sender,
        number: 0,
        is_listening,
        reset,
        last_event: None,
        has_answered: false,
    };
    tokio::spawn(feed.rewrite(body.into_data_stream(), pushed));
    let mut response = Response::from_parts(parts, Body::from_stream(PiecesBody(events)));
    response.headers_mut().remove(header::CONTENT_LENGTH);
    put_head(&mut response, &described, &head);
    response
}

/// A scope that no session has, so nothing is broadcast to it.
const UNHEARD: &str = "\n";

/// Rewrites one stream of events to the client.
struct StreamRewriter {
    relay: Arc<Relay>,
    exchange: Arc<RelayedExchange>,
    http: Arc<HttpHead>,
    sender: mpsc::Sender<Piece>,
    number: u64,
    is_listening: bool,
    reset: Option<ConnectionReset>,
    /// The id of the last event.
    last_event: Option<String>,
    has_answered: bool,
}

/// Bytes of a stream, or the reason why the server's broke off.
type Piece = Result<Bytes, axum::Error>;

/// The client is gone, or is to receive no more.
struct ClientGone;

impl StreamRewriter {
    /// Ends with the stream of the correct server, which is dropped as soon as the client is gone.
    async fn rewrite(mut self, chunks: BodyDataStream, pushed: mpsc::Receiver<Vec<u8>>) {
        let sender = self.sender.clone();
        // Dropped last: a server that sees the client gone may rely on it that the relay knows, too.
        let mut chunks = pin!(chunks);
        tokio::select! {
            () = sender.closed() => {}
            _ = self.pass(chunks.as_mut(), pushed) => {}
        }
        let is_awaited = self.exchange.live.request.kind() == MessageKind::Request && !self.has_answered;
        if let Some(last_event) = self.last_event.take().filter(|_| is_awaited) {
            self.relay.interrupted.keep(&self.exchange, last_event);
        }
    }

    /// The stream as one that may go on with what others left unanswered.
    fn resumed_stream(&self) -> ResumedStream<'_> {
        let request = &self.exchange.live.request;
        let head = request.head.as_ref();
        let from = head.and_then(|head| head.headers.get("last-event-id")).and_then(Value::as_str);
        ResumedStream { scope: &request.scope, from: self.last_event.as_deref().or(from) }
    }

    /// The request that a message belongs to: that of the stream, or on one that was resumed an earlier one.
    fn request_of(&self, message: &Value) -> Arc<RelayedExchange> {
        let earlier = || match message.get("id").filter(|_| message.get("method").is_none()) {
            Some(id) => self.relay.interrupted.take(&self.resumed_stream(), id),
            None => self.relay.interrupted.during(&self.resumed_stream(), message),
        };
        let earlier = if self.is_listening { earlier() } else { None };
        earlier.unwrap_or_else(|| Arc::clone(&self.exchange))
    }

    /// Notes the id of an event.
    fn note(&mut self, event: &RelayedEvent) {
        let Some(id) = event.id() else { return };
        if self.is_listening {
            self.relay.interrupted.advance(&self.resumed_stream(), id);
        }
        self.last_event = Some(id.to_owned());
    }

    async fn pass(
        &mut self,
        mut chunks: Pin<&mut BodyDataStream>,
        mut pushed: mpsc::Receiver<Vec<u8>>,
    ) -> Result<(), ClientGone> {
        let mut splitter = EventSplitter::default();
        // A stream that was opened with GET has no answer of its own.
        let mut around = ChangedMessage::default();
        if self.is_listening {
            let reply = ServerReply::at_once(b"", Some(Arc::clone(&self.http)));
            around = self.relay.answer(&self.exchange, Some(reply));
            sleep(around.delay()).await;
        }
        let after = std::mem::take(&mut around.after);
        self.send_all(std::mem::take(&mut around.before)).await?;
        loop {
            tokio::select! {
                Some(message) = pushed.recv() => self.send(RelayedEvent::message(message)).await?,
                chunk = poll_fn(|context| chunks.as_mut().poll_next(context)) => match chunk {
                    Some(Ok(bytes)) => for event in splitter.push(&bytes) {
                        self.pass_on(event).await?;
                    },
                    Some(Err(error)) => return self.sender.send(Err(error)).await.map_err(|_| ClientGone),
                    None => break,
                },
            }
        }
        let rest = splitter.rest();
        if !rest.is_empty() {
            self.sender.send(Ok(rest.into())).await.map_err(|_| ClientGone)?;
        }
        self.send_all(after).await
    }

    async fn pass_on(&mut self, event: RelayedEvent) -> Result<(), ClientGone> {
        self.note(&event);
        if !self.relay.looks_into(&event.data) {
            self.exchange.forget();
            return self.send(event).await;
        }
        let reply = ServerReply::at_once(&event.data, Some(Arc::clone(&self.http)));
        let Some(message) = reply.message() else { return self.send(event).await };
        let is_sent = message.get("method").is_some();
        let request = self.request_of(message);
        let is_own = Arc::ptr_eq(&request, &self.exchange);
        self.has_answered |= is_own && !is_sent;
        let relay = &self.relay;
        let mut changed = if is_sent {
            relay.change_sent(Some(&request), &self.exchange.live.request.scope, reply)
        } else {
            relay.answer(&request, Some(reply))
        };
        if !changed.is_changed {
            return self.send(event).await;
        }
        if let Some(end) = changed.end() {
            relay.stop(RelayStop::Ended(end));
            pending::<()>().await;
        }
        // Other messages may follow on a stream that answers nothing.
        if changed.loss.is_some() && (is_sent || self.is_listening) {
            return Ok(());
        }
        if changed.loss.is_some() {
            pending::<()>().await;
        }
        if self.is_listening && !is_sent && is_own {
            (changed.before, changed.after) = (Vec::new(), Vec::new());
        }
        sleep(changed.delay_before_transfer()).await;
        if changed.on_listening {
            relay.broadcast(&self.exchange.live.request.scope, std::slice::from_ref(&event.data));
        }
        self.send_all(changed.before).await?;
        for own in changed.own {
            let is_torn = matches!(own.content, ReplyContent::Torn(_));
            let Some(bytes) = own.content.bytes() else { continue };
            let mut written = self.write_numbered(event.with(bytes));
            if is_torn {
                written.truncate(written.len() - RelayedEvent::END.len());
            }
            let mut transfer = Transfer::new(written, changed.transfer);
            while let Some(part) = transfer.next().await {
                self.sender.send(Ok(part.into())).await.map_err(|_| ClientGone)?;
            }
            if is_torn {
                break_off(&self.sender, self.reset.as_ref()).await;
                return Err(ClientGone);
            }
        }
        self.send_all(changed.after).await
    }

    async fn send_all(&mut self, messages: Vec<Vec<u8>>) -> Result<(), ClientGone> {
        for message in messages {
            self.send(RelayedEvent::message(message)).await?;
        }
        Ok(())
    }

    async fn send(&mut self, event: RelayedEvent) -> Result<(), ClientGone> {
        let written = self.write_numbered(event);
        self.sender.send(Ok(written.into())).await.map_err(|_| ClientGone)
    }

    /// The next event as it is written.
    fn write_numbered(&mut self, mut event: RelayedEvent) -> Vec<u8> {
        renumber(&self.relay, &self.exchange, &mut event, self.number);
        self.number += 1;
        event.write()
    }
}

struct PiecesBody(mpsc::Receiver<Piece>);

impl Stream for PiecesBody {
    type Item = Piece;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
