//! The exchanges of a recording that a mutant changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::recording::{RunRecording, TargetRecording};
use super::replay::MutatedReplies;
use crate::fault::{ExchangeHistory, Match, MessageExchange, NotApplied};
use crate::taxonomy::Mutant;
use crate::wire::Catalog;

/// A recorded lane, with what its server offers.
#[derive(Debug)]
pub(super) struct RecordedTarget<'a> {
    pub(super) name: &'a str,
    pub(super) recorded: &'a TargetRecording,
    pub(super) catalog: Catalog,
    pub(super) capabilities: Value,
}

/// The lanes of a recording.
pub(super) fn targets(recording: &RunRecording) -> Vec<RecordedTarget<'_>> {
    let lanes = recording.lanes.iter();
    lanes
        .map(|(name, recorded)| RecordedTarget {
            name,
            recorded,
            catalog: recorded.catalog(),
            capabilities: recorded.capabilities(),
        })
        .collect()
}

/// What an exchange is about: a tool, or else a method.
fn place_of(exchange: &MessageExchange) -> (String, String) {
    let method = exchange.method().unwrap_or_default().to_owned();
    (method, exchange.tool().unwrap_or_default().to_owned())
}

impl RecordedTarget<'_> {
    /// Where the server shows what a mutant would plant.
    fn shown(&self, shown_by: &Match) -> BTreeSet<(String, String)> {
        let known = self.known();
        let shown = (0..known.exchanges.len()).filter(|at| shown_by.holds(*at, &known));
        shown.map(|at| place_of(&known.exchanges[at])).collect()
    }

    /// The tool of that name, unless it is one that the server does not have.
    fn offered(&self, tool: Option<&str>) -> Option<String> {
        let mut tools = self.catalog.tools.iter();
        tool.filter(|name| tools.any(|tool| tool.name == **name)).map(str::to_owned)
    }

    pub(super) fn known(&self) -> ExchangeHistory<'_> {
        ExchangeHistory {
            catalog: &self.catalog,
            capabilities: &self.capabilities,
            exchanges: &self.recorded.exchanges,
        }
    }
}

/// A mutant in a recording.
#[derive(Debug, Default)]
pub(super) struct Injection {
    pub(super) sites: Vec<InjectionSite>,
    pub(super) changes: MutatedReplies,
    /// What is different at the first site.
    pub(super) change: Vec<String>,
    /// Whether it would strike somewhere and change nothing.
    pub(super) is_idle: bool,
    /// Why it could not be made where it would strike.
    pub(super) lacks: Option<String>,
    /// Where the healthy server does the same, so that nothing was injected there.
    pub(super) shown: Option<String>,
}

/// An exchange that a mutant changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InjectionSite {
    pub(super) lane: String,
    /// The index of the exchange in the lane.
    pub(super) at: usize,
    /// The case; empty for handshakes and discovery.
    pub(super) owner: String,
    /// The tool that is called there.
    pub(super) tool: Option<String>,
}

impl Injection {
    /// Injects a mutant into every exchange of these targets that it matches and whose case passed the baseline run.
    ///
    /// A tool at which the healthy server already shows the fault is left out; the other tools are not.
    pub(super) fn new(mutant: &Mutant, targets: &[&RecordedTarget<'_>], green: &BTreeSet<String>) -> Self {
        let mut injection = Self::default();
        let Some(fault) = &mutant.fault else { return injection };
        for target in targets {
            let shown = mutant.shown_by.as_ref().map(|shown_by| target.shown(shown_by)).unwrap_or_default();
            for (at, exchange) in target.recorded.exchanges.iter().enumerate() {
                // A suite's setup that goes wrong is no verdict on the server.
                let counts =
                    if exchange.owner.is_empty() { is_discovery(exchange) } else { green.contains(&exchange.owner) };
                if !counts || !fault.strikes(at, &target.known()) {
                    continue;
                }
                if shown.contains(&place_of(exchange)) {
                    injection.shown.get_or_insert_with(|| super::recording::title(exchange));
                    continue;
                }
                match fault.apply(at, &target.known()) {
                    Ok(struck) => {
                        if injection.sites.is_empty() {
                            injection.change = struck.change;
                        }
                        injection.sites.push(InjectionSite {
                            lane: target.name.to_owned(),
                            at,
                            owner: exchange.owner.clone(),
                            tool: target.offered(exchange.tool()),
                        });
                        injection.changes.entry(target.name.to_owned()).or_default().insert(at, struck.replies);
                    }
                    Err(NotApplied::NoChange) => injection.is_idle = true,
                    Err(NotApplied::NoMaterial(reason)) => drop(injection.lacks.get_or_insert(reason)),
                }
            }
        }
        injection
    }

    /// The tools in whose calls it is injected, each with its sites.
    pub(super) fn tools(&self) -> BTreeMap<String, Vec<&InjectionSite>> {
        let mut tools: BTreeMap<String, Vec<&InjectionSite>> = BTreeMap::new();
        for site in &self.sites {
            if let Some(tool) = &site.tool {
                tools.entry(tool.clone()).or_default().push(site);
            }
        }
        tools
    }

    /// Only the changes at those sites.
    pub(super) fn at(&self, sites: &[&InjectionSite]) -> MutatedReplies {
        let mut changes = MutatedReplies::new();
        for site in sites {
            if let Some(replies) = self.changes.get(&site.lane).and_then(|lane| lane.get(&site.at)) {
                changes.entry(site.lane.clone()).or_default().insert(site.at, replies.clone());
            }
        }
        changes
    }
}

/// Whether an exchange that belongs to no case is part of a handshake or of the question what is offered.
fn is_discovery(exchange: &MessageExchange) -> bool {
    let method = exchange.method().unwrap_or_default();
    matches!(method, "initialize" | "server/discover" | "notifications/initialized") || method.ends_with("/list")
}
