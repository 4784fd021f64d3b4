//! A relay around a conversation over streams: the client on one side, the server on the other.
//!
//! The directions do not wait for each other, so a server that does not read can still be read. What waits is bounded:
//! a side that does not read is not written to, and in the end nothing more is read from the other side.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

use super::traffic::RelayedExchange;
use super::{BATCH, MOST_READ, Relay, RelayStop};
use crate::fault::{
    ChangedMessage, HeardMessage, LiveRequest, MatchedRequest, MessageKind, PendingRequest, PendingRequests,
    ReplyContent, ServerEnd, ServerReply,
};
use crate::transport::Transfer;
use crate::wire::id_of_unreadable;

/// The most bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// The most messages that wait for a client that reads slowly.
const LINES_AHEAD: usize = 1024;

/// The most KiB of these messages, except for one that is longer alone.
const KIB_AHEAD: u32 = 16 * 1024;

/// The most late messages that wait for their time.
const MOST_LATE: usize = 4096;

/// The end of a relayed conversation.
#[derive(Debug)]
pub enum StreamsEnd {
    /// The server closed its output, and all of it is written.
    Closed,
    /// The client takes no more.
    ClientGone(io::Error),
    /// The relay ended it.
    Stopped(RelayStop),
}

/// Relays one conversation between `client` and `server`, each of which is read from and written to.
///
/// The end of the client's input ends the server's; the end of the server's output ends the relay.
pub async fn relay_streams<CR, CW, SR, SW>(relay: Arc<Relay>, client: (CR, CW), server: (SR, SW)) -> StreamsEnd
where
    CR: AsyncRead + Unpin,
    CW: AsyncWrite + Unpin,
    SR: AsyncRead + Unpin,
    SW: AsyncWrite + Unpin,
{
    if relay.is_transparent() {
        return copy(client, server).await;
    }
    let (queue, lines) = mpsc::channel(LINES_AHEAD);
    let conversation = StreamRelay {
        scope: relay.player.conversation(),
        relay: Arc::clone(&relay),
        queue: ClientQueue { sender: queue, room: Arc::new(Semaphore::new(KIB_AHEAD as usize)) },
        pending: Mutex::default(),
        late: Arc::new(Semaphore::new(MOST_LATE)),
    };
    let mut writing = pin!(write(lines, client.1));
    let forwarding_requests = async {
        // What cannot be read or passed on is over; the server says when it is done.
        let _ = conversation.forward_requests(BufReader::with_capacity(PIECE, client.0), server.1).await;
        pending::<()>().await;
    };
    tokio::select! {
        end = &mut writing => return end,
        stop = relay.wait_for_stop() => return StreamsEnd::Stopped(stop),
        () = conversation.forward_replies(BufReader::with_capacity(PIECE, server.0)) => {}
        () = forwarding_requests => {}
    }
    drop(conversation);
    writing.await
}

/// Copies bytes both ways.
async fn copy<CR, CW, SR, SW>(client: (CR, CW), server: (SR, SW)) -> StreamsEnd
where
    CR: AsyncRead + Unpin,
    CW: AsyncWrite + Unpin,
    SR: AsyncRead + Unpin,
    SW: AsyncWrite + Unpin,
{
    let to_server = async {
        // A server that reads no more says itself when it is done.
        let _ = copy_all(client.0, server.1).await;
        pending::<()>().await;
    };
    tokio::select! {
        copied = copy_all(server.0, client.1) => copied.map_or_else(StreamsEnd::ClientGone, |()| StreamsEnd::Closed),
        () = to_server => StreamsEnd::Closed,
    }
}

/// Copies one direction up to its end; fails if the bytes are not taken.
async fn copy_all(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await.unwrap_or(0);
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..read]).await?;
        to.flush().await?;
    }
}

/// Something for the client.
enum Queued {
    /// With the time in which they are written, and the room that they take until then.
    Bytes(Vec<u8>, Duration, OwnedSemaphorePermit),
    /// A fault ended the server.
    End(ServerEnd),
}

/// Writes what is queued; ends when the queue is closed.
async fn write(mut queue: mpsc::Receiver<Queued>, mut client: impl AsyncWrite + Unpin) -> StreamsEnd {
    let mut ready = Vec::new();
    while queue.recv_many(&mut ready, LINES_AHEAD).await > 0 {
        let (mut bytes, mut end, mut held) = (Vec::new(), None, Vec::new());
        for queued in ready.drain(..) {
            match queued {
                Queued::Bytes(more, Duration::ZERO, room) => {
                    if end.is_none() {
                        bytes.extend_from_slice(&more);
                    }
                    held.push(room);
                }
                Queued::Bytes(more, time, _room) => {
                    if let Err(error) =
                        write_slowly(&mut client, std::mem::take(&mut bytes), Transfer::new(more, time)).await
                    {
                        return StreamsEnd::ClientGone(error);
                    }
                }
                Queued::End(ended) => end = end.or(Some(ended)),
            }
        }
        let written = async {
            client.write_all(&bytes).await?;
            client.flush().await
        };
        if let Err(error) = written.await {
            return StreamsEnd::ClientGone(error);
        }
        if let Some(ended) = end {
            return StreamsEnd::Stopped(RelayStop::Ended(ended));
        }
    }
    client.shutdown().await.map_or_else(StreamsEnd::ClientGone, |()| StreamsEnd::Closed)
}

