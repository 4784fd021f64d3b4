//! Servers that want all memory, or all time, with answers that are legal: `tests/servers/greedy.py`.
#![cfg(target_os = "linux")]

use std::time::Instant;

use crate::harness::Scene;

/// How much memory a run may take, in MiB: 256 beside what the program takes by itself in the profile `dev`.
const MOST: u64 = 256 + 48;

/// Calls one tool so many times.
fn suite(mode: &str, number: u32, calls: u32) -> String {
    let head = format!(
        "suite: Greedy\nserver: {{ command: [python3, servers/greedy.py, {mode}, '{number}'] }}\n\
         run_options: {{ timeout: 600s, request_timeout: 600s }}\ntests:\n"
    );
    let expected = if mode == "long-answer" { ", { text: { contains: xxx } }" } else { "" };
    let case = |call| {
        format!(
            "  - {{ name: call {call}, call: echo, args: {{ text: hello }}, expect: [{{ is_error: false }}{expected}] \
             }}\n"
        )
    };
    head + &(0..calls).map(case).collect::<String>()
}

/// Runs a suite; returns what was shown.
fn run(mode: &str, number: u32, calls: u32) -> String {
    let scene = Scene::new(&format!("greedy-{mode}"));
    scene.write("suite.yml", &suite(mode, number, calls).replace("servers/", "../servers/"));
    let (seen, peak) = scene.begin("run suite.yml").finish_weighed();
    assert!(peak > 0 && peak < MOST, "{peak} MiB\n{}", seen.text());
    format!("{}\n{}", seen.status, seen.text())
}

#[track_caller]
fn shows(shown: &str, words: &[&str]) {
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in words {
        assert!(flat.contains(words), "`{words}` is not in\n{shown}");
    }
}

#[test]
fn a_long_answer_is_read() {
    shows(&run("long-answer", 60, 1), &["1 case: 1 passed"]);
}

#[test]
fn an_answer_that_fills_the_memory_is_not_read() {
    let told = ["error[answer-too-large]: the answer to `tools/call` would take more than 96 MiB", "1 errored"];
    shows(&run("dense-answer", 60, 1), &told);
    shows(&run("nested-answer", 60, 1), &told);
}

/// Checks keep answers and compare them, so they read none that is large, and pass nothing for what they did not read.
#[test]
fn checks_read_no_long_answers_and_pass_nothing_for_them() {
    let scene = Scene::new("greedy-checks");
    let blocks = "fuzz: { cases: 3 }\nstate: true\nsecurity: { scan: false, packs: [injection] }\n";
    for (name, mebibytes) in [("long", 40), ("short", 1)] {
        let server = format!("server: {{ command: [python3, ../servers/greedy.py, long-answer, '{mebibytes}'] }}");
        scene.write(&format!("{name}.yml"), &format!("suite: {name}\n{server}\n{blocks}"));
    }
    let (seen, peak) = scene.begin("run --no-findings --parallel 4 long.yml").finish_weighed();
    assert!(peak > 0 && peak < MOST, "{peak} MiB\n{}", seen.text());
    assert_eq!(seen.status, 4, "{}", seen.text());
    shows(
        &seen.text(),
        &["reads none that takes more than 8 MiB of memory", "more than 8 MiB of memory, so it is not read"],
    );
    let shown = scene.run("run --no-findings --parallel 4 short.yml").text();
    assert!(!shown.contains("not read"), "{shown}");
}

#[test]
fn an_answer_that_is_nested_too_deep_is_not_read() {
    let told = ["error[answer-too-deep]: the answer to `tools/call` is nested more than 127 levels deep", "1 errored"];
    let shown = run("too-deep", 500, 1);
    shows(&shown, &told);
    assert!(!shown.contains("stdout"), "{shown}");
}

#[test]
fn many_answers_are_not_all_kept() {
    shows(&run("table-answer", 11_000, 65), &["65 cases: 65 passed"]);
    shows(&run("dense-answer", 1, 65), &["65 cases: 65 passed"]);
}

