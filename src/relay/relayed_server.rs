//! The server of a relay over streams: a child that has the environment, the folder and the error stream of the relay, as
//! it would have those of the client. Its process group is its own, so that signals reach it once, with all that it started.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::fault::ServerEnd;
use crate::transport::process_tree::{ProcessTree, ending_signal};
use crate::transport::program;

/// The time that a server may go on after it closed its output, or after its client has gone.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that runs; what is left of it and of all that it started is killed when this is dropped.
pub struct RelayedServer {
    tree: ProcessTree,
}

impl RelayedServer {
    /// Starts a program with its arguments; `variables` are those of this program, which it inherits. The streams are its
    /// output and its input.
    ///
    /// # Errors
    ///
    /// The system's, where it cannot be started.
    pub fn start(
        program: &str,
        arguments: &[String],
        variables: &[(String, String)],
    ) -> io::Result<(Self, (ChildStdout, ChildStdin))> {
        let mut tree = ProcessTree::start(program::locate(program, Path::new(""), variables), |command| {
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        })?;
        match (tree.take_output(), tree.take_input()) {
            (Some(output), Some(input)) => Ok((Self { tree }, (output, input))),
            (None, _) | (_, None) => Err(io::Error::other("its standard streams are missing")),
        }
    }

    /// Hands on a signal; where there are none, the server is killed, since nothing else would end it.
    pub fn signal(&mut self, number: i32) {
        if !self.tree.signal(number) {
            // One that has ended hears of nothing.
            self.kill();
        }
    }

    /// Kills the server where it stands.
    pub fn kill(&mut self) {
        self.tree.kill();
    }

    /// Waits for the end of the server itself; what it started may still write.
    pub async fn wait(&mut self) -> ServerEnd {
        self.tree.wait().await.map_or(ServerEnd::Closed, end_of)
    }

    /// Waits for the end of a server whose output is closed already, or kills it after a while.
    pub async fn wait_or_kill(mut self) -> ServerEnd {
        if let Ok(end) = timeout(EXIT_TIMEOUT, self.wait()).await {
            return end;
        }
        self.kill();
        self.wait().await
    }
}

impl Drop for RelayedServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn end_of(status: ExitStatus) -> ServerEnd {
    match ending_signal(status) {
        Some(signal) => ServerEnd::Signal(signal),
        None => status.code().map_or(ServerEnd::Closed, ServerEnd::Status),
    }
}
