//! The requests that may not be sent: those that may change data in a run that only reads, and those that a property
//! must not repeat.

use serde_json::Value;

use super::exchange::Intent;
use crate::event::{Finding, Reason, StepProblem};
use crate::matching::unknown_tool;
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::plan::{Rounds, expects_success};
use crate::suite::{Hazard, Step, Suite};
use crate::wire::{Catalog, Tool};

/// The finding about a call that is not made.
const MAY_DESTROY: &str = "may-destroy";

/// Decides which requests a run with `--read-only` sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOnlyFilter<'a> {
    pub suite: &'a Suite,
    pub catalog: &'a Catalog,
    /// True if mcprove made the case or its suite itself, so that it may call a name that the server does not list.
    pub is_own: bool,
}

impl ReadOnlyFilter<'_> {
    /// Returns the request of a step, unless it may call a tool that writes. A tool that the server does not list is
    /// never called by a step of the suite: the step fails if it expects a success, else the case is skipped.
    pub(crate) fn permit(self, intent: Intent, step: &Step) -> Result<Intent, Finding> {
        if !self.suite.read_only {
            return Ok(intent);
        }
        let Some(tool) = self.refused_tool(&intent) else { return Ok(intent) };
        if self.is_own || self.catalog.tool(&tool).is_some() {
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
        let Self { catalog, is_own, .. } = self;
        match intent {
            Intent::Request { method, params }
            | Intent::Cancel { method, params, .. }
            | Intent::Notify { method, params } => {
                let name = params.as_ref().and_then(|params| params["name"].as_str());
                let refused = |name: &&str| method == "tools/call" && !may_read(catalog, name, is_own);
                name.filter(refused).map(str::to_owned)
            }
            Intent::Send(message) => writer_in(&message.text(), catalog, is_own),
            Intent::Http(request) => writer_in(&request.text(), catalog, is_own),
            Intent::List(_) | Intent::Listen(_) | Intent::Wait(_) => None,
        }
    }
}

/// A request, unless it would call a tool that rounds must not call.
pub(crate) fn permit_in_rounds(intent: Intent, rounds: Option<&Rounds>) -> Result<Intent, Finding> {
    let Some(rounds) = rounds else { return Ok(intent) };
    let refusal = match &intent {
        Intent::Request { method, params } | Intent::Cancel { method, params, .. } if method == "tools/call" => {
            params.as_ref().and_then(|params| rounds.refusal(params["name"].as_str()?))
        }
        Intent::Send(message) => call_within(&message.text(), rounds),
        Intent::Http(request) => call_within(&request.text(), rounds),
        Intent::Request { .. }
        | Intent::Cancel { .. }
        | Intent::List(_)
        | Intent::Listen(_)
        | Intent::Notify { .. }
        | Intent::Wait(_) => None,
    };
    refusal.map_or(Ok(intent), |reason| Err(not_allowed(&reason)))
}

/// The finding about a call that a property must not make.
fn not_allowed(reason: &Reason) -> Finding {
    let problem = if let Reason::ReadOnly(_) = reason { StepProblem::ReadOnly } else { StepProblem::ToolNotAllowed };
    Finding::new(MAY_DESTROY, reason.to_string()).with_problem(problem)
}

/// Why a raw message is not sent that looks like a call of such a tool.
fn call_within(text: &str, rounds: &Rounds) -> Option<Reason> {
    let named = rounds.forbidden.keys().find(|tool| text.contains(&format!("\"{tool}\"")))?;
    rounds.refusal(named).filter(|_| text.contains("tools/call"))
}

/// Returns true if a call of that name changes nothing; servers may know a tool in another spelling as well.
fn may_read(catalog: &Catalog, name: &str, is_own: bool) -> bool {
    match catalog.tool(name) {
        Some(tool) => tool.only_reads(),
        None => is_own && !catalog.tools.iter().any(|tool| !tool.only_reads() && is_alike(tool, name)),
    }
}

fn is_alike(tool: &Tool, name: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let (one, other): (String, String) = (letters(&tool.name), letters(name));
    one == other
}

/// The tool that a raw message may call and that may write.
fn writer_in(text: &str, catalog: &Catalog, is_own: bool) -> Option<String> {
    let messages: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    if let Ok(messages) = messages {
        let messages = messages.into_iter().flat_map(|message| match message.as_array() {
            Some(batch) => batch.clone(),
            None => vec![message],
        });
        let calls = messages.filter(|message| message["method"] == "tools/call");
        let mut called = calls.filter_map(|call| call["params"]["name"].as_str().map(str::to_owned));
        return called.find(|name| !may_read(catalog, name, is_own));
    }
    let writers = catalog.tools.iter().filter(|tool| !tool.only_reads());
    let mut named = writers.filter(|tool| text.contains(&tool.name) && text.contains("call"));
    named.next().map(|tool| tool.name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalog() -> Catalog {
        let tool = |(name, reads)| Tool::new(json!({ "name": name, "annotations": { "readOnlyHint": reads } }));
        Catalog { tools: [("find_note", true), ("save_note", false)].map(tool).into(), ..Catalog::default() }
    }

    #[test]
    fn raw_messages_that_may_write_are_found_however_they_are_written() {
        let call = |tool: &str| json!({ "method": "tools/call", "params": { "name": tool } }).to_string();
        let batch = format!("[{}, {}]", json!({ "method": "ping" }), call("save_note"));
        let lines = format!("{}\n{}", call("find_note"), call("save_note"));
        let (torn, harmless) = (call("save_note").replace('}', ""), call("find_note").replace('}', ""));
        for (what, text, is_derived, expected) in [
            ("a tool that writes", call("save_note"), false, Some("save_note")),
            ("a tool that reads", call("find_note"), false, None),
            ("in a batch", batch, false, Some("save_note")),
            ("on a second line", lines, false, Some("save_note")),
            ("in half a message", torn, false, Some("save_note")),
            ("a reader in half a message", harmless, false, None),
            (
                "another method",
                json!({ "method": "tools/list", "params": { "name": "save_note" } }).to_string(),
                false,
                None,
            ),
            ("a tool that is not listed", call("gone"), false, Some("gone")),
            ("a name that mcprove made up", call("gone"), true, None),
            ("a made-up name that a server may take for a writer", call("SaveNote"), true, Some("SaveNote")),
            ("a made-up name that a server may take for a reader", call("FindNote"), true, None),
        ] {
            assert_eq!(writer_in(&text, &catalog(), is_derived).as_deref(), expected, "{what}");
        }
    }
}
