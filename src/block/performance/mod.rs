//! `performance:`, calls per second and latency of tools under load, and what the server holds on to, with bounds that fail.
//!
//! [`cases`] plans a case for each tool; [`check`] makes its calls; [`measurement`] makes figures of their times, and
//! compares them with the bounds; `growth` does so with what the processes of the server hold. The load is bounded in calls and in time. A refused call is no measurement: a refusal is
//! quick, and says nothing about how fast a tool serves.

mod cases;
mod check;
mod growth;
pub(crate) mod measurement;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::event::{CaseResult, Section};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Object, Shape, alternative, key};
use crate::source::{Node, Span};
use crate::suite::{BlockReader, SuiteSettings, TOOLS, ToolSelection, selected_tools};

use self::growth::GrowthBounds;
use self::measurement::{Bounds, Measurements};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "performance",
        Shape::Either(&[Shape::Object(&KEYS), Shape::List(&Shape::Object(&KEYS))]),
        "Bounds on the latency and throughput of tools under load; a list has different bounds for different tools.",
    ),
    probes: &[],
    example: "performance: { tools: [search], in_flight: 4, latency: { p95: 300ms } }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "performance",
    doc: "Calls each tool many times with valid arguments; a case fails if its tool breaks a bound.",
    keys: &[&[
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key("calls", Shape::Range(1, 10_000), "The number of measured calls for each tool.").default("100"),
        key("time", Shape::Timeout, "The time for each tool; with `calls`, the first limit ends the calls.")
            .default("10s"),
        key("in_flight", Shape::Range(1, 32), "The number of concurrent calls.").default("1"),
        key("warm_up", Shape::Range(0, 1_000), "The number of calls before the measurement, one after another.")
            .default("3"),
        alternative("latency", Shape::Object(&LATENCY), "The longest time that calls may take.").cure(
            "add for example `latency: { p95: 300ms }` or `calls_per_second: 50`; without a bound nothing can fail",
        ),
        alternative("growth", Shape::Object(&GROWTH), "How much more the server's processes may hold after the calls."),
        alternative(
            "calls_per_second",
            Shape::Range(1, u64::MAX),
            "The smallest number of calls that must be served each second.",
        ),
    ]],
};

static GROWTH: Object = Object {
    name: "a bound on growth",
    doc: "How much more all processes of the server may hold after the measured calls than after the warm-up; on Linux, \
          and for servers with a `command`.",
    keys: &[&[
        alternative("memory_mib", Shape::Range(0, 1_000_000), "Resident memory, in MiB.")
            .cure("add for example `memory_mib: 50`"),
        alternative("files", Shape::Range(0, 1_000_000), "Open files, sockets and pipes."),
        alternative("processes", Shape::Range(0, 1_000_000), "Processes."),
    ]],
};

static LATENCY: Object = Object {
    name: "a bound on latency",
    doc: "The longest time that a share of the calls may take, by nearest rank.",
    keys: &[&[
        alternative("p50", Shape::Timeout, "For half of the calls.").cure("add for example `p95: 300ms`"),
        alternative("p95", Shape::Timeout, "For 95 of 100 calls."),
        alternative("p99", Shape::Timeout, "For 99 of 100 calls."),
        alternative("max", Shape::Timeout, "For every call."),
    ]],
};

/// Loads, each with tools and bounds.
#[derive(Debug)]
struct Performance {
    loads: Vec<Arc<Load>>,
    /// Filled by the cases of a run, for its section.
    measurements: Arc<Measurements>,
}

/// How tools are called, and the bounds that they must keep.
#[derive(Debug)]
pub(crate) struct Load {
    /// The bounds, as they are written.
    span: Span,
    tools: ToolSelection,
    /// How many calls of each tool are measured.
    calls: usize,
    /// How long each tool is called.
    time: Duration,
    in_flight: usize,
    warm_up: usize,
    bounds: Bounds,
    /// Where it is bounded.
    growth: Option<GrowthBounds>,
}

fn read(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let written = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
    let loads = written.iter().map(|load| Arc::new(read_load(load))).collect();
    Some(Arc::new(Performance { loads, measurements: Arc::default() }))
}

fn read_load(node: &Node) -> Load {
    let size = |key: &str| KEYS.whole(node, key).and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
    let bound = ["latency", "calls_per_second", "growth"].into_iter().find_map(|key| node.get(key));
    Load {
        span: bound.unwrap_or(node).span,
        tools: selected_tools(node, "tools"),
        calls: size("calls"),
        time: KEYS.duration(node, "time").unwrap_or_default(),
        in_flight: size("in_flight"),
        warm_up: size("warm_up"),
        bounds: Bounds::read(node),
        growth: node.get("growth").map(GrowthBounds::read),
    }
}

impl Load {
    /// The variants that its bounds judge.
    fn judges(&self) -> impl Iterator<Item = &'static str> {
        let slow = self.bounds.are_any().then_some("TIMEOUT-SLOW");
        slow.into_iter().chain(self.growth.as_ref().map(|_| "STATE-RESOURCE-LEAK"))
    }
}

impl SuiteSettings for Performance {}

impl CaseSource for Performance {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        let of_load = |load| cases::cases(planner, template, load, &self.measurements, offer.catalog);
        self.loads.iter().flat_map(of_load).collect()
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        self.loads.iter().flat_map(|load| load.judges()).map(str::to_owned).collect()
    }

    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::BeginCases
    }

    fn calls(&self, tool: &str) -> bool {
        self.loads.iter().any(|load| load.tools.selects(tool))
    }

    fn section_of_cases(&self, _: &[CaseResult]) -> Vec<Section> {
        self.measurements.sections()
    }
}
