//! Messages of clients as edits see them: a line, or an HTTP request.

use serde_json::{Map, Value};

use crate::source::template::Names;

/// The kind of a client's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlawMessageKind {
    Request,
    Notification,
    Response,
    Batch,
    Malformed,
    Unparsable,
    Start,
    End,
}

impl FlawMessageKind {
    /// The words of all kinds.
    pub(super) const WORDS: &'static [&'static str] =
        &["request", "notification", "response", "batch", "malformed", "unparsable", "start", "end"];

    const ALL: [Self; 8] = [
        Self::Request,
        Self::Notification,
        Self::Response,
        Self::Batch,
        Self::Malformed,
        Self::Unparsable,
        Self::Start,
        Self::End,
    ];

    /// The kind of that name.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|known| *known == word).map(|at| Self::ALL[at])
    }

    fn of(message: Option<&Value>) -> Self {
        let Some(message) = message else { return Self::Unparsable };
        if message.is_array() {
            return Self::Batch;
        }
        let has = |name: &str| message.get(name).is_some();
        match (message.get("method").is_some_and(Value::is_string), has("id")) {
            (true, true) => Self::Request,
            (true, false) => Self::Notification,
            (false, _) if !has("method") && (has("result") || has("error")) => Self::Response,
            (false, _) => Self::Malformed,
        }
    }

    /// Whether the correct server may answer it on a stream.
    pub(super) fn has_answer(self) -> bool {
        match self {
            Self::Request | Self::Batch | Self::Malformed | Self::Unparsable => true,
            Self::Notification | Self::Response | Self::Start | Self::End => false,
        }
    }
}

/// A message or HTTP request from a client.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    /// The kind of message; an HTTP request without a body has none.
    pub(super) kind: Option<FlawMessageKind>,
    /// The message, if it is JSON.
    pub(super) message: Option<Value>,
    /// The session or conversation that it belongs to.
    pub(super) scope: String,
    /// The request of HTTP that brought it.
    pub(super) head: Option<Head>,
}

/// The request of HTTP around a message.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) verb: String,
    pub(super) path: String,
    /// By name in small letters.
    pub(super) headers: Map<String, Value>,
    pub(super) query: Map<String, Value>,
}

impl Incoming {
    /// A line of a stream, or the body of a request.
    pub(super) fn new(bytes: &[u8], scope: String, head: Option<Head>) -> Self {
        let message: Option<Value> = serde_json::from_slice(bytes).ok();
        let is_empty = head.is_some() && bytes.is_empty();
        let kind = (!is_empty).then(|| FlawMessageKind::of(message.as_ref()));
        Self { kind, message, scope, head }
    }

    /// The start or the end of a conversation over streams.
    pub(super) fn moment(kind: FlawMessageKind, scope: String) -> Self {
        Self { kind: Some(kind), message: None, scope, head: None }
    }

    /// The method of the message.
    pub(super) fn method(&self) -> Option<&str> {
        self.message.as_ref()?.get("method")?.as_str()
    }

    /// The id of the message, if it can stand in an answer.
    pub(super) fn id(&self) -> Option<&Value> {
        let id = self.message.as_ref()?.get("id")?;
        (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
    }

    /// The token for progress that the message carries.
    pub(super) fn progress_token(&self) -> Option<&Value> {
        self.message.as_ref()?.pointer("/params/_meta/progressToken")
    }

    /// The values that templates can name.
    pub(super) fn names(&self) -> Names {
        let mut names = Names::new();
        if let Some(message) = &self.message {
            for name in ["id", "method", "params"] {
                if let Some(value) = message.get(name) {
                    names.insert(name.to_owned(), value.clone());
                }
            }
            names.insert("message".to_owned(), message.clone());
        }
        if let Some(head) = &self.head {
            names.insert("verb".to_owned(), head.verb.clone().into());
            names.insert("headers".to_owned(), head.headers.clone().into());
            names.insert("query".to_owned(), head.query.clone().into());
        }
        names
    }
}
