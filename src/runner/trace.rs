//! Makes a timeline's view of a session from its frames.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::SessionFrames;
use crate::event::{Exchange, ServerEnded, SessionTraced, Span, SpanKind};
use crate::wire::{Channel, Direction, Frame};

/// The most messages of a session that are listed.
const MOST: usize = 5_000;

impl SessionFrames {
    /// What travelled when; `began` is the time from the beginning of the run to that of the session.
    pub fn trace(&self, began: Duration) -> SessionTraced {
        let owners: BTreeMap<u32, &str> = self
            .owners
            .iter()
            .filter_map(|(owner, frames)| Some((owner.case()?, frames)))
            .flat_map(|(case, frames)| frames.iter().map(move |frame| (*frame, case)))
            .collect();
        let (mut spans, left_out) = spans(&self.frames);
        for span in &mut spans {
            span.case = owners.get(&span.frame).map(|case| (*case).to_owned());
        }
        SessionTraced {
            file: self.file.clone(),
            server: self.server.clone(),
            revision: self.revision.clone(),
            transport: self.transport,
            case: self.case.clone(),
            began_us: micros(began),
            lasted_us: micros(self.lasted),
            ended: self
                .ending
                .map(|end| ServerEnded { at_us: micros(end.at), exit: end.exit.map(|exit| exit.to_string()) }),
            spans,
            left_out,
        }
    }
}

/// What travelled on the protocol stream, each request with its answer; the number of those beyond the limit.
fn spans(frames: &[Frame]) -> (Vec<Span>, usize) {
    let mut spans: Vec<Span> = Vec::new();
    let mut left_out = 0;
    // By the side that asked and the id: where the request stands.
    let mut pending: BTreeMap<(bool, String), usize> = BTreeMap::new();
    let mut unknown: BTreeSet<usize> = BTreeSet::new();
    let mut last = 0;
    for frame in frames {
        let is_gap = frame.seq > last + 1;
        last = frame.seq;
        let is_message = frame.channel == Channel::Protocol;
        let is_read = frame.is_whole() && frame.beyond().is_none();
        if is_gap || is_message && !is_read {
            // The answers may be among what was not kept.
            unknown.extend(std::mem::take(&mut pending).into_values());
            left_out += usize::from(is_message && !is_read);
        }
        if !is_message || !is_read {
            continue;
        }
        let is_ours = frame.direction == Direction::Sent;
        let message = frame.json().ok();
        let message = message.as_deref().filter(|message| message.is_object());
        let id = message.and_then(|message| message.get("id")).map(Value::to_string);
        let method = message.and_then(|message| message["method"].as_str());
        if let (None, Some(id)) = (method, &id)
            && let Some(at) = pending.remove(&(!is_ours, id.clone()))
        {
            spans[at].took_us = Some(micros(frame.at).saturating_sub(spans[at].at_us));
            continue;
        }
        if spans.len() >= MOST {
            left_out += 1;
            continue;
        }
        let (kind, title) = match (method, &id, is_ours) {
            (Some(method), Some(_), true) => (SpanKind::Request, title(method, message)),
            (Some(method), Some(_), false) => (SpanKind::ServerRequest, title(method, message)),
            (Some(method), None, true) => (SpanKind::Notification, method.to_owned()),
            (Some(method), None, false) => (SpanKind::ServerNotification, method.to_owned()),
            // What a suite sends raw may be anything.
            (None, _, true) => (SpanKind::Notification, "raw bytes".to_owned()),
            (None, Some(_), false) => (SpanKind::Stray, "an answer to nothing".to_owned()),
            (None, None, false) => (SpanKind::Stray, "no message".to_owned()),
        };
        if let (Some(_), Some(id)) = (method, id) {
            pending.insert((is_ours, id), spans.len());
        }
        spans.push(Span { kind, title, case: None, frame: frame.seq, at_us: micros(frame.at), took_us: None });
    }
    left_out += unknown.len();
    let known = spans.into_iter().enumerate().filter(|(at, _)| !unknown.contains(at));
    (known.map(|(_, span)| span).collect(), left_out)
}

/// The method with what it is about: `tools/call get_user`.
fn title(method: &str, message: Option<&Value>) -> String {
    let params = message.map(|message| &message["params"]);
    let about = params.and_then(|params| params["name"].as_str().or(params["uri"].as_str()));
    match about {
        Some(tool) if method == "tools/call" => Exchange::call_title(tool),
        Some(about) if matches!(method, "prompts/get" | "resources/read") => format!("{method} {about}"),
        Some(_) | None => method.to_owned(),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::Transcript;

    /// Frames that are ten microseconds apart.
    fn frames<'a>(lines: impl IntoIterator<Item = (Direction, &'a str)>) -> Vec<Frame> {
        let mut transcript = Transcript::default();
        for ((direction, line), number) in lines.into_iter().zip(1..) {
            transcript.record(Duration::from_micros(number * 10), direction, Channel::Protocol, line.as_bytes());
        }
        transcript.take_frames()
    }

    #[test]
    fn requests_span_to_their_answers_and_other_messages_are_moments() {
        use Direction::{Received, Sent};
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}).to_string();
        let frames = frames([
            (Sent, call.as_str()),
            (Received, r#"{"method":"notifications/progress","params":{}}"#),
            (Received, r#"{"id":1,"method":"sampling/createMessage","params":{}}"#),
            (Sent, r#"{"id":1,"result":{}}"#),
            (Received, r#"{"id":1,"result":{}}"#),
            (Received, r#"{"id":1,"result":{}}"#),
            (Received, "listening"),
            (Sent, r#"{"method":"notifications/initialized"}"#),
            (Sent, r#"{"id":"1","method":"resources/read","params":{"uri":"a:b"}}"#),
        ]);
        let told = |span: Span| (span.frame, span.kind, span.title, span.took_us);
        let (spans, left_out) = spans(&frames);
        let spans: Vec<_> = spans.into_iter().map(told).collect();
        let expected = [
            (1, SpanKind::Request, "tools/call add", Some(40)),
            (2, SpanKind::ServerNotification, "notifications/progress", None),
            (3, SpanKind::ServerRequest, "sampling/createMessage", Some(10)),
            (6, SpanKind::Stray, "an answer to nothing", None),
            (7, SpanKind::Stray, "no message", None),
            (8, SpanKind::Notification, "notifications/initialized", None),
            (9, SpanKind::Request, "resources/read a:b", None),
        ];
        assert_eq!(spans, expected.map(|(frame, kind, title, took)| (frame, kind, title.to_owned(), took)));
        assert_eq!(left_out, 0);
    }

    #[test]
    fn long_sessions_are_cut_and_their_answers_still_count() {
        let requests: Vec<String> = (1..=6_000).map(|id| format!(r#"{{"id":{id},"method":"ping"}}"#)).collect();
        let lines = requests.iter().map(|line| (Direction::Sent, line.as_str()));
        let (spans, left_out) = spans(&frames(lines.chain([(Direction::Received, r#"{"id":1,"result":{}}"#)])));
        assert_eq!((spans.len(), left_out, spans[0].took_us), (MOST, 1_000, Some(60_000)));
    }
}
