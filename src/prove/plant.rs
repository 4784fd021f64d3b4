//! Where a mutant can be planted in a recording, and what is different there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::recording::{LaneRecording, Recording};
use super::replay::Changes;
use crate::fault::{Exchange, Fault, Known, Match, Missed};
use crate::wire::Catalog;

/// A recorded lane, with what its server offers.
#[derive(Debug)]
pub(super) struct Bed<'a> {
    pub(super) name: &'a str,
    pub(super) recorded: &'a LaneRecording,
    pub(super) catalog: Catalog,
    pub(super) capabilities: Value,
}

/// The lanes of a recording.
pub(super) fn beds(recording: &Recording) -> Vec<Bed<'_>> {
    let lanes = recording.lanes.iter();
    lanes
        .map(|(name, recorded)| Bed {
            name,
            recorded,
            catalog: recorded.catalog(),
            capabilities: recorded.capabilities(),
        })
        .collect()
}

/// What an exchange is about: a tool, or else a method.
fn place_of(exchange: &Exchange) -> (String, String) {
    let method = exchange.method().unwrap_or_default().to_owned();
    (method, exchange.tool().unwrap_or_default().to_owned())
}

impl Bed<'_> {
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

    pub(super) fn known(&self) -> Known<'_> {
        Known { catalog: &self.catalog, capabilities: &self.capabilities, exchanges: &self.recorded.exchanges }
    }
}

/// A mutant in a recording.
#[derive(Debug, Default)]
pub(super) struct Planted {
    pub(super) places: Vec<Place>,
    pub(super) changes: Changes,
    /// What is different at the first place.
    pub(super) change: Vec<String>,
    /// Whether it would strike somewhere and change nothing.
    pub(super) is_idle: bool,
    /// Why it could not be made where it would strike.
    pub(super) lacks: Option<String>,
    /// Where the healthy server does the same, so that nothing was planted there.
    pub(super) shown: Option<String>,
}

/// An exchange that a mutant changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lane: String,
    /// The index of the exchange in the lane.
    pub(super) at: usize,
    /// The case; empty for handshakes and discovery.
    pub(super) owner: String,
    /// The tool that is called there.
    pub(super) tool: Option<String>,
}

impl Planted {
    /// Plants a fault everywhere in these lanes, but for cases that cannot kill.
    ///
    /// What a healthy server shows at one tool says nothing of its others, so the mutant is left out at that tool only.
    pub(super) fn new(
        (fault, shown_by): (&Fault, Option<&Match>),
        beds: &[&Bed<'_>],
        green: &BTreeSet<String>,
    ) -> Self {
        let mut planted = Self::default();
        for bed in beds {
            let shown = shown_by.map(|shown_by| bed.shown(shown_by)).unwrap_or_default();
            for (at, exchange) in bed.recorded.exchanges.iter().enumerate() {
                // A suite's setup that goes wrong is no verdict on the server.
                let counts =
                    if exchange.owner.is_empty() { is_discovery(exchange) } else { green.contains(&exchange.owner) };
                if !counts || !fault.strikes(at, &bed.known()) {
                    continue;
                }
                if shown.contains(&place_of(exchange)) {
                    planted.shown.get_or_insert_with(|| super::recording::title(exchange));
                    continue;
                }
                match fault.apply(at, &bed.known()) {
                    Ok(struck) => {
                        if planted.places.is_empty() {
                            planted.change = struck.change;
                        }
                        planted.places.push(Place {
                            lane: bed.name.to_owned(),
                            at,
                            owner: exchange.owner.clone(),
                            tool: bed.offered(exchange.tool()),
                        });
                        planted.changes.entry(bed.name.to_owned()).or_default().insert(at, struck.replies);
                    }
                    Err(Missed::Nothing) => planted.is_idle = true,
                    Err(Missed::NoMaterial(reason)) => drop(planted.lacks.get_or_insert(reason)),
                }
            }
        }
        planted
    }

    /// The tools in whose calls it is planted, each with its places.
    pub(super) fn tools(&self) -> BTreeMap<String, Vec<&Place>> {
        let mut tools: BTreeMap<String, Vec<&Place>> = BTreeMap::new();
        for place in &self.places {
            if let Some(tool) = &place.tool {
                tools.entry(tool.clone()).or_default().push(place);
            }
        }
        tools
    }

    /// Only the changes at those places.
    pub(super) fn at(&self, places: &[&Place]) -> Changes {
        let mut changes = Changes::new();
        for place in places {
            if let Some(replies) = self.changes.get(&place.lane).and_then(|lane| lane.get(&place.at)) {
                changes.entry(place.lane.clone()).or_default().insert(place.at, replies.clone());
            }
        }
        changes
    }
}

/// Whether an exchange that belongs to no case is part of a handshake or of the question what is offered.
fn is_discovery(exchange: &Exchange) -> bool {
    let method = exchange.method().unwrap_or_default();
    matches!(method, "initialize" | "server/discover" | "notifications/initialized") || method.ends_with("/list")
}
