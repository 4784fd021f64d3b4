//! A server as a child process that speaks over its standard streams.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::disruption::{ProcessControl, ReadGate, StreamControl};
use super::orphans::OwnedServer;
use super::process::{ServerProcess, StreamTasks, Wishes, supervise};
use super::process_tree::{ProcessTree, is_no_program};
use super::{ConnectError, Incoming, Link, ServerExit, ServerProcesses, Stopper, TransportKind, lines, program};

/// A program, ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// A name to look up in PATH, or a path relative to `cwd`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// The folder in which it starts.
    pub cwd: PathBuf,
}

/// Why a file that may be run cannot be.
const NO_PROGRAM: &str = "the system cannot run this file: it is a program for another system, or a script without its \
                          interpreter; for a script, write the interpreter in front, such as `python3 server.py`";

/// Starts the program in a process group of its own.
pub fn spawn(command: &ServerCommand) -> Result<Link, ConnectError> {
    let mut server = start(command, Stdio::piped())?;
    let tree = &mut server.tree;
    let (Some(stdin), Some(stdout), Some(stderr)) = (tree.take_input(), tree.take_output(), tree.take_errors()) else {
        return Err(not_started(command, "its standard streams are missing".to_owned()));
    };
    let (outgoing, to_server) = mpsc::unbounded_channel();
    let (from_server, incoming) = mpsc::channel(lines::QUEUED_LINES);
    let (stop, asked) = Stopper::new();
    let (process, orders) = ProcessControl::new();
    let gate = Arc::new(ReadGate::default());
    let processes = Some(ServerProcesses::of(server.leader()));
    let control = StreamControl { process: Some(process), gate: Arc::clone(&gate) };
    let streams = StreamTasks {
        writing: tokio::spawn(lines::write(stdin, to_server, control)),
        reading: tokio::spawn(lines::read_lines(stdout, from_server.clone(), gate)),
        stderr: tokio::spawn(lines::read_stderr(stderr, from_server.clone())),
        has_input: true,
    };
    tokio::spawn(supervise(server, streams, Wishes { stop: asked, orders }, from_server));
    Ok(Link { outgoing, incoming, stop, transport: TransportKind::Stdio, endpoint: None, processes })
}

/// A program that is spoken to some other way than over its streams.
pub(crate) struct ApartProcess {
    pub stop: Stopper,
    pub control: ProcessControl,
    pub processes: ServerProcesses,
    /// Ends with the process.
    pub(crate) supervising: JoinHandle<ServerExit>,
}

/// Starts a program that is spoken to some other way; whatever it writes is a log.
pub(crate) fn spawn_apart(command: &ServerCommand, log: mpsc::Sender<Incoming>) -> Result<ApartProcess, ConnectError> {
    let mut server = start(command, Stdio::null())?;
    let (Some(stdout), Some(stderr)) = (server.tree.take_output(), server.tree.take_errors()) else {
        return Err(not_started(command, "its standard streams are missing".to_owned()));
    };
    let (stop, asked) = Stopper::new();
    let (control, orders) = ProcessControl::new();
    let processes = ServerProcesses::of(server.leader());
    let streams = StreamTasks {
        writing: tokio::spawn(async {}),
        reading: tokio::spawn(lines::read_stderr(stdout, log.clone())),
        stderr: tokio::spawn(lines::read_stderr(stderr, log.clone())),
        has_input: false,
    };
    let supervising = tokio::spawn(supervise(server, streams, Wishes { stop: asked, orders }, log));
    Ok(ApartProcess { stop, control, processes, supervising })
}

fn start(command: &ServerCommand, input: Stdio) -> Result<ServerProcess, ConnectError> {
    let cwd = if command.cwd.as_os_str().is_empty() { Path::new(".") } else { command.cwd.as_path() };
    let program = program::locate(&command.program, cwd, &command.env);
    let started = OwnedServer::register_started(|| {
        ProcessTree::start(&program, |process| {
            process
                .args(&command.args)
                .env_clear()
                .envs(command.env.iter().map(|(name, value)| (name, value)))
                .current_dir(cwd)
                .stdin(input)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        })
    });
    started.map(|(tree, server)| ServerProcess::new(tree, server)).map_err(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            let reason = if is_no_program(&error) {
                NO_PROGRAM.to_owned()
            } else if error.kind() != io::ErrorKind::PermissionDenied {
                error.to_string()
            } else if program.is_dir() {
                "it is a folder; name a program in it".to_owned()
            } else {
                "it is not executable; run `chmod +x` on it, or write its interpreter before it".to_owned()
            };
            return not_started(command, reason);
        }
        if cwd.is_dir() {
            return not_found(command, &program);
        }
        not_started(command, format!("the folder `{}` does not exist", cwd.display()))
    })
}

fn not_found(command: &ServerCommand, program: &Path) -> ConnectError {
    let path = (program.components().count() > 1).then(|| program.to_owned());
    ConnectError::NotFound { program: command.program.clone(), path }
}

fn not_started(command: &ServerCommand, reason: String) -> ConnectError {
    ConnectError::NotStarted { program: command.program.clone(), reason }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::{Access, TemporaryFolder};

    /// A shell writes it: what this program has open for writing, the children of other tests inherit, and it cannot start.
    #[cfg(unix)]
    fn write_script(folder: &Path) {
        let script = r#"printf '#!/bin/sh\necho "$1"\n' > serve && chmod 755 serve"#;
        let status = std::process::Command::new("sh").args(["-c", script]).current_dir(folder).status();
        assert!(status.is_ok_and(|status| status.success()), "the script is not written");
    }

    /// As npm installs programs: a script with a line that names its interpreter, and on Windows one for `cmd` beside it.
    #[tokio::test]
    async fn a_script_in_the_path_starts_by_its_name() {
        let name = format!("mcprove-script-{}", std::process::id());
        let folder = TemporaryFolder::create(&std::env::temp_dir(), name, Access::Private).unwrap();
        fs::write(folder.path().join("serve.cmd"), "@echo %~1\r\n").unwrap();
        #[cfg(not(unix))]
        fs::write(folder.path().join("serve"), "").unwrap();
        #[cfg(unix)]
        write_script(folder.path());
        let command = ServerCommand {
            program: "serve".to_owned(),
            args: vec!["two words".to_owned()],
            env: vec![("PATH".to_owned(), folder.path().display().to_string())],
            cwd: PathBuf::new(),
        };
        let mut link = spawn(&command).unwrap_or_else(|error| panic!("it does not start: {error}"));
        assert_eq!(link.incoming.recv().await, Some(Incoming::Line(b"two words".to_vec())));
        link.stop.stop().await;
        let missing = spawn(&ServerCommand { program: "server".to_owned(), ..command });
        assert_eq!(missing.err(), Some(ConnectError::NotFound { program: "server".to_owned(), path: None }));
    }
}
