//! The message of the client, read the same way whether it was ordinary or bytes of a raw step.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::exchange::{ClientMessage, MessageExchange, ServerReply};
use super::words::KindCondition;

/// The request of one exchange.
#[derive(Debug, Clone)]
pub(crate) struct ParsedMessage<'a> {
    pub(crate) id: Option<Cow<'a, Value>>,
    pub(crate) method: Option<Cow<'a, str>>,
    pub(crate) params: Cow<'a, Value>,
    pub(crate) kind: MessageKind,
    /// A raw step wrote it.
    pub(crate) is_raw: bool,
    /// The request of HTTP that carried it, where it is known.
    pub(crate) head: Option<Cow<'a, RequestHead>>,
    /// The whole of a raw message, without its parameters.
    whole: Value,
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A method and an id.
    Request,
    /// A method without an id.
    Notification,
    /// A result or an error for the server.
    Response,
    /// A list.
    Batch,
    /// JSON that is no message.
    Malformed,
    /// No JSON.
    Unparsable,
    /// No bytes at all, such as the body of a GET.
    Empty,
    /// The start of a session over streams.
    Start,
    /// The end of the client's messages over streams.
    End,
}

/// The request of HTTP around a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method of HTTP, in capital letters.
    pub verb: String,
    /// The path of the address.
    pub path: String,
    /// By name in small letters; several of one name are joined by commas.
    pub headers: Map<String, Value>,
    /// The parameters of the address.
    pub query: Map<String, Value>,
}

impl MessageKind {
    /// A correct server may answer it on a stream.
    pub fn has_answer(self) -> bool {
        match self {
            Self::Request | Self::Batch | Self::Malformed | Self::Unparsable => true,
            Self::Notification | Self::Response | Self::Empty | Self::Start | Self::End => false,
        }
    }

