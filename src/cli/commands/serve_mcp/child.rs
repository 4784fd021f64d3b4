//! This program as a child process: its output, and its end when nobody waits for it any more.
//!
//! A command that starts servers runs alone; the others wait. A child is asked to end as by Ctrl-C, so that it ends its
//! servers, and is killed if it does not.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::outcome::{BoundedOutput, EndedCommand};
use crate::transport::orphans;
use crate::transport::process_tree::{HAS_SIGTERM, ProcessTree};

/// The time for the rest of the output once the child has ended: a process that it left may hold the pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The commands that run at a time: one that starts servers, and one that only reads files.
#[derive(Debug)]
pub(super) struct Children {
    program: PathBuf,
    servers: tokio::sync::Mutex<()>,
    files: tokio::sync::Mutex<()>,
}

/// A command that runs.
#[derive(Debug)]
struct Child {
    tree: ProcessTree,
    /// The way to ask it to end where the system has none.
    input: Option<ChildStdin>,
}

impl Child {
    /// Asks it to end as Ctrl-C does; returns false where it does not hear that.
    async fn ask_to_end(&mut self) -> bool {
        match &mut self.input {
            Some(input) => input.write_all(b"\n").await.is_ok() && input.flush().await.is_ok(),
            None => self.tree.ask_to_end(),
        }
    }
}

/// What a command touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandReach {
    /// It reads files, and is over soon.
    Files,
    /// It starts servers, or connects to them.
    Servers,
}

/// Why a command is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The client cancelled the call.
    Cancelled,
    /// The server ends, and clients wait for that a few seconds only.
    Leaving,
}

impl StopReason {
    /// The time that the child gets after each request to end. The third makes it exit at once.
    fn patience(self) -> [Duration; 3] {
        match self {
            Self::Cancelled => [Duration::from_secs(5), Duration::from_secs(3), Duration::from_secs(2)],
            Self::Leaving => [Duration::from_secs(1), Duration::from_millis(500), Duration::from_millis(500)],
        }
    }
}

impl Children {
    /// Runs commands of this program.
    pub(super) fn new(program: PathBuf) -> Self {
        Self { program, servers: tokio::sync::Mutex::default(), files: tokio::sync::Mutex::default() }
    }

    /// Runs a command in its turn; `None` if it was stopped.
    ///
    /// The command has a task of its own: whoever drops this future does not leave its servers behind.
    pub(super) async fn run(
        self: Arc<Self>,
        words: Vec<String>,
        reach: CommandReach,
        stop: impl Future<Output = StopReason> + Send + 'static,
    ) -> io::Result<Option<EndedCommand>> {
        let running = tokio::spawn(async move {
            let mut stop = pin!(stop);
            let turns = if reach == CommandReach::Files { &self.files } else { &self.servers };
            let _turn = tokio::select! {
                biased;
                _ = &mut stop => return Ok(None),
                turn = turns.lock() => turn,
            };
            let mut child = self.start(&words)?;
            let output = child.tree.take_output().map(Collected::new);
            let messages = child.tree.take_errors().map(Collected::new);
            tokio::select! {
                status = child.tree.wait() => {
                    let (output, messages) = (Collected::text(output).await, Collected::text(messages).await);
                    let exit = status.and_then(|status| status.code());
                    // A command that was killed by somebody ended none of its servers.
                    if exit.is_none() && reach == CommandReach::Servers {
                        self.end_strays().await;
                    }
                    Ok(Some(EndedCommand { exit, output, messages }))
                }
                reason = &mut stop => {
                    if end(&mut child, reason).await == ChildEnd::Killed && reach == CommandReach::Servers {
                        self.end_strays().await;
                    }
                    Ok(None)
                }
            }
        });
        running.await.map_err(io::Error::other)?
    }

    /// Waits until no command runs; the caller sees to it that all of them are stopped.
    pub(super) async fn wait_until_ended(&self) {
        drop((self.servers.lock().await, self.files.lock().await));
    }

    fn start(&self, words: &[String]) -> io::Result<Child> {
        let (flags, input): (&[&str], _) =
            if HAS_SIGTERM { (&[], Stdio::null()) } else { (&["--stop-by-input"], Stdio::piped()) };
        // Ctrl-C in a terminal is this program's to pass on, once: a tree has a group of its own.
        let mut tree = ProcessTree::start(&self.program, |command| {
            command.args(flags).args(words).kill_on_drop(true);
            command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        })?;
        Ok(Child { input: tree.take_input(), tree })
    }

    /// Ends the servers of a command that was killed: they are children of this program then.
    async fn end_strays(&self) {
        // A child that runs would be taken for one of them.
        let _turn = self.files.lock().await;
        let _ = spawn_blocking(orphans::take_killed_orphans).await;
    }
}

/// The way in which a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChildEnd {
    /// When it was asked.
    Asked,
    Killed,
}

/// Ends a child: asks it, more urgently each time, and kills it if that is in vain.
async fn end(child: &mut Child, reason: StopReason) -> ChildEnd {
    for patience in reason.patience() {
        if !child.ask_to_end().await {
            break;
        }
        if timeout(patience, child.tree.wait()).await.is_ok() {
            return ChildEnd::Asked;
        }
    }
    child.tree.kill();
    child.tree.wait().await;
    ChildEnd::Killed
}

/// A stream that is read as it comes.
struct Collected {
    read: Arc<Mutex<BoundedOutput>>,
    reading: JoinHandle<()>,
}

impl Collected {
    fn new(mut stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let read = Arc::<Mutex<BoundedOutput>>::default();
        let reader = Arc::clone(&read);
        let reading = tokio::spawn(async move {
            let mut bytes = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                reader.lock().add(&bytes[..count]);
            }
        });
        Self { read, reading }
    }

    async fn text(collected: Option<Self>) -> String {
        let Some(mut collected) = collected else { return String::new() };
        if timeout(DRAIN_TIMEOUT, &mut collected.reading).await.is_err() {
            collected.reading.abort();
        }
        collected.read.lock().text()
    }
}
