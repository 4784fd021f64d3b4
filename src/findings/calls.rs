//! From the frames of a session to the requests that say the same again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::event::ReproductionCall;
use crate::redact::Redactor;
use crate::reproduce::{is_discovery, is_handshake, sent_call};
use crate::runner::SessionFrames;
use crate::session::WrittenRequest;
use crate::source::map_texts;
use crate::transport::Owner;
use crate::wire::{Channel, Direction, Frame};

/// The number of requests of a session that are kept: the last ones.
const MOST: usize = 2_000;

/// The number of frames that are kept for readers, and the length of each.
const SHOWN: usize = 20;
const LONGEST: usize = 2_000;

/// Why that cannot be played of which a server invented a secret: another run has another one.
pub(crate) const CAPTURED_SECRET: &str = "it uses a secret that the suite captures from an answer";

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The case in question.
    Case,
    /// The setup of its suite.
    Setup,
    /// Another case.
    Other,
}

/// A request or notification.
#[derive(Debug, Clone)]
pub(crate) struct SentCall {
    /// The number of its frame.
    pub(crate) frame: u32,
    pub(crate) sender: Sender,
    /// The call with what was sent.
    pub(crate) call: Arc<ReproductionCall>,
    /// What the suite writes of it.
    pub(crate) written: Option<Arc<WrittenRequest>>,
}

/// The messages of one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionCalls {
    /// Requests and notifications.
    sent: Vec<SentCall>,
    /// Why they cannot be said again.
    pub(crate) unplayable: Option<&'static str>,
    /// The last frames, as in a transcript, secrets included.
    pub(crate) frames: Vec<Value>,
    /// The exit of the server, where there was one.
    pub(crate) exit: Option<String>,
}

/// The sent messages of one session, read once for all cases that look at it.
pub(crate) struct SentCalls<'a> {
    session: &'a SessionFrames,
    /// By the numbers of their frames, with marks in the place of secrets; `None` for what was sent beside the session.
    calls: Vec<(u32, Option<Arc<ReproductionCall>>)>,
    written: BTreeMap<u32, Arc<WrittenRequest>>,
    /// The first frame of a case: before, the suite was set up.
    begun: u32,
    /// The server revealed a secret that the suite captures.
    is_confidential: bool,
}

impl<'a> SentCalls<'a> {
    pub(crate) fn of(session: &'a SessionFrames, redactor: &Redactor) -> Self {
        let nobody: &[u32] = session.owners.get(&Owner::Session).map_or(&[], Vec::as_slice);
        let mut calls = Vec::new();
        for frame in session.frames.iter().filter(|frame| frame.direction == Direction::Sent) {
            if frame.channel == Channel::Http {
                calls.push((frame.seq, None));
                continue;
            }
            let Some(mut call) = sent_call(frame) else { continue };
            if !nobody.contains(&frame.seq) || !is_discovery(&call) {
                call.params = map_texts(call.params, &|text| redactor.restorable(text));
                calls.push((frame.seq, Some(Arc::new(call))));
            }
        }
        let is_confidential =
            redactor.has_captured() && session.frames.iter().any(|frame| redactor.holds_captured(&frame.to_json()));
        let written = session.written.iter().map(|(frame, written)| {
            let params = written.params.clone();
            let params = params.map(|params| map_texts(params, &|text| redactor.restorable(text)));
            (*frame, Arc::new(WrittenRequest { params, ..written.clone() }))
        });
        let cases = session.owners.iter().filter(|(owner, _)| **owner != Owner::Session);
        let begun = cases.filter_map(|(_, frames)| frames.first().copied()).min().unwrap_or(u32::MAX);
        Self { session, calls, written: written.collect(), begun, is_confidential }
    }

    /// Everything that was said, seen from one of the session's cases or from outside of them.
    pub(crate) fn seen_from(&self, case: Option<&str>) -> SessionCalls {
        let own: &[u32] =
            case.and_then(|case| self.session.owners.get(&Owner::of_case(case))).map_or(&[], Vec::as_slice);
        let exit = self.session.ending.and_then(|ending| ending.exit).map(|exit| exit.to_string());
        let unplayable = self.is_confidential.then_some(CAPTURED_SECRET);
        let mut said = SessionCalls { unplayable, exit, ..SessionCalls::default() };
        for (seq, call) in &self.calls {
            let is_own = own.binary_search(seq).is_ok();
            let sender = match is_own {
                true => Sender::Case,
                false if *seq < self.begun => Sender::Setup,
                false => Sender::Other,
            };
            match call {
                // Of what others sent beside the session, nothing is left in it.
                None if is_own => {
                    said.unplayable = said.unplayable.or(Some("it sends raw HTTP requests outside the session"));
                }
                None => {}
                Some(call) if is_handshake(call) => {
                    let is_bare = is_own && call.method == "initialize";
                    said.unplayable = said.unplayable.or(is_bare.then_some("it performs the handshake itself"));
                }
                Some(call) => {
                    // Cases give the same names to values of their own.
                    let written = self.written.get(seq).filter(|_| sender != Sender::Other).cloned();
                    said.sent.push(SentCall { frame: *seq, sender, call: Arc::clone(call), written });
                }
            }
        }
        let surplus = said.sent.len().saturating_sub(MOST);
        said.sent.drain(..surplus);
        said.frames = last_frames(self.session, own);
        said
    }
}

impl SessionCalls {
    /// The requests up to a frame, the last one of the case at the end; all of the case's where no frame is known.
    pub(crate) fn until(&self, frame: Option<u32>) -> Vec<&SentCall> {
        let is_own = |sent: &&SentCall| sent.sender == Sender::Case;
        let own_end = self.sent.iter().filter(is_own).map(|sent| sent.frame).max();
        let end = frame.or(own_end).unwrap_or(u32::MAX);
        let mut kept: Vec<&SentCall> = self.sent.iter().filter(|sent| sent.frame <= end).collect();
        // Others may have spoken since.
        if let Some(at) = kept.iter().rposition(is_own) {
            let last = kept.remove(at);
            kept.push(last);
        }
        kept
    }
}

/// The last frames of a case and what the server wrote to standard error.
fn last_frames(session: &SessionFrames, own: &[u32]) -> Vec<Value> {
    let is_shown = |frame: &&Frame| own.is_empty() || own.contains(&frame.seq) || frame.channel == Channel::Stderr;
    let last = session.frames.iter().rev().filter(is_shown).take(SHOWN);
    let mut frames: Vec<Value> = last.map(Frame::to_json).collect();
    frames.reverse();
    frames
}

/// A frame without secrets, cut to what can be looked at.
pub(crate) fn shorten(frame: Value) -> Value {
    let text = frame.to_string();
    if text.len() <= LONGEST {
        return frame;
    }
    let whole =
        frame.get("message").map_or_else(|| frame["text"].as_str().unwrap_or_default().to_owned(), Value::to_string);
    let kept: String = whole.chars().take(LONGEST).collect();
    let members = ["frame", "at_us", "direction", "channel", "http"];
    let mut short: BTreeMap<&str, Value> =
        members.into_iter().filter_map(|name| Some((name, frame.get(name)?.clone()))).collect();
    short.insert("text", format!("{kept}… ({} bytes in all)", whole.len()).into());
    short.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
}
