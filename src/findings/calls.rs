//! From the frames of a session to the requests that say the same again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::event::ReproductionCall;
use crate::redact::Redactor;
use crate::reproduce::{is_discovery, is_handshake, sent_call};
use crate::runner::SessionFrames;
use crate::source::map_texts;
use crate::wire::{Channel, Direction, Frame};

/// The number of requests of a session that are kept: the last ones.
const MOST: usize = 2_000;

/// The number of frames that are kept for readers, and the length of each.
const SHOWN: usize = 20;
const LONGEST: usize = 2_000;

/// Why that cannot be played of which a server invented a secret: another run has another one.
pub(crate) const CAPTURED_SECRET: &str = "it uses a secret that the suite captures from an answer";

/// The messages of one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionCalls {
    /// Requests and notifications, each with the number of its frame and whether the case in question sent it.
    sent: Vec<(u32, bool, Arc<ReproductionCall>)>,
    /// Why they cannot be said again.
    pub(crate) unplayable: Option<&'static str>,
    /// The last frames, as in a transcript, secrets included.
    pub(crate) frames: Vec<Value>,
    /// The exit of the server, where there was one.
    pub(crate) exit: Option<String>,
}

/// The sent messages of one session, read once for all cases that look at it.
pub(crate) struct SentCall<'a> {
    session: &'a SessionFrames,
    /// By the numbers of their frames, with marks in the place of secrets; `None` for what was sent beside the session.
    calls: Vec<(u32, Option<Arc<ReproductionCall>>)>,
    /// The server revealed a secret that the suite captures.
    is_confidential: bool,
}

impl<'a> SentCall<'a> {
    pub(crate) fn of(session: &'a SessionFrames, redactor: &Redactor) -> Self {
        let nobody: &[u32] = session.owners.get("").map_or(&[], Vec::as_slice);
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
        Self { session, calls, is_confidential }
    }

    /// Everything that was said, seen from one of the session's cases or from outside of them.
    pub(crate) fn seen_from(&self, case: Option<&str>) -> SessionCalls {
        let own: &[u32] = case.and_then(|case| self.session.owners.get(case)).map_or(&[], Vec::as_slice);
        let exit = self.session.ending.and_then(|ending| ending.exit).map(|exit| exit.to_string());
        let unplayable = self.is_confidential.then_some(CAPTURED_SECRET);
        let mut said = SessionCalls { unplayable, exit, ..SessionCalls::default() };
        for (seq, call) in &self.calls {
            let is_own = own.binary_search(seq).is_ok();
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
                Some(call) => said.sent.push((*seq, is_own, Arc::clone(call))),
            }
        }
        let surplus = said.sent.len().saturating_sub(MOST);
        said.sent.drain(..surplus);
        said.frames = last_frames(self.session, own);
        said
    }
}

impl SessionCalls {
    /// The request of a frame.
    pub(crate) fn of_frame(&self, frame: u32) -> Option<ReproductionCall> {
        let (_, _, call) = self.sent.iter().find(|(seq, _, _)| *seq == frame)?;
        Some(ReproductionCall::clone(call))
    }

    /// The requests up to a frame, the last one of the case at the end; all of the case's where no frame is known.
    pub(crate) fn until(&self, frame: Option<u32>) -> Vec<ReproductionCall> {
        let own_end = self.sent.iter().filter(|(_, is_own, _)| *is_own).map(|(seq, _, _)| *seq).max();
        let end = frame.or(own_end).unwrap_or(u32::MAX);
        let mut kept: Vec<&(u32, bool, Arc<ReproductionCall>)> =
            self.sent.iter().filter(|(seq, _, _)| *seq <= end).collect();
        // Others may have spoken since.
        if let Some(at) = kept.iter().rposition(|(_, is_own, _)| *is_own) {
            let last = kept.remove(at);
            kept.push(last);
        }
        kept.into_iter().map(|(_, _, call)| ReproductionCall::clone(call)).collect()
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
