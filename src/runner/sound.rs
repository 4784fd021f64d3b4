//! What follows where a step did not go well that has to, before the others say anything.

use super::finding::MISSING;
use super::verdict::Verdict;
use crate::event::{Finding, Outcome};
use crate::source::template::ABSENT;
use crate::suite::Step;

/// The verdict on a case whose witness did not go well: it does not apply where an answer lacks what the next step of
/// the witness goes on with, and nothing is known otherwise.
pub(super) fn unsound(found: &[Finding], witness: &[Step]) -> Verdict {
    let unfilled = found.first().filter(|found| found.code == MISSING);
    if let Some(path) = unfilled.and_then(|found| found.message.strip_suffix(ABSENT))
        && witness.iter().flat_map(|step| &step.capture).any(|(name, _)| is_within(path, &name.value))
    {
        return Verdict::because(Outcome::Skipped, format!("the server's answer has no {path} to go on with"));
    }
    let why = found.first().map(|found| match &found.help {
        Some(help) => format!("{}; {help}", found.message),
        None => found.message.clone(),
    });
    let reason =
        format!("what is sound did not go well, so nothing follows from what is not: {}", why.unwrap_or_default());
    Verdict::because(Outcome::Inconclusive, reason)
}

/// Whether a path in backticks leads into the value of that name.
fn is_within(path: &str, name: &str) -> bool {
    let rest = path.strip_prefix('`').and_then(|path| path.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_into_names() {
        assert!(is_within("`page.nextCursor`", "page"));
        assert!(is_within("`page[0]`", "page"));
        assert!(!is_within("`pages.nextCursor`", "page"));
        assert!(!is_within("`offer.arguments[page]`", "page"));
    }
}
