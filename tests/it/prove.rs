//! What is proven of suites: which block kills which mutant, and whether servers that are really faulty agree.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::harness::{Scene, root, snapshot};

/// A list, and what comes on top of it step by step.
const BLOCKS: [(&str, &str); 4] = [
    ("a list", "  - { name: the tools, list: tools, expect: [{ at: result.tools, length: { min: 1 } }] }\n"),
    (
        "two values",
        "  - { name: a sum, call: add, args: { a: 19, b: 23 }, expect: [{ at: result.structuredContent.sum, equals: 42 }] }
  - { name: an echo, call: echo, args: { message: hello world }, expect: [{ text: { contains: hello world } }] }\n",
    ),
    ("negative_path", "negative_path: { tools: '*' }\n"),
    ("output_schema", "output_schema: { tools: '*' }\n"),
];

/// The mutants of a proof by id, in the order of the registry.
fn mutants(scene: &Scene, command: &str) -> Vec<(String, Value)> {
    let seen = scene.run(&format!("{command} --report json=proof.json"));
    assert!([0, 1].contains(&seen.status), "{}", seen.text());
    let report: Value = serde_json::from_str(&fs::read_to_string(scene.folder.join("proof.json")).unwrap()).unwrap();
    let proof = &report["proof"];
    // No recording answers what is no message.
    let is_message = |left: &&Value| !left["id"].as_str().unwrap().contains("malformed envelope");
    let left_out: Vec<&Value> = proof["control"]["left_out"].as_array().unwrap().iter().filter(is_message).collect();
    assert!(left_out.is_empty(), "{command}: {left_out:?}");
    let mutants = proof["mutants"].as_array().unwrap().iter();
    mutants.map(|mutant| (mutant["id"].as_str().unwrap().to_owned(), mutant.clone())).collect()
}

fn suite(blocks: &[&(&str, &str)]) -> String {
    let (tests, rest): (Vec<&str>, Vec<&str>) =
        blocks.iter().map(|(_, text)| *text).partition(|text| text.starts_with("  -"));
    format!("suite: s\nserver: {{ builtin: demo }}\ntests:\n{}{}", tests.concat(), rest.concat())
}

#[test]
fn which_block_kills_which_mutant() {
    let scene = Scene::new("prove/matrix");
    let alone = BLOCKS.iter().map(|block| vec![&BLOCKS[0], block]);
    let suites: Vec<Vec<_>> = alone.chain([BLOCKS.iter().collect()]).collect();
    let mut cells: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut order = Vec::new();
    for (at, blocks) in suites.iter().enumerate() {
        // A block that stands twice stands once.
        let blocks = if at == 0 { &blocks[..1] } else { &blocks[..] };
        scene.write("suite.yml", &suite(blocks));
        for (id, mutant) in mutants(&scene, "prove suite.yml") {
            let kills = mutant["mutants"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|one| one["places"].as_array().into_iter().flatten());
            let by_scan = kills.filter_map(|place| place.get("kill")).all(|kill| kill["by"] == "scan");
            let by = if by_scan { "scan" } else { "killed" };
            let cell = match mutant["verdict"].as_str().unwrap() {
                "killed" => by,
                "survived" => "survived",
                "unreached" => "·",
                other => other,
            };
            if at == 0 {
                order.push(id.clone());
            }
            cells.entry(id).or_default().push(cell.to_owned());
        }
    }
    let mut table = format!("{:<30}", "mutant");
    for name in ["a list", "two values", "negative_path", "output_schema", "all"] {
        let _ = write!(table, " {name:<13}");
    }
    table = table.trim_end().to_owned() + "\n";
    for id in order {
        let row = cells[&id].iter().fold(format!("{id:<30}"), |row, cell| row + &format!(" {cell:<13}"));
        let _ = writeln!(table, "{}", row.trim_end());
    }
    snapshot("prove-matrix", &table);
}

/// The suites, from one that looks at little to one that looks at nearly everything.
const SUITES: [&str; 4] = ["thin", "generic", "written", "thorough"];

/// Suites that replay and faulty servers do not agree on, with the reason; nothing else may disagree.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "TOOL-RESULT-LOST",
        "thorough",
        "excepted: the server cuts only texts of more than 1000 letters, and the suite sends none",
    ),
    (
        "SCHEMA-WRONG-DECLARATION",
        "generic",
        "excepted: `negative_path` makes its calls from the declaration, and a proof keeps those that were recorded",
    ),
];

