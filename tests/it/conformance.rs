//! Our server, judged by others: the official conformance suite runs against the demo server, once for each revision.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;

use crate::harness::{Scene, Seen, is_installed, root};

/// What the suite runs besides what it requires; these have to pass as well.
const BEYOND: [&str; 4] = [
    "http-custom-header-server-validation",
    "http-header-validation",
    "json-schema-2020-12",
    "server-session-lifecycle",
];

/// The scenarios of the extension for tasks. There is one more, `tasks-status-notifications`, which checks nothing yet.
const TASKS: [&str; 9] = [
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
];

#[test]
fn all_of_2025_11_25_passes() {
    check("demo --conformance-fixtures", "2025-11-25", 30);
}

#[test]
fn all_of_2026_07_28_passes() {
    let Some(verdict) = check("demo --conformance-fixtures --tasks", "2026-07-28", 37) else { return };
    let missed = TASKS.iter().filter(|scenario| verdict.passed.get(**scenario) != Some(&true));
    assert_eq!(missed.collect::<Vec<_>>(), Vec::<&&str>::new(), "{}", verdict.seen.text());
}

#[test]
fn without_its_fixtures_the_server_does_not_pass() {
    if !is_installed() {
        return;
    }
    let scene = Scene::bare("conformance/without-fixtures");
    let verdict = judge(&scene, "demo", "2025-11-25");
    assert_eq!(verdict.seen.status, 1, "{}", verdict.seen.text());
    assert!(verdict.failed().contains(&"tools-call-simple-text".to_owned()), "{:?}", verdict.failed());
    assert!(!verdict.failed().contains(&"ping".to_owned()), "{:?}", verdict.failed());
}

/// Holds a server to everything that a revision requires, which is so many scenarios; nothing where no suite is installed.
fn check(server: &str, revision: &str, required: usize) -> Option<Verdict> {
    if !is_installed() {
        return None;
    }
    let scene = Scene::bare(&format!("conformance/{revision}"));
    let verdict = judge(&scene, server, revision);
    let shown = verdict.seen.text();
    assert_eq!(verdict.required.len(), required, "the suite requires other scenarios: {:?}", verdict.required);
    assert_eq!(verdict.failed(), Vec::<String>::new(), "{shown}");
    assert_eq!(verdict.seen.status, 0, "{shown}");
    let beyond = BEYOND.iter().filter(|scenario| verdict.passed.get(**scenario) == Some(&false));
    assert_eq!(beyond.collect::<Vec<_>>(), Vec::<&&str>::new(), "{shown}");
    Some(verdict)
}

/// What the suite says about a server.
struct Verdict {
    /// The scenarios that it requires.
    required: Vec<String>,
    /// The scenarios that it ran, and whether each passed.
    passed: BTreeMap<String, bool>,
    seen: Seen,
}

impl Verdict {
    /// The required scenarios that failed, or did not run.
    fn failed(&self) -> Vec<String> {
        let failed = self.required.iter().filter(|scenario| self.passed.get(*scenario) != Some(&true));
        failed.cloned().collect()
    }
}

/// Runs the suite against a server of ours.
fn judge(scene: &Scene, server: &str, revision: &str) -> Verdict {
    let list = suite(scene, &format!("list --requirements {revision}"));
    assert_eq!(list.status, 0, "{}", list.text());
    let server = scene.serve(server);
    let seen = suite(scene, &format!("server --url {} --requirements {revision}", server.url));
    drop(server);
    scene.assert_nothing_survives();
    Verdict { required: required(&list.stdout), passed: passed(&seen.stdout), seen }
}

/// Runs the suite's program with arguments, under the Node that comes with it.
fn suite(scene: &Scene, arguments: &str) -> Seen {
    let programs = root().join("tests/real/node_modules/.bin");
    scene.line(&format!("sh -c 'exec \"$0/node\" \"$0/conformance\" {arguments}' '{}'", programs.display()))
}

/// The scenarios in the list of what a revision requires of servers.
fn required(list: &str) -> Vec<String> {
    let (_, servers) = list.split_once("Server scenarios (test against a server):\n").unwrap();
    servers.lines().map_while(|line| line.strip_prefix("  - ")).map(str::to_owned).collect()
}

/// The lines of the summary, such as `✓ ping: 2 passed, 0 failed`; a scenario that looked at nothing has not passed.
fn passed(output: &str) -> BTreeMap<String, bool> {
    let (_, summary) = output.split_once("=== SUMMARY ===").unwrap();
    let verdict = |line: &str| {
        let (mark, rest) = line.split_once(' ')?;
        let (scenario, counts) = rest.split_once(": ")?;
        let is_line = ["✓", "✗"].contains(&mark) && counts.ends_with(" failed");
        is_line.then(|| (scenario.to_owned(), mark == "✓" && !counts.starts_with("0 passed")))
    };
    summary.lines().filter_map(verdict).collect()
}
