//! What every command sends that makes up arguments: it is quick, and leads to nothing that anybody runs.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use serde_json::Value;

use crate::harness::Scene;

/// What a server was called with by one command, which must pass.
fn calls(name: &str, line: &str, suite: &str) -> Vec<Value> {
    let scene = Scene::new(&format!("tame/{name}"));
    scene.write("suite.yml", suite);
    let seen = scene.run(line);
    assert_eq!(seen.status, 0, "{}", seen.text());
    let written = fs::read_to_string(scene.folder.join("calls")).unwrap();
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const SERVER: &str = "-- python3 ../../servers/far.py calls";

fn assert_tame(calls: &[Value], least: usize) {
    let is_quick = |call: &Value| {
        let times = ["delay_seconds", "wait"].into_iter().filter_map(|name| call[name].as_f64());
        times.into_iter().all(|time| time <= 1.0)
    };
    let is_near = |call: &Value| {
        let texts = ["url", "webhook"].into_iter().filter_map(|name| call[name].as_str());
        texts.into_iter().all(|text| !text.contains("example."))
    };
    let wild: Vec<&Value> = calls.iter().filter(|call| !is_quick(call) || !is_near(call)).collect();
    assert!(wild.is_empty(), "{wild:#?}");
    assert!(calls.len() >= least, "{calls:#?}");
}

#[test]
fn ci_waits_for_nothing_and_visits_nobody() {
    assert_tame(&calls("ci", &format!("ci --cases 40 {SERVER}"), ""), 60);
}

#[test]
fn a_recording_waits_for_nothing_and_visits_nobody() {
    let calls = calls("snapshot", &format!("snapshot {SERVER}"), "");
    assert_tame(&calls, 4);
    assert_eq!(calls[0], serde_json::json!({"url": "https://127.0.0.1:9/", "delay_seconds": 1}));
}

#[test]
fn a_suite_waits_for_nothing_and_visits_nobody() {
    let suite = "\
suite: Far
server: { command: [python3, ../../servers/far.py, calls], protocol: 2025-11-25 }
negative_path: { tools: '*' }
output_schema: { tools: [fetch] }
properties:
  - name: whatever is wrong is refused
    for_each: tools
    generate: { args: { tool: '{{ tool.name }}', invalid: true } }
    call: '{{ tool.name }}'
    args: '{{ args }}'
    expect: [{ refused: true }]
  - name: whatever is right is served
    for_each: tools
    cases: 20
    generate: { args: { tool: '{{ tool.name }}' } }
    call: '{{ tool.name }}'
    args: '{{ args }}'
    expect: [{ is_error: false }]
";
    assert_tame(&calls("suite", "run suite.yml", suite), 60);
}
