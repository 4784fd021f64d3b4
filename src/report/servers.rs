//! How a run ended for each of several servers, as a table for documents.

use crate::event::{Cell, SectionTable, ServerEnd, Tone};

use super::fold::Report;

/// A count and the column below which it stands.
type CountColumn = (&'static str, fn(&ServerEnd) -> usize, Tone);

const COLUMNS: [CountColumn; 4] = [
    ("failed", |end| end.failed, Tone::Bad),
    ("errored", |end| end.errored, Tone::Bad),
    ("not judged", |end| end.undecided, Tone::Faint),
    ("passed", |end| end.passed, Tone::Good),
];

/// A row for each server, those for which the run did not end well first; `None` for a run on a single one.
pub(super) fn servers_table(report: &Report) -> Option<SectionTable> {
    let ends = report.run_finished().map_or(&[][..], |finished| &finished.servers);
    (!ends.is_empty()).then(|| of_ends(ends))
}

fn of_ends(ends: &[ServerEnd]) -> SectionTable {
    let columns: Vec<CountColumn> =
        COLUMNS.into_iter().filter(|(_, count, _)| ends.iter().any(|end| count(end) > 0)).collect();
    let row = |end: &ServerEnd| {
        let exit = Cell::new(end.exit.to_string(), if end.exit == 0 { Tone::Good } else { Tone::Bad });
        let counts = columns.iter().map(|(_, count, tone)| match count(end) {
            0 => Cell::new("0", Tone::Faint),
            count => Cell::new(count.to_string(), *tone),
        });
        [Cell::plain(&end.server), exit].into_iter().chain(counts).collect()
    };
    let mut sorted: Vec<&ServerEnd> = ends.iter().collect();
    sorted.sort_by_key(|end| end.exit == 0);
    SectionTable {
        columns: ["server", "exit code"]
            .into_iter()
            .chain(columns.iter().map(|(name, ..)| *name))
            .map(str::to_owned)
            .collect(),
        groups: Vec::new(),
        rows: sorted.into_iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_ends_come_first_and_empty_columns_are_left_out() {
        let end = |server: &str, exit, passed, failed, undecided| ServerEnd {
            server: server.to_owned(),
            exit,
            passed,
            failed,
            errored: 0,
            undecided,
        };
        for (ends, expected) in [
            (vec![end("a", 0, 2, 0, 0), end("b", 0, 1, 0, 0)], "server,exit code,passed; a,0,2; b,0,1"),
            (vec![end("a", 0, 2, 0, 0), end("b", 1, 1, 1, 0)], "server,exit code,failed,passed; b,1,1,1; a,0,0,2"),
            (
                vec![end("a", 4, 0, 0, 3), end("b", 0, 1, 0, 0), end("c", 1, 0, 1, 0)],
                "server,exit code,failed,not judged,passed; a,4,0,3,0; c,1,1,0,0; b,0,0,0,1",
            ),
        ] {
            let table = of_ends(&ends);
            let rows = table.rows.iter().map(|row| row.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>());
            let lines: Vec<String> =
                std::iter::once(table.columns.clone()).chain(rows).map(|row| row.join(",")).collect();
            assert_eq!(lines.join("; "), expected);
        }
    }
}
