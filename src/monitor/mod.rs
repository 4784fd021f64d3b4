//! Suites as production probes: every target again and again, its state, and its figures for Prometheus.
//!
//! What decides is pure: the [`schedule`], the [`status`] of a target after a run, its [`state`] over time, the
//! [`metrics`] and the bodies of [`webhook`]s. [`watch`] waits and calls; a [`probe`] is one run of a plan.
//! Start reading in [`watch::Monitor`].

pub mod fold;
pub mod ledger;
pub mod lists;
pub mod metrics;
pub mod probe;
pub mod schedule;
pub mod state;
pub mod status;
#[cfg(test)]
mod tests;
pub mod watch;
pub mod webhook;
