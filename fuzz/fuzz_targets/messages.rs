//! The published schemas of messages: any JSON as a result, a notification or a request of the server, in every revision.
//!
//! The first line is a method, the rest JSON.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcprove::wire::{Channel, Direction, Era, ProtocolViolation, Revision, Scan, Scanner, Transcript};
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((method, body)) = text.split_once('\n') else { return };
    let Ok(body) = serde_json::from_str::<Value>(body) else { return };
    for revision in Revision::ALL {
        let result = json!({"jsonrpc": "2.0", "id": 2, "result": body});
        let message = json!({"jsonrpc": "2.0", "method": method, "params": body});
        for message in [result, message] {
            let found = violations(revision, method, &message);
            assert_eq!(found, violations(revision, method, &message), "the same message is judged alike");
        }
    }
});

/// What the scans of a session find in its last message.
fn violations(revision: Revision, method: &str, message: &Value) -> Vec<ProtocolViolation> {
    let mut scanner = Scanner::new(revision.era());
    let mut transcript = Transcript::default();
    let mut watch = |direction, message: &Value| {
        let frame = transcript.record(Duration::ZERO, direction, Channel::Protocol, message.to_string().as_bytes());
        scanner.watch(frame)
    };
    let mut meta = json!({});
    if revision.era() == Era::Session {
        let params = json!({"protocolVersion": revision.as_str(), "capabilities": {}});
        watch(Direction::Sent, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        let info = json!({"name": "x", "version": "1"});
        let result = json!({"protocolVersion": revision.as_str(), "capabilities": {}, "serverInfo": info});
        let found = watch(Direction::Received, &json!({"jsonrpc": "2.0", "id": 1, "result": result}));
        assert!(found.is_empty(), "{found:?}");
    } else {
        meta["io.modelcontextprotocol/protocolVersion"] = revision.as_str().into();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    watch(Direction::Sent, &json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"_meta": meta}}));
    let found = watch(Direction::Received, message);
    let placed: Vec<&ProtocolViolation> = found.iter().filter(|one| one.place.is_some()).collect();
    assert!(placed.len() <= 20, "what is reported of a message is bounded");
    for (index, violation) in placed.iter().enumerate() {
        assert!(Scan::of(violation.code).is_some(), "{}", violation.code);
        assert!(!placed[..index].iter().any(|other| other.is_like(violation)), "each kind once: {violation:?}");
        assert!(violation.message.len() < 2_000, "{}", violation.message);
    }
    found
}
