//! Streams of events: read, handed on, resumed where they broke.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::failure::{self, ConnectionBreak, HttpFailure, status_text};
use super::{HttpConnection, Incoming, body, head};
use crate::transport::HttpDelivery;
use crate::transport::large::LargeTurn;
use crate::wire::sse::{self, SseParser};
use crate::wire::{HttpHead, is_response};

/// The delay before a stream is resumed where the server names none.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The number of times in a row that a stream is resumed without an event on it.
const MAX_RETRIES: usize = 5;

/// One stream, through all its resumptions.
pub(crate) struct EventStream<'a> {
    shared: &'a HttpConnection,
    origin: HttpDelivery,
    parser: SseParser,
    last_id: Option<String>,
    /// An answer came on it.
    pub has_answered: bool,
    has_moved: bool,
}

impl<'a> EventStream<'a> {
    pub(crate) fn new(shared: &'a HttpConnection, origin: HttpDelivery) -> Self {
        let parser = SseParser::default();
        Self { shared, origin, parser, last_id: None, has_answered: false, has_moved: false }
    }

    /// Hands on every event of one response until it ends; says how it ended.
    pub(crate) async fn read_events(&mut self, mut response: Response, http: &Arc<HttpHead>) -> HttpFailure {
        self.parser = SseParser::default();
        let mut turn = LargeTurn::default();
        loop {
            let piece = match response.chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) if self.parser.is_in_event() => return HttpFailure::Reset(ConnectionBreak::InEvent),
                Ok(None) => return HttpFailure::StreamEnded { status: status_text(http.status) },
                Err(error) => {
                    let broken = if self.parser.is_in_event() {
                        ConnectionBreak::InEvent
                    } else {
                        ConnectionBreak::AfterHeaders
                    };
                    return failure::of_error(&error, response.url(), broken);
                }
            };
            let Ok(events) = self.parser.push(&piece) else {
                return HttpFailure::TooLarge("one event has more than 64 MiB");
            };
            turn.take(self.parser.unfinished_bytes()).await;
            self.last_id = self.parser.last_id().map(str::to_owned).or(self.last_id.take());
            for event in events.into_iter().filter(sse::SseEvent::is_message) {
                self.has_moved = true;
                self.has_answered |= is_response(&event.data);
                let (bytes, http) = (event.data, Arc::clone(http));
                self.shared.tell(Incoming::Message { bytes, http, delivery: self.origin }).await;
            }
            // What keeps a stream alive is no large message, nor are many small ones.
            turn.end(self.parser.unfinished_bytes());
        }
    }

    /// Goes on after the last event that came, for as long as that makes sense; returns how it ended.
    pub(crate) async fn resume(&mut self, mut ended: HttpFailure) -> HttpFailure {
        let mut left = MAX_RETRIES;
        while left > 0 && self.can_go_on(&ended) {
            left = if std::mem::take(&mut self.has_moved) { MAX_RETRIES } else { left - 1 };
            sleep(self.parser.retry().unwrap_or(RETRY_DELAY)).await;
            match open(self.shared, self.last_id.as_deref()).await {
                Ok(Some((response, http))) => ended = self.read_events(response, &http).await,
                Ok(None) => return ended,
                Err(failure) => ended = failure,
            }
        }
        ended
    }

    /// A stream can be resumed, and is still needed: for an answer, or by the whole session.
    fn can_go_on(&self, ended: &HttpFailure) -> bool {
        let is_needed = self.origin == HttpDelivery::Stream || !self.has_answered && self.last_id.is_some();
        is_needed && (matches!(ended, HttpFailure::StreamEnded { .. }) || ended.is_disconnection())
    }
}

/// Asks for a stream; `None` where the server has none to give.
pub(crate) async fn open(
    shared: &HttpConnection,
    last_id: Option<&str>,
) -> Result<Option<(Response, Arc<HttpHead>)>, HttpFailure> {
    let mut headers = shared.session_headers();
    headers.push(("accept".to_owned(), "text/event-stream".to_owned()));
    headers.extend(last_id.map(|id| ("last-event-id".to_owned(), id.to_owned())));
    let request = head::HttpRequest::without_body(Method::GET, &shared.url, headers);
    let (response, http) = shared.send(request, None).await?;
    Ok((http.is_success() && is_event_stream(&http)).then_some((response, http)))
}

pub(crate) fn is_event_stream(http: &HttpHead) -> bool {
    body::has_type(http, "text/event-stream")
}

/// Listens to what the server sends by itself, for as long as the session lives; `opened` is notified of the first head.
pub(crate) async fn listen(shared: &HttpConnection, opened: oneshot::Sender<()>) {
    let first = open(shared, None).await;
    // The session may have gone on without.
    let _ = opened.send(());
    let Ok(Some((response, http))) = first else { return };
    let mut events = EventStream::new(shared, HttpDelivery::Stream);
    let ended = events.read_events(response, &http).await;
    events.resume(ended).await;
}
