//! Ids of sessions that are not open: one that has ended must be answered with 404, and one that no server gave should not
//! be served.
//!
//! Only a session that was served under its own id, and ended by `DELETE`, is judged; a server may refuse `DELETE`. A
//! server may treat sessions that end by themselves, and requests without an id, as it likes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::check::Confirmation;
use crate::check::evidence::finding_with_help;
use crate::check::raw_http::{HttpProbe, SESSION_ID};
use crate::event::{Finding, RequirementLevel, Severity};
use crate::session::{RawExchange, Session};
use crate::transport::Owner;
use crate::transport::http::ReadUntil;
use crate::wire::Revision;

/// The time that a server may take to end a session after it has said so.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// The sentences of the specification about the two statuses.
const TERMINATED: &str = "The server MAY terminate the session at any time, after which it MUST respond to requests containing \
                          that session ID with HTTP 404 Not Found.";
const WITHOUT_ID: &str = "Servers that require a session ID SHOULD respond to requests without an MCP-Session-Id header (other \
                          than initialization) with HTTP 400 Bad Request.";

/// Shorter ids may be met by chance.
const LONG_ID: usize = 16;

/// The sessions of a server, and the time for their requests.
pub(crate) struct IdProbe<'a> {
    pub(crate) host: &'a Session,
    pub(crate) owner: &'a Owner,
    pub(crate) until: Instant,
    pub(crate) request_timeout: Duration,
    pub(crate) frames: Vec<u32>,
}

/// The answers under ids of sessions that are not open.
#[derive(Debug, Default)]
pub(crate) struct WrongIdAnswers {
    /// Under the id of a session that was ended; `None` where no session could be ended.
    pub(crate) ended: Option<IdAnswer>,
    /// Under an id like those that the server gives; `None` where the server needs no id.
    pub(crate) unknown: Option<IdAnswer>,
}

/// The answer to a request under some session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdAnswer {
    status: u16,
    /// The request was served.
    is_served: bool,
    frame: u32,
}

impl IdProbe<'_> {
    /// Asks in a session, under an id that nobody has, and in the session after its end.
    pub(crate) async fn ask_with_wrong_ids(&mut self, id: &str) -> WrongIdAnswers {
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send("POST", Some(&ready), Some(id), ReadUntil::Head).await;
        let mut answers = WrongIdAnswers::default();
        if !self.ping(Some(id)).await.is_some_and(|own| own.is_served) {
            return answers;
        }
        let needs_id = self.ping(None).await.is_some_and(|without| !without.is_served);
        if needs_id && id.len() >= LONG_ID {
            answers.unknown = self.ping(Some(&of_the_same_shape(id))).await;
        }
        let ended = self.send("DELETE", None, Some(id), ReadUntil::Head).await;
        if ended.and_then(|exchange| status(&exchange)).is_some_and(|status| (200..300).contains(&status)) {
            answers.ended = self.ping(Some(id)).await;
            if answers.ended.is_some_and(|answer| answer.is_served) {
                sleep(END_TIMEOUT).await;
                answers.ended = self.ping(Some(id)).await;
            }
        }
        answers
    }

    async fn ping(&mut self, id: Option<&str>) -> Option<IdAnswer> {
        let ping = json!({"jsonrpc": "2.0", "id": "mcprove-ping", "method": "ping"});
        IdAnswer::of(&self.send("POST", Some(&ping), id, ReadUntil::Answer).await?, &ping["id"])
    }

    /// Sends a request with a session id, or with none.
    async fn send(
        &mut self,
        method: &'static str,
        body: Option<&Value>,
        id: Option<&str>,
        until: ReadUntil,
    ) -> Option<RawExchange> {
        let deadline = self.until.min(Instant::now() + self.request_timeout);
        let headers = [(SESSION_ID, id.unwrap_or_default())];
        let exchange =
            HttpProbe { method, body, headers: &headers, until, deadline }.send(self.host, self.owner).await?;
        self.frames.extend([exchange.frame].into_iter().chain(exchange.answer_frame));
        Some(exchange)
    }
}

