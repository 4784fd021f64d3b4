//! Golden cases: a folder under `tests/cases/` with suites and a `cmd` of command lines; what a user sees of each is in
//! `tests/snapshots/cases/`, a file for each command.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use libtest_mimic::Trial;

use crate::harness::{Scene, is_update, root, snapshot_in};
use crate::test;

/// A line of a `cmd` whose case is about coverage: the line of runs about it is compared, too.
const WITH_COVERAGE: &str = "# with coverage";
/// A line of a `cmd` whose servers start at any moment: the processes beside one that does not start are not compared.
const ANY_PROCESSES: &str = "# any processes";
/// The longest name of a snapshot.
const NAME: usize = 60;

pub(crate) fn tests() -> Vec<Trial> {
    let mut names = names_in(&root().join("tests/cases"));
    names.retain(|name| root().join(format!("tests/cases/{name}/cmd")).exists());
    let cases = names.clone();
    let all = test("cases".to_owned(), move || remove_others(&root().join("tests/snapshots/cases"), &cases));
    names.into_iter().map(|name| test(format!("cases::{name}"), move || check(&name))).chain([all]).collect()
}

fn check(name: &str) {
    let scene = Scene::of(&format!("cases/{name}"));
    let text = fs::read_to_string(root().join(format!("tests/cases/{name}/cmd"))).unwrap();
    let commands: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let folder = format!("tests/snapshots/cases/{name}");
    let names = snapshot_names(&commands);
    let seen: Vec<_> = commands.iter().map(|command| scene.line(command)).collect();
    for (seen, name) in seen.iter().zip(&names) {
        let is_about_coverage = text.lines().any(|line| line == WITH_COVERAGE);
        let shown = if is_about_coverage { seen.text_with_coverage() } else { seen.text() };
        let has_any_processes = text.lines().any(|line| line == ANY_PROCESSES);
        let is_kept = |line: &&str| !has_any_processes || !line.contains("other processes:");
        let shown: String = shown.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect();
        snapshot_in(&folder, name, &shown);
    }
    let files: BTreeSet<String> = names.iter().map(|name| format!("{name}.snap")).collect();
    remove_others(&root().join(folder), &files);
    scene.assert_nothing_survives();
}

/// What each command is called: by its words, and where they are the same or cut, by its number among those.
fn snapshot_names(commands: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for command in commands {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { ' ' };
        let words: String = command.strip_prefix("mcprove ").unwrap_or(command).chars().map(plain).collect();
        let name = words.split_whitespace().collect::<Vec<_>>().join("-");
        let name = name[..name.len().min(NAME)].trim_matches(['-', '.']).to_owned();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        names.push([name.clone()].into_iter().chain(numbered).find(|name| !names.contains(name)).unwrap());
    }
    names
}

/// Asserts that a folder has only these entries; with `UPDATE=1` removes the others.
fn remove_others<'a>(folder: &Path, known: impl IntoIterator<Item = &'a String>) {
    let known: BTreeSet<&String> = known.into_iter().collect();
    // Snapshots that wait for somebody to accept them.
    let others = names_in(folder).into_iter().filter(|name| !known.contains(name) && !name.ends_with(".snap.new"));
    for other in others {
        assert!(is_update(), "no command has the snapshot {}; `UPDATE=1` removes it", folder.join(&other).display());
        let path = folder.join(other);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}
