//! All frames of a session, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Channel, Direction, Frame, Http, Message, classify, json};

/// How many bytes of unparsable text a written transcript and a message may quote.
const PROBLEM_QUOTE: usize = 120;

/// How much of a session is kept, in bytes; a server that never stops talking would fill the memory.
const MOST_KEPT: usize = 128 << 20;

/// What a frame takes beyond its bytes, at a guess: itself and its parsed message.
const FRAME_WEIGHT: usize = 512;

/// How many of the last frames keep their contents, however large they are.
const LAST_KEPT: usize = 16;

/// Stands in frames of ours for a message until somebody looks.
const UNREAD: &str = "";

/// How many lines of standard error are kept.
const STDERR_LINES: usize = 200;

/// How many bytes of standard error are kept.
const STDERR_BYTES: usize = 64 << 10;

/// The frames of one session; of standard error the last lines, of a very long session the contents of the last part.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The protocol stream.
    frames: Vec<Frame>,
    /// How many of the first frames are without contents.
    emptied: usize,
    kept: usize,
    stderr: VecDeque<Frame>,
    stderr_bytes: usize,
    last_seq: u32,
    /// How many of the last frames of the protocol stream are kept; `None` keeps all.
    most: Option<usize>,
}

impl Transcript {
    /// Keeps only so many of the last frames from here on, and up to twice as many now and then.
    pub fn keep_last(&mut self, frames: usize) {
        self.most = Some(frames);
    }

    /// Adds a message of ours that nobody needs to read now, and returns its number.
    pub fn record_unread(&mut self, at: Duration, bytes: &[u8]) -> u32 {
        let (direction, channel) = (Direction::Sent, Channel::Protocol);
        let json = Err(UNREAD.to_owned());
        let frame = Frame { seq: self.next_seq(), at, direction, channel, bytes: bytes.into(), json, http: None };
        self.record_protocol(frame).seq
    }

    /// Adds a message of ours, whose line is what it was written as, and returns its frame.
    pub fn record_written(&mut self, at: Duration, message: Arc<Value>, line: &[u8]) -> &Frame {
        let (direction, channel) = (Direction::Sent, Channel::Protocol);
        let frame =
            Frame { seq: self.next_seq(), at, direction, channel, bytes: line.into(), json: Ok(message), http: None };
        self.record_protocol(frame)
    }

    /// Adds a line that travelled and returns its frame.
    pub fn record(&mut self, at: Duration, direction: Direction, channel: Channel, bytes: &[u8]) -> &Frame {
        let json = match channel {
            Channel::Protocol => parse(bytes).map_err(|problem| format!("the line {problem}")),
            Channel::Stderr | Channel::Http => Err(String::new()),
        };
        let frame = Frame { seq: self.next_seq(), at, direction, channel, bytes: bytes.into(), json, http: None };
        match channel {
            Channel::Protocol | Channel::Http => self.record_protocol(frame),
            Channel::Stderr => self.record_stderr(frame),
        }
    }

    /// Adds what came over HTTP and returns its frame.
    pub fn record_http(&mut self, at: Duration, http: &Arc<Http>, bytes: &[u8]) -> &Frame {
        let json = parse(bytes).map_err(|problem| format!("the message {problem}"));
        let (direction, channel) = (Direction::Received, Channel::Protocol);
        let http = Some(Arc::clone(http));
        let frame = Frame { seq: self.next_seq(), at, direction, channel, bytes: bytes.into(), json, http };
        self.record_protocol(frame)
    }

    fn next_seq(&mut self) -> u32 {
        self.last_seq = self.last_seq.saturating_add(1);
        self.last_seq
    }

    fn record_protocol(&mut self, frame: Frame) -> &Frame {
        self.kept += frame.bytes.len() + FRAME_WEIGHT;
        self.frames.push(frame);
        self.forget_first();
        while self.kept > MOST_KEPT && self.emptied + LAST_KEPT < self.frames.len() {
            let oldest = &mut self.frames[self.emptied];
            self.kept = self.kept.saturating_sub(oldest.bytes.len() + FRAME_WEIGHT);
            oldest.bytes = Arc::default();
            oldest.json = Err("left out, since the session is very long".to_owned());
            self.emptied += 1;
        }
        &self.frames[self.frames.len() - 1]
    }

