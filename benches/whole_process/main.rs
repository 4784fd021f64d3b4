//! What whole runs cost, as ratios to the least that any runner needs: `cargo bench --bench whole_process`.
//!
//! The floor is a bare pipelined client and a fast echo server in a folder of their own, named by `MCPROVE_FLOOR`
//! (by default `../shared/bench`); runner and floor are started in turn, and medians are printed.
//! Over HTTP the floor is `http_floor`, and program and floor speak to one server that runs all the time.
//! `MCPROVE_PROGRAM` names a program that is built already, such as the one that is shipped, to measure in the place of
//! the one that cargo builds.
//! `MCPROVE_ONLY=http` measures that alone, `MCPROVE_ONLY=fuzz` generated calls alone, `MCPROVE_ONLY=counts` counts
//! instructions alone, `MCPROVE_ONLY=growth` how costs grow with the number of cases, `MCPROVE_ONLY=waits` what users wait for; instructions are printed beside the change against `benches/instructions.json`.
//! Nothing here passes or fails: `docs/performance.md` quotes what it prints.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark may stop at the first surprise, prints, and rounds"
)]

mod growth;
mod http_floor;
mod instructions;
mod waits;

use std::fmt::Write;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 15;
const CASES: usize = 500;
const WINDOW: usize = 16;

/// What one run of a process took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    peak_kib: u64,
}

fn main() {
    // `cargo test --benches` asks for a quick look only.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == "--floor") {
        return http_floor::run(&arguments[2..]);
    }
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("whole_process");
    fs::create_dir_all(&scratch).unwrap();
    if only().as_deref() == Some("waits") {
        return waits::measure(&scratch);
    }
    print_sizes();
    println!("median of {RUNS} runs each; runner and floor in turn");
    let only = only();
    if only.is_none() || only.as_deref() == Some("http") {
        over_http(&scratch);
    }
    match only.as_deref() {
        Some("counts") => return floor().iter().for_each(|floor| counting(floor, &scratch)),
        Some("growth") => return floor().iter().for_each(|floor| growth::grow(floor, &scratch)),
        Some("fuzz") => return floor().iter().for_each(|floor| fuzzing(floor, &scratch)),
        Some("http") => return,
        _ => {}
    }
    alone("--version", &["--version"], &scratch);
    let every = scratch.join("every.yml");
    fs::write(&every, suite("[node, unused]", CASES)).unwrap();
    alone("fault-coverage, 500 tests", &["fault-coverage", &text(&every)], &scratch);
    alone("check, 500 tests", &["check", &text(&every)], &scratch);
    let large = scratch.join("large.yml");
    fs::write(&large, suite("[node, unused]", 33_000)).unwrap();
    println!("large.yml has {:.1} MB", fs::metadata(&large).unwrap().len() as f64 / 1e6);
    alone("check of a 5 MB suite", &["check", &text(&large)], &scratch);
    proving(&scratch);
    let Some(floor) = floor() else {
        println!("no floor to compare with: set MCPROVE_FLOOR to its folder");
        return;
    };
    counting(&floor, &scratch);
    fuzzing(&floor, &scratch);
    let echo = text(&floor.join("target/release/echo_server"));
    against_floor("500 cases, echo server", &floor, &[&echo], &scratch);
    let everything = Path::new("tests/real/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    match fs::canonicalize(everything) {
        Ok(path) => against_floor("500 cases, server-everything", &floor, &["node", &text(&path), "stdio"], &scratch),
        Err(_) => println!("server-everything is not installed: run tests/real/install"),
    }
}

/// Prints the size of the program in the profiles that users get, where it is built.
fn print_sizes() {
    let profiles = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    for profile in ["dist", "release"] {
        let program = profiles.join(profile).join("mcprove").with_extension(std::env::consts::EXE_EXTENSION);
        match fs::metadata(program) {
            Ok(program) => println!("program of the profile {profile}: {:.1} MB", program.len() as f64 / 1e6),
            Err(_) => println!("program of the profile {profile}: not built"),
        }
    }
}

