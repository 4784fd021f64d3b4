//! Damage to what a server has stored, by cases that write at once or kill the server.
//!
//! They come after all others, in turns (`store_turns.rs`). Tools that only read, and need no arguments, are called before
//! the first and after each of them, in a fresh session. A reader that is served before and refused afterwards is a warning
//! about the case in between, and a failure where the server does not even start. Generated cases that fail from there on are
//! not judged, since they may fail for what the store holds; a test that somebody wrote stays failed, and says so.
//!
//! Where each case has a copy of the store (`store_copies.rs`), the readers look at the copy that the case has left, and no
//! other case meets its damage.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::ending::{SessionEndReason, end};
use super::history::is_limit;
use super::opening::{self, SessionOpening};
use super::resolve::Starts;
use super::store_copies::StoreUse;
use super::store_turns::StorePlace;
use super::target::RunTarget;
use crate::event::{CaseResult, Finding, Outcome, Reason, RequirementLevel};
use crate::matching::words_of;
use crate::plan::{Body, Case};
use crate::session::SessionRequest;
use crate::source::{shorten, visible_line};
use crate::transport::Owner;
use crate::wire::{is_served, surroundings_lack};

/// The number of tools that are called.
const MOST_READERS: usize = 8;

/// The number of characters of a refusal that a sentence quotes.
const QUOTED: usize = 160;

/// The beginning of what a server says that does not start.
const UNSTARTED: &str = "the server does not start";

/// The refusals of the readers that were called; `None` where one was served.
type Readings = BTreeMap<String, Option<String>>;

/// What is known of the stores of all servers of a run.
#[derive(Default)]
pub(crate) struct StoreWatch {
    served: BTreeMap<StorePlace, BTreeSet<String>>,
    damaged: BTreeMap<StorePlace, SuspectedDamage>,
    /// The cases that failed: what they did to the store is reported.
    failed: BTreeSet<String>,
}

/// The case that seems to have damaged a store, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SuspectedDamage {
    case: String,
    reader: String,
    words: String,
}

impl SuspectedDamage {
    fn sentence(&self) -> String {
        let Self { case, reader, words } = self;
        format!(
            "`{reader}` was served before `{case}` and is refused after it, so the store seems to be damaged: {words}"
        )
    }

    fn hint(&self) -> String {
        format!("perhaps the reason: since `{}`, `{}` is refused", self.case, self.reader)
    }

    fn finding(&self) -> Finding {
        let help = "write the store under a lock, or write a new file and rename it over the old one; restore its data before \
                    the next run, which would find it damaged";
        // A tool may have its reasons to refuse what it served before.
        let level = if self.words.starts_with(UNSTARTED) { RequirementLevel::Must } else { RequirementLevel::Should };
        Finding { level, help: Some(help.to_owned()), ..Finding::new("damaged-store", self.sentence()) }
    }
}

/// Returns true if a case may damage what a server has stored.
pub(crate) fn may_damage(case: &Case) -> bool {
    matches!(&case.body, Body::Check(check) if check.may_damage_store())
}

impl StoreWatch {
    /// Calls the readers of a target before the first case that may damage its store.
    pub(crate) async fn begin(&mut self, target: &RunTarget) {
        let (place, readers) = (StorePlace::of(target), readers_of(target));
        if readers.is_empty() || self.damaged.contains_key(&place) {
            return;
        }
        let readings = call_readers(target, &readers, StoreUse::Anew).await;
        let served = readings.into_iter().filter(|(_, refusal)| refusal.is_none()).map(|(reader, _)| reader);
        self.served.insert(place, served.collect());
    }

    /// Calls them again after a case, and reports a store that seems to be damaged, unless the case has.
    pub(crate) async fn check(&mut self, target: &RunTarget, case: &Case) {
        let place = StorePlace::of(target);
        let Some(served) = self.served.get(&place).filter(|served| !served.is_empty()) else { return };
        if self.damaged.contains_key(&place) {
            return;
        }
        let left = StoreUse::Of(&case.id);
        let first = call_readers(target, served, left).await;
        if refused_twice(&first, &first).is_none() {
            return;
        }
        let Some((reader, words)) = refused_twice(&first, &call_readers(target, served, left).await) else { return };
        let damage = SuspectedDamage { case: case.name.clone(), reader, words };
        if !self.failed.contains(&case.id) {
            let revision = target.known_revision().map(|revision| revision.to_string()).unwrap_or_default();
            target.report(&revision, [damage.finding()]);
        }
        // Where each case has a copy of the store, no other one meets the damage.
        if target.stores.is_none() {
            self.damaged.insert(place, damage);
        }
    }

