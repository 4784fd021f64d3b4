//! Servers that start at the same time: no more than there are processors, however many cases run at a time.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use mcprove::block::load;
use mcprove::event::{Event, Outcome};
use mcprove::plan::{Selection, build};
use mcprove::redact::Redactor;
use mcprove::runner::{self, Observer, Options, SessionFrames, Stop};
use mcprove::source::Sources;
use mcprove::suite::Files;
use mcprove::taxonomy::Registry;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::harness::{self, Scene};

/// The time after which a run counts as one that does not end.
const MOST_TIME: Duration = Duration::from_secs(120);

/// A server that notes when it starts and when it is ready, which takes it a while.
const SERVER: &str = r#"
import json, os, sys, time
log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(log, b"start\n")
time.sleep(0.2)
is_ready = False
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if not is_ready:
        os.write(log, b"ready\n")
        is_ready = True
    asked = message.get("params", {}).get("protocolVersion")
    known = {"protocolVersion": asked, "capabilities": {}, "serverInfo": {"name": "heavy", "version": "1"}}
    result = known if message["method"] == "initialize" else {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Half of the cases leave the handshake out; they run against two servers, in two revisions each.
const SUITE: &str = r#"
suite: Heavy servers
servers:
  one: { command: [python3, server.py], protocol: [2025-06-18, 2025-11-25] }
  other: { command: [python3, server.py], protocol: [2025-06-18, 2025-11-25] }
run_options: { restart_policy: per_test }
tests:
  - { name: one, alive: true, expect: [] }
  - { name: two, alive: true, expect: [] }
  - { name: three, alive: true, expect: [] }
  - { name: four, handshake: false, steps: [{ send: { json: &ping { jsonrpc: "2.0", id: 1, method: ping } }, expect: [] }] }
  - { name: five, handshake: false, steps: [{ send: { json: *ping }, expect: [] }] }
  - { name: six, handshake: false, steps: [{ send: { json: *ping }, expect: [] }] }
"#;

/// The line that ends the server of [`SERVER`].
const FRAIL: &str = r#"    if "logging/die" in line:
        os._exit(7)
    message = json"#;

/// A server with three tools that read, and one that writes; it counts its calls.
const COUNTING: &str = r#"
import json, os, sys
os.write(os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT), b"start\n")
calls = 0
def tool(name):
    hints = {"readOnlyHint": name.startswith("get")}
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, "annotations": hints}
tools = [tool(name) for name in ("get_one", "get_two", "get_three", "add_note")]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    known = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "c", "version": "1"}}
    result = known if message["method"] == "initialize" else {}
    if message["method"] == "tools/list":
        result = {"tools": tools}
    if message["method"] == "tools/call":
        calls += 1
        number, name = {"calls": calls}, message["params"]["name"]
        result = {"content": [{"type": "text", "text": name}], "structuredContent": number}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Suites as they lie on the disk.
struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }
}

/// Counts cases that passed.
#[derive(Default)]
struct Passed(usize);

impl Observer for Passed {
    fn event(&mut self, event: &Event) {
        if let Event::CaseFinished(result) = event {
            self.0 += usize::from(result.outcome == Outcome::Passed);
        }
    }

    fn session(&mut self, _: &SessionFrames, _: &Redactor) {}
}

/// Runs the suite of a scene where one server starts at a time; returns the number of cases that passed, `None` where the
/// run does not end.
fn passed_cases(scene: &Scene, parallel: usize) -> Option<usize> {
    let mut sources = Sources::default();
    let suite = load(&scene.folder.join("suite.yml"), &Disk, &mut sources, &mut Vec::new()).unwrap();
    let registry = Registry::builtin();
    let plan = build(vec![suite], Selection::default(), registry, Arc::new(sources)).unwrap();
    let (_wish, stop) = Stop::new();
    let path = ("PATH".to_owned(), harness::path().into_string().unwrap());
    let options = Options {
        parallel: Some(parallel),
        processors: 1,
        environment: Arc::new(BTreeMap::from([path])),
        ..Options::new(0, stop)
    };
    let mut passed = Passed::default();
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let run = async { timeout(MOST_TIME, runner::run(plan, options, registry, &mut passed)).await.is_ok() };
    runtime.block_on(run).then_some(passed.0)
}

#[test]
fn no_more_servers_start_at_a_time_than_there_are_processors() {
    let scene = Scene::bare("starts");
    scene.write("server.py", SERVER);
    scene.write("suite.yml", SUITE);
    let passed = passed_cases(&scene, 6);
    assert_eq!(passed, Some(24));
    let log = fs::read_to_string(scene.folder.join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    for pair in lines.chunks(2) {
        assert_eq!(pair, ["start", "ready"], "a server starts before the one before it is ready: {lines:?}");
    }
}

#[test]
fn a_shared_server_that_ends_starts_again_while_others_start() {
    let scene = Scene::bare("crash-beside-starts");
    scene.write("server.py", &SERVER.replace("time.sleep(0.2)", "").replace("    message = json", FRAIL));
    let tests = ('a'..'g').map(|name| {
        format!(
            "  - {{ name: ends {name}, request: logging/die, expect: [] }}
  - {{ name: begins {name}, rows: [{{ at: 1 }}, {{ at: 2 }}, {{ at: 3 }}], handshake: false, request: ping, expect: [] }}
"
        )
    });
    let head =
        "suite: A shared server that ends\nserver: { command: [python3, server.py], protocol: 2025-11-25 }\ntests:\n";
    let suite: String = [head.to_owned()].into_iter().chain(tests).collect();
    scene.write("suite.yml", &suite);
    assert_eq!(passed_cases(&scene, 8), Some(18));
}

#[test]
fn a_recording_starts_two_servers_for_all_tools_that_read() {
    let scene = Scene::bare("recording-starts");
    scene.write("server.py", COUNTING);
    let seen = scene.run("snapshot --allow add_note -- python3 server.py");
    assert!(seen.text().contains("4 answers"), "{}", seen.text());
    let log = fs::read_to_string(scene.folder.join("log")).unwrap();
    // Two for what it lists and for what reads, two for the call that writes.
    assert_eq!(log.lines().count(), 4);
    // What depends on earlier calls is known to differ, so the same server has not changed.
    let again =
        scene.run("snapshot --allow add_note --against server.snapshot.json --fail-on cosmetic -- python3 server.py");
    assert!(again.text().ends_with("exit 0\n") || again.text().ends_with("exit 0"), "{}", again.text());
}

#[test]
fn generated_calls_of_one_tool_start_one_server_beside_the_one_that_is_asked_first() {
    let scene = Scene::bare("fuzz-starts");
    scene.write("server.py", COUNTING);
    let seen = scene.run("fuzz --seed 1 --cases 5 --tool get_one -- python3 server.py");
    assert!(seen.text().contains("1 passed"), "{}", seen.text());
    assert_eq!(fs::read_to_string(scene.folder.join("log")).unwrap().lines().count(), 2);
}
