//! Concurrent calls: planted faults are found over every transport and with any seed.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::Value;

use crate::harness::Scene;

/// With how many seeds a lost update must be found.
const SEEDS: usize = 20;

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
    let block = "torture: { tools: [create_user, echo], pairs: [{ write: create_user, read: list_users }] }\n";
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
    let block = "torture: { tools: [create_user, echo] }\n";
    scene.write("suite.yml", &format!("suite: Answers of others\n{}{block}", servers("TOOL-RESULT-MISROUTED")));
    let cases = cases(&scene, "suite.yml");
    assert_eq!(cases.len(), 6);
    let swapped: BTreeSet<String> = verdicts(&cases).into_iter().filter(|verdict| verdict.contains("echo")).collect();
    let expected = ["http: echo: failed swapped-answer", "stdio: echo: failed swapped-answer"];
    assert_eq!(swapped, expected.map(str::to_owned).into());
    // Nothing that was written is lost: the answers alone are wrong.
    assert!(verdicts(&cases).iter().all(|verdict| !verdict.contains("update")), "{:?}", verdicts(&cases));
}

#[test]
fn a_lost_update_is_found_with_every_seed() {
    let server = "{ command: [\"{{ env.MCPROVE }}\", serve, faulty, --fault, STATE-LOST-UPDATE], scratch: true }";
    let is_found = |seed: &usize| {
        let scene = Scene::bare(&format!("torture/seed-{seed}"));
        let pairs = "pairs: [{ write: create_user, read: list_users }]";
        let block = format!("torture: {{ tools: [create_user], sessions: 1, calls: 4, seed: {seed}, {pairs} }}");
        scene.write("suite.yml", &format!("suite: Seed {seed}\nserver: {server}\n{block}\n"));
        verdicts(&cases(&scene, "suite.yml")) == BTreeSet::from(["server: create_user: failed lost-update".to_owned()])
    };
    let seeds: Vec<usize> = (0..SEEDS).collect();
    let found = |seeds: &[usize]| seeds.iter().filter(|seed| is_found(seed)).count();
    let found: usize = thread::scope(|scope| {
        let workers: Vec<_> = seeds.chunks(5).map(|chunk| scope.spawn(move || found(chunk))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(found, SEEDS);
}
