//! Runs that are stopped from outside, at every stage: servers are ended and reports are written all the same.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Running, Scene, Seen};

/// One test passes, one takes long, one is never reached.
const SUITE: &str = r"
suite: Stopped half-way
server: { command: ['{{ env.MCPROVE }}', serve, demo] }
run_options: { parallel: 1, timeout: 600s, request_timeout: 600s }
tests:
  - name: passes
    call: echo
    args: { message: hello }
    expect: [{ is_error: false }]
  - name: takes long
    call: export_users
    args: { format: csv, delay_ms: 10000 }
    expect: [{ is_error: false }]
    teardown:
      - call: echo
        args: { message: hello }
  - name: is never reached
    call: echo
    args: { message: hello }
    expect: [{ is_error: false }]
";

/// The same on a server that can be caught at any stage; one of the places in capitals is where it takes long.
const STAGED: &str = r"
suite: Stopped at some stage
server: SERVER
run_options: { parallel: 1, timeout: 600s, start_timeout: 600s, request_timeout: 600s }
setup: [SUITE-SETUP]
teardown: [SUITE-TEARDOWN]
tests:
  - { name: passes, call: echo, args: { text: hello }, expect: [{ is_error: false }] }
  - { name: takes long, setup: [TEST-SETUP], steps: [STEP], teardown: [TEST-TEARDOWN] }
  - { name: is never reached, call: echo, args: { text: hello }, expect: [{ is_error: false }] }
";

const STDIO: &str = "{ command: [python3, ../../servers/slow_at.py, STAGE], protocol: 2025-11-25 }";

const HTTP: &str = "{ command: [python3, ../../servers/slow_at.py, STAGE, '{{ port }}'], \
                    url: 'http://127.0.0.1:{{ port }}/mcp', protocol: 2025-11-25 }";

/// Where a run can be caught.
struct Stage {
    name: &'static str,
    /// Where the server hangs: the argument of `slow_at.py`.
    hangs_at: &'static str,
    /// Where the suite calls the tool that takes long.
    slow: &'static str,
    /// What the server has written down when the run is there.
    mark: &'static str,
}

const STAGES: &[Stage] = &[
    Stage { name: "start", hangs_at: "start", slow: "", mark: "start" },
    Stage { name: "handshake", hangs_at: "initialize", slow: "", mark: "initialize" },
    Stage { name: "catalog", hangs_at: "tools/list", slow: "", mark: "tools/list" },
    Stage { name: "setup of the suite", hangs_at: "", slow: "SUITE-SETUP", mark: "tools/call slow" },
    Stage { name: "setup of a test", hangs_at: "", slow: "TEST-SETUP", mark: "tools/call slow" },
    Stage { name: "step", hangs_at: "", slow: "STEP", mark: "tools/call slow" },
    Stage { name: "teardown of a test", hangs_at: "", slow: "TEST-TEARDOWN", mark: "tools/call slow" },
    Stage { name: "teardown of the suite", hangs_at: "", slow: "SUITE-TEARDOWN", mark: "tools/call slow" },
];

#[test]
fn reports_are_written_after_an_interrupt() {
    for signal in ["INT", "TERM"] {
        let scene = Scene::new(&format!("interrupted/{signal}"));
        let seen = stopped(&scene, SUITE, &[signal]);
        assert_eq!(seen.status, 130, "{}", seen.text());
        let (junit, report) = (scene.line("show junit.xml").stdout, report(&scene));
        assert!(junit.contains("passes") && junit.contains("takes long"), "{junit}");
        assert_eq!((&report["interrupted"], &report["not_run"]), (&true.into(), &1.into()), "{report}");
        assert_eq!(report["totals"]["passed"], 1);
        scene.assert_nothing_survives();
    }
}

