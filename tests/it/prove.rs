//! What is proven of suites: which block kills which mutant, and whether servers that are really faulty agree.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
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
            let by = if mutant["kills"][0]["by"] == "scan" { "scan" } else { "killed" };
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

/// What the tests `faulty::…` hold true of the faulty servers: the variants that a suite turned red on, by transport.
fn red_live() -> BTreeMap<(String, String), bool> {
    let mut red = BTreeMap::new();
    let text = fs::read_to_string(root().join("tests/faulty/verdicts.md")).unwrap();
    for line in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        if cells[0].starts_with(|c: char| c.is_ascii_uppercase()) {
            red.insert((cells[0].to_owned(), cells[1].to_owned()), line.contains(" exit "));
        }
    }
    red
}

/// The verdicts on the mutants of each variant that two suites come to from recordings of the correct server.
fn replayed(transport: &str) -> BTreeMap<String, Vec<String>> {
    let mut verdicts: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let scene = Scene::bare(&format!("prove/agreement-{transport}"));
    let (over, place) = match transport {
        "stdio" => ("", ""),
        _ => (r#", --http, "127.0.0.1:{{ port }}""#, r#", url: "http://127.0.0.1:{{ port }}/mcp""#),
    };
    for suite in ["generic", "written"] {
        let text = fs::read_to_string(root().join(format!("tests/faulty/{suite}.yml"))).unwrap();
        let text = text.replace("START", "30s").replace("REQUEST", "30s").replace("PROTOCOL", "auto");
        let text = text.replace("WHERE", place).replace("SERVER", &format!("serve, demo{over}"));
        scene.write("suite.yml", &text);
        scene.write("../outside.txt", "a file outside of the server's folder");
        for (id, mutant) in mutants(&scene, "prove suite.yml") {
            let verdict = mutant["verdict"].as_str().unwrap().to_owned();
            let known = verdicts.entry(mutant["variant"].as_str().unwrap().to_owned()).or_default();
            let best = known.entry(id).or_insert_with(|| verdict.clone());
            if verdict == "killed" || best == "unreached" {
                *best = verdict;
            }
        }
    }
    scene.assert_nothing_survives();
    verdicts.into_iter().map(|(variant, verdicts)| (variant, verdicts.into_values().collect())).collect()
}

#[test]
fn imitations_and_faulty_servers_agree() {
    let live = red_live();
    let mut table = format!("{:<30} {:<6} {:<11} {:<28} verdict\n", "variant", "over", "live", "its mutants in replay");
    for transport in ["stdio", "http"] {
        let replay = replayed(transport);
        for ((variant, _), is_red) in live.iter().filter(|((_, over), _)| over == transport) {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for verdict in replay.get(variant).into_iter().flatten() {
                *counts.entry(verdict).or_default() += 1;
            }
            let told: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
            let is_killed = counts.contains_key("killed");
            let verdict = match (is_red, is_killed, counts.is_empty()) {
                (_, _, true) => "not planted",
                (true, true, _) | (false, false, _) => "agree",
                (true, false, _) => "only live",
                (false, true, _) => "only in replay",
            };
            let told = if told.is_empty() { "-".to_owned() } else { told.join(", ") };
            let is_red = if *is_red { "red" } else { "green" };
            let _ = writeln!(table, "{variant:<30} {transport:<6} {is_red:<11} {told:<28} {verdict}");
        }
    }
    snapshot("prove-agreement", &table);
}
