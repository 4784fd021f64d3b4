//! Blocks of later versions: what they ask for is planned and skipped, so that it is seen, and declares nothing.

use std::sync::Arc;

use crate::event::Reason;
use crate::plan::planner::{Planner, not_available};
use crate::plan::{Block, Body, Case, CaseSource, Offer};
use crate::source::Node;
use crate::source::grammar::{Key, Object, Shape, key, required};
use crate::suite::{BlockReader, SuiteSettings, skip_reason};

use super::Kind;

/// The cases of a block of a later version.
#[derive(Debug)]
struct Later(Vec<Item>);

/// One thing that is asked for.
#[derive(Debug)]
struct Item {
    name: Option<String>,
    /// Why it is not run, where the suite says so.
    skip: Option<String>,
    probes: Vec<&'static str>,
}

impl SuiteSettings for Later {}

impl CaseSource for Later {
    fn cases(&self, _: &Planner<'_>, _: &Case, _: &Offer<'_>) -> Vec<Case> {
        Vec::new()
    }

    /// One skipped case for each thing that is asked for.
    fn known_cases(&self, planner: &Planner<'_>, block: &Block) -> Option<Vec<Case>> {
        let skipped = self.0.iter().enumerate().map(|(number, item)| {
            let fallback =
                if self.0.len() > 1 { format!("{} {}", block.key, number + 1) } else { block.key.to_owned() };
            let name = item.name.as_ref().map_or(fallback, |name| format!("{}: {name}", block.key));
            let asked = item.skip.clone().map(Reason::SkippedBySuite).or_else(|| planner.passed_over());
            let reason = asked.unwrap_or_else(|| not_available(block.key));
            let mut case = planner.case(&name, None, block.span, Body::Skipped(reason));
            case.probes.extend(block.probes.iter().chain(&item.probes).map(|probe| (*probe).to_owned()));
            case
        });
        Some(skipped.collect())
    }
}

fn read(node: &Node, probes_of: fn(&Node) -> Vec<&'static str>) -> Arc<dyn CaseSource> {
    let items = match (node.items(), node.entries()) {
        ([], []) => Vec::new(),
        ([], _) => vec![node],
        (items, _) => items.iter().collect(),
    };
    let item = |item: &Node| Item {
        name: item.get("name").and_then(Node::text).map(str::to_owned),
        skip: skip_reason(item.get("skip")),
        probes: probes_of(item),
    };
    Arc::new(Later(items.into_iter().map(item).collect()))
}

fn read_any(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(read(node, |_| Vec::new()))
}

fn read_agents(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(read(node, |agent| {
        let has = |keys: &[&str]| keys.iter().any(|key| agent.get(key).is_some());
        let selects = has(&["trajectory", "golden_path", "distractors", "equal_function"]);
        let probes = [("tool-selection", selects), ("fault-recovery", has(&["inject", "recovery"]))];
        probes.into_iter().filter(|(_, plans)| *plans).map(|(probe, _)| probe).collect()
    }))
}

const fn later(key: &Key, probes: &'static [&'static str]) -> Kind {
    Kind { key: *key, probes, example: None, read: read_any, read_in_test: None }
}

pub(super) static AGENTS: Kind = Kind {
    read: read_agents,
    ..later(
        &key(
            "agents",
            Shape::List(&Shape::Object(&AGENT_KEYS)),
            "Agents that must reach a goal with the server's tools; planned and skipped in this version.",
        ),
        &["agent"],
    )
};

static AGENT_KEYS: Object = Object {
    name: "an agent",
    doc: "An agent that must reach a goal with the server's tools.",
    keys: &[&[
        required("name", Shape::Text, "A name for reports."),
        key("provider", Shape::Any, "The provider of the model."),
        key("prompt", Shape::Text, "The goal."),
        key("inject", Shape::List(&Shape::Text), "Faults of `faults:` to plant."),
        key("recovery", Shape::Any, "How soon the agent must recover."),
        key("trajectory", Shape::Any, "The calls that it must make."),
        key("golden_path", Shape::Any, "The good sequences of calls."),
        key("distractors", Shape::Any, "Tools that it must leave alone."),
        key("equal_function", Shape::Any, "Tools that are equally good."),
        key("expect", Shape::Any, "Expectations of the end."),
        key("skip", Shape::Either(&[Shape::Text, Shape::Flag]), "The reason why it is not run."),
        key("tags", Shape::List(&Shape::Text), "Words to select it by."),
    ]],
};
