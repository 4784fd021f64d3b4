//! Every suite under `examples/` does what it says: it passes, and fails on the faulty servers that its comment names.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::env::{join_paths, split_paths};
use std::fs;
use std::iter;
use std::path::Path;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::{Scene, Seen, files, path, root};
use crate::test;

/// Examples that show what a failure looks like.
const FAILING: &[&str] = &["failing.yml", "six-bugs.yml", "generated.yml"];

/// Every example but those that need servers of others; `real` runs them.
pub(crate) fn tests() -> Vec<Trial> {
    let folder = root().join("examples");
    let files = files("examples", "yml").into_iter().filter(|path| !path.starts_with(folder.join("real")));
    let names = files.filter_map(|path| Some(path.strip_prefix(&folder).ok()?.to_str()?.to_owned()));
    names.flat_map(|name| tests_of(&name)).collect()
}

fn tests_of(name: &str) -> Vec<Trial> {
    let text = fs::read_to_string(root().join("examples").join(name)).unwrap();
    let on_faulty = faults(&text).map(|fault| {
        let (name, text, fault) = (name.to_owned(), text.clone(), fault.to_owned());
        test(format!("examples::{name}::{fault}"), move || fails(&name, &text, &fault))
    });
    let own = name.to_owned();
    let on_correct = test(format!("examples::{name}"), move || check(&own));
    on_faulty.chain([on_correct]).collect()
}

/// The faults that the comment of a suite names, a line each.
fn faults(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("#   --fault ")?.split_whitespace().next())
}

/// The same suite on a faulty server fails.
fn fails(name: &str, text: &str, fault: &str) {
    let scene = Scene::bare(&format!("examples/{}-{fault}", name.replace('/', "-")));
    let faulty = [
        ("builtin: demo", format!("command: mcprove serve faulty --fault {fault}")),
        ("serve demo", format!("serve faulty --fault {fault}")),
        ("serve, demo", format!("serve, faulty, --fault, {fault}")),
    ];
    let replaced = faulty.iter().fold(text.to_owned(), |text, (correct, faulty)| text.replace(correct, faulty));
    scene.write("suite.yml", &replaced);
    let seen = run(&scene, "run suite.yml");
    assert_eq!(seen.status, 1, "{}", seen.text());
    scene.assert_nothing_survives();
}

fn check(name: &str) {
    let scene = Scene::new(&format!("examples/{}", name.replace('/', "-")));
    let path = root().join("examples").join(name);
    let seen = scene.run(&format!("check {}", path.display()));
    assert_eq!(seen.status, 0, "{}", seen.text());
    let expected = i32::from(FAILING.iter().any(|file| path.ends_with(file)));
    let seen = run(&scene, &format!("run {} --state-dir state --report json=report.json", path.display()));
    assert_eq!(seen.status, expected, "{}", seen.text());
    // An example judges all of its cases.
    let report = fs::read_to_string(scene.folder.join("report.json")).unwrap();
    assert_eq!(not_judged(&serde_json::from_str(&report).unwrap()), [""; 0], "{}", seen.text());
    scene.assert_nothing_survives();
}

/// The names of the cases in a report that came to no verdict.
pub(crate) fn not_judged(report: &Value) -> Vec<String> {
    let suites = report["suites"].as_array().unwrap().iter();
    let cases = suites.flat_map(|suite| suite["cases"].as_array().unwrap());
    let open = cases.filter(|case| ["inconclusive", "errored"].contains(&case["outcome"].as_str().unwrap()));
    open.map(|case| case["case"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Runs `mcprove` where servers find it too, as `mcprove serve …`.
fn run(scene: &Scene, arguments: &str) -> Seen {
    let folder = Path::new(env!("CARGO_BIN_EXE_mcprove")).parent().unwrap().to_owned();
    let folders = join_paths(iter::once(folder).chain(split_paths(&path()))).unwrap();
    scene.line(&format!("PATH={} mcprove {arguments}", folders.display()))
}
