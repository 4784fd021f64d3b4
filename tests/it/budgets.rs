//! What common commands cost, in instructions: figures that do not depend on what else the machine does.
//!
//! `benches/instructions.json` holds what the profile `dev` needed when somebody last looked; a tenth more is a finding.
//! `UPDATE=1 cargo test --test it budgets` takes over what is needed now; look at why first.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::harness::{Scene, is_update, path, root};

/// The figures that are kept.
const FILE: &str = "benches/instructions.json";

/// The profile that they are of; any other compiles to another number of instructions.
const PROFILE: &str = "dev";

/// Where what is built in it lies.
const FOLDER: &str = "/debug/";

const CASES: usize = 100;

#[test]
fn common_commands_cost_what_they_did() {
    if !has_valgrind() || !env!("CARGO_BIN_EXE_mcprove").contains(FOLDER) {
        return;
    }
    let scene = Scene::bare("budgets");
    scene.write("suite.yml", &suite());
    // Lines are of no use here, and valgrind would read all of them each time.
    let stripped = scene.line("sh -c 'exec strip --strip-debug -o counted \"$MCPROVE\"'");
    assert_eq!(stripped.status, 0, "{}", stripped.text());
    let commands = [
        ("--version", "--version"),
        ("check of 100 tests", "check suite.yml"),
        ("fault-coverage of 100 tests", "fault-coverage suite.yml"),
        ("run of 100 cases", "run suite.yml"),
    ];
    let mut kept: BTreeMap<String, BTreeMap<String, u64>> =
        serde_json::from_str(&fs::read_to_string(root().join(FILE)).unwrap()).unwrap();
    let seen: BTreeMap<String, u64> =
        commands.iter().map(|(name, command)| ((*name).to_owned(), instructions(&scene, command))).collect();
    let known = kept.insert(PROFILE.to_owned(), seen.clone()).unwrap_or_default();
    if is_update() {
        fs::write(root().join(FILE), serde_json::to_string_pretty(&kept).unwrap() + "\n").unwrap();
        return;
    }
    let mut over = String::new();
    for (name, count) in seen {
        let budget = known.get(&name).copied().unwrap_or(0);
        if count > budget + budget / 10 {
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
fn suite() -> String {
    let mut text = "suite: budgets\nserver: { command: [\"{{ env.MCPROVE }}\", serve, demo], protocol: 2025-11-25 }\n\
                    run_options: { parallel: 16 }\ntests:\n"
        .to_owned();
    for number in 0..CASES {
        let expect = "expect:\n      - is_error: false\n      - text: { contains: hi }";
        let _ = writeln!(text, "  - name: case {number}\n    call: echo\n    args: {{ message: hi }}\n    {expect}");
    }
    text
}

fn has_valgrind() -> bool {
    std::env::split_paths(&path()).any(|folder| folder.join("valgrind").is_file())
}
