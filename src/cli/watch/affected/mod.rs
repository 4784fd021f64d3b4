//! What to run again: given the changed files, the suites before and after, and what failed last time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::outline::{SuiteOutline, SuiteText};
use crate::plan::Failed;
use crate::suite::normalize_path;

/// A suite of which something runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AffectedSuite {
    /// The file as it is named in the run.
    pub(super) file: String,
    pub(super) extent: Extent,
    pub(super) cause: Cause,
}

/// How much of a suite runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// The tests at these lines.
    Tests(Vec<ChangedTest>),
}

/// A test of which only the text changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedTest {
    pub(super) name: String,
    pub(super) line: usize,
}

/// Why a suite runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The suite, or a file that it reads.
    Suite,
    /// A source of one of its servers.
    Sources,
}

/// The suites of which something runs again, in the order of the run.
pub(super) fn affected(
    changed: &BTreeSet<PathBuf>,
    before: &[SuiteOutline],
    after: &[SuiteOutline],
) -> Vec<AffectedSuite> {
    let of = |suite: &SuiteOutline| {
        let known = before.iter().find(|known| known.file == suite.file);
        let (extent, cause) = affected_part(changed, known, suite)?;
        Some(AffectedSuite { file: suite.file.clone(), extent, cause })
    };
    after.iter().filter_map(of).collect()
}

fn affected_part(
    changed: &BTreeSet<PathBuf>,
    before: Option<&SuiteOutline>,
    after: &SuiteOutline,
) -> Option<(Extent, Cause)> {
    let Some(before) = before else { return Some((Extent::Whole, Cause::Suite)) };
    if changed.iter().any(|path| before.has_source(path) || after.has_source(path)) {
        return Some((Extent::Whole, Cause::Sources));
    }
    let read: BTreeSet<&PathBuf> = before.reads.union(&after.reads).filter(|path| changed.contains(*path)).collect();
    if read.is_empty() {
        return None;
    }
    let own = normalize_path(Path::new(&after.file));
    let tests = match (&before.text, &after.text) {
        (Some(before), Some(after)) if read.iter().all(|path| **path == own) => changed_tests(before, after),
        _ => Vec::new(),
    };
    Some((if tests.is_empty() { Extent::Whole } else { Extent::Tests(tests) }, Cause::Suite))
}

/// The tests whose texts are new, where nothing else changed; empty where the whole suite may be another one.
fn changed_tests(before: &SuiteText, after: &SuiteText) -> Vec<ChangedTest> {
    let (old, new) = (texts(before), texts(after));
    let changed = after.tests.iter().filter(|test| !old.contains(after.lines_of(test)));
    let gone = before.tests.iter().filter(|test| !new.contains(before.lines_of(test)));
    // Other tests may repeat what has an anchor.
    let has_anchor = |lines: &[String]| lines.iter().any(|line| line.contains('&'));
    let is_own = changed.clone().all(|test| test.is_plain && !has_anchor(after.lines_of(test)))
        && gone.clone().all(|test| test.is_plain && !has_anchor(before.lines_of(test)))
        // A test that is gone or has another name may have done something for the others.
        && gone.clone().all(|test| after.tests.iter().any(|kept| kept.name == test.name));
    if before.rest() != after.rest() || !is_own {
        return Vec::new();
    }
    changed.map(|test| ChangedTest { name: test.name.clone(), line: test.first }).collect()
}

fn texts(suite: &SuiteText) -> BTreeSet<&[String]> {
    suite.tests.iter().map(|test| suite.lines_of(test)).collect()
}

/// Leaves of each suite the tests at the lines that were asked for, if any were.
pub(super) fn within_lines(
    affected: Vec<AffectedSuite>,
    lines: &BTreeMap<String, Vec<usize>>,
    suites: &[SuiteOutline],
) -> Vec<AffectedSuite> {
    let narrow = |suite: AffectedSuite| {
        let Some(asked) = lines.get(&suite.file) else { return Some(suite) };
        let text = suites.iter().find(|outline| outline.file == suite.file).and_then(|outline| outline.text.as_ref());
        let name = |line: usize| text.and_then(|text| text.test_at(line)).map(|test| test.name.clone());
        let changed = |line: usize| match &suite.extent {
            Extent::Whole => true,
            Extent::Tests(tests) => tests.iter().any(|test| Some(&test.name) == name(line).as_ref()),
        };
        let tests: Vec<ChangedTest> = asked
            .iter()
            .filter(|line| changed(**line))
            .map(|line| ChangedTest { name: name(*line).unwrap_or_default(), line: *line })
            .collect();
        (!tests.is_empty()).then_some(AffectedSuite { extent: Extent::Tests(tests), ..suite })
    };
    affected.into_iter().filter_map(narrow).collect()
}

/// A run: words for the command line, and whether only what failed is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) words: Vec<String>,
    pub(super) only_failed: bool,
}

/// The runs: first what failed last time, where that is less than all of it, then everything that is affected.
///
/// What failed runs twice, and the second run is the one that counts: a test may need those before it.
pub(super) fn stages(affected: &[AffectedSuite], suites: &[SuiteOutline], failed: &Failed) -> Vec<Stage> {
    let outline = |file: &str| suites.iter().find(|suite| suite.file == file);
    let has_failed = |suite: &&AffectedSuite| {
        let prefix = format!("{}::", suite.file);
        let count = failed.cases.iter().chain(&failed.masked).filter(|id| id.starts_with(&prefix)).count();
        let text = outline(&suite.file).and_then(|outline| outline.text.as_ref());
        // Of a suite that does not load, nothing runs.
        let is_part = text.is_some_and(|text| text.has_more || count < text.tests.len());
        suite.extent == Extent::Whole && count > 0 && is_part && !failed.files.contains(&suite.file)
    };
    let words = affected.iter().filter(has_failed).map(|suite| suite.file.clone()).collect::<Vec<_>>();
    let first = (!words.is_empty()).then_some(Stage { words, only_failed: true });
    let all = affected.iter().flat_map(|suite| match &suite.extent {
        Extent::Whole => vec![suite.file.clone()],
        Extent::Tests(tests) => tests.iter().map(|test| format!("{}:{}", suite.file, test.line)).collect(),
    });
    first.into_iter().chain([Stage { words: all.collect(), only_failed: false }]).collect()
}

/// What changed, and what runs therefore.
pub(super) fn reason(changed: &BTreeSet<PathBuf>, affected: &[AffectedSuite]) -> String {
    let what = match changed.iter().collect::<Vec<_>>()[..] {
        [one] => format!("`{}` changed", one.display()),
        ref several => format!("{} files changed", several.len()),
    };
    let suites = match affected {
        [one] => format!("`{}`", one.file),
        several => format!("{} suites", several.len()),
    };
    let server = if affected.iter().any(|suite| suite.cause == Cause::Sources) { " on a new server" } else { "" };
    let part = match affected {
        [AffectedSuite { extent: Extent::Tests(tests), .. }] => match &tests[..] {
            [one] => format!("the test `{}` of ", one.name),
            several => format!("{} tests of ", several.len()),
        },
        _ => String::new(),
    };
    format!("{what}: running {part}{suites}{server}")
}

#[cfg(test)]
mod tests;
