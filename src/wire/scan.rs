//! What no server may send, whatever was asked: found in every run, in every frame.
//!
//! One [`Scanner`] watches one session, frame by frame, and remembers which ids were asked and answered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Direction, Era, Frame, Id, Message, classify};

/// A broken rule of the protocol, with the frame that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// A stable kebab-case name.
    pub code: &'static str,
    /// One sentence about what the server did.
    pub message: String,
    /// The variant of the fault taxonomy that this is.
    pub variant: &'static str,
    /// The frame.
    pub frame: u32,
    /// The request that it belongs to, where that can be told.
    pub request: Option<Id>,
}

/// Watches one session.
#[derive(Debug)]
pub struct Scanner {
    era: Era,
    asked: BTreeMap<Id, Asked>,
    server_ids: BTreeSet<Id>,
    /// Whether a raw step spoke: answers without an id, and batches, are its to judge.
    is_raw: bool,
    seen: BTreeMap<&'static str, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Open,
    Answered,
    /// Raw steps may send what deserves no answer; what comes back is theirs to judge.
    Raw,
}

impl Scanner {
    /// The variants that every run judges by scanning.
    pub const JUDGES: [&'static str; 3] = ["PROTO-STDOUT-NOISE", "PROTO-MALFORMED-ENVELOPE", "PROTO-REPLY-CORRELATION"];

    /// The codes of everything that is found in every session, whatever the suite asks for.
    pub const CODES: [&'static str; 8] = [
        "answer-without-id",
        "answered-twice",
        "malformed-envelope",
        "reused-request-id",
        "server-request",
        "stray-output",
        "undeclared-request",
        "wrong-id",
    ];

    /// Watches a session of an era.
    pub fn new(era: Era) -> Self {
        Self { era, asked: BTreeMap::new(), server_ids: BTreeSet::new(), is_raw: false, seen: BTreeMap::new() }
    }

    /// By code, how much was looked at that could have broken the rule.
    pub fn seen(&self) -> &BTreeMap<&'static str, u32> {
        &self.seen
    }

    /// The era of the session.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Changes the era once the handshake has settled it.
    pub fn set_era(&mut self, era: Era) {
        self.era = era;
    }

    /// Allows any number of answers to an id, since it was sent by a raw step.
    pub fn expect_anything_for(&mut self, id: Id) {
        self.asked.insert(id, Asked::Raw);
        self.is_raw = true;
    }

    /// Allows answers without an id and batches, since a raw step sent what may deserve them.
    pub fn expect_anything(&mut self) {
        self.is_raw = true;
    }

    /// Looks at the next protocol frame.
    pub fn watch(&mut self, frame: &Frame) -> Vec<Violation> {
        let json = match (&frame.json, frame.direction) {
            (Ok(json), _) => json,
            (Err(_), Direction::Sent) => return Vec::new(),
            (Err(_), Direction::Received) if frame.bytes.iter().all(u8::is_ascii_whitespace) => return Vec::new(),
            (Err(reason), Direction::Received) if frame.http.is_some() => {
                let message = format!("the server sent an event that is no message: {reason}");
                return vec![violation("malformed-envelope", message, "PROTO-MALFORMED-ENVELOPE", frame, None)];
            }
            (Err(reason), Direction::Received) => {
                let message = format!("the server wrote something to stdout that is no message: {reason}");
                return vec![violation("stray-output", message, "PROTO-STDOUT-NOISE", frame, None)];
            }
        };
        match frame.direction {
            Direction::Sent => {
                if let Message::Request { id, .. } = classify(json) {
                    self.asked.entry(id).or_insert(Asked::Open);
                }
                Vec::new()
            }
            Direction::Received => self.received(frame, json),
        }
    }

    fn received(&mut self, frame: &Frame, json: &Value) -> Vec<Violation> {
        let mut found = Vec::new();
        if json.is_array() && self.is_raw {
            return found;
        }
        let malformed = |message: String, id: Option<Id>| {
            violation("malformed-envelope", message, "PROTO-MALFORMED-ENVELOPE", frame, id)
        };
        let id = json.get("id").and_then(Id::from_json);
        if json.is_object() && json["jsonrpc"] != "2.0" {
            let shown = json.get("jsonrpc").map_or("none".to_owned(), Value::to_string);
            found.push(malformed(
                format!("a message must say `\"jsonrpc\": \"2.0\"`, this one has {shown}"),
                id.clone(),
            ));
        }
        match classify(json) {
            Message::Invalid(reason) if json.is_object() || json.is_array() || frame.http.is_some() => {
                found.push(malformed(reason, id));
            }
            Message::Invalid(_) => {
                let message = format!("the server wrote something to stdout that is no message: {json}");
                found.push(violation("stray-output", message, "PROTO-STDOUT-NOISE", frame, None));
            }
            Message::Request { id, method, .. } => found.extend(self.server_request(frame, id, method)),
            Message::Notification { method, .. } => {
                if json.get("id").is_some() {
                    found.push(malformed(
                        format!("`{method}` has an `id` that is neither text nor a whole number"),
                        None,
                    ));
                }
            }
            Message::Response { id } => {
                found.extend(response_problems(json).into_iter().map(|problem| malformed(problem, id.clone())));
                found.extend(self.response(frame, json, id));
            }
        }
        found
    }

    fn server_request(&mut self, frame: &Frame, id: Id, method: &str) -> Option<Violation> {
        if self.era == Era::Stateless {
            let message = format!("the server sent the request `{method}`; since 2026-07-28 servers send none");
            return Some(violation("server-request", message, "PROTO-MALFORMED-ENVELOPE", frame, None));
        }
        let message = format!("the server used the id {} for a second request of its own", id.to_json());
        (!self.server_ids.insert(id))
            .then(|| violation("reused-request-id", message, "PROTO-REPLY-CORRELATION", frame, None))
    }

