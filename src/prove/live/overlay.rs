//! A conversation as it goes, laid over the one that was recorded: a mutant may ask what was said before, and what will
//! be said later.

use std::sync::Arc;

use serde_json::Value;

use super::super::recording::{Key, Said};
use crate::fault::{Asked, Exchange, Known, Reply};
use crate::redact::Redactor;
use crate::wire::Catalog;

/// The recorded conversation.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) catalog: Catalog,
    pub(super) capabilities: Value,
    exchanges: Vec<Exchange>,
    keys: Vec<Key>,
    redactor: Redactor,
}

impl Script {
    pub(super) fn new(catalog: Catalog, capabilities: Value, exchanges: Vec<Exchange>, redactor: Redactor) -> Self {
        let key = |exchange: &Exchange| Key { owner: exchange.owner.clone(), said: Said::of(&exchange.asked) };
        let keys = exchanges.iter().map(key).collect();
        Self { catalog, capabilities, exchanges, keys, redactor }
    }

    /// What was said, as a recording has it.
    pub(super) fn without_secrets(&self, said: &Asked) -> Asked {
        match said {
            _ if self.redactor.is_empty() => said.clone(),
            Asked::Message { id, method, params } => {
                let params = self.redactor.value(params.clone());
                Asked::Message { id: id.clone(), method: method.clone(), params }
            }
            Asked::Raw(bytes) => Asked::Raw(self.redactor.text(&String::from_utf8_lossy(bytes)).into_bytes()),
        }
    }
}

/// One session, laid over the recording.
#[derive(Debug)]
pub(super) struct Overlay {
    script: Arc<Script>,
    exchanges: Vec<Exchange>,
    /// Which of them happened in this session.
    is_live: Vec<bool>,
}

impl Overlay {
    pub(super) fn new(script: Arc<Script>) -> Self {
        let (exchanges, is_live) = (script.exchanges.clone(), vec![false; script.exchanges.len()]);
        Self { script, exchanges, is_live }
    }

    /// Puts an exchange that begins where the recording has it, or at the end.
    pub(super) fn begin(&mut self, key: &Key, exchange: Exchange) -> usize {
        if let Some(at) = self.counterpart(key, &exchange) {
            self.exchanges[at] = exchange;
            self.is_live[at] = true;
            return at;
        }
        self.exchanges.push(exchange);
        self.is_live.push(true);
        self.exchanges.len() - 1
    }

    /// The same question of the same session; else, since ids differ from run to run, the next one of its kind.
    fn counterpart(&self, key: &Key, exchange: &Exchange) -> Option<usize> {
        let recorded = || {
            let of_owner = self.script.exchanges.iter().enumerate().filter(|(_, known)| known.owner == key.owner);
            // Handshakes and discovery are alike in all sessions.
            let is_its = |known: &Exchange| known.owner.is_empty() || known.session == exchange.session;
            of_owner.filter(move |(at, known)| !self.is_live[*at] && is_its(known)).map(|(at, _)| at)
        };
        let is_same = |at: &usize| {
            self.script.keys[*at].said == key.said && self.script.exchanges[*at].occurrence == exchange.occurrence
        };
        recorded().find(is_same).or_else(|| recorded().find(|at| is_alike(&self.script.exchanges[*at], exchange)))
    }

    /// Adds something that came.
    pub(super) fn add(&mut self, at: usize, reply: Reply) {
        self.exchanges[at].replies.push(reply);
    }

    pub(super) fn known(&self) -> Known<'_> {
        let Script { catalog, capabilities, .. } = &*self.script;
        Known { catalog, capabilities, exchanges: &self.exchanges }
    }
}

fn is_alike(one: &Exchange, other: &Exchange) -> bool {
    let is_request = |exchange: &Exchange| matches!(exchange.asked, Asked::Message { id: Some(_), .. });
    one.method() == other.method() && one.tool() == other.tool() && is_request(one) == is_request(other)
}
