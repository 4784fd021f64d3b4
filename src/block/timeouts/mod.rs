//! `timeouts:`, slow calls: they can be cancelled, delay no other call, and keep no server from ending.
//!
//! [`cases`] plans a case for each [`SlowCallAspect`], which [`check`] runs: [`cancellation`], [`disconnection`], [`other_calls`] and [`shutdown`].
//! [`slow_call`] finds a slow call and measures it, [`finding`] shows them.
//!
//! The time of the slow call alone is the measure of all others: no check compares a time with a fixed limit, except
//! `grace`, so a busy machine makes a check slower and no verdict wrong. The specification recommends most of this with
//! SHOULD, so findings are warnings unless the suite requires the check.

mod cancellation;
mod cases;
mod check;
mod disconnection;
mod finding;
mod late;
mod other_calls;
mod shutdown;
mod slow_call;
mod state;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use self::slow_call::SlowCalls;
use super::Kind;
use crate::check::CheckLimits;
use crate::event::RequirementLevel;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Located, Node, Span, Value};
use crate::suite::{BlockReader, SuiteSettings, TOOLS, ToolSelection, selected_tools, texts};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "timeouts",
        Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]),
        "Cancels a slow call, makes other calls meanwhile, and ends the server in the middle of it.",
    ),
    probes: &["fault-recovery"],
    example: "timeouts: { slow_tool: export, args: { seconds: 2 }, required: [cancellation] }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "timeouts",
    doc: "A slow call can be cancelled, delays no other call, and keeps no server from ending; `timeouts: true` uses the \
          slowest tool that it finds.",
    keys: &[&[
        key(
            "slow_tool",
            Shape::Text,
            "The tool whose calls take long, best between one second and three; by default the slowest that may be called.",
        ),
        key("args", Shape::Map(&Shape::Any), "Its arguments; by default those of `arguments:`, or generated ones.")
            .beside(&["slow_tool"]),
        key(
            "state",
            Shape::Text,
            "A tool that shows the effect of the slow call: a cancelled call must change nothing more.",
        )
        .beside(&["slow_tool"]),
        key(
            "tools",
            TOOLS,
            "The tools that may be used, as the slow or the quick one: all by default, or a list of names and patterns.",
        ),
        key(
            "required",
            Shape::Set(&Shape::Choice(&["cancellation", "disconnection", "other_calls", "shutdown"])),
            "The checks that the server must pass: a finding of theirs fails. By default it is a warning, except for a \
             cancellation that harms the server, since the specification recommends the rest and does not demand it.",
        ),
        key("grace", Shape::Timeout, "The time for the server to exit, and then for its children.").default("5s"),
        key("max_time", Shape::Timeout, "The time for each check.").default("60s"),
    ]],
};

/// The settings of the block.
#[derive(Debug, Clone)]
struct TimeoutSettings {
    span: Span,
    slow_tool: Option<Located<String>>,
    args: Option<Node>,
    state: Option<Located<String>>,
    tools: ToolSelection,
    required: BTreeSet<SlowCallAspect>,
    grace: Duration,
    max_time: Duration,
    /// Found and measured once for each server and revision.
    slow_calls: Arc<SlowCalls>,
}

/// An aspect of slow calls that is checked, each by a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SlowCallAspect {
    /// A cancelled call ends, and the server goes on.
    Cancellation,
    /// Over HTTP up to 2025-11-25, a closed response does not cancel.
    Disconnection,
    /// Other calls are answered meanwhile.
    OtherCalls,
    /// The server ends when it is told to.
    Shutdown,
}

impl SlowCallAspect {
    const ALL: [Self; 4] = [Self::Cancellation, Self::Disconnection, Self::OtherCalls, Self::Shutdown];

    /// The word in suites.
    fn as_str(self) -> &'static str {
        match self {
            Self::Cancellation => "cancellation",
            Self::Disconnection => "disconnection",
            Self::OtherCalls => "other_calls",
            Self::Shutdown => "shutdown",
        }
    }

    /// The variants that its case judges.
    fn judges(self) -> &'static [&'static str] {
        match self {
            Self::Cancellation => &["TIMEOUT-CANCEL-IGNORED", "TIMEOUT-CANCEL-REPLY", "TIMEOUT-CANCEL-FATAL"],
            Self::Disconnection => &[],
            Self::OtherCalls => &["TIMEOUT-BLOCKED-LOOP"],
            Self::Shutdown => &["TIMEOUT-NO-SHUTDOWN"],
        }
    }
}

impl TimeoutSettings {
    fn limits(&self) -> CheckLimits {
        let advice = "raise `max_time`, or give `slow_tool` arguments with which it takes a second or two";
        CheckLimits::new(self.max_time, advice)
    }

    /// How binding a check is.
    fn level(&self, aspect: SlowCallAspect) -> RequirementLevel {
        if self.required.contains(&aspect) { RequirementLevel::Must } else { RequirementLevel::Should }
    }
}

fn read(node: &Node, _: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    if !matches!(node.value, Value::Bool(true) | Value::Map(_)) {
        return None;
    }
    let written = texts(node.get("required"));
    let is_required = |aspect: &SlowCallAspect| written.iter().any(|word| word.value == aspect.as_str());
    Some(Arc::new(TimeoutSettings {
        span: node.span,
        slow_tool: node.get("slow_tool").and_then(Node::located_text),
        args: node.get("args").cloned(),
        state: node.get("state").and_then(Node::located_text),
        tools: selected_tools(node, "tools"),
        required: SlowCallAspect::ALL.into_iter().filter(is_required).collect(),
        grace: KEYS.duration(node, "grace").unwrap_or_default(),
        max_time: KEYS.duration(node, "max_time").unwrap_or_default(),
        slow_calls: Arc::default(),
    }))
}

impl SuiteSettings for TimeoutSettings {}

impl CaseSource for TimeoutSettings {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        let judged = SlowCallAspect::ALL.into_iter().flat_map(SlowCallAspect::judges);
        judged.map(|variant| (*variant).to_owned()).collect()
    }

    /// With a named tool, the others are called only if they only read.
    fn calls(&self, tool: &str) -> bool {
        match &self.slow_tool {
            Some(_) => self.slow_tool.iter().chain(&self.state).any(|name| name.value == tool),
            None => self.tools.selects(tool),
        }
    }
}
