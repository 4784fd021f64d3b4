//! `mcprove serve mcp`: calls that are cancelled, links, and clients that leave; what its tools answer is in
//! `tests/cases/coding-agents`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout};

use serde_json::{Value, json};

use crate::harness::Scene;

/// A suite on a server that takes ten minutes for its call.
const SLOW: &str = "
suite: Slow
server: { command: [python3, ../../servers/slow_at.py, nowhere], protocol: 2025-11-25 }
run_options: { timeout: 600s, request_timeout: 600s }
tests:
  - { name: takes long, call: slow, args: { seconds: 600 }, expect: [{ is_error: false }] }
";

/// A client of `mcprove serve mcp` in a session of 2025-11-25.
struct Client {
    server: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn open(scene: &Scene) -> Self {
        let mut server = scene.talk("serve mcp");
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut client = Self { server, lines };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        assert_eq!(client.answer(0)["result"]["serverInfo"]["name"], "mcprove");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.server.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }

    /// The next message, which answers the request with that id.
    fn answer(&mut self, id: u64) -> Value {
        let line = self.lines.next().unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{line}");
        answer
    }

    /// Closes the input, and waits for the end of the server.
    fn leave(mut self) -> Option<i32> {
        drop(self.server.stdin.take());
        self.server.wait().unwrap().code()
    }
}

/// A client whose run of the slow suite has reached the call that takes long.
fn client_of_a_slow_run(scene: &Scene) -> Client {
    scene.write("slow.yml", SLOW);
    let mut client = Client::open(scene);
    client.call(1, "run", &json!({ "suites": ["slow.yml"] }));
    scene.wait_until("the slow tool is never called", || {
        scene.line("show marks.txt").stdout.lines().any(|line| line == "tools/call slow")
    });
    client
}

#[test]
fn a_cancelled_run_ends_with_its_server_and_the_next_one_has_its_turn() {
    let scene = Scene::new("serve-mcp/cancelled");
    let mut client = client_of_a_slow_run(&scene);
    // It waits for its turn, which comes when the first has ended.
    client.call(2, "tools", &json!({ "command": ["demo"] }));
    // It only reads files, so it does not wait.
    client.call(3, "check", &json!({ "suites": ["slow.yml"] }));
    assert_eq!(client.answer(3)["result"]["structuredContent"]["verdict"], "passed");
    let cancelled = json!({ "requestId": 1, "reason": "no longer needed" });
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    assert_eq!(client.answer(2)["result"]["structuredContent"]["verdict"], "passed");
    scene.assert_one_survives();
    assert_eq!(client.leave(), Some(0));
    scene.assert_nothing_survives();
}

#[test]
fn a_link_that_leads_out_of_the_folder_is_refused() {
    let scene = Scene::new("serve-mcp/links");
    std::os::unix::fs::symlink("/etc", scene.folder.join("out")).unwrap();
    let mut client = Client::open(&scene);
    client.call(1, "check", &json!({ "suites": ["out/passwd"] }));
    let refused = client.answer(1)["result"].take();
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("is outside the folder"), "{refused}");
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn nothing_is_left_when_the_client_leaves() {
    let scene = Scene::new("serve-mcp/left");
    let client = client_of_a_slow_run(&scene);
    assert_eq!(client.leave(), Some(0));
    scene.assert_nothing_survives();
}

#[test]
fn nothing_is_left_when_the_server_is_told_to_end() {
    let scene = Scene::new("serve-mcp/terminated");
    let mut client = client_of_a_slow_run(&scene);
    let id = client.server.id().to_string();
    assert!(std::process::Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert_eq!(client.server.wait().unwrap().code(), Some(130));
    scene.assert_nothing_survives();
}
