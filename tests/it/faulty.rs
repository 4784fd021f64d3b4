//! The faulty servers against suites, over both transports: which turn red, and by which finding. The correct server
//! stays green.
//!
//! `tests/faulty/generic.yml` knows nothing about the server, `tests/faulty/written.yml` knows the demo server.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;

use mcprove::demo::faulty::{Entry, all, transports};
use mcprove::taxonomy::Transport;
use regex::Regex;

use crate::harness::{Scene, root, snapshot};

const SUITES: [&str; 2] = ["generic", "written"];

/// What a suite says about a server: the exit code, the codes of the findings, and how many cases have no verdict.
struct Verdict {
    exit: i32,
    codes: BTreeSet<String>,
    not_judged: usize,
}

#[test]
fn faults_of_the_protocol() {
    check("protocol", &["PROTO", "TOOL"]);
}

#[test]
fn faults_of_data() {
    check("data", &["SCHEMA", "STATE"]);
}

#[test]
fn faults_around_models() {
    check("models", &["PROVIDER", "SECURITY"]);
}

#[test]
fn faults_of_time_and_settings() {
    check("time-and-settings", &["TIMEOUT", "CONFIG"]);
}

#[test]
fn the_correct_server_is_green_in_both_eras() {
    for transport in [Transport::Stdio, Transport::Http] {
        for suite in SUITES {
            let verdict = judge(suite, "demo", transport, "[2026-07-28, 2025-11-25]");
            let place = transport.word();
            assert_eq!((verdict.exit, verdict.not_judged), (0, 0), "{suite} over {place}: {:?}", verdict.codes);
        }
    }
}

#[test]
fn the_faulty_servers_are_listed() {
    let scene = Scene::new("faulty/list");
    let lines = [
        "serve faulty --list",
        "serve faulty --fault TOOL-CRAHS",
        "serve faulty --fault FAULT-TIMEOUT-HANG",
        "serve faulty --fault SECURITY-TOOL-SHADOWING",
        "serve faulty --fault SECURITY-DNS-REBINDING",
        "serve faulty --fault PROTO-STDOUT-NOISE --http 127.0.0.1:0",
        "serve faulty --fault zebra",
        "serve faulty",
        "serve demo --max-users many",
        "serve demo --max-users many --http 127.0.0.1:0",
        "serve demo --require-token",
        "serve demo --require-token --http 127.0.0.1:0",
    ];
    let seen: Vec<String> = lines.iter().map(|line| scene.run(line).text()).collect();
    snapshot("faulty-list", &seen.join("\n"));
}

/// Compares the verdicts about all servers of these families with the table of that name.
fn check(name: &str, families: &[&str]) {
    let belongs = |entry: &Entry| families.iter().any(|family| entry.variant.starts_with(family));
    let runs = all()
        .filter(|entry| belongs(entry))
        .flat_map(|entry| transports(entry).iter().map(|one| (entry.variant, *one)));
    let waiting: Mutex<VecDeque<_>> = Mutex::new(runs.enumerate().collect());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((number, (variant, transport))) = { waiting.lock().unwrap().pop_front() } {
                    let row = row(variant, transport);
                    rows.lock().unwrap().push((number, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort();
    let mut table = format!("{:<30} {:<6} {:<40} written.yml\n", "variant", "over", "generic.yml");
    for (_, row) in rows {
        let _ = writeln!(table, "{row}");
    }
    snapshot(&format!("faulty-verdicts-{name}"), &table);
}

fn row(variant: &str, transport: Transport) -> String {
    let cells = SUITES.map(|suite| {
        let verdict = judge(suite, &format!("faulty, --fault, {variant}"), transport, "auto");
        let rest = if verdict.not_judged > 0 { format!(", {} not judged", verdict.not_judged) } else { String::new() };
        match verdict.exit {
            0 => format!("green{rest}"),
            exit => format!("exit {exit} {}{rest}", verdict.codes.into_iter().collect::<Vec<_>>().join(" ")),
        }
    });
    format!("{variant:<30} {:<6} {:<40} {}", transport.word(), cells[0], cells[1])
}

fn judge(suite: &str, server: &str, transport: Transport, protocol: &str) -> Verdict {
    let name = server.rsplit(' ').next().unwrap();
    let scene = Scene::bare(&format!("faulty/{suite}-{}-{name}", transport.word()));
    // Only where silence is the fault.
    let (start, request) = match name {
        "TIMEOUT-STARTUP-HANG" => ("1s", "1s"),
        "TIMEOUT-HANG" => ("30s", "1s"),
        _ => ("30s", "30s"),
    };
    let (over, place) = match transport {
        Transport::Stdio => ("", ""),
        Transport::Http => (r#", --http, "127.0.0.1:{{ port }}""#, r#", url: "http://127.0.0.1:{{ port }}/mcp""#),
    };
    let text = fs::read_to_string(root().join(format!("tests/faulty/{suite}.yml"))).unwrap();
    let text = text.replace("START", start).replace("REQUEST", request).replace("PROTOCOL", protocol);
    // Last, since names of variants have such words in them.
    let text = text.replace("WHERE", place).replace("SERVER", &format!("serve, {server}{over}"));
    scene.write("suite.yml", &text);
    scene.write("../outside.txt", "a file outside of the server's folder");
    let seen = scene.run("run suite.yml --report json=report.json");
    scene.assert_nothing_survives();
    assert!([0, 1, 3].contains(&seen.status), "{name}: {}", seen.text());
    let report = scene.line("show report.json").stdout;
    let code = Regex::new(r#""code": ?"([\w-]+)""#).unwrap();
    let not_judged = Regex::new(r#""outcome": ?"inconclusive""#).unwrap().find_iter(&report).count();
    Verdict {
        exit: seen.status,
        not_judged,
        codes: code.captures_iter(&report).map(|found| found[1].to_owned()).collect(),
    }
}
