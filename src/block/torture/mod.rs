//! `torture:`, many calls at a time, each with a text of its own, which shows what became of it.
//!
//! [`cases`] plans a case for each tool. A tool that may write is asked for as many writes one after another as at a time,
//! and both must show in what is read afterwards ([`updates`]), with the text of each argument ([`fields`]); a tool that only
//! reads must answer every call with the text of that call ([`answers`]). Further cases kill the server in the middle of
//! writes ([`durability`]), read answers late ([`slow_reader`]), end the input early ([`half_closed`]), and walk lists at the
//! same time ([`lists`]). Nothing is known of what tools mean: [`reads`] finds by trying which reads show a write, [`writes`]
//! makes them, [`judging`] compares concurrent ones with others, [`faults`] says what is wrong with them, and [`template`]
//! puts texts into arguments. [`clients`] makes the calls, bounded in number and time.

mod answers;
mod burst;
mod cases;
mod clients;
mod durability;
mod echoes;
mod faults;
mod fields;
mod finding;
mod half_closed;
mod identifiers;
mod judging;
mod lists;
mod reads;
mod reproduction;
mod slow_reader;
mod template;
mod texts;
mod unread_posts;
mod unstored;
mod updates;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Kind;
use crate::check::CheckLimits;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, choice, settings};
#[cfg(test)]
use crate::source::{SourceFile, Sources, parse};
use crate::suite::{BlockReader, Suite, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "torture",
        Shape::Either(&[Shape::Flag, Shape::Object(&Torture::KEYS)]),
        "Makes many calls at a time, and looks for lost writes and swapped answers.",
    ),
    probes: &[],
    example: "torture: { sessions: 8, calls: 16 }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Concurrent calls with unique texts. Every confirmed write must be visible afterwards, and every answer must
    /// belong to its call; `torture: true` uses the defaults.
    struct Torture as "torture", at span {
        /// The tools: all by default, or a list of names and patterns such as `create_*`.
        tools: ToolSelection,
        /// The number of concurrent sessions. A server that has one session only, as over stdio, gets the calls of all
        /// of them in that one.
        sessions: usize => range(1, 256) default("4"),
        /// The number of concurrent calls that each session makes of each tool.
        calls: usize => range(1, 1_000) default("8"),
        /// The number of calls of each session that are under way at a time; at most 512 in all sessions together.
        in_flight: usize => range(1, 64) default("4"),
        /// The seed; the same seed gives the same texts.
        seed: u64 => default("0"),
        /// The time for each case.
        max_time: Duration => default("30s"),
        /// What is checked, by default everything, or `calls` and `durability` if `tools` names some: concurrent calls of
        /// each tool; whether confirmed writes outlive a kill, of a server that is started here and whose data is
        /// `scratch`; a client that reads its answers late; connections whose input ends early; lists that several clients
        /// walk at once.
        checks: BTreeSet<TortureCheck>,
        /// Tools that write, each with the tools that must show what it wrote; the reads of any other tool are found by
        /// trying.
        pairs: Vec<WritePair> => shape(Shape::NonEmpty(&Shape::List(&WritePair::SHAPE))),
    }
}

choice! {
    /// A way in which a server is tried.
    enum TortureCheck {
        /// Many calls of a tool at a time.
        Calls = "calls",
        /// Kills in the middle of writes.
        Durability = "durability",
        /// A client that reads its answers late.
        SlowReader = "slow_reader",
        /// Connections whose input ends early.
        HalfClosed = "half_closed",
        /// Lists that several clients walk at once.
        Lists = "lists",
    }
}

settings! {
    /// A tool that writes, and the tools that must show what it wrote.
    struct WritePair as "a pair" {
        /// The tool that writes.
        write: Located<String> => required(),
        /// The tool that reads, or a list of such tools. Their arguments are those of `arguments:`, the written text, or
        /// members of the write's answer that have the same names.
        read: Vec<Located<String>> => required() shape(Shape::Either(&[Shape::Text, Shape::Set(&Shape::Text)])),
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(Torture::of_node(node, reader.mistakes())?))
}

impl Torture {
    fn of_node(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let mut torture = Self::decode(node, found)?;
        if torture.checks.is_empty() {
            // A suite that names tools asks about those tools.
            let is_about_tools = |check: &TortureCheck| matches!(check, TortureCheck::Calls | TortureCheck::Durability);
            let is_meant = |check: &TortureCheck| node.get("tools").is_none() || is_about_tools(check);
            torture.checks = TortureCheck::ALL.into_iter().filter(is_meant).collect();
        }
        Some(torture)
    }

    /// Settings as a suite writes them.
    #[cfg(test)]
    pub(crate) fn of_test(text: &str) -> Self {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", text));
        Self::of_node(&parse(&sources, source).expect("YAML"), &mut Vec::new()).expect("settings")
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_names_tools_asks_about_those() {
        use TortureCheck::{Calls, Durability, HalfClosed, Lists, SlowReader};
        for (settings, expected) in [
            ("true", &[Calls, Durability, SlowReader, HalfClosed, Lists][..]),
            ("sessions: 2", &[Calls, Durability, SlowReader, HalfClosed, Lists]),
            ("tools: [add_note]", &[Calls, Durability]),
            ("{ tools: [add_note], checks: [lists] }", &[Lists]),
            ("checks: [calls]", &[Calls]),
        ] {
            let checks: Vec<TortureCheck> = Torture::of_test(settings).checks.into_iter().collect();
            assert_eq!(checks, expected, "{settings}");
        }
    }

    #[test]
    fn defaults_make_thirty_two_calls_in_four_sessions() {
        let Torture { sessions, calls, in_flight, seed, max_time, .. } = Torture::of_test("true");
        assert_eq!((sessions, calls, in_flight, seed, max_time), (4, 8, 4, 0, Duration::from_secs(30)));
    }

    #[test]
    fn a_pair_is_that_of_its_write() {
        let torture = Torture::of_test("pairs: [{ write: add, read: [list, get] }, { write: put, read: show }]");
        let reads = |tool: &str| {
            let pair = torture.pair(tool)?;
            Some(pair.read.iter().map(|read| read.value.as_str()).collect::<Vec<_>>())
        };
        assert_eq!(reads("add"), Some(vec!["list", "get"]));
        assert_eq!(reads("put"), Some(vec!["show"]));
        assert_eq!(reads("list"), None);
    }
}
