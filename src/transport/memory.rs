//! A server in this process, over a pair of streams.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

use super::{Link, Stopper, lines};

/// Connects to a server that reads what is written to `writer` and writes to `reader`.
pub fn connect<R, W>(reader: R, writer: W) -> Link
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (outgoing, to_server) = mpsc::unbounded_channel();
    let (from_server, incoming) = mpsc::channel(lines::WAITING_LINES);
    let (stop, asked) = Stopper::new();
    let writing = tokio::spawn(lines::write(writer, to_server));
    let reading = tokio::spawn(lines::read(reader, from_server));
    tokio::spawn(async move {
        let asked: Result<oneshot::Sender<()>, _> = asked.await;
        writing.abort();
        reading.abort();
        drop(asked);
    });
    Link { outgoing, incoming, stop, transport: "memory", endpoint: None }
}
