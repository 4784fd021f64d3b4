//! Judges what came on one line: a message for rmcp, a mistake to answer, or nothing to do.
//!
//! rmcp drops lines that it cannot read, loses the id of a request whose parameters do not fit, and takes such a request
//! for an unknown method. Here each gets the answer that JSON-RPC has for it.

use rmcp::model::{
    CallToolRequest, CancelledNotification, ClientJsonRpcMessage, ClientRequest, CompleteRequest, CustomRequest,
    DiscoverRequest, ErrorCode, GetExtensions, GetPromptRequest, InitializeRequest, JsonObject, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, PingRequest, ProtocolVersion,
    ReadResourceRequest, RequestId, SubscriptionsListenRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A client's wish that its call becomes a task: the member `task` of 2025-11-25.
#[derive(Clone)]
pub struct Augmentation(pub Value);

/// The decision how to treat a message.
pub enum Judged {
    /// rmcp answers it.
    Message(Box<ClientJsonRpcMessage>),
    /// It is a mistake.
    Refused(Refusal),
    /// It is several messages in an array, which only one revision allows.
    Batch(Vec<Value>),
    /// It asks for nothing: a notification without effect here, or an answer that cannot be read.
    Ignored,
}

/// An error that is answered at once.
pub struct Refusal {
    id: Option<Value>,
    code: ErrorCode,
    message: String,
}

impl Refusal {
    /// A mistake in a message whose id cannot be read.
    pub fn without_id(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { id: None, code, message: message.into() }
    }

    /// A mistake in the message that carries `id`, where that can be sent back.
    pub fn with_id(id: Option<&Value>, code: ErrorCode, message: impl Into<String>) -> Self {
        let id = id.filter(|id| can_be_sent_back(id)).cloned();
        Self { id, code, message: message.into() }
    }

    /// The code of the error.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The answer. JSON-RPC has a null for an id that cannot be read, newer revisions leave it out.
    pub fn into_answer(self, unread_id: UnreadId) -> Value {
        let mut answer = json!({ "jsonrpc": "2.0" });
        match (self.id, unread_id) {
            (Some(id), UnreadId::Null | UnreadId::LeftOut) => answer["id"] = id,
            (None, UnreadId::Null) => answer["id"] = Value::Null,
            (None, UnreadId::LeftOut) => {}
        }
        answer["error"] = json!({ "code": self.code, "message": self.message });
        answer
    }
}

/// The way in which an answer to a message without a readable id shows that.
#[derive(Clone, Copy)]
pub enum UnreadId {
    /// As JSON-RPC has it, up to 2025-06-18.
    Null,
    /// As MCP has it since 2025-11-25.
    LeftOut,
}

impl UnreadId {
    /// The way of a session of this revision; without one, that of the newest.
    pub fn of(revision: Option<&ProtocolVersion>) -> Self {
        match revision {
            Some(revision) if *revision < ProtocolVersion::V_2025_11_25 => Self::Null,
            Some(_) | None => Self::LeftOut,
        }
    }
}

type RequestDecoder = fn(Value) -> Result<ClientRequest, serde_json::Error>;

/// The methods that are served. All others are unknown, whatever their parameters.
const REQUESTS: [(&str, RequestDecoder); 12] = [
    ("completion/complete", decode::<CompleteRequest>),
    ("initialize", decode::<InitializeRequest>),
    ("ping", decode::<PingRequest>),
    ("prompts/get", decode::<GetPromptRequest>),
    ("prompts/list", decode::<ListPromptsRequest>),
    ("resources/list", decode::<ListResourcesRequest>),
    ("resources/read", decode::<ReadResourceRequest>),
    ("resources/templates/list", decode::<ListResourceTemplatesRequest>),
    ("server/discover", decode::<DiscoverRequest>),
    ("subscriptions/listen", decode::<SubscriptionsListenRequest>),
    ("tools/call", decode::<CallToolRequest>),
    ("tools/list", decode::<ListToolsRequest>),
];

/// Judges one line.
pub fn judge_line(line: &[u8]) -> Judged {
    match serde_json::from_slice(line) {
        Ok(Value::Array(messages)) => Judged::Batch(messages),
        Ok(message) => judge(message),
        Err(error) => refuse(None, ErrorCode::PARSE_ERROR, format!("the line is not JSON: {error}")),
    }
}

/// Judges one message.
pub fn judge(message: Value) -> Judged {
    let Value::Object(mut message) = message else {
        return refuse(None, ErrorCode::INVALID_REQUEST, "a message must be an object");
    };
    let is_answer = message.contains_key("result") || message.contains_key("error");
    let speaks_2_0 = message.get("jsonrpc").is_some_and(|version| version == "2.0");
    let params = message.remove("params");
    match (message.remove("method"), message.remove("id")) {
        (Some(Value::String(method)), None) if !is_answer => {
            if speaks_2_0 {
                notification(&method, params)
            } else {
                Judged::Ignored
            }
        }
        (Some(Value::String(method)), Some(id)) if !is_answer && speaks_2_0 => request(&method, &id, params),
        (None, Some(id)) if is_answer && speaks_2_0 => answer(&id, &message),
        (None, _) if is_answer => Judged::Ignored,
        (_, id) => {
            let message =
                "a request needs `jsonrpc` (`2.0`), an `id`, a `method` (a string), and no `result` or `error`";
            refuse(id.as_ref(), ErrorCode::INVALID_REQUEST, message)
        }
    }
}

fn request(method: &str, id: &Value, params: Option<Value>) -> Judged {
    let Ok(request_id) = serde_json::from_value::<RequestId>(id.clone()) else {
        let message = format!("the id `{id}` is not a string or an integer of 64 bits");
        return refuse(Some(id), ErrorCode::INVALID_REQUEST, message);
    };
    let params = match params {
        None => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => {
            return refuse(Some(id), ErrorCode::INVALID_PARAMS, "`params` must be an object");
        }
    };
    // rmcp reads a cursor that is no string as no cursor at all.
    if let Some(cursor) = params.as_ref().and_then(|params| params.get("cursor"))
        && !cursor.is_string()
    {
        let message = format!("the cursor of `{method}` is `{cursor}`; it must be a string");
        return refuse(Some(id), ErrorCode::INVALID_PARAMS, message);
    }
    let augmentation = params.as_ref().and_then(|params| params.get("task")).cloned().map(Augmentation);
    let known = REQUESTS.iter().find(|(name, _)| *name == method);
    let decode_request = known.map_or(decode::<CustomRequest> as RequestDecoder, |(_, decoder)| *decoder);
    match decode_request(body(method, params)) {
        Ok(mut request) => {
            // rmcp knows this member no more.
            if let Some(augmentation) = augmentation {
                request.extensions_mut().insert(augmentation);
            }
            Judged::Message(Box::new(ClientJsonRpcMessage::request(request, request_id)))
        }
        Err(error) => {
            let message = format!("the parameters of `{method}` do not fit: {error}");
            refuse(Some(id), ErrorCode::INVALID_PARAMS, message)
        }
    }
}

/// Only a cancellation has an effect, and a malformed one is to be ignored like any notification.
fn notification(method: &str, params: Option<Value>) -> Judged {
    let Some(Value::Object(params)) = params else {
        return Judged::Ignored;
    };
    match serde_json::from_value::<CancelledNotification>(body(method, Some(params))) {
        Ok(cancelled) => Judged::Message(Box::new(ClientJsonRpcMessage::notification(cancelled.into()))),
        Err(_) => Judged::Ignored,
    }
}

/// rmcp passes over an answer to a request that was never made.
fn answer(id: &Value, message: &JsonObject) -> Judged {
    let mut whole = message.clone();
    whole.insert("jsonrpc".to_owned(), json!("2.0"));
    whole.insert("id".to_owned(), id.clone());
    serde_json::from_value(Value::Object(whole)).map_or(Judged::Ignored, |answer| Judged::Message(Box::new(answer)))
}

fn body(method: &str, params: Option<JsonObject>) -> Value {
    match params {
        Some(params) => json!({ "method": method, "params": params }),
        None => json!({ "method": method }),
    }
}

fn decode<T: DeserializeOwned + Into<ClientRequest>>(body: Value) -> Result<ClientRequest, serde_json::Error> {
    serde_json::from_value::<T>(body).map(Into::into)
}

fn refuse(id: Option<&Value>, code: ErrorCode, message: impl Into<String>) -> Judged {
    Judged::Refused(Refusal::with_id(id, code, message))
}

/// An answer's id is a string or an integer.
fn can_be_sent_back(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
