//! The verdicts of the cases of two runs.

use std::collections::BTreeMap;

use crate::drift::{ChangeLevel, ServerChange};
use crate::event::Outcome;
use crate::prove::RecordedCase;

/// The cases whose verdicts differ, in the order of the first run, and then those that are new.
pub(crate) fn compare(before: &[RecordedCase], after: &[RecordedCase]) -> Vec<ServerChange> {
    let verdicts = |cases: &[RecordedCase]| -> BTreeMap<String, Outcome> {
        cases.iter().map(|case| (case.id.clone(), case.outcome)).collect()
    };
    let (old, new) = (verdicts(before), verdicts(after));
    let known = before.iter().filter_map(|case| {
        let now = new.get(&case.id).copied();
        let (level, what) = change(case.outcome, now)?;
        let says = match now {
            Some(now) => format!("{}, and now {}", case.outcome.as_str(), now.as_str()),
            None => format!("{}, and now not run", case.outcome.as_str()),
        };
        Some(ServerChange::new(level, what, format!("cases/{}", case.id), says))
    });
    let added = after.iter().filter(|case| !old.contains_key(&case.id)).map(|case| {
        let says = format!("new, and {}", case.outcome.as_str());
        ServerChange::compatible("case-added", format!("cases/{}", case.id), says)
    });
    known.chain(added).collect()
}

/// How bad it is that a verdict is another one, and the kind of that change; `None` where it is the same.
fn change(old: Outcome, new: Option<Outcome>) -> Option<(ChangeLevel, &'static str)> {
    match (old, new) {
        (_, None) => Some((ChangeLevel::Compatible, "case-removed")),
        (old, Some(new)) if old == new => None,
        (Outcome::Passed | Outcome::Warned, Some(Outcome::Failed | Outcome::Errored)) => {
            Some((ChangeLevel::Breaking, "case-fails"))
        }
        (_, Some(Outcome::Passed)) => Some((ChangeLevel::Compatible, "case-passes")),
        (_, Some(_)) => Some((ChangeLevel::Compatible, "case-changed")),
    }
}
