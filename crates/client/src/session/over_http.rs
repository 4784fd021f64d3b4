//! Messages over HTTP: each belongs to the POST in whose response it came, and a POST can fail by itself.

use std::sync::Arc;

use super::state::{EndReason, RequestOutcome, SessionState};
use crate::transport::{HttpDelivery, HttpFailure, Owner, excerpt};
use crate::wire::{Frame, HttpHead, MessageStream, ProtocolViolation, RpcMessage, classify};

/// The code of a handshake whose end the server refuses to hear of.
const REFUSED_NOTIFICATION: &str = "refused-notification";

impl SessionState {
    /// Takes in a message; returns the lines that answer the server's requests, with their frames.
    pub(crate) fn receive_http(
        &mut self,
        bytes: &[u8],
        http: &Arc<HttpHead>,
        origin: HttpDelivery,
    ) -> Vec<(u32, String)> {
        let at = self.now();
        self.limit_message(bytes);
        let frame = self.transcript.record_http(at, http, bytes);
        if let HttpDelivery::Body(post) = origin
            && frame.beyond().is_none()
            && let Some(failure) = no_message(frame)
        {
            let seq = frame.seq;
            self.fail(post, failure, Some(seq));
            return Vec::new();
        }
        let (post, stream) = match origin {
            HttpDelivery::Body(post) | HttpDelivery::Event(post) => (Some(post), MessageStream::Response(post)),
            HttpDelivery::Stream => (None, MessageStream::Common),
        };
        let (seq, found) = (frame.seq, self.scanner.watch_on(frame, stream));
        let json = self.transcript.take_json();
        let replies = self.handle_message(seq, &json, bytes, found, post);
        self.count_unrequested(bytes, replies.is_answer);
        replies.lines
    }

    /// Nothing can answer the message of that frame any more.
    pub(crate) fn fail_undelivered(
        &mut self,
        post: u32,
        failure: HttpFailure,
        shown: Option<(Arc<HttpHead>, Vec<u8>)>,
    ) {
        let at = self.now();
        let frame = shown.map(|(http, body)| self.transcript.record_http(at, &http, &body).seq);
        let is_lost = matches!(failure, HttpFailure::SessionLost(_));
        if let (HttpFailure::Status(_), Some(frame)) = (&failure, frame) {
            self.notification_refused(post, &failure, frame);
        }
        self.fail(post, failure.clone(), frame);
        if is_lost {
            self.end_with(EndReason::Lost(failure));
        }
    }

    /// A message will be sent again with another token; what refused it is kept to be looked at.
    pub(crate) fn refused_token(&mut self, post: Option<u32>, http: &Arc<HttpHead>, body: &[u8]) {
        let at = self.now();
        let frame = self.transcript.record_http(at, http, body).seq;
        let owner = post.and_then(|post| self.owner_of(post));
        self.own(frame, owner.as_ref());
    }

    /// Records the refusal of the handshake's notification, which every server must accept. No answer is awaited for it,
    /// so it would stay unseen. Notifications of a suite may rightly be refused.
    fn notification_refused(&mut self, post: u32, failure: &HttpFailure, frame: u32) {
        let Some(method) = self.transcript.notification(post) else { return };
        let owner = self.owner_of(post);
        self.own(frame, owner.as_ref());
        if owner == Some(Owner::Session) && method == "notifications/initialized" {
            let (code, variant) = (REFUSED_NOTIFICATION, "PROTO-HTTP-CONTRACT");
            let violation = ProtocolViolation {
                rule: None,
                code,
                message: failure.message(&method),
                variant,
                place: None,
                frame,
                request: None,
            };
            self.keep(vec![violation], None);
        }
    }

    /// Tells whoever waits for an answer to the message of that frame.
    fn fail(&mut self, post: u32, failure: HttpFailure, frame: Option<u32>) {
        let Some(id) = self.request_in_frame(post) else { return };
        let Some(waiting) = self.forget(&id) else { return };
        if let Some(frame) = frame {
            self.own(frame, Some(&waiting.owner));
        }
        self.bodies_not_read += usize::from(matches!(failure, HttpFailure::TooLarge(_)));
        // Whoever waited may have gone.
        let _ = waiting.reply.send(RequestOutcome::Failed(failure));
    }
}

/// Why the whole body of a response is no answer.
fn no_message(frame: &Frame) -> Option<HttpFailure> {
    let excerpt = || excerpt(&frame.bytes);
    match frame.json() {
        Err(reason) => Some(HttpFailure::NotJson { reason, excerpt: excerpt() }),
        Ok(json) => match classify(&json) {
            RpcMessage::Invalid(reason) => Some(HttpFailure::NotAMessage { reason, excerpt: excerpt() }),
            RpcMessage::Request { .. } | RpcMessage::Notification { .. } | RpcMessage::Response { .. } => None,
        },
    }
}