    fn response(&mut self, frame: &Frame, json: &Value, id: Option<Id>) -> Option<Violation> {
        let correlation =
            |code, message: String, request| Some(violation(code, message, "PROTO-REPLY-CORRELATION", frame, request));
        let Some(id) = id else {
            // A response that refuses with its status says by itself what it refuses.
            let refuses = frame.http.as_ref().is_some_and(|http| !http.is_success());
            // Unreadable input is rightly answered with no id; whether it was unreadable is for raw steps to judge.
            let allowed = self.is_raw || json.get("error").is_some() && refuses;
            let message = "an answer carries no usable `id`, so nobody can tell what it answers".to_owned();
            return if allowed { None } else { correlation("answer-without-id", message, None) };
        };
        match self.asked.get(&id).copied() {
            Some(Asked::Raw) => None,
            Some(Asked::Open) => {
                self.asked.insert(id, Asked::Answered);
                None
            }
            Some(Asked::Answered) => {
                let message = format!("the request with the id {} was answered a second time", id.to_json());
                correlation("answered-twice", message, Some(id))
            }
            None => {
                let twin = self.twin(&id);
                let message = match &twin {
                    Some(twin) => format!(
                        "the id changed its type: asked with {}, answered with {}",
                        twin.to_json(),
                        id.to_json()
                    ),
                    None => format!("an answer came with the id {}, which nobody asked", id.to_json()),
                };
                correlation("wrong-id", message, twin)
            }
        }
    }

    /// The open request whose id reads the same in the other type.
    pub fn twin(&self, id: &Id) -> Option<Id> {
        let twin = match id {
            Id::Number(number) => Id::Text(number.to_string()),
            Id::Text(text) => Id::Number(text.parse().ok()?),
        };
        (self.asked.get(&twin) == Some(&Asked::Open)).then_some(twin)
    }
}

fn violation(
    code: &'static str,
    message: String,
    variant: &'static str,
    frame: &Frame,
    request: Option<Id>,
) -> Violation {
    Violation { code, message, variant, frame: frame.seq, request }
}

/// What is wrong with the members of a response.
fn response_problems(json: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if json.get("result").is_some() && json.get("error").is_some() {
        problems.push("an answer has both `result` and `error`; it must have one of them".to_owned());
    }
    if json.get("result").is_some_and(|result| !result.is_object()) {
        problems.push("`result` is no object".to_owned());
    }
    if let Some(error) = json.get("error") {
        if !error["code"].is_i64() && !error["code"].is_u64() {
            problems.push(format!("`error.code` must be a whole number, this one is {}", error["code"]));
        }
        if !error["message"].is_string() {
            problems.push(format!("`error.message` must be text, this one is {}", error["message"]));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Channel, Transcript};
    use super::*;

    /// Plays `>` lines as sent and `<` lines as received; returns the codes found.
    fn check(era: Era, lines: &[&str], expected: &[&str]) {
        let mut transcript = Transcript::default();
        let mut scanner = Scanner::new(era);
        let mut codes = Vec::new();
        for line in lines {
            let direction = if line.starts_with('>') { Direction::Sent } else { Direction::Received };
            let frame = transcript.record(Duration::ZERO, direction, Channel::Protocol, &line.as_bytes()[1..]);
            codes.extend(scanner.watch(frame).into_iter().map(|violation| violation.code));
        }
        assert_eq!(codes, expected, "{lines:?}");
    }

    #[test]
    fn healthy_traffic_is_left_alone() {
        let request = r#">{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        check(Era::Session, &[request, r#"<{"jsonrpc":"2.0","id":1,"result":{}}"#, "<", "<  "], &[]);
        let error = r#"<{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        check(Era::Stateless, &[request, error], &[]);
        check(Era::Session, &[r#"<{"jsonrpc":"2.0","id":1,"method":"ping"}"#], &[]);
    }

    #[test]
    fn each_violation_has_its_name() {
        let request = r#">{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let answer = r#"<{"jsonrpc":"2.0","id":1,"result":{}}"#;
        check(Era::Session, &["<Listening on stdio"], &["stray-output"]);
        check(Era::Session, &["<42"], &["stray-output"]);
        check(Era::Session, &[request, answer, answer], &["answered-twice"]);
        check(Era::Session, &[request, r#"<{"jsonrpc":"2.0","id":"1","result":{}}"#], &["wrong-id"]);
        check(Era::Session, &[request, r#"<{"jsonrpc":"2.0","id":99,"result":{}}"#], &["wrong-id"]);
        check(Era::Session, &[request, r#"<{"id":1,"result":{}}"#], &["malformed-envelope"]);
        check(
            Era::Session,
            &[request, r#"<{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#],
            &["malformed-envelope"],
        );
        check(
            Era::Session,
            &[request, r#"<{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}"#],
            &["malformed-envelope"; 2],
        );
        check(Era::Session, &[r#"<{"jsonrpc":"2.0","id":null,"result":{}}"#], &["answer-without-id"]);
        check(Era::Session, &[r#"<[{"jsonrpc":"2.0","id":1,"result":{}}]"#], &["malformed-envelope"]);
        check(Era::Stateless, &[r#"<{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#], &["server-request"]);
    }

    #[test]
    fn what_raw_steps_get_is_theirs_to_judge() {
        let mut scanner = Scanner::new(Era::Session);
        scanner.expect_anything_for(Id::Number(7));
        let mut codes = Vec::new();
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        ] {
            let mut transcript = Transcript::default();
            let frame = transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, line.as_bytes());
            codes.extend(scanner.watch(frame).into_iter().map(|violation| violation.code));
        }
        assert_eq!(codes, ["wrong-id"]);
    }
}