    /// Drops the first frames once there are twice as many as are to be kept.
    fn forget_first(&mut self) {
        let Some(most) = self.most.filter(|most| self.frames.len() >= most * 2) else { return };
        let dropped = self.frames.len() - most;
        let weight: usize = self.frames.drain(..dropped).map(|frame| frame.bytes.len() + FRAME_WEIGHT).sum();
        self.kept = self.kept.saturating_sub(weight);
        self.emptied = self.emptied.saturating_sub(dropped);
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
    pub fn notification(&self, seq: u32) -> Option<&str> {
        let at = self.frames.binary_search_by_key(&seq, |frame| frame.seq).ok()?;
        match classify(self.frames[at].json.as_ref().ok()?) {
            Message::Notification { method, .. } => Some(method),
            Message::Request { .. } | Message::Response { .. } | Message::Invalid(_) => None,
        }
    }

    /// When something travelled last.
    pub fn last_at(&self) -> Duration {
        self.frames.last().map_or(Duration::ZERO, |frame| frame.at)
    }

    /// Whether anything came from the server on the protocol stream.
    pub fn has_received(&self) -> bool {
        self.frames.iter().any(|frame| frame.direction == Direction::Received)
    }

    /// The status of the response that carried the last message, over HTTP.
    pub fn last_status(&self) -> Option<u16> {
        let received = self.frames.iter().rev().find(|frame| frame.direction == Direction::Received)?;
        received.http.as_ref().map(|http| http.status)
    }

    /// The numbers of the frames of the protocol stream that are kept.
    pub fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        self.frames.iter().map(|frame| frame.seq)
    }

    /// The frames so far.
    pub fn frames(&self) -> Vec<Frame> {
        self.in_order(self.frames.clone())
    }

    /// Hands out the frames so far, once.
    pub fn take_frames(&mut self) -> Vec<Frame> {
        self.emptied = 0;
        self.kept = 0;
        let frames = std::mem::take(&mut self.frames);
        self.in_order(frames)
    }

    fn in_order(&self, mut frames: Vec<Frame>) -> Vec<Frame> {
        for frame in &mut frames {
            if frame.json.as_ref().is_err_and(|reason| reason == UNREAD) && frame.channel == Channel::Protocol {
                frame.json = parse(&frame.bytes).map_err(|problem| format!("the line {problem}"));
            }
        }
        if !self.stderr.is_empty() {
            frames.extend(self.stderr.iter().cloned());
            frames.sort_by_key(|frame| frame.seq);
        }
        frames
    }

    /// The last lines of standard error, oldest first.
    pub fn stderr_tail(&self, lines: usize) -> Vec<String> {
        self.stderr.iter().skip(self.stderr.len().saturating_sub(lines)).map(Frame::text).collect()
    }
}

fn parse(bytes: &[u8]) -> Result<Arc<Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        format!("is not UTF-8: byte {:#04x} at position {}", bytes[error.valid_up_to()], error.valid_up_to())
    })?;
    json::read(text).map(Arc::new).map_err(|error| {
        if error.to_string().starts_with("recursion limit exceeded") {
            return "is nested more than 127 levels deep, and is not read".to_owned();
        }
        let shown: String = text.chars().take(PROBLEM_QUOTE).collect();
        let rest = if shown.len() < text.len() { " …" } else { "" };
        format!("is no JSON: {shown:?}{rest}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sessions_lose_the_contents_of_their_oldest_frames() {
        let mut transcript = Transcript::default();
        let line = vec![b' '; 8 << 20];
        for _ in 0..20 {
            transcript.record(Duration::ZERO, Direction::Received, Channel::Protocol, &line);
        }
        let frames = transcript.take_frames();
        assert_eq!(frames.len(), 20);
        assert!(frames[..4].iter().all(|frame| frame.bytes.is_empty()));
        assert!(frames[4..].iter().all(|frame| frame.bytes.len() == line.len()));
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
