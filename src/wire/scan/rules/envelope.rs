//! JSON-RPC 2.0: the members of a message, whatever it means.

use serde_json::Value;

use super::super::super::{RpcMessage, classify};
use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{NOTICE, framing, shown};
use crate::wire::Members;

/// Judges what makes a message one.
pub(super) fn judge(look: &mut MessageCheck<'_>, json: &Value) {
    let is_stdio = look.frame.http.is_none();
    if is_stdio {
        look.require(ScanRule::SplitMessage, true, String::new);
    }
    let Some(fields) = json.as_object() else {
        return no_object(look, json);
    };
    if is_stdio {
        look.require(ScanRule::StrayOutput, true, String::new);
    }
    look.request = fields.member("id").and_then(super::super::super::Id::from_json);
    let version = fields.member("jsonrpc");
    look.require(ScanRule::MalformedEnvelope, version.is_some_and(|version| version == "2.0"), || {
        let shown = version.map_or("none".to_owned(), Value::to_string);
        format!("a message must say `\"jsonrpc\": \"2.0\"`, this one has {shown}")
    });
    if let RpcMessage::Invalid(reason) = classify(json) {
        look.require(ScanRule::MalformedEnvelope, false, || reason);
    }
    look.request = None;
    let Some(method) = fields.member("method").and_then(Value::as_str) else { return };
    if fields.contains_key("result") || fields.contains_key("error") {
        look.require(ScanRule::MalformedEnvelope, false, || {
            format!("`{method}` has a `result` or an `error` beside its `method`")
        });
    }
    if method.starts_with(NOTICE) {
        let id = fields.member("id");
        look.require(ScanRule::NotificationWithId, id.is_none(), || {
            format!("`{method}` has the `id` {}; a notification has none", shown(id))
        });
    }
}

fn no_object(look: &mut MessageCheck<'_>, json: &Value) {
    if json.is_array() || look.frame.http.is_some() {
        let reason = if let RpcMessage::Invalid(reason) = classify(json) { reason } else { String::new() };
        look.require(ScanRule::MalformedEnvelope, false, || reason);
    } else {
        framing::stray(look, &json.to_string());
    }
}

/// Judges the members of a response.
pub(super) fn outcome(look: &mut MessageCheck<'_>, json: &Value) {
    let (result, error) = (json.member("result"), json.member("error"));
    look.require(ScanRule::MalformedEnvelope, result.is_none() || error.is_none(), || {
        "an answer has both `result` and `error`; it must have one of them".to_owned()
    });
    if let Some(result) = result {
        look.require(ScanRule::BadResult, result.is_object(), || {
            format!("`result` must be an object, it is {}", shown(Some(result)))
        });
    }
    let Some(error) = error else { return };
    let (code, message) = (error.member("code"), error.member("message"));
    look.require(ScanRule::IncompleteError, code.is_some(), || "`error.code` is missing".to_owned());
    look.require(ScanRule::IncompleteError, message.is_some_and(Value::is_string), || {
        format!("`error.message` must be text, this one is {}", message.unwrap_or(&Value::Null))
    });
    if let Some(code) = code {
        look.require(ScanRule::BadErrorCode, is_whole(code), || {
            format!("`error.code` must be a whole number, this one is {code}")
        });
    }
}

/// Whether a value is a whole number; `1.0` is one.
pub(super) fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}
