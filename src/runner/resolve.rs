//! From a server as written to a server that can be reached.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::InProcess;
use crate::demo;
use crate::event::Finding;
use crate::session::ClientAnswers;
use crate::source::template::{Names, fill, text_of};
use crate::suite::{Answers, Server, Target};
use crate::transport::stdio::Command;
use crate::transport::{ConnectError, Link, memory, stdio};

/// What every child gets of our environment.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "LANG", "TMPDIR", "SystemRoot", "PATHEXT", "TEMP", "USERPROFILE"];

/// How many bytes may wait between this program and a server inside it.
const MEMORY_BUFFER: usize = 256 << 10;

/// A server, ready to be connected to.
#[derive(Debug, Clone)]
pub(super) enum Reachable {
    /// A program.
    Command(Command),
    /// The demo server, in process.
    Demo,
    /// A server of whoever runs the suite, in process.
    InProcess(InProcess),
}

/// Fills in a server's templates; `Err` says what is missing.
pub(super) fn server(
    server: &Server,
    names: &Names,
    environment: &BTreeMap<String, String>,
) -> Result<Reachable, Finding> {
    let text = |node| fill(node, names).map(|node| text_of(&node.to_json()));
    let words = match &server.target {
        Target::Builtin(_) => return Ok(Reachable::Demo),
        Target::Url(_) => return Err(Finding::new("not-available", "servers over HTTP are not available yet")),
        Target::Command(words) => words,
    };
    let command = || -> Result<Command, String> {
        let mut words = words.iter().map(text).collect::<Result<Vec<_>, _>>()?.into_iter();
        let mut env: BTreeMap<String, String> = if server.inherit_env {
            environment.clone()
        } else {
            let kept = PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), environment.get(*name)?.clone())));
            kept.collect()
        };
        for (name, value) in &server.env {
            env.insert(name.value.clone(), text(value)?);
        }
        let cwd = server.cwd.as_ref().map(text).transpose()?.map(PathBuf::from);
        Ok(Command {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env: env.into_iter().collect(),
            cwd: cwd.map_or_else(|| server.folder.clone(), |cwd| server.folder.join(cwd)),
        })
    };
    command().map(Reachable::Command).map_err(|reason| Finding {
        help: Some("set what it names, or give it a value with `| default('…')`".to_owned()),
        ..Finding::new("unfilled-template", reason)
    })
}

/// Connects to a fresh server.
pub(super) fn connect(server: &Reachable) -> Result<Link, ConnectError> {
    match server {
        Reachable::Command(command) => stdio::spawn(command),
        Reachable::InProcess(server) => Ok(server.connect()),
        Reachable::Demo => {
            let (ours, theirs) = tokio::io::duplex(MEMORY_BUFFER);
            let (reader, writer) = tokio::io::split(theirs);
            // The demo ends when this side closes; what it says then interests nobody.
            tokio::spawn(async move { drop(demo::serve(reader, writer).await) });
            let (reader, writer) = tokio::io::split(ours);
            Ok(memory::connect(reader, writer))
        }
    }
}

/// Fills in what the client answers.
pub(super) fn answers(answers: &Answers, names: &Names) -> Result<ClientAnswers, String> {
    let filled = |node: &Option<_>| node.as_ref().map(|node| fill(node, names).map(|node| node.to_json())).transpose();
    Ok(ClientAnswers::new(filled(&answers.sampling)?, filled(&answers.elicitation)?, filled(&answers.roots)?))
}
