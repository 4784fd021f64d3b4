//! Runs that are stopped from outside: servers are ended and reports are written all the same.
#![cfg(unix)]

use crate::harness::{Scene, Seen};

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

#[test]
fn reports_are_written_after_an_interrupt() {
    for signal in ["INT", "TERM"] {
        let scene = Scene::new(&format!("interrupted/{signal}"));
        let seen = stopped(&scene, SUITE, &[signal]);
        assert_eq!(seen.status, 130, "{}", seen.text());
        let (junit, report) = (scene.line("show junit.xml").stdout, scene.line("show report.json").stdout);
        assert!(junit.contains("passes") && junit.contains("takes long"), "{junit}");
        let report: serde_json::Value = serde_json::from_str(&report).unwrap_or_default();
        assert_eq!((&report["interrupted"], &report["not_run"]), (&true.into(), &1.into()), "{report}");
        assert_eq!(report["totals"]["passed"], 1);
        scene.assert_nothing_survives();
    }
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
