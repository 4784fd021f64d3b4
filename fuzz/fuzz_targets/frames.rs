//! The frame parser: any lines become frames, messages and violations.
//!
//! A line that begins with `>` was sent, one that begins with `!` came on standard error, all others were received.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcprove::wire::{
    Channel, Direction, Era, Frame, Id, RpcMessage, Scan, Scanner, Tool, Transcript, classify, notification_line,
    request, response_line,
};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    for era in [Era::Session, Era::Stateless] {
        let mut transcript = Transcript::default();
        let mut scanner = Scanner::new(era);
        for line in bytes.split(|byte| *byte == b'\n') {
            let (direction, channel, line) = match line.first() {
                Some(b'>') => (Direction::Sent, Channel::Protocol, &line[1..]),
                Some(b'!') => (Direction::Received, Channel::Stderr, &line[1..]),
                _ => (Direction::Received, Channel::Protocol, line),
            };
            let frame = transcript.record(Duration::ZERO, direction, channel, line).clone();
            if frame.channel == Channel::Protocol {
                look(&frame, &mut scanner);
            }
        }
        let frames = transcript.frames();
        assert!(frames.is_sorted_by_key(|frame| frame.seq), "frames are in order");
        drop(transcript.stderr_tail(12));
    }
});

fn look(frame: &Frame, scanner: &mut Scanner) {
    for violation in scanner.watch(frame) {
        assert_eq!(violation.frame, frame.seq);
        assert!(Scan::of(violation.code).is_some(), "{}", violation.code);
    }
    assert!(frame.to_json().is_object());
    let Ok(json) = frame.json() else { return };
    let _ = Tool::new((*json).clone()).may_destroy();
    write_again(&json);
}

/// What is understood and written again is understood in the same way.
fn write_again(json: &Value) {
    let written = match classify(json) {
        RpcMessage::Request { id, method, params } => request(&id, method, params.cloned()).to_string(),
        RpcMessage::Notification { method, params } => notification_line(method, params),
        RpcMessage::Response { id: Some(id) } => response_line(&id, json.get("result").ok_or(&json["error"])),
        RpcMessage::Response { id: None } | RpcMessage::Invalid(_) => return,
    };
    let read: Value = serde_json::from_str(&written).expect("what is written is JSON");
    assert_eq!(classify(&read), classify(json), "{written}");
    assert!(!written.contains('\n'), "a message is one line");
    assert_eq!(read.get("id").and_then(Id::from_json), json.get("id").and_then(Id::from_json));
}
