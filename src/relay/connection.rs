//! Connections of clients over HTTP that a fault can reset: without a word, instead of being closed in order.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The order to reset a connection when it ends.
#[derive(Debug, Clone, Default)]
pub struct ConnectionReset(Arc<AtomicBool>);

impl ConnectionReset {
    /// Resets the connection as soon as nothing more is written to it.
    pub(crate) fn order(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_ordered(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A listener whose connections can be reset; what is written to them leaves at once.
pub(crate) struct ResettableListener(pub(crate) TcpListener);

/// A connection that can be reset.
pub(crate) struct ResettableStream {
    stream: TcpStream,
    reset: ConnectionReset,
}

impl Listener for ResettableListener {
    type Io = ResettableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ResettableStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Slower without, and nothing else.
        let _ = stream.set_nodelay(true);
        (ResettableStream { stream, reset: ConnectionReset::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, ResettableListener>> for ConnectionReset {
    fn connect_info(stream: IncomingStream<'_, ResettableListener>) -> Self {
        stream.io().reset.clone()
    }
}

impl AsyncRead for ResettableStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, bytes)
    }
}

impl AsyncWrite for ResettableStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.reset.is_ordered() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Drop for ResettableStream {
    fn drop(&mut self) {
        if self.reset.is_ordered() {
            // A client that cannot be reset reads the end instead.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}
