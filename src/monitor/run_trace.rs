//! What happened when in one run of a target, for a trace: its cases and requests, folded from what a run tells.
//!
//! Holds no arguments and no answers: names, times and how things ended, with secrets masked.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::event::{CaseResult, Event, Outcome, RequirementLevel, SessionTraced, SpanKind};
use crate::redact::Redactor;
use crate::runner::SessionFrames;
use crate::transport::TransportKind;
use crate::wire::{Channel, Direction, Frame};

/// The most cases of a run that are kept.
const MOST_CASES: usize = 500;

/// The most requests of a run that are kept.
const MOST_REQUESTS: usize = 200;

/// What happened when in a run. All times are counted from its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunTrace {
    /// In the order in which they ended.
    pub cases: Vec<TracedCase>,
    /// In the order of sessions.
    pub requests: Vec<TracedRequest>,
    /// The number of cases and requests beyond the limits.
    pub left_out: usize,
    /// The beginnings of cases that have not ended, by id.
    begun: BTreeMap<String, Duration>,
}

/// A case of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedCase {
    /// Its id, which is unique in the run.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The suite's name.
    pub suite: String,
    /// The file in which it is written.
    pub file: String,
    /// The line there.
    pub line: usize,
    /// When its first attempt began.
    pub began: Duration,
    /// When its verdict was known.
    pub ended: Duration,
    /// The outcome.
    pub outcome: Outcome,
    /// The number of attempts.
    pub attempts: usize,
    /// The code of the finding that decided it.
    pub code: Option<String>,
    /// That finding in one sentence, or the reason for any other outcome.
    pub detail: String,
}

/// A request to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedRequest {
    /// The id of the case that it belongs to; `None` for handshakes and lists.
    pub case: Option<String>,
    /// The method.
    pub method: String,
    /// The tool, prompt or resource that it is about.
    pub about: Option<String>,
    /// When it was sent.
    pub began: Duration,
    /// When its answer came; without one, when the session ended.
    pub ended: Duration,
    /// Its id, where that is a number.
    pub id: Option<i64>,
    /// Why it did not succeed.
    pub error: Option<RequestError>,
    /// The revision that was spoken.
    pub revision: String,
    /// The transport of messages.
    pub transport: TransportKind,
}

/// Why a request did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// The answer is an error with this code.
    Code(i64),
    /// The tool itself reported a failure.
    Tool,
    /// No answer came.
    NoAnswer,
}

impl RunTrace {
    /// A run in which this happened.
    #[cfg(test)]
    pub(super) fn of(cases: Vec<TracedCase>, requests: Vec<TracedRequest>) -> Self {
        Self { cases, requests, ..Self::default() }
    }

