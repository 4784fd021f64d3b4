//! The faulty servers against suites: which turn red, and by which finding. The correct server stays green.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use regex::Regex;

use crate::harness::{Scene, root, snapshot};

/// What a suite says about a server: the exit code and the codes of the findings.
struct Verdict {
    exit: i32,
    codes: BTreeSet<String>,
}

#[test]
fn which_faults_turn_which_suite_red() {
    let variants: Vec<String> = variants();
    let half = variants.len().div_ceil(2);
    let rows: Vec<String> = std::thread::scope(|scope| {
        let halves =
            variants.chunks(half).map(|half| scope.spawn(|| half.iter().map(|one| row(one)).collect::<Vec<_>>()));
        halves.collect::<Vec<_>>().into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    let mut table = String::new();
    let _ = writeln!(table, "{:<30} {:<40} written.yml", "variant", "generic.yml");
    table.push_str(&rows.concat());
    snapshot("faulty-verdicts", &table);
}

#[test]
fn the_correct_server_is_green() {
    for suite in ["generic", "written"] {
        let verdict = judge(suite, "serve, demo", "correct");
        assert_eq!(verdict.exit, 0, "{suite}: {:?}", verdict.codes);
    }
}

#[test]
fn the_faulty_servers_are_listed() {
    let scene = Scene::new("faulty/list");
    let lines = [
        "serve faulty --list",
        "serve faulty --fault TOOL-CRAHS",
        "serve faulty --fault FAULT-TIMEOUT-HANG",
        "serve faulty --fault PROTO-HTTP-CONTRACT",
        "serve faulty --fault zebra",
        "serve faulty",
        "serve demo --max-users many",
    ];
    let seen: Vec<String> = lines.iter().map(|line| scene.run(line).text()).collect();
    snapshot("faulty-list", &seen.join("\n"));
}

fn variants() -> Vec<String> {
    let list = Scene::new("faulty/variants").run("serve faulty --list").stdout;
    let names = list.lines().skip(1).map_while(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

fn row(variant: &str) -> String {
    let cells = ["generic", "written"].map(|suite| {
        let verdict = judge(suite, &format!("serve, faulty, --fault, {variant}"), variant);
        match verdict.exit {
            0 => "green".to_owned(),
            exit => format!("exit {exit} {}", verdict.codes.into_iter().collect::<Vec<_>>().join(" ")),
        }
    });
    format!("{variant:<30} {:<40} {}\n", cells[0], cells[1])
}

fn judge(suite: &str, server: &str, name: &str) -> Verdict {
    let scene = Scene::new(&format!("faulty/{suite}-{name}"));
    let (start, request) = match name {
        "TIMEOUT-STARTUP-HANG" => ("1s", "1s"),
        "TIMEOUT-HANG" => ("30s", "1s"),
        _ => ("30s", "30s"),
    };
    let text = fs::read_to_string(root().join(format!("tests/faulty/{suite}.yml"))).unwrap();
    let text = text.replace("START", start).replace("REQUEST", request).replace("SERVER", server);
    scene.write("suite.yml", &text);
    let seen = scene.run("run suite.yml --report json=report.json");
    scene.assert_nothing_survives();
    assert!([0, 1, 3].contains(&seen.status), "{name}: {}", seen.text());
    let report = scene.line("show report.json").stdout;
    let code = Regex::new(r#""code": ?"([\w-]+)""#).unwrap();
    Verdict { exit: seen.status, codes: code.captures_iter(&report).map(|found| found[1].to_owned()).collect() }
}
