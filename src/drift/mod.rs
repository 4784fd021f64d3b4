//! What has changed between a server as it was recorded and the server as it is, and whom that breaks.
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
mod steady;
mod subject;
#[cfg(test)]
mod tests;
mod tool;

pub use self::change::{CODES, Change, Level, NAMES, manual};
pub use self::recorded::{Answer, FORMAT, Identity, Outcome, Recorded, Snapshot, Unreadable, json_schema};
pub use self::schema::{Direction, compare_schemas, counterexample};
pub use self::steady::{heard, masked};
pub use self::subject::Subject;

/// Everything that has changed, subject by subject: what was recorded first, then what is new.
pub fn compare(before: &Recorded, after: &Recorded) -> Vec<Change> {
    Subject::of(before, after).iter().flat_map(|subject| compare_subject(subject, before, after)).collect()
}

/// What has changed about one subject.
pub fn compare_subject(subject: &Subject, before: &Recorded, after: &Recorded) -> Vec<Change> {
    match subject {
        Subject::Server => server::compare(before, after),
        Subject::Resources => listed::resources(before, after),
        Subject::Tool(name) => tool::compare(name, before, after),
        Subject::Prompt(name) => listed::prompt(name, before, after),
        Subject::Answers(tool) => answer::compare(tool, before, after),
    }
}
