//! Differences between a recorded server and the server now, and which of them break callers.
//!
//! Callers send what input schemas allow and read what output schemas promise, so the same change of a schema is good
//! news in one and bad news in the other. Whatever cannot be shown to be compatible counts as breaking.
//! Pure: knows nothing about suites, sessions or files. Start reading in [`compare`].

mod answer;
mod change;
mod listed;
mod recorded;
mod schema;
mod server;
mod stable_answer;
mod subject;
#[cfg(test)]
mod tests;
mod tool;

use serde_json::Value;

pub use self::change::{CODES, ChangeLevel, NAMES, ServerChange, manual};
pub use self::recorded::{
    FORMAT, Recorded, RecordedAnswer, RecordedIdentity, RecordedOutcome, ServerSnapshot, Unreadable, json_schema,
};
pub use self::schema::{SchemaDirection, compare_schemas, counterexample};
pub use self::stable_answer::{mask_differences, stable_answer};
pub use self::subject::ChangeSubject;

/// A value as it was recorded, and as it is.
#[derive(Debug, Clone, Copy)]
struct Versions<'a> {
    old: &'a Value,
    new: &'a Value,
}

/// Everything that has changed, subject by subject: what was recorded first, then what is new.
pub fn compare(before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    ChangeSubject::of(before, after).iter().flat_map(|subject| compare_subject(subject, before, after)).collect()
}

/// Compares one subject.
pub fn compare_subject(subject: &ChangeSubject, before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    match subject {
        ChangeSubject::Server => server::compare(before, after),
        ChangeSubject::Resources => listed::resources(before, after),
        ChangeSubject::Tool(name) => tool::compare(name, before, after),
        ChangeSubject::Prompt(name) => listed::prompt(name, before, after),
        ChangeSubject::Answers(tool) => answer::compare(tool, before, after),
    }
}
