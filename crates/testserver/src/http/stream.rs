//! The messages sent in answer to one request, kept so that a stream that broke can be resumed.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

/// After how many milliseconds a client may take a broken stream up again.
const RETRY: u32 = 1000;

/// The number of events that wait for a client that reads slowly.
const EVENTS_AHEAD: usize = 16;

/// The messages sent so far in answer to one request.
#[derive(Debug)]
pub(crate) struct Log {
    kept: watch::Sender<LoggedEvent>,
}

#[derive(Debug, Default)]
struct LoggedEvent {
    messages: Vec<Value>,
    is_cancelled: bool,
    is_over: bool,
}

/// The events that a log becomes.
#[derive(Clone, Copy)]
pub(crate) struct Numbering {
    /// The number of the stream in its session; requests without a session have none, and cannot be taken up again.
    pub(crate) stream: Option<usize>,
    /// The first message that is still to come.
    pub(crate) from: usize,
    /// True if an event without a message goes first, so that the client has a number from the start.
    pub(crate) opening: StreamOpening,
}

/// The beginning of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamOpening {
    /// With an event without a message.
    Primed,
    /// With the first message.
    Plain,
}

impl Log {
    /// A log in which nothing was said.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { kept: watch::Sender::new(LoggedEvent::default()) })
    }

    pub(crate) fn say(&self, message: Value) {
        self.kept.send_modify(|kept| kept.messages.push(message));
    }

    /// Nothing more will be said.
    pub(crate) fn end(&self) {
        self.kept.send_modify(|kept| kept.is_over = true);
    }

    /// Nobody waits for an answer any more.
    pub(crate) fn cancel(&self) {
        self.kept.send_modify(|kept| kept.is_cancelled = true);
    }

    /// The number of messages so far.
    pub(crate) fn message_count(&self) -> usize {
        self.kept.borrow().messages.len()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.kept.borrow().is_over
    }

    /// Waits for a cancellation, or the end; true for the former.
    pub(crate) async fn wait_for_cancellation(&self) -> bool {
        let mut kept = self.kept.subscribe();
        kept.wait_for(|kept| kept.is_cancelled || kept.is_over).await.is_ok_and(|kept| !kept.is_over)
    }

    /// The first message, or nothing if there is none.
    pub(crate) async fn first(&self) -> Option<Value> {
        let mut kept = self.kept.subscribe();
        let kept = kept.wait_for(|kept| kept.is_over || !kept.messages.is_empty()).await.ok()?;
        kept.messages.first().cloned()
    }

    /// The last message, or nothing if there is none.
    pub(crate) async fn last(&self) -> Option<Value> {
        let mut kept = self.kept.subscribe();
        kept.wait_for(|kept| kept.is_over).await.ok()?.messages.last().cloned()
    }

    /// The messages from `position` on, once there are any; nothing at the end.
    async fn beyond(&self, position: usize) -> Option<Vec<Value>> {
        let mut kept = self.kept.subscribe();
        let kept = kept.wait_for(|kept| kept.is_over || kept.messages.len() > position).await.ok()?;
        kept.messages.get(position..).filter(|rest| !rest.is_empty()).map(<[Value]>::to_vec)
    }
}

/// Cancels a request when it is dropped before its end.
pub(crate) struct CancelOnDrop(pub(crate) Arc<Log>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A log as a stream of events; `guard` is dropped with it.
pub(crate) fn events(log: Arc<Log>, numbering: Numbering, guard: Option<CancelOnDrop>) -> Response {
    let (sender, lines) = mpsc::channel(EVENTS_AHEAD);
    tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            () = feed(&log, numbering, &sender) => {}
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        // Proxies would hold events back.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (StatusCode::OK, headers, Body::from_stream(Events { lines, _guard: guard })).into_response()
}

async fn feed(log: &Log, numbering: Numbering, sender: &mpsc::Sender<Bytes>) {
    let id = |position: usize| numbering.stream.map(|stream| format!("id: {stream}-{position}\n")).unwrap_or_default();
    let mut position = numbering.from;
    if numbering.opening == StreamOpening::Primed
        && sender.send(format!("{}retry: {RETRY}\ndata:\n\n", id(position)).into()).await.is_err()
    {
        return;
    }
    while let Some(messages) = log.beyond(position).await {
        for message in messages {
            position += 1;
            if sender.send(format!("{}event: message\ndata: {message}\n\n", id(position)).into()).await.is_err() {
                return;
            }
        }
    }
}

struct Events {
    lines: mpsc::Receiver<Bytes>,
    _guard: Option<CancelOnDrop>,
}

impl Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.lines.poll_recv(context).map(|line| line.map(Ok))
    }
}
