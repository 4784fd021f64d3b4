//! The scanner's memory: requests, capabilities, tokens and tasks of both sides.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{Era, Id, Revision, RpcMessage, classify};
use super::MessageStream;
use crate::wire::Members;

/// The number of names of one kind that are remembered; a server that invents them without end would fill the memory.
pub(crate) const MAX_NAMES: usize = 10_000;

/// The key under which requests say their revision since 2026-07-28.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The key under which requests say what the client offers.
const OFFERS_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key under which requests ask for log messages.
const LOG_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The method of a handshake.
const INITIALIZE: &str = "initialize";

/// Methods of which something is to be remembered.
const METHODS: [&str; 15] = [
    "completion/complete",
    INITIALIZE,
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tools/call",
    "tools/list",
];

/// The capabilities that a client declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(crate) struct ClientCapabilities {
    pub roots: bool,
    pub sampling: bool,
    pub(crate) sampling_tools: bool,
    pub forms: bool,
    pub(crate) urls: bool,
}

impl ClientCapabilities {
    /// Reads client capabilities; a capability of elicitation without modes is one for forms.
    fn from_json(capabilities: &Value) -> Self {
        let elicitation = capabilities.member("elicitation").filter(|value| !value.is_null());
        let has = |mode: &str| elicitation.is_some_and(|modes| modes.get(mode).is_some());
        Self {
            roots: capabilities.member("roots").is_some(),
            sampling: capabilities.member("sampling").is_some(),
            sampling_tools: capabilities.pointer("/sampling/tools").is_some(),
            forms: elicitation.is_some() && (has("form") || !has("url")),
            urls: has("url"),
        }
    }

    /// Both together.
    fn and(self, other: Self) -> Self {
        Self {
            roots: self.roots || other.roots,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            forms: self.forms || other.forms,
            urls: self.urls || other.urls,
        }
    }
}

/// A request that was sent.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct SentRequest {
    pub is_answered: bool,
    /// Raw steps may send what deserves no answer; what comes back is theirs to judge.
    pub is_raw: bool,
    /// One of [`METHODS`]; empty for others, and where one id asked for two.
    pub method: &'static str,
    pub frame: u32,
    /// The request says that it is of the newest era.
    pub is_stateless: bool,
    pub offers: ClientCapabilities,
    pub(crate) wants_logs: bool,
    /// The request asks to become a task.
    pub(crate) is_augmented: bool,
    /// Its progress token.
    pub token: Option<Id>,
    /// The task or the cursor that it names.
    pub subject: Option<Box<str>>,
}

/// A progress token of ours.
#[derive(Debug, Clone)]
pub(crate) struct OwnProgressToken {
    pub request: Id,
    /// Given twice, by a raw step, or to what may outlive its answer.
    pub(crate) is_loose: bool,
    pub last: Option<(f64, MessageStream)>,
    pub(crate) answered_on: Option<MessageStream>,
}

/// A subscription.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a type of notification, or a fact of its own")]
pub(crate) struct Subscription {
    pub(crate) is_acknowledged: bool,
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub updates: bool,
    pub has_token: bool,
}

/// The capabilities that a server declares.
#[derive(Debug, Clone)]
pub(crate) struct ServerCapabilities {
    pub(crate) logging: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    /// The extension for tasks is there; others are there.
    pub extensions: (bool, bool),
}

/// The latest word on a task.
#[derive(Debug, Clone)]
pub(crate) struct KnownTask {
    pub ended: Option<(Box<str>, u32)>,
    /// An answer created it; a notification of its status may come before that.
    pub(crate) is_made: bool,
}

/// Everything that one session taught.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct SessionMemory {
    pub asked: BTreeMap<Id, SentRequest>,
    /// The frames of the requests, in their order.
    frames: Vec<(u32, Id)>,
    /// The ids of those that asked for a handshake.
    handshakes: Vec<Id>,
    pub(crate) server_ids: BTreeSet<Id>,
    /// A raw step sent something: answers without an id, and batches, are left to its judgement.
    pub is_raw: bool,
    /// A raw step sent something that is no message.
    pub(crate) is_spoilt: bool,
    /// The revision of the handshake.
    pub(crate) agreed: Option<Revision>,
    /// An older handshake was served in the newest era: both are spoken from then on.
    pub(crate) is_mixed: bool,
    pub offers: Option<ClientCapabilities>,
    pub promised: Option<ServerCapabilities>,
    pub(crate) wants_logs: bool,
    pub tokens: BTreeMap<Id, OwnProgressToken>,
    pub listens: BTreeMap<Id, Subscription>,
    pub tasks: BTreeMap<Box<str>, KnownTask>,
    pub(crate) elicitations: BTreeSet<Box<str>>,
    /// The cache scopes that pages announced for the next one, by method and cursor.
    pub pages: BTreeMap<(&'static str, Box<str>), Box<str>>,
}

impl SessionMemory {
    /// A raw step is about to ask with that id.
    pub(crate) fn asked_raw(&mut self, id: Id) {
        self.asked.entry(id).or_default().is_raw = true;
        self.is_raw = true;
    }

    /// Nothing is pending: no request, no subscription, no task.
    pub(crate) fn is_at_rest(&self) -> bool {
        // A raw step's connection of its own is not scanned, and has no frame.
        let is_over = |asked: &SentRequest| asked.is_answered || asked.frame == 0;
        let is_doubtful = self.is_spoilt || self.is_mixed;
        !is_doubtful && self.asked.values().all(is_over) && self.listens.is_empty() && self.tasks.is_empty()
    }

