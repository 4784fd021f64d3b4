//! `docs/robustness.md`: what was shown for every server that misbehaves, taken from the snapshots.
//! `UPDATE=1 cargo test hostile` rewrites it.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::sync::LazyLock;

use regex::Regex;

use super::{Row, http, stdio, tls};
use crate::harness::root;

const PAGE: &str = "docs/robustness.md";

const HEAD: &str = "\
# What becomes of a run when the server misbehaves

Made by the tests: each line is a server that does everything right but one thing, a run of the real program against it, and what that run showed.
No run panics, hangs longer than its timeout, leaves a process behind, or loses the result of a test.
*Class* is the code of the first failure that is shown, *words* is its sentence; times and ports are left out.
Over HTTP a fault strikes from the *start* on, or in the second *call*; where a line names both revisions, they showed the same.
The servers are `tests/servers/hostile.py` and `tests/servers/hostile_http.py`, and can be started by hand.
";

/// What a run showed.
#[derive(PartialEq)]
struct Shown {
    outcome: String,
    class: String,
    words: String,
}

#[test]
fn the_page_about_hostile_servers_is_up_to_date() {
    let mut page = HEAD.to_owned();
    write_section(&mut page, "Over stdio", &stdio::rows());
    write_section(&mut page, "Certificates and addresses", &tls::rows());
    write_section(&mut page, "Over HTTP", &http::rows());
    let path = root().join(PAGE);
    if fs::read_to_string(&path).is_ok_and(|found| found == page) {
        return;
    }
    assert!(is_update(), "{PAGE} is out of date; run `UPDATE=1 cargo test hostile`");
    fs::write(path, page).unwrap();
}

fn write_section(page: &mut String, title: &str, rows: &[Row]) {
    write!(page, "\n## {title}\n\n| the server | where | outcome | class | words |\n| --- | --- | --- | --- | --- |\n")
        .unwrap();
    let mut rows = rows.iter().map(|row| (row, shown(row))).peekable();
    while let Some((row, shown)) = rows.next() {
        let alike = |(next, other): &(&Row, Shown)| next.input == row.input && next.is_twin_of(row) && *other == shown;
        let twin = rows.next_if(alike);
        let place = twin.map_or_else(|| row.place.clone(), |(twin, _)| [revision(row), " and ", &twin.place].concat());
        let Shown { outcome, class, words } = shown;
        writeln!(page, "| {} | {place} | {outcome} | {class} | {} |", row.input, cell(&words)).unwrap();
    }
}

impl Row {
    /// Whether it is the same at the same time in another revision.
    fn is_twin_of(&self, other: &Self) -> bool {
        self.snapshot == other.snapshot && self.section != other.section
    }
}

fn revision(row: &Row) -> &str {
    row.place.split(',').next().unwrap_or_default()
}

/// Reads what a run showed from its snapshot.
fn shown(row: &Row) -> Shown {
    let path = root().join(format!("tests/it/snapshots/{}.snap", row.snapshot));
    let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let run = text.split("$ mcprove run").nth(row.section + 1).unwrap();
    let exit = find(&EXIT, run).unwrap();
    let cases = find(&CASES, run).unwrap_or_else(|| "nothing was run".to_owned());
    let (class, words) = FAILURE.captures(run).map_or_else(Default::default, |found| {
        let indent = " ".repeat("  error[]: ".len() + found[1].len());
        let words = run[found.get(2).unwrap().start()..].lines();
        let rest = words.clone().skip(1).map_while(|line| line.strip_prefix(&indent));
        let whole: Vec<&str> = words.take(1).chain(rest).map(str::trim).collect();
        (format!("`{}`", &found[1]), whole.join(" "))
    });
    Shown {
        outcome: format!("exit {exit}: {cases}"),
        class,
        words: words.replace("[TIME]", "…").replace(":[PORT]", ""),
    }
}

static EXIT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^--- exit (-?\d+)$").unwrap());
static CASES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^[✓✗!?-] \d+ cases?: (.*?)  \[TIME\]").unwrap());
static FAILURE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^  error\[([\w-]+)\]: (.*)$").unwrap());

fn find(pattern: &Regex, text: &str) -> Option<String> {
    pattern.captures(text).map(|found| found[1].to_owned())
}

/// Markdown that shows a text as it is, in a cell.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('[', "\\[").replace('*', "\\*")
}

#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}
