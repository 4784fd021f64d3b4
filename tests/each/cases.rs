//! Golden cases: a folder under `tests/cases/` with suites and a `cmd` of command lines; the snapshot is what a user
//! sees.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use libtest_mimic::Trial;

use crate::harness::{Scene, root, snapshot};
use crate::test;

pub(crate) fn tests() -> Vec<Trial> {
    let folders = fs::read_dir(root().join("tests/cases")).unwrap().map(|entry| entry.unwrap());
    let names = folders.filter(|folder| folder.path().join("cmd").exists());
    let mut names: Vec<String> = names.map(|folder| folder.file_name().into_string().unwrap()).collect();
    names.sort();
    names.into_iter().map(|name| test(format!("cases::{name}"), move || check(&name))).collect()
}

fn check(name: &str) {
    let scene = Scene::of(&format!("cases/{name}"));
    let lines = fs::read_to_string(root().join(format!("tests/cases/{name}/cmd"))).unwrap();
    let seen: Vec<String> = lines
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| scene.line(line).text())
        .collect();
    snapshot(&format!("cases@{name}__cmd"), &seen.join("\n"));
    scene.assert_nothing_survives();
}
