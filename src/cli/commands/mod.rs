//! One file per command: its arguments, and a function that does it.

pub(super) mod check;
pub(super) mod ci;
pub(super) mod completions;
pub(super) mod compliance;
mod explain;
pub(super) mod fault_coverage;
pub(super) mod findings;
pub(super) mod fuzz;
pub(super) mod lint;
mod parsing;
pub(super) mod plan;
pub(super) mod prove;
mod proving;
mod replaying;
pub(super) mod report;
pub(super) mod run;
mod run_findings;
mod run_given;
mod run_serving;
mod run_update;
mod run_watch;
pub(super) mod schema;
pub(super) mod serve;
mod serve_faulty;
mod signals;
pub(super) mod snapshot;
mod snapshot_text;
