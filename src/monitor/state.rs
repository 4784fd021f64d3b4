//! What is known of a target over time: its status, since when, and what its server offered when it was first seen.
//!
//! Kept over restarts as JSON, so that a monitor that starts again reports nothing that was known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::status::{TargetStatus, TargetVerdict};
use crate::drift::{ChangeLevel, Recorded, ServerChange, compare};

/// The version of the file.
const FORMAT: u32 = 1;

/// The states of all targets, as they are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptStates {
    format: u32,
    /// By `file@server/revision`.
    pub targets: BTreeMap<String, TargetState>,
}

impl KeptStates {
    /// The states of targets.
    pub fn new(targets: BTreeMap<String, TargetState>) -> Self {
        Self { format: FORMAT, targets }
    }

    /// Reads the text of a file; `None` if it is none of this version.
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok().filter(|kept: &Self| kept.format == FORMAT)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// The state of one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetState {
    /// The status that was reported last; `None` before the first run.
    pub status: Option<TargetStatus>,
    /// Why, in one sentence; empty for `up`.
    pub detail: String,
    /// When it became so, in seconds since 1970.
    pub since: u64,
    /// The number of runs in a row that came to nothing good, as long as the status does not say so.
    pub failures: u32,
    /// What the server offered when it was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<KeptOffer>,
}

/// What a server offered, as text: of a thousand servers, it takes a tenth of the memory, and is read only if it differs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeptOffer(Box<RawValue>);

impl PartialEq for KeptOffer {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl KeptOffer {
    /// The text of an offer.
    pub fn new(offered: &Recorded) -> Option<Self> {
        to_raw_value(offered).ok().map(Self)
    }

    fn read(&self) -> Option<Recorded> {
        serde_json::from_str(self.0.get()).ok()
    }
}

/// A change of the status of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// `None` where nothing was known.
    pub from: Option<TargetStatus>,
    /// The new status.
    pub to: TargetStatus,
    /// Why, in one sentence; empty for `up`.
    pub detail: String,
    /// The number of seconds for which the old status lasted; `None` where nothing was known.
    pub lasted: Option<u64>,
}

impl StatusChange {
    /// Returns true if people are told: a target that is up when it is first seen is no news.
    pub fn is_news(&self) -> bool {
        self.from.is_some() || self.to != TargetStatus::Up
    }
}

impl TargetState {
    /// Takes in the verdict of a run at `now`, in seconds since 1970. A target that serves counts as down only after
    /// `needed` runs in a row.
    pub fn observe(&mut self, verdict: TargetVerdict, needed: u32, now: u64) -> Option<StatusChange> {
        let TargetVerdict { status, detail } = verdict;
        self.failures = if status.is_serving() { 0 } else { self.failures.saturating_add(1) };
        let was_serving = self.status.is_none_or(TargetStatus::is_serving);
        if self.status == Some(status) {
            self.detail = detail;
            return None;
        }
        if was_serving && !status.is_serving() && self.failures < needed {
            return None;
        }
        let from = self.status.replace(status);
        // A clock that was set back makes no status last for ever.
        let lasted = from.map(|_| now.saturating_sub(self.since));
        (self.since, self.detail) = (now, detail.clone());
        Some(StatusChange { from, to: status, detail, lasted })
    }

    /// The changes of what the server offers since it was first seen, which is now if that is not known.
    pub fn drift(&mut self, offered: &Recorded) -> Vec<ServerChange> {
        let now = KeptOffer::new(offered);
        if self.offered.is_some() && self.offered == now {
            return Vec::new();
        }
        if let Some(known) = self.offered.as_ref().and_then(KeptOffer::read) {
            return compare(&known, offered);
        }
        self.offered = now;
        Vec::new()
    }
}

/// The number of changes by level.
pub fn count_changes(changes: &[ServerChange]) -> BTreeMap<ChangeLevel, usize> {
    let mut counts = BTreeMap::new();
    for change in changes {
        *counts.entry(change.level).or_default() += 1;
    }
    counts
}

