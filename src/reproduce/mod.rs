//! Makes the requests of a finding again, and searches for the requests that it needs.
//!
//! A [`Player`] sends requests one after another in a session; `ddmin` leaves out requests, and `shrink` makes what they
//! carry smaller. Runs use them while they last, and replays of kept findings later.

mod confidence;
mod ddmin;
mod sent;
mod shrink;
mod suite_step;

use std::time::Duration;

use crate::diagnosis::of_violations;
use crate::event::{Finding, ReproductionCall};
use crate::session::{AwaitedAnswers, CallFailure, FailureReason, RawMessage, Session, SessionReply, SessionRequest};
use crate::transport::Owner;
use crate::wire::Era;

pub use self::confidence::{
    CallEffect, Confidence, confidence, is_fleeting, is_volatile, json_type, lasts, likenesses, text_lasts,
};
pub use self::ddmin::{SlowDdmin, ddmin, next_question};
pub use self::sent::{is_discovery, is_handshake, sent_call};
pub use self::shrink::shrink;
pub use self::suite_step::{literal, literal_text, suite_step, with_store_named};

/// The time for which a server is watched after its last answer.
pub const WATCH: Duration = Duration::from_millis(20);

/// The time to wait for an answer to a raw message.
const RAW_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends requests in a session, one after another.
#[derive(Clone, Copy)]
pub struct Player<'a> {
    /// The session.
    pub session: &'a Session,
    /// The case to which the frames belong.
    pub owner: &'a Owner,
    /// The time for one request.
    pub timeout: Duration,
}

impl Player<'_> {
    /// Sends a request, a notification or a raw message; `None` where no answer is expected.
    pub async fn send(&self, call: &ReproductionCall) -> Result<Option<SessionReply>, CallFailure> {
        if let (true, Some(text)) = (call.method.is_empty(), call.params.as_str()) {
            return self.send_raw(text).await.map(|()| None);
        }
        if call.method.starts_with("notifications/") {
            let params = Some(&call.params).filter(|params| !params.is_null());
            self.session.notify(self.owner, &call.method, params);
            return Ok(None);
        }
        self.request(call).await.map(Some)
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&self, call: &ReproductionCall) -> Result<SessionReply, CallFailure> {
        let (owner, method, timeout) = (self.owner, call.method.as_str(), Some(self.timeout));
        let params = Some(call.params.clone()).filter(|params| !params.is_null());
        self.session.request(SessionRequest { owner, method, params, timeout, progress: false }).await
    }

    async fn send_raw(&self, text: &str) -> Result<(), CallFailure> {
        let line = text.as_bytes().to_vec();
        let raw = RawMessage {
            owner: self.owner,
            pieces: vec![[line.as_slice(), b"\n"].concat()],
            lines: vec![line],
            awaited: AwaitedAnswers::Next,
            timeout: Some(self.timeout.min(RAW_TIMEOUT)),
            watch: WATCH,
        };
        match self.session.send_raw(raw).await {
            // A server may ignore bytes that are no message.
            Err(failure) if !failure.is_timeout() => Err(failure),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Fails where the server no longer answers.
    pub async fn ping(&self) -> Result<(), CallFailure> {
        let method = match self.session.server.revision.era() {
            Era::Session => "ping",
            Era::Stateless => "server/discover",
        };
        let (owner, timeout) = (self.owner, Some(self.timeout));
        match self.session.request(SessionRequest { owner, method, params: None, timeout, progress: false }).await {
            Ok(_) => Ok(()),
            // A server that does not know the method is alive.
            Err(failure) if matches!(failure.reason, FailureReason::Http(_)) && failure.alive => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// The violations of the protocol since they were last taken.
    pub fn take_violations(&self) -> Vec<Finding> {
        let violations = self.session.take_all_violations();
        if violations.is_empty() { Vec::new() } else { of_violations(&violations, &self.session.frames()) }
    }
}
