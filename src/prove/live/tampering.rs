//! A mutant in front of a real server: what comes is held back until it is an exchange, then changed like a recorded one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::super::recording::{Key, Said, asked};
use super::super::replay::{Heard, Log, Moment, Wording};
use crate::fault::{Asked, Exchange, Fault, Known, Reply, What};
use crate::transport::relay::Between;
use crate::transport::{Incoming, Kind, Message, Outgoing, Played};
use crate::wire::{Catalog, Http, Message as Meaning, classify};

/// What a mutant knows of a server before it stands in front of it.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) fault: Fault,
    pub(super) catalog: Catalog,
    pub(super) capabilities: Value,
    /// What was recorded; what travels now comes after it.
    pub(super) exchanges: Arc<Vec<Exchange>>,
    pub(super) log: Arc<Mutex<Log>>,
}

pub(super) struct Tampering {
    around: Surroundings,
    transport: &'static str,
    /// The recorded exchanges, and those of this session.
    exchanges: Vec<Exchange>,
    pending: Vec<Pending>,
    asked: BTreeMap<Key, u32>,
    is_over: bool,
}

/// A request that has no answer yet.
struct Pending {
    exchange: Exchange,
    heard: Heard,
    asked_at: Instant,
    /// How many of its replies were handed on already.
    told: usize,
}

impl Tampering {
    pub(super) fn new(around: Surroundings, transport: &'static str) -> Self {
        let exchanges = around.exchanges.to_vec();
        Self { around, transport, exchanges, pending: Vec::new(), asked: BTreeMap::new(), is_over: false }
    }

    fn exchange(&mut self, owner: &str, said: Asked) -> Exchange {
        let key = Key { owner: owner.to_owned(), said: Said::of(&said) };
        let count = self.asked.entry(key).or_default();
        let occurrence = *count;
        *count += 1;
        Exchange { owner: owner.to_owned(), session: 0, occurrence, asked: said, replies: Vec::new() }
    }

    fn sent(&mut self, message: &Message) -> Vec<Played> {
        let Some(said) = serde_json::from_slice::<Value>(&message.bytes).ok().as_ref().and_then(asked) else {
            return Vec::new();
        };
        let expects_an_answer = matches!(message.kind, Kind::Handshake | Kind::Request);
        let heard = Heard { frame: message.frame, expects_an_answer, in_session: false };
        let exchange = self.exchange(&message.owner, said);
        if matches!(exchange.asked, Asked::Message { id: Some(_), .. }) {
            self.pending.push(Pending { exchange, heard, asked_at: Instant::now(), told: 0 });
            return Vec::new();
        }
        self.settle(exchange, heard, Duration::ZERO, 0).unwrap_or_default()
    }

    /// Changes an exchange that is complete, if the mutant is about it; `None` where it is not.
    fn settle(&mut self, exchange: Exchange, heard: Heard, elapsed: Duration, told: usize) -> Option<Vec<Played>> {
        let told: Vec<Reply> = exchange.replies[..told].to_vec();
        let moment = Moment { owner: exchange.owner.clone(), frame: heard.frame, session: 0 };
        self.exchanges.push(exchange);
        let around = &self.around;
        let known = Known { catalog: &around.catalog, capabilities: &around.capabilities, exchanges: &self.exchanges };
        let at = self.exchanges.len() - 1;
        if !around.fault.strikes(at, &known) {
            return None;
        }
        let struck = around.fault.apply(at, &known).ok()?;
        around.log.lock().unwrap_or_else(PoisonError::into_inner).struck.push(moment);
        let wording = Wording::new(self.transport, &[], heard);
        let mut played = Vec::new();
        for reply in struck.replies.iter().filter(|reply| !told.contains(reply)) {
            self.is_over |= matches!(reply.what, What::Stalled | What::Ended(_));
            played.extend(wording.played(&Reply { after: reply.after.saturating_sub(elapsed), ..reply.clone() }));
        }
        Some(played)
    }

    /// Takes in a message of the server; one that answers nothing travels on at once.
    fn message(&mut self, bytes: &[u8], http: Option<&Arc<Http>>, original: Incoming) -> Vec<Played> {
        let unchanged = |incoming: Incoming| vec![Played { after: Duration::ZERO, incoming }];
        let json = serde_json::from_slice::<Value>(bytes).ok();
        let answered = json.as_ref().and_then(|json| self.answered(json));
        let Some(at) = answered.or_else(|| self.meant(json.as_ref())) else { return unchanged(original) };
        let what = json.map_or_else(|| What::Bytes(bytes.to_vec()), What::Message);
        let pending = &mut self.pending[at];
        let elapsed = pending.asked_at.elapsed();
        pending.exchange.replies.push(Reply { after: elapsed, what, http: http.cloned() });
        if answered.is_none() {
            pending.told += 1;
            return unchanged(original);
        }
        let Pending { exchange, heard, told, .. } = self.pending.remove(at);
        self.settle(exchange, heard, elapsed, told).unwrap_or_else(|| unchanged(original))
    }

    fn answered(&self, json: &Value) -> Option<usize> {
        let Meaning::Response { id: Some(id) } = classify(json) else { return None };
        let id = id.to_json();
        let is_it = |pending: &Pending| matches!(&pending.exchange.asked, Asked::Message { id: Some(asked), .. } if *asked == id);
        self.pending.iter().position(is_it)
    }

    fn meant(&self, json: Option<&Value>) -> Option<usize> {
        let token = json.and_then(|json| json["params"].get("progressToken"));
        let is_it =
            |pending: &Pending| matches!(&pending.exchange.asked, Asked::Message { id, .. } if id.as_ref() == token);
        token.and_then(|_| self.pending.iter().position(is_it)).or(self.pending.len().checked_sub(1))
    }
}

impl Between for Tampering {
    fn asked(&mut self, outgoing: &Outgoing) -> Vec<Played> {
        match outgoing {
            _ if self.is_over => Vec::new(),
            Outgoing::Message(message) => self.sent(message),
            Outgoing::Raw { pieces, owner } => {
                let bytes = pieces.concat();
                let said = serde_json::from_slice::<Value>(&bytes).ok().as_ref().and_then(asked);
                let exchange = self.exchange(owner, said.unwrap_or(Asked::Raw(bytes)));
                let heard = Heard { frame: 0, expects_an_answer: true, in_session: false };
                self.settle(exchange, heard, Duration::ZERO, 0).unwrap_or_default()
            }
            Outgoing::Abandon { .. } => Vec::new(),
        }
    }

    fn came(&mut self, incoming: Incoming) -> Vec<Played> {
        match &incoming {
            _ if self.is_over => Vec::new(),
            Incoming::Line(bytes) => self.message(&bytes.clone(), None, incoming),
            Incoming::Message { bytes, http, .. } => {
                let (bytes, http) = (bytes.clone(), Arc::clone(http));
                self.message(&bytes, Some(&http), incoming)
            }
            Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Stderr(_)
            | Incoming::Closed
            | Incoming::Undelivered { .. }
            | Incoming::Refused { .. }
            | Incoming::Speaks(_)
            | Incoming::Lost(_)
            | Incoming::Exited(_) => vec![Played { after: Duration::ZERO, incoming }],
        }
    }
}
