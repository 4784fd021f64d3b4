//! HTTP+SSE of 2024-11-05: one stream for everything that comes, a POST without an answer for everything that goes.

use std::time::Duration;

use reqwest::Url;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::failure::{self, ConnectionBreak, HttpFailure};
use super::{HttpConnection, Incoming, stream};
use crate::source::visible_line;
use crate::transport::{HttpDelivery, TransportKind};
use crate::wire::sse::{SseEvent, SseParser};

/// The time for the server to name its address for messages.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the stream and learns where messages go; `None` where there is no such stream.
pub(crate) async fn connect(shared: &std::sync::Arc<HttpConnection>) -> Result<Option<()>, HttpFailure> {
    let (found, is_found) = oneshot::channel();
    let listening = std::sync::Arc::clone(shared);
    shared.streams.lock().spawn(async move { listen(&listening, found).await });
    let silent = || HttpFailure::Endpoint("the server opened an event stream and sent no `endpoint` event".to_owned());
    match timeout(ENDPOINT_TIMEOUT, is_found).await {
        Err(_) => Err(silent()),
        Ok(Err(_)) => Ok(None),
        Ok(Ok(endpoint)) => {
            shared.session.lock().endpoint = Some(endpoint?);
            Ok(Some(()))
        }
    }
}

/// Tells `found` the endpoint, then hands on what comes; the end of the stream ends the conversation.
async fn listen(shared: &HttpConnection, found: oneshot::Sender<Result<Url, HttpFailure>>) {
    let (mut response, http) = match stream::open(shared, None).await {
        Ok(Some(opened)) => opened,
        Ok(None) => return,
        Err(failure) => return drop(found.send(Err(failure))),
    };
    let mut parser = SseParser::default();
    let mut found = Some(found);
    let ended = loop {
        let piece = match response.chunk().await {
            Ok(Some(piece)) => piece,
            Ok(None) if parser.is_in_event() => break HttpFailure::Reset(ConnectionBreak::InEvent),
            Ok(None) => break HttpFailure::Endpoint("the server closed the event stream of the session".to_owned()),
            Err(error) => break failure::of_error(&error, response.url(), ConnectionBreak::AfterHeaders),
        };
        let Ok(events) = parser.push(&piece) else { break HttpFailure::TooLarge("one event has more than 64 MiB") };
        for event in events {
            if event.kind == "endpoint" {
                let endpoint = endpoint(&shared.url, &event);
                if endpoint.is_ok() {
                    shared.tell(Incoming::Speaks(TransportKind::Sse)).await;
                }
                drop(found.take().map(|found| found.send(endpoint)));
            } else if event.is_message() {
                let (bytes, http) = (event.data, std::sync::Arc::clone(&http));
                shared.tell(Incoming::Message { bytes, http, delivery: HttpDelivery::Stream }).await;
            }
        }
    };
    // Without an endpoint nobody was in the conversation.
    if found.is_none() {
        shared.tell(Incoming::Lost(ended)).await;
    }
}

/// The endpoint must have the origin of the stream: credentials go there.
fn endpoint(base: &Url, event: &SseEvent) -> Result<Url, HttpFailure> {
    let text = String::from_utf8_lossy(&event.data).trim().to_owned();
    let shown = visible_line(&text);
    let Ok(url) = base.join(&text) else {
        return Err(HttpFailure::Endpoint(format!("the server names the endpoint `{shown}`, which is not a URL")));
    };
    if url.origin() != base.origin() {
        return Err(HttpFailure::Endpoint(format!(
            "the server names an endpoint of another origin, `{shown}`; nothing is sent there"
        )));
    }
    Ok(url)
}
