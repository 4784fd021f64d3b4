//! The server that a command names where others have suites, and the suite that is made of it.
//!
//! Knows nothing about what is done with the server: a command adds its own members, and its own flags.
//! Start reading in [`ServerArgs::target`].

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::console::Console;
use super::exit::Exit;
use super::suites::{AdHocSuite, HiddenWord};
use crate::redact::{is_secret, query_secrets, user_of};
use crate::source::legible_json;
use crate::suite::{AdHocCommand, CommandLine};
use crate::wire::Revision;

/// Stands for a secret in what is printed; the user fills it in.
pub(crate) const TO_FILL_IN: &str = "…";

/// The way to a server that is named on the command line.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The revisions to speak: a date, or `all`; by default the newest one that the server speaks.
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: Vec<String>,
    /// A header for every request: `Authorization: Bearer {{ env.TOKEN }}`.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// An environment variable for the server: `NAME` passes yours on, `NAME=VALUE` sets one.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// The folder in which the server starts; the current one by default.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// A command that takes a server, as messages name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verb {
    pub(crate) command: AdHocCommand,
    /// Completes "name the server to …".
    pub(crate) does: &'static str,
    /// The line of a suite that asks for the same.
    pub(crate) block: &'static str,
}

/// A server, and how it was asked for.
#[derive(Debug)]
pub(crate) struct AdHocServer {
    command: AdHocCommand,
    /// As a suite has it.
    server: Value,
    /// As it was typed, without secrets.
    shown: String,
    hidden: Vec<HiddenWord>,
    /// The flags without which the same server would be asked something else, without secrets.
    flags: Vec<String>,
}

/// The positional words of a command, which are a server where other commands have suites.
pub(crate) fn positional(arg: clap::Arg) -> clap::Arg {
    arg.value_name("SERVER")
        .help("The server: a URL, or after `--` the command that starts it; `demo` is the built-in demo server")
}

impl ServerArgs {
    /// The server that the words name.
    pub(crate) fn target(&self, verb: Verb, words: &[String], console: &Console) -> Result<AdHocServer, Exit> {
        let mut server = named_server(verb, words, console)?;
        self.require_filled_in(words, console)?;
        if !self.header.is_empty() {
            let read = self.header.iter().map(|text| {
                let help = "write `--header 'Authorization: Bearer {{ env.TOKEN }}'`";
                let no_header = || console.fail(Exit::Usage, format!("`{text}` is not a header"), Some(help));
                pair(text, ':').ok_or_else(no_header)
            });
            server["headers"] =
                read.map(|pair| pair.map(NamedValue::into_member)).collect::<Result<Map<_, _>, _>>()?.into();
        }
        if !self.env.is_empty() {
            let passed = |name: &String| NamedValue { name: name.clone(), value: format!("{{{{ env.{name} }}}}") };
            let set: Vec<_> = self.env.iter().map(|text| pair(text, '=').unwrap_or_else(|| passed(text))).collect();
            let secrets: Vec<&String> = set.iter().filter(|pair| pair.is_hidden()).map(|pair| &pair.name).collect();
            if !secrets.is_empty() {
                server["secrets"] = json!(secrets);
            }
            server["env"] = set.into_iter().map(NamedValue::into_member).collect::<Map<_, _>>().into();
        }
        if let Some(folder) = &self.cwd {
            server["cwd"] = folder.display().to_string().into();
        }
        server["protocol"] = match self.revision.as_slice() {
            [] => "auto".into(),
            [word] if word == "all" => json!(Revision::ALL.map(Revision::as_str).into_iter().rev().collect::<Vec<_>>()),
            revisions => json!(revisions),
        };
        let shown = shell_words::join(words.iter().map(|word| public(word)));
        let hidden = words.iter().map(|word| HiddenWord { typed: word.clone(), shown: public(word) });
        let hidden = hidden.filter(|word| word.typed != word.shown).collect();
        Ok(AdHocServer { command: verb.command, server, shown, hidden, flags: self.public_flags() })
    }

    /// Refuses the marks that an earlier run printed in the place of secrets.
    fn require_filled_in(&self, words: &[String], console: &Console) -> Result<(), Exit> {
        let is_open = |text: &String, mark: char| pair(text, mark).is_some_and(|pair| pair.value == TO_FILL_IN);
        let header = self.header.iter().find(|text| is_open(text, ':')).map(|text| format!("--header '{text}'"));
        let env = self.env.iter().find(|text| is_open(text, '=')).map(|text| format!("--env {text}"));
        let word = words.iter().find(|word| word.contains("://") && word.contains(TO_FILL_IN)).cloned();
        header.or(env).or(word).map_or(Ok(()), |open| Err(to_fill_in(&open, console)))
    }

