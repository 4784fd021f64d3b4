//! Servers over HTTP that misbehave: `tests/servers/hostile_http.py`, one mode a line, in the eras where it applies.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use libtest_mimic::Trial;

use super::{Expected, PAGE, Patience, Run, modes, secrets};
use crate::golden::Golden;
use crate::harness::root;
use crate::test;

/// A mode of `tests/servers/hostile_http.py` and what must become of it.
struct Hostile {
    mode: &'static str,
    expected: Expected,
    place: Place,
    revisions: &'static [&'static str],
    patience: Patience,
}

/// When the fault strikes.
#[derive(Clone, Copy)]
enum Place {
    /// From the first request on.
    Start,
    /// In the second call.
    Call,
}

impl Place {
    fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Call => "call",
        }
    }
}

const BOTH: &[&str] = &["2025-11-25", "2026-07-28"];
const SESSIONS: &[&str] = &["2025-11-25"];
const STATELESS: &[&str] = &["2026-07-28"];
const AUTO: &[&str] = &["auto"];

/// A fault in the second call, in both eras.
const fn in_call(mode: &'static str, exit: i32, says: &'static str) -> Hostile {
    let expected = Expected { exit, says };
    Hostile { mode, expected, place: Place::Call, revisions: BOTH, patience: Patience::Long }
}

/// A fault in every answer, in both eras.
const fn at_start(mode: &'static str, exit: i32, says: &'static str) -> Hostile {
    Hostile { place: Place::Start, ..in_call(mode, exit, says) }
}

/// A server that does nothing wrong, or nothing that counts.
const fn right(mode: &'static str) -> Hostile {
    in_call(mode, 0, "3 passed")
}

impl Hostile {
    const fn only(self, revisions: &'static [&'static str]) -> Self {
        Self { revisions, ..self }
    }

    const fn hangs(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }
}

const RIGHT: &[Hostile] = &[
    right("correct"),
    right("correct").only(AUTO),
    right("correct-json"),
    right("without-sessions").only(SESSIONS),
    right("listens-late"),
    right("ignores-sigterm"),
    right("says-close"),
    right("gzip-where-any-coding-will-do"),
    right("closes-each-time"),
    right("bytes-one-by-one"),
    right("events-split-at-every-byte"),
    right("crlf-events"),
    right("cr-events"),
    right("bom-in-stream"),
    right("odd-events"),
    right("retry-0"),
    right("retry-huge"),
    right("notifies-first"),
    right("stays-open"),
    right("cut-after-answer"),
    in_call("no-result-type", 1, "result-without-type").only(STATELESS),
];

const CONNECTIONS: &[Hostile] = &[
    at_start("exits-at-start", 3, "process_exited"),
    at_start("never-listens", 3, "timeout").hangs(Patience::ShortStart),
    at_start("dies", 3, "process_exited"),
    in_call("dies", 1, "process_exited"),
    at_start("hangs-up", 3, "connection_lost"),
    at_start("speaks-ssh", 3, "is not HTTP"),
    at_start("resets-before-headers", 3, "connection_lost"),
    in_call("resets-before-headers", 1, "connection_lost"),
    in_call("closes-before-headers", 1, "connection_lost"),
    at_start("resets-after-headers", 3, "connection_lost"),
    in_call("resets-after-headers", 1, "connection_lost"),
    at_start("silent", 3, "timeout").hangs(Patience::ShortStart),
    at_start("silent", 3, "timeout").only(AUTO).hangs(Patience::ShortStart),
    in_call("silent", 1, "timeout").hangs(Patience::ShortRequest),
    in_call("silent-after-headers", 1, "timeout").hangs(Patience::ShortRequest),
    in_call("informs-forever", 1, "timeout").hangs(Patience::ShortRequest),
    in_call("trickles", 1, "timeout").hangs(Patience::ShortRequest),
];

const STATUSES: &[Hostile] = &[
    at_start("status-202", 3, "202 Accepted"),
    in_call("status-202", 1, "202 Accepted"),
    in_call("status-204", 1, "204 No Content"),
    at_start("status-400", 3, "http_status"),
    at_start("status-400", 3, "http_status").only(AUTO),
    in_call("status-400", 1, "http_status"),
    at_start("status-401", 3, "auth_required"),
    in_call("status-401", 1, "auth_required"),
    at_start("status-403", 3, "403 Forbidden"),
    in_call("status-403", 1, "403 Forbidden"),
    at_start("status-404", 3, "404 Not Found"),
    at_start("status-404", 3, "404 Not Found").only(AUTO),
    in_call("status-404", 1, "404 Not Found"),
    at_start("status-405", 3, "405 Method Not Allowed"),
    at_start("status-405", 3, "405 Method Not Allowed").only(AUTO),
    in_call("status-405", 1, "405 Method Not Allowed"),
    in_call("status-406", 1, "406 Not Acceptable"),
    in_call("status-415", 1, "415 Unsupported Media Type"),
    at_start("status-429", 3, "retry-after: 120"),
    in_call("status-429", 1, "retry-after: 120"),
    in_call("status-500", 1, "internal server error"),
    at_start("status-502", 3, "502 Bad Gateway"),
    in_call("status-502", 1, "502 Bad Gateway"),
    in_call("status-503", 1, "retry-after: 1"),
    in_call("status-999", 1, "HTTP 999"),
    in_call("error-with-500", 1, "the database is locked"),
    at_start("redirects-in-a-loop", 3, "redirects"),
    in_call("redirects-in-a-loop", 1, "redirects"),
    at_start("redirects-elsewhere", 3, "another origin"),
    in_call("redirects-elsewhere", 1, "another origin"),
];

