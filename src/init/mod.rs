//! Tests from what a server answers: a suite for a server that has none, with the job that runs it, and one call as a test.
//!
//! `observe` asks for everything that the server offers, on two servers that know nothing of each other; what both
//! answers have in common becomes the expectations of a test, and `SuitePage` writes them down.

mod ci_job;
mod expectation;
mod further_answers;
mod grown_suite;
mod listing;
mod observe;
mod page;
mod pages;
mod promises;
mod questions;
mod rich_arguments;
mod round_trip;
mod saved_test;
mod setup;
mod shown_values;

pub(crate) use self::ci_job::{CiSystem, PlainPath};
pub(crate) use self::grown_suite::with_expectations;
pub(crate) use self::observe::{Observations, UntestedReason, observe, observe_after_run};
pub(crate) use self::page::{SETUP_COMMENT, SuitePage, UsedOffers};
pub(crate) use self::promises::Promises;
pub(crate) use self::saved_test::{CallAsTest, with_test, with_written_test};
pub(crate) use self::setup::{FoundSetup, find_setup};