impl WrongIdAnswers {
    /// The findings about them; `again` are those in another session, so that nothing is an accident.
    pub(crate) fn findings(&self, again: &Self, revision: Revision) -> Vec<Finding> {
        let twice = |found: Finding| Confirmation::of(1, 1).weigh(found, "with the id of another session");
        let mut found = Vec::new();
        if let (Some(first), Some(again)) = (self.ended, again.ended)
            && first.status != 404
            && !first.is_overload()
            && (first.status, first.is_served) == (again.status, again.is_served)
        {
            found.push(twice(first.ended_finding(revision)));
        }
        if let (Some(first), Some(again)) = (self.unknown, again.unknown) {
            match (first.is_served && again.is_served, first.status, again.status) {
                (true, ..) => found.push(twice(first.unknown_finding())),
                (false, 400, 400) => found.push(twice(first.status_finding(revision))),
                _ => {}
            }
        }
        found
    }

    /// The note where nothing is wrong.
    pub(crate) fn note(&self) -> String {
        let ended = match self.ended {
            Some(answer) => format!("an ended one is answered with {}", answer.status),
            None => "the server lets clients end none".to_owned(),
        };
        let unknown = self.unknown.map(|answer| format!(", an unknown one with {}", answer.status));
        format!("{ended}{}", unknown.unwrap_or_default())
    }
}

impl IdAnswer {
    /// The answer to the request with an id; `None` where no response came.
    fn of(exchange: &RawExchange, id: &Value) -> Option<Self> {
        let answers = |message: &Value| message["id"] == *id && message.get("result").is_some();
        Some(Self {
            status: status(exchange)?,
            is_served: exchange.messages().iter().any(answers),
            frame: exchange.answer_frame.unwrap_or(exchange.frame),
        })
    }

    /// The server takes no requests at the moment, whatever session they name.
    fn is_overload(self) -> bool {
        matches!(self.status, 429 | 503)
    }

    fn ended_finding(self, revision: Revision) -> Finding {
        let message = if self.is_served {
            "a request in a session that was ended is served".to_owned()
        } else {
            format!("a request in a session that was ended is answered with status {}, not 404", self.status)
        };
        let help = "forget a session when `DELETE` ends it, and answer its id with 404: clients open a new session then, and \
                    nobody else can go on with the old one";
        Finding {
            level: RequirementLevel::Must,
            severity: Some(if self.is_served { Severity::High } else { Severity::Medium }),
            frame: Some(self.frame),
            ..finding_with_help("stale-session", message, help)
        }
        .with_evidence("control", "before its end the same request was served, and `DELETE` was answered with success")
        .with_evidence("specification", format!("{}, basic/transports, session management", revision.as_str()))
    }

    /// An unknown id is refused like a missing one, so that a client of a server that was started anew asks in vain.
    fn status_finding(self, revision: Revision) -> Finding {
        let message = "a request under a session id that the server never gave is answered with status 400, not 404";
        let help = "answer an unknown id with 404, as one that has ended: after that clients open a new session, and after 400 \
                    they do not; 400 is for requests without any id";
        Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            frame: Some(self.frame),
            ..finding_with_help("stale-session", message, help)
        }
        .with_evidence("for 404", TERMINATED)
        .with_evidence("for 400", WITHOUT_ID)
        .with_evidence("specification", format!("{}, basic/transports, session management", revision.as_str()))
    }

    fn unknown_finding(self) -> Finding {
        let help = "refuse ids that the server did not give, with 404: otherwise whoever makes one up is served";
        Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            frame: Some(self.frame),
            ..finding_with_help(
                "stale-session",
                "a request under a session id that the server never gave is served",
                help,
            )
        }
        .with_evidence("control", "the same request without a session id is refused")
    }
}

fn status(exchange: &RawExchange) -> Option<u16> {
    Some(exchange.response.head.as_ref()?.http.status)
}

