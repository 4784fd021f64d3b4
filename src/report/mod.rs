//! From events to documents.
//!
//! [`Report`] folds the events of a run; every format is a pure function of it, one file and one line in [`FORMATS`].
//! Only [`sink`], [`live`] and `progress` write anything. Knows nothing about how a run is done: a recording
//! that [`ndjson::read_events`] reads is as good as the run itself.
//! Everything that a server said is hostile: texts are cut in `limit` and shown through `source::visible`.

mod additions;
mod agent;
mod by_server;
mod cause;
mod comparison;
pub mod coverage;
mod fault_table;
mod fold;
mod github;
mod headline;
mod html;
mod json;
mod json_text;
mod junit;
mod limit;
#[cfg(feature = "cli")]
pub mod live;
mod markdown;
pub mod ndjson;
pub mod parity;
#[cfg(feature = "cli")]
mod progress;
mod proven;
pub mod repetition;
mod sarif;
mod servers;
pub mod sink;
mod tap;
pub mod terminal;
#[cfg(test)]
mod tests;
mod wording;
mod xunit;

use crate::source::Style;

#[cfg(feature = "cli")]
pub(crate) use self::by_server::server_of;
pub use self::fold::{Report, Totals};
pub(crate) use self::headline::misses_a_threshold;
pub use self::json::{schema_of_event, schema_of_report};
pub use self::limit::{TEXT_LIMIT, cut};
#[cfg(feature = "cli")]
pub use self::live::Live;
pub use self::ndjson::{EventRecording, read_events};
#[cfg(feature = "cli")]
pub use self::progress::Ticker;
#[cfg(feature = "cli")]
pub(crate) use self::proven::MutantCounts;
#[cfg(feature = "cli")]
pub(crate) use self::terminal::layout;
pub use self::terminal::{
    Cases, Detail, Details, FailureOrder, Failures, Families, ProofView, Survivors, View, failure, proof, summary,
};

/// A kind of document.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The word before the `=` of `--report`.
    pub name: &'static str,
    /// Its purpose, for `--help`.
    pub about: &'static str,
    /// It shows what cases sent and were answered that passed at once.
    pub shows_passed: bool,
    /// Makes the document; formats for machines have no use for the style.
    pub render: fn(&Report, &Style) -> String,
}

/// Every kind of document.
pub const FORMATS: &[Format] = &[
    terminal::FORMAT,
    html::FORMAT,
    junit::FORMAT,
    xunit::FORMAT,
    json::FORMAT,
    ndjson::FORMAT,
    github::FORMAT,
    markdown::FORMAT,
    tap::FORMAT,
    sarif::FORMAT,
    agent::FORMAT,
];

/// The names of all formats, for `--help`: `` `text`, `junit` ``.
#[cfg(feature = "cli")]
pub(crate) fn format_names() -> String {
    FORMATS.iter().map(|format| format!("`{}`", format.name)).collect::<Vec<_>>().join(", ")
}

/// The format of that name.
pub fn format(name: &str) -> Option<Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// The document of that name; `None` where there is no such format.
pub fn render(name: &str, report: &Report, style: &Style) -> Option<String> {
    format(name).map(|format| (format.render)(report, style))
}
