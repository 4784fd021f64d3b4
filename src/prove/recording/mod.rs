//! A run as it can be played back: what was said to which server, what came, and how every case ended.
//!
//! A [`RunRecorder`] watches a run; the [`RunRecording`] that it leaves is all that [`prove`](super::prove) needs. It holds secrets as long as it
//! stays in memory, since suites may compare with them; what goes to a file is without.

pub mod file;
mod key;
mod pairing;
mod recorder;
mod seal;
mod suite_text;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Outcome;
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerReply};
use crate::redact::Redactor;
use crate::transport::{Owner, TransportKind};
use crate::wire::{Catalog, HttpHead, ListKind, MOST_KEPT, Tool};

#[cfg(feature = "cli")]
pub(crate) use self::key::request_in;
pub(crate) use self::key::{ExchangeKey, MessageNumber, RequestKey, SessionCounter, SessionNumbers, read_message};
pub use self::recorder::RunRecorder;
pub(crate) use self::seal::{BrokenSeal, Seal, SealedWriter};

use self::pairing::NOT_WHOLE;

/// A run as it can be played back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunRecording {
    /// The messages by target: `file@server/revision`.
    pub targets: BTreeMap<String, TargetRecording>,
    /// The outcomes of the cases, in the order in which they ended.
    pub cases: Vec<RecordedCase>,
    /// The last seal of the file that it was read from, which no other recording has.
    pub(crate) seal: Seal,
}

/// One server in one revision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TargetRecording {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The transport.
    pub transport: TransportKind,
    /// The revision that was spoken.
    pub revision: String,
    /// The exchanges, session by session, in the order in which they were begun.
    #[serde(skip)]
    pub exchanges: Vec<MessageExchange>,
    /// The owners of what cannot be played back, with the reason.
    pub unplayable: BTreeMap<Owner, String>,
}

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCase {
    /// Its id.
    pub id: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The number of its attempts.
    pub attempts: usize,
}

impl RunRecording {
    /// Why a case cannot be played back; `None` where it can.
    pub fn unplayable(&self, case: &str) -> Option<&str> {
        let owner = Owner::of_case(case);
        self.targets.values().find_map(|target| target.unplayable.get(&owner)).map(String::as_str)
    }

    /// What of a long session is not in it, as a clause without its subject; `None` where nothing is missing.
    pub fn lack(&self) -> Option<String> {
        let owners = self.targets.values().flat_map(|target| &target.unplayable);
        let cases = owners.filter(|(owner, reason)| **owner != Owner::Session && *reason == NOT_WHOLE).count();
        let noun = if cases == 1 { "case" } else { "cases" };
        let limit = MOST_KEPT >> 20;
        (cases > 0).then(|| format!("lacks messages of {cases} {noun}: a session is kept up to {limit} MiB"))
    }

    /// The name of each target's server, as its suite has it; with the suite's file where several have one of that name.
    pub fn server_names(&self) -> BTreeMap<String, String> {
        let servers: BTreeSet<(&str, &str)> =
            self.targets.values().map(|target| (target.file.as_str(), target.server.as_str())).collect();
        let is_only = |name: &str| servers.iter().filter(|(_, server)| *server == name).count() == 1;
        let spelled = |TargetRecording { file, server, .. }: &TargetRecording| {
            if is_only(server) { server.clone() } else { format!("{file}@{server}") }
        };
        self.targets.iter().map(|(name, target)| (name.clone(), spelled(target))).collect()
    }

    /// The same without secrets, as it may be written.
    #[must_use]
    pub fn without_secrets(mut self, redactor: &Redactor) -> Self {
        for exchange in self.targets.values_mut().flat_map(|target| &mut target.exchanges) {
            let sent = std::mem::replace(&mut exchange.sent, ClientMessage::Raw(Vec::new()));
            exchange.sent = redact_message(sent, redactor);
            exchange.replies.iter_mut().for_each(|reply| redact_reply(reply, redactor));
        }
        self
    }
}

/// A message of the client as a recording without secrets holds it.
pub(crate) fn redact_message(message: ClientMessage, redactor: &Redactor) -> ClientMessage {
    match message {
        ClientMessage::Message { id, method, params } => {
            ClientMessage::Message { id, method, params: redactor.value(params) }
        }
        ClientMessage::Raw(bytes) => ClientMessage::Raw(redacted_bytes(&bytes, redactor)),
    }
}

fn redacted_bytes(bytes: &[u8], redactor: &Redactor) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let masked = redactor.text(&text);
    // Bytes that are no text stay as they are.
    if masked == text { bytes.to_vec() } else { masked.into_bytes() }
}

fn redact_reply(reply: &mut ServerReply, redactor: &Redactor) {
    match &mut reply.content {
        ReplyContent::Message(message) => *message = redactor.value(std::mem::take(message)),
        ReplyContent::Bytes(bytes) | ReplyContent::Torn(bytes) | ReplyContent::Stderr(bytes) => {
            *bytes = redacted_bytes(bytes, redactor);
        }
        ReplyContent::Stalled | ReplyContent::Ended(_) => {}
    }
    if let Some(http) = &mut reply.http {
        let mut head = HttpHead::clone(http);
        head.headers.iter_mut().for_each(|(_, value)| *value = redactor.text(value));
        *http = head.into();
    }
}

impl TargetRecording {
    /// The offer of the server when it was first asked.
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

    /// The capabilities that the server declared.
    pub fn capabilities(&self) -> Value {
        let mut declared = self.discovery().filter_map(|exchange| {
            let answer = exchange.answer()?;
            answer["result"].get("capabilities").cloned()
        });
        declared.next().unwrap_or_default()
    }

    /// The server was asked for a list, and gave one.
    pub fn has_list(&self, kind: ListKind) -> bool {
        let mut asked = self.discovery().filter(|exchange| exchange.method() == Some(kind.method()));
        asked.any(|page| page.answer().is_some_and(|answer| answer["result"][kind.member()].is_array()))
    }

    /// The answer to the handshake; `Null` where none was recorded.
    pub fn handshake(&self) -> Value {
        let answers = self.discovery().filter(|one| matches!(one.method(), Some("initialize" | "server/discover")));
        let mut results = answers.filter_map(|exchange| exchange.answer()?.get("result").cloned());
        results.next().unwrap_or_default()
    }

    fn discovery(&self) -> impl Iterator<Item = &MessageExchange> {
        self.exchanges.iter().filter(|exchange| exchange.owner == Owner::Session)
    }
}

fn items(page: &MessageExchange, kind: ListKind) -> Vec<Value> {
    page.answer().and_then(|answer| answer["result"][kind.member()].as_array().cloned()).unwrap_or_default()
}

/// A request in a few words: `tools/call get_user`.
pub(crate) fn title(exchange: &MessageExchange) -> String {
    match &exchange.sent {
        ClientMessage::Raw(_) => "a raw message".to_owned(),
        ClientMessage::Message { method, params, .. } => match params["name"].as_str().or(params["uri"].as_str()) {
            Some(name) => format!("{method} {name}"),
            None => method.clone(),
        },
    }
}
