//! What is known of the calls of tools in frames that are no longer kept: how many there were, and how many were served.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Channel, Direction, Frame, is_served};

/// The calls of tools in frames of a session that are no longer kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgottenCalls {
    /// By the name of the tool.
    pub tools: BTreeMap<String, ForgottenTool>,
    /// The tools of the calls whose answers are still kept, or never came; by the id of the request as JSON.
    pub open: BTreeMap<String, String>,
    /// Returns true for a served one of the answers of which only both ends are kept; by their ids as JSON.
    pub long_answers: BTreeMap<String, bool>,
}

/// The calls of one tool in frames that are no longer kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForgottenTool {
    /// Its calls.
    pub sent: usize,
    /// Those that were answered with a result that is no error.
    pub served: usize,
}

/// As much of a request as tells the tool that it calls; the arguments may be long.
#[derive(Deserialize)]
struct CallHead<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: SentParams<'a>,
}

#[derive(Deserialize)]
struct SentParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl ForgottenCalls {
    /// Takes note of an answer of which only both ends are kept.
    pub(crate) fn note_long_answer(&mut self, answer: &Value) {
        self.long_answers.insert(answer["id"].to_string(), is_served(answer));
    }

    /// Takes note of a frame that is dropped, or loses its contents.
    pub(crate) fn note(&mut self, frame: &Frame) {
        if frame.channel != Channel::Protocol || !frame.is_whole() {
            return;
        }
        match frame.direction {
            Direction::Sent => {
                let Ok(call) = serde_json::from_slice::<CallHead<'_>>(&frame.bytes) else { return };
                if call.method == "tools/call" {
                    self.tools.entry(call.params.name.clone().into_owned()).or_default().sent += 1;
                    self.open.insert(call.id.get().to_owned(), call.params.name.into_owned());
                }
            }
            Direction::Received => {
                if self.open.is_empty() {
                    return;
                }
                let Ok(message) = frame.json() else { return };
                if let Some(tool) = self.open.remove(&message["id"].to_string()) {
                    self.tools.entry(tool).or_default().served += usize::from(is_served(&message));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wire::Transcript;

    #[test]
    fn calls_are_counted_whether_or_not_their_frames_are_kept() {
        let call = |id: usize, tool: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
            )
        };
        let answer = |id: usize, is_error: bool| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"isError":{is_error}}}}}"#)
        };
        let mut transcript = Transcript::default();
        transcript.keep_last(20);
        let mut record = |direction, line: &str| {
            transcript.record(Duration::ZERO, direction, Channel::Protocol, line.as_bytes());
            drop(transcript.take_json());
        };
        for id in 0..100 {
            record(Direction::Sent, &call(id, if id % 4 == 0 { "get" } else { "find" }));
            record(Direction::Received, &answer(id, id % 4 == 0));
        }
        record(Direction::Sent, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        record(Direction::Received, "no JSON");
        record(Direction::Received, &format!(r#"{{"id":"long","result":{{"content":"{}"}}}}"#, "x".repeat(20 << 20)));
        let frames = transcript.take_frames();
        let mut counted = transcript.take_forgotten();
        let forgotten: usize = counted.tools.values().map(|tool| tool.sent).sum();
        assert!(forgotten > 50 && counted.open.is_empty(), "{counted:?}");
        for frame in &frames {
            counted.note(frame);
        }
        let expected = [("find", (75, 75)), ("get", (25, 0))];
        let tools: Vec<_> = counted.tools.iter().map(|(name, of)| (name.as_str(), (of.sent, of.served))).collect();
        assert_eq!(tools, expected);
        assert_eq!(counted.long_answers, BTreeMap::from([("\"long\"".to_owned(), true)]));
    }
}
