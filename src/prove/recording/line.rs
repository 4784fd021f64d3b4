//! Exchanges as JSON and back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::LaneRecording;
use crate::event::Outcome;
use crate::fault::{Asked, Ended, Exchange, Reply, What};
use crate::transport::TransportKind;
use crate::wire::HttpHead;

pub(super) fn lane_json(name: &str, lane: &LaneRecording) -> Value {
    json!({
        "lane": name,
        "file": lane.file,
        "server": lane.server,
        "transport": lane.transport,
        "revision": lane.revision,
        "unplayable": lane.unplayable,
    })
}

pub(super) fn lane_from(line: &Map<String, Value>) -> Option<LaneRecording> {
    let text = |key: &str| Some(line.get(key)?.as_str()?.to_owned());
    let unplayable = line.get("unplayable")?.as_object()?;
    Some(LaneRecording {
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

pub(super) fn exchange_json(exchange: &Exchange) -> Value {
    let asked = match &exchange.asked {
        Asked::Message { id: Some(id), method, params } => json!({"id": id, "method": method, "params": params}),
        Asked::Message { id: None, method, params } => json!({"method": method, "params": params}),
        Asked::Raw(bytes) => json!({ "raw": bytes_json(bytes) }),
    };
    let replies: Vec<Value> = exchange.replies.iter().map(reply_json).collect();
    json!({
        "owner": exchange.owner,
        "session": exchange.session,
        "occurrence": exchange.occurrence,
        "asked": asked,
        "replies": replies,
    })
}

pub(super) fn exchange_from(line: &Map<String, Value>) -> Option<Exchange> {
    let asked = line.get("asked")?;
    let asked = match asked.get("raw") {
        Some(raw) => Asked::Raw(bytes_from(raw)?),
        None => Asked::Message {
            id: asked.get("id").cloned(),
            method: asked["method"].as_str()?.to_owned(),
            params: asked.get("params")?.clone(),
        },
    };
    let number = |key: &str| u32::try_from(line.get(key)?.as_u64()?).ok();
    Some(Exchange {
        owner: line.get("owner")?.as_str()?.to_owned(),
        session: number("session")?,
        occurrence: number("occurrence")?,
        asked,
        replies: line.get("replies")?.as_array()?.iter().map(reply_from).collect::<Option<_>>()?,
    })
}

fn reply_json(reply: &Reply) -> Value {
    let mut line = json!({ "after_us": u64::try_from(reply.after.as_micros()).unwrap_or(u64::MAX) });
    let (kind, value) = match &reply.what {
        What::Message(message) => ("message", message.clone()),
        What::Bytes(bytes) => ("bytes", bytes_json(bytes)),
        What::Torn(bytes) => ("torn", bytes_json(bytes)),
        What::Stderr(bytes) => ("stderr", bytes_json(bytes)),
        What::Stalled => ("stalled", true.into()),
        What::Ended(Ended::Closed) => ("ended", json!({})),
        What::Ended(Ended::Status(status)) => ("ended", json!({ "status": status })),
        What::Ended(Ended::Signal(signal)) => ("ended", json!({ "signal": signal })),
    };
    line[kind] = value;
    if let Some(http) = &reply.http {
        line["http"] = json!({"status": http.status, "headers": http.headers});
    }
    line
}

fn reply_from(line: &Value) -> Option<Reply> {
    let fields = line.as_object()?;
    let bytes = |key: &str| fields.get(key).and_then(bytes_from);
    let what = if let Some(message) = fields.get("message") {
        What::Message(message.clone())
    } else if let Some(ended) = fields.get("ended") {
        let number = |key: &str| ended[key].as_i64().and_then(|number| i32::try_from(number).ok());
        What::Ended(match (number("status"), number("signal")) {
            (Some(status), _) => Ended::Status(status),
            (None, Some(signal)) => Ended::Signal(signal),
            (None, None) => Ended::Closed,
        })
    } else if fields.contains_key("stalled") {
        What::Stalled
    } else {
        bytes("bytes").map(What::Bytes).or(bytes("torn").map(What::Torn)).or(bytes("stderr").map(What::Stderr))?
    };
    let http = match fields.get("http") {
        Some(http) => Some(Arc::new(HttpHead {
            status: u16::try_from(http["status"].as_u64()?).ok()?,
            headers: serde_json::from_value(http["headers"].clone()).ok()?,
        })),
        None => None,
    };
    Some(Reply { after: Duration::from_micros(fields.get("after_us")?.as_u64()?), what, http })
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
