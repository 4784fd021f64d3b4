//! `schema_lint:`, the quality of tools as they are listed; no tool is called.

mod cases;
mod check;
mod review;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Kind;
use crate::event::Section;
use crate::lint::{Lint, LintLevel, LintLimits, Provider, lints};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, ListedTools, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, did_you_mean, settings};
use crate::suite::{BlockReader, SuiteSettings, ToolSelection};
use crate::wire::Tool;

pub(crate) static KIND: Kind = Kind {
    key: key(
        "schema_lint",
        Shape::Either(&[Shape::Flag, SchemaLint::SHAPE]),
        "Finds tools with wrong, loose or long schemas, names and descriptions, and tools that model providers refuse.",
    ),
    probes: &["schema-lint"],
    example: "schema_lint: { level: warning }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Checks of the listed tools; no tool is called.
    struct SchemaLint as "schema_lint" {
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
        /// Model providers that must accept the tools: a refusal by one of these fails. By default it is a warning for
        /// `openai`, `anthropic` and `gemini`.
        providers: BTreeSet<Provider>,
        /// The lowest level that becomes a case; with `warning`, advice only appears in the summary.
        level: LintLevel => default("warning"),
        /// The lowest level of findings that fail; by default those of errors.
        fail_on: LintLevel => default("error"),
        /// Lints whose findings are warnings, whatever `fail_on` says.
        warn: LintNames,
        /// Accepted lints with their reasons, for all tools or for each tool.
        allow: AcceptedLints,
        /// The largest number of tokens that the list may cost, by estimate.
        max_tokens: usize => default("25000"),
    }
}

/// The names of lints.
#[derive(Debug, Clone, Default)]
struct LintNames(BTreeSet<String>);

/// The accepted lints, one for each lint and tool.
#[derive(Debug, Clone, Default)]
struct AcceptedLints(Vec<Allowed>);

/// Something that a lint may find.
#[derive(Debug, Clone)]
struct Allowed {
    /// The lint.
    lint: Located<String>,
    /// The tool; `None` for all.
    tool: Option<Located<String>>,
    /// Why.
    reason: String,
}

impl SchemaLint {
    /// The findings of a lint of this level fail.
    fn is_binding(&self, lint: &Lint, level: LintLevel) -> bool {
        level <= self.fail_on && !self.warn.0.contains(lint.id)
    }

    /// The level of a lint's findings; `None` if the suite does not name its provider.
    fn level_of(&self, lint: &Lint) -> Option<LintLevel> {
        let Some(own) = lint.provider else { return Some(lint.level) };
        if self.providers.is_empty() {
            return own.by_choice().is_none().then_some(lint.level);
        }
        self.providers.iter().any(|named| named.is_subject_of(lint)).then_some(LintLevel::Error)
    }

    fn limits(&self) -> LintLimits {
        LintLimits { max_tokens: self.max_tokens }
    }

    /// The lints that become cases, each with how much is thought of it.
    fn lints(&self) -> impl Iterator<Item = (&'static Lint, LintLevel)> {
        lints().filter_map(|lint| Some((lint, self.level_of(lint)?))).filter(|(_, level)| *level <= self.level)
    }

    /// The tools that it is about.
    fn of(&self, tools: &[Tool]) -> Vec<Tool> {
        tools.iter().filter(|tool| self.tools.selects(&tool.name)).cloned().collect()
    }

    /// Why a lint may find something in a tool.
    fn excuse(&self, lint: &Lint, tool: &str) -> Option<&Allowed> {
        self.allow.0.iter().find(|allowed| {
            allowed.lint.value == lint.id && allowed.tool.as_ref().is_none_or(|named| named.value == tool)
        })
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(SchemaLint::decode(node, reader.mistakes())?))
}

/// Reports a name that no lint has.
fn report_unknown(id: &Located<String>, found: &mut Vec<Diagnostic>) {
    if Lint::of(&id.value).is_none() {
        let help = did_you_mean(&id.value, lints().map(|lint| lint.id));
        let message = format!("there is no lint `{}`", id.value);
        found.push(Diagnostic::error("unknown-lint", message, id.span).with_help(help));
    }
}

impl Setting for LintNames {
    const SHAPE: Shape = Shape::List(&Shape::Text);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let named: Vec<Located<String>> = node.items().iter().filter_map(Node::located_text).collect();
        for id in &named {
            report_unknown(id, found);
        }
        Some(Self(named.into_iter().map(|id| id.value).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

impl Setting for AcceptedLints {
    const SHAPE: Shape = Shape::Map(&Shape::Either(&[Shape::Text, Shape::Map(&Shape::Text)]));

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        node.entries().iter().for_each(|(id, _)| report_unknown(id, found));
        Some(Self(node.entries().iter().flat_map(read_allowed).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// A reason for all tools, or one for each of some.
fn read_allowed((lint, reason): &(Located<String>, Node)) -> Vec<Allowed> {
    if let Some(reason) = reason.text() {
        return vec![Allowed { lint: lint.clone(), tool: None, reason: reason.to_owned() }];
    }
    let by_tool = reason.entries().iter().filter_map(|(tool, reason)| {
        Some(Allowed { lint: lint.clone(), tool: Some(tool.clone()), reason: reason.text()?.to_owned() })
    });
    by_tool.collect()
}

impl SuiteSettings for SchemaLint {}

impl CaseSource for SchemaLint {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        self.lints().filter_map(|(lint, _)| lint.variant.map(str::to_owned)).collect()
    }

    fn section_of_tools(&self, listed: &ListedTools<'_>) -> Option<Section> {
        review::section(self, listed)
    }
}
