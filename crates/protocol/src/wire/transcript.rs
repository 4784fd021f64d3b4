//! All frames of a session, in order.
//!
//! Bytes are kept up to a limit; their JSON is parsed on arrival, and again on demand.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::forgotten::ForgottenCalls;
use super::frame::{Content, OmittedBytes};
use super::weight::{MAX_MESSAGE_MEMORY, memory_estimate};
use super::{Channel, Direction, Frame, HttpHead, ReadLimit, RpcMessage, classify};

/// The number of bytes of a session that are kept; a server that never stops talking would fill the memory.
pub const MOST_KEPT: usize = 24 << 20;

/// The memory that a parsed frame may take to be kept whole.
const MOST_WHOLE: usize = 16 << 20;

/// The estimated memory of a frame beyond its bytes.
const FRAME_WEIGHT: usize = 512;

/// The memory of messages that stay parsed, so that readers need not parse them again.
const MOST_READ: usize = 4 << 20;

/// The number of frames at the beginning and at the end that keep their contents: the handshake and four lists come
/// first.
const FIRST_KEPT: usize = 16;
const LAST_KEPT: usize = 4;

/// The number of bytes that are kept of both ends of a longer one.
const END: usize = 64 << 10;

/// The number of lines of standard error that are kept.
const STDERR_LINES: usize = 200;

/// The number of bytes of standard error that are kept.
const STDERR_BYTES: usize = 64 << 10;

/// The frames of one session; of standard error the last lines, of a very long session the contents of both ends.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The protocol stream.
    frames: Vec<Frame>,
    /// The number of frames after the first that are without contents.
    emptied: usize,
    kept: usize,
    /// The number of the first frames that are not kept parsed, and the memory of the others.
    unread: usize,
    read: usize,
    /// Only both ends of the last frame are kept.
    is_last_cut: bool,
    stderr: VecDeque<Frame>,
    stderr_bytes: usize,
    last_seq: u32,
    /// The number of the last frames of the protocol stream that are kept; `None` keeps all.
    most: Option<usize>,
    /// Among how many sessions the memory of one is shared; 0 counts as one.
    sharing: usize,
    /// The calls in frames that are dropped or emptied.
    forgotten: ForgottenCalls,
    /// The memory that a message may take to be read; `None` for that of any message.
    largest: Option<usize>,
    not_read: usize,
}

/// A message on the protocol stream that is about to be recorded.
struct NewFrame<'a> {
    at: Duration,
    direction: Direction,
    http: Option<Arc<HttpHead>>,
    bytes: &'a [u8],
    /// The estimated memory of its JSON.
    weight: usize,
}

impl Transcript {
    /// Keeps only the first frames and the last from here on: so many in all, and up to twice as many now and then. Those
    /// at both ends are kept in any case.
    pub fn keep_last(&mut self, frames: usize) {
        self.most = Some(frames.max(FIRST_KEPT + LAST_KEPT));
    }

    /// Shares the memory of one session among so many; both ends are kept in any case.
    pub fn share_memory(&mut self, sessions: usize) {
        self.sharing = sessions;
    }

    /// Reads no message from here on that takes more memory than this, in bytes; `None` reads any message.
    pub fn limit_messages(&mut self, largest: Option<usize>) {
        self.largest = largest;
    }

    /// The number of messages that came and were not read, since they are too large or nested too deep.
    pub fn not_read(&self) -> usize {
        self.not_read
    }

    /// The share of this session in so many bytes.
    fn share(&self, bytes: usize) -> usize {
        bytes / self.sharing.max(1)
    }

    /// Adds a message of ours that nobody needs to read now, and returns its number.
    pub fn record_unread(&mut self, at: Duration, bytes: &[u8]) -> u32 {
        self.record_content(
            NewFrame { at, direction: Direction::Sent, http: None, bytes, weight: memory_estimate(bytes) },
            Content::Unread,
        )
        .seq
    }

    /// Adds a message of ours, whose line is what it was written as, and returns its frame.
    pub fn record_written(&mut self, at: Duration, message: Arc<Value>, line: &[u8]) -> &Frame {
        self.record_content(
            NewFrame { at, direction: Direction::Sent, http: None, bytes: line, weight: memory_estimate(line) },
            Content::Read(message),
        )
    }