    /// The kind of a message.
    fn of(message: &Value) -> Self {
        if message.is_array() {
            return Self::Batch;
        }
        let has = |name: &str| message.get(name).is_some();
        let has_bad_id = has("id") && !is_id(&message["id"]);
        let is_message = message["jsonrpc"] == "2.0" && !has_bad_id;
        match message["method"].as_str() {
            Some(_) if !is_message => Self::Malformed,
            Some(_) if has("id") => Self::Request,
            Some(_) => Self::Notification,
            None if !has("method") && (has("result") || has("error")) => Self::Response,
            None => Self::Malformed,
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_i64() || id.is_u64() || id.is_string()
}

impl KindCondition {
    pub(crate) fn is(self, parsed: &ParsedMessage<'_>) -> bool {
        let kind = match self {
            Self::Raw => return parsed.is_raw,
            Self::Request => MessageKind::Request,
            Self::Notification => MessageKind::Notification,
            Self::Response => MessageKind::Response,
            Self::Batch => MessageKind::Batch,
            Self::Malformed => MessageKind::Malformed,
            Self::Unparsable => MessageKind::Unparsable,
            Self::Start => MessageKind::Start,
            Self::End => MessageKind::End,
        };
        parsed.kind == kind
    }
}

impl<'a> ParsedMessage<'a> {
    pub(crate) fn of(exchange: &'a MessageExchange) -> Self {
        match &exchange.sent {
            ClientMessage::Message { id, method, params } => Self {
                id: id.as_ref().map(Cow::Borrowed),
                method: Some(Cow::Borrowed(method)),
                params: Cow::Borrowed(params),
                kind: if id.is_some() { MessageKind::Request } else { MessageKind::Notification },
                is_raw: false,
                head: None,
                whole: Value::Null,
            },
            ClientMessage::Raw(bytes) => Self::raw(bytes),
        }
    }

    /// A message that is nothing but bytes.
    pub(crate) fn raw(bytes: &[u8]) -> Self {
        let (head, body) = split_http(bytes);
        let nothing = Self {
            id: None,
            method: None,
            params: Cow::Owned(Value::Null),
            kind: MessageKind::Unparsable,
            is_raw: true,
            head: head.map(Cow::Owned),
            whole: Value::Null,
        };
        if body.iter().all(u8::is_ascii_whitespace) {
            return Self { kind: MessageKind::Empty, ..nothing };
        }
        // Several lines may be written at once: the first speaks for all, and one that is no JSON for the whole.
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        let parsed: Result<Vec<Value>, _> = serde_json::from_slice(body)
            .map(|whole| vec![whole])
            .or_else(|_| lines.map(serde_json::from_slice::<Value>).collect());
        let Some(mut message) = parsed.ok().and_then(|messages| messages.into_iter().next()) else { return nothing };
        let id = message.get("id").filter(|id| is_id(id)).cloned();
        let method = message["method"].as_str().map(str::to_owned);
        let kind = MessageKind::of(&message);
        let params = message.get_mut("params").map_or(Value::Null, Value::take);
        Self {
            id: id.map(Cow::Owned),
            method: method.map(Cow::Owned),
            params: Cow::Owned(params),
            kind,
            whole: message,
            ..nothing
        }
    }

    /// A member of the message.
    pub(crate) fn member(&self, name: &str) -> Option<Cow<'_, Value>> {
        if name == "params" {
            return (!self.params.is_null()).then(|| Cow::Borrowed(&*self.params));
        }
        if !self.whole.is_null() {
            return self.whole.get(name).map(Cow::Borrowed);
        }
        match name {
            "jsonrpc" => self.method.is_some().then(|| Cow::Owned("2.0".into())),
            "id" => self.id.as_deref().map(Cow::Borrowed),
            "method" => self.method.as_deref().map(|method| Cow::Owned(method.into())),
            _ => None,
        }
    }

    /// The whole message; null where it is no JSON.
    pub(crate) fn message(&self) -> Value {
        if let Value::Object(_) = &self.whole {
            let mut message = self.whole.clone();
            if !self.params.is_null() {
                message["params"] = self.params.clone().into_owned();
            }
            return message;
        }
        if self.method.is_none() {
            return self.whole.clone();
        }
        let mut message = json!({"jsonrpc": "2.0"});
        for name in ["id", "method", "params"] {
            if let Some(value) = self.member(name) {
                message[name] = value.into_owned();
            }
        }
        message
    }

    /// The tool that is called.
    pub(crate) fn tool(&self) -> Option<&str> {
        if self.method.as_deref() == Some("tools/call") { self.params["name"].as_str() } else { None }
    }

    /// The request says that it is of the era without sessions.
    pub(crate) fn is_stateless(&self) -> bool {
        self.params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some()
    }

    /// The response among replies, as an index.
    pub(crate) fn answer(&self, replies: &[ServerReply]) -> Option<usize> {
        replies.iter().position(|reply| {
            reply.response().is_some_and(|message| match (&self.id, message.get("id")) {
                (Some(id), Some(found)) => **id == *found,
                // A request that could not be read is answered without an id.
                (None, None | Some(Value::Null)) => self.is_raw && message.get("error").is_some(),
                (None, Some(_)) | (Some(_), None) => false,
            })
        })
    }
}

/// The head, and the body, where bytes are a request of HTTP; else all of them are the body.
pub(crate) fn split_http(bytes: &[u8]) -> (Option<RequestHead>, &[u8]) {
    let whole = (None, bytes);
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return whole };
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else { return whole };
    let mut lines = head.lines();
    let Some((verb, rest)) = lines.next().and_then(|line| line.split_once(' ')) else { return whole };
    let Some((address, _)) = rest.split_once(" HTTP/1.") else { return whole };
    let mut headers = Map::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        headers.insert(name.trim().to_ascii_lowercase(), value.trim().into());
    }
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let head = RequestHead {
        verb: verb.to_ascii_uppercase(),
        path: path.to_owned(),
        headers,
        query: RequestHead::query(query),
    };
    (Some(head), &bytes[end + 4..])
}

impl RequestHead {
    /// The parameters of an address, by name.
    pub fn query(text: &str) -> Map<String, Value> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.map(|(name, value)| (name.to_owned(), value.into())).collect()
    }
}
