//! What a watch knows of a suite: its tests by their lines, the files that it reads, and the sources of its servers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::source_glob::SourceGlob;
use crate::block;
use crate::cli::suites::read_suite;
use crate::source::{Sources, Span};
use crate::suite::{LoadedSuite, Server, Servers, builtin_name, normalize_path};

/// A suite file.
#[derive(Debug, Clone, Default)]
pub(super) struct SuiteOutline {
    /// The file as it is named in the run.
    pub(super) file: String,
    /// What is in it; `None` while it has a mistake.
    pub(super) text: Option<SuiteText>,
    /// The files that were read, or looked for: itself, those that it includes, rows and schemas.
    pub(super) reads: BTreeSet<PathBuf>,
    /// The sources of its servers.
    pub(super) sources: Vec<SourceGlob>,
    /// True if one of its servers is a program.
    pub(super) starts_server: bool,
}

/// The text of a suite, with its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SuiteText {
    pub(super) lines: Vec<String>,
    pub(super) tests: Vec<TestLines>,
    /// True if it has cases beside its own tests.
    pub(super) has_more: bool,
}

/// A test by its lines, counted from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestLines {
    pub(super) name: String,
    pub(super) first: usize,
    pub(super) last: usize,
    /// True if the lines are all that there is to it, and nothing else: they are its own, no block is in it, and it is not
    /// marked as the only one.
    pub(super) is_plain: bool,
}

impl SuiteOutline {
    /// Reads a suite; one with a mistake keeps the sources that it had before.
    pub(super) fn read(file: &Path, servers: Servers, before: Option<&Self>) -> Self {
        let reads = RefCell::new(BTreeSet::new());
        let logged = |path: &Path| -> io::Result<String> {
            if path.to_str().and_then(builtin_name).is_none() {
                reads.borrow_mut().insert(normalize_path(path));
            }
            read_suite(path)
        };
        let (mut sources, mut warnings) = (Sources::default(), Vec::new());
        // The run reports what is wrong with it.
        let loaded = block::load_with(servers, file, &logged, &mut sources, &mut warnings);
        let starts_server = loaded.as_ref().is_ok_and(|loaded| loaded.suite.servers.values().any(Server::is_started));
        let (text, globs) = match loaded {
            Ok(loaded) => {
                let servers = loaded.suite.servers.values();
                let globs = servers.flat_map(|server| &server.watch).filter_map(|pattern| {
                    // A server may be described in another file, to whose folder its pattern is relative.
                    let written_in = Path::new(&sources.file(pattern.span.source).name);
                    SourceGlob::new(&pattern.value, written_in.parent().unwrap_or(Path::new("")))
                });
                let globs = globs.collect();
                (Some(suite_text(&loaded, &sources)), globs)
            }
            Err(_) => (None, before.map(|before| before.sources.clone()).unwrap_or_default()),
        };
        Self { file: file.display().to_string(), text, reads: reads.into_inner(), sources: globs, starts_server }
    }

    /// Returns true if a path is one of the sources of its servers.
    pub(super) fn has_source(&self, path: &Path) -> bool {
        self.sources.iter().any(|glob| glob.is_match(path))
    }
}

fn suite_text<S>(loaded: &LoadedSuite<S>, sources: &Sources) -> SuiteText {
    let own = loaded.suite.name.span.source;
    let file = sources.file(own);
    let in_tests: BTreeSet<_> = loaded.blocks.iter().filter_map(|block| block.test).collect();
    let tests = loaded.suite.tests.iter().filter(|test| test.span.source == own).map(|test| TestLines {
        name: test.name.value.clone(),
        first: file.position(test.span.start as usize).0,
        last: file.position((test.span.end as usize).saturating_sub(1)).0,
        is_plain: test.extras.only.is_none() && !in_tests.contains(&test.span) && has_own_lines(&file.text, test.span),
    });
    let tests: Vec<_> = tests.collect();
    SuiteText {
        lines: file.text.lines().map(str::to_owned).collect(),
        has_more: tests.len() < loaded.suite.tests.len() || loaded.blocks.iter().any(|block| block.test.is_none()),
        tests,
    }
}

