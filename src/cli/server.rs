//! The server that a command names where others have suites, and the suite that is made of it.
//!
//! Knows nothing about what is done with the server: a command adds its own members, and its own flags.
//! Start reading in [`ServerArgs::target`].

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::suites::Given;
use crate::redact::{is_secret, query_secrets, user_of};
use crate::source::legible_json;
use crate::suite::{AdHocCommand, CommandLine};
use crate::wire::Revision;

/// What is printed in the place of a secret, for whoever knows it to fill in.
pub(super) const TO_FILL_IN: &str = "…";

/// A mistake on the command line, and what to do.
pub(super) type Mistake = (String, String);

/// How a server that is named on the command line is reached.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// Which revisions to speak: a date, or `all`; by default the newest one that the server speaks.
    #[arg(long, value_name = "REVISION")]
    pub(super) revision: Vec<String>,
    /// A header of every request: `Authorization: Bearer {{ env.TOKEN }}`.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// A variable for the server: `NAME` passes one on, `NAME=VALUE` sets one.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// The folder in which the server starts; the current one by default.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// A command that takes a server, as messages name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verb {
    pub(super) command: AdHocCommand,
    /// What it does to a server, as in "there is no server to check".
    pub(super) does: &'static str,
    /// The line of a suite that asks for the same.
    pub(super) block: &'static str,
}

/// A server, and how it was asked for.
#[derive(Debug)]
pub(super) struct AdHocServer {
    verb: Verb,
    /// As a suite has it.
    server: Value,
    /// As it was typed, without what may be secret.
    shown: String,
    /// Words that hold secrets, each with what may be printed in its place.
    hidden: Vec<(String, String)>,
    /// The flags without which the same server would be asked something else, without what may be secret.
    flags: Vec<String>,
}

/// The positional words of a command, which are a server where other commands have suites.
pub(super) fn positional(arg: clap::Arg) -> clap::Arg {
    arg.value_name("SERVER").help(
        "The server: an address, or after `--` the command that starts it; `demo` is the one that is part of mcprove",
    )
}

impl ServerArgs {
    /// The server that the words name.
    pub(super) fn target(&self, verb: Verb, words: &[String]) -> Result<AdHocServer, Mistake> {
        let mut server = named(verb, words)?;
        self.filled_in(words)?;
        if !self.header.is_empty() {
            let read = self.header.iter().map(|text| {
                let help = "write `--header 'Authorization: Bearer {{ env.TOKEN }}'`".to_owned();
                pair(text, ':').ok_or_else(|| (format!("`{text}` is no header"), help))
            });
            server["headers"] = object(read.collect::<Result<Vec<_>, _>>()?);
        }
        if !self.env.is_empty() {
            let passed = |name: &String| (name.clone(), format!("{{{{ env.{name} }}}}"));
            let set: Vec<_> = self.env.iter().map(|text| pair(text, '=').unwrap_or_else(|| passed(text))).collect();
            let secrets = set.iter().filter(|(name, value)| is_hidden(name, value));
            let secrets: Vec<&str> = secrets.map(|(name, _)| name.as_str()).collect();
            if !secrets.is_empty() {
                server["secrets"] = json!(secrets);
            }
            server["env"] = object(set);
        }
        if let Some(folder) = &self.cwd {
            server["cwd"] = folder.display().to_string().into();
        }
        server["protocol"] = match self.revision.as_slice() {
            [] => "auto".into(),
            [word] if word == "all" => json!(Revision::ALL.map(Revision::as_str).into_iter().rev().collect::<Vec<_>>()),
            revisions => json!(revisions),
        };
        // What is printed is not what is sent.
        let shown = shell_words::join(words.iter().map(|word| public(word)));
        let hidden = words.iter().map(|word| (word.clone(), public(word))).filter(|(word, shown)| word != shown);
        Ok(AdHocServer { verb, server, shown, hidden: hidden.collect(), flags: self.public_flags() })
    }

    /// Refuses what an earlier run printed in the place of secrets.
    fn filled_in(&self, words: &[String]) -> Result<(), Mistake> {
        let is_open = |text: &String, mark: char| pair(text, mark).is_some_and(|(_, value)| value == TO_FILL_IN);
        let header = self.header.iter().find(|text| is_open(text, ':')).map(|text| format!("--header '{text}'"));
        let env = self.env.iter().find(|text| is_open(text, '=')).map(|text| format!("--env {text}"));
        let word = words.iter().find(|word| word.contains("://") && word.contains(TO_FILL_IN)).cloned();
        header.or(env).or(word).map_or(Ok(()), |open| Err(to_fill_in(&open)))
    }

