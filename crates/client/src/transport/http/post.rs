//! One POST: a message goes, its answer comes as JSON or as a stream of events, or it is clear why not.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::body::{BodyKind, Posted, classify_body, has_type};
use super::failure::{self, ConnectionBreak, HttpFailure};
use super::stream::{self, EventStream};
use super::{HttpConnection, HttpTransport, Incoming, MessageRole, OutgoingMessage, clock_fault, head, old_sse};
use crate::transport::HttpDelivery;
use crate::transport::large::LargeTurn;
use crate::wire::{Era, HttpHead, reserve_for_large};

/// The size of an answer in JSON, in bytes.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The number of bytes that are read of a body that is no answer.
const MAX_REFUSAL_BYTES: usize = 1 << 20;

/// The time to read it.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The time until the exit of a server that this program started becomes known; it explains a broken connection.
const EXIT_GRACE: Duration = Duration::from_millis(300);

/// A response whose body was not looked at.
struct PostResponse<'a> {
    shared: &'a Arc<HttpConnection>,
    message: &'a OutgoingMessage,
    http: Arc<HttpHead>,
    /// The request carried a session id.
    in_session: bool,
}

/// A failed exchange, with the response that shows it.
struct PostFailure {
    failure: HttpFailure,
    shown: Option<(Arc<HttpHead>, Vec<u8>)>,
}

impl From<HttpFailure> for PostFailure {
    fn from(failure: HttpFailure) -> Self {
        Self { failure, shown: None }
    }
}

/// Sends a message and passes on everything that answers it; `on_head` is notified of the first head.
pub(crate) async fn post(shared: &Arc<HttpConnection>, message: OutgoingMessage, on_head: oneshot::Sender<()>) {
    let mut on_head = Some(on_head);
    let failed = match exchange(shared, &message, &mut on_head).await {
        Ok(()) => return,
        Err(failed) => failed,
    };
    if shared.is_ours && failed.failure.is_disconnection() {
        sleep(EXIT_GRACE).await;
    }
    let PostFailure { failure, shown } = failed;
    shared.tell(Incoming::Undelivered { frame: message.frame, failure: Box::new(failure), shown }).await;
}

async fn exchange(
    shared: &Arc<HttpConnection>,
    message: &OutgoingMessage,
    on_head: &mut Option<oneshot::Sender<()>>,
) -> Result<(), PostFailure> {
    let is_older = shared.flavour == HttpTransport::OldSse && message.role == MessageRole::Handshake;
    if is_older && shared.session.lock().endpoint.is_none() && old_sse::connect(shared).await?.is_none() {
        let words = format!("`{}` does not open an event stream", shared.url);
        return Err(HttpFailure::Endpoint(words).into());
    }
    let refused = match post_once(shared, message, on_head).await {
        Err(failed) if may_be_old_server(shared, message, &failed.failure) => failed,
        settled => return settled,
    };
    match old_sse::connect(shared).await {
        Ok(Some(())) => post_once(shared, message, on_head).await,
        Err(failure @ HttpFailure::Endpoint(_)) => Err(failure.into()),
        Ok(None) | Err(_) => Err(refused),
    }
}

/// 2025-11-25, transports, backwards compatibility: what refuses `initialize` so may be a server of 2024-11-05.
fn may_be_old_server(shared: &HttpConnection, message: &OutgoingMessage, failure: &HttpFailure) -> bool {
    let is_open = shared.flavour == HttpTransport::Auto && shared.session.lock().endpoint.is_none();
    message.role == MessageRole::Handshake && is_open && matches!(failure.bare_status(), Some(400 | 404 | 405))
}

async fn post_once(
    shared: &Arc<HttpConnection>,
    message: &OutgoingMessage,
    on_head: &mut Option<oneshot::Sender<()>>,
) -> Result<(), PostFailure> {
    let session = shared.session.lock().clone();
    let mut headers = message.headers.clone();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers.push(("accept".to_owned(), "application/json, text/event-stream".to_owned()));
    let id = session.id.filter(|_| message.era == Era::Session && message.role != MessageRole::Handshake);
    let in_session = id.is_some();
    headers.extend(id.map(|id| ("mcp-session-id".to_owned(), id)));
    let url = session.endpoint.as_ref().unwrap_or(&shared.url);
    let request =
        head::HttpRequest { method: Method::POST, url, headers, body: message.bytes.clone(), form: message.form };
    let (response, http) = shared.send(request, Some(message.frame)).await?;
    if message.role == MessageRole::Handshake && http.is_success() {
        shared.session.lock().id = http.header("mcp-session-id").map(str::to_owned);
    }
    // Whoever waited for it may have gone on.
    let _ = on_head.take().map(|on_head| on_head.send(()));
    let answer = PostResponse { shared, message, http, in_session };
    if session.endpoint.is_some() {
        return answer.accepted_for_the_stream(response).await;
    }
    answer.receive(response).await
}

