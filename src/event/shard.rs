//! One part of a run that several machines share, and the facts from which one verdict on all parts follows.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerCallCounts;
use crate::taxonomy::score::Evidence;

/// The part of a run that one machine runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardInfo {
    /// Its number, counted from one.
    pub number: u32,
    /// The number of parts.
    pub count: u32,
    /// What stays together.
    pub unit: ShardUnit,
    /// A hash of the recorded times by which the parts were made equally long; nothing where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// Every text that was read, such as suites and data, with a hash: parts of other texts are parts of another run.
    pub sources: BTreeMap<String, String>,
    /// The filters, lines and rows by which cases were selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<String>,
    /// The flags that say how often cases run, and for how long, such as `--repeat 3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The hash of the baseline of known failures; nothing where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// What stays together when a run is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ShardUnit {
    /// Nothing: each case goes where its id says.
    #[default]
    Case,
    /// The cases of all servers of one name.
    Server,
    /// The cases of one suite file.
    Suite,
}

/// What a part of a run tells beside its cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardFacts {
    /// What was declared and judged in all suites together.
    pub total: CoverageFacts,
    /// The same for each suite on each server.
    pub targets: Vec<TargetFacts>,
    /// The calls of tools, server by server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ServerCallCounts>,
    /// Recorded answers that no test of this part uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale_snapshots: Vec<String>,
}

/// The facts about one suite on one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// What was declared and judged.
    pub facts: CoverageFacts,
}

/// The facts that declared and exercised coverage follow from; what is declared is that of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoverageFacts {
    /// The probes of the planned cases.
    pub probes: BTreeSet<String>,
    /// The variants that planned cases can judge.
    pub variants: BTreeSet<String>,
    /// The variants that tests name in `judges:` and that nothing judges.
    pub claimed: BTreeSet<String>,
    /// The transports and revisions in use.
    pub settings: BTreeSet<(String, String)>,
    /// By variant, the cases that ran to a verdict on it.
    pub judged: BTreeMap<String, Vec<Evidence>>,
}

impl CoverageFacts {
    /// Takes in that variants were judged.
    pub fn judge<'a>(&mut self, variants: impl Iterator<Item = &'a str>, evidence: &Evidence) {
        for variant in variants {
            match self.judged.get_mut(variant) {
                Some(known) => known.push(evidence.clone()),
                None => drop(self.judged.insert(variant.to_owned(), vec![evidence.clone()])),
            }
        }
    }

    /// Adds what another part of the run declared and judged; a case that both ran, such as a scan, counts once.
    pub fn absorb(&mut self, other: Self) {
        self.probes.extend(other.probes);
        self.variants.extend(other.variants);
        self.claimed.extend(other.claimed);
        self.settings.extend(other.settings);
        for (variant, evidence) in other.judged {
            let known = self.judged.entry(variant).or_default();
            known.extend(evidence);
            known.sort_unstable();
            known.dedup();
        }
    }

    fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for evidence in self.judged.values_mut().flatten() {
            evidence.case = change(&evidence.case);
        }
    }
}

impl ShardFacts {
    /// Adds another part.
    pub fn absorb(&mut self, other: Self) {
        self.total.absorb(other.total);
        for target in other.targets {
            match self.targets.iter_mut().find(|known| (&known.file, &known.server) == (&target.file, &target.server)) {
                Some(known) => known.facts.absorb(target.facts),
                None => self.targets.push(target),
            }
        }
        self.stale_snapshots.retain(|file| other.stale_snapshots.contains(file));
        for calls in other.calls {
            match self.calls.iter_mut().find(|known| (&known.file, &known.server) == (&calls.file, &calls.server)) {
                Some(known) => known.absorb(calls),
                None => self.calls.push(calls),
            }
        }
    }

    /// Changes every text that may hold a secret.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        self.total.change_texts(change);
        self.targets.iter_mut().for_each(|target| target.facts.change_texts(change));
        self.calls.iter_mut().for_each(|calls| calls.change_texts(change));
    }
}
