//! `compliance:`, checks against the specification, one for each of its testable rules.

mod cases;
mod rule_books;
mod score;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::score::ComplianceScore;
use super::Kind;
use crate::event::{CaseResult, Section};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, did_you_mean, settings};
use crate::suite::{BlockReader, Rule, RuleLevel, Suite, SuiteSettings, Test, TestNeed};

pub use self::rule_books::{built_in_rules, rules_of};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "compliance",
        Shape::Either(&[Shape::Flag, ComplianceKeys::SHAPE]),
        "Checks the server against the specification.",
    ),
    probes: &["compliance", "conformance"],
    example: "compliance: { level: must }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Checks against the specification, one for each of its testable rules.
    struct ComplianceKeys as "compliance" {
        /// The lowest level of rules to check.
        level: RuleLevel => default("should"),
        /// The ids of the rules to check; all by default.
        only: Vec<Located<String>> => shape(Shape::NonEmpty(&Shape::List(&Shape::Text))),
        /// Tools or tokens that some rules need, such as `slow_tool: export` or `progress_tool: { name: export, arguments:
        /// { steps: 3 } }`.
        hints: Vec<(Located<String>, Node)>,
        /// Rules that the server is known to break: ids, or ids with reasons. If the server keeps a listed rule, the case
        /// fails.
        baseline: KnownBroken,
        /// Rule books to use instead of `builtin:compliance`: suites whose tests have a `rule`.
        rules: Vec<Located<String>> => shape(Shape::NonEmpty(&Shape::List(&Shape::Text))),
    }
}

/// Rules that are known to be broken, with the reason.
#[derive(Debug, Clone, Default)]
struct KnownBroken(BTreeMap<String, Located<String>>);

impl Setting for KnownBroken {
    const SHAPE: Shape = Shape::Either(&[Shape::List(&Shape::Text), Shape::Map(&Shape::Text)]);

