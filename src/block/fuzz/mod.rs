//! `fuzz:`, calls with generated arguments.
//!
//! [`cases`] plans a case for every tool; [`run`] makes its calls and judges them.

mod answer_pool;
mod calls;
mod cases;
mod confirm;
mod counts;
mod crashing_tools;
mod drive;
mod finding;
mod judge;
mod problem;
mod problem_list;
mod replay;
mod run;
mod section;
mod state_leak;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::event::{CaseResult, Section};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Diagnostic, Node, template};
use crate::suite::{BlockReader, Suite, SuiteSettings, TOOLS, ToolSelection, duration, selected_tools, tool_selection};

pub(crate) static KIND: Kind = Kind {
    key: key("fuzz", Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]), "Calls tools with generated arguments."),
    probes: &["fuzz"],
    example: "fuzz: { cases: 100 }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "fuzz",
    doc: "Generated calls: a case for each tool, each with servers of its own.",
    keys: &[&[
        key("seed", Shape::Whole, "The seed; the same seed gives the same calls.").default("0"),
        key(
            "cases",
            Shape::Range(1, u64::MAX),
            "The number of calls for each tool, by default 200 if no `time` is given.",
        ),
        key(
            "time",
            Shape::Timeout,
            "The time for each tool, such as `30s`; with `cases`, the first limit ends the calls.",
        ),
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key("block", Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]), "Tools to exclude: names and patterns."),
        key("in_flight", Shape::Range(1, 32), "The number of concurrent calls.").default("8"),
        key(
            "max_string",
            Shape::Range(1, 16 << 20),
            "The maximum length of texts in characters; many servers refuse very long messages.",
        )
        .default("4096"),
        key("invalid", Shape::Share, "The share of calls that break the schema.").default("0.2"),
    ]],
};

/// Generated calls.
#[derive(Debug, Clone)]
struct Fuzz {
    /// Which tools.
    tools: ToolSelection,
    /// Tools that are not called, although they are selected.
    block: ToolSelection,
    /// The seed of all draws.
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
}

fn read(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let time = duration(node, "time");
    let size = |key: &str| KEYS.whole(node, key).and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
    Some(Arc::new(Fuzz {
        tools: selected_tools(node, "tools"),
        block: tool_selection(node.get("block")),
        seed: KEYS.whole(node, "seed").unwrap_or_default(),
        cases: node.get("cases").and_then(Node::whole).or(if time.is_some() { None } else { Some(Fuzz::CASES) }),
        time,
        in_flight: size("in_flight"),
        max_string: size("max_string"),
        invalid: KEYS.value(node, "invalid").as_ref().map_or(0, percent),
    }))
}

/// A share as how many of 100.
fn percent(share: &Node) -> u32 {
    let share = share.to_json().as_f64().unwrap_or_default();
    (0..=100).find(|percent| f64::from(*percent) >= share * 100.0).unwrap_or(100)
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
            let help = "fuzzed tools have servers of their own, whose captures are not filled in; give arguments \
                        without captures";
            found.push(Diagnostic::warning("captured-arguments", message, args.span).with_help(help.to_owned()));
        }
    }
}

impl CaseSource for Fuzz {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        cases::JUDGES.map(str::to_owned).into()
    }

    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::AreCases
    }

    fn keeps(&self, result: &CaseResult) -> bool {
        section::is_fuzzed(result)
    }

    fn section_of_cases(&self, results: &[CaseResult]) -> Vec<Section> {
        section::sections(self, results)
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool) && !self.block.selects(tool)
    }
}