    /// Adds a line that travelled and returns its frame.
    pub fn record(&mut self, at: Duration, direction: Direction, channel: Channel, bytes: &[u8]) -> &Frame {
        if channel == Channel::Protocol {
            let weight = memory_estimate(bytes);
            let content = self.parse(direction, bytes, weight, "line");
            return self.record_content(NewFrame { at, direction, http: None, bytes, weight }, content);
        }
        let (bytes, content) = if bytes.len() > MOST_WHOLE {
            (ends(bytes), Content::LeftOut(OmittedBytes::LongFrame))
        } else {
            (bytes.into(), Content::None(String::new()))
        };
        let frame = Frame { seq: self.next_seq(), at, direction, channel, bytes, http: None, content };
        if channel == Channel::Stderr { self.record_stderr(frame) } else { self.push(frame) }
    }

    /// Adds what came over HTTP and returns its frame.
    pub fn record_http(&mut self, at: Duration, http: &Arc<HttpHead>, bytes: &[u8]) -> &Frame {
        let (http, weight) = (Some(Arc::clone(http)), memory_estimate(bytes));
        let content = self.parse(Direction::Received, bytes, weight, "message");
        self.record_content(NewFrame { at, direction: Direction::Received, http, bytes, weight }, content)
    }

    fn parse(&mut self, direction: Direction, bytes: &[u8], weight: usize, what: &str) -> Content {
        let content = Content::of(bytes, weight, self.largest.unwrap_or(MAX_MESSAGE_MEMORY), what);
        self.not_read += usize::from(direction == Direction::Received && matches!(content, Content::NotRead(_)));
        content
    }

    fn record_content(&mut self, new: NewFrame<'_>, content: Content) -> &Frame {
        let NewFrame { at, direction, http, bytes, weight } = new;
        let is_cut = weight > MOST_WHOLE;
        let bytes = if is_cut { ends(bytes) } else { bytes.into() };
        let frame = Frame { seq: self.next_seq(), at, direction, channel: Channel::Protocol, bytes, http, content };
        self.forget_messages();
        self.is_last_cut = is_cut;
        if !is_cut {
            self.read += weight;
        }
        self.push(frame)
    }

    fn next_seq(&mut self) -> u32 {
        self.last_seq = self.last_seq.saturating_add(1);
        self.last_seq
    }

    fn push(&mut self, frame: Frame) -> &Frame {
        self.kept += frame.bytes.len() + FRAME_WEIGHT;
        self.frames.push(frame);
        self.forget_first();
        while self.kept > self.share(MOST_KEPT) && FIRST_KEPT + self.emptied + LAST_KEPT < self.frames.len() {
            let oldest = &mut self.frames[FIRST_KEPT + self.emptied];
            self.kept = self.kept.saturating_sub(oldest.bytes.len() + FRAME_WEIGHT);
            self.forgotten.note(oldest);
            oldest.bytes = Arc::default();
            oldest.content = Content::LeftOut(OmittedBytes::LongSession);
            self.emptied += 1;
        }
        &self.frames[self.frames.len() - 1]
    }

    /// The JSON in the last message, which is not kept here where it is long; the reason in words where there is none.
    pub fn take_json(&mut self) -> Result<Arc<Value>, String> {
        let json = self.frames.last().map_or_else(|| Err(String::new()), Frame::json);
        self.forget_long_message();
        json
    }

    fn forget_long_message(&mut self) {
        if let Some(last) = self.frames.last_mut().filter(|_| self.is_last_cut)
            && let Content::Read(message) = &last.content
        {
            self.forgotten.note_long_answer(message);
            last.content = Content::LeftOut(OmittedBytes::LongFrame);
        }
    }

    /// Keeps only so much of what was read: the rest is read again by whoever looks.
    fn forget_messages(&mut self) {
        self.forget_long_message();
        while self.read > self.share(MOST_READ) && self.unread < self.frames.len() {
            let oldest = &mut self.frames[self.unread];
            self.unread += 1;
            if let Content::Read(_) = oldest.content {
                self.read = self.read.saturating_sub(memory_estimate(&oldest.bytes));
                oldest.content = Content::Unread;
            }
        }
    }

    /// Drops frames after the first ones, which say what the server is, once there are twice as many as are to be kept.
    fn forget_first(&mut self) {
        let Some(most) = self.most.filter(|most| self.frames.len() >= most * 2) else { return };
        let dropped = self.frames.len() - most;
        let first = FIRST_KEPT.min(most);
        let between = first..first + dropped;
        let forgotten = &mut self.forgotten;
        let dropped_frames = self.frames.drain(between).inspect(|frame| forgotten.note(frame));
        let weight: usize = dropped_frames.map(|frame| frame.bytes.len() + FRAME_WEIGHT).sum();
        self.kept = self.kept.saturating_sub(weight);
        self.emptied = self.emptied.saturating_sub(dropped);
        self.unread = self.unread.saturating_sub(dropped).max(self.unread.min(first));
    }