    fn public_flags(&self) -> Vec<String> {
        let header = |text: &String| match pair(text, ':') {
            Some((name, value)) if is_hidden(&name, &value) => format!("{name}: {TO_FILL_IN}"),
            Some(_) | None => text.clone(),
        };
        let variable = |text: &String| match pair(text, '=') {
            Some((name, value)) if is_hidden(&name, &value) => format!("{name}={TO_FILL_IN}"),
            Some(_) | None => text.clone(),
        };
        flags([
            ("--revision", self.revision.clone()),
            ("--header", self.header.iter().map(header).collect()),
            ("--env", self.env.iter().map(variable).collect()),
            ("--cwd", self.cwd.iter().map(|folder| folder.display().to_string()).collect()),
        ])
    }
}

impl AdHocServer {
    /// Says that the server's data may be changed.
    pub(super) fn say_scratch(&mut self) {
        self.server["scratch"] = true.into();
    }

    /// The suite, as somebody might have written it: the server and `members`; `flags` are those of the command alone.
    pub(super) fn given(&self, members: Value, flags: &[String]) -> Given {
        let command = self.verb.command;
        let name = command.as_str();
        let mut suite = json!({"suite": format!("{name} of {}", self.shown), "server": self.server});
        if let (Value::Object(suite), Value::Object(members)) = (&mut suite, members) {
            suite.extend(members);
        }
        let flags = shell_words::join(self.flags.iter().chain(flags));
        let is_program = self.server.get("command").is_some();
        let asked = CommandLine { command, flags, target: self.shown.clone(), is_program };
        // JSON is YAML, and a member a line can be quoted.
        let text = legible_json(&suite);
        Given { name: PathBuf::from(name), text, asked, tools: Vec::new(), hidden: self.hidden.clone() }
    }
}

/// Flags with values, one after the other, as they are typed.
pub(super) fn flags<const N: usize>(named: [(&str, Vec<String>); N]) -> Vec<String> {
    let each = named.into_iter();
    each.flat_map(|(flag, values)| values.into_iter().flat_map(move |value| [flag.to_owned(), value])).collect()
}

fn pair(text: &str, mark: char) -> Option<(String, String)> {
    text.split_once(mark).map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
}

fn object(pairs: Vec<(String, String)>) -> Value {
    pairs.into_iter().map(|(name, value)| (name, Value::from(value))).collect::<Map<_, _>>().into()
}

/// Whether a value that was typed is to be printed nowhere; what is read from the environment is named, and can be.
fn is_hidden(name: &str, value: &str) -> bool {
    !value.contains("{{") && is_secret(name, value)
}

/// A word as it may be printed: without credentials that are part of an address.
fn public(word: &str) -> String {
    let bare = query_secrets(word).fold(word.to_owned(), |text, secret| text.replace(secret, TO_FILL_IN));
    match user_of(word) {
        Some(user) => bare.replacen(&format!("://{user}@"), &format!("://{TO_FILL_IN}@"), 1),
        None => bare,
    }
}

/// What to say of a place where a secret was not printed.
pub(super) fn to_fill_in(typed: &str) -> Mistake {
    let help = format!("write the value in the place of the `{TO_FILL_IN}`; secrets are printed nowhere");
    (format!("`{typed}` is not filled in"), help)
}

fn named(Verb { command, does, block }: Verb, words: &[String]) -> Result<Value, Mistake> {
    let name = command.as_str();
    Ok(match words {
        [] => {
            let help =
                format!("write `mcprove {name} http://127.0.0.1:3000/mcp`, or `mcprove {name} -- node server.js`");
            return Err((format!("there is no server to {does}"), help));
        }
        [word] if word.starts_with("http://") || word.starts_with("https://") => json!({"url": word}),
        [word] if word == "demo" => json!({"builtin": "demo"}),
        [word] if [".yml", ".yaml"].iter().any(|end| word.ends_with(end)) => {
            let help = format!("add the line `{block}` to it, and write `mcprove run {word}`");
            return Err((format!("`{word}` is a suite, and `{name}` takes a server"), help));
        }
        [word] if word.contains(' ') => json!({"command": word}),
        words => json!({"command": words}),
    })
}
