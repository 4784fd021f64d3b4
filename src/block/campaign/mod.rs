//! `campaign:`, tools that may change data crossed with faults: lost requests and answers, duplicates, late answers, errors,
//! garbage, and servers that are killed or stand still.
//!
//! `cases` plans a case for each tool and each `fault_kind` that fits it. A `subject` is a tool with a call of it that is
//! served; `clean` learns what that call does without faults, as a `pattern` of what is read before and after it, to which a
//! `comparison` holds later states. A `trial` strikes calls in a session of its own, ends the faults, and measures how soon the server answers again;
//! `check` compares what is read then, finds the smallest set of faults that breaks the server, and `written` makes a
//! test of it. `log` has the table.

mod cases;
mod check;
mod clean;
mod comparison;
mod fault_kind;
mod log;
mod pattern;
mod subject;
mod trial;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::event::{CaseResult, Section};
use crate::plan::planner::Planner;
use crate::plan::{Block, Case, CaseSource, Offer};
use crate::source::grammar::{Object, Shape, check as check_shape, key};
use crate::source::{Diagnostic, Node, SourceFile, Sources, Span, Value, parse};
use crate::suite::{BlockReader, SuiteSettings, TOOLS, ToolSelection, selected_tools, texts};

use self::fault_kind::{FaultKind, KIND_NAMES};
use self::log::CampaignLog;

/// The key of the block in suites.
pub const KEY: &str = "campaign";

pub(crate) static KIND: Kind = Kind {
    key: key(
        KEY,
        Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]),
        "Crosses tools that may change data with faults of the network, and compares what they have done.",
    ),
    probes: &["fault-recovery"],
    example: "campaign: { tools: \"create_*\", faults: [lost_response, duplicate_request] }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "campaign",
    doc: "Faults at calls of tools that may change data. Each call is one that a test of the suite makes, or a generated \
          one; `campaign: true` uses the defaults.",
    keys: &[&[
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `create_*`."),
        key(
            "faults",
            Shape::Set(&Shape::Choice(&KIND_NAMES)),
            "The kinds of faults, by default all of them; `duplicate_request` strikes only tools that say \
             `idempotentHint: true`, and `kill`, `kill_at_work` and `pause` only servers with a `command`.",
        ),
        key(
            "durable",
            Shape::Flag,
            "Whether what a call writes has to outlive the server's process; by default a clean end and a new start tell. \
             Without that, `kill` and `kill_at_work` strike nothing.",
        ),
        key(
            "together",
            Shape::Range(0, 8),
            "The number of faults that strike calls in a row, of tools that say `idempotentHint: true`; with 0 or 1 each \
             fault strikes alone.",
        )
        .default("3"),
        key("calls", Shape::Range(1, 1_000_000), "The most calls that all cases together make of tools.").default("5000"),
        key("seed", Shape::Whole, "The seed; the same seed draws the same sets of faults.").default("0"),
        key("max_time", Shape::Timeout, "The time for each case.").default("60s"),
    ]],
};

/// How tools are struck.
#[derive(Debug, Clone)]
struct Campaign {
    /// Where it is written.
    span: Span,
    tools: ToolSelection,
    faults: BTreeSet<FaultKind>,
    /// Whether these are all there are, because none are named.
    has_all_faults: bool,
    /// How many faults strike calls in a row.
    together: usize,
    /// Whether data has to outlive the server; `None` where that is to be found out.
    durable: Option<bool>,
    /// The most calls in all.
    calls: u64,
    seed: u64,
    max_time: Duration,
    log: Arc<CampaignLog>,
}

fn read(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(read_campaign(node)?))
}

fn read_campaign(node: &Node) -> Option<Campaign> {
    if !matches!(node.value, Value::Bool(true) | Value::Map(_)) {
        return None;
    }
    let faults: BTreeSet<FaultKind> =
        texts(node.get("faults")).iter().filter_map(|word| word.value.parse().ok()).collect();
    Some(Campaign {
        span: node.span,
        tools: selected_tools(node, "tools"),
        has_all_faults: faults.is_empty(),
        faults: if faults.is_empty() { FaultKind::ALL.into() } else { faults },
        together: KEYS.whole(node, "together").and_then(|count| usize::try_from(count).ok()).unwrap_or_default(),
        durable: node.get("durable").and_then(Node::flag),
        calls: KEYS.whole(node, "calls").unwrap_or_default(),
        seed: KEYS.whole(node, "seed").unwrap_or_default(),
        max_time: KEYS.duration(node, "max_time").unwrap_or_default(),
        log: Arc::default(),
    })
}

/// The block of a campaign whose settings are YAML from the command line; its cases have their place at `span`.
///
/// # Errors
///
/// Returns every mistake in the settings.
pub fn block_of_flags(settings: String, span: Span, sources: &mut Sources) -> Result<Block, Vec<Diagnostic>> {
    let id = sources.add(SourceFile::new("<flags>", settings));
    let node = parse(sources, id).map_err(|mistake| vec![mistake])?;
    let found = check_shape(&node, &Shape::Object(&KEYS));
    match read_campaign(&node) {
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

    fn section_of_cases(&self, _: &[CaseResult]) -> Vec<Section> {
        self.log.sections(self.seed)
    }
}