const BODIES: &[Hostile] = &[
    at_start("page-with-200", 3, "text/html"),
    at_start("page-with-200", 3, "text/html").only(AUTO),
    in_call("page-with-200", 1, "text/html"),
    in_call("page-as-json", 1, "not JSON"),
    at_start("json-without-rpc", 3, "not a JSON-RPC message"),
    in_call("json-without-rpc", 1, "not a JSON-RPC message"),
    in_call("json-batch", 1, "batch"),
    in_call("wrong-content-type", 1, "text/plain"),
    in_call("no-content-type", 1, "no content type"),
    in_call("empty-200", 1, "protocol_error"),
    in_call("starts-with-bom", 1, "not JSON"),
    in_call("not-text", 1, "not UTF-8"),
    in_call("wrong-id", 1, "wrong-id"),
    in_call("length-too-long", 1, "connection_lost"),
    in_call("length-too-short", 1, "not JSON"),
    in_call("two-lengths", 1, "is not HTTP"),
    in_call("truncated-chunk", 1, "connection_lost"),
    in_call("broken-chunk", 1, "connection_lost"),
    in_call("hostile-page", 1, "500 Internal Server Error"),
    in_call("hostile-headers", 1, "is not HTTP"),
    in_call("unknown-method-with-200", 1, "Method not found"),
];

const TOO_MUCH: &[Hostile] = &[
    in_call("gzip-unasked", 1, "compressed"),
    in_call("gzip-bomb", 1, "compressed"),
    at_start("endless-body", 3, "64 MiB"),
    in_call("endless-body", 3, "64 MiB"),
    in_call("headers-of-a-mebibyte", 3, "its headers"),
    in_call("ten-thousand-headers", 3, "its headers"),
    in_call("endless-headers", 3, "its headers"),
    in_call("endless-event", 3, "64 MiB"),
    in_call("notifies-forever", 1, "100,000 messages"),
    in_call("comments-forever", 1, "timeout").hangs(Patience::ShortRequest),
];

const STREAMS: &[Hostile] = &[
    at_start("cut-in-event", 3, "connection_lost"),
    in_call("cut-in-event", 1, "connection_lost"),
    in_call("ends-in-event", 1, "connection_lost"),
    in_call("ends-without-blank-line", 1, "connection_lost"),
    in_call("comments-only", 1, "without an answer"),
    in_call("junk-event", 1, "malformed-envelope"),
    in_call("unknown-event", 1, "without an answer"),
    in_call("answers-twice", 1, "answered-twice"),
    in_call("id-as-text", 1, "wrong-id"),
    in_call("server-request", 1, "sampling/createMessage"),
    right("resumes").only(SESSIONS),
    in_call("resumes", 1, "without an answer").only(STATELESS),
    in_call("resumes-never", 1, "without an answer"),
    in_call("forgets-streams", 1, "without an answer").only(SESSIONS),
];

const ERAS: &[Hostile] = &[
    in_call("session-lost", 1, "no longer knows the session").only(SESSIONS),
    in_call("sessions-always-lost", 1, "no longer knows the session").only(SESSIONS),
    right("odd-session-id").only(SESSIONS),
    in_call("bad-session-id", 1, "session").only(SESSIONS),
    right("huge-session-id").only(SESSIONS),
    right("session-id-changes").only(SESSIONS),
    in_call("notifications-refused", 1, "refused-notification").only(SESSIONS),
    right("notifications-answered").only(SESSIONS),
    right("get-refused").only(SESSIONS),
    right("get-page").only(SESSIONS),
    right("get-silent").only(SESSIONS),
    right("get-ends").only(SESSIONS),
    right("get-floods").only(SESSIONS),
    right("delete-refused").only(SESSIONS),
    right("delete-silent").only(SESSIONS),
    right("delete-fails").only(SESSIONS),
    at_start("speaks-tomorrow", 4, "2031-01-01"),
];

const TABLES: &[&[Hostile]] = &[RIGHT, CONNECTIONS, STATUSES, BODIES, TOO_MUCH, STREAMS, ERAS];

/// Where the page tells of them.
pub(super) const TABLE: Golden = Golden { file: PAGE, heading: "## Over HTTP" };

pub(super) fn runs() -> Vec<Run> {
    let about = modes("hostile_http.py");
    let of = |(hostile, revision): (&'static Hostile, &'static str)| Run {
        name: format!("http::{}::{}::{revision}", hostile.mode, hostile.place.as_str()),
        page: &TABLE,
        input: about[hostile.mode].clone(),
        place: format!("{revision}, {}", hostile.place.as_str()),
        expected: hostile.expected,
        prepare: Box::new(move |scene| {
            let text = fs::read_to_string(root().join("tests/hostile/http.yml")).unwrap();
            let suite = text.replace("MODE", hostile.mode).replace("PLACE", hostile.place.as_str());
            scene.write("suite.yml", &hostile.patience.fill(&suite.replace("REVISION", revision)));
        }),
    };
    let all = TABLES.iter().copied().flatten();
    all.flat_map(|hostile| hostile.revisions.iter().map(move |revision| (hostile, *revision))).map(of).collect()
}

pub(super) fn further() -> [Trial; 1] {
    [test("hostile::http::every_mode_is_run".to_owned(), every_mode_is_run)]
}

fn every_mode_is_run() {
    let run: Vec<&str> = TABLES.iter().copied().flatten().map(|hostile| hostile.mode).chain([secrets::MODE]).collect();
    let forgotten: Vec<String> =
        modes("hostile_http.py").into_keys().filter(|mode| !run.contains(&mode.as_str())).collect();
    assert!(forgotten.is_empty(), "no test runs {forgotten:?}");
}
