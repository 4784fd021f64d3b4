//! The rules, by subject. Each looks at one message and at what is remembered; none looks at another.

mod answers;
mod caching;
mod content;
mod elicitation;
mod envelope;
pub(super) mod framing;
mod headers;
mod input;
mod listen;
mod meta;
mod notices;
mod progress;
mod requests;
mod resources;
pub(super) mod results;
mod schemas;
mod tasks;

use crate::wire::Members;
use serde_json::Value;

use super::super::{Revision, RpcMessage, classify};
use super::look::MessageCheck;
use super::memory::{SentRequest, SessionMemory};
use super::table::ScanRule;

/// An answer to a request that is known.
#[derive(Clone, Copy)]
struct AnsweredRequest<'a> {
    asked: &'a SentRequest,
    result: &'a Value,
}

/// Judges a message that could be read.
pub(super) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, json: &Value) {
    if let Some(batch) = json.as_array() {
        // What raw steps get is theirs to judge, and one revision had batches.
        if look.revision == Revision::V2025_03_26 {
            for one in batch {
                judge_one(look, memory, one);
            }
        } else if !memory.is_raw {
            judge_one(look, memory, json);
        }
        return;
    }
    judge_one(look, memory, json);
}

fn judge_one(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, json: &Value) {
    envelope::judge(look, json);
    match classify(json) {
        RpcMessage::Invalid(_) => {}
        RpcMessage::Request { method, .. } | RpcMessage::Notification { method, .. } if method.starts_with(NOTICE) => {
            notified(look, memory, method, &json["params"]);
        }
        RpcMessage::Request { id, method, params } => requests::judge(look, memory, (Some(id), method), params),
        RpcMessage::Notification { method, params } => {
            if json.member("id").is_some() {
                requests::judge(look, memory, (None, method), params);
            } else {
                notified(look, memory, method, &json["params"]);
            }
        }
        RpcMessage::Response { id } => {
            look.require(ScanRule::ServerRequest, true, String::new);
            look.request.clone_from(&id);
            answered(look, memory, json, id);
            look.request = None;
        }
    }
}

/// How the methods of all notifications begin.
const NOTICE: &str = "notifications/";

fn notified(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, method: &str, params: &Value) {
    look.require(ScanRule::ServerRequest, true, String::new);
    meta::judge(look, params);
    match method {
        "notifications/progress" => progress::judge(look, memory, params),
        "notifications/cancelled" => notices::cancelled(look, memory, params),
        "notifications/message" => notices::logged(look, memory),
        "notifications/elicitation/complete" => elicitation::completed(look, memory, params),
        "notifications/tasks/status" => tasks::told(look, memory, params),
        _ => {}
    }
    listen::judge(look, memory, method, params);
}

fn answered(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, json: &Value, id: Option<super::super::Id>) {
    envelope::outcome(look, json);
    let Some(asked) = answers::judge(look, memory, json, id) else { return };
    if let Some(error) = json.member("error") {
        results::refused(look, memory, &asked, error);
    }
    let Some(result) = json.member("result").filter(|result| result.is_object()) else { return };
    let exchange = AnsweredRequest { asked: &asked, result };
    chances(look, memory, &asked);
    meta::judge_result(look, exchange);
    content::judge(look, exchange);
    resources::judge(look, exchange);
    schemas::judge(look, exchange);
    tasks::judge(look, memory, exchange);
    results::judge(look, memory, exchange);
}

/// Counts an exchange during which the server could have asked for something, or logged.
fn chances(look: &mut MessageCheck<'_>, memory: &SessionMemory, asked: &SentRequest) {
    if !matches!(asked.method, "tools/call" | "prompts/get" | "resources/read") || asked.is_raw || memory.is_mixed {
        return;
    }
    if memory.offers.is_some() {
        look.require(ScanRule::UndeclaredRequest, true, String::new);
    }
    if asked.is_stateless && !asked.wants_logs {
        look.require(ScanRule::UnaskedLog, true, String::new);
    }
}

/// The members of a list in a result.
fn items<'a>(value: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(member).and_then(Value::as_array).into_iter().flatten()
}

/// A value as a message may quote it.
fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    let whole = value.to_string();
    let short: String = whole.chars().take(80).collect();
    if short.len() < whole.len() { format!("`{short}…`") } else { format!("`{short}`") }
}
