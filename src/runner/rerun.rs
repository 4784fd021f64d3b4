//! The command that runs one case again.

use crate::plan::{Case, SuitePlan};
use crate::suite::AdHocCommand;

/// A command line that selects exactly this case, to be pasted into a shell.
pub(crate) fn command(planned: &SuitePlan, case: &Case) -> String {
    if let Some(asked) = planned.suite.command_line() {
        let chosen = match &case.rule {
            Some(rule) if asked.command == AdHocCommand::Compliance => format!("--rule {}", rule.id),
            Some(_) | None => format!("--filter {}", shell_words::quote(&field("name", &case.name))),
        };
        let several = planned.suite.servers.len() > 1;
        let on = target_filter(planned, case).filter(|_| several);
        let on = on.map(|target| format!(" --filter {}", shell_words::quote(&target))).unwrap_or_default();
        return asked.with_flag(&(chosen + &on));
    }
    let file = &planned.suite.file;
    let is_written_here = planned.tests_at(case.span).any(|test| test.name.value == case.name);
    let mut words = vec!["mcprove".to_owned(), "run".to_owned()];
    if is_written_here && case.place.file == *file {
        words.push(shell_words::quote(&format!("{file}:{}", case.place.line)).into_owned());
    } else {
        words.push(shell_words::quote(file).into_owned());
        words.push("--filter".to_owned());
        words.push(shell_words::quote(&field("name", &case.name)).into_owned());
    }
    if let Some(target) = target_filter(planned, case) {
        words.push("--filter".to_owned());
        words.push(shell_words::quote(&target).into_owned());
    }
    if let Some(row) = &case.row {
        words.push("--row".to_owned());
        words.push(shell_words::quote(row).into_owned());
    }
    words.join(" ")
}

/// The command line that runs the whole suite.
pub(crate) fn whole(planned: &SuitePlan) -> String {
    let run = || format!("mcprove run {}", shell_words::quote(&planned.suite.file));
    planned.suite.command_line().map_or_else(run, ToString::to_string)
}

/// The command line that runs the whole suite in the same order, for a case whose verdict may depend on it.
pub(crate) fn in_order(planned: &SuitePlan, seed: u32) -> String {
    let run = || format!("mcprove run {} --shuffle={seed}", shell_words::quote(&planned.suite.file));
    planned.suite.command_line().map_or_else(run, |asked| asked.with_flag(&format!("--shuffle={seed}")))
}

/// Brackets end a filter's text, so a text that has one is matched by a pattern.
fn field(name: &str, text: &str) -> String {
    if text.contains(')') { format!("{name}(/^{}$/)", regex::escape(text)) } else { format!("{name}(={text})") }
}

/// The part of a filter that selects the case's target; empty if there is only one.
fn target_filter(planned: &SuitePlan, case: &Case) -> Option<String> {
    let target = &planned.targets[case.target];
    let has_servers = planned.targets.iter().any(|other| other.server != target.server);
    let has_revisions =
        planned.targets.iter().any(|other| other.server == target.server && other.protocol != target.protocol);
    let server = has_servers.then(|| field("server", &target.server));
    let revision = has_revisions.then(|| field("revision", target.protocol.as_str()));
    let parts: Vec<String> = server.into_iter().chain(revision).collect();
    (!parts.is_empty()).then(|| parts.join(" & "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Filter;
    use crate::source::Sources;

    #[test]
    fn a_name_with_a_bracket_is_still_a_filter() {
        for (name, expected) in [
            ("gets a user", "name(=gets a user)"),
            ("gets (almost) all", "name(/^gets \\(almost\\) all$/)"),
            ("1.5 of 2)", "name(/^1\\.5 of 2\\)$/)"),
        ] {
            let filter = field("name", name);
            assert_eq!(filter, expected);
            assert!(Filter::parse(&filter, &mut Sources::default()).is_ok(), "{filter}");
        }
    }
}
