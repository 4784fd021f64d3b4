//! The command that runs one case again.

use crate::plan::{Case, SuitePlan};

/// A command line that selects exactly this case, to be pasted into a shell.
pub(super) fn command(planned: &SuitePlan, case: &Case) -> String {
    let file = &planned.suite.file;
    let is_written_here =
        planned.suite.tests.iter().any(|test| test.name.value == case.name && test.span.source == case.span.source);
    let mut words = vec!["mcprove".to_owned(), "run".to_owned()];
    if is_written_here && case.place.file == *file {
        words.push(shell_words::quote(&format!("{file}:{}", case.place.line)).into_owned());
    } else {
        words.push(shell_words::quote(file).into_owned());
        words.push("--filter".to_owned());
        words.push(shell_words::quote(&filter(&case.name)).into_owned());
    }
    if let Some(row) = &case.row {
        words.push("--row".to_owned());
        words.push(shell_words::quote(row).into_owned());
    }
    words.join(" ")
}

/// Brackets end a filter's text, so a name that has one is matched by a pattern.
fn filter(name: &str) -> String {
    if name.contains(')') { format!("name(/^{}$/)", regex::escape(name)) } else { format!("name(={name})") }
}
