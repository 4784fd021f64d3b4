//! Suites as production probes: every target again and again, its state, its figures, and traces of its runs.
//!
//! What decides is pure: the [`schedule`], the [`status`] of a target after a run, its [`state`] over time, the
//! [`metrics`] and [`spans`], and the bodies of [`webhook`]s. [`watch`] waits and calls; a [`probe`] is one run of a plan.
//! Start reading in [`watch::Monitor`].

pub mod exposition;
pub mod fold;
pub mod ledger;
pub mod lists;
pub mod metrics;
pub mod otlp;
pub mod probe;
pub mod run_trace;
pub mod schedule;
pub mod span_queue;
pub mod spans;
pub mod state;
pub mod status;
#[cfg(test)]
mod tests;
pub mod watch;
pub mod webhook;