impl PostResponse<'_> {
    /// HTTP+SSE answers on its stream; here only a refusal says anything.
    async fn accepted_for_the_stream(&self, response: Response) -> Result<(), PostFailure> {
        if self.http.is_success() { Ok(()) } else { self.accept_body(beginning(response).await).await }
    }

    async fn receive(&self, response: Response) -> Result<(), PostFailure> {
        self.shared.gate.open().await;
        if let Some(encoding) = self.http.header("content-encoding").filter(|it| !it.eq_ignore_ascii_case("identity")) {
            return Err(self.failure_with_body(HttpFailure::Encoded(encoding.to_owned()), Vec::new()));
        }
        if self.http.is_success() && stream::is_event_stream(&self.http) {
            return self.events(response).await;
        }
        let is_answer =
            self.http.is_success() && self.facts().expects_an_answer && has_type(&self.http, "application/json");
        // Read to its end, the connection serves the next request.
        let mut turn = LargeTurn::default();
        let body = if is_answer { read_body(response, &mut turn).await? } else { beginning(response).await };
        self.accept_body(body).await
    }

    /// Forwards a body that is a message; `Err` says why another is none.
    async fn accept_body(&self, body: Vec<u8>) -> Result<(), PostFailure> {
        match classify_body(&self.http, &body, self.facts()) {
            Ok(BodyKind::Message) => {
                self.forward(body).await;
                Ok(())
            }
            Ok(BodyKind::Nothing) => Ok(()),
            Err(mut failure) => {
                if matches!(failure, HttpFailure::SessionLost(_)) {
                    self.shared.session.lock().id = None;
                }
                if let (HttpFailure::TokenRefused(refusal), Some((tokens, _))) = (&mut failure, &self.shared.tokens) {
                    let token = tokens.last_token().unwrap_or_default();
                    refusal.clock = clock_fault(&token, self.http.header("date"));
                }
                Err(self.failure_with_body(failure, body))
            }
        }
    }

    async fn events(&self, response: Response) -> Result<(), PostFailure> {
        let mut events = EventStream::new(self.shared, HttpDelivery::Event(self.message.frame));
        let mut ended = events.read_events(response, &self.http).await;
        if self.message.era == Era::Session && self.expects_an_answer() {
            ended = events.resume(ended).await;
        }
        if events.has_answered || !self.expects_an_answer() {
            Ok(())
        } else {
            Err(self.failure_with_body(ended, Vec::new()))
        }
    }

    async fn forward(&self, bytes: Vec<u8>) {
        let (http, origin) = (Arc::clone(&self.http), HttpDelivery::Body(self.message.frame));
        self.shared.tell(Incoming::Message { bytes, http, delivery: origin }).await;
    }

    fn failure_with_body(&self, failure: HttpFailure, body: Vec<u8>) -> PostFailure {
        PostFailure { failure, shown: Some((Arc::clone(&self.http), body)) }
    }

    fn expects_an_answer(&self) -> bool {
        matches!(self.message.role, MessageRole::Handshake | MessageRole::Request)
    }

    fn facts(&self) -> Posted {
        Posted {
            expects_an_answer: self.expects_an_answer(),
            in_session: self.in_session,
            has_token: self.shared.tokens.is_some(),
        }
    }
}

/// The whole body.
async fn read_body(mut response: Response, turn: &mut LargeTurn) -> Result<Vec<u8>, HttpFailure> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() > MAX_BODY_BYTES => {
                return Err(HttpFailure::TooLarge("its body has more than 64 MiB"));
            }
            Ok(Some(piece)) => {
                body.extend_from_slice(&piece);
                turn.take(body.len()).await;
                reserve_for_large(&mut body, MAX_BODY_BYTES);
            }
            Ok(None) => return Ok(body),
            Err(error) => return Err(failure::of_error(&error, response.url(), ConnectionBreak::AfterHeaders)),
        }
    }
}

/// As much of a body as is worth a look and comes soon.
pub(crate) async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let deadline = Instant::now() + REFUSAL_TIMEOUT;
    while let Ok(Ok(Some(piece))) = timeout_at(deadline, response.chunk()).await {
        body.extend_from_slice(&piece);
        if body.len() > MAX_REFUSAL_BYTES {
            body.truncate(MAX_REFUSAL_BYTES);
            break;
        }
    }
    body
}
