//! The files of snapshots: `snapshots/SUITE/TEST[-STEP][-ROW][@TARGET].json` beside the suite.
//!
//! The names follow from the suite alone, so that collisions show before anything runs and files that nobody uses can
//! be told. Only `for_each` is known too late for that: its files begin with the names of test and step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::Script;
use super::target::Target;
use crate::source::{Diagnostic, Span};
use crate::suite::{Per, Snapshot, Suite, Test};

/// The longest part of a name that is made from another, in bytes.
const LONGEST: usize = 60;

/// The files of a suite's snapshots, whether or not their cases are selected.
#[derive(Debug, Clone, Default)]
pub struct SnapshotFiles {
    /// The folder that holds nothing else.
    pub folder: PathBuf,
    /// The files that are known by name.
    pub files: BTreeMap<PathBuf, Span>,
    /// The beginnings of the names of files of `for_each` tests.
    pub beginnings: Vec<String>,
}

impl SnapshotFiles {
    /// The beginning of a `for_each` test's file.
    pub fn beginning_of(&self, file: &Path) -> Option<&str> {
        let name = file.file_name()?.to_str()?;
        self.beginnings.iter().map(String::as_str).find(|beginning| name.starts_with(beginning))
    }
}

/// A suite with the targets that its cases run on.
#[derive(Clone, Copy)]
pub struct SnapshotScope<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The targets.
    pub targets: &'a [Target],
}

/// Every file in which a suite keeps snapshots.
pub fn snapshot_files(scope: SnapshotScope<'_>) -> SnapshotFiles {
    let mut files = SnapshotFiles { folder: folder(scope.suite), ..SnapshotFiles::default() };
    each(scope, &mut |test, _, place, snapshot| match place {
        Some(file) => drop(files.files.insert(file, snapshot.span)),
        None => files.beginnings.push(base(test, snapshot, step_number(test, snapshot)) + "-"),
    });
    files
}

/// Two snapshots that would be kept in one file, on a system that does not tell capital letters from small ones.
pub(crate) fn duplicates<'a>(suites: impl Iterator<Item = SnapshotScope<'a>>) -> Vec<Diagnostic> {
    let mut owners: BTreeMap<String, (Span, Option<usize>)> = BTreeMap::new();
    let mut found: Vec<Diagnostic> = Vec::new();
    for scope in suites {
        each(scope, &mut |_, row, place, snapshot| {
            let Some(file) = place else { return };
            let owner = (snapshot.span, row);
            let first = *owners.entry(file.display().to_string().to_lowercase()).or_insert(owner);
            if first == owner || found.iter().any(|one| one.label.as_ref().is_some_and(|at| at.span == snapshot.span)) {
                return;
            }
            let words = format!("two snapshots would be kept in `{}`", file.display());
            let mistake = Diagnostic::error("duplicate-snapshot", words, snapshot.span);
            found.push(if first.0 == snapshot.span {
                mistake.with_help("give each row a name of its own with the key `name`".to_owned())
            } else {
                let help = "give one of them another name, as in `snapshot: created-user`".to_owned();
                mistake.with_other(first.0, "the first one is here").with_help(help)
            });
        });
    }
    found
}

/// Tells the steps of a case where their snapshots are kept.
pub(crate) fn place(script: &mut Script, suite: &Suite, target: &Target, test: &Test, row: Option<&str>) {
    if !script.steps.iter().any(|step| step.snapshot.is_some()) {
        return;
    }
    let number_of = |snapshot: &Snapshot| step_number(test, snapshot);
    for snapshot in Arc::make_mut(&mut script.steps).iter_mut().filter_map(|step| step.snapshot.as_mut()) {
        snapshot.file = file(suite, target, row, snapshot, &base(test, snapshot, number_of(snapshot)));
    }
}

/// Takes a test, the number of its row, its snapshot, and the file where that is known.
type Visit<'a> = dyn FnMut(&Test, Option<usize>, Option<PathBuf>, &Snapshot) + 'a;

/// Visits every snapshot of a suite once for each row and target, with its file where that is known.
fn each(SnapshotScope { suite, targets }: SnapshotScope<'_>, visit: &mut Visit<'_>) {
    for test in suite.tests.iter().filter(|test| test.steps.iter().any(|step| step.snapshot.is_some())) {
        for target in targets.iter().filter(|target| test.is_for(&target.server)) {
            for snapshot in test.steps.iter().filter_map(|step| step.snapshot.as_ref()) {
                let base = base(test, snapshot, step_number(test, snapshot));
                let named = |row: Option<&str>| Some(file(suite, target, row, snapshot, &base));
                if test.extras.for_each.is_some() {
                    visit(test, None, None, snapshot);
                } else if test.extras.rows.is_empty() {
                    visit(test, None, named(None), snapshot);
                }
                for (number, row) in test.extras.rows.iter().enumerate() {
                    visit(test, Some(number), named(Some(&row.name)), snapshot);
                }
            }
        }
    }
}

fn folder(suite: &Suite) -> PathBuf {
    let stem = Path::new(&suite.file).file_stem().unwrap_or_default();
    suite.folder.join("snapshots").join(stem)
}

fn file(suite: &Suite, target: &Target, row: Option<&str>, snapshot: &Snapshot, base: &str) -> PathBuf {
    let row = row.map(|row| format!("-{}", slug(row))).unwrap_or_default();
    let target = match snapshot.per {
        Some(Per::Server) => format!("@{}", slug(&target.server)),
        Some(Per::Revision) => format!("@{}", slug(target.protocol.as_str())),
        None => String::new(),
    };
    folder(suite).join(format!("{base}{row}{target}.json"))
}

/// The step by name or number, where a test has several.
fn step_number(test: &Test, snapshot: &Snapshot) -> Option<String> {
    let at = test.steps.iter().position(|step| step.snapshot.as_ref().is_some_and(|own| own.span == snapshot.span))?;
    let named = test.steps[at].name.as_deref().map(slug);
    (test.steps.len() > 1).then(|| named.unwrap_or_else(|| (at + 1).to_string()))
}

/// The part of a name that is the same for all rows and targets.
fn base(test: &Test, snapshot: &Snapshot, step: Option<String>) -> String {
    match (&snapshot.name, step) {
        (Some(name), _) => name.clone(),
        (None, Some(step)) => format!("{}-{step}", slug(&test.name.value)),
        (None, None) => slug(&test.name.value),
    }
}

/// Letters, digits and `_` in small letters, everything else as `-`; what is cut off is told by a number.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let trimmed = slug.trim_end_matches('-');
    if !trimmed.is_empty() && trimmed.len() <= LONGEST {
        return trimmed.to_owned();
    }
    let end = (0..=LONGEST.min(trimmed.len())).rev().find(|at| trimmed.is_char_boundary(*at)).unwrap_or(0);
    format!("{}-{:08x}", &trimmed[..end], fingerprint(text)).trim_start_matches('-').to_owned()
}

/// FNV-1a: the same on every system and for ever, which the standard library does not promise of its hashes.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        let check = |text: &str, expected: &str| assert_eq!(slug(text), expected, "{text}");
        check("A user can be read back!", "a-user-can-be-read-back");
        check("id=../../etc", "id-etc");
        check("get_user", "get_user");
        check("größe {{ n }}", "größe-n");
        check("???", "7bcac794");
        check("", "811c9dc5");
        assert!(slug(&"x".repeat(300)).len() <= LONGEST + 9 && slug(&"x".repeat(300)) != slug(&"x".repeat(301)));
    }
}
