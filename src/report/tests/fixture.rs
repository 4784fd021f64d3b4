//! A run in which everything happens that a report has to show, hostile text above all.

use crate::event::{
    Attempt, CaseInfo, CaseResult, CaseStarted, Coverage, Event, Exchange, FORMAT, FailureClass, Figure, Finding, Gate,
    Outcome, Phase, Reason, RequirementLevel, RunFinished, RunStarted, ServerReady, ServerStarts, SessionJudged,
    SuiteInfo, UnjudgedReason, UnjudgedTool, UnjudgedTools,
};
use crate::source::Quote;
use crate::taxonomy::score::{self, FamilyScore, Score, Status, Tally, Taxonomy};
use crate::transport::TransportKind;

/// Texts of hostile servers: escapes, bidi overrides, markup, the end of CDATA, what XML refuses.
pub(crate) const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}gnp.exe\u{2066} <script>alert('x')</script> ]]> \
                                  &amp; \0\u{8}\u{c}\u{7f}\u{9b}31m\u{feff}\u{fffe}\u{ffff} | `code` %0A::error::x";

/// The whole run.
pub(crate) fn events() -> Vec<Event> {
    let mut events = vec![Event::RunStarted(started())];
    events.push(ready("examples/users.yml", "users", "2025-11-25", 340_000));
    events.push(ready("examples/users.yml", "staging", "2026-07-28", 1_250_000));
    events.push(ready("examples/users.yml", "users", "2025-11-25", 120_000));
    for result in results() {
        let attempts = u32::try_from(result.earlier.len()).unwrap() + 1;
        events.extend((1..=attempts).map(|attempt| start(&result, attempt)));
        events.push(Event::CaseFinished(Box::new(result)));
    }
    events.push(Event::SessionJudged(judged(4)));
    events.push(Event::SessionJudged(judged(9)));
    events.push(Event::RunFinished(Box::new(finished())));
    events
}

fn started() -> RunStarted {
    let suite = |file: &str, name: &str| SuiteInfo {
        file: file.into(),
        name: name.into(),
        from_command_line: false,
        command: None,
    };
    RunStarted {
        format: FORMAT,
        program: "mcprove 0.1.0".into(),
        started_unix_ms: 1_767_225_600_000,
        suites: vec![suite("examples/users.yml", "Users service"), suite("examples/empty.yml", "Nothing to run")],
        paths: None,
        planned: 20,
        seed: None,
        shard: None,
        parts: None,
    }
}

pub(crate) fn finished() -> RunFinished {
    let gates = vec![
        Gate { figure: Figure::Plain, threshold: 40.0, met: true, not_judged: false },
        Gate { figure: Figure::Weighted, threshold: 62.5, met: false, not_judged: false },
    ];
    let coverage = Coverage {
        declared: score(score::Level::Declared, 2),
        exercised: score(score::Level::Exercised, 1),
        gates,
        claimed: Vec::new(),
        suites: Vec::new(),
    };
    RunFinished {
        duration_us: 12_345_678,
        interrupted: true,
        ended_by: None,
        not_run: 2,
        coverage: Some(coverage),
        isolation: None,
        sections: Vec::new(),
        starts: ServerStarts::default(),
        proof: None,
        unjudged: vec![unjudged()],
        tools: Vec::new(),
        fails_on_flaky: false,
        servers: Vec::new(),
        shard: None,
        stale_snapshots: vec!["snapshots/users/gone.json".to_owned()],
    }
}

/// Two tools that were not judged, one with a hostile name.
pub(crate) fn unjudged() -> UnjudgedTools {
    let tool = |name: &str| UnjudgedTool { name: name.to_owned(), server: None };
    UnjudgedTools {
        reason: UnjudgedReason::NotServed,
        message: "2 tools were not judged, since no call was served".to_owned(),
        tools: vec![tool("get_user"), tool(HOSTILE)],
        answer: Some(HOSTILE.to_owned()),
        help: "give valid arguments with `arguments: { get_user: { … } }`".to_owned(),
    }
}

