//! The standard input and output of a relay, without a thread in between where the system can wait for them.
//!
//! Most clients give their server pipes, some give sockets. A pipe is opened once more, so that the end which other programs
//! may share stays as it is; a socket is shared with nobody unless standard error is the same one.

use tokio::io::{AsyncRead, AsyncWrite};

/// The client's side of a relay.
pub(crate) struct ClientStreams {
    pub(crate) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) output: Box<dyn AsyncWrite + Send + Unpin>,
    /// Sockets that wait again once this is dropped.
    #[cfg(target_os = "linux")]
    _blocking: Vec<BlockingAgain>,
}

impl ClientStreams {
    /// The streams of this process; needs a runtime.
    #[cfg(target_os = "linux")]
    pub(crate) fn open() -> Self {
        let mut blocking = Vec::new();
        let input = waiting::input(&mut blocking).unwrap_or_else(|| Box::new(tokio::io::stdin()));
        let output = waiting::output(&mut blocking).unwrap_or_else(|| Box::new(tokio::io::stdout()));
        Self { input, output, _blocking: blocking }
    }

    /// The streams of this process; needs a runtime.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open() -> Self {
        Self { input: Box::new(tokio::io::stdin()), output: Box::new(tokio::io::stdout()) }
    }
}

/// Waits until the client has closed both of its ends, as the system closes those of a client that was killed.
#[cfg(target_os = "linux")]
pub(crate) async fn client_gone() {
    use std::io::{stdin, stdout};
    use std::os::fd::AsFd;

    use tokio::io::{Interest, Ready};
    waiting::wait_until_closed(stdin().as_fd(), Interest::READABLE, Ready::is_read_closed).await;
    waiting::wait_until_closed(stdout().as_fd(), Interest::WRITABLE, Ready::is_write_closed).await;
}

/// Nothing tells of it but the next write.
#[cfg(not(target_os = "linux"))]
pub(crate) async fn client_gone() {
    std::future::pending().await
}

/// A socket that others may still use when the relay is over.
#[cfg(target_os = "linux")]
struct BlockingAgain(std::os::unix::net::UnixStream);

#[cfg(target_os = "linux")]
impl Drop for BlockingAgain {
    fn drop(&mut self) {
        // One that is closed needs nothing.
        let _ = self.0.set_nonblocking(false);
    }
}

#[cfg(target_os = "linux")]
mod waiting {
    use std::fs;
    use std::future::pending;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::os::unix::net::UnixStream;

    use tokio::io::unix::AsyncFd;
    use tokio::io::{AsyncRead, AsyncWrite, Interest, Ready};
    use tokio::net::unix::pipe;

    use super::BlockingAgain;

    pub(crate) fn input(blocking: &mut Vec<BlockingAgain>) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        match kind(0)? {
            StreamKind::Pipe => Some(Box::new(pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?)),
            StreamKind::Socket => Some(Box::new(socket(io::stdin().as_fd(), blocking)?)),
        }
    }

    pub(crate) fn output(blocking: &mut Vec<BlockingAgain>) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        match kind(1)? {
            StreamKind::Pipe => Some(Box::new(pipe::OpenOptions::new().open_sender("/proc/self/fd/1").ok()?)),
            StreamKind::Socket => Some(Box::new(socket(io::stdout().as_fd(), blocking)?)),
        }
    }

    /// Waits until the other side of a stream is closed; what nobody can wait for, such as a file, stays open.
    pub(crate) async fn wait_until_closed(stream: BorrowedFd<'_>, interest: Interest, is_closed: fn(Ready) -> bool) {
        #[expect(deprecated, reason = "unsound for descriptors that others may close, and this one is owned")]
        let watch = stream.try_clone_to_owned().and_then(|stream| AsyncFd::with_interest(stream, interest));
        let Ok(watch) = watch else { return pending().await };
        while let Ok(mut guard) = watch.ready(interest).await {
            if is_closed(guard.ready()) {
                return;
            }
            guard.clear_ready();
        }
    }

    /// A stream that the system can wait for.
    enum StreamKind {
        Pipe,
        Socket,
    }

    fn kind(number: u32) -> Option<StreamKind> {
        let about = |number: u32| fs::metadata(format!("/proc/self/fd/{number}")).ok();
        let (stream, errors) = (about(number)?, about(2));
        let is_shared = errors.is_some_and(|errors| (errors.dev(), errors.ino()) == (stream.dev(), stream.ino()));
        match stream.file_type() {
            kind if kind.is_fifo() => Some(StreamKind::Pipe),
            // Standard error expects a stream that waits.
            kind if kind.is_socket() && !is_shared => Some(StreamKind::Socket),
            _ => None,
        }
    }

    fn socket(stream: BorrowedFd<'_>, blocking: &mut Vec<BlockingAgain>) -> Option<tokio::net::UnixStream> {
        let socket = UnixStream::from(stream.try_clone_to_owned().ok()?);
        let again = socket.try_clone().ok()?;
        // An address of another family is a connection over the network, which stays with a thread.
        socket.local_addr().ok()?;
        socket.set_nonblocking(true).ok()?;
        blocking.push(BlockingAgain(again));
        tokio::net::UnixStream::from_std(socket).ok()
    }
}
