//! Servers that misbehave: each has its name in the report, its evidence beside it, and leaves nothing behind.
//!
//! `stdio`, `tls` and `http` are tables of servers and of what must become of them; what was shown stands in
//! `docs/robustness.md`, a row for each.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod http;
mod secrets;
mod stdio;
mod tls;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;
use libtest_mimic::Trial;
use regex::Regex;
use serde_json::Value;

use crate::golden::{Golden, cells};
use crate::harness::{Scene, Seen, python, root};
use crate::test;

/// What must become of a run.
#[derive(Clone, Copy)]
struct Expected {
    /// The exit code.
    exit: i32,
    /// What the report must say: the class of the failure, or the code of the finding.
    says: &'static str,
}

/// Which of the two timeouts is short.
#[derive(Clone, Copy)]
enum Patience {
    /// None: the server answers.
    Long,
    /// That of the start.
    ShortStart,
    /// That of a request.
    ShortRequest,
}

impl Patience {
    /// The suite with its timeouts.
    fn fill(self, suite: &str) -> String {
        let (start, request) = match self {
            Self::Long => ("30s", "30s"),
            Self::ShortStart => ("1s", "30s"),
            Self::ShortRequest => ("30s", "1s"),
        };
        suite.replace("START", start).replace("REQUEST", request)
    }
}

/// What must become of a run, and the row of `docs/robustness.md` about it.
struct Run {
    /// The name of the test, behind `hostile::`.
    name: String,
    /// The part of the page.
    page: &'static Golden,
    /// What the server does.
    input: String,
    /// The transport, the era, the time.
    place: String,
    expected: Expected,
    /// Makes the suite, and whatever it needs.
    prepare: Box<dyn Fn(&Scene) + Send + Sync>,
}

/// The page about what becomes of runs.
const PAGE: &str = "docs/robustness.md";

pub(crate) fn tests() -> Vec<Trial> {
    let runs: Vec<Run> = stdio::runs().into_iter().chain(tls::runs()).chain(http::runs()).collect();
    let keys: Arc<[String]> = runs.iter().map(|run| cells(&[&run.input, &run.place])).collect();
    let mut tests: Vec<Trial> = Vec::new();
    for page in [&stdio::TABLE, &tls::TABLE, &http::TABLE] {
        let keys = runs.iter().filter(|run| run.page.heading == page.heading);
        let keys: Vec<String> = keys.map(|run| cells(&[&run.input, &run.place])).collect();
        tests.push(test(format!("hostile::rows of{}", page.heading.trim_start_matches('#')), move || {
            page.has_only(&keys);
        }));
    }
    let checked = runs.into_iter().map(|run| {
        let keys = Arc::clone(&keys);
        test(format!("hostile::{}", run.name), move || check(&run, &keys))
    });
    tests.extend(checked);
    tests.extend(stdio::further().into_iter().chain(http::further()).chain(secrets::tests()));
    tests
}

/// Runs `suite.yml`, and looks at everything that must hold whatever the server does.
fn check(run: &Run, keys: &[String]) {
    let scene = Scene::new(&format!("hostile/{}", run.name.replace("::", "-")));
    (run.prepare)(&scene);
    let seen = scene.run("run suite.yml --report junit=junit.xml --report json=report.json");
    scene.assert_nothing_survives();
    let shown = seen.text();
    assert_eq!(seen.status, run.expected.exit, "{shown}");
    let junit = scene.line("show junit.xml").stdout;
    let says = run.expected.says;
    assert!((seen.stdout.clone() + &junit).contains(says), "does not say `{says}`\n{shown}");
    assert!(is_tame(&seen), "prints control characters\n{shown}");
    assert!(is_xml(&scene), "writes a JUnit report that is no XML\n{shown}");
    let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
    let lost = lost(&scene, &report);
    assert!(lost.is_empty(), "loses {lost:?}\n{shown}");
    let elsewhere = scene.line("show elsewhere.txt");
    assert!(!scene.folder.join("elsewhere.txt").exists(), "another origin got {}", elsewhere.stdout);
    let [outcome, classes, words] = verdict(&report, seen.status);
    run.page.holds(keys, &[&run.input, &run.place], &[&outcome, &classes, &words]);
}