/// An id with other letters and digits in the same places.
fn of_the_same_shape(id: &str) -> String {
    let turned = |(at, byte): (usize, u8)| {
        let step = |first: u8, count: u8| first + (byte - first + 1 + u8::try_from(at % 5).unwrap_or_default()) % count;
        char::from(match byte {
            b'0'..=b'9' => step(b'0', 10),
            b'a'..=b'f' => step(b'a', 6),
            b'g'..=b'z' => step(b'g', 20),
            b'A'..=b'F' => step(b'A', 6),
            b'G'..=b'Z' => step(b'G', 20),
            other => other,
        })
    };
    id.bytes().enumerate().map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::response;

    #[test]
    fn an_unknown_id_looks_like_a_known_one() {
        let id = "0193a5b0-7c1f-4e2d-9abc-Zk_~6d6370726f76";
        let other = of_the_same_shape(id);
        let same_kind = |(one, other): (char, char)| one.is_ascii_digit() == other.is_ascii_digit();
        assert!(id.len() == other.len() && id.chars().zip(other.chars()).all(same_kind), "{other}");
        assert!(other.contains('-') && other.contains("_~"), "{other}");
        assert_ne!(id, other);
    }

    #[test]
    fn only_what_happens_twice_is_wrong() {
        let answer = |status, is_served| Some(IdAnswer { status, is_served, frame: 1 });
        let levels = |ended: [Option<IdAnswer>; 2], unknown: [Option<IdAnswer>; 2]| {
            let [first, again] = [0, 1].map(|at| WrongIdAnswers { ended: ended[at], unknown: unknown[at] });
            let found = first.findings(&again, Revision::V2025_11_25);
            found.into_iter().map(|found| found.level == RequirementLevel::Must).collect::<Vec<_>>()
        };
        let (served, gone, refused) = (answer(200, true), answer(404, false), answer(400, false));
        assert_eq!(levels([served, served], [gone, gone]), [true]);
        assert_eq!(levels([refused, refused], [refused, refused]), [true, false]);
        assert_eq!(levels([gone, gone], [refused, refused]), [false]);
        assert!(levels([gone, gone], [refused, gone]).is_empty());
        assert_eq!(levels([gone, gone], [served, served]), [false]);
        assert!(levels([served, gone], [served, gone]).is_empty());
        assert!(levels([None, None], [None, None]).is_empty());
    }

    #[test]
    fn an_overloaded_server_says_nothing_of_its_sessions() {
        let answer = |status, is_served| Some(IdAnswer { status, is_served, frame: 1 });
        for (answers, ended, codes) in [
            ("404, as it must", answer(404, false), 0),
            ("429, since there were too many requests", answer(429, false), 0),
            ("503, since it is busy", answer(503, false), 0),
            ("400, as for a request without an id", answer(400, false), 1),
            ("401, though the client is known", answer(401, false), 1),
            ("500, since it stumbles over the id", answer(500, false), 1),
            ("200 with an error", answer(200, false), 1),
            ("200, as if it had not ended", answer(200, true), 1),
        ] {
            let seen = WrongIdAnswers { ended, unknown: None };
            assert_eq!(seen.findings(&seen, Revision::V2025_11_25).len(), codes, "{answers}");
        }
    }

    #[test]
    fn a_note_says_how_wrong_ids_were_answered() {
        let answer = |status| Some(IdAnswer { status, is_served: false, frame: 1 });
        for (ended, unknown, expected) in [
            (answer(404), answer(404), "an ended one is answered with 404, an unknown one with 404"),
            (answer(404), None, "an ended one is answered with 404"),
            (None, answer(400), "the server lets clients end none, an unknown one with 400"),
            (None, None, "the server lets clients end none"),
        ] {
            assert_eq!(WrongIdAnswers { ended, unknown }.note(), expected);
        }
    }

    #[test]
    fn a_session_that_can_be_taken_up_again_is_worse_than_a_wrong_status() {
        let found = |status, is_served| {
            let seen = WrongIdAnswers { ended: Some(IdAnswer { status, is_served, frame: 1 }), unknown: None };
            seen.findings(&seen, Revision::V2025_11_25).swap_remove(0)
        };
        assert_eq!(found(200, true).severity, Some(Severity::High));
        assert_eq!(found(400, false).severity, Some(Severity::Medium));
        assert!(found(400, false).message.contains("status 400, not 404"), "{}", found(400, false).message);
    }

    #[test]
    fn a_request_is_served_by_its_own_result_alone() {
        let (served, error) = (r#"{"id": "p1", "result": {}}"#, r#"{"id": "p1", "error": {"code": -32600}}"#);
        let stream = |message: &str| response(200, "text/event-stream", &format!("data: {message}\n\n"));
        let json = |status, message: &str| response(status, "application/json", message);
        for (answer, exchange, status, is_served) in [
            ("a result", json(200, served), 200, true),
            ("a result in a stream", stream(served), 200, true),
            ("a result in a batch", json(200, &format!("[{served}]")), 200, true),
            ("an error", json(200, error), 200, false),
            ("an error with its status", json(404, error), 404, false),
            ("the result of another request", stream(r#"{"id": "p2", "result": {}}"#), 200, false),
            ("nothing", response(202, "text/plain", ""), 202, false),
            ("a page", response(404, "text/html", "<p>not found</p>"), 404, false),
        ] {
            let expected = IdAnswer { status, is_served, frame: 2 };
            assert_eq!(IdAnswer::of(&exchange, &json!("p1")), Some(expected), "{answer}");
        }
    }
}
