//! One POST: a message goes, its answer comes as JSON or as a stream of events, or it is clear why not.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::failure::{self, Break, HttpFailure};
use super::stream::{self, Events};
use super::weigh::{Body, Posted, is_json, weigh};
use super::{Flavour, Incoming, Kind, Message, Shared, head, old_sse};
use crate::transport::Origin;
use crate::wire::{Era, Http};

/// How large an answer in JSON may be, in bytes.
const LONGEST_BODY: usize = 64 << 20;

/// How much is read of a body that is no answer, in bytes.
const LONGEST_REFUSAL: usize = 1 << 20;

/// How long that may take.
const REFUSAL: Duration = Duration::from_secs(2);

/// How long the end of a server that this program started may take to become known; it explains a broken connection.
const EXIT_KNOWN: Duration = Duration::from_millis(300);

/// A response whose body was not looked at.
struct Answer<'a> {
    shared: &'a Arc<Shared>,
    message: &'a Message,
    http: Arc<Http>,
    /// Whether the request carried a session id.
    in_session: bool,
}

/// What failed, with the head and the body that show it.
struct Failed {
    failure: HttpFailure,
    shown: Option<(Arc<Http>, Vec<u8>)>,
}

impl From<HttpFailure> for Failed {
    fn from(failure: HttpFailure) -> Self {
        Self { failure, shown: None }
    }
}

/// Sends a message and hands on everything that answers it; `heard` is told of the first head.
pub(super) async fn post(shared: &Arc<Shared>, message: Message, heard: oneshot::Sender<()>) {
    let mut heard = Some(heard);
    let failed = match exchange(shared, &message, &mut heard).await {
        Ok(()) => return,
        Err(failed) => failed,
    };
    if shared.is_ours && failed.failure.is_disconnection() {
        sleep(EXIT_KNOWN).await;
    }
    let Failed { failure, shown } = failed;
    shared.tell(Incoming::Undelivered { frame: message.frame, failure: Box::new(failure), shown }).await;
}

async fn exchange(
    shared: &Arc<Shared>,
    message: &Message,
    heard: &mut Option<oneshot::Sender<()>>,
) -> Result<(), Failed> {
    let is_older = shared.flavour == Flavour::OldSse && message.kind == Kind::Handshake;
    if is_older && shared.session().endpoint.is_none() && old_sse::connect(shared).await?.is_none() {
        let words = format!("`{}` has no event stream to give", shared.url);
        return Err(HttpFailure::Endpoint(words).into());
    }
    let refused = match once(shared, message, heard).await {
        Err(failed) if falls_back(shared, message, &failed.failure) => failed,
        settled => return settled,
    };
    match old_sse::connect(shared).await {
        Ok(Some(())) => once(shared, message, heard).await,
        Err(failure @ HttpFailure::Endpoint(_)) => Err(failure.into()),
        Ok(None) | Err(_) => Err(refused),
    }
}

/// 2025-11-25, transports, backwards compatibility: what refuses `initialize` so may be a server of 2024-11-05.
fn falls_back(shared: &Shared, message: &Message, failure: &HttpFailure) -> bool {
    let is_open = shared.flavour == Flavour::Auto && shared.session().endpoint.is_none();
    message.kind == Kind::Handshake && is_open && matches!(failure.bare_status(), Some(400 | 404 | 405))
}

async fn once(shared: &Arc<Shared>, message: &Message, heard: &mut Option<oneshot::Sender<()>>) -> Result<(), Failed> {
    let session = shared.session().clone();
    let mut headers = message.headers.clone();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers.push(("accept".to_owned(), "application/json, text/event-stream".to_owned()));
    let id = session.id.filter(|_| message.era == Era::Session && message.kind != Kind::Handshake);
    let in_session = id.is_some();
    headers.extend(id.map(|id| ("mcp-session-id".to_owned(), id)));
    let url = session.endpoint.as_ref().unwrap_or(&shared.url);
    let request = head::Request { method: Method::POST, url, headers, body: message.bytes.clone() };
    let (response, http) = shared.send(request, Some(message.frame)).await?;
    if message.kind == Kind::Handshake && http.is_success() {
        shared.session().id = http.header("mcp-session-id").map(str::to_owned);
    }
    // Whoever waited for it may have gone on.
    let _ = heard.take().map(|heard| heard.send(()));
    let answer = Answer { shared, message, http, in_session };
    if session.endpoint.is_some() {
        return answer.accepted_for_the_stream(response).await;
    }
    answer.take(response).await
}

