//! Concurrent calls: planted faults are found over every transport and with any seed.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::Value;

use crate::harness::{Scene, is_full, root};

/// With how many seeds a fault must be found where not everything is tested: starts after kills take long.
const FEW: usize = 4;
const ONE: usize = 1;

/// The finished cases of a run.
fn cases(scene: &Scene, arguments: &str) -> Vec<Value> {
    let seen = scene.run(&format!("run {arguments} --report ndjson=events.ndjson"));
    let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap_or_default();
    scene.assert_nothing_survives();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases: Vec<Value> = events.filter_map(|event| event.get("case-finished").cloned()).collect();
    assert!(!cases.is_empty(), "{}", seen.text());
    cases
}

/// Servers with a fault: over stdio, and over HTTP in both eras.
fn servers(fault: &str) -> String {
    let serve = format!("\"{{{{ env.MCPROVE }}}}\", serve, faulty, --fault, {fault}");
    format!(
        "servers:\n  stdio: {{ command: [{serve}], scratch: true }}\n  http:\n    command: [{serve}, --http, \
         \"127.0.0.1:{{{{ port }}}}\"]\n    url: http://127.0.0.1:{{{{ port }}}}/mcp\n    scratch: true\n    \
         protocol: [2025-11-25, 2026-07-28]\n"
    )
}

/// `server/revision: tool: outcome code`, of each case.
fn verdicts(cases: &[Value]) -> BTreeSet<String> {
    let verdict = |case: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = text(&case["case"]["id"]);
        let target = id.rsplit('@').next().unwrap().split('/').next().unwrap().to_owned();
        let tool = text(&case["case"]["name"]).replace("torture: ", "");
        format!("{target}: {tool}: {} {}", text(&case["outcome"]), text(&case["findings"][0]["code"]))
    };
    cases.iter().map(verdict).collect()
}

#[test]
fn lost_updates_are_found_over_every_transport() {
    let scene = Scene::bare("torture/lost");
    let block =
        "torture: { checks: [calls], tools: [create_user, echo], pairs: [{ write: create_user, read: list_users }] }\n";
    scene.write("suite.yml", &format!("suite: Confirmed and lost\n{}{block}", servers("STATE-LOST-UPDATE")));
    let cases = cases(&scene, "suite.yml");
    assert_eq!(cases.len(), 6);
    let expected = [
        "http: create_user: failed lost-update",
        "http: echo: passed ",
        "stdio: create_user: failed lost-update",
        "stdio: echo: passed ",
    ];
    assert_eq!(verdicts(&cases), expected.map(str::to_owned).into());
    let lost = cases.iter().find(|case| case["outcome"] == "failed").unwrap();
    let titles: Vec<&Value> = lost["exchanges"].as_array().unwrap().iter().map(|made| &made["title"]).collect();
    assert_eq!(titles, ["tools/call create_user", "tools/call list_users"]);
}

#[test]
fn swapped_answers_are_found_over_every_transport() {
    let scene = Scene::bare("torture/swapped");
    let block = "torture: { checks: [calls], tools: [create_user, echo] }\n";
    scene.write("suite.yml", &format!("suite: Answers of others\n{}{block}", servers("TOOL-RESULT-MISROUTED")));
    let cases = cases(&scene, "suite.yml");
    assert_eq!(cases.len(), 6);
    let swapped: BTreeSet<String> = verdicts(&cases).into_iter().filter(|verdict| verdict.contains("echo")).collect();
    let expected = ["http: echo: failed swapped-answer", "stdio: echo: failed swapped-answer"];
    assert_eq!(swapped, expected.map(str::to_owned).into());
    // Nothing that was written is lost: the answers alone are wrong.
    assert!(verdicts(&cases).iter().all(|verdict| !verdict.contains("update")), "{:?}", verdicts(&cases));
}