    /// Takes note of the end of a case. If its server had a damaged store, the failure of a generated case is taken back, and
    /// that of a test tells of it.
    pub(crate) fn settle(&mut self, target: &RunTarget, case: &Case, result: &mut CaseResult) {
        if !matches!(result.outcome, Outcome::Failed | Outcome::Errored) {
            return;
        }
        let Some(damage) = self.damaged.get(&StorePlace::of(target)) else {
            if may_damage(case) {
                self.failed.insert(case.id.clone());
            }
            return;
        };
        if !target.is_generated(case) {
            if let Some(found) = result.findings.first_mut() {
                found.evidence.push(("damaged store".to_owned(), damage.hint()));
            }
            return;
        }
        result.outcome = Outcome::Inconclusive;
        result.reason = Some(Reason::NotEvaluated(damage.sentence()));
        result.findings.clear();
    }
}

/// The tools of a target that only read and need no arguments, where a fresh session with its process can call them at any time.
fn readers_of(target: &RunTarget) -> BTreeSet<String> {
    let suite = target.suite();
    let is_bare = suite.setup.is_empty() && suite.teardown.is_empty();
    if !is_bare || target.starts() == Starts::Nothing || target.tamper.is_some() || target.is_replayed {
        return BTreeSet::new();
    }
    let catalog = target.known_catalog();
    let readers = catalog.tools.iter().filter(|tool| {
        tool.only_reads() && tool.needs_no_arguments() && suite.hazard(target.server_name(), tool).is_none()
    });
    readers.take(MOST_READERS).map(|tool| tool.name.clone()).collect()
}

/// Calls readers in a fresh session, with this copy of the store if there are copies. A server that does not start refuses
/// them all.
async fn call_readers(target: &RunTarget, readers: &BTreeSet<String>, store: StoreUse<'_>) -> Readings {
    let opening = SessionOpening { store, ..SessionOpening::with(&target.suite().answers) };
    let opened = opening::open(target, opening).await;
    let session = match opened {
        Ok(session) => session,
        Err(error) => {
            let words = format!("{UNSTARTED}: {}", error.into_finding().message);
            return readers.iter().map(|reader| (reader.clone(), Some(words.clone()))).collect();
        }
    };
    let mut readings = Readings::new();
    for reader in readers {
        let params = Some(json!({"name": reader, "arguments": {}}));
        let request =
            SessionRequest { owner: &Owner::Session, method: "tools/call", params, timeout: None, progress: false };
        let refusal = match session.request(request).await {
            Ok(reply) if is_served(&reply.message) => None,
            Ok(reply) => Some(words_of(&reply.message)),
            Err(failure) => Some(Finding::from(&failure).message),
        };
        readings.insert(reader.clone(), refusal);
    }
    end(target, &session, SessionEndReason::Unused).await;
    readings
}

/// A reader that both readings refuse, for a reason that may be the store, and its words.
fn refused_twice(first: &Readings, second: &Readings) -> Option<(String, String)> {
    let may_be_store = |words: &&String| !is_limit(words) && surroundings_lack(words).is_none();
    let refusal = |readings: &Readings, reader: &str| readings.get(reader)?.as_ref().filter(may_be_store).cloned();
    first.keys().find_map(|reader| {
        refusal(first, reader)?;
        Some((reader.clone(), shorten(&visible_line(refusal(second, reader)?.trim()), QUOTED)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_does_not_start_fails() {
        for (words, expected) in [
            ("the server does not start: it ended", RequirementLevel::Must),
            ("Unexpected end of JSON input", RequirementLevel::Should),
        ] {
            let damage = SuspectedDamage { case: "add".to_owned(), reader: "list".to_owned(), words: words.to_owned() };
            assert_eq!(damage.finding().level, expected, "{words}");
        }
    }

    #[test]
    fn a_store_is_damaged_where_a_reader_is_refused_again() {
        let readings = |list: Option<&str>, count: Option<&str>| -> Readings {
            [("list", list), ("count", count)].map(|(name, words)| (name.to_owned(), words.map(str::to_owned))).into()
        };
        let (fine, broken) = (readings(None, None), readings(Some("Unexpected end of JSON input"), None));
        for (first, second, expected) in [
            (&fine, &fine, None),
            (&broken, &broken, Some(("list", "Unexpected end of JSON input"))),
            // It was late, or is read by another one.
            (&broken, &fine, None),
            (&broken, &readings(None, Some("Unexpected end of JSON input")), None),
            (&readings(Some("rate limit exceeded"), None), &readings(Some("rate limit exceeded"), None), None),
            (&readings(Some("fetch failed"), None), &readings(Some("fetch failed"), None), None),
        ] {
            let found = refused_twice(first, second);
            let found = found.as_ref().map(|(reader, words)| (reader.as_str(), words.as_str()));
            assert_eq!(found, expected, "{first:?} {second:?}");
        }
    }
}
