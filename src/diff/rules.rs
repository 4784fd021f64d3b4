//! The rules of the protocol that the servers of two runs broke, each once for each server.

use std::collections::BTreeMap;

use super::ComparedRun;
use crate::drift::{ChangeLevel, ServerChange};
use crate::event::{Finding, RequirementLevel};

/// The rules that only one of two runs saw broken; a server of one of the runs alone has none.
pub(crate) fn compare(before: &ComparedRun, after: &ComparedRun) -> Vec<ServerChange> {
    let old = broken(before, after);
    let new = broken(after, before);
    let begun = new.iter().filter(|(rule, _)| !old.contains_key(*rule)).map(|(((_, server), code), finding)| {
        let level = match finding.level {
            RequirementLevel::Must => ChangeLevel::Breaking,
            RequirementLevel::Should => ChangeLevel::Compatible,
        };
        let says = format!("not in the first run: {}", finding.message);
        ServerChange::new(level, "rule-broken", place(server, code), says)
    });
    let ended = old.iter().filter(|(rule, _)| !new.contains_key(*rule)).map(|(((_, server), code), finding)| {
        let says = format!("not in the second run: {}", finding.message);
        ServerChange::compatible("rule-kept", place(server, code), says)
    });
    begun.chain(ended).collect()
}

fn place(server: &str, code: &str) -> String {
    format!("protocol/{server}/{code}")
}

/// The broken rules of the servers that another run has as well, by server and by code, in whatever revision.
fn broken<'a>(of: &'a ComparedRun, other: &ComparedRun) -> BTreeMap<((&'a str, &'a str), &'a str), &'a Finding> {
    let mut found = BTreeMap::new();
    for case in &of.protocol {
        let server = (case.case.file.as_str(), case.case.server.as_str());
        if other.recording.targets.values().any(|target| (target.file.as_str(), target.server.as_str()) == server) {
            for finding in &case.findings {
                found.entry((server, finding.code.as_str())).or_insert(finding);
            }
        }
    }
    found
}
