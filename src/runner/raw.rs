//! Raw steps: from what a suite writes to bytes, and from what came back to an answer that can be looked at.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::exchange::StepResponse;
use crate::event::{Exchange, FailureClass, Finding};
use crate::session::{AwaitedAnswers, CallFailure, RawMessage, RawReply, Session, SessionReply, ids_in};
use crate::source::template::{Names, Unfilled, fill, text_of};
use crate::source::{Node, Value as Written, duration_text};
use crate::suite::{Action, Payload, RawSend, Step, Wanted};
use crate::transport::{Owner, time_of_pauses};

/// A raw message, filled in.
pub(crate) struct FilledSend {
    lines: Vec<Vec<u8>>,
    pieces: Vec<Vec<u8>>,
    awaited: AwaitedAnswers,
    /// True if the answer is one message, or everything that came.
    shape: AnswerShape,
    watch: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerShape {
    One,
    Several,
}

impl FilledSend {
    pub(crate) fn fill(send: &RawSend, names: &Names) -> Result<Self, Unfilled> {
        let lines = send.lines.iter().map(|line| line.bytes(names)).collect::<Result<Vec<_>, _>>()?;
        let mut whole = Vec::new();
        for line in &lines {
            whole.extend_from_slice(line);
            whole.extend_from_slice(send.newline.as_bytes());
        }
        let id = |node: &Node| fill(node, names).map(|node| node.to_json());
        let ids = match &send.answers {
            Wanted::Own => lines.iter().flat_map(|line| ids_in(line)).collect(),
            Wanted::One(node) => vec![id(node)?],
            Wanted::All(nodes) => nodes.iter().map(id).collect::<Result<Vec<_>, _>>()?,
            Wanted::Any | Wanted::Nothing | Wanted::End => Vec::new(),
        };
        let awaited = if matches!(send.answers, Wanted::Any) {
            AwaitedAnswers::Next
        } else if matches!(send.answers, Wanted::End) {
            AwaitedAnswers::End
        } else if ids.is_empty() {
            AwaitedAnswers::Nothing
        } else {
            AwaitedAnswers::Ids(ids)
        };
        let is_one = awaited == AwaitedAnswers::Next || matches!(&awaited, AwaitedAnswers::Ids(ids) if ids.len() == 1);
        let is_list = matches!(send.answers, Wanted::All(_));
        Ok(Self {
            pieces: send.cuts.pieces(&whole),
            lines,
            awaited,
            shape: if is_one && !is_list { AnswerShape::One } else { AnswerShape::Several },
            watch: send.watch,
        })
    }

    /// The bytes that are sent, for people.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
        lines.join("\n")
    }

    pub(crate) async fn perform(
        self,
        session: &Session,
        owner: &Owner,
        timeout: Option<Duration>,
    ) -> Result<StepResponse, CallFailure> {
        let Self { lines, pieces, awaited, shape, watch } = self;
        let reply = session.send_raw(RawMessage { owner, lines, pieces, awaited, timeout, watch }).await?;
        Ok(StepResponse { method: "send".to_owned(), reply: answer(&reply, shape) })
    }
}

fn answer(reply: &RawReply, shape: AnswerShape) -> SessionReply {
    let message = match (shape, reply.answers.first()) {
        (AnswerShape::One, Some(message)) => Arc::clone(message),
        _ => Arc::new(everything(reply)),
    };
    reply_to_step(message, reply.frame, reply.answer_frame, reply.elapsed)
}

/// All that came, and how the message was refused over HTTP.
fn everything(reply: &RawReply) -> Value {
    let mut said = Map::new();
    if let Some(refused) = &reply.refused {
        said.insert("status".to_owned(), refused.code.into());
        said.insert("body".to_owned(), refused.excerpt.clone().into());
    }
    said.insert("messages".to_owned(), json!(reply.messages));
    said.insert("answers".to_owned(), json!(reply.answers));
    said.insert("silent".to_owned(), reply.answers.is_empty().into());
    said.insert("ended".to_owned(), reply.is_ended.into());
    said.into()
}

/// A reply to a step that sent no ordinary request.
pub(crate) fn reply_to_step(message: Arc<Value>, frame: u32, answer: Option<u32>, elapsed: Duration) -> SessionReply {
    let params = Value::Object(Map::new());
    SessionReply { message, params, frame, answer_frame: answer.unwrap_or(frame), elapsed, notifications: Vec::new() }
}

/// The deadline of a step that writes so many pieces, and the time that it allows; our own pauses are not the server's.
pub(crate) fn deadline(session: &Session, step: &Step, pieces: usize) -> (Instant, Duration) {
    let limit = step.timeout.unwrap_or(session.request_timeout());
    (Instant::now() + limit + time_of_pauses(pieces), limit)
}

/// The failure of a step that got nothing, or not all of it, in time.
pub(crate) fn too_slow(exchange: &Exchange, what: &str, limit: Duration) -> Finding {
    let message = format!("{what} within {}", duration_text(limit));
    Finding { frame: Some(exchange.frame), ..Finding::failure(FailureClass::Timeout, message) }
}

