//! Differences between two recordings of runs: lists and answers of servers, rules of the protocol, verdicts of cases,
//! latencies of tools.
//!
//! Which changes of a server break callers is for [`drift`](crate::drift) to say; here, recordings become what it
//! compares. Pure. Start reading in [`compare_runs`].

mod latency;
mod recorded;
mod rules;
#[cfg(test)]
mod tests;
mod verdict;

use serde::Serialize;

pub use self::latency::LatencyChange;

use self::recorded::{RecordedServer, only_asked_lists};
use crate::drift::{ServerChange, ServerSnapshot, compare};
use crate::event::CaseResult;
use crate::prove::RunRecording;

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparedRun {
    /// Its messages and verdicts.
    pub recording: RunRecording,
    /// What its servers did outside of any case, one for each server and revision that broke the protocol.
    pub protocol: Vec<CaseResult>,
}

/// The differences between two recordings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDiff {
    /// The servers that both recorded.
    pub servers: Vec<ServerDiff>,
    /// The servers that only one of them recorded, in words.
    pub unpaired: Vec<String>,
    /// The cases whose verdicts differ, and those that only one of them has.
    pub cases: Vec<ServerChange>,
    /// The rules of the protocol that only one run saw broken.
    pub rules: Vec<ServerChange>,
    /// The median latency of each tool that both called.
    pub latencies: Vec<LatencyChange>,
}

/// The changes of one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerDiff {
    /// Its name in the suite.
    pub name: String,
    /// The revision that was asked for.
    pub protocol: String,
    /// The changes.
    pub changes: Vec<ServerChange>,
}

impl RunDiff {
    /// All changes, of cases, rules and servers.
    pub fn changes(&self) -> impl Iterator<Item = &ServerChange> {
        self.cases.iter().chain(&self.rules).chain(self.servers.iter().flat_map(|server| &server.changes))
    }
}

/// Compares two recordings of runs.
pub fn compare_runs(before: &ComparedRun, after: &ComparedRun) -> RunDiff {
    let rules = rules::compare(before, after);
    let (before, after) = (&before.recording, &after.recording);
    let (cases, latencies) = (verdict::compare(&before.cases, &after.cases), latency::compare(before, after));
    let (before, after) = (recorded::servers(before), recorded::servers(after));
    let earlier = ServerSnapshot::new(before.iter().map(|old| old.server.clone()).collect());
    let mut servers = Vec::new();
    let mut unpaired: Vec<&RecordedServer> = before.iter().collect();
    let mut added = Vec::new();
    for new in &after {
        // One that has been renamed is still the only one.
        let meant = earlier.of(&new.server.name, &new.server.protocol);
        let Some(old) = before.iter().find(|old| Some(&old.server) == meant) else {
            added.push(new);
            continue;
        };
        unpaired.retain(|other| !std::ptr::eq(*other, old));
        servers.push(ServerDiff {
            name: new.server.name.clone(),
            protocol: new.server.protocol.clone(),
            changes: compare(&only_asked_lists(&old.server, new), &only_asked_lists(&new.server, old)),
        });
    }
    let only_in = |of: Vec<&RecordedServer>, which: &'static str| {
        let words = |RecordedServer { server, .. }: &RecordedServer| {
            format!("the server `{}` in {} is only in the {which} recording", server.name, server.protocol)
        };
        of.into_iter().map(words).collect::<Vec<_>>()
    };
    let unpaired = [only_in(unpaired, "first"), only_in(added, "second")].concat();
    RunDiff { servers, unpaired, cases, rules, latencies }
}
