//! Generated calls: what they find on servers with one bug each, that they find nothing on servers without, and that the
//! same seed makes the same calls.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use serde_json::Value;

use crate::harness::{Scene, root};

/// The finished cases of a run of `mcprove fuzz`.
fn fuzzed(name: &str, arguments: &str) -> (i32, Vec<Value>) {
    let scene = Scene::bare(&format!("fuzz/{name}"));
    let seen = scene.run(&format!("fuzz --seed 7 --report ndjson=events.ndjson {arguments}"));
    let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap_or_default();
    scene.assert_nothing_survives();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases: Vec<Value> = events.filter_map(|event| event.get("case-finished").cloned()).collect();
    assert!(!cases.is_empty(), "{}", seen.text());
    (seen.status, cases)
}

/// `tool: code kind calls`, for each finding.
fn told(cases: &[Value]) -> Vec<String> {
    let of_case = |case: &Value| {
        let name = case["case"]["name"].as_str().unwrap().replace("fuzz: ", "");
        let findings = case["findings"].as_array().unwrap().clone();
        findings.into_iter().map(move |found| {
            let again = &found["reproduction"];
            let calls = again["sessions"][0].as_array().map_or(0, Vec::len);
            format!("{name}: {} {} {calls}", found["code"].as_str().unwrap(), again["kind"].as_str().unwrap_or("none"))
        })
    };
    let mut told: Vec<String> = cases.iter().flat_map(of_case).collect();
    told.sort();
    told
}

fn example(server: &str) -> String {
    format!("-- python3 {}", root().join("examples/servers").join(server).display())
}

#[test]
fn five_of_six_bugs() {
    let server = example("six-bugs/server.py");
    let (exit, cases) = fuzzed("six-bugs", &format!("--request-timeout 500ms {server}"));
    let expected = [
        "convert_price: malformed-envelope protocol-error 1",
        "get_product: output-schema schema-violation 1",
        "list_products: process-exited crash 1",
        "quote_shipping: timeout hang 1",
        "search_products: state-leak state-leak 2",
    ];
    assert_eq!((exit, told(&cases)), (1, expected.map(str::to_owned).to_vec()));
    let (exit, cases) = fuzzed("no-bugs", &format!("{server} --fixed"));
    assert_eq!((exit, told(&cases)), (0, Vec::new()));
}

fn history() -> String {
    root().join("tests/servers/history.py").display().to_string()
}

#[test]
fn a_history_of_one_session_is_a_warning() {
    let (exit, cases) = fuzzed("history", &format!("-- python3 {}", history()));
    assert_eq!((exit, told(&cases)), (0, vec!["recent_searches: state-leak state-leak 2".to_owned()]));
    assert_eq!(cases.iter().filter(|case| case["outcome"] == "warned").count(), 1, "{cases:?}");
}

#[test]
fn what_reaches_another_session_fails() {
    let check = |how: &str, expected: (i32, &str)| {
        let scene = Scene::bare(&format!("fuzz/history-{how}"));
        let command = serde_json::json!(["python3", history(), "{{ port }}", how]);
        let server = format!("{{ command: {command}, url: \"http://127.0.0.1:{{{{ port }}}}/mcp\" }}");
        scene.write("suite.yml", &format!("suite: S\nserver: {server}\nfuzz: {{ cases: 60, seed: 7 }}\n"));
        let seen = scene.run("run suite.yml");
        assert_eq!(seen.status, expected.0, "{}", seen.text());
        assert!(seen.stdout.contains(&format!("{}[state-leak]", expected.1)), "{}", seen.text());
        if expected.0 == 1 {
            let played = scene.run("findings replay --all --times 1");
            assert!(played.status == 1 && played.stdout.contains("state-leak"), "{}", played.text());
        }
        scene.assert_nothing_survives();
    };
    check("shared", (1, "error"));
    check("own", (0, "warning"));
}

#[test]
fn the_setup_of_a_suite_runs_before_the_calls() {
    let check = |policy: &str| {
        let scene = Scene::bare(&format!("fuzz/setup-{policy}"));
        let server = root().join("tests/servers/projects.py");
        let suite = format!(
            "suite: S\nserver: {{ command: [python3, {}] }}\nrun_options: {{ restart_policy: {policy} }}\n\
             setup: [{{ call: register, args: {{ name: p }}, expect: [{{ is_error: false }}] }}]\n\
             teardown: [{{ call: unregister, args: {{ name: p }}, expect: [{{ is_error: false }}] }}]\n\
             arguments: {{ files_of: {{ project: p }} }}\nfuzz: {{ tools: [files_of], cases: 60, seed: 1 }}\n",
            server.display()
        );
        scene.write("suite.yml", &suite);
        let seen = scene.run("run suite.yml");
        assert!(seen.status == 1 && seen.stdout.contains("[process-exited]"), "{}", seen.text());
        assert!(seen.stdout.contains("3 of 3 times"), "{}", seen.text());
        let played = scene.run("findings replay --all --times 2");
        assert!(played.status == 1 && played.stdout.contains("reproduced 2 of 2"), "{}", played.text());
    };
    check("per_suite");
    check("per_test");
}