/// Returns true if an expectation of the step looks at that member of the answer.
pub(crate) fn looks_at(step: &Step, member: &str) -> bool {
    step.expect.iter().any(|item| mentions(item.node(), member))
}

/// Returns true if a step is right about a server that ends: it wants its connection closed.
pub(crate) fn expects_the_end(step: &Step) -> bool {
    matches!(step.action, Action::Http(_)) && step.expect.iter().any(|item| says_closed(item.node()))
}

/// Returns true if an expectation of the step may be met by a connection that is closed without a response.
pub(crate) fn wants_closing(step: &Step) -> bool {
    step.expect.iter().any(|item| may_be_closed(item.node()))
}

fn may_be_closed(item: &Node) -> bool {
    let inner = ["all", "any"].into_iter().filter_map(|key| item.get(key));
    says_closed(item) || inner.flat_map(Node::items).any(may_be_closed)
}

fn says_closed(item: &Node) -> bool {
    let by_path = item.get("equals").filter(|_| item.get("at").and_then(Node::text) == Some("closed"));
    item.get("closed").or(by_path).and_then(Node::flag) == Some(true)
}

fn mentions(item: &Node, member: &str) -> bool {
    item.entries().iter().any(|(key, value)| match (key.value.as_str(), value.text()) {
        (name, _) if name == member => true,
        ("at", Some(path)) => path.trim_start_matches(['$', '.']).starts_with(member),
        ("assert", Some(expression)) => expression.contains(member),
        ("not" | "all" | "any", _) => {
            mentions(value, member) || value.items().iter().any(|item| mentions(item, member))
        }
        _ => false,
    })
}

/// The values of a header, filled in; none where it is to be left out.
pub(crate) fn header_values(node: &Node, names: &Names) -> Result<Vec<Vec<u8>>, Unfilled> {
    let filled = fill(node, names)?;
    match &filled.value {
        Written::Null => Ok(Vec::new()),
        Written::List(items) => items.iter().map(|item| value_bytes(item, names)).collect(),
        Written::Bool(_) | Written::Number(_) | Written::Text(_) | Written::Map(_) => {
            Ok(vec![value_bytes(&filled, names)?])
        }
    }
}

fn value_bytes(filled: &Node, names: &Names) -> Result<Vec<u8>, Unfilled> {
    match Payload::of(filled) {
        // A value that was filled in is not filled in again.
        Payload::Text(node) | Payload::Json(node) => Ok(text_of(&node.to_json()).into_bytes()),
        bytes @ Payload::Base64(_) => bytes.bytes(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    fn item(text: &str) -> Node {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("s.yml", text));
        parse(&sources, source).unwrap()
    }

    #[test]
    fn a_closed_connection_is_right_where_an_expectation_says_so() {
        for (text, must_be, may_be) in [
            ("closed: true", true, true),
            ("closed: false", false, false),
            ("{ at: closed, equals: true }", true, true),
            ("{ at: status, equals: true }", false, false),
            ("any: [{ status: 400 }, { closed: true }]", false, true),
            ("all: [{ at: closed, equals: true }]", false, true),
            ("not: { closed: true }", false, false),
            ("status: 400", false, false),
        ] {
            assert_eq!((says_closed(&item(text)), may_be_closed(&item(text))), (must_be, may_be), "{text}");
        }
    }

    #[test]
    fn an_expectation_looks_at_what_it_names() {
        for (text, expected) in [
            ("silent: true", true),
            ("{ at: silent, equals: true }", true),
            ("{ at: $.silent, equals: true }", true),
            ("assert: not silent", true),
            ("not: { silent: true }", true),
            ("any: [{ status: 400 }, { silent: true }]", true),
            ("{ at: body, equals: silent }", false),
            ("status: 400", false),
        ] {
            assert_eq!(mentions(&item(text), "silent"), expected, "{text}");
        }
    }

    #[test]
    fn all_that_came_says_if_nothing_did() {
        let ping = Arc::new(json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        let reply = |answers: Vec<Arc<Value>>, is_ended| RawReply {
            messages: answers.clone(),
            answers,
            frame: 1,
            answer_frame: None,
            elapsed: Duration::ZERO,
            is_ended,
            refused: None,
        };
        for (what, answers, is_ended, shape, expected) in [
            ("one answer", vec![Arc::clone(&ping)], false, AnswerShape::One, json!(*ping)),
            (
                "nothing",
                Vec::new(),
                false,
                AnswerShape::One,
                json!({ "messages": [], "answers": [], "silent": true, "ended": false }),
            ),
            (
                "an answer, and the end",
                vec![Arc::clone(&ping)],
                true,
                AnswerShape::Several,
                json!({ "messages": [*ping], "answers": [*ping], "silent": false, "ended": true }),
            ),
        ] {
            assert_eq!(*answer(&reply(answers, is_ended), shape).message, expected, "{what}");
        }
    }
}