#[test]
fn what_nobody_asked_for_is_bounded() {
    let told = "the server floods its output: its messages that answer no request take more than 160 MiB of memory";
    shows(&run("talks-meanwhile", 20, 3), &[told]);
}

#[test]
fn lists_without_an_end_end() {
    shows(&run("growing-pages", 1, 1), &["`tools/list` is too long: the ", "take more than 64 MiB"]);
    shows(&run("growing-cursors", 1, 1), &["`tools/list` never ends: the cursors up to page 5 have more than 1 MiB"]);
}

#[test]
fn a_list_has_a_time_as_a_whole() {
    let scene = Scene::new("greedy-slow-pages");
    let suite = suite("slow-pages", 200, 1).replace("request_timeout: 600s", "request_timeout: 500ms");
    scene.write("suite.yml", &suite.replace("servers/", "../servers/"));
    shows(&scene.run("run suite.yml").text(), &["`tools/list` has no end within [TIME]: after page "]);
}

#[test]
fn a_budget_is_kept_and_passes_nothing() {
    let scene = Scene::new("greedy-budget");
    let running = scene.begin("ci --budget 8s -- python3 ../servers/greedy.py many-tools 300");
    let (seen, peak) = running.finish_weighed();
    assert_eq!(seen.status, 4, "{}", seen.text());
    assert!(peak > 0 && peak < MOST, "{peak} MiB\n{}", seen.text());
    shows(&seen.text(), &["error: the time of `--budget` was over before every case was judged --- exit 4"]);
}

/// Answers a handshake as it should, and everything else with 23 MiB of small values, whole or as events.
const DENSE: &str = r#"
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
zeros = b"0," * 1000 + b"0"
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = "application/json"
        if asked["method"] == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": about}).encode()
        elif asked["method"] == "ping" and sys.argv[2] == "events":
            kind, body = "text/event-stream", (b"data: [" + zeros + b"]\n\n") * 12000
        else:
            body = b'{"jsonrpc": "2.0", "id": 1, "result": {"zeros": [' + b",".join([zeros] * 12000) + b"]}}"
        self.send_response(200 if "id" in asked else 202)
        body = body if "id" in asked else b""
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn raw_responses_that_fill_the_memory_are_not_judged() {
    for kind in ["whole", "events"] {
        let scene = Scene::new(&format!("greedy-raw-{kind}"));
        scene.write("server.py", DENSE);
        scene.write(
            "suite.yml",
            &format!(
                "suite: Raw\nserver:\n  command: [python3, server.py, \"{{{{ port }}}}\", {kind}]\n  \
                 url: \"http://127.0.0.1:{{{{ port }}}}/mcp\"\n  protocol: 2025-11-25\ntests:\n  - name: raw\n    steps:\n      \
                 - http: {{ body: {{ jsonrpc: \"2.0\", id: 1, method: ping }}, read: body }}\n        \
                 expect: [{{ at: status, equals: 200 }}]\n"
            ),
        );
        let (seen, peak) = scene.begin("run suite.yml").finish_weighed();
        assert!(peak > 0 && peak < MOST, "{kind}: {peak} MiB\n{}", seen.text());
        shows(&seen.text(), &["the response to `POST /mcp` would take more than 96 MiB of memory", "1 errored"]);
    }
}

#[test]
fn many_unknown_keys_take_no_longer_than_they_are_many() {
    let scene = Scene::new("greedy-keys");
    let time = |count: u32| {
        let keys: Vec<String> = (0..count).map(|number| format!("key_{number}: 1")).collect();
        scene.write("suite.yml", &demo_suite(&keys.join("\n"), "hello"));
        let begun = Instant::now();
        let seen = scene.run("check suite.yml");
        assert!(seen.stderr.ends_with(&format!("{count} mistakes found\n")), "{}", &seen.stderr[..2000]);
        begun.elapsed().as_secs_f64()
    };
    let (few, many) = (time(10_000), time(100_000));
    // Where every key was compared with every other one, ten times as many took a hundred times as long.
    assert!(many < 40.0 * few, "{few} s and {many} s");
}

