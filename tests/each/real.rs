//! Servers that nobody here wrote, pinned under `tests/real/`: each suite for one of them is a test.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::examples::not_judged;
use crate::harness::{Scene, alone_with, files, is_installed, root};
use crate::test;

/// A kind of suite: the first part of the names of tests, the folder, and what shows why a suite does not pass.
type Kind = (&'static str, &'static str, fn(&Scene, &Path) -> Option<String>);

const KINDS: &[Kind] = &[
    // Each passes, and so does its recording.
    ("suite", "examples/real", proven),
    // What these servers break stands in the baselines of the suites; any other failure, and any entry that is no
    // longer true, fails.
    ("compliance", "tests/real/compliance", run),
    // What they serve although their schemas forbid it stands in the baselines beside the suites.
    ("input", "tests/real/input", input),
];

pub(crate) fn tests() -> Vec<Trial> {
    let of = |(kind, folder, show): &Kind| {
        let (kind, show) = (*kind, *show);
        files(folder, "yml").into_iter().map(move |path| {
            let name = format!("real::{kind}::{}", path.file_stem().unwrap().display());
            test(name, move || check(kind, &path, show))
        })
    };
    KINDS.iter().flat_map(of).collect()
}

fn check(kind: &str, suite: &Path, show: fn(&Scene, &Path) -> Option<String>) {
    if !is_installed() {
        return;
    }
    let stem = suite.file_stem().unwrap().to_str().unwrap();
    // Suites for one of these servers work on the same files.
    let server = stem.split('-').next().unwrap();
    let _alone = ["filesystem", "git", "memory"].contains(&server).then(|| alone_with(server));
    let scene = Scene::new(&format!("real/{kind}-{stem}"));
    if let Some(failure) = show(&scene, suite) {
        panic!("{failure}");
    }
    scene.assert_nothing_survives();
}

/// Runs a suite in its place; what is shown where it does not pass.
fn run(scene: &Scene, suite: &Path) -> Option<String> {
    let seen = scene.line(&format!("mcprove run '{}' --state-dir state", suite.display()));
    (seen.status != 0).then(|| seen.text())
}

/// The same; the server for files must have left nothing behind where it works.
fn input(scene: &Scene, suite: &Path) -> Option<String> {
    let failure = run(scene, suite);
    if suite.file_stem().unwrap() != "filesystem" {
        return failure;
    }
    // What was made beside it would be listed, too.
    let made = fs::read_dir(root().join("tests/real/scratch/files/library")).unwrap().count();
    failure.or_else(|| (made != 4).then(|| "bad input left something behind".to_owned()))
}

/// Runs a suite in its place and plays it back; what is shown where it does not pass, or ends otherwise from its recording.
///
/// All mutants are tried for some of them, one is for the others: what matters here is the control run.
fn proven(scene: &Scene, suite: &Path) -> Option<String> {
    let name = suite.file_stem().unwrap().to_string_lossy();
    let is_whole = ["memory-order", "everything", "filesystem"].contains(&name.as_ref());
    let picks = if is_whole { "" } else { "--mutant answered-twice" };
    let command = format!("mcprove prove '{}' --state-dir state {picks} --report json=proof.json", suite.display());
    let seen = scene.line(&command);
    if seen.status != 0 {
        return Some(seen.text());
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(scene.folder.join("proof.json")).unwrap()).unwrap();
    let open = not_judged(&report);
    if !open.is_empty() {
        return Some(format!("{name}: not judged: {open:?}\n{}", seen.text()));
    }
    let proof = &report["proof"];
    let killed = ["killed_by_expectations", "killed_by_scans"].map(|how| proof["totals"][how].as_u64().unwrap());
    let is_proven = proof["control"]["left_out"] == Value::Array(Vec::new()) && killed.iter().sum::<u64>() > 0;
    (!is_proven).then(|| format!("{name}: {}\n{}", proof["control"], seen.text()))
}
