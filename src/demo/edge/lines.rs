//! Faults around a conversation over streams: the correct server speaks through two pipes, and every line passes here.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, duplex, split};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::Edge;
use crate::demo::faulty::ServerFault;
use crate::demo::{DRAIN_TIMEOUT, ServeError, Settings, converse, only_real_failures, write};
use crate::fault::{ChangedMessage, LiveExchange, LiveRequest, MessageKind, ReplyContent, ServerReply};

/// How many bytes wait between the faults and the correct server.
const PIPE: usize = 64 * 1024;

/// Where notifications of subscriptions name the request that opened them.
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// Serves one conversation with faults in it.
pub(in crate::demo) async fn serve<R, W>(
    settings: Settings,
    fault: Arc<ServerFault>,
    edge: Arc<Edge>,
    (reader, writer): (R, W),
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (near, far) = duplex(PIPE);
    let (from_server, to_server) = split(near);
    let (server_reader, server_writer) = split(far);
    let (lines, queue) = mpsc::unbounded_channel();
    let proxy =
        EdgeProxy { scope: edge.player.conversation(), edge, fault: fault.clone(), lines, open: Mutex::default() };
    let mut writing = std::pin::pin!(write(queue, writer));
    let serving = converse(settings, fault, server_reader, server_writer);
    let forwarding_replies = async {
        proxy.forward_replies(BufReader::new(from_server)).await;
        Ok(())
    };
    let forwarding_requests = async {
        // What cannot be read or passed on is over; the correct server says when it is done.
        let _ = proxy.forward_requests(BufReader::new(reader), to_server).await;
        pending::<()>().await;
    };
    tokio::select! {
        served = async { tokio::try_join!(serving, forwarding_replies) } => { served?; }
        written = &mut writing => return only_real_failures(written),
        () = forwarding_requests => {}
    }
    drop(proxy);
    only_real_failures(timeout(DRAIN_TIMEOUT, writing).await.unwrap_or(Ok(())))
}

/// The proxy between the client and the correct server.
struct EdgeProxy {
    edge: Arc<Edge>,
    fault: Arc<ServerFault>,
    scope: String,
    lines: mpsc::UnboundedSender<Vec<u8>>,
    open: Mutex<Vec<AwaitedRequest>>,
}

/// A request that the correct server received and has not answered.
struct AwaitedRequest {
    /// The id by which the correct server knows it, if it has a good one.
    id: Option<Value>,
    exchange: Arc<LiveExchange>,
}

impl EdgeProxy {
    async fn forward_requests(
        &self,
        mut reader: impl AsyncBufReadExt + Unpin,
        mut server: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let _ = self.announce(MessageKind::Start);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).await? > 0 {
            match line.strip_suffix(b"\n").map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
                Some(whole) => {
                    if let Some(mut heard) = self.rewrite_request(whole).await {
                        heard.push(b'\n');
                        server.write_all(&heard).await?;
                    }
                }
                None => server.write_all(&line).await?,
            }
            line.clear();
        }
        if !self.announce(MessageKind::End) {
            // Who does not hear of the end stays.
            pending::<()>().await;
        }
        server.shutdown().await
    }

    /// The message that the correct server receives for a line of the client, if any.
    async fn rewrite_request(&self, line: &[u8]) -> Option<Vec<u8>> {
        let player = &self.edge.player;
        let exchange = player.match_request(LiveRequest::new(line, self.scope.clone(), None), true);
        let heard = player.heard(&exchange, line);
        let as_heard = heard.as_ref().map(|heard| LiveRequest::new(heard, self.scope.clone(), None));
        if let Some(asking) = as_heard.filter(|heard| heard.kind().has_answer()) {
            self.open().push(AwaitedRequest { id: asking.id(), exchange: exchange.into() });
            return heard;
        }
        let answer = player.answer(&exchange, None);
        if answer.ends() {
            self.fault.crash();
            pending::<()>().await;
        }
        self.send(answer);
        heard
    }

    /// Applies faults at the start or the end of the conversation; whether the correct server is told of it.
    fn announce(&self, kind: MessageKind) -> bool {
        let player = &self.edge.player;
        let exchange = player.match_request(LiveRequest::moment(kind, self.scope.clone()), true);
        let is_heard = player.heard(&exchange, b"").is_some();
        self.send(player.answer(&exchange, None));
        is_heard
    }

    async fn forward_replies(&self, mut server: impl AsyncBufReadExt + Unpin) {
        let mut line = Vec::new();
        while server.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            let message = line.strip_suffix(b"\n").unwrap_or(&line);
            self.send(self.rewrite_reply(message));
            line.clear();
        }
    }

    /// Changes a line of the correct server.
    fn rewrite_reply(&self, line: &[u8]) -> ChangedMessage {
        let message: Option<Value> = serde_json::from_slice(line).ok();
        let of = |content: ReplyContent| ServerReply { after: Duration::ZERO, content, http: None };
        let Some(message) = message else {
            return ChangedMessage::unchanged(Some(of(ReplyContent::Bytes(line.to_vec()))));
        };
        if message.get("method").is_some() {
            let during = self.request_of(&message);
            return self.edge.player.sent(during.as_deref(), &self.scope, of(ReplyContent::Message(message)));
        }
        match self.take_awaited(message.get("id").filter(|id| !id.is_null())) {
            Some(exchange) => self.edge.player.answer(&exchange, Some(of(ReplyContent::Message(message)))),
            None => ChangedMessage::unchanged(Some(of(ReplyContent::Bytes(line.to_vec())))),
        }
    }

    /// The request that an answer belongs to; answers without an id come in the order of what they answer.
    fn take_awaited(&self, id: Option<&Value>) -> Option<Arc<LiveExchange>> {
        let mut open = self.open();
        let at = open.iter().position(|open| open.id.as_ref() == id)?;
        Some(open.remove(at).exchange)
    }

    /// The request during which the server sends a message, as far as the message tells.
    fn request_of(&self, sent: &Value) -> Option<Arc<LiveExchange>> {
        let (token, subscription) = (sent.pointer("/params/progressToken"), sent.pointer(SUBSCRIPTION));
        let open = self.open();
        let mut requests = open.iter().filter(|open| {
            let request = &open.exchange.request;
            (token.is_some() && request.progress_token() == token)
                || (subscription.is_some() && request.id().as_ref() == subscription)
        });
        requests.next().map(|open| Arc::clone(&open.exchange))
    }

    fn send(&self, changed: ChangedMessage) {
        if changed.never {
            return;
        }
        if changed.ends() {
            return self.fault.crash();
        }
        let (delay, lines) = (changed.delay(), self.lines.clone());
        let messages = changed.messages().map(|mut line| {
            line.push(b'\n');
            line
        });
        if delay.is_zero() {
            // A queue without a reader means that the client is gone.
            for line in messages {
                drop(lines.send(line));
            }
            return;
        }
        let messages: Vec<_> = messages.collect();
        tokio::spawn(async move {
            sleep(delay).await;
            for line in messages {
                drop(lines.send(line));
            }
        });
    }

    fn open(&self) -> MutexGuard<'_, Vec<AwaitedRequest>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
