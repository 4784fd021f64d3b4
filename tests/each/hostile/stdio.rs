//! Servers over stdio that misbehave: `tests/servers/hostile.py`, one mode a line.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use libtest_mimic::Trial;

use super::{Expected, PAGE, Patience, Run, modes, secrets};
use crate::golden::Golden;
use crate::harness::root;
use crate::test;

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

/// Where the page tells of them.
pub(super) const TABLE: Golden = Golden { file: PAGE, heading: "## Over stdio" };

pub(super) fn runs() -> Vec<Run> {
    let about = modes("hostile.py");
    let of = |(suite, hostile): (&'static str, &'static Hostile)| Run {
        name: format!("stdio::{suite}::{}", hostile.mode.replace([',', '\''], "").replace(' ', "-")),
        page: &TABLE,
        input: about[hostile.bare_mode()].clone(),
        place: if suite == "plain" { "stdio".to_owned() } else { "stdio, derived checks".to_owned() },
        expected: hostile.expected,
        prepare: Box::new(move |scene| {
            let text = fs::read_to_string(root().join(format!("tests/hostile/{suite}.yml"))).unwrap();
            scene.write("suite.yml", &hostile.patience.fill(&text.replace("MODE", hostile.mode)));
        }),
    };
    all().map(of).collect()
}

pub(super) fn further() -> [Trial; 1] {
    [test("hostile::stdio::every_mode_is_run".to_owned(), every_mode_is_run)]
}

fn every_mode_is_run() {
    let run: Vec<&str> = all().map(|(_, hostile)| hostile.bare_mode()).chain([secrets::MODE]).collect();
    let forgotten: Vec<String> = modes("hostile.py").into_keys().filter(|mode| !run.contains(&mode.as_str())).collect();
    assert!(forgotten.is_empty(), "no test runs {forgotten:?}");
}

/// Every server, with the suite that it is run against.
fn all() -> impl Iterator<Item = (&'static str, &'static Hostile)> {
    SUITES.iter().flat_map(|(suite, tables)| tables.iter().copied().flatten().map(move |hostile| (*suite, hostile)))
}

impl Hostile {
    /// The mode without its number.
    fn bare_mode(&self) -> &'static str {
        self.mode.split(',').next().unwrap_or_default()
    }
}
