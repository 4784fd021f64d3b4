//! The suites under `examples/`, all together: their schemas, their coverage, the published table.

use std::collections::BTreeSet;
use std::env::{join_paths, split_paths};
use std::fs;
use std::iter;
use std::path::Path;

use serde_json::Value;

use crate::harness::{self, Scene, files, root};

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
        assert!(is_declared, "{example} {}", leaf.id);
    }
}

/// A policy says how cases run, and no expectation looks at what it is for.
#[test]
fn a_restart_policy_declares_isolation_and_exercises_nothing() {
    let scene = Scene::new("examples/policy");
    let levels = |policy: &str, skip: &str, count: usize| {
        let test = |number: usize| {
            format!(
                "{{ name: hello {number}, {skip}call: echo, args: {{ message: hello }}, expect: [{{ is_error: false }}] }}"
            )
        };
        let tests = (0..count).map(test).collect::<Vec<_>>().join(", ");
        let options = format!("run_options: {{ restart_policy: {policy} }}");
        scene.write("suite.yml", &format!("suite: S\nserver: {{ builtin: demo }}\n{options}\ntests: [{tests}]\n"));
        scene.run("run suite.yml --prove --report json=report.json");
        let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
        let scores = [&report["coverage"]["declared"], &report["coverage"]["exercised"], &report["proof"]["proven"]];
        scores.map(|score| is_counted(score, "FAULT-STATE-SESSION-LEAK"))
    };
    assert_eq!(levels("per_test", "", 1), [true, false, false]);
    assert_eq!(levels("per_test", "skip: not now, ", 2), [false, false, false]);
    assert_eq!(levels("per_suite", "", 2), [false, false, false]);
    assert_eq!(levels("never", "", 2), [true, false, false]);
    assert_eq!(levels("never", "skip: not now, ", 2), [false, false, false]);
    assert_eq!(levels("never", "", 1), [false, false, false], "nobody comes after it");
}

/// Faults that have a name do nothing by themselves.
#[test]
fn faults_declare_recovery_where_a_test_injects_them() {
    let scene = Scene::new("examples/injected");
    let is_declared = |inject: &str| {
        let test = format!(
            "{{ name: hello, {inject}call: echo, args: {{ message: hello }}, expect: [{{ is_error: false }}] }}"
        );
        let faults = "faults: [{ name: slow, type: latency }]";
        scene.write("suite.yml", &format!("suite: S\nserver: {{ builtin: demo }}\n{faults}\ntests: [{test}]\n"));
        let seen = scene.run("fault-coverage suite.yml --format json");
        is_counted(&serde_json::from_str(&seen.stdout).unwrap(), "FAULT-TIMEOUT-SLOW")
    };
    assert!(is_declared("inject: [slow], "));
    assert!(!is_declared("inject: [slow], skip: not now, "));
    assert!(!is_declared(""));
}