    fn public_flags(&self) -> Vec<String> {
        let hide = |texts: &[String], mark: char, separator: &str| {
            let public = |text: &String| match pair(text, mark).filter(NamedValue::is_hidden) {
                Some(NamedValue { name, .. }) => format!("{name}{separator}{TO_FILL_IN}"),
                None => text.clone(),
            };
            texts.iter().map(public).collect()
        };
        flags([
            ("--revision", self.revision.clone()),
            ("--header", hide(&self.header, ':', ": ")),
            ("--env", hide(&self.env, '=', "=")),
            ("--cwd", self.cwd.iter().map(|folder| folder.display().to_string()).collect()),
        ])
    }
}

impl AdHocServer {
    /// Declares that the server's data may be changed.
    pub(crate) fn set_scratch(&mut self) {
        self.server["scratch"] = true.into();
    }

    /// The suite, as somebody might have written it: the server and `members`; `flags` are those of the command alone.
    pub(crate) fn suite(self, members: Map<String, Value>, flags: &[String]) -> AdHocSuite {
        let Self { command, server, shown, hidden, flags: own } = self;
        let name = command.as_str();
        let is_program = server.get("command").is_some();
        let mut suite = json!({"suite": format!("{name} of {shown}"), "server": server});
        if let Some(suite) = suite.as_object_mut() {
            suite.extend(members);
        }
        let flags = shell_words::join(own.iter().chain(flags));
        let asked = CommandLine { command, flags, target: shown, is_program };
        // JSON is YAML, and a member a line can be quoted.
        AdHocSuite { name: PathBuf::from(name), text: legible_json(&suite), asked, tools: Vec::new(), hidden }
    }
}

/// Flags with values, one after the other, as they are typed.
pub(crate) fn flags<const N: usize>(named: [(&str, Vec<String>); N]) -> Vec<String> {
    let each = named.into_iter();
    each.flat_map(|(flag, values)| values.into_iter().flat_map(move |value| [flag.to_owned(), value])).collect()
}

/// A header or a variable.
struct NamedValue {
    name: String,
    value: String,
}

fn pair(text: &str, mark: char) -> Option<NamedValue> {
    let (name, value) = text.split_once(mark)?;
    Some(NamedValue { name: name.trim().to_owned(), value: value.trim().to_owned() })
}

impl NamedValue {
    fn into_member(self) -> (String, Value) {
        (self.name, self.value.into())
    }

    /// True if the value must not be printed; one that is read from the environment is only named.
    fn is_hidden(&self) -> bool {
        !self.value.contains("{{") && is_secret(&self.name, &self.value)
    }
}

/// A word as it may be printed: without credentials that are part of a URL.
fn public(word: &str) -> String {
    let bare = query_secrets(word).fold(word.to_owned(), |text, secret| text.replace(secret, TO_FILL_IN));
    match user_of(word) {
        Some(user) => bare.replacen(&format!("://{user}@"), &format!("://{TO_FILL_IN}@"), 1),
        None => bare,
    }
}

/// Refuses a mark in the place of a secret.
pub(crate) fn to_fill_in(typed: &str, console: &Console) -> Exit {
    let help = format!("replace `{TO_FILL_IN}` by the value; mcprove prints no secrets");
    console.fail(Exit::Usage, format!("`{typed}` is incomplete"), Some(&help))
}

/// Returns true if a word names a suite file.
pub(crate) fn is_suite(word: &str) -> bool {
    [".yml", ".yaml"].iter().any(|end| word.ends_with(end))
}

fn named_server(Verb { command, does, block }: Verb, words: &[String], console: &Console) -> Result<Value, Exit> {
    let name = command.as_str();
    Ok(match words {
        [] => {
            let help =
                format!("write `mcprove {name} http://127.0.0.1:3000/mcp`, or `mcprove {name} -- node server.js`");
            return Err(console.fail(Exit::Usage, format!("name the server to {does}"), Some(&help)));
        }
        [word] if word.starts_with("http://") || word.starts_with("https://") => json!({"url": word}),
        [word] if word == "demo" => json!({"builtin": "demo"}),
        [word] if is_suite(word) => {
            let help = format!("add the line `{block}` to it, and write `mcprove run {word}`");
            let message = format!("`{name}` takes a server, and `{word}` is a suite");
            return Err(console.fail(Exit::Usage, message, Some(&help)));
        }
        [word] if word.contains(' ') => json!({"command": word}),
        words => json!({"command": words}),
    })
}
