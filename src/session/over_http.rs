//! What comes over HTTP: a message belongs to the POST in whose response it came, and a POST can fail by itself.

use std::sync::Arc;

use super::failure::End;
use super::state::{Arrived, State};
use crate::transport::{HttpFailure, Origin, excerpt};
use crate::wire::{Frame, Http, Message, classify};

impl State {
    /// Takes in a message; returns the lines that answer the server's requests, with their frames.
    pub(super) fn receive_http(&mut self, bytes: &[u8], http: &Arc<Http>, origin: Origin) -> Vec<(u32, String)> {
        let at = self.elapsed();
        let frame = self.transcript.record_http(at, http, bytes);
        if let Origin::Body(post) = origin
            && let Some(failure) = no_message(frame)
        {
            let seq = frame.seq;
            self.fail(post, failure, Some(seq));
            return Vec::new();
        }
        let found = self.scanner.watch(frame);
        let (seq, json) = (frame.seq, frame.json.clone());
        let post = match origin {
            Origin::Body(post) | Origin::Event(post) => Some(post),
            Origin::Stream => None,
        };
        let replies = self.taken(seq, (&json, bytes), found, post);
        self.count(bytes.len(), replies.answered.as_deref());
        replies.lines
    }

    /// Nothing can answer the message of that frame any more.
    pub(super) fn undelivered(&mut self, post: u32, failure: HttpFailure, shown: Option<(Arc<Http>, Vec<u8>)>) {
        let at = self.elapsed();
        let frame = shown.map(|(http, body)| self.transcript.record_http(at, &http, &body).seq);
        let is_lost = matches!(failure, HttpFailure::SessionLost(_));
        self.fail(post, failure.clone(), frame);
        if is_lost {
            self.end(End::Lost(failure));
        }
    }

    /// Tells whoever waits for an answer to the message of that frame.
    fn fail(&mut self, post: u32, failure: HttpFailure, frame: Option<u32>) {
        let Some(id) = self.asked_in(post) else { return };
        let Some(waiting) = self.forget(&id) else { return };
        if let Some(frame) = frame {
            self.own(frame, Some(&waiting.owner));
        }
        // Whoever waited may have gone.
        let _ = waiting.reply.send(Arrived::Failed(failure));
    }
}

/// Why the whole body of a response is no answer.
fn no_message(frame: &Frame) -> Option<HttpFailure> {
    let excerpt = || excerpt(&frame.bytes);
    match &frame.json {
        Err(reason) => Some(HttpFailure::NotJson { reason: reason.clone(), excerpt: excerpt() }),
        Ok(json) => match classify(json) {
            Message::Invalid(reason) => Some(HttpFailure::NotAMessage { reason, excerpt: excerpt() }),
            Message::Request { .. } | Message::Notification { .. } | Message::Response { .. } => None,
        },
    }
}
