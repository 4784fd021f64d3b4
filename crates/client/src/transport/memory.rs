//! A server in this process, over a pair of streams.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};

use super::disruption::{ProcessControl, ProcessOrder, ProcessOrders, ReadGate, StreamControl};
use super::{Incoming, Link, ServerExit, StopRequest, Stopper, TransportKind, lines};

/// The number of bytes that wait on their way to a server, and on the way back.
const BUFFER: usize = 256 << 10;

/// The time for a server to end once its input has ended.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The exit of a server that is killed, as a process would report it.
const KILLED: ServerExit = ServerExit::Signal(9);

/// Connects to a server that reads what is written to `writer` and writes to `reader`.
pub fn connect<R, W>(reader: R, writer: W) -> Link
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (outgoing, to_server) = mpsc::unbounded_channel();
    let (from_server, incoming) = mpsc::channel(lines::QUEUED_LINES);
    let (stop, asked) = Stopper::new();
    let gate = Arc::new(ReadGate::default());
    let control = StreamControl { process: None, gate: Arc::clone(&gate) };
    let writing = tokio::spawn(lines::write(writer, to_server, control));
    let reading = tokio::spawn(lines::read_lines(reader, from_server, gate));
    tokio::spawn(async move {
        let asked: Result<StopRequest, _> = asked.await;
        writing.abort();
        reading.abort();
        drop(asked);
    });
    Link { outgoing, incoming, stop, transport: TransportKind::Memory, endpoint: None, processes: None }
}

/// Runs a server in a task of its own and connects to it; it ends with the connection.
///
/// Its error, and the words of its panic, count as its standard error.
pub fn host<S, F>(serve: S) -> Link
where
    S: FnOnce(DuplexStream) -> F,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (reader, writer) = tokio::io::split(ours);
    let (outgoing, to_server) = mpsc::unbounded_channel();
    let (from_server, incoming) = mpsc::channel(lines::QUEUED_LINES);
    let (stop, asked) = Stopper::new();
    let (process, orders) = ProcessControl::new();
    let gate = Arc::new(ReadGate::default());
    let control = StreamControl { process: Some(process), gate: Arc::clone(&gate) };
    let hosted = HostedServer {
        serving: tokio::spawn(serve(theirs)),
        writing: tokio::spawn(lines::write(writer, to_server, control)),
        reading: tokio::spawn(lines::read_lines(reader, from_server.clone(), gate)),
        from_server,
        orders,
    };
    tokio::spawn(hosted.supervise(asked));
    Link { outgoing, incoming, stop, transport: TransportKind::Memory, endpoint: None, processes: None }
}

/// The tasks of a server in this process.
struct HostedServer {
    serving: JoinHandle<Result<(), String>>,
    writing: JoinHandle<()>,
    reading: JoinHandle<()>,
    from_server: mpsc::Sender<Incoming>,
    orders: ProcessOrders,
}

impl HostedServer {
    /// Supervises the server until it is gone and its end was asked for.
    async fn supervise(mut self, mut asked: oneshot::Receiver<StopRequest>) {
        let done = loop {
            tokio::select! {
                ended = &mut self.serving => {
                    break tokio::select! {
                        () = self.report_exit(ended) => asked.await,
                        done = &mut asked => done,
                    };
                }
                done = &mut asked => {
                    self.abort_streams();
                    if timeout(SHUTDOWN_TIMEOUT, &mut self.serving).await.is_err() {
                        self.serving.abort();
                        let _ = (&mut self.serving).await;
                    }
                    break done;
                }
                (order, done) = self.orders.next() => match order {
                    ProcessOrder::Kill => self.serving.abort(),
                    // A task cannot stand still from outside: it hears nothing instead.
                    ProcessOrder::Pause(time) => drop(tokio::spawn(async move {
                        sleep(time).await;
                        done.send(())
                    })),
                },
            }
        };
        self.abort_streams();
        drop(done);
    }

    fn abort_streams(&self) {
        self.writing.abort();
        self.reading.abort();
    }

    /// Says how the server ended, after everything that it wrote.
    async fn report_exit(&mut self, ended: Result<Result<(), String>, JoinError>) {
        let _ = (&mut self.reading).await;
        let (words, exit) = match ended {
            Ok(Ok(())) => (None, ServerExit::Returned),
            Ok(Err(reason)) => (Some(reason), ServerExit::Returned),
            Err(error) if error.is_cancelled() => (None, KILLED),
            Err(error) => (panic_message(error), ServerExit::Panicked),
        };
        // Nobody listens where the conversation is over.
        if let Some(words) = words {
            let _ = self.from_server.send(Incoming::Stderr(words.into_bytes())).await;
        }
        let _ = self.from_server.send(Incoming::Exited(exit)).await;
    }
}

fn panic_message(error: JoinError) -> Option<String> {
    let panic = error.try_into_panic().ok()?;
    let text = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    type ServerEnding = fn() -> Result<(), String>;

    /// The output of a server that writes a line and then ends.
    async fn seen(end: ServerEnding) -> Vec<Incoming> {
        let mut link = host(move |mut stream| async move {
            stream.write_all(b"hello\n").await.map_err(|error| error.to_string())?;
            end()
        });
        let mut seen = Vec::new();
        while let Some(incoming) = link.incoming.recv().await {
            let is_last = matches!(incoming, Incoming::Exited(_));
            seen.push(incoming);
            if is_last {
                break;
            }
        }
        link.stop.stop().await;
        seen
    }

    #[tokio::test]
    async fn everything_is_read_before_the_end_is_told() {
        let hello = || vec![Incoming::Line(b"hello".to_vec()), Incoming::Closed];
        let ends: [(ServerEnding, &[Incoming]); 3] = [
            (|| Ok(()), &[Incoming::Exited(ServerExit::Returned)]),
            (|| Err("no".into()), &[Incoming::Stderr(b"no".to_vec()), Incoming::Exited(ServerExit::Returned)]),
            (|| panic!("oh"), &[Incoming::Stderr(b"oh".to_vec()), Incoming::Exited(ServerExit::Panicked)]),
        ];
        for (end, last) in ends {
            assert_eq!(seen(end).await, [hello(), last.to_vec()].concat());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_end_is_ended() {
        let held = std::sync::Arc::new(());
        let kept = std::sync::Arc::clone(&held);
        let link = host(move |stream| async move {
            let _kept = (kept, stream);
            std::future::pending().await
        });
        link.stop.stop().await;
        assert_eq!(std::sync::Arc::strong_count(&held), 1);
    }
}
