//! An audit finds bugs of many kinds in one command, and begins with what tells most.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::harness::{Scene, root};

/// The suites that look at one call at a time; the others take minutes.
const SHORT: &str = "!name(/campaign|torture|timeouts|security|state/)";

/// The bodies of the events of one kind.
fn bodies<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter_map(move |event| event.get(kind))
}

#[test]
fn five_kinds_of_bugs_are_found_in_one_command() {
    let scene = Scene::bare("auditing/five-bugs");
    let server = root().join("tests/servers/five_bugs.py");
    let options = "--scratch --no-prove --request-timeout 1s --cases 10 --report ndjson=events.ndjson";
    let seen = scene.run(&format!("audit {options} --filter '{SHORT}' -- python3 {}", server.display()));
    let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap_or_default();
    scene.assert_nothing_survives();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let judged = bodies(&events, "case-finished").chain(bodies(&events, "session-judged"));
    let findings = judged.flat_map(|judged| judged["findings"].as_array().cloned().unwrap_or_default());
    let codes: BTreeSet<String> = findings.map(|found| found["code"].as_str().unwrap_or_default().to_owned()).collect();
    for code in ["process-exited", "timeout", "output-schema", "page-size-exceeded", "valid-call-refused"] {
        assert!(codes.contains(code), "nothing is found with `{code}`: {codes:?}\n{}", seen.text());
    }
    let started: Vec<&str> = bodies(&events, "case-started").filter_map(|started| started["name"].as_str()).collect();
    let position = |start: &str| started.iter().position(|name| name.starts_with(start));
    for early in ["valid call / wait_for_change", "config: list_notes keeps to `limit`"] {
        assert!(position(early) < position("fuzz"), "`{early}` begins late: {started:?}");
    }
}
