//! Changes to lines, to their order and their time, and to the server's life.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{EffectContext, Jitter, answer, borrow, drift, edit};
use crate::fault::draw::{FaultDrawKey, draw};
use crate::fault::exchange::{MessageExchange, ReplyContent, ServerEnd, ServerReply};
use crate::fault::parsed_message::{MessageKind, ParsedMessage};
use crate::fault::path_condition::fits;
use crate::fault::words::{IdEdit, LateReply, PlainEffect, Side};
use crate::fault::written::Written;
use crate::source::template::{Names, text_of};
use crate::transport::Bandwidth;
use crate::wire::HttpHead;

/// The time after a cancellation when something still comes.
const LATE: Duration = Duration::from_millis(20);

/// An id that no request has.
const UNUSED_ID: i64 = 987_654_321;

pub(crate) fn plain(effect: PlainEffect, work: &mut EffectContext<'_>) -> Result<(), String> {
    match effect {
        PlainEffect::Accept => return borrow::accept(work),
        PlainEffect::Nothing | PlainEffect::Never => {
            if let Some(at) = work.answer() {
                work.replies.remove(at);
            }
        }
        PlainEffect::Silence => work.replies.clear(),
        PlainEffect::Duplicate => {
            if let Some(at) = work.answer() {
                work.replies.insert(at, work.replies[at].clone());
            }
        }
        PlainEffect::Truncate => rewrite(work, |message| ReplyContent::Bytes(half(message))),
        PlainEffect::Reset if work.http().is_some() => rewrite(work, |message| ReplyContent::Torn(half(message))),
        // A stream is a connection as a whole.
        PlainEffect::Torn | PlainEffect::Reset => tear(work),
        PlainEffect::Indent => return indent(work),
        PlainEffect::Glue => rewrite(work, |message| {
            let more = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "done"}});
            ReplyContent::Bytes(format!("{message}{more}").into_bytes())
        }),
        PlainEffect::Batch => rewrite(work, |message| ReplyContent::Message(json!([message]))),
        PlainEffect::Garbage => rewrite(work, |_| ReplyContent::Bytes(b"\xff\xfe\x00garbled\xff".to_vec())),
        PlainEffect::Reply => {
            if work.parsed.kind == MessageKind::Notification {
                push(work, ReplyContent::Message(json!({"jsonrpc": "2.0", "id": null, "result": {}})));
            }
        }
        PlainEffect::Unfill => edit::unfill(work),
        PlainEffect::Drift => drift::drift(work),
        PlainEffect::Stall => end(ReplyContent::Stalled, work),
        PlainEffect::End => end(ReplyContent::Ended(ServerEnd::Closed), work),
    }
    Ok(())
}

/// Puts something else into the place of the answer.
fn rewrite(work: &mut EffectContext<'_>, change: impl FnOnce(&Value) -> ReplyContent) {
    if let Some(at) = work.answer()
        && let Some(message) = work.replies[at].message()
    {
        work.replies[at].content = change(message);
    }
}

fn half(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.truncate(line.len() / 2);
    line
}

fn tear(work: &mut EffectContext<'_>) {
    rewrite(work, |message| ReplyContent::Torn(half(message)));
    let torn = work.replies.iter().position(|reply| matches!(reply.content, ReplyContent::Torn(_)));
    if let Some(at) = torn {
        work.replies.truncate(at + 1);
        let after = work.replies[at].after;
        work.replies.push(ServerReply { after, content: ReplyContent::Ended(ServerEnd::Closed), http: None });
    }
}

fn indent(work: &mut EffectContext<'_>) -> Result<(), String> {
    let Some(at) = work.answer() else { return Ok(()) };
    if work.replies[at].http.is_some() {
        return Err("over HTTP an answer may stand on several lines".to_owned());
    }
    let Some(message) = work.replies[at].message() else { return Ok(()) };
    let text = serde_json::to_string_pretty(message).unwrap_or_default();
    let after = work.replies[at].after;
    let lines = text.lines().map(|line| ServerReply {
        after,
        content: ReplyContent::Bytes(line.as_bytes().to_vec()),
        http: None,
    });
    work.replies.splice(at..=at, lines);
    Ok(())
}