/// Returns true if nothing else is in the lines of a test.
fn has_own_lines(text: &str, span: Span) -> bool {
    let (before, rest) = text.split_at_checked(span.start as usize).unwrap_or_default();
    let own = rest.get(..(span.end - span.start) as usize).unwrap_or(rest);
    let line_before = before.rsplit('\n').next().unwrap_or_default();
    let line_after = rest[own.len()..].lines().next().filter(|_| !own.ends_with('\n')).unwrap_or_default();
    let line_after = line_after.split(" #").next().unwrap_or_default();
    line_before.chars().all(|c| " \t-".contains(c)) && line_after.chars().all(|c| " \t,".contains(c))
}

impl SuiteText {
    /// The lines of a test.
    pub(super) fn lines_of(&self, test: &TestLines) -> &[String] {
        self.lines.get(test.first.saturating_sub(1)..test.last.min(self.lines.len())).unwrap_or_default()
    }

    /// The lines that belong to no test, without empty ones, which come and go with tests.
    pub(super) fn rest(&self) -> Vec<&str> {
        let is_of_test = |line: usize| self.tests.iter().any(|test| (test.first..=test.last).contains(&line));
        let numbered = self.lines.iter().zip(1..).filter(|(line, at)| !line.trim().is_empty() && !is_of_test(*at));
        numbered.map(|(line, _)| line.as_str()).collect()
    }

    /// The test at a line.
    pub(super) fn test_at(&self, line: usize) -> Option<&TestLines> {
        self.tests.iter().find(|test| (test.first..=test.last).contains(&line))
    }
}

/// The line of the same test in a later text; the same line where there is none.
pub(super) fn follow_line(line: usize, before: Option<&SuiteText>, after: Option<&SuiteText>) -> usize {
    let name = before.and_then(|text| text.test_at(line)).map(|test| &test.name);
    let moved = |name: &String| after?.tests.iter().find(|test| test.name == *name).map(|test| test.first);
    name.and_then(moved).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outline of a text, as if it were a file.
    pub(super) fn text_of(written: &str) -> SuiteText {
        let mut sources = Sources::default();
        let files = |_: &Path| -> io::Result<String> { Ok(written.to_owned()) };
        let loaded = block::load(Path::new("s.yml"), &files, &mut sources, &mut Vec::new()).unwrap();
        suite_text(&loaded, &sources)
    }

    const HEAD: &str = "suite: s\nserver: { builtin: demo }\ntests:\n";

    #[test]
    fn tests_have_lines() {
        for (tests, expected) in [
            ("  - name: a\n    call: echo\n    expect: []\n", &[("a", 4, 6, true)][..]),
            ("  - { name: a, call: echo, expect: [] } # note\n", &[("a", 4, 4, true)]),
            (
                "  - name: a\n    call: echo\n    expect: []\n\n  - name: b\n    call: echo\n    expect: []\n",
                &[("a", 4, 6, true), ("b", 8, 10, true)],
            ),
            ("  [{ name: a, call: echo, expect: [] }]\n", &[("a", 4, 4, false)]),
            ("  - name: a\n    only: true\n    call: echo\n    expect: []\n", &[("a", 4, 7, false)]),
        ] {
            let text = text_of(&format!("{HEAD}{tests}"));
            let found: Vec<_> =
                text.tests.iter().map(|test| (test.name.as_str(), test.first, test.last, test.is_plain)).collect();
            assert_eq!(found, expected, "{tests}");
        }
    }

    #[test]
    fn a_line_follows_its_test() {
        let test = |name: &str| format!("  - name: {name}\n    call: echo\n    expect: []\n");
        let before = text_of(&[HEAD, &test("a"), &test("b")].concat());
        let after = text_of(&[HEAD, &test("new"), &test("a"), &test("b")].concat());
        for (line, expected) in [(1, 1), (4, 7), (5, 7), (9, 10)] {
            assert_eq!(follow_line(line, Some(&before), Some(&after)), expected, "{line}");
        }
        assert_eq!(follow_line(9, Some(&before), None), 9, "a suite with a mistake has no tests");
    }
}
