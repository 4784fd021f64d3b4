//! From the frames of a session to the requests that say the same again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::event::ReproductionCall;
use crate::redact::Redactor;
use crate::runner::SessionFrames;
use crate::source::map_texts;
use crate::wire::{Channel, Direction, Frame, ListKind};

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
            let Some(mut call) = call(frame) else { continue };
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

/// A sent message, to be sent again; `None` for answers to the server.
fn call(frame: &Frame) -> Option<ReproductionCall> {
    let raw = || ReproductionCall { method: String::new(), params: frame.text().into() };
    let Ok(message) = frame.json() else { return Some(raw()) };
    let is_sound = message["jsonrpc"] == "2.0" && message.get("id").is_none_or(|id| id.is_number() || id.is_string());
    let method = match message["method"].as_str() {
        Some(method) if is_sound => method.to_owned(),
        None if is_sound && (message.get("result").is_some() || message.get("error").is_some()) => return None,
        Some(_) | None => return Some(raw()),
    };
    let is_notification = message.get("id").is_none();
    if is_notification != method.starts_with("notifications/") {
        return Some(raw());
    }
    let mut params = message.get("params").cloned().unwrap_or_default();
    without_era(&mut params);
    Some(ReproductionCall { method, params })
}

/// Takes out what the revision adds to every request.
fn without_era(params: &mut Value) {
    let Some(members) = params.as_object_mut() else { return };
    let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) else { return };
    meta.retain(|name, _| !name.starts_with("io.modelcontextprotocol/") && name != "progressToken");
    if meta.is_empty() {
        members.remove("_meta");
    }
}

fn is_handshake(call: &ReproductionCall) -> bool {
    ["initialize", "notifications/initialized"].contains(&call.method.as_str())
}

/// Every session sends this request to get to know its server.
fn is_discovery(call: &ReproductionCall) -> bool {
    call.method == "server/discover" || ListKind::ALL.iter().any(|kind| kind.method() == call.method)
}
