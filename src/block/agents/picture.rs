//! A run as people read it: its calls in order, what was injected where, and how it ended.

use super::run::{AgentCall, AgentEnd, AgentRun, CallTarget};
use crate::source::{shorten, visible_line};

/// How much of arguments and of answers is shown, in characters.
const SHOWN: usize = 60;

/// The most calls that are shown.
const MOST_CALLS: usize = 20;

/// A line for each call, and one for the end.
pub(super) fn lines(run: &AgentRun) -> Vec<String> {
    let mut lines: Vec<String> = run
        .calls
        .iter()
        .enumerate()
        .take(MOST_CALLS)
        .map(|(at, call)| format!("{} {}", at + 1, of_call(call)))
        .collect();
    let more = run.calls.len().saturating_sub(MOST_CALLS);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines.push(match &run.end {
        AgentEnd::Answered(text) if text.is_empty() => "ended without an answer".to_owned(),
        AgentEnd::Answered(text) => format!("answered: {}", short(text)),
        AgentEnd::OverBudget(what) => format!("ended: over the budget of {what}"),
        AgentEnd::Stuck(found) | AgentEnd::Diverged(found) | AgentEnd::Unavailable(found) => {
            format!("ended: {}", found.message)
        }
    });
    lines
}

fn of_call(call: &AgentCall) -> String {
    let arguments = short(&call.arguments.to_string());
    let answer = short(&call.result.text);
    let kind = match (&call.target, call.result.is_error) {
        (CallTarget::Tool { .. }, false) => "",
        (CallTarget::Tool { .. }, true) => "error: ",
        (CallTarget::Decoy, _) => "distractor: ",
        (CallTarget::Unknown | CallTarget::Malformed { .. }, _) => "not made: ",
    };
    let struck = if call.is_struck { " (struck by a fault)" } else { "" };
    format!("{} {arguments} → {kind}{answer}{struck}", call.name)
}

fn short(text: &str) -> String {
    visible_line(&shorten(text.trim(), SHOWN)).into_owned()
}
