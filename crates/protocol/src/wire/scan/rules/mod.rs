//! The rules, by subject. Each looks at one message and at what is remembered; none looks at another.

mod early;
pub(crate) mod framing;
mod messages;
mod names;
mod notifications;
mod requests;
pub(crate) mod results;
mod schemas;
mod tasks;

use serde_json::Value;

use super::look::MessageCheck;
use super::memory::{SentRequest, SessionMemory};
use super::table::ScanRule;
use crate::source::shorten;
use crate::wire::{Id, Members, Revision, RpcMessage, classify};

/// An answer to a request that is known.
#[derive(Clone, Copy)]
pub(crate) struct AnsweredRequest<'a> {
    asked: &'a SentRequest,
    result: &'a Value,
}

/// Judges a message that could be read.
pub(crate) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, json: &Value) {
    if let Some(batch) = json.as_array() {
        // Raw steps judge their own answers, and one revision had batches.
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
    framing::judge_envelope(look, json);
    early::judge(look, memory, json);
    match classify(json) {
        RpcMessage::Invalid(_) => {}
        RpcMessage::Request { method, .. } | RpcMessage::Notification { method, .. } if method.starts_with(NOTICE) => {
            judge_notification(look, memory, method, json);
        }
        RpcMessage::Request { id, method, .. } => requests::judge(look, memory, Some(id), method, json),
        RpcMessage::Notification { method, .. } => {
            if json.member("id").is_some() {
                requests::judge(look, memory, None, method, json);
            } else {
                judge_notification(look, memory, method, json);
            }
        }
        RpcMessage::Response { id } => {
            look.require(ScanRule::ServerRequest, true, String::new);
            look.request.clone_from(&id);
            judge_answer(look, memory, json, id);
            look.request = None;
        }
    }
}

/// The prefix of the methods of all notifications.
const NOTICE: &str = "notifications/";

fn judge_notification(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, method: &str, json: &Value) {
    let params = &json["params"];
    look.require(ScanRule::ServerRequest, true, String::new);
    messages::judge_unasked(look, memory, "notifications", method, json);
    names::judge_meta(look, params);
    match method {
        "notifications/progress" => notifications::judge_progress(look, memory, params),
        "notifications/cancelled" => notifications::judge_cancellation(look, memory, params),
        "notifications/message" => notifications::judge_log(look, memory),
        "notifications/elicitation/complete" => requests::elicitation_completed(look, memory, params),
        "notifications/tasks/status" => tasks::judge_status_notification(look, memory, params),
        _ => {}
    }
    notifications::on_subscription(look, memory, method, params);
}

fn judge_answer(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, json: &Value, id: Option<Id>) {
    framing::judge_outcome(look, json);
    let Some(asked) = results::match_request(look, memory, json, id) else { return };
    if let Some(error) = json.member("error") {
        messages::judge_error(look, memory, &asked, error);
        results::judge_error(look, memory, &asked, error);
    }
    let Some(result) = json.member("result").filter(|result| result.is_object()) else { return };
    let exchange = AnsweredRequest { asked: &asked, result };
    chances(look, memory, &asked);
    messages::judge_result(look, memory, exchange);
    names::judge_result_meta(look, exchange);
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
fn quote(value: Option<&Value>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    format!("`{}`", shorten(&value.to_string(), 80))
}
