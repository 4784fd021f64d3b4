//! What servers start outside of their process groups ends with the run, and is named.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use crate::harness::Scene;

/// Leaves two processes in sessions of their own: one whose parent is gone at once, one that is a child of the server.
const SERVER: &str = r#"
import json, os, subprocess, sys
SLEEP = """
import subprocess
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet).pid, flush=True)
"""
daemon = subprocess.run([sys.executable, "-c", SLEEP], stdout=subprocess.PIPE, start_new_session=True)
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
child = subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet)
with open("children", "w") as file:
    file.write(f"{daemon.stdout.decode()}{child.pid}\n")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "crash":
        os._exit(3)
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    result = result if asked["method"] == "initialize" else {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

fn suite(test: &str) -> String {
    format!(
        "suite: strays\nserver: {{ command: [python3, server.py], protocol: 2025-11-25 }}\ntests:\n  - name: one\n    {test}\n"
    )
}

/// Runs the suite, and asserts that what the server had started runs no more and was named.
#[track_caller]
fn check(name: &str, test: &str, status: i32) {
    let scene = Scene::bare(&format!("strays/{name}"));
    scene.write("server.py", SERVER);
    scene.write("suite.yml", &suite(test));
    let seen = scene.run("run suite.yml");
    assert_eq!(seen.status, status, "{}{}", seen.stdout, seen.stderr);
    let told = "ended processes that servers left running after their exit: 2 × `sleep`\n";
    assert!(seen.stderr.ends_with(told), "{}", seen.stderr);
    let children = fs::read_to_string(scene.folder.join("children")).unwrap();
    assert_eq!(children.lines().count(), 2, "{children}");
    for child in children.lines() {
        assert!(!fs::exists(format!("/proc/{child}")).unwrap(), "{child} still runs");
    }
}

#[test]
fn what_left_its_group_ends_with_the_run() {
    check("asked", "request: ping\n    expect: []", 0);
}

#[test]
fn what_left_its_group_ends_when_the_server_crashes() {
    check("crashed", "request: crash\n    expect: []", 1);
}

/// A relay leaves as little behind as a run.
#[test]
fn what_left_its_group_ends_with_the_relay() {
    let scene = Scene::bare("strays/relay");
    scene.write("server.py", SERVER);
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let seen = scene.line(&format!("sh -c 'echo '\\''{request}'\\'' | \"$MCPROVE\" relay stdio -- python3 server.py'"));
    assert!(seen.stdout.contains("\"id\": 1"), "{}", seen.text());
    let children = fs::read_to_string(scene.folder.join("children")).unwrap();
    for child in children.lines() {
        assert!(!fs::exists(format!("/proc/{child}")).unwrap(), "{child} still runs");
    }
}

/// What this program was given as a child is not what a server left.
#[test]
fn children_of_others_are_left_alone() {
    let scene = Scene::bare("strays/given");
    scene.write("server.py", SERVER);
    scene.write("suite.yml", &suite("request: ping\n    expect: []"));
    let seen = scene.line("sh -c 'sleep 1 & exec \"$MCPROVE\" run suite.yml'");
    assert!(!seen.stderr.contains("ended what"), "{}", seen.stderr);
    for child in fs::read_to_string(scene.folder.join("children")).unwrap().lines() {
        let _ = std::process::Command::new("kill").args(["-9", child]).status();
    }
}
