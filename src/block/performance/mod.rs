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
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, settings};
use crate::suite::{BlockReader, SuiteSettings, ToolSelection};

use self::growth::GrowthBounds;
use self::measurement::{Bounds, LatencyBounds, Measurements};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "performance",
        Shape::Either(&[Load::SHAPE, Shape::List(&Load::SHAPE)]),
        "Bounds on the latency and throughput of tools under load; a list has different bounds for different tools.",
    ),
    probes: &[],
    example: "performance: { tools: [search], in_flight: 4, latency: { p95: 300ms } }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Calls each tool many times with valid arguments; a case fails if its tool breaks a bound.
    pub(crate) struct Load as "performance", at span {
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
        /// The number of measured calls for each tool.
        calls: usize => range(1, 10_000) default("100"),
        /// The time for each tool; with `calls`, the first limit ends the calls.
        time: Duration => default("10s"),
        /// The number of concurrent calls.
        in_flight: usize => range(1, 32) default("1"),
        /// The number of calls before the measurement, one after another.
        warm_up: usize => range(0, 1_000) default("3"),
        /// The longest time that calls may take.
        latency: Option<LatencyBounds> => alternative() cure(
            "add for example `latency: { p95: 300ms }` or `calls_per_second: 50`; without a bound nothing can fail"
        ),
        /// How much more the server's processes may hold after the calls.
        growth: Option<GrowthBounds> => alternative(),
        /// The smallest number of calls that must be served each second.
        calls_per_second: Option<f64> => range(1, u64::MAX) alternative(),
    }
}

/// Loads, each with tools and bounds.
#[derive(Debug)]
struct Performance {
    loads: Vec<Arc<Load>>,
    /// Filled by the cases of a run, for its section.
    measurements: Arc<Measurements>,
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let written = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
    let loads = written.iter().filter_map(|node| read_load(node, reader.mistakes())).collect();
    Some(Arc::new(Performance { loads, measurements: Arc::default() }))
}

fn read_load(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Arc<Load>> {
    let load = Load::decode(node, found)?;
    // Messages quote the bound, not the whole block.
    let bound = ["latency", "calls_per_second", "growth"].into_iter().find_map(|key| node.get(key));
    Some(Arc::new(Load { span: bound.unwrap_or(node).span, ..load }))
}

impl Load {
    fn bounds(&self) -> Bounds {
        Bounds::new(self.latency.as_ref(), self.calls_per_second)
    }

    /// The variants that its bounds judge.
    fn judges(&self) -> impl Iterator<Item = &'static str> {
        let slow = self.bounds().are_any().then_some("TIMEOUT-SLOW");
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

    /// Its section is about all of its cases.
    fn is_divisible(&self) -> bool {
        false
    }

    fn section_of_cases(&self, _: &[CaseResult]) -> Vec<Section> {
        self.measurements.sections()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::settings;

    #[test]
    fn a_load_judges_what_it_has_bounds_for() {
        for (load, expected) in [
            ("{ latency: { p95: 1s } }", &["TIMEOUT-SLOW"][..]),
            ("{ calls_per_second: 1 }", &["TIMEOUT-SLOW"]),
            ("{ growth: { files: 0 } }", &["STATE-RESOURCE-LEAK"]),
            ("{ growth: { files: 0 }, latency: { max: 1s } }", &["TIMEOUT-SLOW", "STATE-RESOURCE-LEAK"]),
        ] {
            let load: Load = settings(load);
            assert_eq!(load.judges().collect::<Vec<_>>(), expected, "{load:?}");
        }
    }
}
