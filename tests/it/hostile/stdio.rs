//! Servers over stdio that misbehave: `tests/servers/hostile.py`, one mode a line.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use super::{Expected, Patience, Row, judge, modes, secrets};
use crate::harness::{Scene, root, snapshot};

/// A mode of `tests/servers/hostile.py` and what must become of it.
struct Hostile {
    mode: &'static str,
    expected: Expected,
    /// Where the test waits for the end of a timeout.
    patience: Patience,
}

/// A server that answers.
const fn answers(mode: &'static str, exit: i32, says: &'static str) -> Hostile {
    Hostile { mode, expected: Expected { exit, says }, patience: Patience::Long }
}

/// A server that lets mcprove wait.
const fn hangs(mode: &'static str, exit: i32, patience: Patience) -> Hostile {
    Hostile { mode, expected: Expected { exit, says: "timeout" }, patience }
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
    answers("lists-nothing", 1, "2 passed, 1 failed"),
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
    answers("error-without-message", 1, "incomplete-error"),
    answers("notification-with-id", 1, "notification-with-id"),
    answers("server-request", 1, "sampling/createMessage"),
    answers("hostile-text", 1, "words come back"),
];

/// Looked at with the derived checks: is what must be refused refused?
const DERIVED: &[Hostile] = &[
    answers("correct", 0, "passed"),
    answers("accepts-anything", 1, "forbidden-served"),
    answers("serves-malformed", 1, "malformed-served"),
    answers("refuses-everything", 1, "inconclusive"),
    answers("wrong-structured", 1, "output-schema"),
    answers("text-diverges", 0, "text-divergence"),
];

/// The same: how are they refused?
const BADLY_REFUSED: &[Hostile] = &[
    answers("crashes-on-bad-arguments", 1, "process_exited"),
    answers("ends-after-refusal", 1, "process_exited"),
    answers("dies-of-broken-json", 1, "process_exited"),
    hangs("hangs-on-nothing", 1, Patience::ShortRequest),
    answers("refuses-without-words", 1, "refusal-without-reason"),
    answers("refuses-with-stack", 0, "refusal-with-stack"),
    answers("breaks-on-bad-arguments", 1, "refusal-code"),
];

/// What each of them is run against: `tests/hostile/{suite}.yml`.
const SUITES: &[(&str, &[&[Hostile]])] =
    &[("plain", &[STARTING_AND_ENDING, IN_LISTS_AND_CALLS, WRITING]), ("blocks", &[DERIVED, BADLY_REFUSED])];

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
fn servers_that_refuse_badly() {
    check("blocks", BADLY_REFUSED);
}

#[test]
fn every_mode_is_run() {
    let run: Vec<&str> = all().map(|(_, hostile)| hostile.bare_mode()).chain([secrets::MODE]).collect();
    let forgotten: Vec<String> = modes("hostile.py").into_keys().filter(|mode| !run.contains(&mode.as_str())).collect();
    assert!(forgotten.is_empty(), "no test runs {forgotten:?}");
}

/// Every server, with the suite that it is run against.
fn all() -> impl Iterator<Item = (&'static str, &'static Hostile)> {
    SUITES.iter().flat_map(|(suite, tables)| tables.iter().copied().flatten().map(move |hostile| (*suite, hostile)))
}

/// What `docs/robustness.md` says about them.
pub(super) fn rows() -> Vec<Row> {
    let about = modes("hostile.py");
    let of = |(suite, hostile): (&str, &Hostile)| Row {
        input: about[hostile.bare_mode()].clone(),
        place: if suite == "plain" { "stdio".to_owned() } else { "stdio, derived checks".to_owned() },
        snapshot: format!("hostile-{}", hostile.name(suite)),
        section: 0,
    };
    all().map(of).collect()
}

impl Hostile {
    /// The mode without its number.
    fn bare_mode(&self) -> &'static str {
        self.mode.split(',').next().unwrap_or_default()
    }

    fn name(&self, suite: &str) -> String {
        format!("{suite}-{}", self.mode.replace([',', '\''], "").replace(' ', "-"))
    }
}

/// Runs a suite against every server; all surprises at once.
fn check(suite: &str, servers: &[Hostile]) {
    let text = fs::read_to_string(root().join(format!("tests/hostile/{suite}.yml"))).unwrap();
    let surprises: Vec<String> = servers.iter().flat_map(|hostile| surprises(suite, &text, hostile)).collect();
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn surprises(suite: &str, text: &str, hostile: &Hostile) -> Vec<String> {
    let name = hostile.name(suite);
    let scene = Scene::new(&format!("hostile/{name}"));
    scene.write("suite.yml", &hostile.patience.fill(&text.replace("MODE", hostile.mode)));
    let judged = judge(&scene, &hostile.expected);
    snapshot(&format!("hostile-{name}"), &format!("{}\n{}", judged.shown, judged.junit));
    judged.surprises
}
