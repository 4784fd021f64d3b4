//! A relay around a conversation over streams: the client on one side, the server on the other.
//!
//! The directions do not wait for each other, so a server that does not read can still be read. What waits is bounded:
//! whoever does not read is not written to, and in the end nothing more is read from the other side.

use std::collections::VecDeque;
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
use super::{BATCH, Relay, RelayStop};
use crate::fault::{
    Arrival, ChangedMessage, HeardMessage, LiveRequest, MessageKind, ReplyContent, ServerEnd, ServerReply,
};
use crate::transport::Transfer;

/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;

/// Longer lines pass in pieces, and no fault sees them.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// How many messages wait for a client that reads slowly.
const LINES_AHEAD: usize = 1024;

/// How many KiB these messages may have, but for one that is longer alone.
const KIB_AHEAD: u32 = 16 * 1024;

/// How many late messages wait for their time.
const MOST_LATE: usize = 4096;

/// How many requests may be without an answer; of more, the oldest ones are forgotten, and their answers pass unchanged.
const MOST_OPEN: usize = 10_000;

/// Where notifications of subscriptions name the request that opened them.
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// How a relayed conversation ended.
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
pub async fn run<CR, CW, SR, SW>(relay: Arc<Relay>, client: (CR, CW), server: (SR, SW)) -> StreamsEnd
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
        open: Mutex::default(),
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
        stop = relay.stopped() => return StreamsEnd::Stopped(stop),
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

/// Copies one direction up to its end; fails where nobody takes the bytes.
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

/// Writes what is queued; ends when nobody can queue anything any more.
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
    open: Mutex<AwaitedRequests>,
    late: Arc<Semaphore>,
}

/// The requests that the server received and has not answered.
#[derive(Default)]
struct AwaitedRequests {
    waiting: VecDeque<AwaitedRequest>,
    /// The ids of requests that the server heard twice: one answer of each is dropped.
    repeated: VecDeque<Value>,
}

struct AwaitedRequest {
    /// The id by which the server knows it, if it has a good one.
    id: Option<Value>,
    exchange: Arc<RelayedExchange>,
}

impl StreamRelay {
    async fn forward_requests(
        &self,
        mut reader: impl AsyncBufRead + Unpin,
        mut server: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let _ = self.announce(MessageKind::Start).await;
        let mut lines = LineReader::default();
        while let Some(is_whole) = lines.read(&mut reader).await? {
            let message = lines.line.trim_ascii();
            if !is_whole || message.is_empty() {
                server.write_all(&lines.line).await?;
            } else {
                let heard = self.rewrite_request(message).await;
                let Some(bytes) = heard.bytes else { continue };
                // What nobody changed goes on as it came.
                let bytes = if bytes == message { std::mem::take(&mut lines.line) } else { with_newline(bytes) };
                match heard.transfer {
                    Some(time) => {
                        write_slowly(&mut server, Vec::new(), Transfer::new(bytes.clone(), time)).await?;
                    }
                    None => server.write_all(&bytes).await?,
                }
                if heard.arrival == Some(Arrival::Twice) {
                    server.write_all(&bytes).await?;
                }
            }
            server.flush().await?;
        }
        if !self.announce(MessageKind::End).await {
            // Who does not hear of the end stays.
            pending::<()>().await;
        }
        server.shutdown().await
    }

