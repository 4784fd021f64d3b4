//! Server-sent events, bytes in and events out (WHATWG HTML, 9.2.6), however the bytes are split.
//!
//! Knows nothing about HTTP or JSON: data stays bytes, so that what is no UTF-8 can be shown.

use std::time::Duration;

use super::reserve_for_large;

/// The length of one event in bytes; the specification sets no limit, memory does.
const LONGEST_EVENT: usize = 64 << 20;

/// The longest wait that a server may ask for before a stream is resumed.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// One event with data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The kind; empty for `message`.
    pub kind: String,
    /// The data, lines joined.
    pub data: Vec<u8>,
    /// Its own id.
    pub id: Option<String>,
}

impl SseEvent {
    /// The event carries a message of the protocol.
    pub fn is_message(&self) -> bool {
        self.kind.is_empty() || self.kind == "message"
    }
}

/// An event without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong;

/// Reads a stream piece by piece.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    /// The byte before was a CR: an LF belongs to it.
    after_cr: bool,
    has_begun: bool,
    event: SseEvent,
    has_data: bool,
    /// The id of the event that is being read.
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    empty: Empty,
}

/// The treatment of events without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Empty {
    /// To a browser they are none.
    #[default]
    Dropped,
    Kept,
}

impl SseParser {
    /// Returns events without data too.
    pub fn keeping_empty() -> Self {
        Self { empty: Empty::Kept, ..Self::default() }
    }

    /// Takes the next piece and returns the events that it completes; `Err` where one has no end within 64 MiB.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<SseEvent>, EventTooLong> {
        let mut events = Vec::new();
        let mut rest = piece;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                reserve_for_large(&mut self.line, LONGEST_EVENT);
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_of_line());
            self.is_bearable()?;
        }
        self.is_bearable()?;
        Ok(events)
    }

    /// The id of the last event, to resume after.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The delay that the server wants before the stream is resumed.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The stream would break off in the middle of an event.
    pub fn is_in_event(&self) -> bool {
        !self.line.is_empty() || self.has_data
    }

    /// The number of bytes of an event, or of a comment, that is not over.
    pub fn unfinished_bytes(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    fn is_bearable(&self) -> Result<(), EventTooLong> {
        if self.unfinished_bytes() > LONGEST_EVENT { Err(EventTooLong) } else { Ok(()) }
    }

    fn end_of_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.end_of_event();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let begin = (colon + 1 + usize::from(line.get(colon + 1) == Some(&b' '))).min(line.len());
        if &line[..colon] == b"data" && !self.has_data {
            // Most events have one line of data, which may be long: it is moved, not copied.
            self.has_data = true;
            line.drain(..begin);
            self.event.data = line;
        } else {
            self.field(&line[..colon], &line[begin..]);
        }
        None
    }

    /// Takes a field, and of the data a further line.
    fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => {
                self.event.data.push(b'\n');
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.kind = text(),
            b"id" if !value.contains(&0) => self.id = Some(text()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let wait = text().parse().map(Duration::from_millis).ok();
                self.retry = wait.map(|wait| wait.min(LONGEST_RETRY)).or(self.retry);
            }
            // Comments have no name; other fields mean nothing.
            _ => {}
        }
    }

    fn end_of_event(&mut self) -> Option<SseEvent> {
        let id = self.id.take();
        if let Some(id) = &id {
            self.last_id = (!id.is_empty()).then(|| id.clone());
        }
        let has_data = std::mem::take(&mut self.has_data);
        let event = SseEvent { id, ..std::mem::take(&mut self.event) };
        let is_kept = self.empty == Empty::Kept && (has_data || event.id.is_some() || !event.kind.is_empty());
        (!event.data.is_empty() || is_kept).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a stream whole and split at every byte; returns the events as `kind=data`, and the last id.
    fn check(stream: &[u8], expected: &[&str], last_id: Option<&str>) {
        for at in 0..=stream.len() {
            let mut parser = SseParser::default();
            let mut events = parser.push(&stream[..at]).unwrap();
            events.extend(parser.push(&stream[at..]).unwrap());
            let shown: Vec<String> =
                events.iter().map(|event| format!("{}={}", event.kind, String::from_utf8_lossy(&event.data))).collect();
            assert_eq!(shown, expected, "{:?} split at {at}", String::from_utf8_lossy(stream));
            assert_eq!(parser.last_id(), last_id);
        }
        let mut parser = SseParser::default();
        let bytewise: usize = stream.iter().map(|byte| parser.push(&[*byte]).unwrap().len()).sum();
        assert_eq!(bytewise, expected.len());
    }

    #[test]
    fn events_are_found_however_they_are_split() {
        check(b"data: {}\n\n", &["={}"], None);
        check(b"data:{}\r\n\r\ndata: 2\r\r", &["={}", "=2"], None);
        check(b"\xef\xbb\xbfevent: message\nid: 7\ndata: a\ndata: b\n\n", &["message=a\nb"], Some("7"));
        check(b": ping\n\n: ping\n\n", &[], None);
        check(b"event: endpoint\ndata:  /messages\n\n", &["endpoint= /messages"], None);
        check(b"id: 1\ndata:\n\nid: 2\ndata: x\n\nid\ndata: y\n\n", &["=x", "=y"], None);
        check(b"id: 3\ndata: x\n\nid: torn", &["=x"], Some("3"));
        check(b"foo: bar\ndata\ndata\n\n\n\ndata: torn", &["=\n"], None);
        check(b"id: a\0b\ndata: \xff\n\n", &["=\u{fffd}"], None);
    }

    #[test]
    fn the_end_of_a_stream_may_be_torn() {
        for (stream, torn) in [(&b"data: a\n\n"[..], false), (b"data: a\n", true), (b"dat", true), (b": c\n", false)] {
            let mut parser = SseParser::default();
            parser.push(stream).unwrap();
            assert_eq!(parser.is_in_event(), torn, "{stream:?}");
        }
    }

    #[test]
    fn waits_are_bounded_and_so_are_events() {
        let mut parser = SseParser::default();
        parser.push(b"retry: 250\nretry: soon\n").unwrap();
        assert_eq!(parser.retry(), Some(Duration::from_millis(250)));
        parser.push(b"retry: 999999999\n").unwrap();
        assert_eq!(parser.retry(), Some(LONGEST_RETRY));
        let mebibyte = vec![b'x'; 1 << 20];
        let fed = (0..70).find(|_| parser.push(&mebibyte).is_err());
        assert_eq!(fed, Some(64));
    }
}
