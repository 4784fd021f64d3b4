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
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Located, Node, choice, settings};
#[cfg(test)]
use crate::source::{SourceFile, Sources, parse};
use crate::suite::{BlockReader, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "timeouts",
        Shape::Either(&[Shape::Flag, Shape::Object(&TimeoutSettings::KEYS)]),
        "Cancels a slow call, makes other calls meanwhile, and ends the server in the middle of it.",
    ),
    probes: &["fault-recovery"],
    example: "timeouts: { slow_tool: export, args: { seconds: 2 }, required: [cancellation] }",
    decode,
    decode_in_test: None,
};

settings! {
    /// A slow call can be cancelled, delays no other call, and keeps no server from ending; `timeouts: true` uses the
    /// slowest tool that it finds.
    struct TimeoutSettings as "timeouts", at span {
        /// The tool whose calls take long, best between one second and three; by default the slowest that may be called. Of
        /// several, the first is cancelled, and the server is told to end during a call of the slowest.
        slow_tool: Vec<Located<String>> => shape(Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))])),
        /// Its arguments; by default those of `arguments:`, or generated ones.
        args: Option<Node> => shape(Shape::Map(&Shape::Any)) beside(&["slow_tool"]),
        /// A tool that shows the effect of the slow call: a cancelled call must change nothing more.
        state: Option<Located<String>> => beside(&["slow_tool"]),
        /// The tools that may be used, as the slow or the quick one: all by default, or a list of names and patterns.
        tools: ToolSelection,
        /// The checks that the server must pass: a finding of theirs fails, and where one cannot be made, its case is an error.
        /// By default a finding is a warning, except for a cancellation that harms the server, since the specification
        /// recommends the rest and does not demand it.
        required: BTreeSet<SlowCallAspect>,
        /// The checks whose findings fail, as with `required`; where one cannot be made, its case is skipped.
        fails: BTreeSet<SlowCallAspect>,
        /// The time for the server to exit, and then for its children.
        grace: Duration => default("5s"),
        /// The time for each check.
        max_time: Duration => default("60s"),
    } with {
        /// Found and measured once for each server and revision.
        slow_calls: Arc<SlowCalls>,
    }
}
choice! {
    /// An aspect of slow calls that is checked, each by a case.
    enum SlowCallAspect {
        /// A cancelled call ends, and the server goes on.
        Cancellation = "cancellation",
        /// Over HTTP up to 2025-11-25, a closed response does not cancel.
        Disconnection = "disconnection",
        /// Other calls are answered meanwhile.
        OtherCalls = "other_calls",
        /// The server ends when it is told to.
        Shutdown = "shutdown",
    }
}

impl SlowCallAspect {
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
    /// Settings as a suite writes them.
    #[cfg(test)]
    pub(crate) fn of_test(text: &str) -> Self {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", text));
        Self::decode(&parse(&sources, source).expect("YAML"), &mut Vec::new()).expect("settings")
    }

    fn limits(&self) -> CheckLimits {
        let advice = "raise `max_time`, or give `slow_tool` arguments with which it takes a second or two";
        CheckLimits::new(self.max_time, advice)
    }

    /// The weight of a check.
    fn level(&self, aspect: SlowCallAspect) -> RequirementLevel {
        let is_binding = self.required.contains(&aspect) || self.fails.contains(&aspect);
        if is_binding { RequirementLevel::Must } else { RequirementLevel::Should }
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(TimeoutSettings::decode(node, reader.mistakes())?))
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
        let mut named = self.slow_tool.iter().chain(&self.state);
        if self.slow_tool.is_empty() { self.tools.selects(tool) } else { named.any(|name| name.value == tool) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_binds_only_if_it_is_required() {
        let settings = TimeoutSettings::of_test("required: [cancellation, shutdown]");
        for (aspect, expected) in [
            (SlowCallAspect::Cancellation, RequirementLevel::Must),
            (SlowCallAspect::Shutdown, RequirementLevel::Must),
            (SlowCallAspect::OtherCalls, RequirementLevel::Should),
            (SlowCallAspect::Disconnection, RequirementLevel::Should),
        ] {
            assert_eq!(settings.level(aspect), expected, "{aspect:?}");
        }
    }

    #[test]
    fn a_named_slow_tool_leaves_the_others_that_write_alone() {
        for (settings, called, left) in [
            ("slow_tool: export", &["export"][..], &["wipe", "count"][..]),
            ("{ slow_tool: export, state: count }", &["export", "count"], &["wipe"]),
            ("tools: [exp*]", &["export"], &["count"]),
            ("grace: 1s", &["export", "count", "wipe"], &[]),
        ] {
            let settings = TimeoutSettings::of_test(settings);
            assert!(called.iter().all(|tool| settings.calls(tool)), "{settings:?}");
            assert!(!left.iter().any(|tool| settings.calls(tool)), "{settings:?}");
        }
    }
}
