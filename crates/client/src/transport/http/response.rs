//! A response of HTTP/1.1 as it arrives, bytes in and parts out; strict only where nothing could be made of it.
//!
//! Knows nothing about sockets. Interim responses (1xx) are passed over, compression is not undone.

use super::failure::HttpFailure;
use super::stream::is_event_stream;
use crate::source::shorten;
use crate::wire::sse::{SseEvent, SseParser};
use crate::wire::{HttpHead, is_response, reserve_for_large};

/// The size of a head, in bytes.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// The number of bytes of a response that are read: it is held as it came, and taken apart.
const MAX_RESPONSE_BYTES: usize = 24 << 20;

/// The part of a response that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadUntil {
    /// The body; a stream of events up to the first message that answers something.
    Answer,
    /// The head.
    Head,
    /// The body to its end.
    Body,
    /// So many events.
    Events(usize),
}

/// The beginning of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The HTTP version, such as `1.1`.
    pub version: String,
    /// The reason phrase.
    pub reason: String,
    /// Status and headers.
    pub http: HttpHead,
}

/// A response as far as it has arrived.
#[derive(Debug)]
pub struct RawResponse {
    /// Every byte.
    pub received: Vec<u8>,
    /// The head, once it is whole.
    pub head: Option<ResponseHead>,
    /// The body without its transfer encoding.
    pub body: Vec<u8>,
    /// The events of a stream.
    pub events: Vec<SseEvent>,
    /// The index of the first byte that was not looked at.
    seen: usize,
    framing: Framing,
    parser: Option<SseParser>,
    /// One of the events is a response of the protocol.
    has_answer: bool,
    wanted: ReadUntil,
    /// It answers `HEAD`, and so has no body.
    is_bodiless: bool,
}

/// The marks by which the end of a body is found.
#[derive(Debug)]
enum Framing {
    /// After so many bytes.
    Length(usize),
    /// After an empty chunk.
    Chunked(Chunk),
    /// With the connection.
    Close,
    /// It has come.
    Ended,
}

/// A place in a chunked body.
#[derive(Debug)]
enum Chunk {
    Size(Vec<u8>),
    Data(usize),
    Trailer(Vec<u8>),
}

impl RawResponse {
    pub fn new(wanted: ReadUntil, method: &str) -> Self {
        Self {
            received: Vec::new(),
            head: None,
            body: Vec::new(),
            events: Vec::new(),
            seen: 0,
            framing: Framing::Close,
            parser: None,
            has_answer: false,
            wanted,
            is_bodiless: method == "HEAD",
        }
    }

