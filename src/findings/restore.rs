//! Secrets that were taken out of a finding, taken back from the environment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Stored;
use crate::event::Reproduction;
use crate::redact::RESTORED_FROM;

/// What stands where a secret was that has a name.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{ env\.(MCPROVE_SECRET_[A-Z0-9_]+) \}\}").unwrap());

/// What can be said again, and which secrets are missing for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Restored {
    /// The sequence with its secrets.
    pub reproduction: Reproduction,
    /// The values that are in it.
    pub secrets: BTreeSet<String>,
    /// The variables that are not set.
    pub missing: BTreeSet<String>,
}

/// The environment for replays: a secret that is not given under its own name is the variable that it was read from.
pub fn wanted(stored: &Stored, environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut whole = environment.clone();
    let text = stored.text();
    for name in PLACE.captures_iter(&text).map(|found| found[1].to_owned()) {
        let source = name.strip_prefix(RESTORED_FROM).unwrap_or_default();
        if let (false, Some(value)) = (whole.contains_key(&name), environment.get(source)) {
            whole.insert(name, value.clone());
        }
    }
    whole
}

/// A sequence with its secrets from the environment.
pub fn restored(reproduction: &Reproduction, environment: &BTreeMap<String, String>) -> Restored {
    let secrets: RefCell<BTreeSet<String>> = RefCell::default();
    let missing: RefCell<BTreeSet<String>> = RefCell::default();
    let mut whole = reproduction.clone();
    whole.change_texts(&|text| {
        let filled = PLACE.replace_all(text, |found: &Captures<'_>| {
            let Some(value) = environment.get(&found[1]) else {
                missing.borrow_mut().insert(found[1].to_owned());
                return found[0].to_owned();
            };
            secrets.borrow_mut().insert(value.clone());
            value.clone()
        });
        filled.into_owned()
    });
    Restored { reproduction: whole, secrets: secrets.into_inner(), missing: missing.into_inner() }
}

/// The text without marks of secrets, and the marks that were in it, in order.
pub(super) fn split(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut parts = Vec::new();
    let mut at = 0;
    for found in PLACE.find_iter(text) {
        parts.push((&text[at..found.start()], Some(found.as_str())));
        at = found.end();
    }
    parts.push((&text[at..], None));
    parts
}
