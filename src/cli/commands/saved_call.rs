//! `mcprove call --save`: writes a call as a test into a suite.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::block;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::seen_from;
use crate::files::FilePlace;
use crate::init::{CallAsTest, with_test};
use crate::report::sink;
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, Sources, parse, yaml_writer};
use crate::suite::{Http, Server, ServerKind, Suite, why_unreadable};

/// A suite that gets a call as a test: one that is there and has the same server, or a new one.
pub(crate) struct GrowingSuite<'a> {
    file: &'a FilePlace,
    /// The server that is called, as a suite in the current folder would write it.
    written: Value,
    known: Option<KnownSuite>,
}

/// A suite that is there.
struct KnownSuite {
    text: String,
    sources: Sources,
    suite: Suite,
    /// The name of the server that is called.
    server: String,
}

impl<'a> GrowingSuite<'a> {
    /// Reads the suite, before anything is called.
    pub(crate) fn open(file: &'a FilePlace, called: &Server, written: Value, console: &Console) -> Result<Self, Exit> {
        if !file.exists() {
            return Ok(Self { file, written, known: None });
        }
        let text = read_text(file, WRITTEN).map_err(|error| {
            let message = format!("cannot read the suite `{}`: {}", file.display(), why_unreadable(&error));
            console.fail(Exit::Usage, message, None)
        })?;
        let (suite, sources) = load(file, &text).map_err(|(found, sources)| console.refuse(&found, &sources))?;
        let Some(server) =
            suite.servers.iter().find(|(_, server)| is_same(server, called)).map(|(name, _)| name.clone())
        else {
            let message = format!("`{}` tests another server", file.display());
            let help = "name a new file, or call the server of the suite";
            return Err(console.fail(Exit::Usage, message, Some(help)));
        };
        Ok(Self { file, written, known: Some(KnownSuite { text, sources, suite, server }) })
    }

    /// Adds the call as a test, and writes the suite.
    pub(crate) fn add(&self, call: &CallAsTest<'_>, console: &Console) -> Result<(), Exit> {
        let file = self.file.display();
        let text = match &self.known {
            Some(known) => known.with(call, self.file),
            None => Ok(self.first(call)),
        };
        let text = text.map_err(|reason| {
            let help = "write the test by hand, or name another file";
            console.fail(Exit::Usage, format!("`{file}` was not changed: {reason}"), Some(help))
        })?;
        sink::write(self.file, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
        console.note(&format!("saved as a test; `mcprove run {}` runs it", shell_words::quote(&file.to_string())));
        Ok(())
    }

    /// A suite of the call alone.
    fn first(&self, call: &CallAsTest<'_>) -> String {
        let server = seen_from(self.file.parent().unwrap_or(Path::new("")), self.written.clone());
        let suite = json!({"suite": format!("Calls of {}", call.tool), "server": server});
        let tests = json!([call.test(&[])]);
        format!("{}\ntests:\n{}", yaml_writer::block(&suite, 0), yaml_writer::block(&tests, 2))
    }
}

impl KnownSuite {
    /// The text of the suite with the call as its last test; `Err` with the reason where it does not fit.
    fn with(&self, call: &CallAsTest<'_>, file: &Path) -> Result<String, &'static str> {
        let taken: Vec<&str> = self.suite.tests.iter().map(|test| test.name.value.as_str()).collect();
        let mut test = call.test(&taken);
        if self.suite.servers.len() > 1 {
            test["server"] = self.server.as_str().into();
        }
        let root = self.sources.ids().next().and_then(|id| parse(&self.sources, id).ok()).ok_or("it cannot be read")?;
        let changed = with_test(&self.text, &root, &test)?;
        // What was there is still there, and the test is one.
        let is_right = load(file, &changed).is_ok_and(|(whole, _)| whole.tests.len() == taken.len() + 1);
        if is_right { Ok(changed) } else { Err("the test does not fit behind its last one") }
    }
}

/// The suite in a file with this text; `Err` with its mistakes.
fn load(file: &Path, text: &str) -> Result<(Suite, Sources), (Vec<Diagnostic>, Sources)> {
    let mut sources = Sources::default();
    let files = |path: &Path| if path == file { Ok(text.to_owned()) } else { read_text(path, WRITTEN) };
    match block::load(file, &files, &mut sources, &mut Vec::new()) {
        Ok(loaded) => Ok((loaded.suite, sources)),
        Err(found) => Err((found, sources)),
    }
}

/// Both are started by the same words in the same folder, or have the same address.
fn is_same(one: &Server, other: &Server) -> bool {
    let words = |server: &Server| -> Vec<String> {
        let command = match &server.kind {
            ServerKind::Command(words) => words.as_slice(),
            ServerKind::Url(http) => {
                let Http { url, command, .. } = http.as_ref();
                return command.iter().flatten().chain([url]).map(crate::source::Node::to_text).collect();
            }
            ServerKind::Builtin(name) => return vec![name.clone()],
        };
        command.iter().map(crate::source::Node::to_text).collect()
    };
    let is_kind = std::mem::discriminant(&one.kind) == std::mem::discriminant(&other.kind);
    let folder = |server: &Server| {
        let own = server.cwd.as_ref().map_or_else(PathBuf::new, |cwd| PathBuf::from(cwd.to_text()));
        std::path::absolute(Path::new(".").join(&server.folder).join(own))
            .map(|path| crate::suite::normalize_path(&path))
            .ok()
    };
    let starts = |server: &Server| matches!(server.kind, ServerKind::Command(_));
    is_kind && words(one) == words(other) && (!starts(one) || folder(one) == folder(other))
}
