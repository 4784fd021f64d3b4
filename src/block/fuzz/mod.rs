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

use self::section::FuzzLog;
use super::Kind;
use crate::event::{CaseResult, Section};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, settings};
use crate::suite::{BlockReader, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "fuzz",
        Shape::Either(&[Shape::Flag, Shape::Object(&Fuzz::KEYS)]),
        "Calls tools with generated arguments.",
    ),
    probes: &["fuzz"],
    example: "fuzz: { cases: 100 }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Generated calls: a case for each tool, each with servers of its own.
    struct Fuzz as "fuzz" {
        /// The seed; the same seed gives the same calls.
        seed: u64 => default("0"),
        /// The number of calls for each tool, by default 200 if no `time` is given.
        cases: Option<u64> => range(1, u64::MAX),
        /// The time for each tool, such as `30s`; with `cases`, the first limit ends the calls.
        time: Option<Duration>,
        /// The time for a tool of which most calls took half a second or more in other cases, such as `3s`.
        slow_time: Option<Duration>,
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
        /// Tools to exclude: names and patterns.
        block: Option<ToolSelection> => shape(Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)])),
        /// The number of concurrent calls.
        in_flight: usize => range(1, 32) default("8"),
        /// The maximum length of texts in characters; many servers refuse very long messages.
        max_string: usize => range(1, 16 << 20) default("4096"),
        /// Lets numbers that ask for amounts, such as `limit`, be as large as the schema allows; otherwise they stay
        /// small.
        large: bool => default("false"),
        /// The share of calls that break the schema.
        invalid: Percent => default("0.2"),
    } with {
        log: Arc<FuzzLog>,
    }
}

impl Fuzz {
    /// The number of calls for each tool where neither `cases` nor `time` is given.
    const CASES: u64 = 200;

    /// A tool is not called, although it may be selected.
    fn excludes(&self, tool: &str) -> bool {
        self.block.as_ref().is_some_and(|block| block.selects(tool))
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let mut fuzz = Fuzz::decode(node, reader.mistakes())?;
    if fuzz.time.is_none() {
        fuzz.cases.get_or_insert(Fuzz::CASES);
    }
    Some(Arc::new(fuzz))
}

/// A share as a number of 100.
#[derive(Debug, Clone, Copy)]
struct Percent(u32);

impl Setting for Percent {
    const SHAPE: Shape = Shape::Share;

    fn decode(share: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        let share = share.to_json().as_f64()?;
        // 7 % may be written as 0.07, which is a little more.
        Some(Self((0..=100).find(|percent| f64::from(*percent) >= share * 100.0 - 1e-9).unwrap_or(100)))
    }
}

impl SuiteSettings for Fuzz {}

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
        self.log.tool_of(result).is_some()
    }

    fn section_of_cases(&self, results: &[CaseResult]) -> Vec<Section> {
        section::sections(self, results)
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool) && !self.excludes(tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::{node, settings};

    #[test]
    fn a_share_is_its_number_of_100_and_more_than_none() {
        for (written, expected) in
            [("0", 0), ("0.07", 7), ("0.14", 14), ("0.29", 29), ("0.55", 55), ("0.001", 1), ("0.201", 21), ("1", 100)]
        {
            let share = Percent::decode(&node(written), &mut Vec::new());
            assert_eq!(share.map(|share| share.0), Some(expected), "{written}");
        }
    }

    #[test]
    fn tools_are_called_that_are_selected_and_not_blocked() {
        for (text, tool, expected) in [
            ("{}", "get_user", true),
            ("{ tools: [get_*] }", "get_user", true),
            ("{ tools: [get_*] }", "add_user", false),
            ("{ block: get_user }", "get_user", false),
            ("{ tools: [get_*], block: [get_user] }", "get_user", false),
            ("{ tools: [get_*], block: [get_user] }", "get_note", true),
        ] {
            let fuzz: Fuzz = settings(text);
            assert_eq!(fuzz.calls(tool), expected, "{text} {tool}");
        }
    }
}
