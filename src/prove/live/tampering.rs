//! Somebody in front of a real server: what comes is held against the recording and changed like a recorded exchange.
//!
//! What the mutant is not about travels on at once and byte by byte; without a mutant everything does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::super::recording::{Key, Said, asked};
use super::super::replay::{Heard, Log, Moment, Wording};
use super::overlay::{Overlay, Script};
use crate::fault::{Asked, Exchange, Fault, Reply, What};
use crate::transport::relay::Interceptor;
use crate::transport::{Incoming, MessageRole, Outgoing, OutgoingMessage, Scheduled, TransportKind};
use crate::wire::{HttpHead, RpcMessage as Meaning, classify};

/// What a mutant knows of a server before it stands in front of it.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    /// What it does; nothing in a control run.
    pub(super) fault: Option<Fault>,
    pub(super) script: Arc<Script>,
    /// The recorded exchanges that it is expected to change.
    pub(super) expected: Arc<BTreeSet<usize>>,
    pub(super) shared: Arc<Mutex<Shared>>,
}

/// What all sessions of a run have in common.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) log: Log,
    /// How many sessions of a lane each owner has spoken in.
    sessions: BTreeMap<(String, String), u32>,
}

pub(super) struct Tampering {
    around: Surroundings,
    lane: String,
    transport: TransportKind,
    overlay: Overlay,
    pending: Vec<Pending>,
    asked: BTreeMap<Key, u32>,
    /// The session of each owner.
    ordinals: BTreeMap<String, u32>,
    /// Whether the server gave the session an id.
    has_session_id: bool,
    is_over: bool,
}

/// A request that has no answer yet.
struct Pending {
    /// Where it stands in the overlay.
    at: usize,
    id: Value,
    heard: Heard,
    asked_at: Instant,
    /// Whether what comes beside the answer waits for it.
    holds: bool,
    held: Vec<Incoming>,
    /// How many of its replies were handed on already.
    told: usize,
}

