//! Servers that nobody here wrote, pinned under `tests/real/`.

use std::path::Path;

use crate::harness::{Scene, files, root};

const NOT_INSTALLED: &str = "the real servers are not installed: run `tests/real/install`";

/// How often the order-dependent suite must pass here; its first lines have the command for 200 times.
const ROUNDS: usize = 20;

#[test]
fn every_real_suite_passes() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/all");
    let failures: Vec<String> =
        files("examples/real", "yml").iter().filter_map(|suite| run(&scene, suite, "")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    scene.assert_nothing_survives();
}

#[test]
fn order_is_kept_every_time() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/order");
    let suite = root().join("examples/real/memory-order.yml");
    for round in 1..=ROUNDS {
        if let Some(failure) = run(&scene, &suite, "MEMORY_FILE=rounds ") {
            panic!("round {round} of {ROUNDS}:\n{failure}");
        }
    }
    scene.assert_nothing_survives();
}

/// Runs a suite in its place; what is shown where it does not pass.
fn run(scene: &Scene, suite: &Path, variables: &str) -> Option<String> {
    let seen = scene.line(&format!("{variables}mcprove run '{}' --state-dir state", suite.display()));
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
    tell(&format!("skipped, as MCPROVE_SKIP_REAL says: {NOT_INSTALLED}"));
    false
}

/// Not with `eprintln!`, which the test runner swallows: nobody shall take this for a pass.
fn tell(sentence: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{sentence}\n").as_bytes());
}

#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
fn may_skip() -> bool {
    std::env::var_os("MCPROVE_SKIP_REAL").is_some_and(|value| value == "1")
}
