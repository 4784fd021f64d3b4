//! The run of a suite that nobody wrote down, for the commands that take a server.

use clap::Args;
use serde_json::{Map, Value};

use super::run::{RunArgs, run};
use crate::cli::calls::CallArgs;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Mistake, ServerArgs, Verb};
use crate::cli::suites::Given;

/// What every command takes that calls the tools of a server, beside what is its own.
#[derive(Debug, Args)]
pub(super) struct CallingArgs {
    #[command(flatten)]
    calls: CallArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// What a command adds.
#[derive(Default)]
pub(super) struct AdHocSettings {
    /// The members of the suite.
    pub(super) members: Map<String, Value>,
    /// The flags that stand for them.
    pub(super) flags: Vec<String>,
    /// What is told before the run.
    pub(super) beforehand: Option<String>,
}

impl AdHocSettings {
    /// These members, which these flags stand for.
    pub(super) fn new<const N: usize>(members: [(&str, Value); N], flags: Vec<String>) -> Self {
        let members = members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect();
        Self { members, flags, beforehand: None }
    }
}

impl CallingArgs {
    /// Runs the suite with what is a command's own, or says what is wrong with what was typed.
    pub(super) fn run_with(
        mut self,
        verb: Verb,
        own: Result<AdHocSettings, Mistake>,
        environment: &Environment,
        output: &Output,
    ) -> Exit {
        let words = std::mem::take(&mut self.run.suites.paths);
        let given = self.given(verb, &words, own).map(|(given, beforehand)| {
            if let Some(beforehand) = beforehand {
                output.note(&beforehand);
            }
            given
        });
        run_given(given, &mut self.run, environment, output)
    }

    /// The suite, and what is told before it is run.
    fn given(
        &self,
        verb: Verb,
        words: &[String],
        own: Result<AdHocSettings, Mistake>,
    ) -> Result<(Given, Option<String>), Mistake> {
        let mut target = self.server.target(verb, words)?;
        if self.calls.scratch {
            target.say_scratch();
        }
        let AdHocSettings { members, flags, beforehand } = own?;
        let mut all = self.calls.members();
        all.extend(members);
        let read_only = self.run.read_only.then(|| "--read-only".to_owned()).into_iter().collect();
        let given = target.given(all.into(), &[flags, self.calls.flags(), read_only].concat());
        Ok((Given { tools: self.calls.named(), ..given }, beforehand))
    }
}

/// Runs the suite that was made of what was typed, or says what is wrong with it.
pub(super) fn run_given(
    given: Result<Given, Mistake>,
    args: &mut RunArgs,
    environment: &Environment,
    output: &Output,
) -> Exit {
    match given {
        Ok(given) => {
            args.suites.given = Some(given);
            run(args, environment, output)
        }
        Err((message, help)) => {
            output.error(&message, Some(&help));
            Exit::Usage
        }
    }
}
