//! `state:`, texts that one session or run writes and another one must not see.
//!
//! [`cases`] plans a case for each kind of isolation; [`check`] opens the sessions and comes to a verdict. [`caller`] puts
//! [`canary`] texts into arguments, [`visit`] sends them and collects what a session shows, [`finding`] words the
//! leaks, and [`verdict`] says what follows where there are none.
//!
//! A server may share its data by design, so a leak fails only if the suite says that the data is isolated, or if no
//! server could mean it; everything else is a warning. See [`IsolationKind`] and [`finding::Claim`].

mod caller;
pub(super) mod canary;
mod cases;
mod check;
mod finding;
mod verdict;
pub(super) mod visit;

pub(super) use self::canary::RandomCanaries;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Node, Span, Value};
use crate::suite::{BlockReader, SuiteSettings, TOOLS, ToolSelection, selected_tools, texts, tool_selection};

pub(super) static KIND: Kind = Kind {
    key: key(
        "state",
        Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]),
        "Writes texts in one session or run, and looks for them in another one.",
    ),
    probes: &["test-isolation"],
    example: Some("state: { isolation: [sessions], shared: [publish_note] }"),
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "state",
    doc: "Texts that one session or run writes and another one must not see; `state: true` looks at sessions, and warns of \
          data that may be shared by design.",
    keys: &[&[
        key(
            "isolation",
            Shape::Set(&Shape::Choice(&["sessions", "runs"])),
            "The isolation that the server promises: a text of one session that another session shows, or a text of one \
             run that the next run shows, is a failure. By default sessions are looked at, and data that a tool stores is \
             a warning, since a server may share it by design.",
        ),
        key(
            "shared",
            TOOLS,
            "Tools whose data is meant to be shared: others may see what these tools write, and these tools may show what \
             others wrote. Names and patterns such as `publish_*`.",
        ),
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key("time", Shape::Timeout, "The time for each kind of isolation.").default("60s"),
    ]],
};

/// The texts to look for, and the tools to look with.
#[derive(Debug, Clone)]
struct StateSettings {
    span: Span,
    isolation: BTreeSet<IsolationKind>,
    /// Whether the suite names the isolation, so that the server promises it.
    is_promised: bool,
    shared: ToolSelection,
    tools: ToolSelection,
    time: Duration,
}

/// Two places that must not see one another's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum IsolationKind {
    /// Two sessions of one server, or two of its processes where a process has one session.
    Sessions,
    /// A server, and the one that is started after its end.
    Runs,
}

impl IsolationKind {
    const ALL: [Self; 2] = [Self::Sessions, Self::Runs];

    /// The word in suites and in names of cases.
    fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Runs => "runs",
        }
    }

    /// The variant that its case judges.
    fn judges(self) -> &'static str {
        match self {
            Self::Sessions => "STATE-CROSS-SESSION-LEAK",
            Self::Runs => "STATE-CROSS-RUN-LEAK",
        }
    }
}

fn read(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    if !matches!(node.value, Value::Bool(true) | Value::Map(_)) {
        return None;
    }
    let written = texts(node.get("isolation"));
    let is_written = |isolation: &IsolationKind| written.iter().any(|word| word.value == isolation.as_str());
    let isolation: BTreeSet<IsolationKind> = IsolationKind::ALL.into_iter().filter(is_written).collect();
    Some(Arc::new(StateSettings {
        span: node.span,
        is_promised: !isolation.is_empty(),
        isolation: if isolation.is_empty() { [IsolationKind::Sessions].into() } else { isolation },
        shared: tool_selection(node.get("shared")),
        tools: selected_tools(node, "tools"),
        time: KEYS.duration(node, "time").unwrap_or_default(),
    }))
}

impl SuiteSettings for StateSettings {}

impl CaseSource for StateSettings {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        self.isolation.iter().map(|isolation| isolation.judges().to_owned()).collect()
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }
}
