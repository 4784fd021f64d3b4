//! Variables that a suite sets for suites that it includes, and that none of them has: most are slips of the pen.

use super::model::Suite;
use crate::source::{Diagnostic, Located, Sources, did_you_mean, nearest};

/// A variable that no included suite has.
pub(super) struct Stranger {
    name: Located<String>,
    /// The variables that the included suites have.
    known: Vec<String>,
}

/// Those of a suite; none where nothing that it includes has variables.
pub(super) fn of<'a>(suite: &Suite, included: impl Iterator<Item = &'a Suite>) -> Vec<Stranger> {
    let names = |suite: &Suite| suite.variables.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let known: Vec<String> = included.flat_map(names).map(|name| name.value).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let strangers = names(suite).into_iter().filter(|name| !known.contains(&name.value));
    strangers.map(|name| Stranger { name, known: known.clone() }).collect()
}

/// Reports those that no text mentions but to set them; one that looks like a variable of an included suite is an error.
pub(super) fn check(strangers: &[Stranger], sources: &Sources, found: &mut Vec<Diagnostic>) {
    for Stranger { name, known } in strangers.iter().filter(|stranger| is_unused(&stranger.name.value, sources)) {
        let message = format!("nothing uses the variable `{}`, and no included suite has it", name.value);
        let known = || known.iter().map(String::as_str);
        let told =
            Diagnostic::error("unused-variable", message, name.span).with_help(did_you_mean(&name.value, known()));
        found.push(if nearest(&name.value, known()).is_some() { told } else { told.into_warning() });
    }
}

/// Whether a name stands in no text but once.
fn is_unused(name: &str, sources: &Sources) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = sources.texts().flat_map(|text| text.split(move |c| !is_part(c)));
    words.filter(|word| *word == name).count() < 2
}
