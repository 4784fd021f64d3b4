//! Every command that generates arguments sends short durations and unroutable addresses.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use serde_json::Value;

use crate::harness::Scene;

/// What a server was called with by one command, which must pass.
fn calls(name: &str, line: &str, suite: &str) -> Vec<Value> {
    let scene = Scene::new(&format!("safe-arguments/{name}"));
    scene.write("suite.yml", suite);
    let seen = scene.run(line);
    assert_eq!(seen.status, 0, "{}", seen.text());
    let written = fs::read_to_string(scene.folder.join("calls")).unwrap();
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const SERVER: &str = "-- python3 ../../servers/far.py calls";

fn assert_safe(calls: &[Value], least: usize) {
    let is_quick = |call: &Value| {
        let times = ["delay_seconds", "wait"].into_iter().filter_map(|name| call[name].as_f64());
        times.into_iter().all(|time| time <= 1.0)
    };
    let is_near = |call: &Value| {
        let texts = ["url", "webhook"].into_iter().filter_map(|name| call[name].as_str());
        texts.into_iter().all(|text| !text.contains("example."))
    };
    let risky: Vec<&Value> = calls.iter().filter(|call| !is_quick(call) || !is_near(call)).collect();
    assert!(risky.is_empty(), "{risky:#?}");
    assert!(calls.len() >= least, "{calls:#?}");
}

#[test]
fn ci_sends_safe_arguments() {
    assert_safe(&calls("ci", &format!("ci --cases 40 {SERVER}"), ""), 60);
}

#[test]
fn a_recording_sends_safe_arguments() {
    let calls = calls("snapshot", &format!("snapshot {SERVER}"), "");
    assert_safe(&calls, 4);
    assert_eq!(calls[0], serde_json::json!({"url": "https://127.0.0.1:9/", "delay_seconds": 1}));
}

#[test]
fn a_suite_sends_safe_arguments() {
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
    assert_safe(&calls("suite", "run suite.yml", suite), 60);
}
