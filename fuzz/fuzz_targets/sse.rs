//! The parser of event streams: any bytes, however they are split, become the same events.
//!
//! The first byte says in how large pieces the rest is fed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcprove::wire::sse::{SseEvent, SseParser};

fuzz_target!(|bytes: &[u8]| {
    let Some((size, stream)) = bytes.split_first() else { return };
    let whole = fed(stream, stream.len().max(1));
    assert_eq!(fed(stream, 1), whole, "byte by byte");
    assert_eq!(fed(stream, usize::from(*size).max(1)), whole, "in pieces of {size}");
    for event in &whole.0 {
        assert!(!event.data.is_empty(), "an event without data is none");
        assert!(!event.kind.contains(['\n', '\r']), "a field is one line");
    }
    assert!(whole.1.is_none_or(|id| !id.contains(['\n', '\r', '\0'])), "an id can be sent back in a header");
});

/// The events, and the id to resume after.
fn fed(stream: &[u8], size: usize) -> (Vec<SseEvent>, Option<String>) {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        events.extend(parser.push(piece).expect("no input of a fuzzer is that long"));
    }
    let _ = (parser.retry(), parser.is_in_event());
    (events, parser.last_id().map(str::to_owned))
}
