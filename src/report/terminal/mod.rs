//! What a person reads: failures quoted like compile errors, then the totals and what to type next.
//!
//! Every case that needs attention has a mark, so that no colour is needed: `✗` failed, `!` errored, `~` passed with a
//! doubt (flaky, or a SHOULD was broken), `?` not judged, `-` skipped, `✓` passed.
//! Start reading in [`failure`], which other formats use as well.

mod answer;
mod chosen;
mod comparison;
mod compliance;
mod failure;
mod finding;
mod fuzz;
mod groups;
mod layout;
mod proof;
mod review;
mod summary;

pub(super) use self::chosen::writing;
pub use self::failure::failure;
pub(super) use self::failure::line;
pub(super) use self::groups::{Groups, Shown};
pub(crate) use self::layout::without_commands;
pub(super) use self::layout::{crop, plural, wrap};
pub use self::proof::{ProofView, Survivors, proof};
pub use self::summary::{Failures, summary};
pub(super) use self::summary::{is_trouble, untold};

use super::Format;

pub(super) const FORMAT: Format = Format {
    name: "text",
    about: "what the terminal shows at the end of a run",
    render: |report, style| summary(report, Failures::Shown, Survivors::Worst, style),
};
