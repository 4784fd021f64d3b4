//! The life of a server process: from its start to the end of everything that it started.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::disruption::{ProcessOrder, ProcessOrders};
use super::orphans::{self, OwnedServer};
use super::process_tree::{ProcessTree, ending_signal};
use super::shutdown::{FirstSignal, Shutdown, ShutdownOrder, ShutdownStep, StopRequest};
use super::{Incoming, ServerExit};

/// The time for a server to exit after its input was closed (2025-11-25, transports, stdio shutdown).
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);

/// The time for it to exit after SIGTERM.
const SIGTERM_TIMEOUT: Duration = Duration::from_millis(500);

/// The time for the rest of the output once the process is gone; a grandchild may hold the stream open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The interval at which processes are looked for that may outlive their server.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A process with all that it started; whatever is left of it ends when this is dropped.
pub(crate) struct ServerProcess {
    pub tree: ProcessTree,
    /// Keeps it from being taken for a stray.
    server: OwnedServer,
}

impl ServerProcess {
    pub(crate) fn new(tree: ProcessTree, server: OwnedServer) -> Self {
        Self { tree, server }
    }

    /// The number of its process group.
    pub(crate) fn leader(&self) -> u32 {
        self.server.leader()
    }

    /// The names of the processes of the group that still run once its leader has ended and this time has passed.
    async fn left_after(&self, grace: Duration) -> Vec<String> {
        let deadline = Instant::now() + grace;
        loop {
            let left = orphans::running_in_group(self.server.leader());
            if left.is_empty() || Instant::now() >= deadline {
                return left;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends what is left of the group, and what left it where this is the last server.
    async fn end(mut self) {
        self.tree.kill();
        let _ = timeout(DRAIN_TIMEOUT, self.tree.wait_for_all()).await;
        drop(self);
        let _ = tokio::task::spawn_blocking(orphans::kill_unneeded).await;
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Nothing left to end is the usual case.
        self.tree.kill();
    }
}

/// The tasks that serve the process's streams.
pub(crate) struct StreamTasks {
    pub writing: JoinHandle<()>,
    pub reading: JoinHandle<()>,
    pub stderr: JoinHandle<()>,
    /// The end of its input asks the process to end.
    pub(crate) has_input: bool,
}

/// Requests to the supervisor of a process.
pub(crate) struct Wishes {
    pub stop: oneshot::Receiver<StopRequest>,
    pub(crate) orders: ProcessOrders,
}

/// Waits for the process to end, or makes it end when asked; tells `incoming` how it ended, and returns it.
pub(crate) async fn supervise(
    mut server: ServerProcess,
    mut streams: StreamTasks,
    mut wishes: Wishes,
    incoming: mpsc::Sender<Incoming>,
) -> ServerExit {
    let mut paused_until: Option<Instant> = None;
    let ended = loop {
        tokio::select! {
            status = server.tree.wait() => break Termination::Itself(status),
            asked = &mut wishes.stop => break Termination::Asked(asked.ok()),
            (order, done) = wishes.orders.next() => {
                match order {
                    ProcessOrder::Kill => server.tree.kill(),
                    ProcessOrder::Pause(time) => {
                        server.tree.pause();
                        paused_until = paused_until.max(Some(Instant::now() + time));
                    }
                }
                // Whoever asked may have gone.
                let _ = done.send(());
            }
            () = sleep_until(paused_until.unwrap_or_else(Instant::now)), if paused_until.is_some() => {
                paused_until = None;
                server.tree.resume();
            }
        }
    };
    if paused_until.is_some() {
        server.tree.resume();
    }
    let (status, shutdown) = match ended {
        Termination::Itself(status) => (status, None),
        Termination::Asked(None) => {
            streams.writing.abort();
            server.tree.kill();
            (server.tree.wait().await, None)
        }
        Termination::Asked(Some(StopRequest { order, done })) => {
            let (status, shutdown) = end(&mut server, &streams, order).await;
            (status, Some((shutdown, done)))
        }
    };
    // Children of the server that outlived it hold its streams open.
    server.end().await;
    let rest = async {
        let _ = (&mut streams.reading).await;
        let _ = (&mut streams.stderr).await;
    };
    if timeout(DRAIN_TIMEOUT, rest).await.is_err() {
        streams.reading.abort();
        streams.stderr.abort();
    }
    streams.writing.abort();
    // Waits for room: a crash must not pass for a closed output. Fails where nobody listens any more.
    let exit = exit(status);
    let _ = incoming.send(Incoming::Exited(exit)).await;
    // Whoever asked may have gone.
    let _ = shutdown.map(|(shutdown, done)| done.send(shutdown));
    exit
}

enum Termination {
    Itself(Option<ExitStatus>),
    Asked(Option<StopRequest>),
}

/// Closes the input, then sends SIGTERM, then kills; `order` says where to begin, and how long that may take.
async fn end(
    server: &mut ServerProcess,
    streams: &StreamTasks,
    order: Option<ShutdownOrder>,
) -> (Option<ExitStatus>, Shutdown) {
    let begun = Instant::now();
    let first = order.map_or(FirstSignal::EndOfInput, |order| order.first);
    let (status, by) = end_by_steps(server, streams, first, order.map(|order| order.grace)).await;
    let took = begun.elapsed();
    let left = match order {
        Some(order) if by != ShutdownStep::Sigkill => server.left_after(order.grace).await,
        Some(_) | None => Vec::new(),
    };
    (status, Shutdown { by, took, left })
}

/// `grace` is the time to exit after the first signal.
async fn end_by_steps(
    server: &mut ServerProcess,
    streams: &StreamTasks,
    first: FirstSignal,
    grace: Option<Duration>,
) -> (Option<ExitStatus>, ShutdownStep) {
    if first == FirstSignal::EndOfInput {
        // Ends the writing task, and with it the server's input.
        streams.writing.abort();
        if streams.has_input
            && let Ok(status) = timeout(grace.unwrap_or(SHUTDOWN_TIMEOUT), server.tree.wait()).await
        {
            return (status, ShutdownStep::EndOfInput);
        }
    }
    let sigterm_grace = grace.filter(|_| first == FirstSignal::Sigterm).unwrap_or(SIGTERM_TIMEOUT);
    if server.tree.ask_to_end()
        && let Ok(status) = timeout(sigterm_grace, server.tree.wait()).await
    {
        return (status, ShutdownStep::Sigterm);
    }
    server.tree.kill();
    (server.tree.wait().await, ShutdownStep::Sigkill)
}

fn exit(status: Option<ExitStatus>) -> ServerExit {
    let Some(status) = status else { return ServerExit::Unknown };
    match ending_signal(status) {
        Some(signal) => ServerExit::Signal(signal),
        None => status.code().map_or(ServerExit::Unknown, ServerExit::Status),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::stdio::{self, ServerCommand};
    use super::*;

    #[tokio::test]
    async fn the_exit_arrives_when_the_channel_is_full() {
        let start = || {
            ProcessTree::start("sh", |process| {
                process.args(["-c", "exit 7"]);
            })
        };
        let (tree, server) = OwnedServer::register_started(start).unwrap();
        let server = ServerProcess::new(tree, server);
        let streams = StreamTasks {
            writing: tokio::spawn(async {}),
            reading: tokio::spawn(async {}),
            stderr: tokio::spawn(async {}),
            has_input: true,
        };
        let (_stop, stop) = oneshot::channel();
        let (_control, orders) = super::super::disruption::ProcessControl::new();
        let (sender, mut incoming) = mpsc::channel(1);
        sender.try_send(Incoming::Closed).unwrap();
        let mut supervising = tokio::spawn(supervise(server, streams, Wishes { stop, orders }, sender));
        assert!(timeout(Duration::from_millis(300), &mut supervising).await.is_err(), "it did not wait for room");
        assert_eq!(incoming.recv().await, Some(Incoming::Closed));
        assert_eq!(incoming.recv().await, Some(Incoming::Exited(ServerExit::Status(7))));
    }

    /// Shuts a shell script down and returns its end.
    async fn shut_down(script: &str, first: FirstSignal) -> Shutdown {
        let command = ServerCommand {
            program: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            cwd: std::path::PathBuf::new(),
        };
        let mut link = stdio::spawn(&command).unwrap_or_else(|error| panic!("there is no shell: {error:?}"));
        // It is asked to end once it has said that it is ready.
        assert_eq!(link.incoming.recv().await, Some(Incoming::Line(b"ready".to_vec())));
        let order = ShutdownOrder { first, grace: Duration::from_millis(500) };
        link.stop.shut_down(order).await.unwrap_or_else(|| panic!("it is no process of ours"))
    }

    #[tokio::test]
    async fn the_step_that_ended_a_process_is_known() {
        let reads = "echo ready; cat";
        let sleeps = "echo ready; exec sleep 60";
        let deaf = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
        for (script, first, by) in [
            (reads, FirstSignal::EndOfInput, ShutdownStep::EndOfInput),
            (sleeps, FirstSignal::EndOfInput, ShutdownStep::Sigterm),
            (sleeps, FirstSignal::Sigterm, ShutdownStep::Sigterm),
            (deaf, FirstSignal::Sigterm, ShutdownStep::Sigkill),
        ] {
            assert_eq!(shut_down(script, first).await.by, by, "{script}");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_outlives_a_process_is_named() {
        let leaves = "sleep 60 > /dev/null 2>&1 < /dev/null & echo ready; cat";
        assert_eq!(shut_down(leaves, FirstSignal::EndOfInput).await.left, ["sleep"]);
        assert_eq!(shut_down("echo ready; cat", FirstSignal::EndOfInput).await.left, [] as [String; 0]);
    }
}
