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

/// The faults that tasks can have, each with the mutant that imitates it there, and the suites that are held against both.
const TASK_FAULTS: [(&str, &str, [&str; 2]); 7] = [
    ("TOOL-WRONG-RESULT", "task-result-wrong", ["ends", "results"]),
    ("TOOL-ERROR-AS-SUCCESS", "task-failure-not-flagged", ["ends", "results"]),
    ("TIMEOUT-CANCEL-IGNORED", "cancelled-task-completes", ["ends", "results"]),
    ("TIMEOUT-SLOW", "task-interval-long", ["ends", "results"]),
    ("TOOL-RESULT-LOST", "task-forgotten", ["ends", "again"]),
    ("TOOL-WRONG-RESULT", "task-result-unsteady", ["ends", "again"]),
    ("STATE-STALE-READ", "task-reopened", ["ends", "again"]),
];

/// Tests of tasks: what becomes of a result, of a failure, and of a cancelled task, and how soon a client is to ask.
struct TaskSuite {
    name: &'static str,
    task: &'static str,
    result: &'static str,
    failure: &'static str,
    cancelled: &'static str,
    interval: &'static str,
}

const TASK_SUITES: [TaskSuite; 3] = [
    TaskSuite {
        name: "ends",
        task: "true",
        result: "[{ is_error: false }]",
        failure: "[]",
        cancelled: "[]",
        interval: "type: integer",
    },
    TaskSuite {
        name: "results",
        task: "true",
        result: r#"[{ at: result.structuredContent, equals: { steps: 3 } }, { at: 'result.content[0].text', equals: '{"steps":3}' }]"#,
        failure: "[{ is_error: true }, { at: 'result.content[0].text', equals: 'the job failed, as `ending` has it' }]",
        cancelled: "[{ at: result.status, equals: cancelled }]",
        interval: "at_most: 1000",
    },
    TaskSuite {
        name: "again",
        task: "{ again: true }",
        result: "[{ is_error: false }]",
        failure: "[]",
        cancelled: "[]",
        interval: "type: integer",
    },
];

impl TaskSuite {
    fn on(&self, server: &str, revision: &str) -> String {
        let Self { name: _, task, result, failure, cancelled, interval } = self;
        let (asking, place) = match revision {
            "2025-11-25" => ("task: {}", "result.task.pollInterval"),
            _ => (
                "_meta: { io.modelcontextprotocol/clientCapabilities: { extensions: { io.modelcontextprotocol/tasks: {} } } }",
                "result.pollIntervalMs",
            ),
        };
        format!(
            r#"suite: tasks
server: {{ command: ["{{{{ env.MCPROVE }}}}", serve, {server}, --tasks], protocol: {revision} }}
tests:
  - {{ name: a result, call: rehearse, args: {{ delay_ms: 20, steps: 3 }}, task: {task}, expect: {result} }}
  - {{ name: a failure, call: rehearse, args: {{ ending: error }}, task: true, expect: {failure} }}
  - {{ name: cancelled, call: rehearse, args: {{ delay_ms: 500 }}, task: {{ cancel: true }}, expect: {cancelled} }}
  - name: the interval
    request: tools/call
    params: {{ name: rehearse, arguments: {{ delay_ms: 1, steps: 1 }}, {asking} }}
    expect: [{{ at: {place}, {interval} }}]
"#
        )
    }
}

