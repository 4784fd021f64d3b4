//! A run that several machines share, and the one that their recordings make.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use crate::harness::Scene;

/// A document without what differs between two runs of the same cases: times, and the numbers of frames in sessions.
fn timeless(document: &str) -> String {
    let differing = Regex::new(r#"(?:time|timestamp)="[^"]*"|\(frames? [^)]*\)| +frame \d+, [\d.]+ (?:µs|ms|s)\b"#);
    differing.unwrap().replace_all(document, "…").into_owned()
}

fn shown(scene: &Scene, file: &str) -> String {
    scene.line(&format!("show {file}")).stdout
}

/// A coverage without its evidence: other sessions show the same.
fn coverage(scene: &Scene, file: &str) -> Value {
    fn forget_evidence(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove("evidence");
                members.values_mut().for_each(forget_evidence);
            }
            Value::Array(items) => items.iter_mut().for_each(forget_evidence),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut report: Value = serde_json::from_str(&shown(scene, file)).unwrap();
    let mut coverage = report["coverage"].take();
    assert!(coverage["exercised"].is_object(), "{coverage}");
    forget_evidence(&mut coverage);
    coverage
}

#[test]
fn parts_make_the_reports_of_one_run() {
    let scene = Scene::copied("cases/shards", "shards");
    let whole = scene.run("run suite.yml other.yml --report junit=whole.xml --report json=whole.json");
    for part in 1..=4 {
        scene.run(&format!("run suite.yml other.yml --shard {part}/4 --report ndjson={part}.ndjson"));
    }
    let merge = "merge 4.ndjson 1.ndjson 3.ndjson 2.ndjson --report junit=merged.xml --report json=merged.json";
    let seen = scene.run(merge);
    assert_eq!(seen.status, whole.status, "{}", seen.text());
    let junit = timeless(&shown(&scene, "whole.xml"));
    for words in ["failure", "flaky", "skipped"] {
        assert!(junit.contains(words), "no case is {words}: {junit}");
    }
    let merged = timeless(&shown(&scene, "merged.xml"));
    for (one, other) in merged.lines().zip(junit.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(merged.len(), junit.len());
    assert!(coverage(&scene, "merged.json") == coverage(&scene, "whole.json"), "the figures differ");
}

#[test]
fn thresholds_and_flaky_cases_are_judged_of_all_parts_together() {
    let scene = Scene::copied("cases/shards", "shards-judged");
    for part in 1..=2 {
        scene.run(&format!("run suite.yml --filter !name(wrong) --shard {part}/2 --report ndjson={part}.ndjson"));
    }
    for flags in ["", "--threshold 99", "--threshold 1", "--fail-on-flaky"] {
        let whole = scene.run(&format!("run suite.yml --filter !name(wrong) {flags}"));
        let merged = scene.run(&format!("merge 1.ndjson 2.ndjson {flags}"));
        assert_eq!(merged.status, whole.status, "{flags}: {}", merged.text());
    }
}

#[test]
fn a_recording_with_messages_is_a_part_as_well() {
    let scene = Scene::copied("cases/shards", "shards-recorded");
    for part in 1..=2 {
        scene.run(&format!("run other.yml --shard {part}/2 --record {part}.recording"));
    }
    assert_eq!(scene.run("merge 1.recording 2.recording").status, 0);
}

/// The parts by recorded times, and by what stays together, have every case once.
#[test]
fn no_way_of_dividing_loses_a_case() {
    let scene = Scene::copied("cases/shards", "shards-divided");
    scene.run("run suite.yml other.yml --report ndjson=whole.ndjson");
    let ids = |flags: &str| -> Vec<String> {
        let plan = scene.run(&format!("plan suite.yml other.yml --format json {flags}"));
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap_or_default();
        let cases = plan["cases"].as_array().cloned().unwrap_or_default();
        let whole = cases.iter().filter(|case| case["expands"] == false);
        whole.map(|case| case["id"].as_str().unwrap().to_owned()).collect()
    };
    let all: BTreeSet<String> = ids("").into_iter().collect();
    assert!(all.len() > 3);
    for how in ["", "--shard-by suite", "--shard-by server", "--shard-times whole.ndjson"] {
        let divided: Vec<String> = (1..=3).flat_map(|part| ids(&format!("--shard {part}/3 {how}"))).collect();
        assert_eq!(divided.len(), all.len(), "{how}");
        assert_eq!(divided.into_iter().collect::<BTreeSet<_>>(), all, "{how}");
    }
}

/// A proof without its time.
fn proof(scene: &Scene, file: &str) -> Value {
    let mut report: Value = serde_json::from_str(&shown(scene, file)).unwrap();
    let mut proof = report["proof"].take();
    assert!(proof["mutants"].is_array(), "{proof}");
    proof["duration_us"] = Value::Null;
    proof
}

#[test]
fn parts_of_a_proof_make_the_proof_of_one_machine() {
    let scene = Scene::copied("cases/shards", "shards-proven");
    scene.run("run suite.yml other.yml --filter !name(wrong) --record run.recording");
    let whole = scene.run("prove --recording run.recording --threshold 5 --report json=whole.json --survivors all");
    for part in 1..=3 {
        let seen = scene.run(&format!("prove --recording run.recording --shard {part}/3 --write-part {part}.part"));
        assert_eq!(seen.status, 0, "{}", seen.text());
    }
    let parts = "prove --recording run.recording --threshold 5 --report json=parts.json --survivors all --parts 3.part 1.part 2.part";
    let together = scene.run(parts);
    assert_eq!(together.status, whole.status, "{}", together.text());
    assert!(proof(&scene, "parts.json") == proof(&scene, "whole.json"), "the proofs differ");
}
