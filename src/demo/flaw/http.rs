//! A flaw around the server over HTTP: every request and every response passes here, streams event by event.

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::change::ChangedMessage;
use super::condition;
use super::events::{Event, Splitter};
use super::message::{FlawMessageKind, Head, Incoming};
use super::player::{self, Exchange, FlawPlayer};
use crate::demo::faulty::ServerFault;

/// Longer bodies are refused instead of filling the memory.
const LONGEST_BODY: usize = 64 * 1024 * 1024;

/// How many events wait for a client that reads slowly.
const EVENTS_AHEAD: usize = 16;

/// Answers a request with what `next`, the correct server, makes of what it hears.
pub(in crate::demo) async fn answer<F>(
    fault: &ServerFault,
    player: &Arc<FlawPlayer>,
    request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let exchange = Arc::new(player.match_edits(incoming(&parts, &body)));
    if player.ends(&exchange) {
        fault.crash();
        pending::<()>().await;
    }
    let response = match player.rewrite_request(&exchange, &body) {
        Some(heard) => {
            rewrite(&mut parts.headers, player.rewritten_headers(&exchange));
            parts.headers.remove(header::CONTENT_LENGTH);
            next(Request::from_parts(parts, Body::from(heard))).await
        }
        None => match exchange.incoming.kind {
            Some(FlawMessageKind::Notification | FlawMessageKind::Response) => StatusCode::ACCEPTED.into_response(),
            _ => StatusCode::OK.into_response(),
        },
    };
    if is_stream(&response) {
        rewrite_stream(player, exchange, response)
    } else {
        rewrite_response(player, &exchange, response).await
    }
}

fn incoming(parts: &Parts, body: &[u8]) -> Incoming {
    let headers = named(&parts.headers);
    let query = parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let query = query.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let scope = headers.get("mcp-session-id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let head = Head {
        verb: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: query.map(|(name, value)| (name.to_owned(), value.into())).collect(),
        headers,
    };
    Incoming::new(body, scope, Some(head))
}

/// Headers by name; several of one name are joined as HTTP has it.
fn named(headers: &HeaderMap) -> Map<String, Value> {
    let mut named = Map::new();
    for name in headers.keys() {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        named.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    named
}

fn rewrite(headers: &mut HeaderMap, changes: Vec<(String, Option<String>)>) {
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

fn described(response: &Response) -> condition::Response {
    condition::Response { status: response.status().as_u16(), headers: named(response.headers()) }
}

fn put_head(response: &mut Response, head: player::Head) {
    if let Some(Ok(status)) = head.status.map(StatusCode::from_u16) {
        *response.status_mut() = status;
    }
    rewrite(response.headers_mut(), head.headers);
}

/// Rewrites a response that is no stream.
async fn rewrite_response(player: &FlawPlayer, exchange: &Exchange, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut response = Response::from_parts(parts, Body::from(body.clone()));
    let described = described(&response);
    let mut said = player.answer(exchange, (!body.is_empty()).then_some(&body), Some(&described));
    if said.hits.is_empty() {
        return response;
    }
    if said.never {
        pending::<()>().await;
    }
    sleep(said.delay).await;
    let head = player.head(exchange, &said.hits, &described);
    let content_type = if said.before.is_empty() && said.after.is_empty() && said.own.len() < 2 {
        let own = said.own.pop().unwrap_or_default();
        if own.is_empty() {
            response.headers_mut().remove(header::CONTENT_TYPE);
        }
        let content_type = (body.is_empty() && !own.is_empty()).then(|| type_of(&own));
        *response.body_mut() = Body::from(own);
        content_type
    } else {
        if response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::OK;
        }
        *response.body_mut() = Body::from(all_events(player, exchange, &mut said));
        Some("text/event-stream")
    };
    if said.on_listening {
        let messages = if body.is_empty() { Vec::new() } else { vec![body.to_vec()] };
        player.broadcast(&exchange.incoming.scope, &messages);
    }
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    put_head(&mut response, head);
    response
}

/// The type of a body where there was none.
fn type_of(body: &[u8]) -> &'static str {
    match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => "application/json",
        Err(_) => "text/plain",
    }
}

fn all_events(player: &FlawPlayer, exchange: &Exchange, said: &mut ChangedMessage) -> Vec<u8> {
    let events = std::mem::take(said).messages().zip(0..).map(|(message, number)| {
        let mut event = Event::message(message);
        player.renumber(exchange, &mut event, number);
        event.write()
    });
    events.collect::<Vec<_>>().concat()
}

