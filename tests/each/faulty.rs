//! The faulty servers against suites, over both transports: which turn red, and by which finding. The correct server
//! stays green.
//!
//! In `tests/faulty/`, `thin.yml` looks at little, `generic.yml` knows nothing about the server, `written.yml` knows the
//! demo server, and `thorough.yml` looks at nearly everything that it answers.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use libtest_mimic::Trial;
use mcprove::demo::faulty::{all, transports};
use mcprove::taxonomy::Transport;
use regex::Regex;

use crate::golden::{Golden, cells};
use crate::harness::{Scene, root, snapshot};
use crate::test;

const SUITES: [&str; 4] = ["thin", "generic", "written", "thorough"];

/// What a suite says about a server: the exit code, the codes of the findings, and how many cases have no verdict.
struct Verdict {
    exit: i32,
    codes: BTreeSet<String>,
    not_judged: usize,
}

/// Which suites notice which fault.
pub(crate) const VERDICTS: Golden =
    Golden { file: "tests/faulty/verdicts.md", heading: "# What four suites say of faulty servers" };

pub(crate) fn tests() -> Vec<Trial> {
    let keys: Arc<[String]> = rows().map(|(variant, over)| cells(&[variant, over.as_str()])).collect();
    let faulty = rows().map(|(variant, over)| {
        let keys = Arc::clone(&keys);
        test(format!("faulty::{variant}::{}", over.as_str()), move || check(variant, over, &keys))
    });
    let keys = Arc::clone(&keys);
    let rows = test("faulty::rows".to_owned(), move || VERDICTS.has_only(&keys));
    let correct = [Transport::Stdio, Transport::Http].into_iter().flat_map(|over| {
        SUITES.map(|suite| test(format!("faulty::correct::{}::{suite}", over.as_str()), move || is_green(suite, over)))
    });
    let list = test("faulty::list".to_owned(), the_faulty_servers_are_listed);
    faulty.chain([rows, list]).chain(correct).collect()
}

/// Every faulty server over every transport that it knows.
fn rows() -> impl Iterator<Item = (&'static str, Transport)> {
    all().flat_map(|entry| transports(entry).iter().map(|one| (entry.variant, *one)))
}

/// The correct server is green in both eras.
fn is_green(suite: &str, transport: Transport) {
    // It pins answers of one era.
    let protocol = if suite == "thorough" { "auto" } else { "[2026-07-28, 2025-11-25]" };
    let verdict = judge(suite, "demo", transport, protocol);
    assert_eq!((verdict.exit, verdict.not_judged), (0, 0), "{:?}", verdict.codes);
}

fn check(variant: &str, transport: Transport, keys: &[String]) {
    let verdicts = SUITES.map(|suite| {
        let verdict = judge(suite, &format!("faulty, --fault, {variant}"), transport, "auto");
        let rest = if verdict.not_judged > 0 { format!(", {} not judged", verdict.not_judged) } else { String::new() };
        match verdict.exit {
            0 => format!("green{rest}"),
            exit => {
                let codes = verdict.codes.into_iter().collect::<Vec<_>>().join(" ");
                format!("{}{rest}", format!("exit {exit} {codes}").trim_end())
            }
        }
    });
    VERDICTS.holds(keys, &[variant, transport.as_str()], &verdicts.each_ref().map(String::as_str));
}

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

fn judge(suite: &str, server: &str, transport: Transport, protocol: &str) -> Verdict {
    let name = server.rsplit(' ').next().unwrap();
    let scene = Scene::bare(&format!("faulty/{suite}-{}-{name}", transport.as_str()));
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
    // What nobody serves is not judged, which is noticed as well.
    assert!([0, 1, 3, 4].contains(&seen.status), "{name}: {}", seen.text());
    let report = scene.line("show report.json").stdout;
    // Findings have a level behind their code; reasons have none.
    let code = Regex::new(r#""code": ?"([\w-]+)",\s*"level""#).unwrap();
    let not_judged = Regex::new(r#""outcome": ?"inconclusive""#).unwrap().find_iter(&report).count();
    Verdict {
        exit: seen.status,
        not_judged,
        codes: code.captures_iter(&report).map(|found| found[1].to_owned()).collect(),
    }
}
