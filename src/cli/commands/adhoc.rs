//! The run of a suite that is made from the command line, for the commands that take a server.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Map, Value, json};

use super::found_setup::{sentence, setup_of};
use super::run::{RunArgs, RunRequest, run};
use super::saved_suite::MadeSuite;
use super::serving::ServingRequirement;
use crate::cli::calls::CallArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{AdHocServer, ServerArgs, Verb};
use crate::cli::suites::AdHocSuite;
use crate::cli::written_files::spare;
use crate::files::FilePlace;
use crate::init::FoundSetup;
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
    /// The calls of tools that make what others need become the setup of the suite, where flags allow them.
    pub(crate) is_set_up: bool,
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

    /// The server as a suite in that file has it.
    fn saved_server(
        &self,
        file: &FilePlace,
        target: &AdHocServer,
        verb: Verb,
        words: &[String],
        console: &Console,
    ) -> Result<Value, Exit> {
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
        Ok(server)
    }

    /// Finds the setup of the server, where flags allow calls that change data; its time is taken off that of the run.
    fn find_setup(&mut self, target: &AdHocServer, console: &Console) -> Result<FoundSetup, Exit> {
        let is_allowed = self.calls.scratch || !self.calls.allow.is_empty() || self.server.has_store();
        if !is_allowed || self.run.read_only || !target.is_single() {
            return Ok(FoundSetup::default());
        }
        let (setup, spent) = setup_of(target.clone(), self.calls.members(), self.run.budget, console)?;
        self.run.budget = self.run.budget.map(|budget| budget.saturating_sub(spent));
        if !setup.steps.is_empty() {
            console.note(&sentence(&setup));
        }
        Ok(setup)
    }

    /// Runs the suite with a command's own settings.
    pub(crate) fn run_with(mut self, verb: Verb, own: AdHocSettings, console: &Console) -> Result<Exit, Exit> {
        let words = std::mem::take(&mut self.run.suites.paths);
        let mut target = self.server.target(verb, &words, console)?;
        if self.calls.scratch {
            target.set_scratch();
        }
        own.beforehand.inspect(|note| console.note(note));
        let saved = own.save.map(|file| Ok((self.saved_server(&file, &target, verb, &words, console)?, file)));
        let saved = saved.transpose()?;
        let mut calls = self.calls.members();
        let setup = if own.is_set_up { self.find_setup(&target, console)? } else { FoundSetup::default() };
        let found_arguments = add_arguments(&mut calls, &setup);
        let FoundSetup { steps: setup, silent_tools, .. } = setup;
        if let Some((server, file)) = saved {
            let (command, name, blocks) = (verb.command.as_str(), target.title(), &own.members);
            let suite = MadeSuite { command, name: &name, server, calls: &calls, setup: &setup, blocks };
            suite.write(&file, console)?;
        }
        let mut members = calls;
        if !setup.is_empty() {
            members.insert("setup".to_owned(), setup.into());
        }
        members.extend(own.members);
        self.run.details.order = own.order;
        let read_only = self.run.read_only.then(|| "--read-only".to_owned()).into_iter().collect();
        let suite = target.suite(members, &[own.flags, self.calls.flags(), read_only].concat());
        self.run.suites.adhoc =
            Some(AdHocSuite { tools: self.calls.named_tools(), found_arguments, silent_tools, ..suite });
        let request = RunRequest { serving: own.serving, ..self.run.into() };
        run(&request, console)
    }
}

/// Adds the arguments that come with a setup to those that flags give, and returns the tools that have them.
fn add_arguments(calls: &mut Map<String, Value>, setup: &FoundSetup) -> BTreeSet<String> {
    let mut added = BTreeSet::new();
    if setup.steps.is_empty() {
        return added;
    }
    let known = calls.entry("arguments").or_insert_with(|| json!({}));
    for (tool, arguments) in setup.arguments.iter().chain(&setup.other_arguments) {
        if known.get(tool).is_none() {
            known[tool.as_str()] = arguments.clone();
            added.insert(tool.clone());
        }
    }
    added
}