/// Suites notice what they look at, and nothing else, in a replay and on a faulty server.
#[test]
fn proofs_agree_with_servers_whose_tasks_are_faulty() {
    let scene = Scene::new("prove/tasks");
    let mut table =
        format!("{:<10} {:<8} {:<24} {:<26} {:<9} live\n", "revision", "looks at", "fault", "mutant", "in replay");
    let mut wrong = Vec::new();
    for (revision, suite) in
        ["2025-11-25", "2026-07-28"].into_iter().flat_map(|one| TASK_SUITES.iter().map(move |suite| (one, suite)))
    {
        let name = suite.name;
        scene.write("suite.yml", &suite.on("demo", revision));
        let mutants: BTreeMap<String, Value> = mutants(&scene, "prove suite.yml").into_iter().collect();
        let mut live = BTreeMap::new();
        for (fault, id, _) in TASK_FAULTS.iter().filter(|(_, _, suites)| suites.contains(&name)) {
            let is_red = *live.entry(*fault).or_insert_with(|| {
                scene.write("faulty.yml", &suite.on(&format!("faulty, --fault, {fault}"), revision));
                scene.run("run faulty.yml").status == 1
            });
            let verdict = mutants[*id]["verdict"].as_str().unwrap();
            let live = if is_red { "red" } else { "green" };
            let _ = writeln!(table, "{revision} {name:<8} {fault:<24} {id:<26} {verdict:<9} {live}");
            if !matches!((verdict, is_red), ("killed", true) | ("survived" | "unreached" | "not-called", false)) {
                wrong.push(format!("{id} {revision} {name}: {verdict}, {live}"));
            }
        }
    }
    snapshot("prove-tasks", &table);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// It takes two users at a time: with one, nothing asks for the task of another one.
#[test]
fn proofs_agree_with_a_server_that_shows_tasks_to_everybody() {
    let scene = Scene::new("prove/foreign-tasks");
    let suite = |server: &str, isolation: &str| {
        format!(
            r#"suite: users with tasks
server:
  command: ["{{{{ env.MCPROVE }}}}", serve, {server}, --tasks, --require-token, --http, "127.0.0.1:{{{{ port }}}}"]
  url: http://127.0.0.1:{{{{ port }}}}/mcp
  env: {{ MCPROVE_DEMO_TOKEN: "{{{{ ann }}}}", MCPROVE_DEMO_SECOND_TOKEN: "{{{{ bob }}}}" }}
  scratch: true
  users:
    ann: {{ auth: {{ bearer: "{{{{ ann }}}}" }} }}
    bob: {{ auth: {{ bearer: "{{{{ bob }}}}" }} }}
  protocol: [2025-11-25, 2026-07-28]
variables: {{ ann: token-of-ann-7731, bob: token-of-bob-9942 }}
state: {{ isolation: [{isolation}] }}
"#
        )
    };
    for (isolation, is_noticed) in [("users", true), ("runs", false)] {
        scene.write("suite.yml", &suite("demo", isolation));
        let seen = scene.run("prove suite.yml --live --mutant foreign-task --report json=proof.json");
        let report = fs::read_to_string(scene.folder.join("proof.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let is_killed = report["proof"]["mutants"][0]["verdict"] == "killed";
        assert_eq!(is_killed, is_noticed, "{isolation}: {}", seen.text());
        scene.assert_nothing_survives();
    }
    scene.write("faulty.yml", &suite("faulty, --fault, STATE-CROSS-SESSION-LEAK", "users"));
    let seen = scene.run("run faulty.yml --filter 'name(foreign tasks)'");
    assert_eq!(seen.status, 1, "{}", seen.text());
}

/// Tests that look at nothing of their tasks, but ask for them again.
fn careless_task_suite(revision: &str) -> String {
    let (asking, id) = match revision {
        "2025-11-25" => ("task: {}", "result.task.taskId"),
        _ => (
            "_meta: &meta { io.modelcontextprotocol/clientCapabilities: { extensions: { io.modelcontextprotocol/tasks: {} } } }",
            "result.taskId",
        ),
    };
    let (meta, fetched) = match revision {
        "2025-11-25" => ("", "- { request: tasks/result, params: { taskId: '{{ task }}' }, expect: [] }"),
        _ => (", _meta: *meta", ""),
    };
    format!(
        r#"suite: tasks
server: {{ command: ["{{{{ env.MCPROVE }}}}", serve, demo, --tasks], protocol: {revision} }}
tests:
  - {{ name: a result, call: rehearse, args: {{ delay_ms: 20, steps: 3 }}, task: true, expect: [] }}
  - {{ name: a failure, call: rehearse, args: {{ ending: error }}, task: true, expect: [] }}
  - {{ name: cancelled, call: rehearse, args: {{ delay_ms: 500 }}, task: {{ cancel: true }}, expect: [] }}
  - name: asked for again
    steps:
      - request: tools/call
        params: {{ name: rehearse, arguments: {{ steps: 2 }}, {asking} }}
        expect: []
        capture: {{ task: {id} }}
      - wait: 300ms
      - &ask {{ request: tasks/get, params: {{ taskId: "{{{{ task }}}}"{meta} }}, expect: [] }}
      {fetched}
      - *ask
      {fetched}
"#
    )
}

/// Mutants of tasks that no time decides.
const TIMELESS: [&str; 8] = [
    "task-lost",
    "task-failure-not-flagged",
    "task-result-lost",
    "task-result-wrong",
    "cancelled-task-completes",
    "task-forgotten",
    "task-result-unsteady",
    "task-reopened",
];

#[test]
fn survivors_of_tasks_are_killed_by_their_suggested_tests() {
    let scene = Scene::new("prove/task-suggestions");
    let mut table = format!("{:<10} {:<26} {:<9} with the suggestions\n", "revision", "mutant", "before");
    let mut wrong = Vec::new();
    let picks = TIMELESS.map(|id| format!("--mutant {id}")).join(" ");
    for revision in ["2025-11-25", "2026-07-28"] {
        scene.write("suite.yml", &careless_task_suite(revision));
        let before = mutants(&scene, &format!("prove suite.yml {picks} --write-missing missing.yml"));
        let after: BTreeMap<String, Value> =
            mutants(&scene, &format!("prove missing.yml {picks}")).into_iter().collect();
        for (id, mutant) in &before {
            let [was, is] = [mutant, &after[id]].map(|mutant| mutant["verdict"].as_str().unwrap());
            let _ = writeln!(table, "{revision} {id:<26} {was:<9} {is}");
            if is != "killed" {
                wrong.push(format!("{id} {revision}: {is}"));
            }
        }
    }
    snapshot("prove-task-suggestions", &table);
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
