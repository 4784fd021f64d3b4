//! Lints: finds what is wrong, loose or costly about listed tools without calling them.
//!
//! [`lints`] is the table: each [`Lint`] says what a good tool does, why, how to mend it, with an example that it finds
//! and one that it does not; `rules/` holds them by subject. Pure: tools go in, [`LintFinding`] comes out. Knows nothing about
//! suites, cases or how bad a verdict is. A lint that might accuse a tool that is right is advice, or no lint.

mod example;
mod explain;
mod look;
mod provider;
mod rules;
#[cfg(test)]
mod tests;

pub use self::example::example_base;
pub use self::explain::{explain, list};
use self::look::{LintPosition, ToolMember, each_tool, places};
pub use self::provider::Provider;
pub use self::rules::SUBJECTS;
use serde_json::json;

use crate::source::choice;
use crate::wire::Tool;

choice! {
    /// The weight of a lint's findings.
    pub enum LintLevel {
        /// It breaks the specification, so clients may reject it.
        Error = "error",
        /// The specification advises against it, or models and clients are known to stumble over it.
        Warning = "warning",
        /// It could be better.
        Advice = "advice",
    }
}

/// One thing to look for.
#[derive(Debug)]
pub struct Lint {
    /// A stable kebab-case name.
    pub id: &'static str,
    /// The severity; a provider's refusal is an error if that provider was asked about.
    pub level: LintLevel,
    /// The model provider that refuses it; `None` for what holds for everybody.
    pub provider: Option<Provider>,
    /// The variant of the fault taxonomy that it judges.
    pub variant: Option<&'static str>,
    /// The finding, as a sentence.
    pub says: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// The remedy.
    pub cure: &'static str,
    /// The address of its documentation.
    pub link: &'static str,
    /// An example in which nothing is found, as JSON.
    good: &'static str,
    /// An example in which this is found, as JSON.
    bad: &'static str,
    /// Other lints that cannot but find something in the bad example.
    also: &'static [&'static str],
    rule: LintRule,
}

/// The check of a lint.
#[derive(Debug, Clone, Copy)]
enum LintRule {
    /// Of the whole list.
    List(fn(&LintSubject<'_>) -> Vec<LintFinding>),
    /// Of each tool: the place, and a sentence.
    Tool(fn(&Tool) -> Option<(String, String)>),
    /// Of each place of the schemas of each tool: a sentence.
    Schemas(&'static [ToolMember], fn(&LintPosition<'_>) -> Option<String>),
}

/// The tools under review.
#[derive(Debug, Clone, Copy)]
struct LintSubject<'a> {
    tools: &'a [Tool],
    limits: LintLimits,
}

/// Limits that are a matter of taste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LintLimits {
    /// The most tokens that the list of tools may cost.
    pub max_tokens: usize,
}

impl Default for LintLimits {
    fn default() -> Self {
        Self { max_tokens: MAX_TOKENS }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// The tool; empty where it is about the whole list.
    pub tool: String,
    /// The place in the tool, such as `inputSchema.properties.path`; empty for the tool as a whole.
    pub at: String,
    /// One lowercase sentence without a final period.
    pub says: String,
}

impl Lint {
    /// The lint of that name.
    pub fn of(id: &str) -> Option<&'static Self> {
        lints().find(|lint| lint.id == id)
    }

    /// Runs the lint over the tools of a server, in listed order.
    pub fn judge(&self, tools: &[Tool], limits: LintLimits) -> Vec<LintFinding> {
        let subject = LintSubject { tools, limits };
        match self.rule {
            LintRule::List(check) => check(&subject),
            LintRule::Tool(check) => each_tool(&subject, check),
            LintRule::Schemas(members, check) => {
                let places =
                    tools.iter().flat_map(|tool| places(tool, members).into_iter().map(move |place| (tool, place)));
                let found = places.filter_map(|(tool, place)| {
                    let says = check(&place)?;
                    Some(LintFinding { tool: tool.name.clone(), at: place.at, says })
                });
                found.collect()
            }
        }
    }
}

/// Every lint, subject by subject.
pub fn lints() -> impl Iterator<Item = &'static Lint> {
    rules::SUBJECTS.iter().flat_map(|(_, lints)| lints.iter())
}

/// The most tokens that a list may cost by default.
pub const MAX_TOKENS: usize = 25_000;

/// Bytes of JSON per token, roughly: tokens differ between models, and no tokenizer is available offline.
const BYTES_PER_TOKEN: usize = 4;

/// An estimate of what one tool costs: its name, description and input schema as compact JSON, four bytes a token.
pub fn tokens(tool: &Tool) -> usize {
    let sent = json!({"name": tool.name, "description": tool.raw["description"], "inputSchema": tool.input_schema()});
    sent.to_string().len().div_ceil(BYTES_PER_TOKEN)
}
