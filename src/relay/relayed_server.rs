//! The server of a relay over streams: a child that has the environment, the folder and the error stream of the relay, as
//! it would have those of the client. Its process group is its own, so that signals reach it once, with all that it started.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::fault::ServerEnd;

/// The time that a server may go on after it closed its output, or after its client has gone.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that runs; what is left of it and of all that it started is killed when this is dropped.
pub struct RelayedServer {
    child: Box<dyn ChildWrapper>,
}

impl RelayedServer {
    /// Starts a program with its arguments; the streams are its output and its input.
    ///
    /// # Errors
    ///
    /// The system's, where it cannot be started.
    pub fn start(program: &str, arguments: &[String]) -> io::Result<(Self, (ChildStdout, ChildStdin))> {
        let mut command = CommandWrap::with_new(program, |command| {
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        });
        let mut child = command.wrap(ProcessGroup::leader()).spawn()?;
        match (child.stdout().take(), child.stdin().take()) {
            (Some(output), Some(input)) => Ok((Self { child }, (output, input))),
            (None, _) | (_, None) => Err(io::Error::other("its standard streams are missing")),
        }
    }

    /// Hands on a signal.
    pub fn signal(&self, number: i32) {
        // One that has ended hears of nothing.
        let _ = self.child.signal(number);
    }

    /// Kills the server where it stands.
    pub fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Waits for the end of the server itself; what it started may still write.
    pub async fn wait(&mut self) -> ServerEnd {
        self.child.inner_mut().wait().await.map_or(ServerEnd::Closed, end_of)
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
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ServerEnd::Signal(signal);
    }
    status.code().map_or(ServerEnd::Closed, ServerEnd::Status)
}
