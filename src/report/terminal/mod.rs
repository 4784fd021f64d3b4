//! The report for people: failures quoted like compile errors, then the totals and the next command to type.
//!
//! Every case that needs attention has a mark, so that no colour is needed: `✗` failed, `!` errored, `~` passed with a
//! doubt (flaky, or a SHOULD was broken), `?` not judged, `-` skipped, `✓` passed.
//! Start reading in [`failure()`], which other formats use as well.

mod answer;
mod chosen_tools;
mod comparison;
mod failure;
mod finding;
mod groups;
pub(crate) mod layout;
mod next;
mod proof;
mod section;
mod server_ends;
mod summary;
pub(crate) mod table;
mod view;

#[cfg(feature = "cli")]
pub(crate) use self::chosen_tools::writing;
pub use self::failure::failure;
#[cfg(feature = "cli")]
pub(crate) use self::failure::line;
pub(crate) use self::failure::{further, mark, summarize, untitled};
pub(crate) use self::groups::{CaseDetail, Groups};
pub(crate) use self::layout::crop;
pub(crate) use self::layout::{columns, plural, wrap};
pub(crate) use self::next::{prove_again, suggested};
pub use self::proof::{ProofView, Survivors, proof};
pub(crate) use self::proof::{figures, parts};
pub use self::summary::summary;
#[cfg(feature = "cli")]
pub(crate) use self::summary::totals_mark;
pub(crate) use self::summary::{INAPPLICABLE, SKIPPED, counts, hidden_reason, is_trouble};
pub use self::view::{Cases, Detail, Details, FailureOrder, Failures, Families, View};

use self::summary::unjudged;
use super::Format;

pub(crate) const FORMAT: Format = Format {
    name: "text",
    about: "the text that the terminal shows at the end of a run",
    shows_passed: false,
    render: |report, style| summary(report, View::WHOLE, style) + &unjudged(report, style),
};
