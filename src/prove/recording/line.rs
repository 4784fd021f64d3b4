//! Exchanges as JSON and back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::TargetRecording;
use crate::event::Outcome;
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerEnd, ServerReply};
use crate::transport::TransportKind;
use crate::wire::HttpHead;

pub(super) fn lane_json(name: &str, lane: &TargetRecording) -> Value {
    json!({
        "lane": name,
        "file": lane.file,
        "server": lane.server,
        "transport": lane.transport,
        "revision": lane.revision,
        "unplayable": lane.unplayable,
    })
}

pub(super) fn lane_from(line: &Map<String, Value>) -> Option<TargetRecording> {
    let text = |key: &str| Some(line.get(key)?.as_str()?.to_owned());
    let unplayable = line.get("unplayable")?.as_object()?;
    Some(TargetRecording {
        file: text("file")?,
        server: text("server")?,
        transport: TransportKind::parse(line.get("transport")?.as_str()?)?,
        revision: text("revision")?,
        exchanges: Vec::new(),
        unplayable: unplayable
            .iter()
            .map(|(case, why)| Some((case.clone(), why.as_str()?.to_owned())))
            .collect::<Option<_>>()?,
    })
}

pub(super) fn outcome_from(value: &Value) -> Option<Outcome> {
    serde_json::from_value(value.clone()).ok()
}

pub(super) fn exchange_json(exchange: &MessageExchange) -> Value {
    let sent = match &exchange.sent {
        ClientMessage::Message { id: Some(id), method, params } => {
            json!({"id": id, "method": method, "params": params})
        }
        ClientMessage::Message { id: None, method, params } => json!({"method": method, "params": params}),
        ClientMessage::Raw(bytes) => json!({ "raw": bytes_json(bytes) }),
    };
    let replies: Vec<Value> = exchange.replies.iter().map(reply_json).collect();
    json!({
        "owner": exchange.owner,
        "session": exchange.session,
        "occurrence": exchange.occurrence,
        "sent": sent,
        "replies": replies,
    })
}

pub(super) fn exchange_from(line: &Map<String, Value>) -> Option<MessageExchange> {
    let sent = line.get("sent")?;
    let sent = match sent.get("raw") {
        Some(raw) => ClientMessage::Raw(bytes_from(raw)?),
        None => ClientMessage::Message {
            id: sent.get("id").cloned(),
            method: sent["method"].as_str()?.to_owned(),
            params: sent.get("params")?.clone(),
        },
    };
    let number = |key: &str| u32::try_from(line.get(key)?.as_u64()?).ok();
    Some(MessageExchange {
        owner: line.get("owner")?.as_str()?.to_owned(),
        session: number("session")?,
        occurrence: number("occurrence")?,
        sent,
        replies: line.get("replies")?.as_array()?.iter().map(reply_from).collect::<Option<_>>()?,
    })
}

fn reply_json(reply: &ServerReply) -> Value {
    let mut line = json!({ "after_us": u64::try_from(reply.after.as_micros()).unwrap_or(u64::MAX) });
    let (kind, value) = match &reply.content {
        ReplyContent::Message(message) => ("message", message.clone()),
        ReplyContent::Bytes(bytes) => ("bytes", bytes_json(bytes)),
        ReplyContent::Torn(bytes) => ("torn", bytes_json(bytes)),
        ReplyContent::Stderr(bytes) => ("stderr", bytes_json(bytes)),
        ReplyContent::Stalled => ("stalled", true.into()),
        ReplyContent::Ended(ServerEnd::Closed) => ("ended", json!({})),
        ReplyContent::Ended(ServerEnd::Status(status)) => ("ended", json!({ "status": status })),
        ReplyContent::Ended(ServerEnd::Signal(signal)) => ("ended", json!({ "signal": signal })),
    };
    line[kind] = value;
    if let Some(http) = &reply.http {
        line["http"] = json!({"status": http.status, "headers": http.headers});
    }
    line
}

fn reply_from(line: &Value) -> Option<ServerReply> {
    let fields = line.as_object()?;
    let bytes = |key: &str| fields.get(key).and_then(bytes_from);
    let content = if let Some(message) = fields.get("message") {
        ReplyContent::Message(message.clone())
    } else if let Some(ended) = fields.get("ended") {
        let number = |key: &str| ended[key].as_i64().and_then(|number| i32::try_from(number).ok());
        ReplyContent::Ended(match (number("status"), number("signal")) {
            (Some(status), _) => ServerEnd::Status(status),
            (None, Some(signal)) => ServerEnd::Signal(signal),
            (None, None) => ServerEnd::Closed,
        })
    } else if fields.contains_key("stalled") {
        ReplyContent::Stalled
    } else {
        bytes("bytes")
            .map(ReplyContent::Bytes)
            .or(bytes("torn").map(ReplyContent::Torn))
            .or(bytes("stderr").map(ReplyContent::Stderr))?
    };
    let http = match fields.get("http") {
        Some(http) => Some(Arc::new(HttpHead {
            status: u16::try_from(http["status"].as_u64()?).ok()?,
            headers: serde_json::from_value(http["headers"].clone()).ok()?,
        })),
        None => None,
    };
    Some(ServerReply { after: Duration::from_micros(fields.get("after_us")?.as_u64()?), content, http })
}

/// Text where it is text, else its digits.
fn bytes_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "hex": bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")) }),
    }
}

fn bytes_from(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let digits = value["hex"].as_str()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}
