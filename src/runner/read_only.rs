//! A run that only reads: what may change data is not sent, whoever wrote it.

use serde_json::Value;

use super::exchange::Intent;
use super::rounds::MAY_DESTROY;
use super::target::SessionError;
use crate::event::{Finding, Reason, StepProblem};
use crate::matching::unknown_tool;
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::plan::expects_success;
use crate::suite::{Hazard, Step, Suite};
use crate::wire::{Catalog, Tool};

/// Decides which requests a run with `--read-only` sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOnlyFilter<'a> {
    pub suite: &'a Suite,
    pub catalog: &'a Catalog,
    /// Whether mcprove made the case itself, so that it may call a name that the server does not list.
    pub is_derived: bool,
}

impl ReadOnlyFilter<'_> {
    /// Returns the request of a step, unless it may call a tool that writes. A tool that the server does not list is
    /// never called by a step of the suite: the step fails if it expects a success, else the case is skipped.
    pub(crate) fn permit(self, intent: Intent, step: &Step) -> Result<Intent, Finding> {
        if !self.suite.read_only {
            return Ok(intent);
        }
        let Some(tool) = self.refused_tool(&intent) else { return Ok(intent) };
        if self.is_derived || self.catalog.tool(&tool).is_some() {
            let reason = NotCallable::Hazard(Hazard::ReadOnly).sentence(&tool, ConfigSource::of(self.suite));
            return Err(Finding::new(MAY_DESTROY, reason).with_problem(StepProblem::ReadOnly));
        }
        let unlisted = Finding::new("unknown-tool", unknown_tool(&tool, self.catalog));
        if expects_success(step) {
            let help = "with `--read-only`, only tools that the server lists as read-only are called".to_owned();
            return Err(Finding { help: Some(help), ..unlisted });
        }
        let message = format!("{}, and `--read-only` calls only listed tools", unlisted.message);
        Err(Finding { message, ..unlisted }.with_problem(StepProblem::ReadOnly))
    }

    fn refused_tool(self, intent: &Intent) -> Option<String> {
        let Self { catalog, is_derived, .. } = self;
        match intent {
            Intent::Request { method, params }
            | Intent::Cancel { method, params, .. }
            | Intent::Notify { method, params } => {
                let name = params.as_ref().and_then(|params| params["name"].as_str());
                let refused = |name: &&str| method == "tools/call" && !may_read(catalog, name, is_derived);
                name.filter(refused).map(str::to_owned)
            }
            Intent::Send(message) => writer_in(&message.text(), catalog, is_derived),
            Intent::Http(request) => writer_in(&request.text(), catalog, is_derived),
            Intent::List(_) | Intent::Wait(_) => None,
        }
    }
}

/// The error of a case whose suite's setup went wrong: where a step was not allowed, the case does not apply.
pub(crate) fn without_setup(found: Finding) -> SessionError {
    match found.step_problem.as_deref() {
        Some(StepProblem::ReadOnly) => SessionError::NotApplicable(Reason::ReadOnly(found.message)),
        Some(StepProblem::ToolNotAllowed) => SessionError::NotApplicable(Reason::ToolNotAllowed(found.message)),
        _ => SessionError::Broken(Box::new(found)),
    }
}

/// Whether a call of that name changes nothing; servers may know a tool in another spelling as well.
fn may_read(catalog: &Catalog, name: &str, is_derived: bool) -> bool {
    match catalog.tool(name) {
        Some(tool) => tool.only_reads(),
        None => is_derived && !catalog.tools.iter().any(|tool| !tool.only_reads() && is_alike(tool, name)),
    }
}

fn is_alike(tool: &Tool, name: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let (one, other): (String, String) = (letters(&tool.name), letters(name));
    one == other
}

/// The tool that a raw message may call and that may write.
fn writer_in(text: &str, catalog: &Catalog, is_derived: bool) -> Option<String> {
    let messages: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    if let Ok(messages) = messages {
        let messages = messages.into_iter().flat_map(|message| match message.as_array() {
            Some(batch) => batch.clone(),
            None => vec![message],
        });
        let calls = messages.filter(|message| message["method"] == "tools/call");
        let mut called = calls.filter_map(|call| call["params"]["name"].as_str().map(str::to_owned));
        return called.find(|name| !may_read(catalog, name, is_derived));
    }
    let writers = catalog.tools.iter().filter(|tool| !tool.only_reads());
    let mut named = writers.filter(|tool| text.contains(&tool.name) && text.contains("call"));
    named.next().map(|tool| tool.name.clone())
}
