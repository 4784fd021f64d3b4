//! Settings, answers and frames, as tests of judgements write them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::session::{RawExchange, SessionReply};
use crate::source::settings::Setting;
use crate::source::{Node, SourceFile, Sources, parse};
use crate::transport::http::{ExchangeEnd, RawResponse, ReadUntil};
use crate::wire::{Channel, Direction, Frame, Transcript};

/// A value of a suite.
pub(crate) fn node(text: &str) -> Node {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("suite.yml", text));
    parse(&sources, source).unwrap()
}

/// Settings without mistakes, as their type reads them.
pub(crate) fn read_settings<S: Setting>(node: &Node) -> S {
    let mut found = Vec::new();
    let settings = S::decode(node, &mut found);
    assert!(found.is_empty(), "{found:?}");
    settings.unwrap()
}

/// Settings of a block.
pub(crate) fn settings<S: Setting>(text: &str) -> S {
    read_settings(&node(text))
}

/// An answer with this text.
pub(crate) fn served(text: &str) -> SessionReply {
    reply(json!({ "result": { "content": [{ "type": "text", "text": text }] } }))
}

/// An answer that refuses a call.
pub(crate) fn refused() -> SessionReply {
    reply(json!({ "error": { "code": -32602, "message": "no" } }))
}

pub(crate) fn reply(message: Value) -> SessionReply {
    SessionReply {
        message: Arc::new(message),
        params: json!({ "name": "get", "arguments": {} }),
        frame: 1,
        answer_frame: 2,
        elapsed: Duration::ZERO,
        notifications: Vec::new(),
    }
}

/// Frames of a session, in order.
pub(crate) fn frames(lines: &[(Direction, Channel, &str)]) -> Vec<Frame> {
    let mut transcript = Transcript::default();
    for (direction, channel, line) in lines {
        transcript.record(Duration::ZERO, *direction, *channel, line.as_bytes());
    }
    transcript.frames()
}

/// A whole response over HTTP.
pub(crate) fn response(status: u16, content_type: &str, body: &str) -> RawExchange {
    response_with(status, &[("Content-Type", content_type)], body)
}

pub(crate) fn response_with(status: u16, headers: &[(&str, &str)], body: &str) -> RawExchange {
    let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<Vec<_>>().concat();
    let bytes = format!("HTTP/1.1 {status} OK\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    let mut response = RawResponse::new(ReadUntil::Body, "POST");
    response.push(bytes.as_bytes()).unwrap();
    RawExchange { frame: 1, answer_frame: Some(2), response, ended: ExchangeEnd::Complete }
}
