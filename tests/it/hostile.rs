//! Servers that misbehave: each has its name in the report, its evidence beside it, and leaves nothing behind.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::process::Command;

use crate::harness::{Scene, Seen, root, snapshot};

/// A mode of `tests/servers/hostile.py` and what must become of it.
struct Hostile {
    mode: &'static str,
    /// The exit code.
    exit: i32,
    /// What the report must say: the class of the failure, or the code of the finding.
    says: &'static str,
    /// Where the test waits for the end of a timeout.
    patience: Patience,
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

/// A server that answers.
const fn answers(mode: &'static str, exit: i32, says: &'static str) -> Hostile {
    Hostile { mode, exit, says, patience: Patience::Long }
}

/// A server that lets mcprove wait.
const fn hangs(mode: &'static str, exit: i32, patience: Patience) -> Hostile {
    Hostile { mode, exit, says: "timeout", patience }
}

const STARTING_AND_ENDING: &[Hostile] = &[
    answers("correct", 0, "3 passed"),
    answers("exits-at-start", 3, "process_exited"),
    answers("missing-dependency", 3, "process_exited"),
    hangs("hangs-at-start", 3, Patience::ShortStart),
    answers("slow-start", 0, "3 passed"),
    answers("legacy-strict", 0, "3 passed"),
    answers("ignores-eof", 0, "3 passed"),
    answers("spawns-child", 0, "3 passed"),
    answers("stderr-flood", 0, "3 passed"),
];

const IN_LISTS_AND_CALLS: &[Hostile] = &[
    hangs("hangs-at-tools-list", 1, Patience::ShortRequest),
    answers("cursor-loop", 1, "cursor-loop"),
    answers("paginated", 0, "3 passed"),
    answers("lists-twice", 1, "duplicate-listing"),
    hangs("hangs-in-call", 1, Patience::ShortRequest),
    answers("dies-in-call, '2'", 1, "process_exited"),
    answers("killed-in-call, '2'", 1, "process_exited"),
    answers("closes-stdout-but-lives", 1, "protocol_error"),
    answers("fails-once", 1, "2 passed, 1 failed"),
];

const WRITING: &[Hostile] = &[
    answers("junk-once", 1, "stray-output"),
    answers("junk-between", 1, "stray-output"),
    answers("junk-forever", 1, "protocol_error"),
    answers("notifies-forever", 3, "100,000 messages"),
    answers("wrong-id", 1, "wrong-id"),
    answers("id-as-text", 1, "wrong-id"),
    answers("answers-twice", 1, "answered-twice"),
    answers("result-and-error", 1, "malformed-envelope"),
    answers("no-jsonrpc", 1, "malformed-envelope"),
    answers("huge-line", 1, "words come back"),
    answers("invalid-utf8", 1, "stray-output"),
    answers("lone-surrogate", 1, "stray-output"),
    answers("error-without-message", 1, "malformed-envelope"),
    answers("notification-with-id", 1, "malformed-envelope"),
    answers("server-request", 1, "sampling/createMessage"),
    answers("hostile-text", 1, "words come back"),
];

/// Looked at with the derived checks: is what must be refused refused?
const DERIVED: &[Hostile] = &[
    answers("correct", 0, "passed"),
    answers("accepts-anything", 1, "refused"),
    answers("refuses-everything", 1, "inconclusive"),
    answers("wrong-structured", 1, "output-schema"),
];

#[test]
fn servers_that_start_or_end_badly() {
    check("plain", STARTING_AND_ENDING);
}

#[test]
fn servers_that_fail_in_lists_and_calls() {
    check("plain", IN_LISTS_AND_CALLS);
}

#[test]
fn servers_that_write_what_they_must_not() {
    check("plain", WRITING);
}

#[test]
fn servers_that_refuse_too_little_or_too_much() {
    check("blocks", DERIVED);
}

#[test]
fn every_mode_is_run() {
    let script = fs::read_to_string(root().join("tests/servers/hostile.py")).unwrap();
    let modes = script.split("@mode\ndef ").skip(1).map(|text| text.split('(').next().unwrap().replace('_', "-"));
    let run: Vec<&str> = [STARTING_AND_ENDING, IN_LISTS_AND_CALLS, WRITING, DERIVED]
        .into_iter()
        .flatten()
        .map(|hostile| hostile.mode.split(',').next().unwrap())
        .collect();
    let forgotten: Vec<String> = modes.filter(|mode| !run.contains(&mode.as_str())).collect();
    assert!(forgotten.is_empty(), "no test runs {forgotten:?}");
}

/// Runs `tests/hostile/{suite}.yml` against every server; all surprises at once.
fn check(suite: &str, servers: &[Hostile]) {
    let text = fs::read_to_string(root().join(format!("tests/hostile/{suite}.yml"))).unwrap();
    let surprises: Vec<String> = servers.iter().flat_map(|hostile| surprises(suite, &text, hostile)).collect();
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn surprises(suite: &str, text: &str, hostile: &Hostile) -> Vec<String> {
    let name = format!("{suite}-{}", hostile.mode.replace([',', '\''], "").replace(' ', "-"));
    let scene = Scene::new(&format!("hostile/{name}"));
    let (start, request) = match hostile.patience {
        Patience::Long => ("30s", "30s"),
        Patience::ShortStart => ("1s", "30s"),
        Patience::ShortRequest => ("30s", "1s"),
    };
    let text = text.replace("MODE", hostile.mode).replace("START", start).replace("REQUEST", request);
    scene.write("suite.yml", &text);
    let seen = scene.run("run suite.yml --report junit=junit.xml --report json=report.json");
    scene.assert_nothing_survives();
    let junit = scene.line("show junit.xml");
    snapshot(&format!("hostile-{name}"), &format!("{}\n{}", seen.text(), junit.text()));
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{name}: {what}\n{}", seen.text()));
        }
    };
    expect(seen.status == hostile.exit, &format!("exit {} instead of {}", seen.status, hostile.exit));
    expect((seen.stdout.clone() + &junit.stdout).contains(hostile.says), &format!("does not say `{}`", hostile.says));
    expect(is_tame(&seen), "prints control characters");
    expect(is_xml(&scene), "writes a JUnit report that is no XML");
    expect(serde_json::from_str::<serde_json::Value>(&scene.line("show report.json").stdout).is_ok(), "writes no JSON");
    found
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
