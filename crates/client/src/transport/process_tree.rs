//! A process with everything that it starts: the group that it leads on Unix, a job object on Windows.
//!
//! What differs between systems in the life of a process is here: callers ask what can be done, and have no `cfg`.

use std::ffi::OsStr;
use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

/// A process can be asked to end while its input is open. Windows has no such signal for a program without a window.
pub const HAS_SIGTERM: bool = cfg!(unix);

/// A process can be halted, and go on later.
pub(crate) const CAN_PAUSE: bool = cfg!(unix);

/// The signal that asks a process to end.
const SIGTERM: i32 = 15;

/// The signals that let a process stand still, and go on.
const SIGSTOP: i32 = if cfg!(target_os = "linux") { 19 } else { 17 };
const SIGCONT: i32 = if cfg!(target_os = "linux") { 18 } else { 19 };

/// A process that runs. On Windows, dropping this ends all that is left of it, and so does the end of this program,
/// whatever ended that.
#[derive(Debug)]
pub struct ProcessTree(Box<dyn ChildWrapper>);

impl ProcessTree {
    /// Starts a program, which gets a group of its own: Ctrl-C in the terminal is for this program alone.
    ///
    /// # Errors
    ///
    /// The system's, where it cannot be started.
    pub fn start(program: impl AsRef<OsStr>, configure: impl FnOnce(&mut Command)) -> io::Result<Self> {
        system::start(CommandWrap::with_new(program, configure)).map(Self)
    }

    /// The number of the process, and on Unix of its group; `None` once it was waited for.
    pub fn id(&self) -> Option<u32> {
        self.0.id()
    }

    /// Its input, for the first who asks.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.0.stdin().take()
    }

    /// Its output, for the first who asks.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.0.stdout().take()
    }

    /// Its error stream, for the first who asks.
    pub fn take_errors(&mut self) -> Option<ChildStderr> {
        self.0.stderr().take()
    }

    /// Waits for the process itself; what it started may outlive it.
    pub async fn wait(&mut self) -> Option<ExitStatus> {
        self.0.inner_mut().wait().await.ok()
    }

    /// Waits for what it started, too, as far as this program is told of it.
    pub(crate) async fn wait_for_all(&mut self) {
        // A child without another parent is ours to wait for.
        let _ = self.0.wait().await;
    }

    /// Ends everything at once; nothing left to end is no error.
    pub fn kill(&mut self) {
        let _ = self.0.start_kill();
    }

    /// Asks everything to end; returns false where the system has no way to ask, or nothing is left.
    pub fn ask_to_end(&self) -> bool {
        self.signal(SIGTERM)
    }

    /// Sends a signal to everything; returns false where the system has none, or nothing is left.
    pub fn signal(&self, number: i32) -> bool {
        system::signal(self.0.as_ref(), number)
    }

    /// Lets everything stand still, where [`CAN_PAUSE`] says so.
    pub(crate) fn pause(&self) {
        self.signal(SIGSTOP);
    }

    /// Lets everything go on.
    pub(crate) fn resume(&self) {
        self.signal(SIGCONT);
    }
}

/// A file cannot be run, whatever its permissions: `ERROR_BAD_EXE_FORMAT` on Windows, `ENOEXEC` elsewhere.
pub(crate) fn is_no_program(error: &io::Error) -> bool {
    error.raw_os_error() == Some(if cfg!(windows) { 193 } else { 8 })
}

/// The signal that ended a process; `None` where it ended by itself, and on systems without signals.
pub fn ending_signal(status: ExitStatus) -> Option<i32> {
    system::ending_signal(status)
}

#[cfg(unix)]
mod system {
    use process_wrap::tokio::ProcessGroup;

    use super::{ChildWrapper, CommandWrap, ExitStatus, io};

    pub(super) fn start(mut command: CommandWrap) -> io::Result<Box<dyn ChildWrapper>> {
        command.wrap(ProcessGroup::leader()).spawn()
    }

    pub(super) fn signal(child: &dyn ChildWrapper, number: i32) -> bool {
        child.signal(number).is_ok()
    }

    pub(super) fn ending_signal(status: ExitStatus) -> Option<i32> {
        std::os::unix::process::ExitStatusExt::signal(&status)
    }
}

#[cfg(windows)]
mod system {
    use process_wrap::tokio::{JobObject, KillOnDrop};

    use super::{ChildWrapper, CommandWrap, ExitStatus, io};

    /// `CREATE_SUSPENDED`: nothing runs before the process is in its job, which the wrapper then lets go on.
    const SUSPENDED: u32 = 0x4;

    /// `CREATE_NEW_PROCESS_GROUP`: Ctrl-C does not reach it.
    const NEW_GROUP: u32 = 0x200;

    pub(super) fn start(mut command: CommandWrap) -> io::Result<Box<dyn ChildWrapper>> {
        // Together they end the job with its last handle.
        command.wrap(KillOnDrop).wrap(JobObject);
        command.spawn_with(|command| command.creation_flags(SUSPENDED | NEW_GROUP).spawn())
    }

    pub(super) fn signal(_: &dyn ChildWrapper, _: i32) -> bool {
        false
    }

    pub(super) fn ending_signal(_: ExitStatus) -> Option<i32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::time::timeout;

    use super::*;

    /// A shell that says `ready` and waits for a process of its own, which holds its output open.
    fn start_two() -> ProcessTree {
        let (shell, words) = if cfg!(windows) {
            ("cmd.exe", ["/d", "/c", "echo ready& ping -n 60 127.0.0.1"])
        } else {
            ("sh", ["-e", "-c", "echo ready; sleep 60; true"])
        };
        ProcessTree::start(shell, |command| {
            command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        })
        .unwrap()
    }

    #[tokio::test]
    async fn a_process_ends_with_what_it_started() {
        let mut tree = start_two();
        let mut output = tree.take_output().unwrap();
        let mut said = [0; 5];
        output.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"ready");
        tree.kill();
        assert!(tree.wait().await.is_some_and(|status| !status.success()));
        // The other process held the stream open, and is gone too.
        let mut rest = Vec::new();
        let closed = timeout(Duration::from_secs(30), output.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "what the process started still runs");
    }

    #[tokio::test]
    async fn only_some_systems_ask() {
        let mut tree = start_two();
        assert_eq!(tree.ask_to_end(), HAS_SIGTERM);
        tree.kill();
        let status = tree.wait().await.unwrap();
        assert_eq!(ending_signal(status).is_some(), cfg!(unix));
    }
}