/// Writes what waits, and then something that takes its time.
async fn write_slowly(to: &mut (impl AsyncWrite + Unpin), first: Vec<u8>, mut transfer: Transfer) -> io::Result<()> {
    to.write_all(&first).await?;
    to.flush().await?;
    while let Some(part) = transfer.next().await {
        to.write_all(&part).await?;
        to.flush().await?;
    }
    Ok(())
}

/// One conversation between a client and a server.
struct StreamRelay {
    relay: Arc<Relay>,
    scope: String,
    queue: ClientQueue,
    pending: Mutex<PendingRequests<Arc<RelayedExchange>>>,
    late: Arc<Semaphore>,
}

impl StreamRelay {
    async fn forward_requests(
        &self,
        mut reader: impl AsyncBufRead + Unpin,
        mut server: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let _ = self.announce(MessageKind::Start).await;
        let mut lines = LineReader::default();
        while let Some(is_whole) = lines.next(&mut reader).await? {
            let message = lines.line.trim_ascii();
            if !is_whole || message.is_empty() || !self.relay.looks_into(message) {
                server.write_all(&lines.line).await?;
            } else {
                let heard = self.rewrite_request(message).await;
                let Some(bytes) = heard.bytes else { continue };
                // An unchanged message goes on as it came.
                let bytes = if bytes == message { std::mem::take(&mut lines.line) } else { with_newline(bytes) };
                match heard.transfer {
                    Some(time) => {
                        write_slowly(&mut server, Vec::new(), Transfer::new(bytes.clone(), time)).await?;
                    }
                    None => server.write_all(&bytes).await?,
                }
                for copy in heard.copies {
                    server.write_all(&with_newline(copy.bytes)).await?;
                }
            }
            server.flush().await?;
        }
        if !self.announce(MessageKind::End).await {
            // A server that does not learn of the end stays.
            pending::<()>().await;
        }
        server.shutdown().await
    }

    /// A line of the client as the server hears it.
    async fn rewrite_request(&self, line: &[u8]) -> HeardMessage {
        let relay = &self.relay;
        let exchange = relay.match_request(LiveRequest::new(line, self.scope.clone(), None));
        if exchange.live.request.kind() == MessageKind::Batch {
            relay.note_once(BATCH);
        }
        self.note_cancelled(&exchange.live.request);
        let heard = relay.hear(&exchange, line);
        let asking = match &heard.bytes {
            Some(bytes) if bytes == line => {
                let request = &exchange.live.request;
                request.kind().has_answer().then(|| request.id())
            }
            Some(bytes) => {
                let heard = LiveRequest::new(bytes, self.scope.clone(), None);
                heard.kind().has_answer().then(|| heard.id())
            }
            None => None,
        };
        match asking {
            Some(id) => {
                let progress_token = exchange.live.request.progress_token().cloned();
                let weight = exchange.live.request.weight();
                let request = PendingRequest { id, progress_token, exchange: Arc::new(exchange), weight };
                let forgotten = self.pending.lock().add(request, &heard.copies);
                // Its call ends outside of the lock.
                drop(forgotten);
            }
            None => self.send(relay.answer(&exchange, None), None).await,
        }
        heard
    }

    /// A client that cancels a call does not wait for its answer any more.
    fn note_cancelled(&self, request: &LiveRequest) {
        if request.method() == Some("notifications/cancelled") {
            self.pending.lock().with_id(request.params().get("requestId")).for_each(|exchange| exchange.abandon());
        }
    }

    /// Applies faults at the start or the end of the conversation; returns whether the server learns of it.
    async fn announce(&self, kind: MessageKind) -> bool {
        let exchange = self.relay.match_request(LiveRequest::moment(kind, self.scope.clone()));
        let is_heard = self.relay.hear(&exchange, b"").bytes.is_some();
        self.send(self.relay.answer(&exchange, None), None).await;
        is_heard
    }

    async fn forward_replies(&self, mut server: impl AsyncBufRead + Unpin) {
        let mut lines = LineReader::default();
        while let Ok(Some(is_whole)) = lines.next(&mut server).await {
            let is_read = is_whole && self.relay.looks_into(&lines.line);
            let changed = if is_read { self.rewrite_reply(&lines.line) } else { None };
            if is_whole && !is_read {
                self.forget_answered(&lines.line);
            }
            match changed {
                Some(changed) => self.send(changed, Some(&lines.line)).await,
                None => self.queue.push(ClientBound::Bytes(std::mem::take(&mut lines.line))).await,
            }
        }
    }

