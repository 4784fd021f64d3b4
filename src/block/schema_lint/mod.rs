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
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Diagnostic, Located, Node, did_you_mean};
use crate::suite::{BlockReader, SuiteSettings, TOOLS, ToolSelection, selected_tools};
use crate::wire::Tool;

pub(crate) static KIND: Kind = Kind {
    key: key(
        "schema_lint",
        Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]),
        "Finds tools with wrong, loose or long schemas, names and descriptions, and tools that model providers refuse.",
    ),
    probes: &["schema-lint"],
    example: "schema_lint: { level: warning }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "schema_lint",
    doc: "Checks of the listed tools; no tool is called.",
    keys: &[&[
        key("tools", TOOLS, "The tools: all by default, or a list of names and patterns such as `get_*`."),
        key(
            "providers",
            Shape::Set(&Shape::Choice(Provider::NAMES)),
            "Model providers that must accept the tools: a refusal by one of these fails. By default it is a warning for `openai`, `anthropic` and `gemini`.",
        ),
        key(
            "level",
            Shape::Choice(LintLevel::NAMES),
            "The lowest level that becomes a case; with `warning`, advice only appears in the summary.",
        )
        .default("warning"),
        key(
            "allow",
            Shape::Map(&Shape::Either(&[Shape::Text, Shape::Map(&Shape::Text)])),
            "Accepted lints with their reasons, for all tools or for each tool.",
        ),
        key("max_tokens", Shape::Whole, "The largest number of tokens that the list may cost, by estimate.")
            .default("25000"),
    ]],
};

/// The settings of the lints.
#[derive(Debug, Clone)]
struct SchemaLint {
    /// Which tools.
    tools: ToolSelection,
    /// The providers that must take them; empty where none is named.
    providers: Vec<Provider>,
    /// The least that becomes a case.
    level: LintLevel,
    /// Accepted findings.
    allow: Vec<Allowed>,
    /// The configurable limits.
    limits: LintLimits,
}

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
    /// The level of a lint's findings; `None` if the suite does not name its provider.
    fn level_of(&self, lint: &Lint) -> Option<LintLevel> {
        let Some(own) = lint.provider else { return Some(lint.level) };
        if self.providers.is_empty() {
            return own.by_choice().is_none().then_some(lint.level);
        }
        self.providers.iter().any(|named| named.is_subject_of(lint)).then_some(LintLevel::Error)
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
        self.allow.iter().find(|allowed| {
            allowed.lint.value == lint.id && allowed.tool.as_ref().is_none_or(|named| named.value == tool)
        })
    }
}

fn read(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    for (id, _) in node.get("allow").map(Node::entries).unwrap_or_default() {
        if Lint::of(&id.value).is_none() {
            let help = did_you_mean(&id.value, lints().map(|lint| lint.id));
            let message = format!("there is no lint `{}`", id.value);
            reader.report(Diagnostic::error("unknown-lint", message, id.span).with_help(help));
        }
    }
    let limits = LintLimits::default();
    let most = node.get("max_tokens").and_then(Node::whole).and_then(|most| usize::try_from(most).ok());
    let named = node.get("providers").map(Node::items).unwrap_or_default();
    Some(Arc::new(SchemaLint {
        tools: selected_tools(node, "tools"),
        providers: named.iter().filter_map(|item| Provider::parse(item.text()?)).collect(),
        level: node.get("level").and_then(Node::text).and_then(LintLevel::parse).unwrap_or(LintLevel::Warning),
        allow: node.get("allow").map(Node::entries).unwrap_or_default().iter().flat_map(read_allowed).collect(),
        limits: LintLimits { max_tokens: most.unwrap_or(limits.max_tokens) },
    }))
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