    /// Takes the next piece; `true` where what was wanted is there.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, HttpFailure> {
        if self.received.len() + piece.len() > MAX_RESPONSE_BYTES {
            return Err(HttpFailure::TooLarge("it has more than 24 MiB"));
        }
        reserve_for_large(&mut self.received, MAX_RESPONSE_BYTES);
        reserve_for_large(&mut self.body, MAX_RESPONSE_BYTES);
        self.received.extend_from_slice(piece);
        while self.head.is_none() {
            if !self.take_head()? {
                return Ok(false);
            }
        }
        if self.wanted == ReadUntil::Head {
            return Ok(true);
        }
        let rest = self.received[self.seen..].to_vec();
        self.seen = self.received.len();
        let before = self.body.len();
        self.unframe(&rest)?;
        self.take_events(before)?;
        Ok(self.is_enough())
    }

    /// The response with another head and another body, read as far as this one was.
    #[must_use]
    pub fn rewritten(&self, http: &HttpHead, body: &[u8]) -> Self {
        let mut bytes = format!("HTTP/1.1 {} \r\n", http.status).into_bytes();
        let is_framing = |name: &str| matches!(name, "content-length" | "transfer-encoding");
        for (name, value) in http.headers.iter().filter(|(name, _)| !is_framing(name)) {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
        let method = if self.is_bodiless { "HEAD" } else { "" };
        let mut rewritten = Self::new(self.wanted, method);
        // A rewritten response is HTTP, and no larger than the original, but for a few messages.
        let _ = rewritten.push(&bytes);
        rewritten
    }

    /// The end of the connection is the end of the response.
    pub(crate) fn ends_with_connection(&self) -> bool {
        self.head.is_some() && matches!(self.framing, Framing::Close | Framing::Ended)
    }

    /// The body is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.parser.is_some()
    }

    fn is_enough(&self) -> bool {
        let is_there = match self.wanted {
            ReadUntil::Events(count) => self.events.len() >= count,
            ReadUntil::Answer => self.has_answer,
            ReadUntil::Head | ReadUntil::Body => false,
        };
        is_there || matches!(self.framing, Framing::Ended)
    }

    /// Takes the head if it is complete; `false` if more must come.
    fn take_head(&mut self) -> Result<bool, HttpFailure> {
        let rest = &self.received[self.seen..];
        let Some((head, length)) = parse_head(rest)? else {
            if rest.len() > MAX_HEAD_BYTES {
                return Err(HttpFailure::TooLarge("its headers have more than 1 MiB"));
            }
            return Ok(false);
        };
        self.seen += length;
        if (100..200).contains(&head.http.status) && head.http.status != 101 {
            return Ok(true);
        }
        self.framing = self.framing_of(&head.http)?;
        self.parser = is_event_stream(&head.http).then(SseParser::keeping_empty);
        self.head = Some(head);
        Ok(true)
    }

    fn framing_of(&self, http: &HttpHead) -> Result<Framing, HttpFailure> {
        if self.is_bodiless || matches!(http.status, 204 | 304) {
            return Ok(Framing::Ended);
        }
        if http.header("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().ends_with("chunked")) {
            return Ok(Framing::Chunked(Chunk::Size(Vec::new())));
        }
        let Some(length) = http.header("content-length") else { return Ok(Framing::Close) };
        match length.trim().parse() {
            Ok(0) => Ok(Framing::Ended),
            Ok(length) => Ok(Framing::Length(length)),
            Err(_) => Err(HttpFailure::NotHttp("its `content-length` is not a number".to_owned())),
        }
    }

    fn unframe(&mut self, mut rest: &[u8]) -> Result<(), HttpFailure> {
        while !rest.is_empty() {
            match &mut self.framing {
                Framing::Ended => return Ok(()),
                Framing::Close => {
                    self.body.extend_from_slice(rest);
                    return Ok(());
                }
                Framing::Length(left) => {
                    let taken = rest.len().min(*left);
                    self.body.extend_from_slice(&rest[..taken]);
                    *left -= taken;
                    if *left == 0 {
                        self.framing = Framing::Ended;
                    }
                    rest = &rest[taken..];
                }
                Framing::Chunked(chunk) => {
                    let (taken, is_last) = chunk.take(rest, &mut self.body)?;
                    rest = &rest[taken..];
                    if is_last {
                        self.framing = Framing::Ended;
                    }
                }
            }
        }
        Ok(())
    }

    fn take_events(&mut self, before: usize) -> Result<(), HttpFailure> {
        let Some(parser) = &mut self.parser else { return Ok(()) };
        let Ok(events) = parser.push(&self.body[before..]) else {
            return Err(HttpFailure::TooLarge("one event has more than 64 MiB"));
        };
        self.has_answer |= events.iter().any(|event| is_response(&event.data));
        self.events.extend(events);
        Ok(())
    }
}

impl Chunk {
    /// Takes some bytes, at least one; says how many, and whether the body ended with them.
    fn take(&mut self, rest: &[u8], body: &mut Vec<u8>) -> Result<(usize, bool), HttpFailure> {
        let broken = |what: &str| HttpFailure::NotHttp(format!("a chunk of its body {what}"));
        match self {
            Self::Data(left) if *left > 0 => {
                let taken = rest.len().min(*left);
                body.extend_from_slice(&rest[..taken]);
                *left -= taken;
                return Ok((taken, false));
            }
            // The line break after the data.
            Self::Data(_) => match rest[0] {
                b'\r' => {}
                b'\n' => *self = Self::Size(Vec::new()),
                _ => return Err(broken("is longer than it says")),
            },
            Self::Size(line) if rest[0] == b'\n' => {
                let text = String::from_utf8_lossy(line).into_owned();
                let digits = text.split(';').next().unwrap_or_default().trim();
                *self = match usize::from_str_radix(digits, 16) {
                    Ok(0) => Self::Trailer(Vec::new()),
                    Ok(size) => Self::Data(size),
                    Err(_) => return Err(broken("does not say how long it is")),
                };
            }
            Self::Trailer(line) if rest[0] == b'\n' => {
                if line.iter().all(|byte| *byte == b'\r') {
                    return Ok((1, true));
                }
                line.clear();
            }
            Self::Size(line) | Self::Trailer(line) => {
                if line.len() > MAX_HEAD_BYTES {
                    return Err(broken("does not say how long it is"));
                }
                line.push(rest[0]);
            }
        }
        Ok((1, false))
    }
}

/// A head and its length in bytes; `None` if more must come.
fn parse_head(bytes: &[u8]) -> Result<Option<(ResponseHead, usize)>, HttpFailure> {
    let mut config = httparse::ParserConfig::default();
    config.ignore_invalid_headers_in_responses(true).allow_spaces_after_header_name_in_responses(true);
    let mut headers = vec![httparse::EMPTY_HEADER; memchr::memchr_iter(b'\n', bytes).count()];
    let mut response = httparse::Response::new(&mut headers);
    let length = match config.parse_response(&mut response, bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        // The message quotes the whole first line.
        Err(_) if bytes.starts_with(b"HTTP/") && !bytes.contains(&b'\n') => return Ok(None),
        Err(error) => return Err(HttpFailure::NotHttp(not_http(bytes, error))),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let headers =
        response.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header.value))).collect();
    let version = format!("1.{}", response.version.unwrap_or_default());
    let reason = response.reason.unwrap_or_default().to_owned();
    let http = HttpHead { status: response.code.unwrap_or_default(), headers };
    Ok(Some((ResponseHead { version, reason, http }, length)))
}

