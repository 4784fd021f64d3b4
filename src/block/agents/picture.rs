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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::agents::tests::{answered, call, calls, decoy, malformed, run_of, unknown};
    use crate::event::Finding;

    #[test]
    fn a_line_shows_what_a_call_came_to() {
        let failed = json!({ "result": { "content": [{ "type": "text", "text": "no such id" }], "isError": true } });
        let struck = AgentCall { is_struck: true, ..call("get", json!({})) };
        for (made, expected) in [
            (call("get", json!({ "id": 1 })), "1 get {\"id\":1} → ok"),
            (answered("get", json!({}), failed), "1 get {} → error: no such id"),
            (decoy("get_archive"), "1 get_archive {} → distractor: ok"),
            (unknown("shell"), "1 shell {} → not made: ok"),
            (malformed("get"), "1 get \"{\" → not made: ok"),
            (struck, "1 get {} → ok (struck by a fault)"),
            // Nothing that a terminal obeys, and no second line.
            (call("get", json!({ "id": "a\u{1b}[2J" })), "1 get {\"id\":\"a\\u001b[2J\"} → ok"),
        ] {
            assert_eq!(lines(&run_of(vec![made]), 8)[0], expected);
        }
    }

    #[test]
    fn a_long_run_shows_its_beginning_and_its_end() {
        let first_words = |count, most| {
            let run = run_of(calls(&vec!["get"; count]));
            lines(&run, most).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(first_words(5, 4), ["1", "2", "3", "4", "5", "answered:"]);
        assert_eq!(first_words(7, 4), ["1", "2", "and", "6", "7", "answered:"]);
        assert_eq!(lines(&run_of(calls(&["get"; 7])), 4)[2], "and 3 more");
    }

    #[test]
    fn the_last_line_says_how_the_run_ended() {
        for (end, expected) in [
            (AgentEnd::Answered(String::new()), "ended without an answer"),
            (AgentEnd::Answered("  Ann\nBob ".to_owned()), "answered: Ann\\u{a}Bob"),
            (AgentEnd::OverBudget("3 calls".to_owned()), "ended: over the budget of 3 calls"),
            (AgentEnd::Stuck(Finding::new("policy-stuck", "no id")), "ended: no id"),
        ] {
            let run = AgentRun { end, ..run_of(Vec::new()) };
            assert_eq!(lines(&run, 8), [expected]);
        }
    }
}