/// So does a program that starts this one where there are no signals to send, such as `mcprove serve mcp` on Windows.
#[test]
fn a_byte_on_standard_input_and_its_end_are_interrupts() {
    for says in [&b"\n"[..], b""] {
        let scene = Scene::new(&format!("interrupted/input-{}", says.len()));
        scene.write("suite.yml", SUITE);
        let reports = "--report json=report.json --report ndjson=events.ndjson";
        let mut child = scene.talk(&format!("--stop-by-input run suite.yml {reports}"));
        scene.wait_until("the second test never began", || {
            scene.line("show events.ndjson").stdout.contains(r#"{"case-started":{"id":"suite.yml::takes long"#)
        });
        let mut input = child.stdin.take().unwrap();
        input.write_all(says).unwrap();
        // The end of the input would be the next one.
        let input = Some(input).filter(|_| !says.is_empty());
        let seen = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(seen.status.code(), Some(130), "{says:?}");
        let report = report(&scene);
        assert_eq!((&report["interrupted"], &report["totals"]["passed"]), (&true.into(), &1.into()), "{report}");
        scene.assert_nothing_survives();
    }
}

#[test]
fn a_recording_that_is_stopped_speaks_of_no_reports() {
    let scene = Scene::new("interrupted/recording");
    let running = scene.begin("snapshot --revision 2025-11-25 -- python3 ../../servers/slow_at.py tools/list");
    scene.wait_until("the server is never asked for its tools", || {
        scene.line("show marks.txt").stdout.lines().any(|line| line == "tools/list")
    });
    running.signal("INT");
    let seen = running.finish();
    assert_eq!(seen.status, 130, "{}", seen.text());
    // It may be over before anybody says that it is about to be.
    assert!(seen.stderr.contains("the command was interrupted") && !seen.stderr.contains("report"), "{}", seen.text());
    assert!(!scene.folder.join("server.snapshot.json").exists(), "nothing is recorded");
    scene.assert_nothing_survives();
}

#[test]
fn every_stage_can_be_stopped_over_stdio() {
    stop_everywhere("stdio", STDIO);
}

#[test]
fn every_stage_can_be_stopped_over_http() {
    stop_everywhere("http", HTTP);
}

/// Stops a run at every stage, with either signal, all runs at once: most wait for the end of teardown's time.
fn stop_everywhere(transport: &str, server: &str) {
    std::thread::scope(|scope| {
        for stage in STAGES {
            for signal in ["INT", "TERM"] {
                scope.spawn(move || stop_at(stage, &format!("{transport}-{signal}"), server, signal));
            }
        }
    });
}

fn stop_at(stage: &Stage, name: &str, server: &str, signal: &str) {
    let scene = Scene::new(&format!("interrupted/{name}-{}", stage.name.replace(' ', "-")));
    let hangs_at = if stage.hangs_at.is_empty() { "nowhere" } else { stage.hangs_at };
    scene.write("suite.yml", &staged(&server.replace("STAGE", hangs_at), stage.slow));
    let running = scene.begin("run suite.yml --report junit=junit.xml --report json=report.json");
    scene.wait_until(&format!("the stage `{}` never began", stage.name), || {
        scene.line("show marks.txt").stdout.lines().any(|line| line == stage.mark)
    });
    running.signal(signal);
    let seen = running.finish();
    assert_eq!(seen.status, 130, "{}: {}", stage.name, seen.text());
    scene.assert_nothing_survives();
    let report = report(&scene);
    assert_eq!(report["interrupted"], true, "{}: {report}", stage.name);
    let cases = report["suites"][0]["cases"].to_string();
    let is_lost = |name: &&&str| !cases.contains(&format!("::{name}@"));
    let lost: Vec<&&str> = ["passes", "takes long", "is never reached"].iter().filter(is_lost).collect();
    assert!(lost.is_empty(), "{} loses {lost:?}: {}", stage.name, seen.text());
    assert!(scene.line("show junit.xml").stdout.ends_with("</testsuites>\n"), "{}", stage.name);
}

fn staged(server: &str, slow: &str) -> String {
    let places = ["SUITE-SETUP", "SUITE-TEARDOWN", "TEST-SETUP", "TEST-TEARDOWN", "STEP"];
    places.iter().fold(STAGED.replace("SERVER", server), |suite, place| {
        let call =
            if *place == slow { "call: slow, args: { seconds: 600 }" } else { "call: echo, args: { text: hello }" };
        suite.replace(place, &format!("{{ {call}, expect: [{{ is_error: false }}] }}"))
    })
}

/// Nobody reads the pipe that the report goes to: the run is over, and only the user can end the program.
#[test]
fn a_report_that_nobody_takes_can_be_left() {
    let scene = Scene::new("interrupted/report");
    let running = reporting(&scene);
    let seen = running.signal_until_it_ends("INT");
    assert_eq!(seen.status, 130, "{}", seen.text());
    scene.assert_nothing_survives();
}

#[test]
fn an_interrupt_does_not_cut_a_report() {
    let scene = Scene::new("interrupted/report-taken");
    let running = reporting(&scene);
    running.signal("INT");
    let junit = scene.line("show junit.xml").stdout;
    let seen = running.finish();
    assert!(junit.ends_with("</testsuites>\n"), "{junit}\n{}", seen.text());
    scene.assert_nothing_survives();
}

/// A run whose last report goes to a pipe that nobody reads yet.
fn reporting(scene: &Scene) -> Running {
    scene.write("suite.yml", &staged(&STDIO.replace("STAGE", "nowhere"), ""));
    assert!(Command::new("mkfifo").arg(scene.folder.join("junit.xml")).status().unwrap().success());
    let running = scene.begin("run suite.yml --report json=report.json --report junit=junit.xml");
    scene.wait_until("no report was written", || report(scene)["interrupted"] == false);
    running
}

/// The server is busy for a minute and deaf to cancellation: teardown must not wait for it.
#[test]
fn a_stuck_server_does_not_hold_up_the_end() {
    let scene = Scene::new("interrupted/stuck");
    let stuck = SUITE
        .replace("['{{ env.MCPROVE }}', serve, demo]", "[python3, ../../servers/hostile.py]")
        .replace("message: hello", "text: hello")
        .replace("call: export_users", "call: slow")
        .replace("format: csv, delay_ms: 10000", "seconds: 600");
    let seen = stopped(&scene, &stuck, &["INT"]);
    assert_eq!(seen.status, 130, "{}", seen.text());
    assert!(seen.stdout.contains("teardown took longer than 3 s"), "{}", seen.text());
    scene.assert_nothing_survives();
}

#[test]
fn a_data_file_that_was_damaged_is_restored() {
    const NOTES: &str = "{\"note\": \"kept from before\"}\n";
    let scene = Scene::new("interrupted/store");
    scene.write("notes.jsonl", NOTES);
    let suite = "suite: Stopped while the file is damaged\n\
                 server: { command: [python3, ../../servers/journal.py, hangs, notes.jsonl], scratch: true }\n\
                 run_options: { timeout: 600s, request_timeout: 600s }\n\
                 state: { store: notes.jsonl, tools: [save_notes, list_notes], time: 600s }\n";
    scene.write("suite.yml", suite);
    let running = scene.begin("run suite.yml");
    let notes = scene.folder.join("notes.jsonl");
    scene.wait_until("the file is never damaged", || {
        std::fs::read_to_string(&notes).is_ok_and(|text| text.contains("broken"))
    });
    running.signal("INT");
    let seen = running.finish();
    assert_eq!(seen.status, 130, "{}", seen.text());
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), NOTES);
    scene.assert_nothing_survives();
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let scene = Scene::new("interrupted/twice");
    assert_eq!(stopped(&scene, SUITE, &["INT", "INT"]).status, 130);
}

