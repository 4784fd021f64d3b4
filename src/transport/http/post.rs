//! One POST: a message goes, its answer comes as JSON or as a stream of events, or it is clear why not.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::failure::{self, Break, HttpFailure, Refusal, excerpt, status_text};
use super::stream::{self, Events};
use super::{Flavour, Incoming, Kind, Message, Shared, head, old_sse};
use crate::transport::Origin;
use crate::wire::{Era, Http, response_of};

/// How large an answer in JSON may be, in bytes.
const LONGEST_BODY: usize = 64 << 20;

/// How much is read of a body that is no answer, in bytes.
const LONGEST_REFUSAL: usize = 1 << 20;

/// How long that may take.
const REFUSAL: Duration = Duration::from_secs(2);

/// How long the end of a server that this program started may take to become known; it explains a broken connection.
const EXIT_KNOWN: Duration = Duration::from_millis(300);

/// Code of JSON-RPC for a method that does not exist.
const NO_METHOD: i64 = -32601;

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
        if self.http.is_success() { Ok(()) } else { self.refused(response).await }
    }

    async fn take(&self, response: Response) -> Result<(), Failed> {
        if let Some(encoding) = self.http.header("content-encoding").filter(|it| !it.eq_ignore_ascii_case("identity")) {
            return Err(self.shown(HttpFailure::Encoded(encoding.to_owned()), Vec::new()));
        }
        if !self.http.is_success() {
            return self.refused(response).await;
        }
        if stream::is_event_stream(&self.http) {
            return self.events(response).await;
        }
        if !self.expects_an_answer() {
            // Read to its end, the connection serves the next request.
            drop(beginning(response).await);
            return Ok(());
        }
        if self.is_json() {
            let bytes = whole(response).await?;
            if !bytes.iter().all(u8::is_ascii_whitespace) {
                self.hand_on(bytes).await;
                return Ok(());
            }
            return Err(self.shown(HttpFailure::StreamEnded { status: self.status() }, Vec::new()));
        }
        let body = beginning(response).await;
        let failure = if body.is_empty() {
            HttpFailure::StreamEnded { status: self.status() }
        } else {
            let got = self.http.header("content-type").unwrap_or_default().to_owned();
            HttpFailure::ContentType { status: self.status(), got, excerpt: excerpt(&body) }
        };
        Err(self.shown(failure, body))
    }

    /// A refusal with a message in it is an answer, but for those that end a session or want credentials.
    async fn refused(&self, response: Response) -> Result<(), Failed> {
        let body = beginning(response).await;
        let refusal = self.refusal(&body);
        let message = response_of(&body);
        if self.http.status == 401 {
            let failure = match &self.shared.tokens {
                Some(_) => HttpFailure::TokenRefused(refusal),
                None => HttpFailure::AuthRequired(refusal),
            };
            return Err(self.shown(failure, body));
        }
        let is_unknown_method = message.as_ref().is_some_and(|message| message["error"]["code"] == NO_METHOD);
        if self.http.status == 404 && self.in_session && !is_unknown_method {
            self.shared.session().id = None;
            return Err(self.shown(HttpFailure::SessionLost(refusal), body));
        }
        if message.is_some() {
            self.hand_on(body).await;
            return Ok(());
        }
        Err(self.shown(HttpFailure::Status(refusal), body))
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

    fn refusal(&self, body: &[u8]) -> Refusal {
        let header = |name: &str| self.http.header(name).map(str::to_owned);
        Refusal {
            code: self.http.status,
            status: self.status(),
            retry_after: header("retry-after"),
            www_authenticate: header("www-authenticate"),
            excerpt: excerpt(body),
        }
    }

    fn shown(&self, failure: HttpFailure, body: Vec<u8>) -> Failed {
        Failed { failure, shown: Some((Arc::clone(&self.http), body)) }
    }

    fn status(&self) -> String {
        status_text(self.http.status)
    }

    fn expects_an_answer(&self) -> bool {
        matches!(self.message.kind, Kind::Handshake | Kind::Request)
    }

    fn is_json(&self) -> bool {
        let kind = self.http.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
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
