//! Overrides of variables that no included suite has and nothing else uses: most are misspelt.

use super::model::Suite;
use crate::source::{Diagnostic, Located, Sources, did_you_mean, nearest};

/// A variable that no included suite has.
pub(crate) struct UnmatchedOverride {
    name: Located<String>,
    /// The variables that the included suites have.
    known: Vec<String>,
}

/// The variables of a suite that no included suite has; none where no included suite has variables.
pub(crate) fn unmatched_overrides<'a>(
    suite: &Suite,
    included: impl Iterator<Item = &'a Suite>,
) -> Vec<UnmatchedOverride> {
    let names = |suite: &Suite| suite.variables.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let known: Vec<String> = included.flat_map(names).map(|name| name.value).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let overrides = names(suite).into_iter().filter(|name| !known.contains(&name.value));
    overrides.map(|name| UnmatchedOverride { name, known: known.clone() }).collect()
}

/// Reports the overrides that nothing uses; one that resembles a variable of an included suite is an error.
pub(crate) fn report_unused(overrides: &[UnmatchedOverride], sources: &Sources, found: &mut Vec<Diagnostic>) {
    for UnmatchedOverride { name, known } in
        overrides.iter().filter(|variable| is_unused(&variable.name.value, sources))
    {
        let message = format!("nothing uses the variable `{}`, and no included suite has it", name.value);
        let known = || known.iter().map(String::as_str);
        let told =
            Diagnostic::error("unused-variable", message, name.span).with_help(did_you_mean(&name.value, known()));
        found.push(if nearest(&name.value, known()).is_some() { told } else { told.into_warning() });
    }
}

/// Returns true if a name stands in no text but once.
fn is_unused(name: &str, sources: &Sources) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = sources.texts().flat_map(|text| text.split(move |c| !is_part(c)));
    words.filter(|word| *word == name).count() < 2
}
