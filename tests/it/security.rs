//! Attacks that are proven by their effect: each fault of a server fails its case and no other, and nothing is left behind.
//!
//! `tests/real/vulnerable/` has servers of others with known vulnerabilities, each beside a version without; its script
//! installs them, and `MCPROVE_FULL=1` asks for them.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::documents::split;
use crate::harness::{Scene, is_full, is_update, root};

/// A fault of `tests/servers/notes.py`, the case that fails because of it, and the code of its finding.
const FAULTS: [[&str; 3]; 14] = [
    ["dots", "ways out of the folder: read_note", "path-escape"],
    ["prefix", "ways out of the folder: read_note", "path-escape"],
    ["link", "ways out of the folder: read_note", "path-escape"],
    ["encoded", "ways out of the folder: read_note", "path-escape"],
    ["write", "ways out of the folder: save_note", "path-escape"],
    ["template", "ways out of the folder: resources", "path-escape"],
    ["shell", "executed arguments: count_word", "executed-argument"],
    ["quiet", "executed arguments: count_word", "executed-argument"],
    ["option", "executed arguments: sort_note", "argument-as-option"],
    ["fetch", "addresses of this machine: fetch_page", "fetched-loopback"],
    ["page", "addresses of this machine: resources", "fetched-loopback"],
    ["literal", "addresses of this machine: fetch_page", "fetched-loopback"],
    ["error", "environment", "leaked-environment"],
    ["log", "environment", "leaked-environment"],
];

/// How many cases the careful server passes: paths of three tools and of resources, texts of six tools, addresses of one and
/// of resources, and the environment.
const CAREFUL: usize = 13;

