//! Servers that nobody here wrote, pinned under `tests/real/`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io::Write as _;

use crate::harness::{Scene, root};

const NOT_INSTALLED: &str = "the real servers are not installed: run `tests/real/install`";

/// How often the order-dependent suite must pass here; `examples/real/README.md` has the command for 200.
const ROUNDS: usize = 20;

#[test]
fn every_real_suite_passes() {
    if !is_installed() {
        return;
    }
    let mut suites: Vec<String> = fs::read_dir(root().join("examples/real"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.ends_with(".yml"))
        .collect();
    suites.sort();
    let scene = Scene::new("real/all");
    let failures: Vec<String> =
        suites.iter().filter_map(|suite| run(&scene, suite, "")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    scene.assert_nothing_survives();
}

#[test]
fn order_is_kept_every_time() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/order");
    for round in 1..=ROUNDS {
        if let Some(failure) = run(&scene, "memory-order.yml", "MEMORY_FILE=rounds ") {
            panic!("round {round} of {ROUNDS}:\n{failure}");
        }
    }
    scene.assert_nothing_survives();
}

/// Runs a suite in its place; what is shown where it does not pass.
fn run(scene: &Scene, suite: &str, variables: &str) -> Option<String> {
    let file = root().join("examples/real").join(suite);
    let seen = scene.line(&format!("{variables}mcprove run '{}' --state-dir state", file.display()));
    (seen.status != 0).then(|| seen.text())
}

/// Fails where the servers are missing, unless the environment says that this is known.
fn is_installed() -> bool {
    let missing = ["node_modules", "venv", "scratch"]
        .iter()
        .any(|folder| !root().join("tests/real").join(folder).join(".stamp").exists());
    if !missing {
        return true;
    }
    assert!(may_skip(), "{NOT_INSTALLED}, or set `MCPROVE_SKIP_REAL=1` to go without");
    // Not `println!`, which the test runner swallows: nobody shall take this for a pass.
    writeln!(std::io::stderr(), "skipped, as MCPROVE_SKIP_REAL says: {NOT_INSTALLED}").unwrap();
    false
}

#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
fn may_skip() -> bool {
    std::env::var_os("MCPROVE_SKIP_REAL").is_some_and(|value| value == "1")
}
