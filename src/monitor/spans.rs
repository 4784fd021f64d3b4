//! One run of a target as the spans of a trace, in the form of OpenTelemetry.
//!
//! Attributes follow the semantic conventions for MCP, `GenAI` and tests where there are some; all others begin with
//! `mcprove.`. Texts of servers are short lines.

use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::ledger::TargetName;
use super::metrics::label_value;
use super::otlp::{Attributes, nanos};
use super::run_trace::{RequestError, RunTrace, TracedCase, TracedRequest};
use super::status::{TargetStatus, TargetVerdict};
use crate::event::Outcome;
use crate::source::{FNV, fnv, mix_hash, shorten, visible_line};
use crate::transport::TransportKind;

/// The longest explanation, in characters: servers write it.
const LONGEST_DETAIL: usize = 500;

/// The span is sampled, and its parent is of this process.
const FLAGS: u32 = 0x101;

/// A run that is over, with everything that its trace says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedRun {
    /// `file@server/revision`.
    pub id: String,
    /// The names of the target.
    pub name: TargetName,
    /// The verdict of this run.
    pub verdict: TargetVerdict,
    /// The number of this run of the target, counted from one at the start of the monitor.
    pub number: u64,
    /// The number of failed runs in a row, this one included.
    pub failures: u32,
    /// When it ended, as the time since 1970.
    pub ended: Duration,
    /// The time that it took.
    pub took: Duration,
    /// What happened in it.
    pub trace: RunTrace,
}

/// The spans of a run: the run itself, its cases, and their requests.
pub fn spans(run: &TracedRun, trace_id: [u8; 16]) -> Vec<Span> {
    let maker = SpanMaker { trace_id, start: run.ended.saturating_sub(run.took) };
    let root = maker.id(0);
    let mut spans = vec![Span { span_id: root.clone(), ..root_span(run, &maker) }];
    for (case, number) in run.trace.cases.iter().zip(1..) {
        spans.push(Span { span_id: maker.id(number), parent_span_id: root.clone(), ..case_span(case, &maker) });
    }
    let first = run.trace.cases.len() + 1;
    for (request, number) in run.trace.requests.iter().zip(first..) {
        let case = run.trace.cases.iter().position(|case| Some(&case.id) == request.case.as_ref());
        let parent_span_id = case.map_or_else(|| root.clone(), |case| spans[case + 1].span_id.clone());
        spans.push(Span { span_id: maker.id(number), parent_span_id, ..request_span(request, &maker) });
    }
    spans
}

/// What the spans of a trace have in common.
struct SpanMaker {
    trace_id: [u8; 16],
    /// When the run began, as the time since 1970.
    start: Duration,
}

impl SpanMaker {
    /// The id of a span by its number.
    fn id(&self, number: usize) -> Vec<u8> {
        let hash = mix_hash(fnv(fnv(FNV, &self.trace_id), &number.to_le_bytes()));
        // An id of zeros is none.
        hash.max(1).to_be_bytes().into()
    }

    fn span(&self, name: String, kind: SpanKind, began: Duration, ended: Duration) -> Span {
        Span {
            trace_id: self.trace_id.into(),
            flags: FLAGS,
            name,
            kind: kind.into(),
            start_time_unix_nano: nanos(self.start + began),
            end_time_unix_nano: nanos(self.start + ended),
            ..Span::default()
        }
    }
}