const ARGUMENTS: &str = "\
arguments:
  read_note: { path: today.md }
  save_note: { path: today.md, text: buy milk }
  count_word: { word: milk }
  sort_note: { name: today.md }
  fetch_page: { url: \"http://docs.test/\" }
";

/// A suite for the server with a fault, of which only some tools are attacked.
fn suite(fault: &str, tools: &str) -> String {
    format!(
        "suite: Notes\nservers:\n  {fault}: {{ command: [python3, ../../servers/notes.py, files, {fault}], scratch: true, \
         env: {{ NOTES_TOKEN: correct-horse-battery }}, secrets: [NOTES_TOKEN] }}\nsecurity:\n  scan: false\n  root: files\n  packs: [injection, path-traversal, secrets, ssrf]\n  \
         forbid_loopback: true\n  tools: [{tools}]\n{ARGUMENTS}"
    )
}

/// The finished cases of a run.
fn cases(scene: &Scene, line: &str) -> Vec<Value> {
    let seen = scene.line(&format!("{line} --report ndjson=events.ndjson"));
    let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap_or_default();
    scene.assert_nothing_survives();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases: Vec<Value> = events.filter_map(|event| event.get("case-finished").cloned()).collect();
    assert!(!cases.is_empty(), "{}", seen.text());
    cases
}

/// The names of files that a run of a security block may leave, below a folder.
fn leftovers(scene: &Scene) -> Vec<String> {
    let entries = walkdir::WalkDir::new(&scene.folder).into_iter().map(Result::unwrap);
    let names = entries.map(|entry| entry.path().display().to_string());
    names.filter(|name| name.contains("-mcprove-") || name.contains("/mcprove-")).collect()
}

#[test]
fn each_fault_fails_its_case_and_no_other() {
    let scene = Scene::copied("cases/security-probes", "security-faults");
    scene.write("fault-careful.yml", &suite("careful", "'*'"));
    for [fault, name, _] in FAULTS {
        // The environment shows in the calls of any tool, and resources are no tool.
        let tool = name.rsplit(": ").next().filter(|tool| tool.contains('_')).unwrap_or("say");
        scene.write(&format!("fault-{fault}.yml"), &suite(fault, tool));
    }
    let cases = cases(&scene, "mcprove run 'fault-*.yml' --parallel 4 --filter 'name(/^security: /)'");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let own = cases.iter().filter(|case| text(&case["case"]["name"]).starts_with("security: "));
    let mut failed = BTreeSet::new();
    let mut careful = 0;
    for case in own {
        let id = text(&case["case"]["id"]);
        let server = id.rsplit('@').next().unwrap().split('/').next().unwrap();
        let name = text(&case["case"]["name"]).replace("security: ", "");
        match case["outcome"].as_str().unwrap() {
            "passed" => careful += usize::from(server == "careful"),
            outcome => {
                let finding = &case["findings"][0];
                // The suite's own secret shows where the environment does, and appears nowhere.
                let also = if name == "environment" { Value::from("leaked-secret") } else { Value::Null };
                assert_eq!(case["findings"][1]["code"], also, "{id}");
                assert!(!case.to_string().contains("correct-horse"), "{id}");
                let why = if finding.is_null() { &case["reason"] } else { &finding["code"] };
                failed.insert(format!("{server}: {name}: {outcome} {}", why.as_str().unwrap_or_default()));
            }
        }
    }
    let expected: BTreeSet<String> =
        FAULTS.iter().map(|[fault, name, code]| format!("{fault}: {name}: failed {code}")).collect();
    assert_eq!(failed, expected);
    assert_eq!(careful, CAREFUL);
    assert_eq!(leftovers(&scene), [""; 0]);
}

/// A fault of `tests/servers/heavy.py`, the tool whose case shows it, and the code of its finding.
const HEAVY_FAULTS: [[&str; 3]; 7] = [
    ["pattern", "find", "blocked-by-argument"],
    ["schema", "greet", "blocked-by-argument"],
    ["nested", "count", "crashed-by-argument"],
    ["long", "find", "crashed-by-argument"],
    ["wide", "count", "crashed-by-argument"],
    ["expand", "title", "expanded-argument"],
    // Not again in a fresh server, so nobody is accused.
    ["once", "count", ""],
];

/// A mode of `tests/servers/heavy.py` that is no fault though it looks like one, and the tool whose case must pass.
const HEAVY_TWINS: [[&str; 2]; 2] = [["large", "title"], ["slow", "count"]];

#[test]
fn heavy_arguments_use_up_faulty_servers_only() {
    let scene = Scene::copied("cases/security-probes", "security-heavy");
    let suite = |fault: &str, tool: &str| {
        format!(
            "suite: Heavy\nservers:\n  {fault}: {{ command: [python3, ../../servers/heavy.py, {fault}], protocol: \
             2025-11-25 }}\nrun_options: {{ request_timeout: 4s }}\nsecurity: {{ scan: false, packs: [exhaustion], tools: \
             [{tool}] }}\n"
        )
    };
    scene.write("heavy-careful.yml", &suite("careful", "'*'"));
    for [mode, tool] in HEAVY_FAULTS.map(|[fault, tool, _]| [fault, tool]).into_iter().chain(HEAVY_TWINS) {
        scene.write(&format!("heavy-{mode}.yml"), &suite(mode, tool));
    }
    let cases = cases(&scene, "mcprove run 'heavy-*.yml' --parallel 2 --filter 'name(/^security: /)'");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdicts: BTreeSet<String> = cases
        .iter()
        .map(|case| {
            let id = text(&case["case"]["id"]);
            let server = id.rsplit('@').next().unwrap().split('/').next().unwrap();
            let tool = text(&case["case"]["name"]).replace("security: heavy arguments: ", "");
            format!("{server}: {tool}: {} {}", text(&case["outcome"]), text(&case["findings"][0]["code"]))
        })
        .collect();
    let careful = ["count", "find", "greet", "title"].map(|tool| ["careful", tool]).into_iter().chain(HEAVY_TWINS);
    let passed = careful.map(|[mode, tool]| format!("{mode}: {tool}: passed "));
    let expected = HEAVY_FAULTS.iter().map(|[fault, tool, code]| {
        let outcome = if code.is_empty() { "inconclusive" } else { "failed" };
        format!("{fault}: {tool}: {outcome} {code}")
    });
    assert_eq!(verdicts, expected.chain(passed).collect());
}

/// A mode of `tests/servers/asking.py`, and the verdict on it.
const ROOT_MODES: [[&str; 2]; 6] = [
    ["careful", "passed "],
    // Its first answers come before it knows the roots.
    ["late", "passed "],
    // It keeps to a folder of its own, which no root has to be.
    ["own", "skipped "],
    ["prefix", "failed path-escape"],
    ["link", "failed path-escape"],
    // It keeps to no root at all, which the specification only advises.
    ["anywhere", "warned path-escape"],
];

#[test]
fn servers_that_ask_for_roots_keep_to_them() {
    let scene = Scene::copied("cases/security-roots", "security-root-modes");
    fs::create_dir(scene.folder.join("other")).unwrap();
    let eras = ["2025-11-25", "2026-07-28"];
    for [mode, _] in ROOT_MODES {
        let servers = eras.map(|era| {
            format!(
                "  {mode}-{era}: {{ command: [python3, ../../servers/asking.py, {mode}], protocol: {era}, scratch: true }}\n"
            )
        });
        let suite = format!(
            "suite: Roots\nanswers: {{ roots: [files, other] }}\nservers:\n{}security: {{ scan: false, packs: \
             [path-traversal], tools: [read_file, list_folder] }}\n",
            servers.concat()
        );
        scene.write(&format!("roots-{mode}.yml"), &suite);
    }
    let cases = cases(&scene, "mcprove run 'roots-*.yml' --parallel 4 --filter 'name(/^security: /)'");
    let verdict = |case: &Value| {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = word(&case["case"]["id"]);
        let server = id.rsplit('@').next().unwrap().split('/').next().unwrap();
        let tool = word(&case["case"]["name"]).replace("security: ways out of the folder: ", "");
        format!("{server}: {tool}: {} {}", word(&case["outcome"]), word(&case["findings"][0]["code"]))
    };
    let expected = ROOT_MODES.iter().flat_map(|[mode, verdict]| {
        let of_era = |era: &str| ["read_file", "list_folder"].map(|tool| format!("{mode}-{era}: {tool}: {verdict}"));
        eras.iter().flat_map(|era| of_era(era)).collect::<Vec<_>>()
    });
    assert_eq!(cases.iter().map(verdict).collect::<BTreeSet<_>>(), expected.collect());
    assert_eq!(leftovers(&scene), [""; 0]);
}

/// Every file below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().into_path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect()
}

