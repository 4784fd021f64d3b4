//! Whole answers instead of those that came.

use std::sync::Arc;

use serde_json::{Value, json};

use super::EffectContext;
use crate::fault::exchange::{ReplyContent, ServerReply};
use crate::fault::written::Written;
use crate::wire::{HttpHead, ListKind};

/// Writes a result or an error into the place of the answer; what has no id is answered with null.
pub(crate) fn write(work: &mut EffectContext<'_>, member: &str, written: &Written) {
    let Some(value) = work.fill_written(written) else { return };
    let id = work.parsed.id.as_deref().cloned().unwrap_or_default();
    put_for(work, &id, member, value);
}

/// Sends something else in the place of the answer.
pub(crate) fn replace(work: &mut EffectContext<'_>, written: &Written, content_of: fn(Value) -> ReplyContent) {
    let Some(content) = work.fill_written(written).map(content_of) else { return };
    let (after, http) = (work.time(), work.http());
    match work.answer() {
        Some(at) => work.replies[at].content = content,
        None => work.replies.push(ServerReply { after, content, http }),
    }
}

/// Puts a result or an error into the place of the answer; makes an answer where none came.
pub(crate) fn put_member(work: &mut EffectContext<'_>, member: &str, value: Value) -> Result<(), String> {
    let has_answer = work.message().is_some();
    match work.parsed.id.as_deref().cloned() {
        None if !has_answer => return Err("what was sent has no id that could be answered".to_owned()),
        id => put_for(work, &id.unwrap_or_default(), member, value),
    }
    Ok(())
}

fn put_for(work: &mut EffectContext<'_>, id: &Value, member: &str, value: Value) {
    if let Some(message) = work.message() {
        // The new member stands where the old one stood, so that nothing else differs.
        let Value::Object(members) = message else { return };
        let position = members.keys().position(|key| key == "result" || key == "error").unwrap_or(members.len());
        members.retain(|key, _| key != "result" && key != "error");
        members.shift_insert(position, member.to_owned(), value);
        return mend_head(work);
    }
    let message = json!({"jsonrpc": "2.0", "id": id, member: value});
    let said_no =
        work.replies.iter().position(|reply| reply.http.is_some() && matches!(reply.content, ReplyContent::Bytes(_)));
    let reply = ServerReply {
        after: work.time() + work.time_to_answer(),
        content: ReplyContent::Message(message),
        http: work.http(),
    };
    if let Some(at) = said_no {
        work.replies[at] = ServerReply { after: work.replies[at].after, ..reply };
    } else {
        // A server that answers has not ended.
        work.replies.retain(|reply| !matches!(reply.content, ReplyContent::Ended(_) | ReplyContent::Stalled));
        work.replies.push(reply);
    }
    mend_head(work);
}

/// An answer that pretends that all is well comes with a status that says so.
fn mend_head(work: &mut EffectContext<'_>) {
    let Some(at) = work.answer() else { return };
    let reply = &mut work.replies[at];
    let is_result = reply.message().is_some_and(|message| message.get("result").is_some());
    if let Some(http) = reply.http.as_ref().filter(|http| is_result && !http.is_success()) {
        let mut headers: Vec<_> = http.headers.iter().filter(|(name, _)| name != "content-type").cloned().collect();
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        reply.http = Some(Arc::new(HttpHead { status: 200, headers }));
    }
}

/// A result that reports a failure, or an error where the method has no such result.
pub(crate) fn fail(work: &mut EffectContext<'_>, text: &str) -> Result<(), String> {
    if work.parsed.tool().is_none() {
        return put_member(work, "error", json!({"code": -32603, "message": text}));
    }
    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    let result = complete(work, result);
    put_member(work, "result", result)
}

/// A result that is good enough for the method, made from nothing.
pub(crate) fn plain_result(work: &EffectContext<'_>) -> Value {
    let done = json!({"type": "text", "text": "done"});
    let catalog = work.history.catalog;
    let method = work.parsed.method.as_deref().unwrap_or_default();
    let listed = ListKind::ALL.into_iter().find(|kind| kind.method() == method);
    let result = match (method, listed) {
        (_, Some(kind)) => {
            let items: Vec<&Value> = match kind {
                ListKind::Tools => catalog.tools.iter().map(|tool| &tool.raw).collect(),
                ListKind::Resources => catalog.resources.iter().collect(),
                ListKind::ResourceTemplates => catalog.resource_templates.iter().collect(),
                ListKind::Prompts => catalog.prompts.iter().collect(),
            };
            json!({kind.member(): items})
        }
        ("tools/call", _) => json!({"content": [done]}),
        ("prompts/get", _) => json!({"messages": [{"role": "user", "content": done}]}),
        ("resources/read", _) => {
            json!({"contents": [{"uri": work.parsed.params["uri"], "mimeType": "text/plain", "text": "done"}]})
        }
        ("completion/complete", _) => json!({"completion": {"values": []}}),
        ("initialize", _) => json!({
            "protocolVersion": work.parsed.params["protocolVersion"],
            "capabilities": work.history.capabilities,
            "serverInfo": {"name": "server", "version": "1"},
        }),
        _ => json!({}),
    };
    complete(work, result)
}

/// Adds what results of the era without sessions have.
fn complete(work: &EffectContext<'_>, mut result: Value) -> Value {
    if work.parsed.is_stateless() {
        result["resultType"] = "complete".into();
    }
    result
}
