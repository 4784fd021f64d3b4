//! Results that show calls.

use super::clients::Clients;
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel, Severity};

/// The result where everything is right, with calls as examples.
pub(crate) fn passed(reason: Reason, calls: Vec<Exchange>) -> CheckResult {
    let mut result = CheckResult { reason: Some(reason), ..CheckResult::new(Outcome::Passed) };
    add_calls(calls, &mut result);
    result
}

/// The message about a call that is answered with the result of another one.
pub(crate) fn swapped_message(tool: &str) -> String {
    format!("`{tool}` answers a call with the result of another one that runs at the same time")
}

/// The text that its answer should have.
pub(crate) fn swapped_expectation(own: &str, shows: &str) -> String {
    format!("`{own}`, the text of the call, and not `{shows}`")
}

/// The remedy for swapped answers.
pub(crate) const SWAPPED_HELP: &str =
    "keep what belongs to a call in variables of that call, not in ones that calls share";

/// Adds a finding and the calls that show it.
pub(crate) fn show(mut found: Finding, calls: Vec<Exchange>, result: &mut CheckResult) {
    add_calls(calls, result);
    found.exchange = result.exchanges.len().checked_sub(1);
    found.severity = Some(Severity::Critical);
    if found.level == RequirementLevel::Should {
        found.severity = Some(Severity::Medium);
    }
    result.findings.push(found);
}

fn add_calls(calls: Vec<Exchange>, result: &mut CheckResult) {
    result.frames.extend(calls.iter().flat_map(|call| std::iter::once(call.frame).chain(call.answer_frame)));
    result.exchanges.extend(calls);
}

/// How many calls were under way.
pub(crate) fn load(clients: &Clients<'_>) -> String {
    let sessions = match clients.sessions() {
        1 => "one session".to_owned(),
        many => format!("{many} sessions"),
    };
    format!("{} at a time in {sessions}", clients.in_flight())
}
