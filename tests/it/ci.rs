//! The jobs in `docs/guides/ci.md` are YAML, and every command in them, and in the page about known failures, runs and
//! writes what the job keeps.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use mcprove::source::{SourceFile, Sources, parse};
use regex::Regex;
use serde_json::Value;

use crate::harness::{Scene, files, is_installed, root};

/// What the commands of the page write, all of them together.
const WRITTEN: &[&str] = &[
    "known-failures.yml",
    "out/events.ndjson",
    "out/junit.xml",
    "out/mcprove.sarif",
    "out/run.txt",
    "out/summary.md",
    "summary.md",
];

#[test]
fn every_command_of_the_jobs_passes() {
    let scene = Scene::new("ci");
    fs::create_dir_all(scene.folder.join("suites")).unwrap();
    fs::copy(root().join("examples/quickstart.yml"), scene.folder.join("suites/quickstart.yml")).unwrap();
    let pages = ["docs/guides/ci.md", "docs/guides/known-failures.md"];
    let commands: Vec<String> =
        pages.iter().flat_map(|page| commands(&fs::read_to_string(root().join(page)).unwrap())).collect();
    assert!(commands.len() > 10, "{commands:#?}");
    for command in &commands {
        let seen = scene.line(command);
        assert_eq!(seen.status, 0, "{}", seen.text());
    }
    let missing: Vec<&&str> = WRITTEN.iter().filter(|file| !scene.folder.join(file).is_file()).collect();
    assert!(missing.is_empty(), "the jobs keep what no command writes: {missing:?}");
}

/// A linter that knows the syntax, the expressions and the shell of workflows finds nothing.
#[test]
fn workflows_have_no_mistakes() {
    if !is_installed() {
        return;
    }
    let scene = Scene::bare("ci-workflows");
    let own = files(".github/workflows", "yml");
    assert!(own.len() > 1, "{own:?}");
    let written = ["src/init/ci_job/github.yml", "examples/scale/github.yaml"].map(|path| root().join(path));
    let workflows: Vec<String> = own.iter().chain(&written).map(|path| format!("'{}'", path.display())).collect();
    let folder = root().join("tests/real").display().to_string();
    let linter = r#"exec "$0/node_modules/.bin/node" "$0/lint-workflows.mjs" "$@""#;
    let seen = scene.line(&format!("sh -c '{linter}' '{folder}' {}", workflows.join(" ")));
    assert_eq!(seen.status, 0, "{}", seen.text());
}

/// What refuses everything passes no more than what breaks promises; a server without tools has nothing to refuse.
#[test]
fn a_server_that_serves_no_call_never_passes() {
    let scene = Scene::new("ci-unserved");
    for (mode, status, says) in
        [("lists-nothing", 0, "lists none"), ("refuses-everything", 4, "calls of tools was served")]
    {
        let seen = scene.run(&format!("ci --cases 2 -- python3 ../servers/hostile.py {mode}"));
        assert_eq!(seen.status, status, "{}", seen.text());
        assert!(seen.stderr.contains(says), "{}", seen.text());
    }
}

/// A change of one right answer, which breaks the published schema, and the code that every run reports.
const MISSHAPEN: &[(&[&str], &str)] = &[
    (&["initialize", "/result/serverInfo/version"], "invalid-message"),
    (&["initialize", "/result/capabilities/tools/listChanged", "\"yes\""], "invalid-message"),
    (&["tools/list", "/result/nextCursor", "null"], "invalid-message"),
    (&["tools/list", "/result/tools/0/icons", "\"a.png\""], "invalid-message"),
    (&["tools/call", "/result/content"], "invalid-content"),
    (&["tools/call", "/result/content/0/type", "\"video\""], "invalid-content"),
    (&["tools/call", "/result/isError", "\"false\""], "invalid-message"),
    (&["resources/list", "/result/resources", "null"], "invalid-message"),
    (&["prompts/list", "/result/prompts/0/arguments", "null"], "invalid-message"),
];

#[test]
fn a_message_that_breaks_the_published_schema_fails_every_run() {
    let scene = Scene::new("misshapen");
    let check = |change: &[&str], status: i32, says: &str| {
        let words = [&["python3", "../servers/misshapen.py"], change].concat();
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let suite = serde_json::json!({
            "suite": "plain",
            "server": { "command": words },
            "tests": [
                { "name": "a word", "call": "get_word", "args": {}, "expect": [{ "is_error": false }] },
                { "name": "a greeting", "prompt": "greet", "args": { "who": "Ann" }, "expect": [{ "at": "result.messages", "type": "array" }] },
            ],
        });
        fs::write(scene.folder.join("plain.yml"), suite.to_string()).unwrap();
        for command in [format!("ci --cases 2 -- {}", quoted.join(" ")), "run plain.yml".to_owned()] {
            let seen = scene.run(&command);
            assert_eq!(seen.status, status, "{command} {change:?}: {}", seen.text());
            assert!(seen.stdout.contains(says), "{command} {change:?}: {}", seen.text());
        }
    };
    check(&[], 0, "");
    for (change, code) in MISSHAPEN {
        check(change, 1, &format!("error[{code}]"));
    }
}

/// The lines that begin with `mcprove`, in the order of the page.
fn commands(page: &str) -> Vec<String> {
    let fence = Regex::new(r"(?ms)^```(yaml|groovy|sh)\n(.*?)^```$").unwrap();
    let mut scripts = Vec::new();
    for block in fence.captures_iter(page) {
        match &block[1] {
            "yaml" => texts(&read(&block[2]), &mut scripts),
            _ => scripts.push(block[2].replace("\\\n", " ")),
        }
    }
    let command = Regex::new(r"(?m)^\s*(?:sh ')?(mcprove .*?)'?$").unwrap();
    scripts
        .iter()
        .flat_map(|script| command.captures_iter(script).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

fn read(block: &str) -> Value {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("ci.md", block));
    match parse(&sources, source) {
        Ok(node) => node.to_json(),
        Err(mistake) => panic!("{}:\n{block}", mistake.message),
    }
}

/// Every text in a value, in order.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
