//! Servers that nobody here wrote, pinned under `tests/real/`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Scene, files, root, snapshot};

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
        files("examples/real", "yml").iter().filter_map(|suite| proven(&scene, suite)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    scene.assert_nothing_survives();
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
    let proof = &report["proof"];
    let killed = ["killed_by_expectations", "killed_by_scans"].map(|how| proof["totals"][how].as_u64().unwrap());
    let is_proven = proof["control"]["left_out"] == Value::Array(Vec::new()) && killed.iter().sum::<u64>() > 0;
    (!is_proven).then(|| format!("{name}: {}\n{}", proof["control"], seen.text()))
}

/// What is found in tools as these servers list them; whoever adds a lint reads what it says of servers that work.
#[test]
fn what_lints_say_of_real_servers() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/lints");
    let folder = scene.folder.display();
    let servers = ["everything", "memory"].map(|name| format!("node_modules/.bin/mcp-server-{name}"));
    let filesystem = format!("node_modules/.bin/mcp-server-filesystem {folder}");
    let python = ["time", "git"].map(|name| format!("venv/bin/mcp-server-{name}"));
    let mut seen = String::new();
    for server in servers.into_iter().chain([filesystem]).chain(python) {
        let command =
            format!("lint --level advice --report json=lints.json -- {}/tests/real/{server}", root().display());
        let status = scene.run(&command).status;
        let text = fs::read_to_string(scene.folder.join("lints.json")).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let name = server.split(' ').next().unwrap();
        let _ = writeln!(seen, "{name}: exit {status}\n{}", told(&report));
    }
    snapshot("lints-real", &seen);
    scene.assert_nothing_survives();
}

/// What has changed between releases of one server, and that nothing has between two starts of one release.
#[test]
fn releases_of_real_servers_differ_where_they_do() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/releases");
    fs::create_dir(scene.folder.join("files")).unwrap();
    let mut seen = String::new();
    let releases = [("server-filesystem-2026.1.14", "server-filesystem"), ("server-memory-2025.4.25", "server-memory")];
    for (old, new) in releases {
        let command = |package: &str| {
            let start = root().join("tests/real/node_modules").join(package).join("dist/index.js");
            format!(
                "mcprove snapshot --env MEMORY_FILE_PATH={}/memory.json -- node {} files",
                scene.folder.display(),
                start.display()
            )
        };
        let with = |options: &str, package: &str| command(package).replace(" -- ", &format!(" {options} -- "));
        assert_eq!(scene.line(&with(&format!("-o {old}.json"), old)).status, 0, "{old} is recorded");
        let again = scene.line(&with(&format!("--against {old}.json --fail-on cosmetic"), old));
        assert_eq!((again.status, again.stdout.as_str()), (0, "nothing has changed\n"), "{old}: {}", again.stderr);
        let drift = scene.line(&with(&format!("--against {old}.json"), &format!("@modelcontextprotocol/{new}")));
        let _ = writeln!(seen, "{old} and later: exit {}\n{}", drift.status, drift.stdout);
    }
    snapshot("releases-real", &seen);
    let made: Vec<_> = fs::read_dir(scene.folder.join("files")).unwrap().collect();
    assert!(made.is_empty(), "recording made {made:?}");
    scene.assert_nothing_survives();
}

/// The findings and the providers of a report, a line each.
fn told(report: &Value) -> String {
    let mut text = String::new();
    for case in report["suites"][0]["cases"].as_array().unwrap() {
        for finding in case["findings"].as_array().unwrap() {
            let _ = writeln!(text, "  {}: {}", finding["code"].as_str().unwrap(), finding["message"].as_str().unwrap());
            for line in finding["evidence"][0][1].as_str().unwrap_or_default().lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    for verdict in report["reviews"][0]["providers"].as_array().unwrap() {
        let refused: BTreeSet<&str> =
            verdict["refuses"].as_array().unwrap().iter().filter_map(|one| one["lint"].as_str()).collect();
        let refused: Vec<&str> = refused.into_iter().collect();
        let _ = writeln!(text, "  {}: {}", verdict["provider"].as_str().unwrap(), refused.join(" "));
    }
    text
}

/// What these servers break stands in the baselines of the suites; any other failure, and any entry that is no longer
/// true, fails.
#[test]
fn real_servers_keep_the_rules_but_for_those_that_are_known() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/compliance");
    let suites = files("tests/real/compliance", "yml");
    assert!(!suites.is_empty());
    let failures: Vec<String> = suites.iter().filter_map(|suite| run(&scene, suite, "")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    scene.assert_nothing_survives();
}

/// What they serve although their schemas forbid it stands in the baselines beside the suites.
#[test]
fn real_servers_meet_bad_input_well_but_for_what_is_known() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/input");
    let suites = files("tests/real/input", "yml");
    assert!(!suites.is_empty());
    let failures: Vec<String> = suites.iter().filter_map(|suite| run(&scene, suite, "")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // What was made beside it would be listed, too.
    let made = fs::read_dir(root().join("tests/real/scratch/files/library")).unwrap().count();
    assert_eq!(made, 4, "bad input left something behind");
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
pub(crate) fn is_installed() -> bool {
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
