//! What common commands cost, in instructions: figures that do not depend on what else the machine does.
//!
//! `benches/instructions.json` holds what each profile needed when somebody last looked; a tenth more is a finding.
//! `UPDATE=1 cargo test --test it budgets` takes over what is needed now; look at why first.
//! Twenty times as many cases may cost twenty times as much: a square would be over the budget, whatever it is.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::harness::{Scene, is_update, path, root};

/// The figures that are kept.
const FILE: &str = "benches/instructions.json";

/// The profiles that they are of, and where what is built in each lies; any other compiles to another number of instructions.
const PROFILES: [(&str, &str); 2] = [("dev", "/debug/"), ("checked", "/checked/")];

/// The numbers of cases; valgrind takes its time.
const FEW: usize = 100;
const MANY: usize = 2_000;

#[test]
fn common_commands_cost_what_they_did() {
    let program = env!("CARGO_BIN_EXE_mcprove");
    let Some((profile, _)) = PROFILES.iter().find(|(_, folder)| program.contains(folder)) else { return };
    if !has_valgrind() {
        return;
    }
    let scene = Scene::bare("budgets");
    scene.write("suite.yml", &suite(FEW));
    scene.write("many.yml", &suite(MANY));
    // Lines are of no use here, and valgrind would read all of them each time.
    let stripped = scene.line("sh -c 'exec strip --strip-debug -o counted \"$MCPROVE\"'");
    assert_eq!(stripped.status, 0, "{}", stripped.text());
    let commands = [
        ("--version", "--version"),
        ("check of 100 tests", "check suite.yml"),
        ("fault-coverage of 100 tests", "fault-coverage suite.yml"),
        ("run of 100 cases", "run suite.yml"),
        ("check of 2,000 tests", "check many.yml"),
        ("run of 2,000 cases", "run many.yml"),
    ];
    let mut kept: BTreeMap<String, BTreeMap<String, u64>> =
        serde_json::from_str(&fs::read_to_string(root().join(FILE)).unwrap()).unwrap();
    let seen: BTreeMap<String, u64> =
        commands.iter().map(|(name, command)| ((*name).to_owned(), instructions(&scene, command))).collect();
    let known = kept.insert((*profile).to_owned(), seen.clone()).unwrap_or_default();
    if is_update() {
        fs::write(root().join(FILE), serde_json::to_string_pretty(&kept).unwrap() + "\n").unwrap();
        return;
    }
    let mut over = String::new();
    for command in ["check", "run"] {
        let of = |noun: &str, count: &str| seen[&format!("{command} of {count} {noun}")];
        let noun = if command == "check" { "tests" } else { "cases" };
        let (few, many) = (of(noun, "100"), of(noun, "2,000"));
        if many > few * 20 {
            let _ = writeln!(
                over,
                "{command}: {many} instructions for 2,000, {few} for 100, which is more than in proportion"
            );
        }
    }
    for (name, count) in &seen {
        let budget = known.get(name).copied().unwrap_or(0);
        if *count > budget + budget / 10 {
            let _ = writeln!(over, "{name}: {count} instructions, {budget} when {FILE} was written");
        }
    }
    assert!(over.is_empty(), "more than a tenth over the budget:\n{over}");
}

/// How many instructions a command needs; what it starts is not counted.
fn instructions(scene: &Scene, command: &str) -> u64 {
    let valgrind = "valgrind --tool=callgrind --callgrind-out-file=/dev/null ./counted";
    let seen = scene.line(&format!("sh -c {}", shell_words::quote(&format!("exec {valgrind} {command}"))));
    assert_eq!(seen.status, 0, "{}", seen.text());
    let count = seen.stderr.lines().find_map(|line| line.split_once("Collected : ")).unwrap().1;
    count.trim().parse().unwrap()
}

/// Calls of the demo server in a process of its own.
fn suite(cases: usize) -> String {
    let mut text = "suite: budgets\nserver: { command: [\"{{ env.MCPROVE }}\", serve, demo], protocol: 2025-11-25 }\n\
                    run_options: { parallel: 16 }\ntests:\n"
        .to_owned();
    for number in 0..cases {
        let expect = "expect:\n      - is_error: false\n      - text: { contains: hi }";
        let _ = writeln!(text, "  - name: case {number}\n    call: echo\n    args: {{ message: hi }}\n    {expect}");
    }
    text
}

fn has_valgrind() -> bool {
    std::env::split_paths(&path()).any(|folder| folder.join("valgrind").is_file())
}
