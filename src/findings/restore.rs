//! Secrets that were taken out of a finding, taken back from the environment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::Stored;
use crate::event::Reproduction;
use crate::redact::{Part, RESTORED_FROM, mark, parts, variable};

/// The requests that can be sent again, and the secrets that are missing for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Restored {
    /// The sequence with its secrets.
    pub reproduction: Reproduction,
    /// The values that are in it.
    pub secrets: BTreeSet<String>,
    /// The variables that are not set.
    pub missing: BTreeSet<String>,
}

/// The environment for replays: a secret that is not given under its own name is the variable that it was read from,
/// and the other way round.
pub fn replay_environment(stored: &Stored, environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let nothing = BTreeMap::new();
    let asked = stored.sequences().into_iter().flat_map(|sequence| restore_secrets(&sequence, &nothing).missing);
    let read = stored.start.variables_read();
    let kept =
        asked.chain(read.iter().cloned()).filter_map(|name| Some((name.strip_prefix(RESTORED_FROM)?.to_owned(), name)));
    let mut pairs: Vec<(String, String)> = kept.collect();
    // Names of secrets are in capitals, and those of variables need not be.
    pairs.extend(read.into_iter().map(|name| (name.clone(), variable(&name))));
    let mut whole = environment.clone();
    for (plain, secret) in pairs {
        match (environment.get(&plain), environment.get(&secret)) {
            (Some(value), None) => drop(whole.insert(secret, value.clone())),
            (None, Some(value)) => drop(whole.insert(plain, value.clone())),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    whole
}

/// The variables without a value from which the server of a finding takes secrets.
pub fn unset_secrets(stored: &Stored, environment: &BTreeMap<String, String>) -> BTreeSet<String> {
    let known = replay_environment(stored, environment);
    let read = stored.start.variables_read().into_iter();
    read.filter(|name| name.starts_with(RESTORED_FROM) && !known.contains_key(name)).collect()
}

/// A sequence with its secrets from the environment.
pub fn restore_secrets(reproduction: &Reproduction, environment: &BTreeMap<String, String>) -> Restored {
    let secrets: RefCell<BTreeSet<String>> = RefCell::default();
    let missing: RefCell<BTreeSet<String>> = RefCell::default();
    let filled = |part: Part<'_>| match part {
        Part::Literal(said) => said.into_owned(),
        Part::Secret(name) => {
            let value = environment.get(name);
            let (names, text) = value.map_or((&missing, name), |value| (&secrets, value.as_str()));
            names.borrow_mut().insert(text.to_owned());
            value.cloned().unwrap_or_else(|| mark(name))
        }
    };
    let mut whole = reproduction.clone();
    whole.change_texts(&|text| parts(text).into_iter().map(filled).collect());
    Restored { reproduction: whole, secrets: secrets.into_inner(), missing: missing.into_inner() }
}
