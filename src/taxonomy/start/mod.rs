//! Mutants of the start of a server: they take away settings of the suite, widen them, leave a process behind, or grow.
//!
//! A [`Start`] says which words and variables are meant, [`Start::alterations`] finds them in a [`Launch`], one
//! [`Alteration`] each. Pure: what there is on the disk is asked of whoever calls.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use crate::fault::{self, MATCH, Match};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, choice};
use crate::transport::ProcessUsage;
use crate::transport::environment::is_passed_on;
use crate::transport::orphans::LISTS_PROCESSES;

/// A change of the start of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The kinds of settings that are changed, one match at a time.
    does: Vec<Alter>,
    /// Parts of the names of the options and variables that are meant; none for all.
    named: Vec<String>,
    /// The exchange that a case must have had to notice it; empty if any case can.
    on: Option<Match>,
    /// The mutant stands for settings with which no server may start, and for no others.
    means_invalid: bool,
}

/// The command of a server, with its environment.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The program.
    pub program: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// The variables that the suite sets, and no others.
    pub variables: &'a [(String, String)],
    /// The places of arguments that differ from start to start, such as a port; they are left alone.
    pub varying: &'a [usize],
}

/// The kind of file on the disk under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisk {
    /// A folder.
    Folder,
    /// Something else.
    File,
    /// Nothing.
    Nothing,
}

/// One thing that is different at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alteration {
    /// The change, as in `started …`.
    pub what: String,
    edit: StartEdit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum StartEdit {
    DropArgs(Range<usize>),
    SetArg(usize, String),
    DropVariable(String),
    SetVariable(String, String),
    Outlive,
    /// The simulated growth of its processes, per measurement.
    Grow(ProcessUsage),
}

/// A shell that starts its arguments as a command, and stays when that has ended.
const OUTLIVING: [&str; 4] = ["sh", "-c", "\"$@\"; exec sleep 600", "sh"];

/// More than any bound that somebody would write.
const GROWTHS: [(&str, ProcessUsage); 3] = [
    ("so that its memory grows", ProcessUsage { memory: 1 << 40, files: 0, processes: 0 }),
    ("so that its open files grow", ProcessUsage { memory: 0, files: 1_000_000, processes: 0 }),
    ("so that its processes grow", ProcessUsage { memory: 0, files: 0, processes: 1_000_000 }),
];

/// Programs that start the server: their own options are not its settings.
const LAUNCHERS: [&str; 19] = [
    "node", "npx", "npm", "pnpm", "yarn", "bun", "bunx", "deno", "tsx", "python", "python3", "uv", "uvx", "pipx",
    "java", "docker", "podman", "cargo", "env",
];

/// Words of launchers after which the name of the server still comes.
const SUBCOMMANDS: [&str; 6] = ["run", "exec", "tool", "x", "dlx", "start"];

/// Options of launchers that name the server or have a value that stands apart.
const WITH_VALUE: [&str; 10] = ["-m", "-jar", "-c", "-p", "--package", "--from", "--with", "--directory", "-v", "-e"];

choice! {
    /// A kind of setting that is changed.
    pub(crate) enum Alter {
        /// A variable is not set.
        DropVariable = "drop_variable",
        /// An option is not given, nor its value.
        DropFlag = "drop_flag",
        /// A folder becomes the one around it, or the root.
        WidenPath = "widen_path",
        /// A number becomes a thousand times as large.
        RaiseNumber = "raise_number",
        /// A process stays when the server has ended.
        Outlive = "outlive",
        /// Memory, open files or processes of the server grow.
        Grow = "grow",
    }
}

pub static START: Object = Object {
    name: "a start",
    doc: "A change to the start of the server; planted with `--live` only, one change at a time.",
    keys: &[&[
        required(
            "does",
            Shape::Either(&[Alter::SHAPE, <Vec<Alter>>::SHAPE]),
            "The change: drops each variable of the suite, drops each option with its value, replaces each folder \
             by its parent and by the root, multiplies each number by a thousand, leaves a process behind that stays when the \
             server ends, or grows in memory, open files or processes; only the cases that judge the variant can notice \
             the last two.",
        ),
        key(
            "named",
            Shape::List(&Shape::Text),
            "Parts of names; the name of an option or variable must have one of them, ignoring case, dashes and \
             underscores.",
        ),
        key(
            "must_not_start",
            Shape::True,
            "Changes the settings with which the suite says that the server must not start, instead of all others.",
        ),
        key("on", MATCH, "The exchanges that a case must have so that it can notice the change."),
    ]],
};