    /// Leaves a call out of the figures whose answer is not read.
    fn forget_answered(&self, line: &[u8]) {
        let id = id_of_unreadable(line).map(|id| id.to_json());
        if let MatchedRequest::First(exchange) = self.pending.lock().take_answered(id.as_ref()) {
            exchange.forget();
        }
    }

    /// A line of the server with its faults; `None` if it is none of their business.
    fn rewrite_reply(&self, line: &[u8]) -> Option<ChangedMessage> {
        let message: Value = serde_json::from_slice(line).ok()?;
        let of = |message| ServerReply::now(ReplyContent::Message(message), None);
        if message.get("method").is_some() {
            let during = self.pending.lock().during(&message, |_| true).cloned();
            return Some(self.relay.change_sent(during.as_deref(), &self.scope, of(message)));
        }
        let answered = self.pending.lock().take_answered(message.get("id").filter(|id| !id.is_null()));
        match answered {
            MatchedRequest::First(exchange) => Some(self.relay.answer(&exchange, Some(of(message)))),
            MatchedRequest::Again => Some(ChangedMessage { is_changed: true, ..ChangedMessage::default() }),
            MatchedRequest::Unknown => None,
        }
    }

    /// Sends what comes instead of a line of the server, or beside one of the client.
    async fn send(&self, changed: ChangedMessage, line: Option<&[u8]>) {
        if let Some(line) = line.filter(|_| !changed.is_changed) {
            return self.queue.push(ClientBound::Bytes(line.to_vec())).await;
        }
        if changed.loss.is_some() {
            return;
        }
        let (delay, transfer) = (changed.delay_before_transfer(), changed.transfer);
        let passing = |bytes: Vec<u8>| {
            if transfer.is_zero() { ClientBound::Bytes(bytes) } else { ClientBound::Slow(bytes, transfer) }
        };
        let mut outgoing: Vec<ClientBound> = changed.before.into_iter().map(ClientBound::line).collect();
        outgoing.extend(changed.own.into_iter().filter_map(|reply| {
            if let ReplyContent::Ended(end) = reply.content {
                return Some(ClientBound::End(end));
            }
            let is_torn = matches!(reply.content, ReplyContent::Torn(_));
            reply.content.bytes().map(|bytes| if is_torn { bytes } else { with_newline(bytes) }).map(passing)
        }));
        outgoing.extend(changed.after.into_iter().map(ClientBound::line));
        if delay.is_zero() {
            for one in outgoing {
                self.queue.push(one).await;
            }
            return;
        }
        // A server that sends more than may wait is read later.
        let Ok(permit) = Arc::clone(&self.late).acquire_owned().await else { return };
        let (queue, relay) = (self.queue.clone(), Arc::clone(&self.relay));
        relay.late.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            sleep(delay).await;
            for one in outgoing {
                queue.push(one).await;
            }
            relay.late.fetch_sub(1, Ordering::Relaxed);
            drop(permit);
        });
    }
}

/// Something that goes to the client.
enum ClientBound {
    Bytes(Vec<u8>),
    /// One part after the other, in this time; everything else waits behind it.
    Slow(Vec<u8>, Duration),
    End(ServerEnd),
}

impl ClientBound {
    fn line(bytes: Vec<u8>) -> Self {
        Self::Bytes(with_newline(bytes))
    }
}

/// The way to the client, with a limit for what waits.
#[derive(Clone)]
struct ClientQueue {
    sender: mpsc::Sender<Queued>,
    /// In KiB.
    room: Arc<Semaphore>,
}

impl ClientQueue {
    async fn push(&self, outgoing: ClientBound) {
        let (bytes, time) = match outgoing {
            // A queue without a reader means that the client is gone.
            ClientBound::End(end) => return drop(self.sender.send(Queued::End(end)).await),
            ClientBound::Bytes(bytes) => (bytes, Duration::ZERO),
            ClientBound::Slow(bytes, time) => (bytes, time),
        };
        let kib = u32::try_from(bytes.len() >> 10).unwrap_or(KIB_AHEAD).saturating_add(1).min(KIB_AHEAD);
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(kib).await else { return };
        let queued = Queued::Bytes(bytes, time, room);
        // A queue without a reader means that the client is gone.
        let _ = self.sender.send(queued).await;
    }
}

fn with_newline(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

/// Reads lines, and pieces of those that are too long.
#[derive(Default)]
struct LineReader {
    line: Vec<u8>,
    /// The last piece was the beginning or the middle of a line.
    is_within: bool,
}

impl LineReader {
    /// Reads on; whether `line` is a whole line, and nothing at the end.
    async fn next(&mut self, reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<bool>> {
        self.line.clear();
        if reader.take(MOST_READ as u64).read_until(b'\n', &mut self.line).await? == 0 {
            return Ok(None);
        }
        let was_within = std::mem::replace(&mut self.is_within, !self.line.ends_with(b"\n"));
        Ok(Some(!was_within && !self.is_within))
    }
}