/// An expression judges what it looks at, as a path does.
#[test]
fn an_expression_over_a_cancelled_call_judges_it() {
    let scene = Scene::new("examples/cancelled");
    let declared = |expectation: &str| {
        let call = "call: export_users, args: { format: csv }, cancel: { after: 50ms }";
        let steps = format!("steps: [{{ {call}, expect: [{expectation}] }}, {{ alive: true }}]");
        let suite = format!("suite: S\nserver: {{ builtin: demo }}\ntests: [{{ name: t, {steps} }}]\n");
        scene.write("suite.yml", &suite);
        let seen = scene.run("fault-coverage suite.yml --format json");
        let score: Value = serde_json::from_str(&seen.stdout).unwrap();
        let variants = variants(&score);
        variants
            .filter(|one| one["counted"] == true)
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let fatal = "TIMEOUT-CANCEL-FATAL";
    assert_eq!(declared("{ assert: not answered }"), ["TIMEOUT-CANCEL-REPLY", fatal]);
    assert_eq!(declared("{ assert: \"late == []\" }"), ["TIMEOUT-CANCEL-REPLY", fatal]);
    assert_eq!(declared("{ not: { assert: progress_after > 0 } }"), ["TIMEOUT-CANCEL-IGNORED", fatal]);
    assert_eq!(declared("{ at: progress_after, equals: 0 }"), ["TIMEOUT-CANCEL-IGNORED", fatal]);
    assert_eq!(declared("{ assert: cancelled }"), [fatal]);
}

/// Who asks for what was deleted, and expects a refusal, judges the deletion.
#[test]
fn a_refusal_of_what_was_deleted_judges_the_deletion() {
    let scene = Scene::new("examples/deleted");
    for (tool, later, expected, is_judged) in [
        ("delete_user", "u1", "is_error: true", true),
        ("delete_user", "u1", "is_error: false", false),
        ("delete_user", "u2", "is_error: true", false),
        ("get_user", "u1", "is_error: true", false),
    ] {
        let steps = format!(
            "steps: [{{ call: {tool}, args: {{ id: u1 }} }}, {{ call: get_user, args: {{ id: {later} }}, expect: [{{ {expected} }}] }}]"
        );
        let suite = format!("suite: S\nserver: {{ builtin: demo }}\ntests: [{{ name: t, {steps} }}]\n");
        scene.write("suite.yml", &suite);
        let seen = scene.run("fault-coverage suite.yml --format json");
        let score: Value = serde_json::from_str(&seen.stdout).unwrap();
        let mut deletions = variants(&score).filter(|one| one["id"] == "STATE-WRONG-DELETION");
        assert_eq!(deletions.any(|one| one["counted"] == true), is_judged, "{suite}{}", seen.text());
    }
}

/// The families of state, time and settings.
const STATE_TIME_SETTINGS: [&str; 3] = ["STATE", "TIMEOUT", "CONFIG"];

/// The examples that are about them, with the faults that each proves.
const PROVING: [(&str, &str); 5] = [
    ("test-isolation.yml", "--mutant STATE"),
    ("data-file.yml", "--mutant STATE-CORRUPT-STORE"),
    ("fault-injection-recovery.yml", "--mutant TIMEOUT --mutant FAULT-STATE-CANCEL-RESIDUE"),
    ("config-enforcement/hints.yml", "--mutant CONFIG"),
    ("config-enforcement/settings.yml", "--mutant CONFIG"),
];

#[test]
fn the_variants_of_state_time_and_settings_are_exercised_and_proven_by_the_examples() {
    let scene = Scene::new("examples/variants");
    let mut levels = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for (suite, picks) in PROVING {
        let path = root().join("examples").join(suite);
        let folder = Path::new(env!("CARGO_BIN_EXE_mcprove")).parent().unwrap().to_owned();
        let folders = join_paths(iter::once(folder).chain(split_paths(&harness::path()))).unwrap();
        let line = format!("prove {} --live {picks} --state-dir state --report json=report.json", path.display());
        let seen = scene.line(&format!("PATH={} mcprove {line}", folders.display()));
        assert_eq!(seen.status, 0, "{}", seen.text());
        let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
        let scores = [&report["coverage"]["declared"], &report["coverage"]["exercised"], &report["proof"]["proven"]];
        for (score, known) in scores.into_iter().zip(&mut levels) {
            let counted = variants(score).filter(|one| one["counted"] == true);
            known.extend(counted.map(|one| one["id"].as_str().unwrap().to_owned()));
        }
    }
    let [declared, exercised, proven] = levels;
    let registry = mcprove::taxonomy::Registry::builtin();
    let families = registry.families.iter().filter(|family| STATE_TIME_SETTINGS.contains(&family.id.as_str()));
    let all = families.flat_map(|family| &family.leaves).flat_map(|leaf| &leaf.variants);
    let all: Vec<&str> = all.map(|variant| variant.id.as_str()).collect();
    let without =
        |is_there: &dyn Fn(&str) -> bool| -> Vec<&str> { all.iter().copied().filter(|id| !is_there(id)).collect() };
    assert_eq!(without(&|id| declared.contains(id) && exercised.contains(id)), [""; 0], "not exercised");
    assert_eq!(without(&|id| proven.contains(id)), [""; 0], "not proven");
}

/// The variants of a score.
fn variants(score: &Value) -> impl Iterator<Item = &Value> {
    let families = score["families"].as_array().into_iter().flatten();
    let leaves = families.flat_map(|family| family["by_leaf"].as_array().into_iter().flatten());
    leaves.flat_map(|leaf| leaf["by_variant"].as_array().into_iter().flatten())
}

/// Whether a leaf counts in a score.
fn is_counted(score: &Value, leaf: &str) -> bool {
    let families = score["families"].as_array().into_iter().flatten();
    let mut leaves = families.flat_map(|family| family["by_leaf"].as_array().into_iter().flatten());
    leaves.any(|scored| scored["id"] == leaf && scored["counted"] == true && scored["only_claimed"] != true)
}

#[test]
fn the_published_table() {
    let scene = Scene::new("examples/published");
    let example = root().join("examples/negative-path.yml");
    let seen = scene.run(&format!("fault-coverage {} --probe fuzz", example.display()));
    let table = "\
Runtime fault family coverage

partial    Protocol interaction        2/3 faults  [PROTO]
covered    Tool invocation             2/2 faults  [TOOL]
partial    Schema enforcement          2/4 faults  [SCHEMA]
uncovered  State management            0/2 faults  [STATE]
n/a        Model-provider integration  0/2 faults  [PROVIDER]
uncovered  Security validation         0/2 faults  [SECURITY]
uncovered  Timeout and cancellation    0/2 faults  [TIMEOUT]
uncovered  Configuration not enforced  0/1 faults  [CONFIG]

38% of applicable faults exercised; 1 of 7 families fully covered
";
    assert!(seen.stdout.starts_with(table), "{}", seen.text());
}

/// Every block that can run, against the demo server.
const EVERY_BLOCK: &str = r#"suite: Every block
server: { builtin: demo }
compliance: {}
negative_path: { tools: "*" }
output_schema: { tools: "*" }
schema_lint: {}
fuzz: { cases: 20 }
performance: { tools: [echo], calls: 20, latency: { p95: 5s } }
"#;

#[test]
fn what_is_exercised_is_declared_or_scanned() {
    let scene = Scene::new("examples/exercised");
    scene.write("every-block.yml", EVERY_BLOCK);
    let faults = files("examples/faults", "yml").into_iter().map(|path| path.display().to_string());
    let properties = root().join("examples/properties.yml").display().to_string();
    for suite in faults.chain([properties, "every-block.yml".to_owned()]) {
        scene.run(&format!("run {suite} --report json=report.json"));
        let report: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(scene.folder.join("report.json")).unwrap()).unwrap();
        let variants = |level: &str| {
            let families = report["coverage"][level]["families"].as_array().unwrap().iter();
            let leaves = families.flat_map(|family| family["by_leaf"].as_array().unwrap());
            leaves.flat_map(|leaf| leaf["by_variant"].as_array().unwrap()).collect::<Vec<_>>()
        };
        for (declared, exercised) in variants("declared").into_iter().zip(variants("exercised")) {
            let is_scanned = |evidence: &serde_json::Value| evidence["case"].as_str().unwrap().starts_with("scan of ");
            let evidence = exercised["evidence"].as_array().unwrap();
            let is_explained = declared["counted"] == true || exercised["counted"] == false;
            let is_explained = is_explained || evidence.iter().all(is_scanned);
            assert!(is_explained, "{suite}: {} is exercised and not declared by {evidence:?}", exercised["id"]);
        }
    }
}