/// Reads what stands under `start`.
pub(crate) fn decode(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Start {
    let named: Vec<String> = node.setting("named").unwrap_or_default();
    Start {
        does: node.setting("does").unwrap_or_default(),
        named: named.iter().map(|name| plain(name)).collect(),
        on: node.get("on").map(|on| fault::decode_match(name, on, found)),
        means_invalid: node.get("must_not_start").is_some(),
    }
}

impl Start {
    /// The exchange that a case must have had to notice it; `None` if any case can.
    pub fn noticed_by(&self) -> Option<&Match> {
        self.on.as_ref()
    }

    /// The mutant stands for settings with which no server may start, and for no others.
    pub fn must_not_start(&self) -> bool {
        self.means_invalid
    }

    /// Only the cases that judge the variant can notice it.
    pub fn is_for_judges(&self) -> bool {
        self.does.iter().any(|does| matches!(does, Alter::Outlive | Alter::Grow))
    }

    /// Everything in a start that can be different, one thing each.
    pub fn alterations(&self, launch: &Launch<'_>, on_disk: &dyn Fn(&str) -> OnDisk) -> Vec<Alteration> {
        let options = options(launch);
        let mut found = Vec::new();
        for alter in &self.does {
            match alter {
                Alter::DropVariable => found.extend(self.variables(launch).map(|(name, _)| Alteration {
                    what: format!("without the variable `{name}`"),
                    edit: StartEdit::DropVariable(name.clone()),
                })),
                Alter::DropFlag => {
                    let flags = options.iter().filter(|option| option.is_flag() && self.means(option.name));
                    found.extend(flags.flat_map(|option| self.without_option(launch, option, on_disk)));
                }
                Alter::WidenPath => {
                    found.extend(self.with_changed_values(launch, &options, &|_, text| wider(text, on_disk)));
                }
                Alter::RaiseNumber => {
                    let raised = |name: &str, text: &str| {
                        let is_port = plain(name).contains("port");
                        thousandfold(text).filter(|_| !is_port).into_iter().collect()
                    };
                    found.extend(self.with_changed_values(launch, &options, &raised));
                }
                // Nothing would show it.
                Alter::Outlive | Alter::Grow if !LISTS_PROCESSES => {}
                Alter::Outlive => found.push(Alteration {
                    what: "with a process that stays when the server ends".to_owned(),
                    edit: StartEdit::Outlive,
                }),
                Alter::Grow => found.extend(
                    GROWTHS.map(|(what, more)| Alteration { what: what.to_owned(), edit: StartEdit::Grow(more) }),
                ),
            }
        }
        found
    }

    fn means(&self, name: &str) -> bool {
        let name = plain(name);
        self.named.is_empty() || self.named.iter().any(|part| name.contains(part.as_str()))
    }

    fn variables<'a>(&self, launch: &Launch<'a>) -> impl Iterator<Item = &'a (String, String)> {
        let variables = launch.variables.iter();
        variables.filter(|(name, _)| !is_passed_on(name) && self.means(name))
    }

    /// The start without an option: what follows it goes too where it is its value. What names something on the disk may
    /// be a value or stand for itself; whoever means one option by name means a switch.
    fn without_option(
        &self,
        launch: &Launch<'_>,
        option: &OwnWord<'_>,
        on_disk: &dyn Fn(&str) -> OnDisk,
    ) -> Vec<Alteration> {
        let next = launch.args.get(option.at + 1).filter(|next| !next.starts_with('-') && option.value.is_none());
        let without = |end: usize| Alteration {
            what: format!("without `{}`", launch.args[option.at..end].join(" ")),
            edit: StartEdit::DropArgs(option.at..end),
        };
        let (alone, both) = (without(option.at + 1), option.at + 2);
        match next {
            Some(next) if on_disk(next) == OnDisk::Nothing => vec![without(both)],
            Some(_) if self.named.is_empty() => vec![alone, without(both)],
            Some(_) | None => vec![alone],
        }
    }

    /// The start with other values in the places of those that `change` changes.
    fn with_changed_values(
        &self,
        launch: &Launch<'_>,
        options: &[OwnWord<'_>],
        change: &dyn Fn(&str, &str) -> Vec<String>,
    ) -> Vec<Alteration> {
        let mut found = Vec::new();
        for option in options {
            let OwnWord { at, name, value } = *option;
            let (name, text) = match value {
                Some(value) => (name, value),
                // A word of its own belongs to the option before it, if to any.
                None => (before(options, at), launch.args[at].as_str()),
            };
            if launch.varying.contains(&at) || text.starts_with('-') || !self.means(name) {
                continue;
            }
            for new in change(name, text) {
                let what = format!("with `{new}` for `{text}`{}", belonging(name));
                let word = if value.is_some() { format!("{name}={new}") } else { new };
                found.push(Alteration { what, edit: StartEdit::SetArg(at, word) });
            }
        }
        for (name, text) in self.variables(launch) {
            for new in change(name, text) {
                let what = format!("with `{new}` for `{text}` in `{name}`");
                found.push(Alteration { what, edit: StartEdit::SetVariable(name.clone(), new) });
            }
        }
        found
    }
}

