//! What calls leave behind in the processes of a server: files, processes, memory, each where it was planted.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;

use serde_json::Value;

use crate::harness::{Scene, root};

const MODES: [&str; 4] = ["tidy", "files", "processes", "memory"];

#[test]
fn what_calls_leave_behind_is_found_where_it_is() {
    let script = root().join("tests/servers/hoarder.py");
    let servers = MODES.iter().fold(String::new(), |mut servers, mode| {
        let _ = writeln!(servers, "  {mode}: {{ command: [python3, {:?}, {mode}] }}", script.display());
        servers
    });
    let bounded = |growth: &str| {
        let scene = Scene::bare("growth");
        let block = format!(
            "arguments: {{ echo: {{ text: hello }} }}\nperformance: {{ tools: [echo], calls: 50, growth: {growth} }}"
        );
        scene.write("suite.yml", &format!("suite: Growth\nservers:\n{servers}{block}\n"));
        scene.run("run suite.yml --filter name(performance) --report json=report.json");
        scene.assert_nothing_survives();
        let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
        let cases = report["suites"][0]["cases"].as_array().unwrap().clone();
        let failed = cases.into_iter().filter(|case| case["outcome"] == "failed");
        let mut failed: Vec<String> = failed.map(|case| case["case"]["server"].as_str().unwrap().to_owned()).collect();
        failed.sort();
        failed
    };
    assert_eq!(bounded("{ files: 5 }"), ["files", "processes"]);
    assert_eq!(bounded("{ processes: 0 }"), ["processes"]);
    // Processes take memory, too.
    assert_eq!(bounded("{ memory_mib: 25 }"), ["memory", "processes"]);
}
