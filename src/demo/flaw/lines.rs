//! A flaw around a conversation over streams: the correct server speaks through two pipes, and every line passes here.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, duplex, split};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::change::ChangedMessage;
use super::message::{FlawMessageKind, Incoming};
use super::player::{Exchange, FlawPlayer};
use crate::demo::faulty::ServerFault;
use crate::demo::{DRAIN_TIMEOUT, ServeError, Settings, converse, only_real_failures, write};

/// How many bytes wait between the flaw and the correct server.
const PIPE: usize = 64 * 1024;

/// Where notifications of subscriptions name the request that opened them.
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// Serves one conversation with a flaw in it.
pub(in crate::demo) async fn serve<R, W>(
    settings: Settings,
    fault: Arc<ServerFault>,
    player: Arc<FlawPlayer>,
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
    let proxy = FlawProxy { scope: player.conversation(), player, fault: fault.clone(), lines, open: Mutex::default() };
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
struct FlawProxy {
    player: Arc<FlawPlayer>,
    fault: Arc<ServerFault>,
    scope: String,
    lines: mpsc::UnboundedSender<Vec<u8>>,
    open: Mutex<Vec<AwaitedRequest>>,
}

/// A request that the correct server received and has not answered.
struct AwaitedRequest {
    /// The id by which the correct server knows it, if it has a good one.
    id: Option<Value>,
    exchange: Arc<Exchange>,
}

impl FlawProxy {
    async fn forward_requests(
        &self,
        mut reader: impl AsyncBufReadExt + Unpin,
        mut server: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let _ = self.announce(FlawMessageKind::Start);
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
        if !self.announce(FlawMessageKind::End) {
            // Who does not hear of the end stays.
            pending::<()>().await;
        }
        server.shutdown().await
    }

    /// The message that the correct server receives for a line of the client, if any.
    async fn rewrite_request(&self, line: &[u8]) -> Option<Vec<u8>> {
        let exchange = self.player.match_edits(Incoming::new(line, self.scope.clone(), None));
        if self.player.ends(&exchange) {
            self.fault.crash();
            pending::<()>().await;
        }
        let heard = self.player.rewrite_request(&exchange, line);
        let as_heard = heard.as_ref().map(|heard| Incoming::new(heard, self.scope.clone(), None));
        let asking = as_heard.filter(|heard| heard.kind.is_some_and(FlawMessageKind::has_answer));
        match asking {
            Some(asking) => {
                self.open().push(AwaitedRequest { id: asking.id().cloned(), exchange: exchange.into() });
            }
            None => self.send(self.player.answer(&exchange, None, None)),
        }
        heard
    }

    /// Applies edits at the start or the end of the conversation; whether the correct server is told of it.
    fn announce(&self, kind: FlawMessageKind) -> bool {
        let exchange = self.player.match_edits(Incoming::moment(kind, self.scope.clone()));
        let is_heard = self.player.rewrite_request(&exchange, b"").is_some();
        self.send(self.player.answer(&exchange, None, None));
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

    /// The messages that are sent instead of a line of the correct server.
    fn rewrite_reply(&self, line: &[u8]) -> ChangedMessage {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        if message.get("method").is_some() {
            let during = self.request_of(&message);
            return self.player.send(during.as_deref(), &self.scope, line);
        }
        match self.take_awaited(message.get("id").filter(|id| !id.is_null())) {
            Some(exchange) => self.player.answer(&exchange, Some(line), None),
            None => ChangedMessage::unchanged(Some(line)),
        }
    }

    /// The request that an answer belongs to; answers without an id come in the order of what they answer.
    fn take_awaited(&self, id: Option<&Value>) -> Option<Arc<Exchange>> {
        let mut open = self.open();
        let at = open.iter().position(|open| open.id.as_ref() == id)?;
        Some(open.remove(at).exchange)
    }

    /// The request during which the server sends a message, as far as the message tells.
    fn request_of(&self, sent: &Value) -> Option<Arc<Exchange>> {
        let (token, subscription) = (sent.pointer("/params/progressToken"), sent.pointer(SUBSCRIPTION));
        let open = self.open();
        let mut requests = open.iter().filter(|open| {
            let incoming = &open.exchange.incoming;
            (token.is_some() && incoming.progress_token() == token)
                || (subscription.is_some() && incoming.id() == subscription)
        });
        requests.next().map(|open| Arc::clone(&open.exchange))
    }

    fn send(&self, said: ChangedMessage) {
        if said.never {
            return;
        }
        let (delay, lines) = (said.delay, self.lines.clone());
        let messages = said.messages().map(|mut line| {
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
