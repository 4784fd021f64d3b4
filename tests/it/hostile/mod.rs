//! Servers that misbehave: each has its name in the report, its evidence beside it, and leaves nothing behind.
//!
//! `stdio`, `tls` and `http` are tables of servers and of what must become of them; `page` makes `docs/robustness.md` of what
//! was shown.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod http;
mod page;
mod secrets;
mod stdio;
mod tls;

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Scene, Seen, root};

/// What must become of a run.
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

/// A line of `docs/robustness.md`: what was done, and where what was shown stands.
struct Row {
    /// What the server does.
    input: String,
    /// The transport, the era, the time.
    place: String,
    /// The name of the snapshot.
    snapshot: String,
    /// Which of the runs in the snapshot.
    section: usize,
}

/// What a run showed, and what is wrong with it.
struct Judged {
    shown: String,
    junit: String,
    surprises: Vec<String>,
}

/// Runs `suite.yml`, and looks at everything that must hold whatever the server does.
fn judge(scene: &Scene, expected: &Expected) -> Judged {
    let seen = scene.run("run suite.yml --report junit=junit.xml --report json=report.json");
    scene.assert_nothing_survives();
    let junit = scene.line("show junit.xml");
    let mut surprises = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            surprises.push(format!("{}: {what}\n{}", scene.folder.display(), seen.text()));
        }
    };
    expect(seen.status == expected.exit, &format!("exit {} instead of {}", seen.status, expected.exit));
    let says = (seen.stdout.clone() + &junit.stdout).contains(expected.says);
    expect(says, &format!("does not say `{}`", expected.says));
    expect(is_tame(&seen), "prints control characters");
    expect(is_xml(scene), "writes a JUnit report that is no XML");
    expect(lost(scene).is_empty(), &format!("loses {:?}", lost(scene)));
    Judged { shown: seen.text(), junit: junit.text(), surprises }
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
    let parsed = Command::new("python3").args(["-c", parse]).arg(scene.folder.join("junit.xml")).output().unwrap();
    parsed.status.success()
}

/// The tests of the suite that have no result in the JSON report.
fn lost(scene: &Scene) -> Vec<String> {
    let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap_or_default();
    let cases = report["suites"][0]["cases"].as_array().cloned().unwrap_or_default();
    let has = |name: &&str| cases.iter().any(|case| case["case"]["name"] == *name && case["outcome"].is_string());
    let suite = scene.line("show suite.yml").stdout;
    let planned = suite.lines().filter_map(|line| line.strip_prefix("  - name: "));
    planned.filter(|name| !has(name)).map(str::to_owned).collect()
}

/// The modes of a server in `tests/servers`, and what each does.
fn modes(script: &str) -> BTreeMap<String, String> {
    let listed =
        Command::new("python3").arg(root().join("tests/servers").join(script)).arg("--modes").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let split = |line: &str| {
        line.split_once('\t').map(|(mode, about)| (mode.to_owned(), about.trim_end_matches('.').to_owned()))
    };
    text.lines().filter_map(split).collect()
}
