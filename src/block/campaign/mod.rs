//! `campaign:`, tools that may change data crossed with faults: lost requests and answers, duplicates, late answers, errors,
//! garbage, and servers that are killed or stand still.
//!
//! `cases` plans a case for each tool and each `fault_kind` that fits it. A `subject` is a tool with a call of it that is
//! served, an `effect` what such calls may do; `clean` holds what the call does without faults, as a `pattern` of what is read
//! before and after it, to which a `comparison` holds later states. A `trial` strikes calls in a session of its own, ends
//! the faults, and measures how soon the server answers again; `check` compares what is read then, finds the smallest set
//! of faults that breaks the server, and `written` makes a test of it. `log` has the table.

mod cases;
mod check;
mod clean;
mod comparison;
mod effect;
mod fault_kind;
mod log;
mod pattern;
mod reproduction_test;
mod subject;
mod trial;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::event::{CaseResult, Section};
use crate::plan::planner::Planner;
use crate::plan::{Block, Case, CaseSource, Offer};
use crate::source::grammar::{Shape, check as check_shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, SourceFile, Sources, Span, parse, settings};
use crate::suite::{BlockReader, SuiteSettings, ToolSelection};

use self::fault_kind::FaultKind;
use self::log::CampaignLog;

/// The key of the block in suites.
pub const KEY: &str = "campaign";

pub(crate) static KIND: Kind = Kind {
    key: key(
        KEY,
        Shape::Either(&[Shape::Flag, Shape::Object(&Campaign::KEYS)]),
        "Crosses tools that may change data with faults of the network, and compares what they have done.",
    ),
    probes: &["fault-recovery"],
    example: "campaign: { tools: \"create_*\", faults: [lost_response, duplicate_request] }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Faults at calls of tools that may change data. Each call is one that a test of the suite makes, or a generated
    /// one; `campaign: true` uses the defaults.
    struct Campaign as "campaign", at span {
        /// The tools: all by default, or a list of names and patterns such as `create_*`.
        tools: ToolSelection,
        /// The kinds of faults, by default all of them; `duplicate_request` and `retry_storm` strike only tools that say
        /// `idempotentHint: true`, and `kill`, `kill_at_work` and `pause` only servers with a `command`.
        faults: BTreeSet<FaultKind>,
        /// Whether what a call writes has to outlive the server's process; by default a clean end and a new start tell.
        /// Without that, `kill` and `kill_at_work` strike nothing.
        durable: Option<bool>,
        /// The number of faults that strike calls in a row, of tools that say `idempotentHint: true`; with 0 or 1 each
        /// fault strikes alone.
        together: usize => range(0, 8) default("3"),
        /// The most calls that all cases together make of tools.
        calls: usize => range(1, 1_000_000) default("5000"),
        /// The seed; the same seed draws the same sets of faults.
        seed: u64 => default("0"),
        /// The time for each case.
        max_time: Duration => default("60s"),
    } with {
        /// The suite names no faults, so that all are tried.
        has_all_faults: bool,
        log: Arc<CampaignLog>,
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(read_campaign(node, reader.mistakes())?))
}

fn read_campaign(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Campaign> {
    let mut campaign = Campaign::decode(node, found)?;
    if campaign.faults.is_empty() {
        campaign.has_all_faults = true;
        campaign.faults = FaultKind::ALL.into();
    }
    Some(campaign)
}

/// The block of a campaign whose settings are YAML from the command line; its cases have their place at `span`.
///
/// # Errors
///
/// Returns every mistake in the settings.
pub fn block_of_flags(settings: String, span: Span, sources: &mut Sources) -> Result<Block, Vec<Diagnostic>> {
    let id = sources.add(SourceFile::new("<flags>", settings));
    let node = parse(sources, id).map_err(|mistake| vec![mistake])?;
    let mut found = check_shape(&node, &Shape::Object(&Campaign::KEYS));
    match read_campaign(&node, &mut found) {
        Some(campaign) if found.is_empty() => Ok(Block {
            key: KIND.key.name,
            span,
            probes: KIND.probes,
            test: None,
            settings: Arc::new(Campaign { span, ..campaign }),
        }),
        _ => Err(found),
    }
}

impl SuiteSettings for Campaign {}

impl CaseSource for Campaign {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        cases::JUDGES.map(str::to_owned).into()
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }

    /// Its section is about all of its cases.
    fn is_divisible(&self) -> bool {
        false
    }

    fn section_of_cases(&self, _: &[CaseResult]) -> Vec<Section> {
        self.log.sections(self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;

    #[test]
    fn a_campaign_without_faults_tries_all_of_them() {
        for (settings, count, has_all) in [
            ("true", FaultKind::ALL.len(), true),
            ("{ seed: 1 }", FaultKind::ALL.len(), true),
            ("{ faults: [kill] }", 1, false),
        ] {
            let campaign = read_campaign(&node(settings), &mut Vec::new()).unwrap();
            assert_eq!((campaign.faults.len(), campaign.has_all_faults), (count, has_all), "{settings}");
        }
    }

    #[test]
    fn every_mistake_in_flags_is_reported() {
        for (flags, expected) in [
            ("{ seed: 1 }", 0),
            ("{ fault: [kill] }", 1),
            ("{ faults: [murder] }", 1),
            ("{ faults: [murder], together: 99 }", 2),
            ("{ faults: [", 1),
        ] {
            let found = block_of_flags(flags.to_owned(), node("x").span, &mut Sources::default()).err();
            assert_eq!(found.map_or(0, |found| found.len()), expected, "{flags}");
        }
    }
}
