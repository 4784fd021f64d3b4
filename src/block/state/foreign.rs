//! The session id of one user with the credentials of another one, in revisions with sessions.
//!
//! An id that leaks is worth nothing to others where the server asks whose it is. A server that serves any id at all looks
//! at none, so its answers say nothing of sessions; `compliance` reports it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::search::Search;
use super::seen::ForeignRequest;
use crate::event::ReproductionCall;
use crate::session::Session;
use crate::transport::http::Endpoint;

/// An id that no server gave.
pub(crate) const UNKNOWN_ID: &str = "7c1f0b52-5a0e-4b6c-9d1e-6d6370726f76";

/// A session of a user.
pub(crate) struct UserSession {
    pub(crate) name: String,
    pub(crate) session: Session,
}

impl UserSession {
    /// The requests of another session carry the same credentials.
    pub(crate) fn has_credentials_of(&self, other: &Session) -> bool {
        let (Some(own), Some(other)) = (self.session.endpoint(), other.endpoint()) else { return true };
        let headers = |endpoint: &Endpoint| -> BTreeSet<(String, String)> {
            let headers = endpoint.headers().iter();
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect()
        };
        let are_fetched = own.address().tokens.is_some() || other.address().tokens.is_some();
        !are_fetched && headers(own) == headers(other)
    }

    fn session_id(&self) -> Option<String> {
        self.session.endpoint()?.session_id()
    }
}

impl Search<'_> {
    /// Asks as one user in the session of another one, for a sign of life and for what that session shows.
    pub(crate) async fn look_in_foreign_session(&mut self, owner: &UserSession, sender: &UserSession) {
        let (Some(foreign), Some(own)) = (owner.session_id(), sender.session_id()) else { return };
        let ping = ReproductionCall::new("ping", Value::Null);
        let is_own_served = self.is_served_in(sender, &own, &ping).await;
        if foreign == own || !is_own_served || self.is_served_in(sender, UNKNOWN_ID, &ping).await {
            return;
        }
        let place = format!("to the user `{}` under the session id of `{}`", sender.name, owner.name);
        let leaks = self.seen.leaks.len();
        for read in self.seen.reads.clone() {
            let Some(request) = &read.request else { continue };
            if let Some(shown) = self.round.post_in(&sender.session, &foreign, request, read.tool.as_deref()).await {
                self.note_leaks(&shown, &place);
            }
        }
        if self.seen.leaks.len() > leaks {
            return;
        }
        let served = self.round.post_in(&sender.session, &foreign, &ping, None).await;
        if let Some(shown) = served.filter(|shown| shown.is_served) {
            self.seen.foreign.get_or_insert(ForeignRequest {
                exchange: shown.exchange,
                sender: sender.name.clone(),
                owner: owner.name.clone(),
            });
        }
    }

    async fn is_served_in(&mut self, sender: &UserSession, id: &str, request: &ReproductionCall) -> bool {
        self.round.post_in(&sender.session, id, request, None).await.is_some_and(|shown| shown.is_served)
    }
}