/// A stream of events, changed as it comes.
fn rewrite_stream(player: &Arc<FlawPlayer>, exchange: Arc<Exchange>, response: Response) -> Response {
    let described = described(&response);
    let hits = player.hits_of_response(&exchange, &described);
    let head = player.head(&exchange, &hits, &described);
    let (parts, body) = response.into_parts();
    let (sender, events) = mpsc::channel(EVENTS_AHEAD);
    let is_listening = exchange.incoming.head.as_ref().is_some_and(|head| head.verb == "GET");
    let pushed = player.listen(if is_listening { &exchange.incoming.scope } else { UNHEARD });
    let feed =
        StreamRewriter { player: Arc::clone(player), exchange, response: described, sender, number: 0, is_listening };
    tokio::spawn(feed.run(body.into_data_stream(), pushed));
    let mut response = Response::from_parts(parts, Body::from_stream(Events(events)));
    put_head(&mut response, head);
    response
}

/// A scope that no session has, so nothing is broadcast to it.
const UNHEARD: &str = "\n";

/// Rewrites one stream of events to the client.
struct StreamRewriter {
    player: Arc<FlawPlayer>,
    exchange: Arc<Exchange>,
    response: condition::Response,
    sender: mpsc::Sender<Bytes>,
    number: u64,
    is_listening: bool,
}

/// The client is gone, or is to receive no more.
struct ClientGone;

impl StreamRewriter {
    /// Ends with the stream of the correct server, which is dropped as soon as the client is gone.
    async fn run(mut self, chunks: BodyDataStream, pushed: mpsc::UnboundedReceiver<Vec<u8>>) {
        let sender = self.sender.clone();
        tokio::select! {
            () = sender.closed() => {}
            _ = self.pass(chunks, pushed) => {}
        }
    }

    async fn pass(
        &mut self,
        chunks: BodyDataStream,
        mut pushed: mpsc::UnboundedReceiver<Vec<u8>>,
    ) -> Result<(), ClientGone> {
        let mut chunks = pin!(chunks);
        let mut splitter = Splitter::default();
        // A stream that was opened with GET has no answer of its own.
        let mut around = ChangedMessage::default();
        if self.is_listening {
            around = self.player.answer(&self.exchange, None, Some(&self.response));
            sleep(around.delay).await;
        }
        let after = std::mem::take(&mut around.after);
        self.send_all(std::mem::take(&mut around.before)).await?;
        loop {
            tokio::select! {
                Some(message) = pushed.recv() => self.send(Event::message(message)).await?,
                chunk = poll_fn(|context| chunks.as_mut().poll_next(context)) => match chunk {
                    Some(Ok(bytes)) => for event in splitter.push(&bytes) {
                        self.pass_on(event).await?;
                    },
                    Some(Err(_)) | None => break,
                },
            }
        }
        self.send_all(after).await
    }

    async fn pass_on(&mut self, event: Event) -> Result<(), ClientGone> {
        let Ok(message) = serde_json::from_slice::<Value>(&event.data) else {
            return self.send(event).await;
        };
        let mut said = if message.get("method").is_some() {
            self.player.send(Some(&self.exchange), &self.exchange.incoming.scope, &event.data)
        } else {
            self.player.answer(&self.exchange, Some(&event.data), Some(&self.response))
        };
        if said.never {
            pending::<()>().await;
        }
        if self.is_listening && message.get("method").is_none() {
            (said.before, said.after) = (Vec::new(), Vec::new());
        }
        sleep(said.delay).await;
        if said.on_listening {
            self.player.broadcast(&self.exchange.incoming.scope, std::slice::from_ref(&event.data));
        }
        self.send_all(said.before).await?;
        for own in said.own {
            self.send(event.with(own)).await?;
        }
        self.send_all(said.after).await
    }

    async fn send_all(&mut self, messages: Vec<Vec<u8>>) -> Result<(), ClientGone> {
        for message in messages {
            self.send(Event::message(message)).await?;
        }
        Ok(())
    }

    async fn send(&mut self, mut event: Event) -> Result<(), ClientGone> {
        self.player.renumber(&self.exchange, &mut event, self.number);
        self.number += 1;
        self.sender.send(event.write().into()).await.map_err(|_| ClientGone)
    }
}

struct Events(mpsc::Receiver<Bytes>);

impl Stream for Events {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}