fn root_span(run: &TracedRun, maker: &SpanMaker) -> Span {
    let TargetVerdict { status, detail } = &run.verdict;
    let suite_status = match status {
        TargetStatus::Up | TargetStatus::Drift => "success",
        TargetStatus::Timeout => "timed_out",
        TargetStatus::Failed
        | TargetStatus::ProtocolError
        | TargetStatus::AuthRequired
        | TargetStatus::TlsError
        | TargetStatus::ConnectionRefused => "failure",
    };
    let mut attributes = Attributes::default();
    attributes.text("mcprove.target", &run.id);
    attributes.text("mcprove.suite", &run.name.suite);
    attributes.text("mcprove.server", &run.name.server);
    attributes.text("mcprove.revision", &run.name.revision);
    attributes.text("mcprove.result", status.as_str());
    attributes.flag("mcprove.is_up", status.is_serving());
    attributes.count("mcprove.run.number", run.number);
    attributes.count("mcprove.run.failures_in_a_row", run.failures.into());
    if let Some(case) = run.trace.cases.first() {
        attributes.text("test.suite.name", &case.suite);
    }
    attributes.text("test.suite.run.status", suite_status);
    if let Some(request) = run.trace.requests.iter().find(|request| !request.revision.is_empty()) {
        attributes.text("mcp.protocol.version", &request.revision);
    }
    if run.trace.left_out > 0 {
        attributes.count("mcprove.spans_left_out", u64::try_from(run.trace.left_out).unwrap_or(u64::MAX));
    }
    let detail = detail_line(detail);
    if *status == TargetStatus::Drift {
        attributes.detail("mcprove.detail", detail.clone());
    }
    if !status.is_serving() {
        attributes.text("error.type", status.as_str());
    }
    let name = format!("probe {}", label_value(&run.id));
    Span {
        attributes: attributes.into_list(),
        status: (!status.is_serving()).then(|| failed(detail)),
        ..maker.span(name, SpanKind::Internal, Duration::ZERO, run.took)
    }
}

fn case_span(case: &TracedCase, maker: &SpanMaker) -> Span {
    let mut attributes = Attributes::default();
    attributes.text("test.suite.name", &case.suite);
    attributes.text("test.case.name", &case.name);
    let result = match case.outcome {
        Outcome::Passed | Outcome::Warned => Some("pass"),
        Outcome::Failed => Some("fail"),
        Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => None,
    };
    if let Some(result) = result {
        attributes.text("test.case.result.status", result);
    }
    attributes.text("mcprove.outcome", case.outcome.as_str());
    attributes.count("mcprove.attempts", u64::try_from(case.attempts).unwrap_or(u64::MAX));
    attributes.text("code.file.path", &case.file);
    attributes.count("code.line.number", u64::try_from(case.line).unwrap_or(u64::MAX));
    let is_error = matches!(case.outcome, Outcome::Failed | Outcome::Errored);
    let detail = detail_line(&case.detail);
    if is_error {
        attributes.text("error.type", case.code.as_deref().unwrap_or(case.outcome.as_str()));
    } else if !detail.is_empty() {
        attributes.detail("mcprove.detail", detail.clone());
    }
    Span {
        attributes: attributes.into_list(),
        status: is_error.then(|| failed(detail)),
        ..maker.span(format!("test {}", label_value(&case.name)), SpanKind::Internal, case.began, case.ended)
    }
}

fn request_span(request: &TracedRequest, maker: &SpanMaker) -> Span {
    let mut attributes = Attributes::default();
    attributes.text("mcp.method.name", &request.method);
    let method = label_value(&request.method);
    let name = match (request.method.as_str(), &request.about) {
        ("tools/call", Some(tool)) => {
            attributes.text("gen_ai.operation.name", "execute_tool");
            attributes.text("gen_ai.tool.name", tool);
            format!("{method} {}", label_value(tool))
        }
        ("prompts/get", Some(prompt)) => {
            attributes.text("gen_ai.prompt.name", prompt);
            format!("{method} {}", label_value(prompt))
        }
        // Addresses are many, so that they are no part of names.
        ("resources/read", Some(address)) => {
            attributes.text("mcp.resource.uri", address);
            method
        }
        (_, Some(_) | None) => method,
    };
    if let Some(id) = request.id {
        attributes.text("jsonrpc.request.id", &id.to_string());
    }
    if !request.revision.is_empty() {
        attributes.text("mcp.protocol.version", &request.revision);
    }
    match request.transport {
        TransportKind::Stdio => attributes.text("network.transport", "pipe"),
        TransportKind::Http | TransportKind::Sse => {
            attributes.text("network.transport", "tcp");
            attributes.text("network.protocol.name", "http");
        }
        TransportKind::Memory => {}
    }
    let error = request.error.map(|error| match error {
        RequestError::Code(code) => {
            attributes.text("rpc.response.status_code", &code.to_string());
            code.to_string()
        }
        RequestError::Tool => "tool_error".to_owned(),
        RequestError::NoAnswer => "no_answer".to_owned(),
    });
    if let Some(error) = &error {
        attributes.text("error.type", error);
    }
    Span {
        attributes: attributes.into_list(),
        status: error.map(|_| failed(String::new())),
        ..maker.span(name, SpanKind::Client, request.began, request.ended)
    }
}

