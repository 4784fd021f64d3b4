//! The message of the client, read the same way whether it was ordinary or bytes of a raw step.

use std::borrow::Cow;

use serde_json::Value;

use super::exchange::{ClientMessage, MessageExchange, ReplyContent, ServerReply};

/// The request of one exchange.
#[derive(Debug, Clone)]
pub(super) struct ParsedMessage<'a> {
    pub(super) id: Option<Cow<'a, Value>>,
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) params: Cow<'a, Value>,
    pub(super) form: MessageForm,
    /// Whether a raw step wrote it.
    pub(super) is_raw: bool,
    /// The names of the headers of a raw request over HTTP, in lower case.
    pub(super) headers: Vec<String>,
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageForm {
    Request,
    Notification,
    /// JSON that is no message.
    Broken,
    /// No JSON.
    Unparsable,
    /// No bytes at all, such as the body of a GET.
    Empty,
}

impl<'a> ParsedMessage<'a> {
    pub(super) fn of(exchange: &'a MessageExchange) -> Self {
        match &exchange.sent {
            ClientMessage::Message { id, method, params } => Self {
                id: id.as_ref().map(Cow::Borrowed),
                method: Some(Cow::Borrowed(method)),
                params: Cow::Borrowed(params),
                form: if id.is_some() { MessageForm::Request } else { MessageForm::Notification },
                is_raw: false,
                headers: Vec::new(),
            },
            ClientMessage::Raw(bytes) => Self::raw(bytes),
        }
    }

    fn raw(bytes: &[u8]) -> Self {
        let (headers, body) = parted(bytes);
        let nothing = Self {
            id: None,
            method: None,
            params: Cow::Owned(Value::Null),
            form: MessageForm::Unparsable,
            is_raw: true,
            headers,
        };
        if body.iter().all(u8::is_ascii_whitespace) {
            return Self { form: MessageForm::Empty, ..nothing };
        }
        // Several lines may be written at once: the first speaks for all, and one that is no JSON for the whole.
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        let parsed: Result<Vec<Value>, _> = serde_json::from_slice(body)
            .map(|whole| vec![whole])
            .or_else(|_| lines.map(serde_json::from_slice::<Value>).collect());
        let Some(mut message) = parsed.ok().and_then(|messages| messages.into_iter().next()) else { return nothing };
        let id = message.get("id").filter(|id| id.is_i64() || id.is_u64() || id.is_string()).cloned();
        let has_bad_id = message.get("id").is_some() && id.is_none();
        let method = message["method"].as_str().map(str::to_owned);
        let form = match (&method, &id) {
            _ if message["jsonrpc"] != "2.0" || method.is_none() || has_bad_id => MessageForm::Broken,
            (_, Some(_)) => MessageForm::Request,
            (_, None) => MessageForm::Notification,
        };
        let params = message.get_mut("params").map_or(Value::Null, Value::take);
        Self { id: id.map(Cow::Owned), method: method.map(Cow::Owned), params: Cow::Owned(params), form, ..nothing }
    }

    /// The tool that is called.
    pub(super) fn tool(&self) -> Option<&str> {
        if self.method.as_deref() == Some("tools/call") { self.params["name"].as_str() } else { None }
    }

    /// Whether the request says that it is of the era without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        self.params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some()
    }

    /// The response among replies, as an index.
    pub(super) fn answer(&self, replies: &[ServerReply]) -> Option<usize> {
        replies.iter().position(|reply| {
            let ReplyContent::Message(message) = &reply.content else { return false };
            let is_response = message.get("method").is_none();
            match (&self.id, message.get("id")) {
                (Some(id), Some(found)) => is_response && **id == *found,
                // A request that could not be read is answered without an id.
                (None, None | Some(Value::Null)) => is_response && self.is_raw && message.get("error").is_some(),
                (None, Some(_)) | (Some(_), None) => false,
            }
        })
    }
}

/// The names of the headers, and the body, where bytes are a request of HTTP; else all of them are the body.
fn parted(bytes: &[u8]) -> (Vec<String>, &[u8]) {
    let whole = (Vec::new(), bytes);
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return whole };
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else { return whole };
    let mut lines = head.lines();
    if !lines.next().is_some_and(|line| line.contains(" HTTP/1.")) {
        return whole;
    }
    let names = lines.filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_ascii_lowercase());
    (names.collect(), &bytes[end + 4..])
}