    /// Takes in an event that was told at this time.
    pub fn on_event(&mut self, event: &Event, at: Duration) {
        match event {
            Event::CaseStarted(started) => {
                if self.begun.len() < MOST_CASES {
                    self.begun.entry(started.id.clone()).or_insert(at);
                }
            }
            Event::CaseFinished(result) => self.on_case(result, at),
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
    }

    fn on_case(&mut self, result: &CaseResult, at: Duration) {
        let began = self.begun.remove(&result.case.id).unwrap_or(at);
        if self.cases.len() >= MOST_CASES {
            self.left_out += 1;
            return;
        }
        let broken = || result.findings.iter().find(|finding| finding.level == RequirementLevel::Must);
        let decided_by = match result.outcome {
            Outcome::Failed | Outcome::Errored => broken(),
            Outcome::Warned => result.findings.first(),
            Outcome::Passed | Outcome::Skipped | Outcome::Inconclusive => None,
        };
        let reason = || result.reason.as_ref().map(ToString::to_string);
        self.cases.push(TracedCase {
            id: result.case.id.clone(),
            name: result
                .case
                .row
                .as_ref()
                .map_or_else(|| result.case.name.clone(), |row| format!("{}[{row}]", result.case.name)),
            suite: result.case.suite.clone(),
            file: result.case.file.clone(),
            line: result.case.line,
            began,
            ended: at,
            outcome: result.outcome,
            attempts: result.earlier.len() + 1,
            code: decided_by.map(|finding| finding.code.to_string()),
            detail: decided_by.map(|finding| finding.message.clone()).or_else(reason).unwrap_or_default(),
        });
    }

    /// Takes in a session that began at this time and is over.
    pub fn on_session(&mut self, session: &SessionFrames, redactor: &Redactor, began: Duration) {
        let mask = |text: &str| redactor.text(text);
        let mut event = Event::SessionTraced(Box::new(session.trace(began)));
        event.change_texts(&mask);
        if let Event::SessionTraced(traced) = event {
            self.take(*traced, requests_of(&session.frames, &mask));
        }
    }

    fn take(&mut self, session: SessionTraced, mut requests: BTreeMap<u32, SentRequest>) {
        let began = Duration::from_micros(session.began_us);
        let end = began + Duration::from_micros(session.lasted_us);
        for span in session.spans.into_iter().filter(|span| span.kind == SpanKind::Request) {
            if self.requests.len() >= MOST_REQUESTS {
                self.left_out += 1;
                continue;
            }
            let sent = began + Duration::from_micros(span.at_us);
            let answered = span.took_us.map(|took| sent + Duration::from_micros(took));
            let SentRequest { method, about, id, error } = requests.remove(&span.frame).unwrap_or_default();
            self.requests.push(TracedRequest {
                case: span.case,
                method,
                about,
                began: sent,
                ended: answered.unwrap_or(end).max(sent),
                id,
                error: if answered.is_some() { error } else { Some(RequestError::NoAnswer) },
                revision: session.revision.clone(),
                transport: session.transport,
            });
        }
    }
}

/// What the messages of a request and its answer say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct SentRequest {
    method: String,
    about: Option<String>,
    id: Option<i64>,
    error: Option<RequestError>,
}

/// The client's requests by the frames that carried them, with texts that `mask` changed.
fn requests_of(frames: &[Frame], mask: &dyn Fn(&str) -> String) -> BTreeMap<u32, SentRequest> {
    let mut requests = BTreeMap::new();
    let mut pending: BTreeMap<String, u32> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| frame.channel == Channel::Protocol && frame.is_whole()) {
        let Some(message) = frame.json().ok().filter(|message| message.is_object()) else { continue };
        let Some(id) = message.get("id") else { continue };
        match (frame.direction, message.get("method")) {
            (Direction::Sent, Some(method)) => {
                let method = method.as_str().unwrap_or_default();
                let about = about(method, &message["params"]).map(mask);
                pending.insert(id.to_string(), frame.seq);
                requests.insert(frame.seq, SentRequest { method: mask(method), about, id: id.as_i64(), error: None });
            }
            (Direction::Received, None) => {
                let asked = pending.remove(&id.to_string());
                if let Some(request) = asked.and_then(|frame| requests.get_mut(&frame)) {
                    request.error = error_of(&message);
                }
            }
            (Direction::Sent, None) | (Direction::Received, Some(_)) => {}
        }
    }
    requests
}

/// What a request is about.
fn about<'a>(method: &str, params: &'a Value) -> Option<&'a str> {
    match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    }
}