/// What common commands cost in instructions.
fn counting(floor: &Path, scratch: &Path) {
    let echo = text(&floor.join("target/release/echo_server"));
    fs::write(scratch.join("every.yml"), suite("[node, unused]", CASES)).unwrap();
    fs::write(scratch.join("floor.yml"), suite(&format!("[{echo:?}]"), CASES)).unwrap();
    record(scratch);
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let fuzz = format!("fuzz --seed 7 --tool echo --invalid 0 --in-flight 8 --cases 10000 -- {echo}");
    let commands = [
        ("--version", words("--version")),
        ("check, 500 tests", words("check every.yml")),
        ("fault-coverage, 500 tests", words("fault-coverage every.yml")),
        ("500 cases, echo server", words("run floor.yml")),
        ("10,000 generated calls, echo", words(&fuzz)),
        ("prove, 500 tests, some mutants", words("prove --recording proven.recording --mutant TOOL --mutant SCHEMA")),
    ];
    instructions::count(&commands, scratch);
}

/// The demo server and server-everything, each running while it is measured.
fn over_http(scratch: &Path) {
    let demo = |port: u16| {
        let mut command = Command::new(program());
        command.args(["serve", "demo", "--http", &format!("127.0.0.1:{port}")]);
        command
    };
    over_http_to("500 cases, demo over HTTP", demo, ["add", r#"{"a":1,"b":2}"#], scratch);
    let everything = Path::new("tests/real/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let Ok(path) = fs::canonicalize(everything) else { return };
    let everything = |port: u16| {
        let mut command = Command::new("node");
        command.arg(&path).arg("streamableHttp").env("PORT", port.to_string());
        command
    };
    over_http_to("500 cases, everything over HTTP", everything, ["echo", r#"{"message":"hi"}"#], scratch);
}

#[expect(clippy::disallowed_methods, reason = "a benchmark waits for its server, and finds itself")]
fn over_http_to(title: &str, server: impl Fn(u16) -> Command, [tool, arguments]: [&str; 2], scratch: &Path) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut child = server(port).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while TcpStream::connect(&address).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let path = scratch.join("http.yml");
    let call = format!("call: {tool}\n    args: {arguments}\n    expect:\n      - is_error: false\n");
    fs::write(&path, suite_of(&format!("{{ url: \"http://{address}/mcp\", protocol: 2025-11-25 }}"), CASES, &call))
        .unwrap();
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        ours.push(mcprove(&["run", &text(&path)], scratch));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--floor", &address, &CASES.to_string(), &WINDOW.to_string(), &params]);
        least.push(cost(&mut command));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    compared(title, &ours, &least);
}

/// Times the program by itself.
fn alone(title: &str, arguments: &[&str], scratch: &Path) {
    let costs: Vec<Cost> = (0..=RUNS).map(|_| mcprove(arguments, scratch)).skip(1).collect();
    println!("{title:32} {:8.2} ms  {:5.1} MiB", median(&costs), peak(&costs));
}

/// A recording of 500 cases, once for some sixty mutants and once for all of them.
fn proving(scratch: &Path) {
    record(scratch);
    for (title, picks) in [("some mutants", &["--mutant", "TOOL", "--mutant", "SCHEMA"][..]), ("all mutants", &[])] {
        let arguments = [&["prove", "--recording", "proven.recording"], picks].concat();
        mcprove(&[&arguments[..], &["--report", "json=proof.json"]].concat(), scratch);
        let proof = fs::read_to_string(scratch.join("proof.json")).unwrap();
        let planted =
            ["killed", "survived", "undecided"].map(|word| proof.matches(&format!("\"verdict\": \"{word}\"")).count());
        alone(&format!("prove, 500 tests, {title}"), &arguments, scratch);
        println!("  verdicts on mutants and on tools: {}", planted.iter().sum::<usize>());
    }
}

fn record(scratch: &Path) {
    let suite = scratch.join("proven.yml");
    let call = "call: add\n    args: { a: 1, b: 2 }\n    expect: [{ at: result.structuredContent.sum, equals: 3 }]\n";
    fs::write(&suite, suite_of("{ builtin: demo }", CASES, call)).unwrap();
    mcprove(&["run", &text(&suite), "--record", "proven.recording"], scratch);
}

/// Times a run of the program and of the floor on the same server, in turn.
fn against_floor(title: &str, floor: &Path, server: &[&str], scratch: &Path) {
    let path = scratch.join("floor.yml");
    let words: Vec<String> = server.iter().map(|word| format!("{word:?}")).collect();
    fs::write(&path, suite(&format!("[{}]", words.join(", ")), CASES)).unwrap();
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        ours.push(mcprove(&["run", &text(&path)], scratch));
        least.push(cost_of_floor(floor, CASES, server));
    }
    compared(title, &ours, &least);
}

/// One run of the floor on a server.
fn cost_of_floor(floor: &Path, cases: usize, server: &[&str]) -> Cost {
    let mut command = Command::new(floor.join("target/release/floor"));
    command.args([&cases.to_string(), &WINDOW.to_string(), "echo", r#"{"message":"hi"}"#, "--"]).args(server);
    cost(&mut command)
}

/// Times generated calls, and as many calls of the floor with one argument, in turn; both with so many under way.
fn fuzzing(floor: &Path, scratch: &Path) {
    const CALLS: u32 = 100_000;
    let echo = text(&floor.join("target/release/echo_server"));
    let calls = CALLS.to_string();
    let fuzz = ["fuzz", "--seed", "7", "--tool", "echo", "--invalid", "0", "--in-flight", "8", "--cases", &calls];
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        ours.push(mcprove(&[&fuzz[..], &["--", &echo]].concat(), scratch));
        let mut command = Command::new(floor.join("target/release/floor"));
        command.args([&calls, "8", "echo", r#"{"message":"hi"}"#, "--", &echo]);
        least.push(cost(&mut command));
    }
    compared("100,000 generated calls, echo", &ours, &least);
    println!("  {:.0} calls a second", f64::from(CALLS) / median(&ours[1..]) * 1e3);
}

fn compared(title: &str, ours: &[Cost], least: &[Cost]) {
    let (mine, floor) = (median(&ours[1..]), median(&least[1..]));
    println!(
        "{title:32} {mine:8.2} ms  {:5.1} MiB  floor {floor:.2} ms, ratio {:.2}; (ours - 20 ms) / floor = {:.2}",
        peak(ours),
        mine / floor,
        (mine - 20.0) / floor
    );
}

/// The program that is measured.
#[expect(clippy::disallowed_methods, reason = "nothing else reads what a benchmark is told")]
fn program() -> PathBuf {
    let built = std::env::var_os("MCPROVE_PROGRAM").map(PathBuf::from);
    built.unwrap_or_else(|| env!("CARGO_BIN_EXE_mcprove").into())
}

fn mcprove(arguments: &[&str], scratch: &Path) -> Cost {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(scratch);
    cost(&mut command)
}

/// Runs a process to its end, watching its memory from outside.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at a process from time to time")]
fn cost(command: &mut Command) -> Cost {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let seen = fs::read_to_string(&status).unwrap_or_default();
        let line = seen.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_micros(200));
    };
    assert!(ended.success(), "{command:?} ended with {ended}");
    Cost { wall: begun.elapsed(), peak_kib }
}

fn median(costs: &[Cost]) -> f64 {
    let mut walls: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
    walls.sort();
    walls[walls.len() / 2].as_secs_f64() * 1e3
}

fn peak(costs: &[Cost]) -> f64 {
    costs.iter().map(|cost| cost.peak_kib).max().unwrap_or(0) as f64 / 1024.0
}

fn suite(command: &str, cases: usize) -> String {
    let call =
        "call: echo\n    args: { message: hi }\n    expect:\n      - is_error: false\n      - text: { contains: hi }\n";
    suite_of(&format!("{{ command: {command}, protocol: 2025-11-25 }}"), cases, call)
}

fn suite_of(server: &str, cases: usize, call: &str) -> String {
    let mut text = format!("suite: whole process\nserver: {server}\nrun_options: {{ parallel: {WINDOW} }}\ntests:\n");
    for number in 0..cases {
        let _ = write!(text, "  - name: case {number}\n    {call}");
    }
    text
}

#[expect(clippy::disallowed_methods, reason = "a benchmark has no other way to be told")]
fn only() -> Option<String> {
    std::env::var("MCPROVE_ONLY").ok()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark has no other way to be told")]
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "1")
}

/// Builds the floor in the target folder, so that its own folder stays as it is.
#[expect(clippy::disallowed_methods, reason = "a benchmark has no other way to be told")]
fn floor() -> Option<PathBuf> {
    let source = PathBuf::from(std::env::var_os("MCPROVE_FLOOR").unwrap_or_else(|| "../shared/bench".into()));
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("floor");
    fs::create_dir_all(built.join("src/bin")).unwrap();
    for file in ["Cargo.toml", "src/bin/echo_server.rs", "src/bin/floor.rs"] {
        let text = fs::read(source.join(file)).ok()?;
        fs::write(built.join(file), text).unwrap();
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--quiet"]).current_dir(&built).env_remove("CARGO_TARGET_DIR");
    cargo.status().unwrap().success().then_some(built)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