    fn decode(node: &Node, _: &mut Vec<Diagnostic>) -> Option<Self> {
        let unexplained = |id: &Node| Located::new("it is in the baseline".to_owned(), id.span);
        let listed = node.items().iter().filter_map(|id| Some((id.text()?.to_owned(), unexplained(id))));
        let explained = node.entries().iter();
        let explained = explained.filter_map(|(id, reason)| Some((id.value.clone(), reason.located_text()?)));
        Some(Self(listed.chain(explained).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// The name of all rule books that are part of the program.
const ALL_RULES: &str = "builtin:compliance";

/// The rules to check.
#[derive(Debug, Clone)]
struct Compliance {
    /// The least binding level that is looked at.
    level: RuleLevel,
    /// The ids of the only rules to look at; empty for all.
    only: Vec<Located<String>>,
    /// Tools and tokens to test with, by name.
    hints: BTreeMap<String, Node>,
    /// Rules that are known to be broken, with the reason.
    known: BTreeMap<String, Located<String>>,
    /// The tests that stand for rules.
    rules: Vec<Arc<Test>>,
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let keys = ComplianceKeys::decode(node, reader.mistakes())?;
    Some(Arc::new(Compliance {
        level: keys.level,
        only: keys.only,
        hints: keys.hints.into_iter().map(|(name, value)| (name.value, value)).collect(),
        known: keys.baseline.0,
        rules: rules(&keys.rules, reader),
    }))
}

/// The tests of the rule books that are asked for.
fn rules(named: &[Located<String>], reader: &mut dyn BlockReader) -> Vec<Arc<Test>> {
    let mut tests = Vec::new();
    if named.is_empty() || named.iter().any(|name| name.value == ALL_RULES) {
        tests.extend(reader.rule_books());
    }
    for book in named.iter().filter(|name| name.value != ALL_RULES) {
        tests.extend(reader.tests_of(book));
    }
    tests.into_iter().filter(|test| test.extras.rule.is_some()).map(Arc::new).collect()
}

impl SuiteSettings for Compliance {
    fn tests(&self) -> &[Arc<Test>] {
        &self.rules
    }

    /// Rules that no rule book has, and hints that no rule asks for.
    fn check(&self, _: &Suite, found: &mut Vec<Diagnostic>) {
        let rules = || self.rules.iter().filter_map(|test| test.extras.rule.as_deref());
        let known = self.known.iter().map(|(id, reason)| (id, reason.span));
        for (id, span) in self.only.iter().map(|id| (&id.value, id.span)).chain(known) {
            if !rules().any(|rule: &Rule| rule.is_named(id)) {
                let help = did_you_mean(id, rules().map(|rule| rule.id.as_str()));
                found.push(Diagnostic::error("unknown-rule", format!("there is no rule `{id}`"), span).with_help(help));
            }
        }
        for (name, value) in self.hints.iter().filter(|(name, _)| name.ends_with("_tool")) {
            tool_hint(name, value, found);
        }
        let mut hints: BTreeSet<&str> = ["safe_tools"].into();
        hints.extend(self.rules.iter().flat_map(|test| &test.extras.needs).filter_map(|need| match need {
            TestNeed::Hint(name) => Some(name.as_str()),
            TestNeed::Capability(_) | TestNeed::NoCapability(_) | TestNeed::Over(_) | TestNeed::Assert { .. } => None,
        }));
        for (name, value) in self.hints.iter().filter(|(name, _)| !hints.contains(name.as_str())) {
            let help = did_you_mean(name, hints.iter().copied());
            let message = format!("no rule asks for the hint `{name}`");
            found.push(Diagnostic::error("unknown-hint", message, value.span).with_help(help));
        }
    }
}

/// A hint that is a tool has a name, and perhaps arguments.
fn tool_hint(hint: &str, value: &Node, found: &mut Vec<Diagnostic>) {
    const KEYS: [&str; 2] = ["name", "arguments"];
    for (key, _) in value.entries().iter().filter(|(key, _)| !KEYS.contains(&key.value.as_str())) {
        let message = format!("the hint `{hint}` has no key `{}`", key.value);
        let help = did_you_mean(&key.value, KEYS);
        found.push(Diagnostic::error("unknown-key", message, key.span).with_help(help));
    }
    if value.text().is_none() && value.get("name").is_none() {
        let help = format!("write `{hint}: export`, or `{hint}: {{ name: export, arguments: {{ steps: 3 }} }}`");
        found.push(
            Diagnostic::error("missing-key", format!("the hint `{hint}` names no tool"), value.span).with_help(help),
        );
    }
}

impl CaseSource for Compliance {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, self, offer)
    }

    fn variants(&self, planner: &Planner<'_>) -> BTreeSet<String> {
        cases::variants(planner, self)
    }

    /// Rules call tools, and most are about the protocol: `generated_calls` says that none rests on them.
    fn calls(&self, _: &str) -> bool {
        true
    }

    /// The score is made of all cases that stand for rules.
    fn keeps(&self, result: &CaseResult) -> bool {
        result.case.rule.is_some()
    }

    fn section_of_cases(&self, results: &[CaseResult]) -> Vec<Section> {
        sections(results)
    }

    fn hints(&self) -> Option<&BTreeMap<String, Node>> {
        Some(&self.hints)
    }
}

/// The scores of cases with rules, one section for each server and revision that has any.
pub(crate) fn sections(results: &[CaseResult]) -> Vec<Section> {
    ComplianceScore::of(results).iter().map(ComplianceScore::section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;

    #[test]
    fn a_hint_that_is_a_tool_has_a_name_and_perhaps_arguments() {
        for (hint, expected) in [
            ("export", &[][..]),
            ("{ name: export, arguments: { steps: 3 } }", &[]),
            ("{ name: export, args: {} }", &["the hint `slow_tool` has no key `args`"]),
            ("{ arguments: {} }", &["the hint `slow_tool` names no tool"]),
            ("7", &["the hint `slow_tool` names no tool"]),
        ] {
            let mut found = Vec::new();
            tool_hint("slow_tool", &node(hint), &mut found);
            let messages: Vec<&str> = found.iter().map(|mistake| mistake.message.as_str()).collect();
            assert_eq!(messages, expected, "{hint}");
        }
    }
}