    /// Takes over what a server may come back to, however much later: requests of both sides, tokens, elicitations.
    pub(crate) fn keep_what_outlasts(&mut self, earlier: Self) {
        for (id, asked) in earlier.asked {
            self.asked.entry(id).or_insert(asked).is_raw = true;
        }
        for (token, known) in earlier.tokens {
            self.tokens.entry(token).or_insert(known).is_loose = true;
        }
        self.server_ids.extend(earlier.server_ids);
        self.elicitations.extend(earlier.elicitations);
    }

    /// Takes in a request that is like an earlier one in everything but its id.
    pub(crate) fn asked_again(&mut self, like: &Id, id: Id, frame: u32) {
        let asked = self.asked.get(like).cloned().unwrap_or_default();
        if asked.method == INITIALIZE {
            self.handshakes.push(id.clone());
        }
        self.asked.insert(id, SentRequest { is_answered: false, frame, ..asked });
    }

    /// Takes in what we sent.
    pub(crate) fn on_sent(&mut self, json: &Value, frame: u32) {
        if let Some(batch) = json.as_array() {
            for one in batch {
                self.on_sent(one, frame);
            }
        }
        let RpcMessage::Request { id, method, params } = classify(json) else { return };
        let known = METHODS.iter().find(|known| **known == method).copied().unwrap_or_default();
        let meta = params.and_then(|params| params.member("_meta"));
        let mut asked = SentRequest { method: known, frame, ..SentRequest::default() };
        if let Some(meta) = meta {
            asked.is_stateless = is_newest(meta);
            asked.offers = meta.get(OFFERS_KEY).map(ClientCapabilities::from_json).unwrap_or_default();
            asked.wants_logs = meta.get(LOG_KEY).is_some();
        }
        self.wants_logs |= asked.wants_logs;
        if let Some(params) = params.filter(|_| !known.is_empty()) {
            self.learn(&id, &mut asked, params);
        }
        if let Some(token) = meta.and_then(|meta| meta.member("progressToken")).and_then(Id::from_json) {
            self.hand_out(token.clone(), &id, asked.is_augmented);
            asked.token = Some(token);
        }
        self.remember(id, asked);
    }

    fn learn(&mut self, id: &Id, asked: &mut SentRequest, params: &Value) {
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(Box::from);
        match asked.method {
            INITIALIZE => {
                let offers = ClientCapabilities::from_json(&params["capabilities"]);
                self.offers = Some(self.offers.map_or(offers, |known| known.and(offers)));
            }
            "subscriptions/listen" if asked.is_stateless => {
                let wants = |name: &str| params["notifications"][name] == true;
                let updates = params["notifications"]["resourceSubscriptions"].as_array();
                let listen = Subscription {
                    is_acknowledged: false,
                    tools: wants("toolsListChanged"),
                    prompts: wants("promptsListChanged"),
                    resources: wants("resourcesListChanged"),
                    updates: updates.is_some_and(|list| !list.is_empty()),
                    has_token: params["_meta"].member("progressToken").is_some(),
                };
                self.listens.insert(id.clone(), listen);
            }
            "tools/call" => asked.is_augmented = params.member("task").is_some(),
            "tasks/get" | "tasks/result" | "tasks/cancel" => asked.subject = text("taskId"),
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
                asked.subject = text("cursor");
            }
            _ => {}
        }
    }

    fn hand_out(&mut self, token: Id, request: &Id, is_augmented: bool) {
        let is_raw = self.asked.get(request).is_some_and(|asked| asked.is_raw);
        let is_taken = self.tokens.contains_key(&token);
        let is_loose = is_raw || is_taken || is_augmented;
        let fresh = OwnProgressToken { request: request.clone(), is_loose, last: None, answered_on: None };
        self.tokens.insert(token, fresh);
    }

    fn remember(&mut self, id: Id, asked: SentRequest) {
        self.frames.push((asked.frame, id.clone()));
        if asked.method == INITIALIZE {
            self.handshakes.push(id.clone());
        }
        match self.asked.get_mut(&id) {
            // Announced by a raw step, or asked for a second time.
            Some(known) => {
                let is_first = known.frame == 0;
                let method = if is_first || known.method == asked.method { asked.method } else { "" };
                *known = SentRequest { is_raw: known.is_raw, is_answered: known.is_answered, method, ..asked };
            }
            None => drop(self.asked.insert(id, asked)),
        }
    }

    /// The request that was sent in that frame.
    pub(crate) fn asked_in(&self, frame: u32) -> Option<&Id> {
        let at = self.frames.binary_search_by_key(&frame, |(frame, _)| *frame).ok()?;
        Some(&self.frames[at].1)
    }

    /// An answer to `initialize` is due. The other requests, of which a session may have sent a million, are not looked at.
    pub(crate) fn awaits_handshake(&self) -> bool {
        let mut asked = self.handshakes.iter().filter_map(|id| self.asked.get(id));
        asked.any(|asked| asked.method == INITIALIZE && !asked.is_answered && !asked.is_raw)
    }

    /// The open request whose id reads the same in the other type.
    pub(crate) fn open_request_of_other_id_type(&self, id: &Id) -> Option<Id> {
        let twin = match id {
            Id::Number(number) => Id::Text(number.to_string()),
            Id::Text(text) => Id::Number(text.parse().ok()?),
        };
        self.asked.get(&twin).is_some_and(|asked| !asked.is_answered && !asked.is_raw).then_some(twin)
    }
}

/// The metadata of a request says that it is of the newest era.
fn is_newest(meta: &Value) -> bool {
    let named = meta.get(VERSION_KEY).and_then(Value::as_str).and_then(Revision::parse);
    named.is_some_and(|revision| revision.era() == Era::Stateless) && meta.get(OFFERS_KEY).is_some_and(Value::is_object)
}