    /// A line of the client as the server hears it.
    async fn rewrite_request(&self, line: &[u8]) -> HeardMessage {
        let relay = &self.relay;
        let exchange = relay.match_request(LiveRequest::new(line, self.scope.clone(), None), true);
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
                let mut open = self.open.lock();
                if heard.arrival == Some(Arrival::Twice) {
                    open.repeated.extend(id.clone());
                }
                open.waiting.push_back(AwaitedRequest { id, exchange: exchange.into() });
                if open.waiting.len() > MOST_OPEN {
                    open.waiting.pop_front();
                }
                if open.repeated.len() > MOST_OPEN {
                    open.repeated.pop_front();
                }
            }
            None => self.send(relay.answer(&exchange, None), None).await,
        }
        heard
    }

    /// A client that cancels a call does not wait for its answer any more.
    fn note_cancelled(&self, request: &LiveRequest) {
        if request.method() != Some("notifications/cancelled") {
            return;
        }
        let cancelled = request.params().get("requestId");
        for open in self.open.lock().waiting.iter().filter(|open| open.id.as_ref() == cancelled) {
            open.exchange.abandon();
        }
    }

    /// Applies faults at the start or the end of the conversation; whether the server is told of it.
    async fn announce(&self, kind: MessageKind) -> bool {
        let exchange = self.relay.match_request(LiveRequest::moment(kind, self.scope.clone()), true);
        let is_heard = self.relay.hear(&exchange, b"").bytes.is_some();
        self.send(self.relay.answer(&exchange, None), None).await;
        is_heard
    }

    async fn forward_replies(&self, mut server: impl AsyncBufRead + Unpin) {
        let mut lines = LineReader::default();
        while let Ok(Some(is_whole)) = lines.read(&mut server).await {
            let changed = if is_whole { self.rewrite_reply(&lines.line) } else { None };
            match changed {
                Some(changed) => self.send(changed, Some(&lines.line)).await,
                None => self.queue.put(ClientBound::Bytes(std::mem::take(&mut lines.line))).await,
            }
        }
    }

    /// A line of the server with its faults; `None` if it is none of their business.
    fn rewrite_reply(&self, line: &[u8]) -> Option<ChangedMessage> {
        let message: Value = serde_json::from_slice(line).ok()?;
        let of = |message| ServerReply { after: Duration::ZERO, content: ReplyContent::Message(message), http: None };
        if message.get("method").is_some() {
            let during = self.request_of(&message);
            return Some(self.relay.sent(during.as_deref(), &self.scope, of(message)));
        }
        match self.take_open(message.get("id").filter(|id| !id.is_null())) {
            Answered::First(exchange) => Some(self.relay.answer(&exchange, Some(of(message)))),
            Answered::Again => Some(ChangedMessage { is_changed: true, ..ChangedMessage::default() }),
            Answered::Unasked => None,
        }
    }

    /// The request that an answer belongs to; answers without an id come in the order of what they answer.
    fn take_open(&self, id: Option<&Value>) -> Answered {
        let mut open = self.open.lock();
        if let Some(at) = open.waiting.iter().position(|open| open.id.as_ref() == id) {
            return open.waiting.remove(at).map_or(Answered::Unasked, |open| Answered::First(open.exchange));
        }
        match open.repeated.iter().position(|repeated| Some(repeated) == id) {
            Some(at) => {
                open.repeated.remove(at);
                Answered::Again
            }
            None => Answered::Unasked,
        }
    }

    /// The request during which the server sends a message, as far as the message tells.
    fn request_of(&self, sent: &Value) -> Option<Arc<RelayedExchange>> {
        let (token, subscription) = (sent.pointer("/params/progressToken"), sent.pointer(SUBSCRIPTION));
        let open = self.open.lock();
        let mut requests = open.waiting.iter().filter(|open| {
            let request = &open.exchange.live.request;
            (token.is_some() && request.progress_token() == token)
                || (subscription.is_some() && request.id().as_ref() == subscription)
        });
        requests.next().map(|open| Arc::clone(&open.exchange))
    }

    /// Sends what comes instead of a line of the server, or beside one of the client.
    async fn send(&self, changed: ChangedMessage, line: Option<&[u8]>) {
        if let Some(line) = line.filter(|_| !changed.is_changed) {
            return self.queue.put(ClientBound::Bytes(line.to_vec())).await;
        }
        if changed.loss.is_some() {
            return;
        }
        let (delay, transfer) = (changed.delay_before_transfer(), changed.transfer);
        let passing = |bytes: Vec<u8>| {
            if transfer.is_zero() { ClientBound::Bytes(bytes) } else { ClientBound::Slow(bytes, transfer) }
        };
        let mut outgoing: Vec<ClientBound> = changed.before.into_iter().map(ClientBound::line).collect();
        outgoing.extend(changed.own.into_iter().filter_map(|reply| match reply.content {
            ReplyContent::Ended(end) => Some(ClientBound::End(end)),
            ReplyContent::Torn(bytes) => Some(passing(bytes)),
            content @ (ReplyContent::Message(_)
            | ReplyContent::Bytes(_)
            | ReplyContent::Stderr(_)
            | ReplyContent::Stalled) => content.bytes().map(with_newline).map(passing),
        }));
        outgoing.extend(changed.after.into_iter().map(ClientBound::line));
        if delay.is_zero() {
            for one in outgoing {
                self.queue.put(one).await;
            }
            return;
        }
        // Whoever sends more than may wait is read later.
        let Ok(permit) = Arc::clone(&self.late).acquire_owned().await else { return };
        let (queue, relay) = (self.queue.clone(), Arc::clone(&self.relay));
        relay.late.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            sleep(delay).await;
            for one in outgoing {
                queue.put(one).await;
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
    async fn put(&self, outgoing: ClientBound) {
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

/// The request that an answer belongs to.
enum Answered {
    First(Arc<RelayedExchange>),
    /// A request that was answered already, since the server heard of it twice.
    Again,
    Unasked,
}

fn with_newline(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

/// Reads lines, and pieces of those that are too long.
#[derive(Default)]
struct LineReader {
    line: Vec<u8>,
    /// Whether the last piece was the beginning or the middle of a line.
    is_within: bool,
}

impl LineReader {
    /// Reads on; whether `line` is a whole line, and nothing at the end.
    async fn read(&mut self, reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<bool>> {
        self.line.clear();
        if reader.take(LONGEST_LINE).read_until(b'\n', &mut self.line).await? == 0 {
            return Ok(None);
        }
        let was_within = std::mem::replace(&mut self.is_within, !self.line.ends_with(b"\n"));
        Ok(Some(!was_within && !self.is_within))
    }
}
