//! How the run ended for each of several servers.

use crate::event::ServerEnd;
use crate::source::{Style, visible_line};

use super::super::fold::Report;
use super::layout::{self, GREEN, RED, YELLOW, plural};

/// The most servers that are listed.
const MOST_LISTED: usize = 20;

/// From this number of servers on, the line of totals alone says too little of a run in which all are well.
const MANY: usize = 5;

/// The servers for which the run did not end well, and how many others there are.
pub(crate) fn server_ends(report: &Report, style: &Style) -> String {
    let ends = report.run_finished().map_or(&[][..], |finished| &finished.servers);
    let bad: Vec<&ServerEnd> = ends.iter().filter(|end| end.exit != 0).collect();
    if bad.is_empty() {
        return if ends.len() < MANY { String::new() } else { format!("  all {} servers passed\n", ends.len()) };
    }
    let names: Vec<String> = bad.iter().take(MOST_LISTED).map(|end| visible_line(&end.server).into_owned()).collect();
    let width = names.iter().map(|name| layout::columns(name)).max().unwrap_or(0).min(style.width / 2);
    let line = |(end, name): (&&ServerEnd, &String)| {
        let (mark, color) = match (end.failed, end.exit) {
            (0, _) => ("!", YELLOW),
            (_, 0) => ("✓", GREEN),
            (..) => ("✗", RED),
        };
        let name = layout::crop(name, width);
        let gap = " ".repeat(width - layout::columns(&name));
        format!("  {} {name}{gap}   exit code {}: {}\n", layout::paint(mark, color, style), end.exit, counts(end))
    };
    let lines: String = bad.iter().zip(&names).map(line).collect();
    let more = bad.len().saturating_sub(MOST_LISTED);
    let more = match more {
        0 => String::new(),
        more => format!("  and {more} more; `--report json=report.json` has all of them under `by_server`\n"),
    };
    format!("{lines}{more}  {} of {} passed\n", ends.len() - bad.len(), plural(ends.len(), "server"))
}

/// `2 failed, 1 passed`
fn counts(end: &ServerEnd) -> String {
    let ServerEnd { passed, failed, errored, undecided, .. } = *end;
    let counts = [(failed, "failed"), (errored, "errored"), (undecided, "without a verdict"), (passed, "passed")];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let named = counts.collect::<Vec<_>>().join(", ");
    if named.is_empty() { "no case ran".to_owned() } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named() {
        let end = |passed, failed, errored, undecided| ServerEnd {
            server: "users".to_owned(),
            exit: 1,
            passed,
            failed,
            errored,
            undecided,
        };
        for (end, expected) in [
            (end(1, 2, 0, 0), "2 failed, 1 passed"),
            (end(0, 0, 3, 4), "3 errored, 4 without a verdict"),
            (end(0, 0, 0, 0), "no case ran"),
        ] {
            assert_eq!(counts(&end), expected);
        }
    }
}