#[test]
fn a_link_in_the_place_of_a_canary_folder_leads_nowhere() {
    for (number, pattern) in ["*-mcprove-*", "*-mcprove-*/canary.*", "files/mcprove-*"].into_iter().enumerate() {
        let scene = Scene::copied("cases/security-probes", &format!("security-swapped-{number}"));
        let victim = scene.folder.join("victim");
        fs::create_dir_all(victim.join(".git")).unwrap();
        for (name, text) in [("canary.md", "mine"), ("letter.txt", "dear"), (".git/config", "[core]"), ("today.md", "")]
        {
            fs::write(victim.join(name), text).unwrap();
        }
        let before = contents(&victim);
        let suite = format!(
            "suite: Swapped\nserver: {{ command: [python3, ../../servers/swapping.py, victim, '{pattern}'], scratch: true }}\n\
             security: {{ scan: false, root: files, packs: [path-traversal] }}\narguments: {{ read_note: {{ path: today.md }} }}\n"
        );
        scene.write("swapped.yml", &suite);
        let cases = cases(&scene, "mcprove run swapped.yml --filter 'name(/^security: /)'");
        assert_eq!(contents(&victim), before, "{pattern}");
        let is_outside = !pattern.starts_with("files");
        let codes: BTreeSet<&str> = cases.iter().filter_map(|case| case["findings"][0]["code"].as_str()).collect();
        assert_eq!(codes.contains("path-escape"), is_outside, "{pattern}: {cases:?}");
    }
}

#[test]
fn an_interrupted_run_leaves_no_canary() {
    let scene = Scene::copied("cases/security-probes", "security-interrupted");
    scene.write("hang.yml", &suite("hang", "read_note"));
    let running = scene.begin("run hang.yml --parallel 1 --filter name(/folder:/)");
    scene.wait_until("a canary is planted", || !leftovers(&scene).is_empty());
    running.signal("INT");
    running.finish();
    assert_eq!(leftovers(&scene), [""; 0]);
    scene.assert_nothing_survives();
}