    fn record_stderr(&mut self, frame: Frame) -> &Frame {
        self.stderr_bytes += frame.bytes.len();
        self.stderr.push_back(frame);
        while self.stderr.len() > 1 && (self.stderr.len() > STDERR_LINES || self.stderr_bytes > STDERR_BYTES) {
            let oldest = self.stderr.pop_front();
            self.stderr_bytes -= oldest.map_or(0, |frame| frame.bytes.len());
        }
        &self.stderr[self.stderr.len() - 1]
    }

    /// The method of the notification that was sent in that frame.
    pub fn notification(&self, seq: u32) -> Option<String> {
        let at = self.frames.binary_search_by_key(&seq, |frame| frame.seq).ok()?;
        match classify(&*self.frames[at].json().ok()?) {
            RpcMessage::Notification { method, .. } => Some(method.to_owned()),
            RpcMessage::Request { .. } | RpcMessage::Response { .. } | RpcMessage::Invalid(_) => None,
        }
    }

    /// Why the message of that frame was not read; `None` where it was.
    pub fn beyond(&self, seq: u32) -> Option<ReadLimit> {
        let at = self.frames.binary_search_by_key(&seq, |frame| frame.seq).ok()?;
        self.frames[at].beyond()
    }

    /// When something travelled last.
    pub fn last_at(&self) -> Duration {
        self.frames.last().map_or(Duration::ZERO, |frame| frame.at)
    }

    /// Anything came from the server on the protocol stream.
    pub fn has_received(&self) -> bool {
        self.frames.iter().any(|frame| frame.direction == Direction::Received)
    }

    /// The status of the response that carried the last message, over HTTP.
    pub fn last_status(&self) -> Option<u16> {
        let received = self.frames.iter().rev().find(|frame| frame.direction == Direction::Received)?;
        received.http.as_ref().map(|http| http.status)
    }

    /// The numbers of the frames of the protocol stream that are kept.
    pub fn kept_frames(&self) -> impl Iterator<Item = u32> + '_ {
        self.frames.iter().map(|frame| frame.seq)
    }

    /// The frames so far.
    pub fn frames(&self) -> Vec<Frame> {
        self.in_order(self.frames.clone())
    }

    /// Hands out the frames so far, once.
    pub fn take_frames(&mut self) -> Vec<Frame> {
        (self.emptied, self.kept, self.unread, self.read) = (0, 0, 0, 0);
        let frames = std::mem::take(&mut self.frames);
        self.in_order(frames)
    }

    /// Hands out what is known of the calls in frames that are no longer kept, once.
    pub fn take_forgotten(&mut self) -> ForgottenCalls {
        std::mem::take(&mut self.forgotten)
    }

    fn in_order(&self, mut frames: Vec<Frame>) -> Vec<Frame> {
        if !self.stderr.is_empty() {
            frames.extend(self.stderr.iter().cloned());
            frames.sort_by_key(|frame| frame.seq);
        }
        frames
    }

    /// The lines of standard error that came after a frame, oldest first.
    pub fn stderr_after(&self, frame: u32) -> impl Iterator<Item = String> + '_ {
        self.stderr.iter().filter(move |line| line.seq > frame).map(Frame::text)
    }

    /// The last lines of standard error, oldest first.
    pub fn stderr_tail(&self, lines: usize) -> Vec<String> {
        self.stderr.iter().skip(self.stderr.len().saturating_sub(lines)).map(Frame::text).collect()
    }
}