/// A suite for the demo server, with keys of its own.
fn demo_suite(keys: &str, message: &str) -> String {
    format!(
        "suite: Bounds\nserver: {{ builtin: demo }}\n{keys}\ntests:\n  - name: echo\n    call: echo\n    \
         args: {{ message: \"{message}\" }}\n    expect: [{{ is_error: false }}]\n"
    )
}

#[test]
fn templates_make_no_more_than_there_is_room_for() {
    for (name, message) in [
        ("replace", "{{ ('a' * n) | replace('a', 'b' * n) | replace('b', 'c' * n) }}"),
        ("concat", "{% set a = 'x' * n * 9999 %}{% set a = a ~ a ~ a ~ a %}{% set a = a ~ a ~ a ~ a %}{{ a }}"),
        ("join", "{{ range(99999) | join('x' * n * 10) | length }}"),
        ("format", "{{ '%999999999d' | format(n) | length }}"),
    ] {
        let scene = Scene::new(&format!("greedy-template-{name}"));
        scene.write("suite.yml", &demo_suite("variables: { n: 1000 }", message));
        let (seen, peak) = scene.begin("run suite.yml").finish_weighed();
        assert_eq!(seen.status, 3, "{}", seen.text());
        assert!(peak > 0 && peak < 160, "{name}: {peak} MiB\n{}", seen.text());
        shows(&seen.text(), &["cannot be filled in: its output would exceed 32 MiB", "suite.yml:7"]);
    }
}

#[test]
fn a_pipe_is_not_waited_for() {
    let scene = Scene::new("greedy-pipes");
    assert_eq!(scene.line("sh -c 'mkfifo pipe pipe.yml pipe.csv'").status, 0);
    scene.write("good.yml", &demo_suite("", "hello"));
    scene.write("include.yml", &demo_suite("include: [pipe.yml]", "hello"));
    scene.write("rows.yml", &demo_suite("", "hello").replace("    call:", "    rows: pipe.csv\n    call:"));
    scene.write(
        "tls.yml",
        &demo_suite("", "hello").replace("{ builtin: demo }", "{ url: 'https://127.0.0.1:1', tls: { ca: pipe } }"),
    );
    for (arguments, status) in [
        ("check pipe.yml", 2),
        ("check include.yml", 2),
        ("check rows.yml", 2),
        ("run good.yml --baseline pipe", 2),
        ("run good.yml --registry pipe", 2),
        ("report pipe", 2),
        ("run tls.yml", 3),
        ("run good.yml --report json=/dev/null", 0),
    ] {
        let seen = scene.run(arguments);
        assert_eq!(seen.status, status, "{arguments}\n{}", seen.text());
        assert_eq!(seen.text().contains("it is a pipe"), status != 0, "{arguments}\n{}", seen.text());
    }
}

#[test]
fn a_pattern_that_is_costly_to_match_blames_nobody() {
    let scene = Scene::new("greedy-pattern");
    let server = "server: { command: [python3, ../servers/greedy.py, rescanned-output, '100'] }";
    let schema = "  - { name: schema, call: odd, expect: [{ output_schema: true }] }\n";
    let plain = "  - { name: plain, call: echo, args: { text: hello }, expect: [{ is_error: false }] }\n";
    let options = "run_options: { timeout: 2s, request_timeout: 1s, parallel: 4 }";
    scene.write("suite.yml", &format!("suite: Costly\n{server}\n{options}\ntests:\n{schema}{plain}"));
    let seen = scene.run("run suite.yml");
    assert_eq!(seen.status, 0, "{}", seen.text());
    shows(&seen.text(), &["validating the answer takes too long", "2 cases: 1 passed, 1 inconclusive"]);
}