/// Replaces parts of the JSON of the answer, which stays a message where the outcome is JSON: its `id` follows the
/// request to which it is played back.
pub(crate) fn replace(pairs: &[(String, String)], work: &mut EffectContext<'_>) {
    rewrite(work, |message| {
        let text = pairs.iter().fold(message.to_string(), |text, (old, new)| text.replace(old, new));
        ReplyContent::read(text.as_bytes())
    });
}

/// Something more that comes last.
fn push(work: &mut EffectContext<'_>, content: ReplyContent) {
    let (after, http) = (work.time(), work.http());
    work.replies.push(ServerReply { after, content, http });
}

pub(crate) fn delay(by: Duration, work: &mut EffectContext<'_>) {
    if let Some(at) = work.answer() {
        work.replies[at..].iter_mut().for_each(|reply| reply.after += by);
    }
}

/// Delays the answer by as much as its bytes take.
pub(crate) fn transfer(bandwidth: Bandwidth, work: &mut EffectContext<'_>) {
    let content = work.answer().map(|at| work.replies[at].content.clone());
    let length = content.and_then(ReplyContent::bytes).map_or(0, |bytes| bytes.len());
    delay(bandwidth.time_of(length), work);
}

/// Delays the answer by a part of this, which depends on what was asked and how often.
pub(crate) fn jitter(jitter: &Jitter, work: &mut EffectContext<'_>) {
    let key = FaultDrawKey {
        fault: &jitter.fault,
        server: "jitter",
        method: work.parsed.method.as_deref().unwrap_or_default(),
        tool: work.parsed.tool().unwrap_or_default(),
        arguments: &work.parsed.params,
        occurrence: work.asked_before,
    };
    delay(jitter.by.mul_f64(draw(jitter.seed, &key)), work);
}

/// Puts something before or after the answer; last where there is none.
fn beside(content: ReplyContent, side: Side, http: Option<Arc<HttpHead>>, work: &mut EffectContext<'_>) {
    let after = work.time();
    let at = work.answer().map_or(work.replies.len(), |at| if side == Side::Before { at } else { at + 1 });
    work.replies.insert(at, ServerReply { after, content, http });
}

pub(crate) fn stderr(text: &str, work: &mut EffectContext<'_>) {
    beside(ReplyContent::Stderr(text.as_bytes().to_vec()), Side::Before, None, work);
}

pub(crate) fn reid(how: IdEdit, work: &mut EffectContext<'_>) -> Result<(), String> {
    let Some(message) = work.message() else { return Ok(()) };
    let id = message["id"].clone();
    let new = match (how, &id) {
        (IdEdit::Text, Value::Number(number)) => json!(number.to_string()),
        (IdEdit::Number, Value::String(text)) => {
            let number: i64 = text.parse().map_err(|_| "the id is no number in any form")?;
            json!(number)
        }
        (IdEdit::Text | IdEdit::Number, _) => return Err("the id has that type already".to_owned()),
        (IdEdit::Null | IdEdit::Missing, _) => Value::Null,
        (IdEdit::Other, _) => json!(UNUSED_ID),
    };
    match message.as_object_mut() {
        Some(members) if how == IdEdit::Missing => drop(members.shift_remove("id")),
        _ => message["id"] = new,
    }
    Ok(())
}

fn is_named(reply: &ServerReply, method: &str) -> bool {
    reply.message().and_then(|message| message["method"].as_str()).is_some_and(|name| fits(method, name))
}

pub(crate) fn swallow(method: &str, work: &mut EffectContext<'_>) {
    work.replies.retain(|reply| !is_named(reply, method));
}