fn not_http(bytes: &[u8], error: httparse::Error) -> String {
    if !bytes.starts_with(b"HTTP/") {
        return "it does not begin with `HTTP/`".to_owned();
    }
    if matches!(error, httparse::Error::HeaderName | httparse::Error::HeaderValue) {
        return format!("its headers are malformed: {error}");
    }
    let first = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    format!("its first line is {:?}", shorten(&String::from_utf8_lossy(first), 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a response whole and byte by byte; shows status, body and whether it ended by itself.
    fn check(text: &str, wanted: ReadUntil, expected: &str) {
        for size in [1, 7, text.len()] {
            let mut response = RawResponse::new(wanted, "GET");
            let mut shown = String::new();
            for piece in text.as_bytes().chunks(size) {
                match response.push(piece) {
                    Ok(false) => {}
                    Ok(true) => shown = " ended".to_owned(),
                    Err(failure) => shown = format!(" {}", failure.message("GET")),
                }
                if !shown.is_empty() {
                    break;
                }
            }
            let status = response.head.as_ref().map_or(0, |head| head.http.status);
            let body = String::from_utf8_lossy(&response.body);
            assert_eq!(format!("{status} {body}{shown}"), expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn bodies_end_where_they_say() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ReadUntil::Body, "200 ok ended");
        check("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", ReadUntil::Answer, "202  ended");
        check("HTTP/1.1 204 No Content\r\n\r\n", ReadUntil::Answer, "204  ended");
        check("HTTP/1.1 200\r\nno header\r\ncontent-length : 1\r\n\r\nx", ReadUntil::Body, "200 x ended");
        check("HTTP/1.0 200 OK\r\n\r\nup to the end", ReadUntil::Body, "200 up to the end");
        check(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 417 No\r\nContent-Length: 1\r\n\r\nx",
            ReadUntil::Body,
            "417 x ended",
        );
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n";
        check(chunks, ReadUntil::Body, "200 abc0123456789 ended");
    }

    #[test]
    fn a_rewritten_response_is_read_as_the_first_was() {
        let check = |text: &str, wanted: ReadUntil, (status, kind, body): (u16, &str, &str), expected: &str| {
            let mut response = RawResponse::new(wanted, "POST");
            response.push(text.as_bytes()).unwrap();
            let http = HttpHead { status, headers: vec![("content-type".to_owned(), kind.to_owned())] };
            let rewritten = response.rewritten(&http, body.as_bytes());
            let head = rewritten.head.as_ref().unwrap();
            let body = String::from_utf8_lossy(&rewritten.body);
            assert_eq!(format!("{} {body} {}", head.http.status, rewritten.events.len()), expected);
        };
        let chunked = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
        check(chunked, ReadUntil::Answer, (200, "application/json", "{}"), "200 {} 0");
        check(chunked, ReadUntil::Answer, (200, "text/event-stream", "data: 1\n\n"), "200 data: 1\n\n 1");
        check(chunked, ReadUntil::Head, (400, "text/plain", "no"), "400  0");
    }

    #[test]
    fn what_is_not_http_is_told() {
        check("SSH-2.0\r\n", ReadUntil::Body, "0  the response to `GET` is not HTTP: it does not begin with `HTTP/`");
        check(
            "HTTP/1.1 OK\r\n",
            ReadUntil::Body,
            "0  the response to `GET` is not HTTP: its first line is \"HTTP/1.1 OK\"",
        );
        let broken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        let expected = "200  the response to `GET` is not HTTP: a chunk of its body does not say how long it is";
        check(broken, ReadUntil::Body, expected);
    }

    #[test]
    fn streams_end_with_the_answer_or_as_many_events_as_wanted() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let events = "id: 1\ndata:\n\ndata: {\"method\":\"m\"}\n\ndata: {\"result\":{}}\n\n";
        for (wanted, expected) in [(ReadUntil::Answer, 3), (ReadUntil::Events(2), 2), (ReadUntil::Body, 3)] {
            let mut response = RawResponse::new(wanted, "POST");
            let ended = (head.to_owned() + events).bytes().any(|byte| response.push(&[byte]).unwrap());
            assert_eq!((response.events.len(), ended), (expected, wanted != ReadUntil::Body));
            assert_eq!(response.events[0].id.as_deref(), Some("1"));
        }
    }
}
