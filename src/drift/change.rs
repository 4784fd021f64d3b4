//! One change, how bad it is, and the names of all kinds of change.

use serde::Serialize;
use serde_json::Value;

use crate::source::choice;

choice! {
    /// Whom a change concerns.
    #[derive(Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ChangeLevel {
        /// Nobody: words, order, versions.
        Cosmetic = "cosmetic",
        /// Whoever wants what is new; everything else works as before.
        Compatible = "compatible",
        /// Somebody for whom it worked before.
        Breaking = "breaking",
    }
}

/// One thing that has changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerChange {
    /// Whom it concerns.
    pub level: ChangeLevel,
    /// The kind of change: one of [`CODES`].
    pub what: &'static str,
    /// The changed part, such as `tools/add/input/a`.
    pub at: String,
    /// The recorded value.
    pub before: Option<Value>,
    /// The current value.
    pub after: Option<Value>,
    /// One lowercase sentence without a final period.
    pub says: String,
    /// A hint for the reader.
    pub help: Option<String>,
    /// A value that shows it: it was good before and is not any more.
    pub example: Option<Value>,
}

impl ServerChange {
    /// A change with its sentence, everything else to be added.
    pub(crate) fn new(level: ChangeLevel, what: &'static str, at: impl Into<String>, says: impl Into<String>) -> Self {
        let (at, says) = (at.into(), says.into());
        Self { level, what, at, before: None, after: None, says, help: None, example: None }
    }

    pub(crate) fn breaking(what: &'static str, at: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(ChangeLevel::Breaking, what, at, says)
    }

    pub(crate) fn compatible(what: &'static str, at: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(ChangeLevel::Compatible, what, at, says)
    }

    pub(crate) fn cosmetic(what: &'static str, at: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(ChangeLevel::Cosmetic, what, at, says)
    }

    /// Adds the recorded and the current value.
    pub(crate) fn with_values(mut self, before: Option<&Value>, after: Option<&Value>) -> Self {
        (self.before, self.after) = (before.cloned(), after.cloned());
        self
    }

    pub(crate) fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// Every kind of change, and what it means.
pub const CODES: &[(&str, &str)] = &[
    ("answer-changed-value", "the answer to the same call has the same shape and another value"),
    ("answer-changed-shape", "in the answer to the same call, something is missing or has another type"),
    ("answer-failed", "a call that succeeded is now refused"),
    ("answer-served", "a call that was refused now succeeds"),
    ("capability-added", "the server has a new capability"),
    ("capability-removed", "the server no longer declares a capability"),
    ("description-changed", "text for people or models changed: descriptions, titles, examples, icons, versions"),
    ("hint-changed", "an annotation or another promise of a tool changed"),
    ("order-changed", "the order of a list changed"),
    ("prompt-added", "a prompt was added"),
    ("prompt-argument-changed", "an argument of a prompt was added, was removed, or became required or optional"),
    ("prompt-removed", "a prompt was removed"),
    ("property-added", "a property of a schema was added"),
    ("property-removed", "a property of a schema was removed"),
    ("required-changed", "a property became required or optional"),
    ("resource-added", "a resource or a template was added"),
    ("resource-changed", "the MIME type of a resource changed"),
    ("resource-removed", "a resource or a template was removed"),
    ("revision-changed", "the server speaks another revision of the protocol"),
    ("schema-changed", "a schema changed in a way that is neither narrower nor wider, or that cannot be decided"),
    ("schema-narrowed", "a schema allows less than before"),
    ("schema-widened", "a schema allows more than before"),
    ("default-changed", "a default changed"),
    ("tool-added", "a tool was added"),
    ("tool-removed", "a tool was removed"),
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