fn failed(message: String) -> Status {
    Status { message, code: StatusCode::Error.into() }
}

fn detail_line(detail: &str) -> String {
    shorten(&visible_line(detail), LONGEST_DETAIL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::otlp::shown;

    fn case(name: &str, outcome: Outcome) -> TracedCase {
        TracedCase {
            id: format!("s.yml::{name}"),
            name: name.to_owned(),
            suite: "Shop".to_owned(),
            file: "s.yml".to_owned(),
            line: 7,
            began: Duration::from_millis(20),
            ended: Duration::from_millis(50),
            outcome,
            attempts: 1,
            code: None,
            detail: String::new(),
        }
    }

    /// A request in the words `METHOD ABOUT`.
    fn request(words: &str, case: Option<&str>, error: Option<RequestError>) -> TracedRequest {
        let (method, about) = words.split_once(' ').map_or((words, None), |(method, about)| (method, Some(about)));
        TracedRequest {
            case: case.map(|name| format!("s.yml::{name}")),
            method: method.to_owned(),
            about: about.map(str::to_owned),
            began: Duration::from_millis(1),
            ended: Duration::from_millis(2),
            id: Some(4),
            error,
            revision: "2025-11-25".to_owned(),
            transport: TransportKind::Http,
        }
    }

    fn run(status: TargetStatus, detail: &str, cases: Vec<TracedCase>, requests: Vec<TracedRequest>) -> TracedRun {
        TracedRun {
            id: "s.yml@server/auto".to_owned(),
            name: TargetName { suite: "s.yml".into(), server: "server".into(), revision: "auto".into() },
            verdict: TargetVerdict::new(status, detail),
            number: 3,
            failures: 2,
            ended: Duration::from_secs(1_800_000_001),
            took: Duration::from_secs(1),
            trace: RunTrace::of(cases, requests),
        }
    }

    /// A span in one line.
    fn line(span: &Span) -> String {
        let status = span.status.as_ref().map(|status| format!(" !{}:{}", status.code, status.message));
        let attributes: Vec<String> = span.attributes.iter().map(shown).collect();
        format!("{}{} {}", span.name, status.unwrap_or_default(), attributes.join(" "))
    }

    #[test]
    fn spans_stand_below_the_run_and_their_cases() {
        let cases = vec![case("a", Outcome::Passed), case("b", Outcome::Passed)];
        let requests = vec![
            request("initialize", None, None),
            request("tools/call echo", Some("b"), None),
            request("ping", Some("gone"), None),
        ];
        let spans = spans(&run(TargetStatus::Up, "", cases, requests), [7; 16]);
        let parent = |number: usize| spans.iter().position(|span| span.span_id == spans[number].parent_span_id);
        assert_eq!((0..6).map(parent).collect::<Vec<_>>(), [None, Some(0), Some(0), Some(0), Some(2), Some(0)]);
        assert!(spans.iter().all(|span| span.trace_id == [7; 16] && span.span_id.len() == 8));
        let times = |number: usize| (spans[number].start_time_unix_nano, spans[number].end_time_unix_nano);
        assert_eq!(times(0), (1_800_000_000_000_000_000, 1_800_000_001_000_000_000));
        assert_eq!(times(1), (1_800_000_000_020_000_000, 1_800_000_000_050_000_000));
    }

    #[test]
    fn runs() {
        let common = "mcprove.target=s.yml@server/auto mcprove.suite=s.yml mcprove.server=server mcprove.revision=auto";
        let counts = "mcprove.run.number=3 mcprove.run.failures_in_a_row=2";
        for (status, detail, mark, result, end) in [
            (TargetStatus::Up, "", "", "up mcprove.is_up=true", "success"),
            (
                TargetStatus::Drift,
                "`a` was\nremoved",
                "",
                "drift mcprove.is_up=true",
                "success mcprove.detail=`a` was\\u{a}removed",
            ),
            (
                TargetStatus::Timeout,
                "`x`: no answer",
                " !2:`x`: no answer",
                "timeout mcprove.is_up=false",
                "timed_out error.type=timeout",
            ),
            (TargetStatus::TlsError, "", " !2:", "tls_error mcprove.is_up=false", "failure error.type=tls_error"),
        ] {
            let spans = spans(&run(status, detail, Vec::new(), Vec::new()), [1; 16]);
            let expected = format!(
                "probe s.yml@server/auto{mark} {common} mcprove.result={result} {counts} test.suite.run.status={end}"
            );
            assert_eq!(line(&spans[0]), expected);
        }
    }

    #[test]
    fn cases() {
        let place = "mcprove.attempts=1 code.file.path=s.yml code.line.number=7";
        for (outcome, code, detail, mark, result, end) in [
            (Outcome::Passed, None, "", "", "test.case.result.status=pass mcprove.outcome=passed", ""),
            (
                Outcome::Failed,
                Some("equals"),
                "it differs",
                " !2:it differs",
                "test.case.result.status=fail mcprove.outcome=failed",
                " error.type=equals",
            ),
            (Outcome::Errored, None, "it broke", " !2:it broke", "mcprove.outcome=errored", " error.type=errored"),
            (Outcome::Skipped, None, "it writes", "", "mcprove.outcome=skipped", " mcprove.detail=it writes"),
        ] {
            let case = TracedCase { code: code.map(str::to_owned), detail: detail.to_owned(), ..case("asks", outcome) };
            let spans = spans(&run(TargetStatus::Up, "", vec![case], Vec::new()), [1; 16]);
            let names = "test.suite.name=Shop test.case.name=asks";
            assert_eq!(line(&spans[1]), format!("test asks{mark} {names} {result} {place}{end}"));
        }
    }

    #[test]
    fn requests() {
        let rest =
            "jsonrpc.request.id=4 mcp.protocol.version=2025-11-25 network.transport=tcp network.protocol.name=http";
        for (words, error, name, about, end) in [
            ("initialize", None, "initialize", "", ""),
            (
                "tools/call echo",
                Some(RequestError::Tool),
                "tools/call echo !2:",
                " gen_ai.operation.name=execute_tool gen_ai.tool.name=echo",
                " error.type=tool_error",
            ),
            ("prompts/get hi", None, "prompts/get hi", " gen_ai.prompt.name=hi", ""),
            ("resources/read a://b", None, "resources/read", " mcp.resource.uri=a://b", ""),
            (
                "ping",
                Some(RequestError::Code(-32601)),
                "ping !2:",
                "",
                " rpc.response.status_code=-32601 error.type=-32601",
            ),
            ("ping", Some(RequestError::NoAnswer), "ping !2:", "", " error.type=no_answer"),
        ] {
            let spans = spans(&run(TargetStatus::Up, "", Vec::new(), vec![request(words, None, error)]), [1; 16]);
            let method = words.split(' ').next().unwrap();
            assert_eq!(line(&spans[1]), format!("{name} mcp.method.name={method}{about} {rest}{end}"));
        }
    }

    #[test]
    fn texts_of_servers_are_short() {
        let long = "x".repeat(100_000);
        let failing = TracedCase { detail: long.clone(), ..case(&long, Outcome::Failed) };
        let calling = request(&format!("tools/call {long}"), None, None);
        for span in spans(&run(TargetStatus::Failed, &long, vec![failing], vec![calling]), [1; 16]) {
            assert!(line(&span).len() < 2000, "{}", span.name.len());
        }
    }
}