impl Alteration {
    /// The simulated growth of the server's processes per measurement; `None` if they do not grow.
    pub fn growth(&self) -> Option<ProcessUsage> {
        if let StartEdit::Grow(more) = self.edit { Some(more) } else { None }
    }

    /// Changes a start.
    pub fn apply(&self, program: &mut String, args: &mut Vec<String>, variables: &mut Vec<(String, String)>) {
        match &self.edit {
            StartEdit::Outlive => {
                let [shell, words @ ..] = OUTLIVING;
                let server = std::mem::replace(program, shell.to_owned());
                args.splice(0..0, words.into_iter().map(str::to_owned).chain([server]));
            }
            StartEdit::Grow(_) => {}
            StartEdit::DropArgs(range) => drop(args.drain(range.start.min(args.len())..range.end.min(args.len()))),
            StartEdit::SetArg(at, word) => {
                if let Some(arg) = args.get_mut(*at) {
                    arg.clone_from(word);
                }
            }
            StartEdit::DropVariable(name) => variables.retain(|(known, _)| known != name),
            StartEdit::SetVariable(name, value) => {
                for (_, old) in variables.iter_mut().filter(|(known, _)| known == name) {
                    old.clone_from(value);
                }
            }
        }
    }
}

/// A word of the server's own: an option, an option with its value, or a value.
#[derive(Debug, Clone, Copy)]
struct OwnWord<'a> {
    at: usize,
    name: &'a str,
    value: Option<&'a str>,
}

impl OwnWord<'_> {
    fn is_flag(&self) -> bool {
        self.name.starts_with('-') && !self.name.trim_start_matches('-').is_empty()
    }
}

/// The words that are the server's own, rather than those of a program that starts it.
fn options<'a>(launch: &Launch<'a>) -> Vec<OwnWord<'a>> {
    let own = launch.args.iter().enumerate().skip(own_words(launch));
    own.map(|(at, word)| match word.split_once('=') {
        Some((name, value)) if word.starts_with('-') => OwnWord { at, name, value: Some(value) },
        Some(_) | None => OwnWord { at, name: word, value: None },
    })
    .collect()
}

/// The option that a word stands behind.
fn before<'a>(options: &[OwnWord<'a>], at: usize) -> &'a str {
    let previous = options.iter().find(|option| option.at + 1 == at && option.is_flag() && option.value.is_none());
    previous.map_or("", |option| option.name)
}

/// The index of the server's first own argument.
fn own_words(launch: &Launch<'_>) -> usize {
    let program = Path::new(launch.program).file_stem().unwrap_or_default().to_string_lossy();
    if !LAUNCHERS.contains(&program.as_ref()) {
        return 0;
    }
    let mut at = 0;
    while let Some(word) = launch.args.get(at) {
        let names_it = ["-m", "-jar"].contains(&word.as_str());
        at += if WITH_VALUE.contains(&word.as_str()) { 2 } else { 1 };
        if names_it || !word.starts_with('-') && !SUBCOMMANDS.contains(&word.as_str()) {
            return at;
        }
    }
    at
}

fn wider(text: &str, on_disk: &dyn Fn(&str) -> OnDisk) -> Vec<String> {
    let path = Path::new(text);
    if on_disk(text) != OnDisk::Folder || text == "/" {
        return Vec::new();
    }
    let around = match path.parent().filter(|_| path.is_absolute()) {
        Some(parent) => parent.to_string_lossy().into_owned(),
        None => format!("{text}/.."),
    };
    let mut wider = vec![around, "/".to_owned()];
    wider.dedup();
    wider
}

fn thousandfold(text: &str) -> Option<String> {
    let is_number = text.chars().all(|c| c.is_ascii_digit()) && !text.is_empty();
    let number = text.parse::<u64>().ok().filter(|number| is_number && *number > 0)?;
    Some(number.checked_mul(1000)?.to_string())
}

fn belonging(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" in `{name}`") }
}

/// A name without what spellings differ in.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}
