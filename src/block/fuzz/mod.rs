//! `fuzz:`, calls with generated arguments.
//!
//! [`cases`] plans a case for every tool; [`run`] makes its calls and judges them.

mod calls;
mod cases;
mod confirm;
mod drive;
mod hazards;
mod judge;
mod leak;
mod ledger;
mod problem;
mod replay;
mod run;
mod sequence;
mod tally;
mod token;
mod told;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Diagnostic, Node, parse_duration, template};
use crate::suite::{
    BlockReader, Suite, SuiteSettings, TOOLS, ToolSelection, duration, refuse_empty_list, selected_tools,
    tool_selection,
};

pub(super) static KIND: Kind = Kind {
    key: key("fuzz", Shape::Object(&KEYS), "Calls tools with generated arguments."),
    probes: &["fuzz"],
    example: Some("fuzz: { cases: 100 }"),
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "fuzz",
    doc: "Generated calls: a case for each tool, each with servers of its own.",
    keys: &[&[
        key("seed", Shape::Whole, "The seed, by default 0; the same seed gives the same calls."),
        key("cases", Shape::Whole, "The number of calls for each tool, by default 200 if no `time` is given."),
        key("time", Shape::Time, "How long each tool is called, such as `30s`; it ends with whichever comes first."),
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key("block", TOOLS, "Tools that are not called although they are selected: names and patterns."),
        key("in_flight", Shape::Whole, "The number of concurrent calls, 1 to 32, by default 8."),
        key(
            "max_string",
            Shape::Whole,
            "The longest text in characters, by default 4096; transports of servers refuse very long messages.",
        ),
        key("invalid", Shape::Number, "The share of calls that break the schema, from 0 to 1, by default 0.2."),
    ]],
};

/// Generated calls.
#[derive(Debug, Clone)]
struct Fuzz {
    /// Which tools.
    tools: ToolSelection,
    /// Tools that are not called, although they are selected.
    block: ToolSelection,
    /// What all draws follow from.
    seed: u64,
    /// How many calls for each tool; `None` where only the time counts.
    cases: Option<u64>,
    /// How long for each tool.
    time: Option<Duration>,
    /// How many calls are under way at a time.
    in_flight: usize,
    /// The longest text, in characters, where the schema does not ask for more.
    max_string: usize,
    /// How many of 100 calls break the schema.
    invalid: u32,
}

impl Fuzz {
    /// How many calls there are for each tool where nobody says.
    const CASES: u64 = 200;

    /// How many calls can be under way at a time.
    const MOST_IN_FLIGHT: u64 = 32;

    /// The longest text that can be asked for, in characters.
    const LONGEST: u64 = 16 << 20;
}

fn read(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    refuse_empty_list(node, "tools", "all tools are selected", reader.found());
    check_numbers(node, reader.found());
    let whole = |key: &str| node.get(key).and_then(Node::whole);
    let size = |key: &str, default: usize| whole(key).and_then(|n| usize::try_from(n).ok()).unwrap_or(default);
    let time = duration(node, "time");
    Some(Arc::new(Fuzz {
        tools: selected_tools(node, "tools"),
        block: tool_selection(node.get("block")),
        seed: whole("seed").unwrap_or(0),
        cases: whole("cases").or(if time.is_some() { None } else { Some(Fuzz::CASES) }),
        time,
        in_flight: size("in_flight", 8),
        max_string: size("max_string", 4 << 10),
        invalid: node.get("invalid").map_or(20, percent),
    }))
}

fn check_numbers(node: &Node, found: &mut Vec<Diagnostic>) {
    let bounds = [
        ("cases", 1, u64::MAX, "without calls nothing shows"),
        ("in_flight", 1, Fuzz::MOST_IN_FLIGHT, "calls under way at a time"),
        ("max_string", 1, Fuzz::LONGEST, "characters of a text"),
    ];
    for (key, least, most, what) in bounds {
        let Some(node) = node.get(key) else { continue };
        let Some(number) = node.whole() else { continue };
        if number < least {
            found.push(wrong(node, format!("`{key}` must be at least {least}: {what}")));
        } else if number > most {
            found.push(wrong(node, format!("`{key}` must be at most {most}: {what}")));
        }
    }
    if let Some(node) = node.get("invalid").filter(|node| !(0.0..=1.0).contains(&share(node))) {
        found.push(wrong(node, "`invalid` is a share of all calls, from 0 to 1".to_owned()));
    }
    if let Some(node) = node.get("time").filter(|node| node.text().is_some_and(is_none)) {
        found.push(wrong(node, "`time` must be more than nothing, such as `30s`".to_owned()));
    }
}

/// Whether a duration is no time at all.
fn is_none(text: &str) -> bool {
    parse_duration(text).is_some_and(|duration| duration.is_zero())
}

fn wrong(node: &Node, message: String) -> Diagnostic {
    Diagnostic::error("bad-number", message, node.span)
}

/// A share as how many of 100.
fn percent(node: &Node) -> u32 {
    (0..=100).find(|percent| f64::from(*percent) >= share(node) * 100.0).unwrap_or(100)
}

fn share(node: &Node) -> f64 {
    node.to_json().as_f64().unwrap_or_default()
}

impl SuiteSettings for Fuzz {
    /// Arguments that need what setup captures: fuzzed tools have servers of their own, whose captures are not filled in.
    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        let known: BTreeSet<String> =
            suite.variables.iter().map(|(name, _)| name.value.clone()).chain(["env".to_owned()]).collect();
        let captured: BTreeSet<String> =
            suite.setup.iter().flat_map(|step| &step.capture).map(|capture| capture.name.value.clone()).collect();
        let with_setup = known.union(&captured).cloned().collect();
        let misses = |args: &Node, known: &BTreeSet<String>| {
            let mut missing = Vec::new();
            template::check(args, known, &mut missing);
            !missing.is_empty()
        };
        for (tool, args) in &suite.arguments {
            if !self.calls(tool) || misses(args, &with_setup) || !misses(args, &known) {
                continue;
            }
            let message =
                format!("`fuzz` does not call `{tool}` with these arguments: they need what `setup` captures");
            let help = "fuzzed tools have servers of their own, whose captures are not filled in; give arguments without captures";
            found.push(Diagnostic::warning("captured-arguments", message, args.span).with_help(help.to_owned()));
        }
    }
}

impl CaseSource for Fuzz {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::AreCases
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool) && !self.block.selects(tool)
    }
}
