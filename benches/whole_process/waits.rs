//! What users wait for: `MCPROVE_ONLY=waits`.
//!
//! `ci` of published servers and of servers that are bad in one way each, three times, or once if that takes long; the table
//! has the time of the whole run, the starts of the server and the time that they took, and the time that cases took, by
//! phase. Cases run several at a time, so the times of phases add up to more than the run. `MCPROVE_SERVERS` names a file
//! such as `mcp.json` with more servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::program;

const RUNS: usize = 3;

/// A run that takes longer is made once, in seconds.
const LONG: f64 = 20.0;

/// The phases, each with the probe that tells its cases.
const PHASES: [(&str, &str); 6] = [
    ("compliance", "compliance"),
    ("fuzz", "fuzz"),
    ("negative path", "negative-path"),
    ("security", "security"),
    ("isolation", "test-isolation"),
    ("others", ""),
];

/// A server in Python that is bad in the way that its argument names.
const BAD_SERVER: &str = include_str!("bad_server.py");

/// The ways in which it is bad.
const BAD: [(&str, &str); 5] = [
    ("refuses every call", "refuses"),
    ("ends at every call", "ends"),
    ("answers no call", "hangs"),
    ("leaves unknown requests unanswered", "mute"),
    ("needs 5 s to start", "slow-start"),
];

/// One run.
struct Waits {
    /// In seconds.
    wall: f64,
    starts: u64,
    /// The time of starts, in seconds.
    starting: f64,
    phases: BTreeMap<&'static str, f64>,
}

pub(crate) fn measure(scratch: &Path) {
    let head: Vec<&str> = PHASES.iter().map(|(name, _)| *name).collect();
    println!("| server | `ci` | starts | starting | {} |", head.join(" | "));
    println!("| --- | --- | --- | --- |{}", " --- |".repeat(PHASES.len()));
    for (name, command) in servers(scratch) {
        let mut runs = vec![run(&command, scratch)];
        while runs.len() < RUNS && runs[0].wall < LONG {
            runs.push(run(&command, scratch));
        }
        runs.sort_by(|one, other| one.wall.total_cmp(&other.wall));
        let Waits { wall, starts, starting, phases } = &runs[runs.len() / 2];
        let by_phase: Vec<String> = head.iter().map(|phase| format!("{:.1} s", phases[*phase])).collect();
        println!("| {name} | {wall:.1} s | {starts} | {starting:.1} s | {} |", by_phase.join(" | "));
    }
}

/// The servers that are installed, and the bad ones.
fn servers(scratch: &Path) -> Vec<(String, Vec<String>)> {
    let real = fs::canonicalize("tests/real").unwrap();
    let (files, repository) = (scratch.join("files"), scratch.join("repository"));
    fs::create_dir_all(&files).unwrap();
    fs::write(files.join("a.txt"), "hello\n").unwrap();
    Command::new("git").args(["init", "--quiet"]).arg(&repository).status().unwrap();
    let node = |name: &str| real.join("node_modules/.bin").join(name).display().to_string();
    let python = real.join("venv/bin/python").display().to_string();
    let text = |path: &PathBuf| path.display().to_string();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let module = |name: &str, more: &[&str]| words(&[&[&python, "-m", name], more].concat());
    let mut all = vec![
        ("server-everything", words(&["node", &node("mcp-server-everything"), "stdio"])),
        ("server-memory", words(&["node", &node("mcp-server-memory")])),
        ("server-filesystem", words(&["node", &node("mcp-server-filesystem"), &text(&files)])),
        ("server-git", module("mcp_server_git", &["--repository", &text(&repository)])),
        ("server-time", module("mcp_server_time", &[])),
        ("Python SDK 2", words(&[&python, &text(&real.join("servers/sdk2_server.py"))])),
    ];
    let bad = scratch.join("bad_server.py");
    fs::write(&bad, BAD_SERVER).unwrap();
    all.extend(BAD.map(|(name, way)| (name, words(&["python3", &text(&bad), way]))));
    all.retain(|(_, command)| command[1] == "-m" || Path::new(&command[1]).exists());
    all.into_iter().map(|(name, command)| (name.to_owned(), command)).chain(more_servers()).collect()
}

/// Those of the file that the environment names.
#[expect(clippy::disallowed_methods, reason = "a benchmark has no other way to be told")]
fn more_servers() -> Vec<(String, Vec<String>)> {
    let Some(file) = std::env::var_os("MCPROVE_SERVERS") else { return Vec::new() };
    let file: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let servers = file["mcpServers"].as_object().unwrap();
    let text = |word: &Value| word.as_str().unwrap().to_owned();
    let command = |server: &Value| {
        let arguments = server["args"].as_array().into_iter().flatten();
        std::iter::once(&server["command"]).chain(arguments).map(text).collect()
    };
    servers.iter().map(|(name, server)| (name.clone(), command(server))).collect()
}

/// Runs `ci` of a server; its cases may fail.
fn run(server: &[String], scratch: &Path) -> Waits {
    let report = scratch.join("waits.ndjson");
    let _ = fs::remove_file(&report);
    let mut command = Command::new(program());
    command.args(["ci", "--no-findings", "--state-dir"]).arg(scratch.join("waits-state"));
    command.arg("--report").arg(format!("ndjson={}", report.display())).arg("--").args(server);
    let begun = Instant::now();
    command.current_dir(scratch).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let wall = begun.elapsed().as_secs_f64();
    let events: Vec<Value> =
        fs::read_to_string(&report).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut phases: BTreeMap<&str, f64> = PHASES.iter().map(|(name, _)| (*name, 0.0)).collect();
    for case in events.iter().map(|event| &event["case-finished"]).filter(|case| !case.is_null()) {
        let probes = case["case"]["probes"].as_array().unwrap();
        let has = |probe: &str| probe.is_empty() || probes.iter().any(|known| known == probe);
        let (name, _) = PHASES.iter().find(|(_, probe)| has(probe)).unwrap();
        *phases.get_mut(name).unwrap() += case["duration_us"].as_f64().unwrap() / 1e6;
    }
    let finished = events.iter().map(|event| &event["run-finished"]).find(|finished| !finished.is_null()).unwrap();
    let starts = &finished["starts"];
    let starting = starts["waited_us"].as_f64().unwrap() / 1e6;
    Waits { wall, starts: starts["processes"].as_u64().unwrap(), starting, phases }
}