/// How a suite meets a fault at the tools that the faulty server spoils.
#[derive(Default)]
struct Replayed {
    killed: u64,
    planted: u64,
    /// The subjects at which the fault counts, and those of them at which it is proven.
    subjects: BTreeSet<String>,
    proven: BTreeSet<String>,
}

impl Replayed {
    fn verdict(&self) -> &'static str {
        match (self.planted, self.killed) {
            _ if !self.subjects.is_empty() && self.subjects == self.proven => "proven",
            (0, _) => "not planted",
            (_, 0) => "survived",
            _ => "partly",
        }
    }
}

/// Whether a suite turned red on a faulty server, as the tests `faulty::…` hold it: by variant, transport and suite.
fn red_live() -> BTreeMap<(String, String, &'static str), bool> {
    let text = fs::read_to_string(root().join("tests/faulty/verdicts.md")).unwrap();
    let mut red = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = line.trim_end_matches('|').split(" | ").map(str::trim).collect();
        if cells[0].starts_with(|c: char| c.is_ascii_uppercase()) {
            for (suite, cell) in SUITES.iter().zip(&cells[2..]) {
                red.insert((cells[0].to_owned(), cells[1].to_owned(), *suite), cell.starts_with("exit"));
            }
        }
    }
    red
}

/// The tools that a faulty server spoils: those that the sentence about it names; none where it spoils what it can.
fn spoilt(variant: &str) -> Vec<&'static str> {
    let server = mcprove::demo::faulty::all().find(|server| server.variant == variant).unwrap();
    let words = server.wrong.split('`').skip(1).step_by(2);
    words.filter(|word| word.contains('_') && !word.contains('.') || ["add", "echo"].contains(word)).collect()
}

