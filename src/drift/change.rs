//! One change, how bad it is, and the names of all kinds of change.

use serde::Serialize;
use serde_json::Value;

/// Whom a change concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nobody: words, order, versions.
    Cosmetic,
    /// Whoever wants what is new; everything else works as before.
    Compatible,
    /// Somebody for whom it worked before.
    Breaking,
}

impl Level {
    /// Every level, the worst first.
    pub const ALL: [Self; 3] = [Self::Breaking, Self::Compatible, Self::Cosmetic];

    /// The word in suites and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosmetic => "cosmetic",
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
        }
    }

    /// The level of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// One thing that has changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Whom it concerns.
    pub level: Level,
    /// What kind of change it is: one of [`CODES`].
    pub what: &'static str,
    /// Where: `tools/add/input/a`.
    pub at: String,
    /// What was there.
    pub before: Option<Value>,
    /// What is there.
    pub after: Option<Value>,
    /// One lowercase sentence without a final period.
    pub says: String,
    /// What to do, or what to look at.
    pub help: Option<String>,
    /// A value that shows it: it was good before and is not any more.
    pub example: Option<Value>,
}

impl Change {
    /// A change with its sentence, everything else to be added.
    pub(super) fn new(level: Level, what: &'static str, at: impl Into<String>, says: impl Into<String>) -> Self {
        let (at, says) = (at.into(), says.into());
        Self { level, what, at, before: None, after: None, says, help: None, example: None }
    }

    /// Adds what was there and what is there.
    pub(super) fn with_values(mut self, before: Option<&Value>, after: Option<&Value>) -> Self {
        (self.before, self.after) = (before.cloned(), after.cloned());
        self
    }

    pub(super) fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// Every kind of change, and what it means.
pub const CODES: &[(&str, &str)] = &[
    ("answer-changed-value", "the same call has an answer of the same shape with another value in it"),
    ("answer-changed-shape", "the same call has an answer in which something is missing or of another type"),
    ("answer-failed", "a call that was served is refused"),
    ("answer-served", "a call that was refused is served"),
    ("capability-added", "the server can do something new"),
    ("capability-removed", "the server no longer says that it can do something"),
    ("description-changed", "words for people or models differ: descriptions, titles, examples, icons, versions"),
    ("hint-changed", "an annotation or another promise of a tool differs"),
    ("order-changed", "things are listed in another order"),
    ("prompt-added", "a prompt is new"),
    ("prompt-argument-changed", "an argument of a prompt came, went, or became required or optional"),
    ("prompt-removed", "a prompt is gone"),
    ("property-added", "a property of a schema is new"),
    ("property-removed", "a property of a schema is gone"),
    ("required-changed", "a property became required or optional"),
    ("resource-added", "a resource or a template is new"),
    ("resource-changed", "a resource has another type"),
    ("resource-removed", "a resource or a template is gone"),
    ("revision-changed", "the server speaks another revision of the protocol"),
    ("schema-changed", "a schema differs in a way that is neither narrower nor wider, or cannot be decided"),
    ("schema-narrowed", "a schema allows less than before"),
    ("schema-widened", "a schema allows more than before"),
    ("default-changed", "what holds where a caller says nothing differs"),
    ("tool-added", "a tool is new"),
    ("tool-removed", "a tool is gone"),
];

/// The table of all kinds of change, for the manual.
pub fn manual() -> String {
    let mut lines: Vec<String> = CODES.iter().map(|(name, means)| format!("| `{name}` | {means} |")).collect();
    lines.sort();
    format!("| kind | what it means |\n| --- | --- |\n{}", lines.join("\n"))
}

/// The names of all kinds of change.
pub const NAMES: &[&str] = &{
    let mut names = [""; CODES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = CODES[at].0;
        at += 1;
    }
    names
};
