//! A run as people read it: its calls in order, what was injected where, and how it ended.

use super::run::{AgentCall, AgentEnd, AgentRun, CallTarget};
use crate::source::{shorten, visible_line};

/// The longest part of arguments and of answers that is printed, in characters.
const SHOWN: usize = 60;

/// The most calls in a failure; a terminal has ten lines for it.
pub(crate) const FEW_CALLS: usize = 8;

/// The most calls in a report.
pub(crate) const MANY_CALLS: usize = 20;

/// A line for each call, or for the first and the last of so many, and one for the end.
pub(crate) fn lines(run: &AgentRun, most: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        run.calls.iter().enumerate().map(|(at, call)| format!("{} {}", at + 1, of_call(call))).collect();
    // A line that stands for one call takes as much room as the call.
    if lines.len() > most + 1 {
        let more = lines.len() - most;
        let first = most / 2;
        lines.splice(first..first + more, [format!("and {more} more")]);
    }
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