/// Sends the last notification of that name once more: at once, or after the answer.
pub(crate) fn repeat(method: &str, side: Side, work: &mut EffectContext<'_>) {
    let Some(at) = work.replies.iter().rposition(|reply| is_named(reply, method)) else { return };
    match side {
        Side::Before => work.replies.insert(at, work.replies[at].clone()),
        Side::After => beside(work.replies[at].content.clone(), Side::After, work.replies[at].http.clone(), work),
    }
}

/// The answer to the request that a notification cancels.
pub(crate) fn late(what: LateReply, work: &mut EffectContext<'_>) -> Result<(), String> {
    let cancelled = work.parsed.params["requestId"].clone();
    let this = work.exchange;
    let request = work.history.exchanges[..work.at].iter().rev().find_map(|other| {
        let parsed = ParsedMessage::of(other);
        let is_it =
            other.owner == this.owner && other.session == this.session && parsed.id.as_deref() == Some(&cancelled);
        is_it.then_some((other, parsed))
    });
    let (other, parsed) = request.ok_or("nothing is known of the request that is cancelled")?;
    let message = match what {
        LateReply::Error => {
            json!({"jsonrpc": "2.0", "id": cancelled, "error": {"code": 0, "message": "Request cancelled"}})
        }
        LateReply::Result => {
            let at = work.history.exchanges.iter().position(|known| std::ptr::eq(known, other)).unwrap_or(work.at);
            let result = answer::plain_result(&EffectContext::new(at, work.history));
            json!({"jsonrpc": "2.0", "id": cancelled, "result": result})
        }
        LateReply::Progress => {
            let token = parsed.params["_meta"].get("progressToken").ok_or("the request asked for no progress")?;
            let messages = other.replies.iter().filter_map(ServerReply::message);
            let reported = messages.filter_map(|message| message["params"]["progress"].as_f64());
            let progress = reported.fold(0.0, f64::max) + 1.0;
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": progress}})
        }
    };
    work.replies.push(ServerReply {
        after: work.time() + LATE,
        content: ReplyContent::Message(message),
        http: other_head(other),
    });
    Ok(())
}

fn other_head(other: &MessageExchange) -> Option<Arc<HttpHead>> {
    other.replies.iter().find_map(|reply| reply.http.clone())
}

/// Changes the head of the response.
pub(crate) fn head(work: &mut EffectContext<'_>, change: &mut dyn FnMut(&mut HttpHead)) {
    for reply in &mut work.replies {
        if let Some(http) = &mut reply.http {
            let mut changed = (**http).clone();
            change(&mut changed);
            *http = Arc::new(changed);
        }
    }
}

pub(crate) fn headers(wanted: &[(String, Option<Written>)], work: &mut EffectContext<'_>) {
    let wanted = filled_headers(wanted, || work.names());
    head(work, &mut |http| set_headers(&wanted, &mut http.headers));
}

/// Headers with their values, nothing for those that are taken away; one whose template names nothing stays as it was.
pub(crate) fn filled_headers<'n>(
    wanted: &[(String, Option<Written>)],
    names: impl Fn() -> &'n Names,
) -> Vec<(String, Option<String>)> {
    let filled = wanted.iter().filter_map(|(name, value)| {
        let value = match value {
            Some(Written::Plain(value)) => Some(text_of(value)),
            Some(written) => Some(written.text(names())?),
            None => None,
        };
        Some((name.clone(), value))
    });
    filled.collect()
}

/// Sets headers, and removes those without a value.
pub fn set_headers(wanted: &[(String, Option<String>)], headers: &mut Vec<(String, String)>) {
    for (name, value) in wanted {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        headers.extend(value.iter().map(|value| (name.clone(), value.clone())));
    }
}

/// Lets the server end or go deaf instead of answering; after everything where nothing is answered.
pub(crate) fn end(how: ReplyContent, work: &mut EffectContext<'_>) {
    let after = work.time();
    work.replies.truncate(work.answer().unwrap_or(work.replies.len()));
    if !matches!(work.replies.last(), Some(ServerReply { content: ReplyContent::Ended(_), .. })) {
        work.replies.push(ServerReply { after, content: how, http: None });
    }
}
