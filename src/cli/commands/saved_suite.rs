//! `--save` of commands that make a suite: the suite as a file, to be run again and changed.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::seen_from;
use crate::files::FilePlace;
use crate::init::SETUP_COMMENT;
use crate::report::sink;
use crate::source::yaml_writer;

/// A suite that a command made.
pub(crate) struct MadeSuite<'a> {
    /// The command.
    pub(crate) command: &'a str,
    pub(crate) name: &'a str,
    /// The server as a suite in the current folder writes it.
    pub(crate) server: Value,
    /// Members that say what may be called: `allow`, `never`, `arguments`.
    pub(crate) calls: &'a Map<String, Value>,
    /// The steps that come first in each session.
    pub(crate) setup: &'a [Value],
    /// Its blocks.
    pub(crate) blocks: &'a Map<String, Value>,
}

impl MadeSuite<'_> {
    /// Writes it; the caller has made sure that nothing is there.
    pub(crate) fn write(self, file: &FilePlace, console: &Console) -> Result<(), Exit> {
        let text = self.text(file.parent().unwrap_or(Path::new("")));
        sink::write(file, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
        let shown = file.display().to_string();
        console.note(&format!("wrote `{shown}`; `mcprove run {}` runs it again", shell_words::quote(&shown)));
        Ok(())
    }

    fn text(self, folder: &Path) -> String {
        let Self { command, name, server, calls, setup, blocks } = self;
        let server = seen_from(folder, server);
        let mut text =
            format!("# Made by `mcprove {command}`. It is yours now: change what is not meant, and add tests.\n");
        text += &yaml_writer::block(&json!({"suite": name, "server": server}), 0);
        if !calls.is_empty() {
            text += "\n# What generated calls may do, and with which arguments.\n";
            text += &yaml_writer::block(&Value::Object(calls.clone()), 0);
        }
        if !setup.is_empty() {
            text += SETUP_COMMENT;
            text += &yaml_writer::block(&json!({"setup": setup}), 0);
        }
        text += "\n";
        text + &yaml_writer::block(&Value::Object(blocks.clone()), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::yaml_writer::read_value;

    #[test]
    fn a_made_suite_says_what_was_run() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let (calls, blocks) = (map(json!({"allow": ["log_*"]})), map(json!({"security": {}, "fuzz": {"seed": 1}})));
        let server = json!({"command": ["node", "s.js"]});
        let suite = MadeSuite {
            command: "audit",
            name: "users",
            server,
            calls: &calls,
            setup: &[json!({"call": "make"})],
            blocks: &blocks,
        };
        let text = suite.text(Path::new("suites"));
        assert_eq!(
            read_value(&text),
            Some(json!({
                "suite": "users",
                "server": {"command": ["node", "s.js"], "cwd": ".."},
                "allow": ["log_*"],
                "setup": [{"call": "make"}],
                "security": {},
                "fuzz": {"seed": 1},
            })),
            "{text}"
        );
    }
}
