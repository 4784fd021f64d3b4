//! The lints, by subject: a file for each.

mod anthropic;
mod cost;
mod gemini;
mod hints;
mod loose;
mod names;
mod openai;
mod openai_strict;
mod sense;
mod validity;
mod words;

use super::{Lint, LintLevel, LintRule};

/// Every lint, under the heading of its subject.
pub static SUBJECTS: &[(&str, &[Lint])] = &[
    ("Schemas that are wrong", validity::LINTS),
    ("Schemas that make no sense", sense::LINTS),
    ("Schemas that are too loose", loose::LINTS),
    ("Descriptions", words::LINTS),
    ("Names", names::LINTS),
    ("Annotations", hints::LINTS),
    ("Cost", cost::LINTS),
    ("OpenAI", openai::LINTS),
    ("OpenAI, strict", openai_strict::LINTS),
    ("Anthropic", anthropic::LINTS),
    ("Google Gemini", gemini::LINTS),
];

/// A lint of which only the exceptions are said.
const WARNING: Lint = Lint {
    id: "",
    level: LintLevel::Warning,
    provider: None,
    variant: None,
    says: "",
    why: "",
    cure: "",
    link: "",
    good: "",
    bad: "",
    also: &[],
    rule: LintRule::List(|_| Vec::new()),
};

/// The same for errors and advice.
const ERROR: Lint = Lint { level: LintLevel::Error, ..WARNING };
const ADVICE: Lint = Lint { level: LintLevel::Advice, ..WARNING };

/// The page of the specification about tools.
const TOOLS: &str = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools";

/// The page of the specification about the annotations of tools.
const ANNOTATIONS: &str = "https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations";

/// The variant for schemas that are wrong.
const INVALID: Option<&str> = Some("SCHEMA-INVALID-DECLARATION");

/// The variant for tools that models confuse.
const AMBIGUOUS: Option<&str> = Some("PROVIDER-SELECTION-AMBIGUOUS");

/// The variant for structures that providers refuse.
const REJECTED: Option<&str> = Some("PROVIDER-SCHEMA-REJECTED");

/// The variant for keywords that providers do not know.
const KEYWORD: Option<&str> = Some("PROVIDER-KEYWORD-UNSUPPORTED");

/// The variant for names that clients and providers refuse.
const NAME: Option<&str> = Some("PROVIDER-TOOL-NAME-INVALID");

/// The variant for lists that fill the context of a model.
const BLOAT: Option<&str> = Some("PROVIDER-CONTEXT-BLOAT");