/// Both ends of bytes, and how many there are.
fn ends(bytes: &[u8]) -> Arc<[u8]> {
    if bytes.len() <= 2 * END {
        return bytes.into();
    }
    let between = format!(" … ({} bytes in all) … ", bytes.len());
    [&bytes[..END], between.as_bytes(), &bytes[bytes.len() - END..]].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_is_kept_however_few_are() {
        let mut transcript = Transcript::default();
        transcript.keep_last(1);
        for number in 1..100 {
            let frame = transcript.record(Duration::ZERO, Direction::Sent, Channel::Protocol, b"{}");
            assert_eq!(frame.seq, number);
        }
        assert_eq!(transcript.kept_frames().last(), Some(99));
    }

    #[test]
    fn long_sessions_lose_the_contents_between_both_ends() {
        let mut transcript = Transcript::default();
        let line = format!("\"{}\"", "x".repeat(1 << 20));
        for _ in 0..50 {
            transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, line.as_bytes());
        }
        let frames = transcript.take_frames();
        let whole: Vec<bool> = frames.iter().map(Frame::is_whole).collect();
        assert_eq!(frames.len(), 50);
        assert!(whole[..8].iter().chain(&whole[46..]).all(|is_whole| *is_whole), "{whole:?}");
        assert_eq!(whole.iter().filter(|is_whole| **is_whole).count(), 23, "{whole:?}");
        assert!(frames.iter().filter(|frame| frame.is_whole()).all(|frame| frame.json().is_ok()));
    }

    #[test]
    fn sessions_share_the_memory_of_one() {
        let line = format!("\"{}\"", "x".repeat(1 << 20));
        let kept = |sessions: usize| {
            let mut transcript = Transcript::default();
            transcript.share_memory(sessions);
            for _ in 0..50 {
                transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, line.as_bytes());
            }
            transcript.take_frames().iter().filter(|frame| frame.is_whole()).count()
        };
        assert_eq!([1, 100].map(kept), [23, FIRST_KEPT + LAST_KEPT]);
    }

    #[test]
    fn the_first_frames_stay_where_only_the_last_are_kept() {
        let mut transcript = Transcript::default();
        transcript.keep_last(20);
        for _ in 0..100 {
            transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, b"{}");
        }
        let numbers: Vec<u32> = transcript.take_frames().iter().map(|frame| frame.seq).collect();
        assert_eq!(numbers[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(numbers.last(), Some(&100));
        assert!(numbers.len() < 40 && numbers.is_sorted(), "{numbers:?}");
    }

    #[test]
    fn of_a_very_long_message_both_ends_are_kept() {
        let mut transcript = Transcript::default();
        let line = format!("{{\"id\":1,\"result\":{{\"begin\":\"{}end\"}}}}", "x".repeat(20 << 20));
        let frame = transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, line.as_bytes());
        assert!(frame.json().is_ok_and(|message| message["id"] == 1));
        transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, b"{}");
        let frames = transcript.take_frames();
        assert!(frames[0].json().is_err());
        let text = frames[0].text();
        assert!(text.starts_with("{\"id\":1") && text.ends_with("end\"}}") && text.len() < 1 << 20, "{}", text.len());
    }

    #[test]
    fn of_a_very_long_raw_response_both_ends_are_kept() {
        let mut transcript = Transcript::default();
        let response = format!("HTTP/1.1 200 OK\r\n\r\n{}end", "x".repeat(20 << 20));
        let frame = transcript.record(Duration::ZERO, Direction::Received, Channel::Http, response.as_bytes());
        assert!(!frame.is_whole() && frame.bytes.len() < 1 << 20, "{}", frame.bytes.len());
        assert!(frame.text().starts_with("HTTP/1.1 200") && frame.text().ends_with("end"));
        let frame =
            transcript.record(Duration::ZERO, Direction::Received, Channel::Http, &response.as_bytes()[..1 << 20]);
        assert!(frame.is_whole());
        assert_eq!(frame.bytes.len(), 1 << 20);
    }

    #[test]
    fn what_is_beyond_reading_is_no_stray_text() {
        let mut transcript = Transcript::default();
        let deep = format!("{{\"id\":1,\"result\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for (line, expected) in [(deep.as_str(), Some(ReadLimit::Depth)), (&deep[..300], None), ("{}", None)] {
            let frame = transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, line.as_bytes());
            assert_eq!(frame.beyond(), expected, "{line}");
        }
    }

    #[test]
    fn the_last_lines_of_stderr_stay_in_their_places() {
        let mut transcript = Transcript::default();
        for number in 0..300 {
            let line = number.to_string();
            transcript.record(Duration::ZERO, Direction::Received, Channel::Stderr, line.as_bytes());
            transcript.record(Duration::ZERO, Direction::Sent, Channel::Protocol, b"{}");
        }
        let frames = transcript.frames();
        assert_eq!(frames.len(), 500);
        assert!(frames.is_sorted_by_key(|frame| frame.seq));
        assert_eq!(transcript.stderr_tail(2), ["298", "299"]);
    }
}