/// Runs the suite until its second test is under way, and stops it.
fn stopped(scene: &Scene, suite: &str, signals: &[&str]) -> Seen {
    scene.write("suite.yml", suite);
    let reports = "--report junit=junit.xml --report json=report.json --report ndjson=events.ndjson";
    let running = scene.begin(&format!("run suite.yml {reports}"));
    scene.wait_until("the second test never began", || {
        scene.line("show events.ndjson").stdout.contains(r#"{"case-started":{"id":"suite.yml::takes long"#)
    });
    for signal in signals {
        running.signal(signal);
    }
    running.finish()
}

fn report(scene: &Scene) -> Value {
    serde_json::from_str(&scene.line("show report.json").stdout).unwrap_or_default()
}

/// Whatever is left to do for thousands of failures, reports do not wait for it.
#[test]
fn thousands_of_failures_do_not_keep_reports_from_being_written() {
    let scene = Scene::bare("interrupted/thousands");
    let rows: Vec<String> = (0..4000).map(|row| format!("{{ n: 'm{row}' }}")).collect();
    let suite = format!(
        "suite: many\nserver: {{ builtin: demo }}\ntests:\n  - name: fails\n    rows: [{}]\n    call: echo\n    \
         args: {{ message: '{{{{ n }}}}' }}\n    expect: [{{ at: result.content, equals: [] }}]\n",
        rows.join(", ")
    );
    scene.write("suite.yml", &suite);
    let running = scene.begin("run suite.yml --report ndjson=run.ndjson --report junit=run.xml --report json=run.json");
    let log = scene.folder.join("run.ndjson");
    let is_long = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 3 << 20);
    scene.wait_until("half of the cases are over", is_long);
    running.signal("TERM");
    let seen = running.finish();
    assert_eq!(seen.status, 130, "{}", seen.stderr);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(scene.folder.join("run.json")).unwrap()).unwrap();
    assert!(report["suites"][0]["cases"].as_array().is_some_and(|cases| cases.len() > 100), "{}", seen.stderr);
    assert!(std::fs::read_to_string(scene.folder.join("run.xml")).unwrap().ends_with("</testsuites>\n"));
}
