//! Injected faults: whether they changed something, and whether the server recovered from them.

use crate::event::Finding;
use crate::fault::{PassedCall, Strike};
use crate::source::duration_text;
use crate::suite::{Recovery, RecoveryLimit};

/// The most changes that a finding lists.
const MOST_LISTED: usize = 8;

/// A fault that changed nothing, so that its case proves nothing.
pub fn of_idle_fault(name: &str) -> Finding {
    let message = format!("the fault `{name}` changed nothing, so the test shows nothing about it");
    let help = "call what the fault is about, or change its `on` or `tools`".to_owned();
    Finding { help: Some(help), ..Finding::new("fault-changed-nothing", message) }
}

/// Why the server did not recover as it should; calls are told in the order in which they were sent. The help says how
/// `more_calls` come after the faults.
pub fn judge_recovery(calls: &[PassedCall], recovery: Recovery, more_calls: &str) -> Option<Finding> {
    let fail = |code, message: String, help: &str| {
        Some(Finding { help: Some(help.to_owned()), ..Finding::new(code, message) })
    };
    let struck = |call: &PassedCall| call.is_struck;
    let (Some(first), Some(last)) = (calls.iter().position(struck), calls.iter().rposition(struck)) else {
        let message = "no call of a tool was struck, so nothing had to recover".to_owned();
        return fail("nothing-to-recover", message, "let the fault strike a call of a tool");
    };
    let seen = calls[first..].iter().position(|call| !call.is_served);
    let undetected = recovery.detected.and_then(|limit| match limit {
        RecoveryLimit::Calls(most) => seen.is_none_or(|at| at >= most).then(|| of_calls(most)),
        RecoveryLimit::Time(within) => {
            let known = seen.and_then(|at| calls[first + at].answered.or(calls[first + at].given_up));
            let took = known.map(|known| known.saturating_sub(calls[first].sent));
            took.is_none_or(|took| took > within).then(|| duration_text(within))
        }
    });
    if let Some(limit) = undetected {
        let message = format!("the fault did not show within {limit} of the first struck call");
        return fail(
            "fault-undetected",
            message,
            "a wrong answer that looks right is the worst: look at what was injected",
        );
    }
    let later = &calls[last + 1..];
    let served = later.iter().position(|call| call.is_served);
    let lasting = "the server goes on failing after the fault: look at its state";
    if later.is_empty() {
        let message = "no call followed the last struck one, so nobody knows whether the server recovered".to_owned();
        return fail("not-recovered", message, more_calls);
    }
    let Some(at) = served else {
        let (of, help) = match recovery.within {
            RecoveryLimit::Calls(within) if later.len() >= within => (of_calls(within), lasting),
            RecoveryLimit::Calls(_) => (of_calls(later.len()), more_calls),
            RecoveryLimit::Time(_) => (of_calls(later.len()), lasting),
        };
        return fail("not-recovered", format!("none of {of} after the last struck one was served"), help);
    };
    match recovery.within {
        RecoveryLimit::Calls(within) if at >= within => {
            let message = format!("only call {} after the last struck one was served, not one of {within}", at + 1);
            fail("not-recovered", message, lasting)
        }
        RecoveryLimit::Time(within) => {
            let struck = calls[last].answered.unwrap_or(calls[last].sent);
            let took = later[at].answered.unwrap_or_default().saturating_sub(struck);
            let message = format!("no call was served within {} of the fault", duration_text(within));
            let help = "the server takes long to serve again: look at what it waits for";
            let found = (took > within).then(|| fail("not-recovered", message, help)).flatten();
            found.map(|found| found.with_evidence("served after", duration_text(took)))
        }
        RecoveryLimit::Calls(_) => None,
    }
}

fn of_calls(count: usize) -> String {
    format!("{count} {}", if count == 1 { "call" } else { "calls" })
}

/// The changes by faults, one line for each message.
pub fn strikes_text(strikes: &[Strike]) -> String {
    let mut lines: Vec<String> = strikes
        .iter()
        .take(MOST_LISTED)
        .map(|strike| {
            let asked = if strike.asked.is_empty() { String::new() } else { format!(" at {}", strike.asked) };
            format!("{}{asked}: {}", strike.fault, strike.changes.join("; "))
        })
        .collect();
    let more = strikes.len().saturating_sub(MOST_LISTED);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines.join("\n")
}
