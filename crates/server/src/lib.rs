//! One conversation of an MCP server, in both eras of the protocol, on rmcp: what mcprove's own servers have in common.
//!
//! A message travels [`transport`] (lines and envelopes) → [`era`] (which era, is it open) → the handler of the server,
//! which holds arguments against a [`schema`] and lists what it [declares](declared). Knows nothing of what a server
//! offers. Start reading in [`converse`].

pub mod declared;
pub mod era;
pub mod schema;
pub mod transport;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::serve_directly;
use rmcp::{RoleServer, Service};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinError;
use tokio::time::timeout;

use self::transport::{Input, LineObserver, Lines};

/// The time that the last messages may take to be written to a client that stopped reading.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Lines that are written at once at most; a flush follows each time.
const LINES_AT_ONCE: usize = 256;

/// Why a conversation ended before its input did.
#[derive(Debug, Error)]
pub enum ConversationError {
    /// The input failed.
    #[error("failed to read a request: {0}")]
    Read(io::Error),
    /// The output failed; a client that closed it is not an error.
    #[error("failed to write an answer: {0}")]
    Write(io::Error),
    /// The task that serves the conversation panicked.
    #[error("the server stopped: {0}")]
    Stopped(JoinError),
}

/// Holds one conversation over any byte stream pair until end of input, with the service that `make_service` makes for
/// that input.
///
/// On a current-thread runtime, requests are worked on in the order in which they came. Dropping the future ends the
/// conversation.
pub async fn converse<R, W, S>(
    reader: R,
    writer: W,
    observer: Arc<dyn LineObserver>,
    make_service: impl FnOnce(watch::Receiver<Input>) -> S,
) -> Result<(), ConversationError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
    S: Service<RoleServer>,
{
    let (answers, lines) = mpsc::unbounded_channel();
    let (end, ended) = watch::channel(Input::Open);
    let transport = Lines::new(reader, answers, end, observer);
    // rmcp's own handshake ends the server at a notification that comes too early; `era` opens sessions instead.
    let running = serve_directly(make_service(ended.clone()), transport, None);
    let stop = running.cancellation_token();
    let mut serving = pin!(running.waiting());
    let mut writing = pin!(write(lines, writer));

    let written = tokio::select! {
        served = &mut serving => {
            served.map_err(ConversationError::Stopped)?;
            timeout(DRAIN_TIMEOUT, writing).await.unwrap_or(Ok(()))
        }
        written = &mut writing => {
            stop.cancel();
            serving.await.map_err(ConversationError::Stopped)?;
            written
        }
    };
    if let Input::Failed(error) = &*ended.borrow() {
        return Err(ConversationError::Read(io::Error::new(error.kind(), error.to_string())));
    }
    ignore_closed_client(written)
}

/// Drops the failure to write to a client that went away.
pub fn ignore_closed_client(written: io::Result<()>) -> Result<(), ConversationError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(ConversationError::Write(error)),
        Err(_) | Ok(()) => Ok(()),
    }
}

/// Writes every line that is queued; ends when the transport is gone and the queue is empty.
async fn write<W: AsyncWrite + Unpin>(mut lines: mpsc::UnboundedReceiver<Vec<u8>>, mut writer: W) -> io::Result<()> {
    let mut ready = Vec::new();
    while lines.recv_many(&mut ready, LINES_AT_ONCE).await > 0 {
        let bytes = ready.concat();
        ready.clear();
        writer.write_all(&bytes).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}
