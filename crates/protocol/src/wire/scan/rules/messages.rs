//! Every message against the published schema of its revision.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::memory::{SentRequest, SessionMemory};
use super::super::shapes::{MessageShape, Shapes, Walk, WalkStart};
use super::super::table::ScanRule;
use super::{AnsweredRequest, requests};
use crate::wire::{Era, Members, Revision};

/// Judges a result by the schema of its method.
pub(crate) fn judge_result(look: &mut MessageCheck<'_>, memory: &SessionMemory, exchange: AnsweredRequest<'_>) {
    let AnsweredRequest { asked, result } = exchange;
    let revision = match asked.method {
        "initialize" => offered_revision(result),
        _ => revision_of_answer(look, memory, asked),
    };
    let Some(revision) = revision else { return };
    let shapes = Shapes::of(revision);
    let shape = match result_name(asked, result, revision) {
        Some(name) => shapes.named_shape(name),
        None => shapes.entry("results", asked.method).cloned(),
    };
    let Some(shape) = shape.or_else(|| shapes.named_shape("Result")) else { return };
    // Who reads a resource chose its address, which may be a wrong one on purpose.
    let exempt = Some(ScanRule::BadUri).filter(|_| asked.method == "resources/read");
    walk(look, shapes, &shape, result, WalkStart { part: "result", rule: None, exempt });
}

/// The definition of a result, where the method alone does not say it.
fn result_name(asked: &SentRequest, result: &Value, revision: Revision) -> Option<&'static str> {
    let kind = result.member("resultType");
    match (revision, asked.method, kind) {
        (Revision::V2026_07_28, _, Some(kind)) if kind == "input_required" => Some("InputRequiredResult"),
        // An extension defines the rest of it.
        (Revision::V2026_07_28, _, Some(kind)) if kind != "complete" => Some("Result"),
        (Revision::V2025_11_25, "tools/call", _) if asked.is_augmented && result.member("task").is_some() => {
            Some("CreateTaskResult")
        }
        // Only calls of tools become tasks on the side of a server.
        (Revision::V2025_11_25, "tasks/result", _) => Some("CallToolResult"),
        _ => None,
    }
}

/// Judges an error whose code has a schema of its own.
pub(crate) fn judge_error(look: &mut MessageCheck<'_>, memory: &SessionMemory, asked: &SentRequest, error: &Value) {
    let Some(code) = error.member("code").and_then(Value::as_i64) else { return };
    let Some(revision) = revision_of_answer(look, memory, asked) else { return };
    let shapes = Shapes::of(revision);
    let Some(shape) = shapes.entry("errors", &code.to_string()) else { return };
    let rule = Some(ScanRule::BadUrlRequired).filter(|_| code == requests::URL_REQUIRED);
    walk(look, shapes, shape, error, WalkStart { part: "error", rule, exempt: None });
}

/// Judges a notification or a request of the server by the schema of its method.
pub(crate) fn judge_unasked(
    look: &mut MessageCheck<'_>,
    memory: &SessionMemory,
    table: &'static str,
    method: &str,
    message: &Value,
) {
    let revision = if look.revision == Revision::NEWEST { Some(look.revision) } else { memory.agreed };
    let Some(revision) = revision.filter(|_| !memory.is_mixed) else { return };
    let shapes = Shapes::of(revision);
    let other = if table == "requests" { "Request" } else { "Notification" };
    let Some(shape) = shapes.entry(table, method).cloned().or_else(|| shapes.named_shape(other)) else { return };
    walk(look, shapes, &shape, message, WalkStart { part: "", rule: None, exempt: None });
}

fn walk(look: &mut MessageCheck<'_>, shapes: &'static Shapes, shape: &MessageShape, value: &Value, start: WalkStart) {
    let revision = std::mem::replace(&mut look.revision, shapes.revision);
    Walk::judge(look, shapes, shape, value, start);
    look.revision = revision;
}

/// The revision by which an answer is judged; `None` where it may be of several.
fn revision_of_answer(look: &MessageCheck<'_>, memory: &SessionMemory, asked: &SentRequest) -> Option<Revision> {
    if memory.is_mixed {
        return None;
    }
    // Whoever did not say that it speaks the newest revision may get an answer of an older one.
    let is_newest = look.revision == Revision::NEWEST;
    if asked.is_stateless { is_newest.then_some(Revision::NEWEST) } else { memory.agreed.filter(|_| !is_newest) }
}

/// The revision that an answer to `initialize` offers; one that names none is judged by what all revisions have.
fn offered_revision(result: &Value) -> Option<Revision> {
    match result.member("protocolVersion").and_then(Value::as_str) {
        Some(version) => Revision::parse(version).filter(|revision| revision.era() == Era::Session),
        None => Some(Revision::V2024_11_05),
    }
}