/// One family of two leaves.
fn score(level: score::Level, counted: usize) -> Score {
    let leaves = Tally { counted, of: 2 };
    let percent = if counted == 2 { 100.0 } else { 50.0 };
    let family = FamilyScore {
        id: "TOOL".into(),
        name: "Tool calls".into(),
        weight: 0.25,
        status: if counted == 2 { Status::Covered } else { Status::Partial },
        leaves,
        variants: Tally { counted, of: 3 },
        by_leaf: Vec::new(),
    };
    let covered = Tally { counted: counted / 2, of: 1 };
    let (variants, families) = (family.variants, vec![family]);
    Score {
        taxonomy: Taxonomy { version: "1.0.0".into(), registry: None },
        level,
        percent,
        weighted: percent,
        leaves,
        variants,
        covered,
        claimed: Vec::new(),
        claimed_variants: Vec::new(),
        without_claims: None,
        families,
    }
}

fn ready(file: &str, server: &str, revision: &str, ready_us: u64) -> Event {
    Event::ServerReady(ServerReady {
        file: file.into(),
        server: server.into(),
        transport: TransportKind::Stdio,
        revision: revision.into(),
        implementation: Some("users-server 2.1".into()),
        ready_us,
    })
}

fn start(result: &CaseResult, attempt: u32) -> Event {
    let CaseInfo { id, file, name, .. } = result.case.clone();
    Event::CaseStarted(CaseStarted { id, file, name, attempt })
}

fn judged(frame: u32) -> SessionJudged {
    let message = "the server wrote a line to stdout that is not a message: expected value";
    let found = Finding { frame: Some(frame), ..Finding::new("stray-output", message) };
    SessionJudged {
        file: "examples/users.yml".into(),
        suite: "Users service".into(),
        line: 5,
        from_command_line: false,
        server: "users".into(),
        revision: "2025-11-25".into(),
        findings: vec![found.with_evidence("stray output", format!("Listening on stdio {HOSTILE}"))],
    }
}

/// The cases in the order in which they finish, which is not the declared one.
fn results() -> Vec<CaseResult> {
    let mut all =
        vec![crashed(), unreadable_answer(), flaky(), wrong_value(), hostile(), huge(), warned(), undecided()];
    all.push(passed(18, "a created user can be read back", Some("name=Ann")));
    all.push(CaseResult {
        case: info(18, "a created user can be read back", Some("name=漢字 👩\u{200d}🚀")),
        ..passed(18, "", None)
    });
    all.push(skipped(70, "a tool of a block to come"));
    all.push(skipped(71, "another tool of a block to come"));
    all.extend((0..12).map(same_cause));
    all.push(other_server());
    all.push(known());
    all.push(half_known());
    all.push(of_other_file());
    all
}

fn info(line: usize, name: &str, row: Option<&str>) -> CaseInfo {
    let shown_row = row.map(|row| format!("[{row}]")).unwrap_or_default();
    CaseInfo {
        id: format!("examples/users.yml::{name}{shown_row}@users/auto"),
        file: "examples/users.yml".into(),
        line,
        column: 5,
        from_command_line: false,
        position: Vec::new(),
        suite: "Users service".into(),
        name: name.into(),
        row: row.map(str::to_owned),
        server: "users".into(),
        revision: "auto".into(),
        tags: vec!["smoke".into()],
        probes: Vec::new(),
        variants: vec!["TOOL-ERROR-AS-SUCCESS".into()],
        claims: Vec::new(),
        rule: None,
    }
}