impl Answer<'_> {
    /// HTTP+SSE answers on its stream; here only a refusal says anything.
    async fn accepted_for_the_stream(&self, response: Response) -> Result<(), Failed> {
        if self.http.is_success() { Ok(()) } else { self.weighed(beginning(response).await).await }
    }

    async fn take(&self, response: Response) -> Result<(), Failed> {
        if let Some(encoding) = self.http.header("content-encoding").filter(|it| !it.eq_ignore_ascii_case("identity")) {
            return Err(self.shown(HttpFailure::Encoded(encoding.to_owned()), Vec::new()));
        }
        if self.http.is_success() && stream::is_event_stream(&self.http) {
            return self.events(response).await;
        }
        let is_answer = self.http.is_success() && self.posted().expects_an_answer && is_json(&self.http);
        // Read to its end, the connection serves the next request.
        let body = if is_answer { whole(response).await? } else { beginning(response).await };
        self.weighed(body).await
    }

    /// Hands on a body that is a message, and says why another is none.
    async fn weighed(&self, body: Vec<u8>) -> Result<(), Failed> {
        match weigh(&self.http, &body, self.posted()) {
            Ok(Body::Message) => {
                self.hand_on(body).await;
                Ok(())
            }
            Ok(Body::Nothing) => Ok(()),
            Err(failure) => {
                if matches!(failure, HttpFailure::SessionLost(_)) {
                    self.shared.session().id = None;
                }
                Err(self.shown(failure, body))
            }
        }
    }

    async fn events(&self, response: Response) -> Result<(), Failed> {
        let mut events = Events::new(self.shared, Origin::Event(self.message.frame));
        let mut ended = events.read(response, &self.http).await;
        if self.message.era == Era::Session && self.expects_an_answer() {
            ended = events.resume(ended).await;
        }
        if events.has_answered() || !self.expects_an_answer() { Ok(()) } else { Err(self.shown(ended, Vec::new())) }
    }

    async fn hand_on(&self, bytes: Vec<u8>) {
        let (http, origin) = (Arc::clone(&self.http), Origin::Body(self.message.frame));
        self.shared.tell(Incoming::Message { bytes, http, origin }).await;
    }

    fn shown(&self, failure: HttpFailure, body: Vec<u8>) -> Failed {
        Failed { failure, shown: Some((Arc::clone(&self.http), body)) }
    }

    fn expects_an_answer(&self) -> bool {
        matches!(self.message.kind, Kind::Handshake | Kind::Request)
    }

    fn posted(&self) -> Posted {
        Posted {
            expects_an_answer: self.expects_an_answer(),
            in_session: self.in_session,
            has_token: self.shared.tokens.is_some(),
        }
    }
}

/// The whole body.
async fn whole(mut response: Response) -> Result<Vec<u8>, HttpFailure> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() > LONGEST_BODY => {
                return Err(HttpFailure::TooLarge("its body has more than 64 MiB"));
            }
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(body),
            Err(error) => return Err(failure::of_error(&error, response.url(), Break::AfterHeaders)),
        }
    }
}

/// As much of a body as is worth a look and comes soon.
pub(super) async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let deadline = Instant::now() + REFUSAL;
    while let Ok(Ok(Some(piece))) = timeout_at(deadline, response.chunk()).await {
        body.extend_from_slice(&piece);
        if body.len() > LONGEST_REFUSAL {
            body.truncate(LONGEST_REFUSAL);
            break;
        }
    }
    body
}
