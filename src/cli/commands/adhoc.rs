//! The run of a suite that is made from the command line, for the commands that take a server.

use clap::Args;
use serde_json::{Map, Value, json};

use super::observed_calls::ServingRequirement;
use super::run::{RunArgs, RunRequest, run};
use super::saved_suite::MadeSuite;
use crate::cli::calls::CallArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{AdHocServer, ServerArgs, Verb};
use crate::cli::suites::AdHocSuite;
use crate::cli::written_files::spare;
use crate::files::FilePlace;
use crate::report::FailureOrder;
use crate::source::yaml_writer;
use crate::suite::builtin_text;

/// The number of cases that run at a time: most of them wait for silence, or for a server that starts.
pub(crate) const AT_A_TIME: usize = 8;

/// The options of every command that calls the tools of a server.
#[derive(Debug, Args)]
pub(crate) struct CallingArgs {
    #[command(flatten)]
    pub(crate) calls: CallArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// A command's own part of the suite, and the flags that stand for it.
#[derive(Default)]
pub(crate) struct AdHocSettings {
    pub(crate) members: Map<String, Value>,
    pub(crate) flags: Vec<String>,
    /// A note that is printed before the run.
    pub(crate) beforehand: Option<String>,
    /// The calls that a server must serve at least.
    pub(crate) serving: ServingRequirement,
    /// The order in which failures are shown.
    pub(crate) order: FailureOrder,
    /// The file into which the suite is written.
    pub(crate) save: Option<FilePlace>,
}

impl AdHocSettings {
    /// Adds what ready-made suites consist of.
    pub(crate) fn ready_made(&mut self, names: &[&str]) {
        for text in names.iter().filter_map(|name| builtin_text(name)) {
            let Some(Value::Object(mut suite)) = yaml_writer::read_value(text) else { continue };
            suite.remove("suite");
            self.members.extend(suite);
        }
    }

    /// Adds a block whose keys are set by flags; keys without a value are left out.
    pub(crate) fn block<const N: usize>(&mut self, name: &str, keys: [BlockKey; N]) {
        let block = self.members.entry(name).or_insert_with(|| json!({}));
        for BlockKey { key, flag, value } in keys {
            let is_empty_list = value.as_array().is_some_and(Vec::is_empty);
            if value.is_null() || is_empty_list || value.as_object().is_some_and(Map::is_empty) {
                continue;
            }
            for one in value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice) {
                // A flag that is there says all.
                let text = (*one != true).then(|| one.as_str().map_or_else(|| one.to_string(), str::to_owned));
                self.flags
                    .extend(flag.into_iter().flat_map(|flag| std::iter::once(flag.to_owned()).chain(text.clone())));
            }
            block[key] = value;
        }
    }
}

/// A key of a block.
pub(crate) struct BlockKey {
    key: &'static str,
    /// The flag to repeat in order to ask for the same again; `None` where the key only narrows the choice.
    flag: Option<&'static str>,
    value: Value,
}

/// A key that a flag sets.
pub(crate) fn flag_key(key: &'static str, flag: &'static str, value: impl Into<Value>) -> BlockKey {
    BlockKey { key, flag: Some(flag), value: value.into() }
}

/// A key that is not repeated as a flag.
pub(crate) fn key(key: &'static str, value: impl Into<Value>) -> BlockKey {
    BlockKey { key, flag: None, value: value.into() }
}

impl CallingArgs {
    /// The calls that a server must serve at least, where everything is checked: less if flags narrow that.
    pub(crate) fn serving_of_all(&self) -> ServingRequirement {
        let is_narrowed = self.run.read_only || self.run.suites.narrows_cases();
        if is_narrowed { ServingRequirement::Served } else { ServingRequirement::HalfServed }
    }

    /// Writes the suite that is about to run.
    fn save(
        &self,
        file: &FilePlace,
        target: &AdHocServer,
        verb: Verb,
        words: &[String],
        blocks: &Map<String, Value>,
        console: &Console,
    ) -> Result<(), Exit> {
        spare(file, "name another file, or run this one with `mcprove run`", console)?;
        if !target.is_single() {
            let help = "name one of them with `--server NAME`";
            return Err(console.fail(Exit::Usage, "the suite of several servers cannot be saved", Some(help)));
        }
        self.calls.refuse_secrets(console)?;
        let mut server = self.server.suite_entry(verb, words, console)?;
        if self.calls.scratch {
            server["scratch"] = true.into();
        }
        let (command, name, calls) = (verb.command.as_str(), target.title(), self.calls.members());
        MadeSuite { command, name: &name, server, calls: &calls, blocks }.write(file, console)
    }

    /// Runs the suite with a command's own settings.
    pub(crate) fn run_with(mut self, verb: Verb, own: AdHocSettings, console: &Console) -> Result<Exit, Exit> {
        let words = std::mem::take(&mut self.run.suites.paths);
        let mut target = self.server.target(verb, &words, console)?;
        if self.calls.scratch {
            target.set_scratch();
        }
        own.beforehand.inspect(|note| console.note(note));
        if let Some(file) = &own.save {
            self.save(file, &target, verb, &words, &own.members, console)?;
        }
        let mut members = self.calls.members();
        members.extend(own.members);
        self.run.details.order = own.order;
        let read_only = self.run.read_only.then(|| "--read-only".to_owned()).into_iter().collect();
        let suite = target.suite(members, &[own.flags, self.calls.flags(), read_only].concat());
        self.run.suites.adhoc = Some(AdHocSuite { tools: self.calls.named_tools(), ..suite });
        let request = RunRequest { serving: own.serving, ..self.run.into() };
        run(&request, console)
    }
}
