//! A connection over HTTP that broke in the middle of an exchange: is the server gone, or did it cut one connection?
//!
//! Only a server that nothing reaches any more has ended. A request that changes nothing is made again: served then, the
//! break is a doubt; broken again, the server cuts this request, unless it is gone a moment later. After any other request,
//! a sign of life is asked for.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::state::{OutgoingRequest, SessionState};
use super::{CallFailure, FailureReason, Session, SessionReply};
use crate::transport::{HttpFailure, Owner, ServerExit};
use crate::wire::{Catalog, ProtocolViolation};

/// The time until the end of a process of ours is known.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time for which a server that ends may still be reached.
const END_TIME: Duration = Duration::from_millis(50);

/// The time for a sign of life.
const SIGN_OF_LIFE_TIMEOUT: Duration = Duration::from_secs(5);

impl SessionState {
    /// Remembers which tools only read, so that a call of them may be made again.
    pub(crate) fn learn_readers(&mut self, catalog: &Catalog) {
        if self.is_http() {
            self.readers.extend(catalog.tools.iter().filter(|tool| tool.only_reads()).map(|tool| tool.name.clone()));
        }
    }

    /// Making the request twice changes nothing.
    fn is_repeatable(&self, request: &OutgoingRequest<'_>) -> bool {
        let tool = request.params.as_ref().and_then(|params| params["name"].as_str());
        request.method != "tools/call" || tool.is_some_and(|tool| self.readers.contains(tool))
    }
}

impl Session {
    /// The answer to a request whose connection broke, or the reason for which there is none. `request` is the same
    /// request again.
    pub(crate) async fn after_break(
        &self,
        mut failure: CallFailure,
        request: OutgoingRequest<'_>,
    ) -> Result<SessionReply, CallFailure> {
        let (owner, limit) = (request.owner, request.limit);
        let (is_repeated, question) = if self.peer.lock().is_repeatable(&request) {
            (true, request)
        } else {
            (false, self.ask_for_life(owner, limit))
        };
        let asked = self.peer.exchange(question).await;
        let is_refused = match &asked {
            // A server that ends is reached for a moment longer.
            Err(again) if again.is_break() => {
                sleep(END_TIME).await;
                self.peer.exchange(self.ask_for_life(owner, limit)).await.is_err_and(|last| last.is_of_no_listener())
            }
            asked => asked.as_ref().is_err_and(CallFailure::is_of_no_listener),
        };
        let exit = if is_refused { self.exit_of_process().await } else { None };
        match asked {
            Ok(reply) if is_repeated => {
                self.keep_broken_connection(owner, &failure);
                return Ok(reply);
            }
            Err(_) if !self.is_open() => {
                return Err(self.peer.lock().ended_failure(&failure.method, failure.frame.unwrap_or_default()));
            }
            Err(_) if is_refused => failure.reason = FailureReason::Exited(exit.unwrap_or(ServerExit::NotListening)),
            Err(CallFailure { reason: FailureReason::Http(HttpFailure::Reset(broken)), .. }) if is_repeated => {
                failure.reason = FailureReason::Http(HttpFailure::ResetAgain(broken));
            }
            Ok(_) | Err(_) => {}
        }
        Err(failure)
    }

    /// A failure for which nothing listens: of a process of ours, it is the end that its first session is told of.
    pub(crate) async fn after_end(&self, failure: CallFailure) -> CallFailure {
        match self.exit_of_process().await {
            Some(_) if !self.is_open() => {
                self.peer.lock().ended_failure(&failure.method, failure.frame.unwrap_or_default())
            }
            Some(exit) => CallFailure { reason: FailureReason::Exited(exit), alive: false, ..failure },
            None => failure,
        }
    }

    /// The exit of a process of ours, which is known a moment after the end of its connections; `None` where it was not
    /// started here, or goes on.
    async fn exit_of_process(&self) -> Option<ServerExit> {
        let endpoint = self.endpoint()?;
        let exit = endpoint.address().exit.as_ref()?;
        let is_told = || exit.get().is_some() && !(endpoint.is_ours() && self.is_open());
        let until = Instant::now() + EXIT_TIMEOUT;
        while !is_told() && Instant::now() < until {
            sleep(POLL_INTERVAL).await;
        }
        exit.get().copied()
    }

    /// The request that any server answers, in the place of another one.
    fn ask_for_life<'a>(&self, owner: &'a Owner, limit: Duration) -> OutgoingRequest<'a> {
        let (method, limit) = (self.sign_of_life(), limit.min(SIGN_OF_LIFE_TIMEOUT));
        let (params, deadline) = (self.with_era(None), Instant::now() + limit);
        let (progress, is_extended_by_progress) = (false, false);
        OutgoingRequest { owner, method, params, deadline, limit, progress, is_extended_by_progress }
    }

    fn keep_broken_connection(&self, owner: &Owner, failure: &CallFailure) {
        let violation = ProtocolViolation {
            rule: None,
            code: ProtocolViolation::CONNECTION_LOST,
            message: format!("{failure}; the same request was served when it was made again"),
            variant: "PROTO-HTTP-CONTRACT",
            place: None,
            frame: failure.frame.unwrap_or_default(),
            request: None,
        };
        self.peer.lock().keep(vec![violation], Some(owner));
    }
}

impl CallFailure {
    /// Nothing can be reached at the server's address.
    pub(crate) fn is_of_no_listener(&self) -> bool {
        use HttpFailure::{ConnectionRefused, Unreachable};
        matches!(self.reason, FailureReason::Http(ConnectionRefused { .. } | Unreachable { .. }))
    }

    /// The connection broke in the middle of the exchange.
    pub(crate) fn is_break(&self) -> bool {
        matches!(&self.reason, FailureReason::Http(failure) if failure.is_break())
    }
}
