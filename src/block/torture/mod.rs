//! `torture:`, many calls at a time, each with a text of its own, which shows what became of it.
//!
//! [`cases`] plans a case for each tool. A tool that may write is asked for as many writes one after another as at a time,
//! and both must show in what is read afterwards ([`updates`]); a tool that only reads must answer every call with the text
//! of that call ([`answers`]). Further cases kill the server in the middle of writes ([`durability`]), read answers late
//! ([`slow_reader`]), end the input early ([`half_closed`]), and walk lists at the same time ([`lists`]). Nothing is known of
//! what tools mean: [`reads`] finds by trying which reads show a write, [`writes`] makes them, [`judging`] compares concurrent ones
//! with others, [`faults`] says what is wrong with them, and [`canary`] makes the texts. [`clients`] makes the calls, bounded in number
//! and time.

mod answers;
mod burst;
mod canary;
mod cases;
mod clients;
mod durability;
mod echoes;
mod faults;
mod finding;
mod half_closed;
mod identifiers;
mod judging;
mod lists;
mod reads;
mod reproduction;
mod slow_reader;
mod unread_posts;
mod updates;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::check::CheckLimits;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::{Diagnostic, Located, Node, Span, Value};
use crate::suite::{BlockReader, Suite, SuiteSettings, TOOLS, ToolSelection, selected_tools, texts};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "torture",
        Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]),
        "Makes many calls at a time, and looks for lost writes and swapped answers.",
    ),
    probes: &[],
    example: "torture: { sessions: 8, calls: 16 }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "torture",
    doc: "Concurrent calls with unique texts. Every confirmed write must be visible afterwards, and every answer must \
          belong to its call; `torture: true` uses the defaults.",
    keys: &[&[
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `create_*`."),
        key(
            "sessions",
            Shape::Range(1, 256),
            "The number of concurrent sessions. A server that has one session only, as over stdio, gets the calls of all \
             of them in that one.",
        )
        .default("4"),
        key("calls", Shape::Range(1, 1_000), "The number of concurrent calls that each session makes of each tool.")
            .default("8"),
        key(
            "in_flight",
            Shape::Range(1, 64),
            "The number of calls of each session that are under way at a time; at most 512 in all sessions together.",
        )
        .default("4"),
        key("seed", Shape::Whole, "The seed; the same seed gives the same texts.").default("0"),
        key("max_time", Shape::Timeout, "The time for each case.").default("30s"),
        key(
            "checks",
            Shape::Set(&Shape::Choice(&["calls", "durability", "slow_reader", "half_closed", "lists"])),
            "What is checked, by default everything, or `calls` and `durability` if `tools` names some: concurrent calls of each tool; whether confirmed writes outlive a kill, \
             of a server that is started here and whose data is `scratch`; a client that reads its answers late; connections \
             whose input ends early; lists that several clients walk at once.",
        ),
        key(
            "pairs",
            Shape::NonEmpty(&Shape::List(&Shape::Object(&PAIR_KEYS))),
            "Tools that write, each with the tools that must show what it wrote; the reads of any other tool are found by \
             trying.",
        ),
    ]],
};

static PAIR_KEYS: Object = Object {
    name: "a pair",
    doc: "A tool that writes, and the tools that must show what it wrote.",
    keys: &[&[
        required("write", Shape::Text, "The tool that writes."),
        required(
            "read",
            Shape::Either(&[Shape::Text, Shape::Set(&Shape::Text)]),
            "The tool that reads, or a list of such tools. Their arguments are those of `arguments:`, the written text, or \
             members of the write's answer that have the same names.",
        ),
    ]],
};

/// How hard a server is tried.
#[derive(Debug, Clone)]
struct Torture {
    /// Where it is written.
    span: Span,
    tools: ToolSelection,
    sessions: usize,
    /// How many concurrent calls each session makes of each tool.
    calls: usize,
    /// How many of them are under way at a time.
    in_flight: usize,
    seed: u64,
    /// How long each tool is tried.
    max_time: Duration,
    checks: BTreeSet<TortureCheck>,
    pairs: Vec<WritePair>,
}

/// A way in which a server is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TortureCheck {
    /// Many calls of a tool at a time.
    Calls,
    /// Kills in the middle of writes.
    Durability,
    /// A client that reads its answers late.
    SlowReader,
    /// Connections whose input ends early.
    HalfClosed,
    /// Lists that several clients walk at once.
    Lists,
}

impl TortureCheck {
    const ALL: [Self; 5] = [Self::Calls, Self::Durability, Self::SlowReader, Self::HalfClosed, Self::Lists];

    /// The word in suites.
    fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Durability => "durability",
            Self::SlowReader => "slow_reader",
            Self::HalfClosed => "half_closed",
            Self::Lists => "lists",
        }
    }
}

/// A tool that writes, and the tools that must show what it wrote.
#[derive(Debug, Clone)]
struct WritePair {
    write: Located<String>,
    reads: Vec<Located<String>>,
}

fn read(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    if !matches!(node.value, Value::Bool(true) | Value::Map(_)) {
        return None;
    }
    let size = |key: &str| KEYS.whole(node, key).and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
    Some(Arc::new(Torture {
        span: node.span,
        tools: selected_tools(node, "tools"),
        sessions: size("sessions"),
        calls: size("calls"),
        in_flight: size("in_flight"),
        seed: KEYS.whole(node, "seed").unwrap_or_default(),
        max_time: KEYS.duration(node, "max_time").unwrap_or_default(),
        checks: read_checks(node),
        pairs: node.get("pairs").map(Node::items).unwrap_or_default().iter().filter_map(read_pair).collect(),
    }))
}

fn read_checks(node: &Node) -> BTreeSet<TortureCheck> {
    let written = node.get("checks").map(|checks| texts(Some(checks)));
    // Who names tools asks about those tools.
    let is_about_tools = |check: &TortureCheck| matches!(check, TortureCheck::Calls | TortureCheck::Durability);
    let is_meant = |check: &TortureCheck| match &written {
        Some(written) => written.iter().any(|word| word.value == check.as_str()),
        None => node.get("tools").is_none() || is_about_tools(check),
    };
    TortureCheck::ALL.into_iter().filter(is_meant).collect()
}

fn read_pair(node: &Node) -> Option<WritePair> {
    let write = node.get("write")?.located_text()?;
    let read = node.get("read")?;
    let reads = read.located_text().map_or_else(|| texts(Some(read)), |name| vec![name]);
    Some(WritePair { write, reads })
}

impl Torture {
    /// The pair that names a tool as one that writes.
    fn pair(&self, tool: &str) -> Option<&WritePair> {
        self.pairs.iter().find(|pair| pair.write.value == tool)
    }
}

impl Torture {
    fn limits(&self) -> CheckLimits {
        CheckLimits::new(self.max_time, "raise `max_time`, or lower `sessions` or `calls`")
    }
}

impl SuiteSettings for Torture {
    fn check(&self, _: &Suite, found: &mut Vec<Diagnostic>) {
        for (at, pair) in self.pairs.iter().enumerate() {
            let write = &pair.write;
            if self.pairs[..at].iter().any(|earlier| earlier.write.value == write.value) {
                let message = format!("`{}` is in an earlier pair already", write.value);
                let help = "write one pair for each tool, with a list of its reads: `read: [get_user, list_users]`";
                found.push(Diagnostic::error("duplicate-name", message, write.span).with_help(help.to_owned()));
            }
        }
    }
}

impl CaseSource for Torture {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        cases::JUDGES.map(str::to_owned).into()
    }

    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::BeginCases
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }
}