fn error_of(answer: &Value) -> Option<RequestError> {
    if let Some(error) = answer.get("error") {
        return Some(RequestError::Code(error["code"].as_i64().unwrap_or_default()));
    }
    (answer["result"]["isError"] == true).then_some(RequestError::Tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CaseStarted, Finding, Reason, Span};
    use crate::wire::Transcript;

    fn started(id: &str, attempt: u32) -> Event {
        Event::CaseStarted(CaseStarted { id: id.to_owned(), file: String::new(), name: String::new(), attempt })
    }

    #[test]
    fn a_case_lasts_from_its_first_attempt_to_its_verdict() {
        let mut trace = RunTrace::default();
        let failed = CaseResult {
            findings: vec![Finding::new("equals", "it differs")],
            ..CaseResult::of_test("asks", Outcome::Failed)
        };
        let skipped = CaseResult {
            reason: Some(Reason::ReadOnly("it writes".to_owned())),
            ..CaseResult::of_test("writes", Outcome::Skipped)
        };
        for (event, at) in [
            (started("asks", 1), 10),
            (started("asks", 2), 20),
            (Event::CaseFinished(Box::new(failed)), 30),
            (Event::CaseFinished(Box::new(skipped)), 40),
        ] {
            trace.on_event(&event, Duration::from_millis(at));
        }
        let seen: Vec<_> = trace
            .cases
            .iter()
            .map(|case| (case.name.as_str(), case.began.as_millis(), case.ended.as_millis(), case.code.as_deref()))
            .collect();
        assert_eq!(seen, [("asks", 10, 30, Some("equals")), ("writes", 40, 40, None)]);
        assert_eq!(trace.cases[0].detail, "it differs");
        assert!(trace.cases[1].detail.contains("it writes"), "{}", trace.cases[1].detail);
        assert!(trace.begun.is_empty());
    }

    #[test]
    fn a_run_keeps_a_limited_number_of_cases_and_requests() {
        let mut trace = RunTrace::default();
        for number in 0..MOST_CASES + 3 {
            trace.on_case(&CaseResult::of_test(&number.to_string(), Outcome::Passed), Duration::ZERO);
        }
        let span =
            Span { kind: SpanKind::Request, title: "ping".to_owned(), case: None, frame: 1, at_us: 5, took_us: None };
        let session = SessionTraced {
            file: String::new(),
            server: String::new(),
            revision: String::new(),
            transport: TransportKind::Stdio,
            case: None,
            began_us: 100,
            lasted_us: 50,
            ended: None,
            spans: vec![span; MOST_REQUESTS + 4],
            left_out: 0,
        };
        trace.take(session, BTreeMap::new());
        assert_eq!((trace.cases.len(), trace.requests.len(), trace.left_out), (MOST_CASES, MOST_REQUESTS, 7));
        let first = &trace.requests[0];
        assert_eq!((first.began, first.ended), (Duration::from_micros(105), Duration::from_micros(150)));
        assert_eq!(first.error, Some(RequestError::NoAnswer));
    }

    #[test]
    fn requests_and_their_errors() {
        use Direction::{Received, Sent};
        let mut transcript = Transcript::default();
        for (direction, line) in [
            (Sent, r#"{"id":1,"method":"tools/call","params":{"name":"secret"}}"#),
            (Sent, r#"{"id":2,"method":"ping"}"#),
            (Received, r#"{"id":3,"method":"sampling/createMessage"}"#),
            (Sent, r#"{"id":3,"error":{"code":1}}"#),
            (Received, r#"{"id":2,"error":{"code":-32601}}"#),
            (Received, r#"{"id":1,"result":{"isError":true}}"#),
            (Received, "no message"),
            (Sent, r#"{"id":"x","method":"ping"}"#),
            (Received, r#"{"id":"x","result":{}}"#),
            (Sent, r#"{"id":4,"method":"ping"}"#),
        ] {
            transcript.record(Duration::ZERO, direction, Channel::Protocol, line.as_bytes());
        }
        let requests = requests_of(&transcript.take_frames(), &|text| text.replace("secret", "***"));
        let seen: Vec<_> = requests
            .iter()
            .map(|(frame, sent)| (*frame, sent.method.as_str(), sent.about.as_deref(), sent.id, sent.error))
            .collect();
        assert_eq!(
            seen,
            [
                (1, "tools/call", Some("***"), Some(1), Some(RequestError::Tool)),
                (2, "ping", None, Some(2), Some(RequestError::Code(-32601))),
                (8, "ping", None, None, None),
                (10, "ping", None, Some(4), None),
            ]
        );
    }
}
