//! The suites under `examples/`, all together: their schemas, their coverage, the published table.

use std::fs;

use serde_json::Value;

use crate::harness::{Scene, files, root};

#[test]
fn editors_find_the_schema() {
    for path in files("examples", "yml") {
        let text = fs::read_to_string(&path).unwrap();
        let schema = text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
        let Some(schema) = schema else { panic!("{} does not begin with its schema", path.display()) };
        assert!(path.parent().unwrap().join(schema).exists(), "{}: there is no {schema}", path.display());
    }
}

/// The fixtures of the taxonomy under the names that it publishes: suites, or folders of suites.
const FIXTURES: [&str; 8] = [
    "examples/negative-path.yml",
    "examples/fuzz/",
    "examples/output-schema-conformance.yml",
    "examples/test-isolation.yml",
    "examples/security/",
    "examples/trust-boundary/",
    "examples/fault-injection-recovery.yml",
    "examples/config-enforcement/",
];

#[test]
fn every_fixture_is_the_example_of_a_leaf() {
    let registry = mcprove::taxonomy::Registry::builtin();
    for fixture in FIXTURES {
        assert!(!files(fixture, "yml").is_empty(), "there is no suite in {fixture}");
        assert!(registry.leaves().any(|leaf| leaf.example.as_deref() == Some(fixture)), "{fixture}");
    }
}

#[test]
fn every_leaf_has_an_example_that_declares_it() {
    let scene = Scene::new("examples/leaves");
    for leaf in mcprove::taxonomy::Registry::builtin().leaves() {
        let example = leaf.example.as_deref().unwrap();
        let is_declared = files(example, "yml").iter().any(|suite| {
            let seen = scene.run(&format!("fault-coverage {} --format json", suite.display()));
            is_counted(&serde_json::from_str(&seen.stdout).unwrap(), &leaf.id)
        });
        assert!(is_declared, "no suite in {example} declares {}", leaf.id);
    }
}

/// A policy says how cases run, and no expectation looks at what it is for.
#[test]
fn a_restart_policy_declares_isolation_and_exercises_nothing() {
    let scene = Scene::new("examples/policy");
    let levels = |policy: &str, skip: &str| {
        let test =
            format!("{{ name: hello, {skip}call: echo, args: {{ message: hello }}, expect: [{{ is_error: false }}] }}");
        let options = format!("run_options: {{ restart_policy: {policy} }}");
        scene.write("suite.yml", &format!("suite: S\nserver: {{ builtin: demo }}\n{options}\ntests: [{test}]\n"));
        scene.run("run suite.yml --prove --report json=report.json");
        let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
        let scores = [&report["coverage"]["declared"], &report["coverage"]["exercised"], &report["proof"]["proven"]];
        scores.map(|score| is_counted(score, "FAULT-STATE-SESSION-LEAK"))
    };
    assert_eq!(levels("per_test", ""), [true, false, false]);
    assert_eq!(levels("per_test", "skip: not now, "), [false, false, false]);
    assert_eq!(levels("per_suite", ""), [false, false, false]);
    assert_eq!(levels("never", ""), [false, false, false]);
}

/// Whether a leaf counts in a score.
fn is_counted(score: &Value, leaf: &str) -> bool {
    let families = score["families"].as_array().into_iter().flatten();
    let mut leaves = families.flat_map(|family| family["by_leaf"].as_array().into_iter().flatten());
    leaves.any(|scored| scored["id"] == leaf && scored["counted"] == true)
}

#[test]
fn the_published_table() {
    let scene = Scene::new("examples/published");
    let example = root().join("examples/negative-path.yml");
    let seen = scene.run(&format!("fault-coverage {} --probe fuzz", example.display()));
    let table = "\
family    status     leaves
PROTO     partial    2/3
TOOL      covered    2/2
SCHEMA    partial    2/4
STATE     uncovered  0/2
PROVIDER  n/a        0/2
SECURITY  uncovered  0/2
TIMEOUT   uncovered  0/2
CONFIG    uncovered  0/1

38% of applicable faults exercised; 1 of 7 families fully covered
";
    assert!(seen.stdout.starts_with(table), "{}", seen.text());
}
