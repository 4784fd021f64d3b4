//! Slow calls: every planted fault is found where it is, and nowhere else.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::harness::{Scene, root};

/// A tool that takes 800 ms, in steps of 40 ms.
const BLOCK: &str = "slow_tool: import_rows, args: { seconds: 0.8 }, state: list_rows";

/// `server/revision: case: outcome code`, of each case that did not pass.
fn verdicts(scene: &Scene, suite: &str) -> BTreeSet<String> {
    scene.write("suite.yml", suite);
    let seen = scene.run("run suite.yml --parallel 8 --report ndjson=events.ndjson");
    let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap_or_default();
    scene.assert_nothing_survives();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases: Vec<Value> = events.filter_map(|event| event.get("case-finished").cloned()).collect();
    assert!(!cases.is_empty(), "{}", seen.text());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdict = |case: &Value| {
        let target = text(&case["case"]["id"]).rsplit('@').next().unwrap().to_owned();
        let name = text(&case["case"]["name"]).replace("timeouts: ", "");
        format!("{target}: {name}: {} {}", text(&case["outcome"]), text(&case["findings"][0]["code"]))
    };
    cases.iter().filter(|case| case["outcome"] != "passed").map(verdict).collect()
}

/// Servers over stdio, one for each mode of `slow_tools.py`.
fn stdio_servers(modes: &[&str]) -> String {
    let script = root().join("tests/servers/slow_tools.py");
    modes.iter().fold("servers:\n".to_owned(), |mut servers, mode| {
        let _ = writeln!(
            servers,
            "  {mode}: {{ command: [python3, {:?}, {mode}], protocol: 2025-11-25 }}",
            script.display()
        );
        servers
    })
}

#[track_caller]
fn check(scene: &str, suite: &str, expected: &[&str]) {
    let seen = verdicts(&Scene::bare(&format!("timeouts/{scene}")), suite);
    assert_eq!(seen, expected.iter().map(|verdict| (*verdict).to_owned()).collect());
}

#[test]
fn correct_servers_pass() {
    // `crossing` finishes the step that is under way when the cancellation comes.
    // `remembers` leaves a request unanswered that was cancelled before it came.
    let servers = stdio_servers(&["sound", "crossing", "remembers"]);
    check("sound", &format!("suite: Correct\n{servers}timeouts: {{ {BLOCK} }}\n"), &[]);
}

#[test]
fn a_cancelled_call_that_goes_on_is_found() {
    let servers = stdio_servers(&["goes_on", "reports", "answers", "serial", "counting", "idle"]);
    let required = "required: [cancellation]";
    check(
        "goes-on",
        &format!("suite: Goes on\n{servers}timeouts: {{ {BLOCK}, {required} }}\n"),
        &[
            "answers/2025-11-25: cancellation: failed cancelled-call-continues",
            "counting/2025-11-25: cancellation: inconclusive ",
            "goes_on/2025-11-25: cancellation: failed cancelled-call-continues",
            "idle/2025-11-25: cancellation: inconclusive ",
            "reports/2025-11-25: cancellation: failed cancelled-call-continues",
            // What is not read cannot be cancelled.
            "serial/2025-11-25: cancellation: failed cancelled-call-continues",
            "serial/2025-11-25: other calls: warned slow-call-blocks",
        ],
    );
}

#[test]
fn a_server_that_a_cancellation_harms_fails() {
    let servers = stdio_servers(&["falls", "hangs", "refuses", "floods", "stumbles"]);
    let options = "run_options: { request_timeout: 12s }";
    check(
        "harmed",
        &format!("suite: Harmed\n{options}\n{servers}timeouts: {{ {BLOCK}, max_time: 50s }}\n"),
        &[
            "falls/2025-11-25: cancellation: failed process-exited",
            "floods/2025-11-25: cancellation: failed protocol-error",
            "hangs/2025-11-25: cancellation: failed timeout",
            "refuses/2025-11-25: cancellation: failed cancellation-harms",
            "stumbles/2025-11-25: cancellation: failed process-exited",
        ],
    );
}

/// The check that measures the call fails; the others come to no verdict.
#[test]
fn a_slow_call_that_is_never_answered_fails() {
    let servers = stdio_servers(&["mute"]);
    let options = "run_options: { request_timeout: 2s, parallel: 1 }";
    let block = "timeouts: { slow_tool: import_rows, args: { seconds: 0.8 }, max_time: 6s }";
    check(
        "mute",
        &format!("suite: Mute\n{options}\n{servers}{block}\n"),
        &["mute/2025-11-25: cancellation: failed timeout", "mute/2025-11-25: other calls: inconclusive "],
    );
}

/// Each case that passes has looked at something; a closed response can show less.
#[test]
fn what_a_pass_exercises() {
    let exercised = |server: &str| {
        let scene = Scene::bare("timeouts/exercised");
        let block = "timeouts: { slow_tool: import_rows, args: { seconds: 0.8 } }";
        scene.write("suite.yml", &format!("suite: Exercised\n{server}{block}\n"));
        scene.run("run suite.yml --report ndjson=events.ndjson");
        let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap();
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let cases = events.filter_map(|event| event.get("case-finished").cloned());
        let judged = cases.flat_map(|case| case["judged"].as_array().cloned().unwrap_or_default());
        judged.map(|variant| variant.as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let all = ["CANCEL-FATAL", "CANCEL-IGNORED", "CANCEL-REPLY", "BLOCKED-LOOP", "NO-SHUTDOWN"];
    let named = |names: &[&str]| names.iter().map(|name| format!("TIMEOUT-{name}")).collect::<BTreeSet<_>>();
    assert_eq!(exercised(&stdio_servers(&["sound"])), named(&all));
    let script = root().join("tests/servers/slow_tools_http.py");
    let http = format!(
        "server:\n  command: [python3, {:?}, \"{{{{ port }}}}\", sound]\n  url: http://127.0.0.1:{{{{ port }}}}/mcp\n  \
         protocol: 2026-07-28\n",
        script.display()
    );
    assert_eq!(exercised(&http), named(&["CANCEL-FATAL", "BLOCKED-LOOP", "NO-SHUTDOWN"]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_does_not_end_is_found() {
    let servers = stdio_servers(&["stays", "deaf", "leaves"]);
    check(
        "stays",
        &format!("suite: Stays\n{servers}timeouts: {{ {BLOCK}, grace: 2s, required: [shutdown] }}\n"),
        &[
            "deaf/2025-11-25: shutdown: failed no-shutdown",
            "leaves/2025-11-25: shutdown: failed orphans",
            "stays/2025-11-25: shutdown: failed no-shutdown",
        ],
    );
}

/// A closed response cancels since 2026-07-28, and does not before.
#[test]
fn a_closed_response_means_what_its_era_says() {
    let script = root().join("tests/servers/slow_tools_http.py");
    let server = |mode: &str| {
        format!(
            "  {mode}:\n    command: [python3, {:?}, \"{{{{ port }}}}\", {mode}]\n    url: \
             http://127.0.0.1:{{{{ port }}}}/mcp\n    protocol: [2025-11-25, 2026-07-28]\n",
            script.display()
        )
    };
    let servers: String = ["sound", "stops", "goes-on"].map(server).concat();
    check(
        "closed",
        &format!("suite: Closed\nservers:\n{servers}timeouts: {{ {BLOCK} }}\n"),
        &[
            "goes-on/2026-07-28: cancellation: warned cancelled-call-continues",
            "stops/2025-11-25: disconnection: warned disconnection-cancels",
        ],
    );
}