/// Asserts that a suite has the expected verdicts with every seed, of which there are so many, or 20 where everything is
/// tested; `suite` writes it for one.
fn assert_with_every_seed(name: &str, seeds: usize, suite: &(dyn Fn(usize) -> String + Sync), expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|verdict| (*verdict).to_owned()).collect();
    let otherwise = |seed: &usize| {
        let scene = Scene::bare(&format!("torture/{name}-{seed}"));
        scene.write("suite.yml", &suite(*seed));
        let seen = verdicts(&cases(&scene, "suite.yml"));
        (seen != expected).then(|| format!("seed {seed}: {seen:?}"))
    };
    let seeds: Vec<usize> = (0..if is_full() { 20 } else { seeds }).collect();
    let unexpected = |seeds: &[usize]| -> Vec<String> { seeds.iter().filter_map(otherwise).collect() };
    let unexpected: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> =
            seeds.chunks(seeds.len().div_ceil(4)).map(|chunk| scope.spawn(move || unexpected(chunk))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(unexpected.is_empty(), "{name}: {unexpected:#?}");
}

#[test]
fn a_lost_update_is_found_with_every_seed() {
    let suite = |seed: usize| {
        let server = "{ command: [\"{{ env.MCPROVE }}\", serve, faulty, --fault, STATE-LOST-UPDATE], scratch: true }";
        let pairs = "pairs: [{ write: create_user, read: list_users }], checks: [calls]";
        let block = format!("torture: {{ tools: [create_user], sessions: 1, calls: 4, seed: {seed}, {pairs} }}");
        format!("suite: Seed {seed}\nserver: {server}\n{block}\n")
    };
    assert_with_every_seed("lost", FEW, &suite, &["server: create_user: failed lost-update"]);
}

/// A suite about the server of notes with a fault.
fn crowd(fault: &str, seed: usize, more: &str) -> String {
    let server = format!(
        "{{ command: [python3, {}, {fault}, notes.json], scratch: true }}",
        root().join("tests/servers/crowd.py").display()
    );
    let block = format!("torture: {{ tools: [add_note], seed: {seed}, {more} }}");
    format!("suite: Seed {seed}\nserver: {server}\n{block}\n")
}

#[test]
fn faults_of_writes_that_meet_are_found_with_every_seed() {
    for (fault, verdict) in [
        ("doubled", "failed doubled-write"),
        ("swapped", "failed swapped-answer"),
        ("same-id", "failed repeated-identifier"),
        ("stale", "warned stale-read"),
    ] {
        let suite = |seed: usize| crowd(fault, seed, "checks: [calls]");
        assert_with_every_seed(fault, FEW, &suite, &[&format!("server: add_note: {verdict}")]);
    }
}

#[test]
fn a_fault_of_writes_is_replayed() {
    let scene = Scene::bare("torture/replay");
    let replay = |fault: &str| {
        scene.write("suite.yml", &crowd(fault, 7, "checks: [calls]"));
        scene.run("run suite.yml");
        let kept = fs::read_dir(scene.folder.join(".mcprove/findings")).unwrap().next().unwrap().unwrap().path();
        let id = kept.file_stem().unwrap().to_string_lossy().into_owned();
        scene.run(&format!("findings replay {id}")).text()
    };
    let shown = replay("same-id");
    assert!(shown.contains("reproduced 3 of 3: `add_note` gave two concurrent writes the same identifier"), "{shown}");
    scene.assert_nothing_survives();
}

#[test]
fn damage_by_kills_is_found_with_every_seed() {
    for (fault, verdict) in
        [("behind", "failed confirmed-write-lost"), ("torn", "failed torn-store"), ("forgets", "failed torn-store")]
    {
        let suite = |seed: usize| crowd(fault, seed, "");
        let killed = format!("server: durability: {verdict}");
        assert_with_every_seed(fault, ONE, &suite, &["server: add_note: passed ", &killed]);
    }
}

#[test]
fn a_correct_server_of_notes_passes_with_every_seed() {
    let suite = |seed: usize| crowd("none", seed, "");
    assert_with_every_seed("none", FEW, &suite, &["server: add_note: passed ", "server: durability: passed "]);
}