/// The faults of a suite's proof at the tools that their faulty servers spoil, from a recording of the correct server.
fn replayed(suite: &str, transport: &str) -> BTreeMap<String, Replayed> {
    let scene = Scene::bare(&format!("prove/agreement-{transport}-{suite}"));
    let (over, place) = match transport {
        "stdio" => ("", ""),
        _ => (r#", --http, "127.0.0.1:{{ port }}""#, r#", url: "http://127.0.0.1:{{ port }}/mcp""#),
    };
    let text = fs::read_to_string(root().join(format!("tests/faulty/{suite}.yml"))).unwrap();
    let text = text.replace("START", "30s").replace("REQUEST", "30s").replace("PROTOCOL", "auto");
    let text = text.replace("WHERE", place).replace("SERVER", &format!("serve, demo{over}"));
    scene.write("suite.yml", &text);
    scene.write("../outside.txt", "a file outside of the server's folder");
    let seen = scene.run("prove suite.yml --report json=proof.json");
    assert!([0, 1].contains(&seen.status), "{}", seen.text());
    let report: Value = serde_json::from_str(&fs::read_to_string(scene.folder.join("proof.json")).unwrap()).unwrap();
    scene.assert_nothing_survives();
    let proof = &report["proof"];
    let left_out: Vec<&str> =
        proof["left_out"].as_array().unwrap().iter().map(|left| left["id"].as_str().unwrap()).collect();
    let known: BTreeSet<&str> = mcprove::demo::faulty::all().map(|server| server.variant).collect();
    let mut found: BTreeMap<String, Replayed> = BTreeMap::new();
    for fault in proof["table"].as_array().unwrap() {
        let (variant, name) = (fault["variant"].as_str().unwrap(), fault["subject"]["name"].as_str().unwrap_or(""));
        let verdict = fault["verdict"].as_str().unwrap();
        if !known.contains(variant) || left_out.contains(&variant) {
            continue;
        }
        let spoilt = spoilt(variant);
        // Mutants that meet nothing at any tool belong to the session.
        let is_spoilt = spoilt.is_empty() || spoilt.contains(&name) || name.is_empty();
        if !is_spoilt || ["redundant", "cannot-occur", "live-only"].contains(&verdict) {
            continue;
        }
        let one = found.entry(variant.to_owned()).or_default();
        one.killed += fault["killed"].as_u64().unwrap();
        one.planted += fault["planted"].as_u64().unwrap();
        one.subjects.insert(name.to_owned());
        // Several servers of a suite are the same faulty one.
        if verdict == "killed" {
            one.proven.insert(name.to_owned());
        }
    }
    found
}

fn check_agreement(transport: &str) {
    let live = red_live();
    let mut table = format!("{:<30} {:<9} {:<6} {:<12} agreement\n", "variant", "suite", "live", "in replay");
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<(&str, bool), usize>::new());
    for suite in SUITES {
        for (variant, replayed) in replayed(suite, transport) {
            let Some(is_red) = live.get(&(variant.clone(), transport.to_owned(), suite)) else { continue };
            let verdict = replayed.verdict();
            *counts.entry((verdict, *is_red)).or_default() += 1;
            let reason = EXCEPTIONS.iter().find(|(id, of, _)| *id == variant && *of == suite).map(|(.., why)| *why);
            let agreement = match (verdict, is_red, reason) {
                ("proven", false, Some(reason)) | ("survived", true, Some(reason)) => reason,
                ("proven", false, None) | ("survived", true, None) => {
                    wrong.push(format!("{variant} {suite}: {verdict}"));
                    "disagrees"
                }
                ("proven", true, _) | ("survived", false, _) => "agrees",
                _ => "-",
            };
            let is_red = if *is_red { "red" } else { "green" };
            let _ = writeln!(table, "{variant:<30} {suite:<9} {is_red:<6} {verdict:<12} {agreement}");
        }
    }
    for ((verdict, is_red), count) in &counts {
        let _ = writeln!(table, "{count} {verdict} and {}", if *is_red { "red" } else { "green" });
    }
    snapshot(&format!("prove-agreement-{transport}"), &table);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The faults that tasks can have, each with the mutant that imitates it there.
const TASK_FAULTS: [(&str, &str); 3] = [
    ("TOOL-WRONG-RESULT", "task-result-wrong"),
    ("TOOL-ERROR-AS-SUCCESS", "task-failure-not-flagged"),
    ("TIMEOUT-CANCEL-IGNORED", "cancelled-task-completes"),
];

/// Tests of tasks: what becomes of a result, of a failure, and of a cancelled task.
fn task_suite(server: &str, revision: &str, expected: [&str; 3]) -> String {
    let [result, failure, cancelled] = expected;
    format!(
        r#"suite: tasks
server: {{ command: ["{{{{ env.MCPROVE }}}}", serve, {server}, --tasks], protocol: {revision} }}
tests:
  - {{ name: a result, call: rehearse, args: {{ delay_ms: 20, steps: 3 }}, task: true, expect: {result} }}
  - {{ name: a failure, call: rehearse, args: {{ ending: error }}, task: true, expect: {failure} }}
  - {{ name: cancelled, call: rehearse, args: {{ delay_ms: 500 }}, task: {{ cancel: true }}, expect: {cancelled} }}
"#
    )
}

/// Suites that only wait for the end of tasks notice nothing, neither in a replay nor on a faulty server.
#[test]
fn proofs_agree_with_servers_whose_tasks_are_faulty() {
    let steps = "[{ at: result.structuredContent, equals: { steps: 3 } }, { at: 'result.content[0].text', equals: '{\"steps\":3}' }]";
    let failure =
        "[{ is_error: true }, { at: 'result.content[0].text', equals: 'the job failed, as `ending` has it' }]";
    let suites = [
        ("ends", ["[{ is_error: false }]", "[]", "[]"]),
        ("results", [steps, failure, "[{ at: result.status, equals: cancelled }]"]),
    ];
    let scene = Scene::new("prove/tasks");
    let mut table =
        format!("{:<10} {:<8} {:<24} {:<26} {:<9} live\n", "revision", "looks at", "fault", "mutant", "in replay");
    let mut wrong = Vec::new();
    for (revision, (name, expected)) in
        ["2025-11-25", "2026-07-28"].into_iter().flat_map(|one| suites.map(|suite| (one, suite)))
    {
        scene.write("suite.yml", &task_suite("demo", revision, expected));
        let mutants: BTreeMap<String, Value> = mutants(&scene, "prove suite.yml").into_iter().collect();
        for (fault, id) in TASK_FAULTS {
            scene.write("faulty.yml", &task_suite(&format!("faulty, --fault, {fault}"), revision, expected));
            let is_red = scene.run("run faulty.yml").status == 1;
            let verdict = mutants[id]["verdict"].as_str().unwrap();
            let live = if is_red { "red" } else { "green" };
            let _ = writeln!(table, "{revision} {name:<8} {fault:<24} {id:<26} {verdict:<9} {live}");
            if !matches!((verdict, is_red), ("killed", true) | ("survived", false)) {
                wrong.push(format!("{id} {revision} {name}: {verdict}, {live}"));
            }
        }
    }
    snapshot("prove-tasks", &table);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn proofs_agree_with_faulty_servers_over_stdio() {
    check_agreement("stdio");
}

#[test]
fn proofs_agree_with_faulty_servers_over_http() {
    check_agreement("http");
}