/// The verdict that follows from changes of this level or worse.
pub fn verdict_of_drift(changes: &[ServerChange], least: ChangeLevel) -> TargetVerdict {
    let mut counted = changes.iter().filter(|change| change.level >= least);
    let Some(first) = counted.next() else { return TargetVerdict::default() };
    let more = match counted.count() {
        0 => String::new(),
        1 => ", and 1 more change".to_owned(),
        count => format!(", and {count} more changes"),
    };
    TargetVerdict::new(TargetStatus::Drift, format!("{}{more}", first.says))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn observe_all(needed: u32, statuses: &[TargetStatus]) -> Vec<(u64, Option<TargetStatus>, TargetStatus)> {
        let mut state = TargetState::default();
        let mut changes = Vec::new();
        for (now, status) in (100..).zip(statuses) {
            let change = state.observe(TargetVerdict::new(*status, ""), needed, now);
            changes.extend(change.map(|change| (now, change.from, change.to)));
        }
        changes
    }

    #[test]
    fn a_target_is_down_after_enough_failures_and_up_at_the_first_success() {
        use TargetStatus::{ConnectionRefused as Refused, Drift, Failed, Timeout, Up};
        for (needed, statuses, expected) in [
            (1, &[Up, Up, Up][..], vec![(100, None, Up)]),
            (1, &[Refused], vec![(100, None, Refused)]),
            (1, &[Up, Failed, Up], vec![(100, None, Up), (101, Some(Up), Failed), (102, Some(Failed), Up)]),
            (3, &[Up, Failed, Failed, Up, Failed], vec![(100, None, Up)]),
            (3, &[Up, Failed, Timeout, Timeout], vec![(100, None, Up), (103, Some(Up), Timeout)]),
            (2, &[Refused, Refused], vec![(101, None, Refused)]),
            // A target that is down may be so for another reason at once.
            (2, &[Refused, Refused, Timeout], vec![(101, None, Refused), (102, Some(Refused), Timeout)]),
            // Drift is a fact, not a failure that might pass.
            (3, &[Up, Drift, Up], vec![(100, None, Up), (101, Some(Up), Drift), (102, Some(Drift), Up)]),
            (2, &[Drift, Failed, Drift], vec![(100, None, Drift)]),
        ] {
            assert_eq!(observe_all(needed, statuses), expected, "{needed} {statuses:?}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_last_for_ever() {
        let mut state = TargetState::default();
        state.observe(TargetVerdict::default(), 1, 1000);
        let change = state.observe(TargetVerdict::new(TargetStatus::Failed, "it differs"), 1, 400).unwrap();
        assert_eq!(change.lasted, Some(0));
    }

    #[test]
    fn only_what_is_new_is_news() {
        let change = |from, to| StatusChange { from, to, detail: String::new(), lasted: None };
        assert!(!change(None, TargetStatus::Up).is_news());
        assert!(change(None, TargetStatus::Timeout).is_news());
        assert!(change(Some(TargetStatus::Timeout), TargetStatus::Up).is_news());
    }

    #[test]
    fn states_are_read_as_they_are_written() {
        let offered = KeptOffer::new(&Recorded { tools: vec![json!({"name": "add"})], ..Recorded::default() });
        let state = TargetState { status: Some(TargetStatus::TlsError), since: 7, offered, ..TargetState::default() };
        let kept = KeptStates::new([("a@b/auto".to_owned(), state)].into());
        assert_eq!(KeptStates::parse(kept.text().as_bytes()), Some(kept));
        for text in ["", "{", "[]", r#"{"format":2,"targets":{}}"#, r#"{"targets":{}}"#] {
            assert_eq!(KeptStates::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn drift_is_measured_against_what_was_first_seen() {
        let tools = |names: &[&str]| Recorded {
            tools: names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect(),
            ..Recorded::default()
        };
        let mut state = TargetState::default();
        assert_eq!(state.drift(&tools(&["add", "get"])), []);
        for (names, least, expected) in [
            (&["add", "get"][..], ChangeLevel::Cosmetic, ""),
            (&["get", "add"], ChangeLevel::Compatible, ""),
            (&["get", "add"], ChangeLevel::Cosmetic, "the order of the tools changed"),
            (&["add", "get", "new"], ChangeLevel::Breaking, ""),
            (&["add", "get", "new"], ChangeLevel::Compatible, "the tool `new` was added"),
            (&["new"], ChangeLevel::Breaking, "the tool `add` was removed, and 1 more change"),
        ] {
            let verdict = verdict_of_drift(&state.drift(&tools(names)), least);
            assert_eq!(verdict.detail, expected, "{names:?} {least:?}");
            assert_eq!(verdict.status == TargetStatus::Drift, !expected.is_empty(), "{names:?}");
        }
    }
}