/// A case that passed, which the others are made from.
pub(crate) fn passed(line: usize, name: &str, row: Option<&str>) -> CaseResult {
    let again = match row {
        Some(row) => format!("mcprove run examples/users.yml:{line} --row '{row}'"),
        None => format!("mcprove run examples/users.yml:{line}"),
    };
    CaseResult {
        case: info(line, name, row),
        outcome: Outcome::Passed,
        reason: None,
        duration_us: 3_400,
        earlier: Vec::new(),
        repetitions: Vec::new(),
        findings: Vec::new(),
        exchanges: vec![exchange("get_user", r#"{"id":"u1"}"#, r#"{"content":[],"structuredContent":{"name":"Ann"}}"#)],
        protocol_revision: "2025-11-25".into(),
        rerun_command: again,
        judged: vec!["TOOL-ERROR-AS-SUCCESS".into()],
        frames: vec![13, 14, 15],
    }
}

pub(crate) fn exchange(tool: &str, sent: &str, received: &str) -> Exchange {
    Exchange {
        phase: Phase::Steps,
        title: format!("tools/call {tool}"),
        tool: Some(tool.to_owned()),
        sent: sent.into(),
        received: received.into(),
        frame: 14,
        answer_frame: (!received.is_empty()).then_some(15),
        elapsed_us: 3_100,
    }
}

fn quote(line: usize, text: &str, marked: &str, label: &str) -> Quote {
    let start = text.find(marked).unwrap();
    Quote {
        file: "examples/users.yml".into(),
        line,
        column: text[..start].chars().count() + 1,
        text: text.into(),
        marked: (start, start + marked.len()),
        label: label.into(),
    }
}

/// The same case, failed.
pub(crate) fn failed(result: CaseResult, findings: Vec<Finding>) -> CaseResult {
    CaseResult { outcome: Outcome::Failed, findings, judged: Vec::new(), ..result }
}

fn unreadable_answer() -> CaseResult {
    let line = r#"    expect: [{ is_error: true }, { readable_error: { names: "{{ id }}", suggests: list_users } }]"#;
    let found = Finding {
        quote: Some(quote(34, line, "readable_error", "names neither `nope` nor a tool to try next")),
        exchange: Some(0),
        frame: Some(15),
        ..Finding::new("readable-error", "a model could not act on this answer")
    };
    let answer = r#"{"content":[{"type":"text","text":"not found"}],"isError":true}"#;
    let result = passed(31, "unknown users are explained", Some("id=nope"));
    failed(CaseResult { exchanges: vec![exchange("get_user", r#"{"id":"nope"}"#, answer)], ..result }, vec![found])
}

/// Two findings about one answer, one of them with a difference, and an earlier attempt.
fn wrong_value() -> CaseResult {
    let found = Finding {
        quote: Some(quote(22, "      - { at: result.structuredContent.name, equals: Ann }", "equals: Ann", "is `Bob`")),
        path: Some("result.structuredContent.name".into()),
        expected: Some("\"Ann\"".into()),
        actual: Some("\"Bob\"".into()),
        exchange: Some(0),
        ..Finding::new("equals", "the value differs from what is expected")
    };
    let lines: Vec<String> = (1..=30).map(|n| format!("-   \"line {n}\": 1\n+   \"line {n}\": 2\n")).collect();
    let other = Finding {
        quote: Some(quote(23, "      - includes: big.json", "includes", "")),
        expected: Some("a long object".into()),
        actual: Some("another long object".into()),
        diff: Some(lines.concat()),
        exchange: Some(0),
        help: Some("`--update` takes the answer as the expectation".into()),
        ..Finding::new("includes", "30 members differ")
    };
    let attempt = Attempt { outcome: Outcome::Failed, duration_us: 5_000, findings: vec![found.clone()] };
    let result = passed(20, "a user has a name", None);
    failed(CaseResult { earlier: vec![attempt.clone(), attempt], ..result }, vec![found, other])
}

fn crashed() -> CaseResult {
    let stderr: Vec<String> = (1..=40).map(|n| format!("  at handler (server.js:{n}:1)\r\n")).collect();
    let found = Finding::failure(FailureClass::ProcessExited, "the server ended while `export` was running")
        .with_evidence("exit status", "signal 11 (SIGSEGV)")
        .with_evidence("stderr", stderr.concat());
    CaseResult {
        outcome: Outcome::Errored,
        reason: Some(Reason::ServerUnavailable("the server ended while `export` was running".into())),
        findings: vec![found],
        exchanges: vec![exchange("export", r#"{"format":"csv"}"#, "")],
        duration_us: 2_500_000,
        ..passed(40, "an export is complete", None)
    }
}

fn flaky() -> CaseResult {
    let found = Finding::failure(FailureClass::Timeout, "timeout after 10 s, server alive, nothing on stderr");
    let attempt = Attempt { outcome: Outcome::Failed, duration_us: 10_000_000, findings: vec![found] };
    CaseResult { earlier: vec![attempt], ..passed(28, "a user can be renamed", None) }
}

fn hostile() -> CaseResult {
    let found = Finding {
        quote: Some(quote(50, "  - name: \u{202e}evil\u{202c} \u{9b}31m name", "evil", HOSTILE)),
        path: Some(format!("result.{HOSTILE}")),
        expected: Some(HOSTILE.into()),
        actual: Some(format!("{HOSTILE}\n✓ forged line")),
        exchange: Some(0),
        help: Some(HOSTILE.into()),
        ..Finding::new("contains", format!("the server said {HOSTILE}\n✗ forged failure"))
    };
    let exchanges = vec![exchange(HOSTILE, HOSTILE, HOSTILE)];
    let result =
        CaseResult { exchanges, rerun_command: format!("mcprove run {HOSTILE}"), ..passed(50, HOSTILE, Some(HOSTILE)) };
    failed(result, vec![found.with_evidence("stderr", HOSTILE).with_evidence(HOSTILE, HOSTILE)])
}

/// A mebibyte in every place.
fn huge() -> CaseResult {
    let text = format!("begin {} end", "0123456789abcdef".repeat(1 << 16));
    let found = Finding {
        actual: Some(text.clone()),
        diff: Some(text.clone()),
        exchange: Some(0),
        ..Finding::new("length", "the answer is longer than 1 KiB")
    };
    let result =
        CaseResult { exchanges: vec![exchange("export", &text, &text)], ..passed(52, "an export is short", None) };
    failed(result, vec![found.with_evidence("stderr", text)])
}

fn warned() -> CaseResult {
    let message = "the tool has no description, so a model cannot tell when to call it";
    let found = Finding { level: RequirementLevel::Should, ..Finding::new("tool-description", message) };
    let mut result =
        CaseResult { outcome: Outcome::Warned, findings: vec![found], ..passed(60, "schema lint: export", None) };
    result.case.probes = vec!["schema-lint".into(), "compliance".into()];
    result
}

fn undecided() -> CaseResult {
    let reason =
        Some(Reason::NotEvaluated("no valid call of `export` was served, so its refusals prove nothing".into()));
    CaseResult { outcome: Outcome::Inconclusive, reason, ..passed(62, "export without `format` is refused", None) }
}

fn skipped(line: usize, name: &str) -> CaseResult {
    let reason = Some(Reason::SkippedBySuite("not available yet".into()));
    let exchanges = Vec::new();
    CaseResult { outcome: Outcome::Skipped, reason, duration_us: 0, exchanges, ..passed(line, name, None) }
}

fn same_cause(number: usize) -> CaseResult {
    let found = Finding::failure(FailureClass::ConnectionRefused, "nothing listens on 127.0.0.1");
    failed(passed(80, &format!("tool_{number} answers"), None), vec![found])
}

fn other_server() -> CaseResult {
    let mut result = passed(18, "a created user can be read back", Some("name=Ann"));
    result.case.id = "examples/users.yml::a created user can be read back[name=Ann]@staging/2026-07-28".into();
    result.case.server = "staging".into();
    result.case.revision = "2026-07-28".into();
    result.protocol_revision = "2026-07-28".into();
    failed(result, vec![Finding::new("expect", "no answer holds `id`")])
}

fn excused(finding: Finding) -> Finding {
    Finding { baseline_reason: Some("issue 17: the server forgets users".into()), ..finding }
}

/// Failed as the baseline says.
fn known() -> CaseResult {
    let found = Finding {
        quote: Some(quote(91, "      - { at: result.structuredContent.users, length: 2 }", "length: 2", "is 1")),
        exchange: Some(0),
        ..Finding::new("length", "the length differs")
    };
    failed(passed(90, "users are kept", None), vec![excused(found)])
}

/// Failed as the baseline says, and in a new way.
fn half_known() -> CaseResult {
    let new = Finding::new("readable-error", "the error does not name `u1`");
    let old = excused(Finding::new("length", "the length differs"));
    failed(passed(93, "users are kept for long", None), vec![new, old])
}

fn of_other_file() -> CaseResult {
    let mut result = passed(3, "ping is answered", None);
    result.case.file = "builtin:compliance".into();
    result.case.suite = "Compliance".into();
    result.case.id = "builtin:compliance::ping is answered@users/auto".into();
    result
}