#[test]
fn most_calls_stay_near_the_given_arguments() {
    let served = |flags: &str| {
        let scene = Scene::bare(&format!("fuzz/near{}", flags.len()));
        let server = root().join("tests/servers/projects.py");
        let suite = format!(
            "suite: S\nserver: {{ command: [python3, {}] }}\n\
             setup: [{{ call: register, args: {{ name: p }}, expect: [{{ is_error: false }}] }}]\n\
             arguments: {{ lines_of: {{ project: p }} }}\n\
             fuzz: {{ tools: [lines_of], cases: 200, seed: 1, {flags} }}\n",
            server.display()
        );
        scene.write("suite.yml", &suite);
        let text = scene.run("run suite.yml").stdout;
        let count = |of: &str| text.split_once(of).and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
        let good: u32 = count(" served").unwrap_or_else(|| panic!("{text}"));
        let hash = text.split_once("calls covered").map(|(_, rest)| rest.split_once("warning").unwrap().0.to_owned());
        (good, hash)
    };
    let one = served("in_flight: 1");
    assert!(one.0 > 60, "{one:?}");
    assert_eq!(one, served("in_flight:  8"));
}

#[test]
fn a_transcript_has_every_call() {
    let scene = Scene::bare("fuzz/transcript");
    let program = env!("CARGO_BIN_EXE_mcprove");
    let fuzz = "fuzz --tool echo --cases 150 --seed 1 --transcript frames";
    let seen = scene.run(&format!("{fuzz} -- {program} serve demo"));
    assert_eq!(seen.status, 0, "{}", seen.text());
    let files = fs::read_dir(scene.folder.join("frames")).unwrap();
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let mut calls: Vec<usize> = texts.map(|text| text.matches("\"method\":\"tools/call\"").count()).collect();
    calls.sort_unstable();
    // The one call shows, in a session of its own, that the tool serves what its schema gives.
    assert_eq!(calls, [1, 150], "{}", seen.text());
}

#[test]
fn a_crash_that_takes_five_calls() {
    let (exit, cases) = fuzzed("fifth-call", &format!("--scratch {}", example("fifth-call/server.py")));
    let told = told(&cases);
    assert_eq!((exit, told.len()), (1, 1), "{told:?}");
    assert!(told[0].ends_with(": process-exited crash 5"), "{told:?}");
}

#[test]
fn faults_of_the_demo_server() {
    let check = |fault: &str, tool: &str, expected: (i32, &str)| {
        let server = format!("-- {} serve faulty --fault {fault}", env!("CARGO_BIN_EXE_mcprove"));
        let (exit, cases) = fuzzed(fault, &format!("--tool {tool} --request-timeout 1s {server}"));
        assert_eq!((exit, told(&cases).join(", ").as_str()), expected, "{fault}");
    };
    check("SCHEMA-OUTPUT-MISMATCH", "list_users", (1, "list_users: output-schema schema-violation 1"));
    check("SCHEMA-MISSING-STRUCTURED", "list_users", (1, "list_users: missing-structured-content schema-violation 1"));
    check("TOOL-CRASH", "get_user", (1, "get_user: process-exited crash 1"));
    check("SCHEMA-INVALID-CONTENT-BLOCK", "echo", (1, "echo: bad-base64 protocol-error 1"));
}

#[test]
fn the_demo_server_shows_nothing() {
    let check = |name: &str, arguments: &str| {
        let (exit, cases) = fuzzed(name, arguments);
        let reasons: Vec<&str> = cases.iter().filter_map(|case| case["reason"]["text"].as_str()).collect();
        assert_eq!((exit, told(&cases)), (0, Vec::new()), "{reasons:?}");
        assert!(reasons.contains(&"`delete_user` may destroy something; allow it with `--allow delete_user`"));
    };
    check("demo", "demo");
    check("demo-2025", "demo --revision 2025-11-25");
    let scene = Scene::bare("fuzz/demo-http");
    let served = scene.serve("demo");
    check("demo-over-http", &format!("{} --scratch --cases 40", served.url));
}

#[test]
fn the_same_seed_makes_the_same_calls() {
    let calls = |name: &str, flags: &str| {
        let (_, cases) = fuzzed(name, &format!("demo --tool echo --tool add --cases 400 {flags}"));
        let reasons = cases.iter().map(|case| case["reason"]["text"].as_str().unwrap().to_owned());
        let mut hashes: Vec<String> =
            reasons.map(|reason| reason.rsplit_once("calls ").unwrap().1.to_owned()).collect();
        hashes.sort();
        hashes
    };
    let one = calls("one-at-a-time", "--in-flight 1");
    assert_eq!(one, calls("eight-at-a-time", "--in-flight 8"));
    assert_ne!(one, calls("another-share", "--invalid 0"));
}

#[test]
fn a_seed_that_was_drawn_is_told_before_and_after() {
    let drawn = Scene::bare("fuzz/drawn").run("fuzz demo --tool echo --cases 3");
    let before = drawn.stderr.split_once("  seed ").and_then(|(_, rest)| rest.split_once(" was drawn; `--seed "));
    let seed = before.map(|(seed, _)| seed).filter(|seed| seed.parse::<u64>().is_ok());
    let after = seed.map(|seed| format!("\n  seed {seed} gives the same calls again\n"));
    assert!(after.is_some_and(|after| drawn.stdout.contains(&after)), "{}", drawn.text());
    let given = Scene::bare("fuzz/given").run("fuzz demo --tool echo --cases 3 --seed 7");
    assert!(!given.stderr.contains("drawn") && given.stdout.contains("\n  seed 7 gives"), "{}", given.text());
}

#[test]
fn tools_that_are_blocked_are_named() {
    let (exit, cases) = fuzzed("blocked", "demo --tool echo --tool add --block a*");
    let reasons: Vec<&str> = cases.iter().filter_map(|case| case["reason"]["text"].as_str()).collect();
    assert_eq!((exit, reasons[0]), (0, "`add` is blocked"));
}
