//! Suggested tests: tests that kill a survivor.
//!
//! The same request is made again, and one expectation says what the healthy server answered where the mutant answered
//! otherwise; it is tried on both answers before it is offered. Pure: it sees recorded exchanges and writes YAML, and
//! knows neither the registry nor the mutant. Start reading in [`missing`].

mod answer;
mod answer_path;
mod candidate;
mod candidates;
mod lists;
mod notifications;
mod prelude;
mod start_timeout;
mod step;
mod suite_file;
mod tasks;
mod test;
#[cfg(test)]
mod tests;
mod unique_names;
mod values;
mod whole;

use super::recording::TargetRecording;
use crate::event::Missing;
use crate::fault::{MessageExchange, ServerReply};
use crate::wire::Catalog;

pub(crate) use self::suite_file::{last_expect, requests, shared_name};
pub(crate) use self::tasks::{call_of, may_lose_task};
pub(crate) use self::test::SuggestedTest;
pub(crate) use self::unique_names::keep_names_apart;

pub use self::suite_file::{FileRelation, MISSING_MARK, MissingSuite, head_including, missing_suites};

/// A survivor at one injection site: the exchange as it was, and as the mutant made it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Survivor<'a> {
    /// The target in which the mutant was injected.
    pub(crate) recorded: &'a TargetRecording,
    /// The number of servers of the suite; with several, tests say on which they run.
    pub(crate) target_count: usize,
    /// The offer of the healthy server.
    pub(crate) catalog: &'a Catalog,
    /// The exchange as it was recorded.
    pub(crate) exchange: &'a MessageExchange,
    /// The replies with the mutant.
    pub(crate) changed: &'a [ServerReply],
    /// The fault that the mutant imitates.
    pub(crate) variant: &'a str,
    /// The field that it changed; empty if it changed the answer as a whole.
    pub(crate) field: &'a str,
    /// The tool that has the fault, if it is one of a tool.
    pub(crate) tool: Option<&'a str>,
}

/// What would have noticed a survivor.
#[derive(Debug)]
pub(crate) struct Suggestions {
    /// The best test for whoever looks at this survivor alone.
    pub(crate) first: Missing,
    /// All tests that are known, that one included.
    pub(crate) tests: Vec<SuggestedTest>,
}

/// The tests that would have noticed; `None` where nothing that suites can say today tells the two apart.
pub(crate) fn missing(survivor: &Survivor<'_>) -> Option<Suggestions> {
    let start = start_timeout::suggest(survivor);
    let tests = start.map_or_else(|| test::suggest(survivor), |suggestion| vec![suggestion]);
    let first = tests.first()?;
    let first = Missing {
        tool: survivor.tool.map(str::to_owned),
        field: survivor.field.to_owned(),
        file: survivor.recorded.file.clone(),
        server: survivor.recorded.server.clone(),
        could: first.could.clone(),
        yaml: first.yaml()?,
    };
    Some(Suggestions { first, tests })
}