/// What a report says: how the cases ended, the codes of all findings with how often each was told, and the sentence of
/// the first.
fn verdict(report: &Value, exit: i32) -> [String; 3] {
    let suite = &report["suites"][0];
    let listed = |name: &str| suite[name].as_array().into_iter().flatten();
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for case in listed("cases") {
        *outcomes.entry(case["outcome"].as_str().unwrap()).or_default() += 1;
    }
    let findings: Vec<&Value> = listed("cases")
        .chain(listed("sessions"))
        .flat_map(|one| one["findings"].as_array().into_iter().flatten())
        .collect();
    let mut codes: IndexMap<&str, usize> = IndexMap::new();
    for finding in &findings {
        *codes.entry(finding["code"].as_str().unwrap()).or_default() += 1;
    }
    let counts: Vec<String> = outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let codes: Vec<String> = codes.iter().map(|(code, count)| format!("`{code}` {count}×")).collect();
    let words = findings.first().map(|first| without_times(first["message"].as_str().unwrap())).unwrap_or_default();
    [format!("exit {exit}: {}", counts.join(", ")), codes.join(", "), words]
}

/// Whether a terminal would show this text and obey nothing in it.
fn is_tame(seen: &Seen) -> bool {
    let is_hostile = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !seen.stdout.contains(is_hostile) && !seen.stderr.contains(is_hostile)
}

/// Whether another parser than ours can read the report.
fn is_xml(scene: &Scene) -> bool {
    let parse = "import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])";
    let parsed = python().args(["-c", parse]).arg(scene.folder.join("junit.xml")).output().unwrap();
    parsed.status.success()
}

/// The tests of the suite that have no result in the JSON report.
fn lost(scene: &Scene, report: &Value) -> Vec<String> {
    let cases = report["suites"][0]["cases"].as_array().cloned().unwrap_or_default();
    let has = |name: &&str| cases.iter().any(|case| case["case"]["name"] == *name && case["outcome"].is_string());
    let suite = scene.line("show suite.yml").stdout;
    let planned = suite.lines().filter_map(|line| line.strip_prefix("  - name: "));
    planned.filter(|name| !has(name)).map(str::to_owned).collect()
}

/// The modes of a server in `tests/servers`, and what each does.
///
/// Every test needs all of them for its place in a table, so they are asked for once and kept for the next.
fn modes(script: &str) -> BTreeMap<String, String> {
    let servers = fs::read_dir(root().join("tests/servers")).unwrap().map(|entry| entry.unwrap().path());
    let changed = servers.filter(|path| path.is_file()).map(|path| path.metadata().unwrap().modified().unwrap()).max();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{script}.modes"));
    let is_valid = kept.metadata().is_ok_and(|known| known.modified().unwrap() > changed.unwrap());
    let text = if is_valid { fs::read_to_string(&kept).unwrap() } else { asked_for_modes(script, &kept) };
    let split = |line: &str| {
        line.split_once('\t').map(|(mode, about)| (mode.to_owned(), about.trim_end_matches('.').to_owned()))
    };
    text.lines().filter_map(split).collect()
}

fn asked_for_modes(script: &str, kept: &Path) -> String {
    let listed = python().arg(root().join("tests/servers").join(script)).arg("--modes").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    // Under another name first: other tests may be looking.
    let own = kept.with_extension(std::process::id().to_string());
    fs::write(&own, &text).unwrap();
    fs::rename(own, kept).unwrap();
    text
}

/// A sentence without what differs from run to run.
fn without_times(text: &str) -> String {
    static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\d+(\.\d+)? (µs|ms|s|min)\b").unwrap());
    static PORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r":\d{4,5}\b").unwrap());
    PORT.replace_all(&TIME.replace_all(text, "…"), "").into_owned()
}
