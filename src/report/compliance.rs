//! How well servers keep the rules of the specification, in words.

use crate::event::{Compliance, RuleTally};

use super::terminal::plural;

/// The score in one sentence, numerator and denominator; what was not judged is in neither.
pub(super) fn score(compliance: &Compliance) -> String {
    let (must, should) = (compliance.must(), compliance.should());
    let mut parts = vec![format!("{} kept", of(&must, "MUST"))];
    if should.judged() > 0 {
        parts.push(format!("{} kept", of(&should, "SHOULD")));
    }
    let all = must.plus(should);
    if all.open > 0 {
        parts.push(format!("{} not judged", all.open));
    }
    if all.skipped > 0 {
        parts.push(format!("{} skipped", all.skipped));
    }
    parts.join(", ")
}

fn of(tally: &RuleTally, noun: &str) -> String {
    format!("{} of {}", tally.kept, plural(tally.judged(), noun))
}

/// `9/10`, or nothing where no rule came to a verdict.
pub(super) fn share(tally: &RuleTally) -> String {
    if tally.judged() == 0 { "-".to_owned() } else { format!("{}/{}", tally.kept, tally.judged()) }
}