impl Tampering {
    pub(super) fn new(around: Surroundings, lane: &str, transport: TransportKind) -> Self {
        let overlay = Overlay::new(Arc::clone(&around.script));
        Self {
            around,
            lane: lane.to_owned(),
            transport,
            overlay,
            pending: Vec::new(),
            asked: BTreeMap::new(),
            ordinals: BTreeMap::new(),
            has_session_id: false,
            is_over: false,
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.around.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which session of its owner this is.
    fn ordinal(&mut self, owner: &str) -> u32 {
        if let Some(known) = self.ordinals.get(owner) {
            return *known;
        }
        let mut shared = self.shared();
        let next = shared.sessions.entry((self.lane.clone(), owner.to_owned())).or_default();
        let ordinal = *next;
        *next += 1;
        drop(shared);
        self.ordinals.insert(owner.to_owned(), ordinal);
        ordinal
    }

    /// Takes in what the client said; one that expects no answer may be struck at once.
    fn said(&mut self, owner: &str, said: Asked, heard: Heard) -> Vec<Scheduled> {
        let session = self.ordinal(owner);
        let key = Key { owner: owner.to_owned(), said: Said::of(&self.around.script.without_secrets(&said)) };
        let count = self.asked.entry(key.clone()).or_default();
        let occurrence = *count;
        *count += 1;
        let id = if let Asked::Message { id, .. } = &said { id.clone() } else { None };
        let freed = self.freed_by(&said);
        let exchange = Exchange { owner: owner.to_owned(), session, occurrence, asked: said, replies: Vec::new() };
        let at = self.overlay.begin(&key, exchange);
        let Some(id) = id else {
            let struck = self.strike(at, heard, Duration::ZERO, 0).unwrap_or_default();
            return freed.into_iter().chain(struck).collect();
        };
        let holds = self.around.expected.contains(&at);
        self.pending.push(Pending { at, id, heard, asked_at: Instant::now(), holds, held: Vec::new(), told: 0 });
        freed
    }

    /// What waited for the answer to a request that is cancelled: there may be none.
    fn freed_by(&mut self, said: &Asked) -> Vec<Scheduled> {
        let Asked::Message { id: None, method, params } = said else { return Vec::new() };
        if method != "notifications/cancelled" {
            return Vec::new();
        }
        let cancelled = self.pending.iter_mut().filter(|pending| pending.id == params["requestId"]);
        cancelled.flat_map(Pending::free).collect()
    }

    /// Changes what came for an exchange, if the mutant is about it; `None` where it is not.
    fn strike(&mut self, at: usize, heard: Heard, elapsed: Duration, told: usize) -> Option<Vec<Scheduled>> {
        let fault = self.around.fault.as_ref()?;
        let known = self.overlay.known();
        let struck = fault.strikes(at, &known).then(|| fault.apply(at, &known).ok()).flatten()?;
        let exchange = &known.exchanges[at];
        let told = &exchange.replies[..told];
        let moment = Moment { owner: exchange.owner.clone(), frame: heard.frame, session: exchange.session };
        let wording = Wording::new(self.transport, &[], heard);
        let mut played = Vec::new();
        for reply in struck.replies.iter().filter(|reply| !told.contains(reply)) {
            played.extend(wording.played(&Reply { after: reply.after.saturating_sub(elapsed), ..reply.clone() }));
        }
        self.is_over |= struck.replies.iter().any(|reply| matches!(reply.what, What::Stalled | What::Ended(_)));
        self.shared().log.struck.push(moment);
        Some(played)
    }

    /// Takes in a message of the server; one that answers nothing travels on at once, or waits for the answer.
    fn message(&mut self, bytes: &[u8], http: Option<&Arc<HttpHead>>, original: Incoming) -> Vec<Scheduled> {
        if self.around.fault.is_none() {
            return vec![at_once(original)];
        }
        self.has_session_id |= http.is_some_and(|http| http.header("mcp-session-id").is_some());
        let json = serde_json::from_slice::<Value>(bytes).ok();
        let answered = json.as_ref().and_then(|json| self.answered(json));
        let Some(index) = answered.or_else(|| self.meant(json.as_ref())) else { return vec![at_once(original)] };
        let is_request = matches!(json.as_ref().map(classify), Some(Meaning::Request { .. }));
        let what = json.map_or_else(|| What::Bytes(bytes.to_vec()), What::Message);
        let pending = &mut self.pending[index];
        let elapsed = pending.asked_at.elapsed();
        let reply = Reply { after: elapsed, what, http: http.cloned() };
        self.overlay.add(pending.at, reply);
        if answered.is_none() {
            // The server waits for the answer to its own request.
            if pending.holds && !is_request {
                pending.held.push(original);
                return Vec::new();
            }
            pending.told += usize::from(pending.held.is_empty());
            return vec![at_once(original)];
        }
        let mut pending = self.pending.remove(index);
        let struck = self.strike(pending.at, pending.heard, elapsed, pending.told);
        struck.unwrap_or_else(|| pending.free().into_iter().chain([at_once(original)]).collect())
    }

    fn answered(&self, json: &Value) -> Option<usize> {
        let Meaning::Response { id: Some(id) } = classify(json) else { return None };
        let id = id.to_json();
        self.pending.iter().position(|pending| pending.id == id)
    }

    /// The request that something came for: the one that its token names, else the last one without an answer.
    fn meant(&self, json: Option<&Value>) -> Option<usize> {
        let token = json.and_then(|json| json["params"].get("progressToken"));
        let named = token.and_then(|token| self.pending.iter().position(|pending| pending.id == *token));
        named.or(self.pending.len().checked_sub(1))
    }

    fn sent(&mut self, message: &OutgoingMessage) -> Vec<Scheduled> {
        let Some(said) = read(&message.bytes) else { return Vec::new() };
        let heard = Heard {
            frame: message.frame,
            expects_an_answer: matches!(message.role, MessageRole::Handshake | MessageRole::Request),
            in_session: message.role != MessageRole::Handshake && self.has_session_id,
        };
        self.said(&message.owner, said, heard)
    }

    /// A raw message is one message, or one a line.
    fn raw(&mut self, owner: &str, bytes: &[u8]) -> Vec<Scheduled> {
        let heard = Heard { frame: 0, expects_an_answer: true, in_session: false };
        let is_one = serde_json::from_slice::<Value>(bytes).is_ok();
        let lines = bytes.split(|byte| *byte == b'\n' && !is_one).filter(|line| !line.trim_ascii().is_empty());
        let said = lines.map(|line| read(line).unwrap_or_else(|| Asked::Raw(line.to_vec())));
        said.collect::<Vec<_>>().into_iter().flat_map(|said| self.said(owner, said, heard)).collect()
    }
}

impl Pending {
    /// What waited for the answer.
    fn free(&mut self) -> Vec<Scheduled> {
        self.holds = false;
        self.held.drain(..).map(at_once).collect()
    }
}

impl Interceptor for Tampering {
    fn on_sent(&mut self, outgoing: &Outgoing) -> Vec<Scheduled> {
        if self.is_over || self.around.fault.is_none() {
            return Vec::new();
        }
        match outgoing {
            Outgoing::Message(message) => self.sent(message),
            Outgoing::Raw { pieces, owner } => self.raw(owner, &pieces.concat()),
            Outgoing::End | Outgoing::Abandon { .. } => Vec::new(),
        }
    }

    fn on_received(&mut self, incoming: Incoming) -> Vec<Scheduled> {
        match &incoming {
            _ if self.is_over => Vec::new(),
            Incoming::Line(bytes) => self.message(&bytes.clone(), None, incoming),
            Incoming::Message { bytes, http, .. } => {
                let (bytes, http) = (bytes.clone(), Arc::clone(http));
                self.message(&bytes, Some(&http), incoming)
            }
            Incoming::Stderr(_) | Incoming::Refused { .. } | Incoming::Speaks(_) => vec![at_once(incoming)],
            Incoming::TornLine(_)
            | Incoming::EndlessLine
            | Incoming::Closed
            | Incoming::Undelivered { .. }
            | Incoming::Lost(_)
            | Incoming::Exited(_) => {
                self.pending.iter_mut().flat_map(Pending::free).chain([at_once(incoming)]).collect()
            }
        }
    }
}

fn read(bytes: &[u8]) -> Option<Asked> {
    serde_json::from_slice::<Value>(bytes).ok().as_ref().and_then(asked)
}

fn at_once(incoming: Incoming) -> Scheduled {
    Scheduled { after: Duration::ZERO, incoming }
}
