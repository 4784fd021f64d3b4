//! A mutant in front of the requests that a case sends beside its session, each on a connection of its own: the link does not
//! carry them, so its injector does not see them.
//!
//! The mutant changes what a response says, not when it comes or whether.

use std::sync::Arc;

use parking_lot::Mutex;

use super::super::replay::{ReplayLog, ReplayMoment};
use crate::fault::{ChangedMessage, Fault, FaultPlayer, LiveExchange, LiveRequest, ServerReply};
use crate::transport::Owner;
use crate::transport::http::{RawRequest, RawResponse, ResponseInterceptor};
use crate::wire::{Catalog, HttpHead};

/// A mutant that sees the requests beside the sessions with one server.
pub(crate) struct MutantBeside {
    player: FaultPlayer,
    log: Arc<Mutex<ReplayLog>>,
}

impl MutantBeside {
    pub(crate) fn new(fault: Fault, catalog: &Catalog, log: Arc<Mutex<ReplayLog>>) -> Self {
        let player = FaultPlayer::new(vec![fault]);
        player.learn(catalog);
        Self { player, log }
    }

    /// The response with what the mutant makes of it; `None` if it does not strike.
    fn struck(&self, exchange: &LiveExchange, response: &RawResponse, http: &HttpHead) -> Option<RawResponse> {
        if !response.is_stream() {
            let changed =
                self.player.answer(exchange, Some(ServerReply::at_once(&response.body, Some(Arc::new(http.clone())))));
            return changed.is_changed.then(|| rewritten(response, http, changed));
        }
        let mut head = self.player.head(exchange, http);
        let (mut body, mut is_struck) = (Vec::new(), head != *http);
        for event in &response.events {
            let reply = ServerReply::at_once(&event.data, Some(Arc::new(http.clone())));
            let changed = if reply.sent_message().is_some() {
                self.player.change_sent(Some(exchange), &exchange.request.scope, reply)
            } else {
                self.player.answer(exchange, Some(reply))
            };
            is_struck |= changed.is_changed;
            // The whole response is there, so that its head can follow from its answer.
            let heads = changed.own.iter().filter_map(|reply| reply.http.as_deref());
            if let Some(changed) = heads.into_iter().find(|changed| **changed != *http) {
                head.clone_from(changed);
            }
            changed.messages().for_each(|message| body.extend(event_of(&message)));
        }
        is_struck.then(|| response.rewritten(&head, &body))
    }
}

impl ResponseInterceptor for MutantBeside {
    fn on_response(&self, owner: &Owner, request: &RawRequest, response: RawResponse) -> RawResponse {
        let asked = LiveRequest::of_http(&request.pieces.concat());
        let (Some(head), Some(asked)) = (&response.head, asked) else { return response };
        let exchange = self.player.match_request(asked.of(owner));
        let Some(struck) = self.struck(&exchange, &response, &head.http) else { return response };
        let moment = ReplayMoment { owner: owner.clone(), ..ReplayMoment::default() };
        self.log.lock().struck.push(moment);
        struck
    }
}

/// The response with one message in its body, or with all of them as events.
fn rewritten(response: &RawResponse, http: &HttpHead, changed: ChangedMessage) -> RawResponse {
    let head = changed.own.iter().find_map(|reply| reply.http.clone());
    let head = head.map_or_else(|| http.clone(), |head| HttpHead::clone(&head));
    let mut messages: Vec<Vec<u8>> = changed.messages().collect();
    if messages.len() < 2 {
        return response.rewritten(&head, &messages.pop().unwrap_or_default());
    }
    let mut headers: Vec<_> = head.headers.into_iter().filter(|(name, _)| name != "content-type").collect();
    headers.push(("content-type".to_owned(), "text/event-stream".to_owned()));
    let events: Vec<Vec<u8>> = messages.iter().map(|message| event_of(message)).collect();
    response.rewritten(&HttpHead { headers, ..head }, &events.concat())
}

fn event_of(message: &[u8]) -> Vec<u8> {
    [b"data: ", message, b"\n\n"].concat()
}
