//! A run as it can be played back: what was said to which server, what came, and how every case ended.
//!
//! A [`Recorder`] watches a run; the [`Recording`] that it leaves is all that proving needs. It holds secrets as long as it
//! stays in memory, since suites may compare with them; what goes to a file is without.

mod collect;
mod dialogue;
pub mod file;
mod key;
mod line;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::event::Outcome;
use crate::fault::{Asked, Exchange, Reply, What};
use crate::redact::Redactor;
use crate::transport::TransportKind;
use crate::wire::{Catalog, HttpHead, ListKind, Tool};

pub use self::collect::Recorder;
pub(super) use self::key::{Key, Said, asked};

/// A run as it can be played back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    /// What travelled, by lane: `file@server/revision`.
    pub lanes: BTreeMap<String, LaneRecording>,
    /// How the cases ended, in the order in which they did.
    pub cases: Vec<RecordedCase>,
}

/// One server in one revision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LaneRecording {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// How messages travelled.
    pub transport: TransportKind,
    /// The revision that was spoken.
    pub revision: String,
    /// What travelled, session by session, in the order in which it was asked.
    pub exchanges: Vec<Exchange>,
    /// The cases of which something cannot be played back, with the reason.
    pub unplayable: BTreeMap<String, String>,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCase {
    /// Its id.
    pub id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How often it was tried.
    pub attempts: usize,
}

impl Recording {
    /// The same without secrets, as it may be written.
    #[must_use]
    pub fn without_secrets(mut self, redactor: &Redactor) -> Self {
        if redactor.is_empty() {
            return self;
        }
        for exchange in self.lanes.values_mut().flat_map(|lane| &mut lane.exchanges) {
            exchange.asked = match std::mem::replace(&mut exchange.asked, Asked::Raw(Vec::new())) {
                Asked::Message { id, method, params } => Asked::Message { id, method, params: redactor.value(params) },
                Asked::Raw(bytes) => Asked::Raw(concealed(&bytes, redactor)),
            };
            for reply in &mut exchange.replies {
                conceal(reply, redactor);
            }
        }
        self
    }
}

fn concealed(bytes: &[u8], redactor: &Redactor) -> Vec<u8> {
    redactor.text(&String::from_utf8_lossy(bytes)).into_bytes()
}

fn conceal(reply: &mut Reply, redactor: &Redactor) {
    match &mut reply.what {
        What::Message(message) => *message = redactor.value(std::mem::take(message)),
        What::Bytes(bytes) | What::Torn(bytes) | What::Stderr(bytes) => *bytes = concealed(bytes, redactor),
        What::Stalled | What::Ended(_) => {}
    }
    if let Some(http) = &mut reply.http {
        let mut head = HttpHead::clone(http);
        head.headers.iter_mut().for_each(|(_, value)| *value = redactor.text(value));
        *http = head.into();
    }
}

impl LaneRecording {
    /// What the server offered when it was asked first.
    pub fn catalog(&self) -> Catalog {
        let listed = |kind: ListKind| -> Vec<Value> {
            let pages = self.discovery().filter(|exchange| exchange.method() == Some(kind.method()));
            // Another session asks for the same pages.
            let mut seen = BTreeSet::new();
            let pages = pages.filter(|page| seen.insert(page.params()["cursor"].to_string()));
            pages.flat_map(|page| items(page, kind)).collect()
        };
        Catalog {
            tools: listed(ListKind::Tools).into_iter().map(Tool::new).collect(),
            resources: listed(ListKind::Resources),
            resource_templates: listed(ListKind::ResourceTemplates),
            prompts: listed(ListKind::Prompts),
            tools_frame: None,
        }
    }

    /// What the server declared that it can do.
    pub fn capabilities(&self) -> Value {
        let mut declared = self.discovery().filter_map(|exchange| {
            let answer = answer(exchange)?;
            answer["result"].get("capabilities").cloned()
        });
        declared.next().unwrap_or_default()
    }

    fn discovery(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|exchange| exchange.owner.is_empty())
    }
}

/// The message that answers an exchange.
pub(super) fn answer(exchange: &Exchange) -> Option<&Value> {
    match &exchange.replies[exchange.answer()?].what {
        What::Message(message) => Some(message),
        What::Bytes(_) | What::Torn(_) | What::Stderr(_) | What::Stalled | What::Ended(_) => None,
    }
}

fn items(page: &Exchange, kind: ListKind) -> Vec<Value> {
    answer(page).and_then(|answer| answer["result"][kind.member()].as_array().cloned()).unwrap_or_default()
}

/// What was asked, in a few words: `tools/call get_user`.
pub(super) fn title(exchange: &Exchange) -> String {
    match &exchange.asked {
        Asked::Raw(_) => "a raw message".to_owned(),
        Asked::Message { method, params, .. } => match params["name"].as_str().or(params["uri"].as_str()) {
            Some(name) => format!("{method} {name}"),
            None => method.clone(),
        },
    }
}