/// A server with a known vulnerability.
#[derive(Deserialize)]
struct VulnerableServer {
    package: String,
    suite: String,
    buggy: String,
    clean: String,
    advisory: String,
    /// The codes of the findings that the buggy version must have.
    finds: BTreeSet<String>,
    /// The file that starts each version, where it differs.
    #[serde(default)]
    starts: Vec<String>,
}

const VULNERABLE: &str = "tests/real/vulnerable";
/// The page with the table of what was found, and the name of that part.
const PAGE: &str = "docs/security.md";
const PART: &str = "known vulnerabilities";

/// The codes of findings that any attack can have; others count where a buggy version is to show them.
const CODES: [&str; 5] =
    ["path-escape", "executed-argument", "argument-as-option", "fetched-loopback", "leaked-environment"];

/// Servers of others take a minute to install and to run, so that `MCPROVE_FULL=1` asks for it.
#[test]
fn known_vulnerabilities_are_found_and_their_fixes_are_not_accused() {
    let home = root().join(VULNERABLE);
    if !is_full() || !home.join("node_modules").exists() || !home.join("python").exists() {
        return;
    }
    let servers: Vec<VulnerableServer> =
        serde_json::from_str(&fs::read_to_string(home.join("servers.json")).unwrap()).unwrap();
    let mut table = "| package | version | advisory | found | where |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for server in &servers {
        for (index, version) in [&server.buggy, &server.clean].into_iter().enumerate() {
            let found = attack(server, version, server.starts.get(index).map_or("", String::as_str));
            let codes: BTreeSet<String> = found.iter().map(|(code, _)| code.clone()).collect();
            let expected = if index == 0 { server.finds.clone() } else { BTreeSet::new() };
            assert_eq!(codes, expected, "{} {version}", server.package);
            let places: BTreeSet<&str> = found.iter().map(|(_, place)| place.as_str()).collect();
            let places: Vec<&str> = places.into_iter().collect();
            let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
            let codes = if codes.is_empty() { "nothing".to_owned() } else { codes.join(", ") };
            let advisory = if index == 0 { server.advisory.as_str() } else { "fixed" };
            let _ =
                writeln!(table, "| {} | {version} | {advisory} | {codes} | {} |", server.package, places.join(", "));
        }
    }
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, kept, after) = split(&page, PART);
    if is_update() {
        fs::write(&path, format!("{before}{table}{after}")).unwrap();
    } else {
        assert_eq!(kept, table, "run `UPDATE=1 MCPROVE_FULL=1 cargo test known_vulnerabilities`");
    }
}

/// The findings of attacks on a version, as code and tool.
fn attack(server: &VulnerableServer, version: &str, start: &str) -> Vec<(String, String)> {
    let home = root().join(VULNERABLE);
    let scene = Scene::bare(&format!("vulnerable/{}-{version}", server.suite));
    fs::copy(home.join("suites").join(format!("{}.yml", server.suite)), scene.folder.join("suite.yml")).unwrap();
    let allowed = scene.folder.join("files");
    fs::create_dir(&allowed).unwrap();
    scene.write("files/today.md", "buy milk\n");
    let copied = Command::new("cp").arg("-r").arg(home.join("scratch/repo")).arg(&scene.folder).status().unwrap();
    assert!(copied.success());
    // The settings of Desktop Commander.
    fs::create_dir_all(scene.folder.join("home/.claude-server-commander")).unwrap();
    let settings = serde_json::json!({"allowedDirectories": [allowed], "telemetryEnabled": false});
    scene.write("home/.claude-server-commander/config.json", &settings.to_string());
    let line = format!("VULNERABLE={} VERSION={version} START={start} mcprove run suite.yml", home.display());
    let cases = cases(&scene, &line);
    assert_eq!(leftovers(&scene), [""; 0]);
    let findings = cases.iter().flat_map(|case| {
        let name = case["case"]["name"].as_str().unwrap();
        // A tool, or the id of a rule.
        let place = name.rsplit_once(": ").map_or(name.split(' ').next().unwrap(), |(_, tool)| tool).to_owned();
        case["findings"].as_array().unwrap().iter().map(move |found| (found["code"].clone(), place.clone()))
    });
    let findings = findings.map(|(code, place)| (code.as_str().unwrap().to_owned(), place));
    findings.filter(|(code, _)| CODES.contains(&code.as_str()) || server.finds.contains(code)).collect()
}
