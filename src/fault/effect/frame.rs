//! Changes to lines, to their order and their time, and to the server's life.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Work, answer, borrow, edit};
use crate::fault::ask::{Ask, Form};
use crate::fault::condition::fits;
use crate::fault::exchange::{Ended, Exchange, Reply, What};
use crate::fault::words::{Late, Plain, Reid, Side};
use crate::wire::HttpHead;

/// How long after a cancellation something still comes.
const LATE: Duration = Duration::from_millis(20);

/// An id that nobody uses.
const NOBODYS: i64 = 987_654_321;

pub(super) fn plain(effect: Plain, work: &mut Work<'_>) -> Result<(), String> {
    match effect {
        Plain::Accept => return borrow::accept(work),
        Plain::Drop => {
            if let Some(at) = work.answer() {
                work.replies.remove(at);
            }
        }
        Plain::Silence => work.replies.clear(),
        Plain::Duplicate => {
            if let Some(at) = work.answer() {
                work.replies.insert(at, work.replies[at].clone());
            }
        }
        Plain::Truncate => rewrite(work, |message| What::Bytes(half(message))),
        Plain::Torn => tear(work),
        Plain::Indent => return indent(work),
        Plain::Glue => rewrite(work, |message| {
            let more = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "done"}});
            What::Bytes(format!("{message}{more}").into_bytes())
        }),
        Plain::Batch => rewrite(work, |message| What::Message(json!([message]))),
        Plain::Garbage => garbage(b"\xff\xfe\x00garbled\xff", work),
        Plain::Reply => {
            if work.ask.form == Form::Notification {
                push(work, What::Message(json!({"jsonrpc": "2.0", "id": null, "result": {}})));
            }
        }
        Plain::Unfill => edit::unfill(work),
        Plain::Stall => end(What::Stalled, work),
        Plain::End => end(What::Ended(Ended::Closed), work),
    }
    Ok(())
}

/// Puts something else into the place of the answer.
fn rewrite(work: &mut Work<'_>, change: impl FnOnce(&Value) -> What) {
    if let Some(at) = work.answer()
        && let What::Message(message) = &work.replies[at].what
    {
        work.replies[at].what = change(message);
    }
}

fn half(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.truncate(line.len() / 2);
    line
}

fn tear(work: &mut Work<'_>) {
    rewrite(work, |message| What::Torn(half(message)));
    let torn = work.replies.iter().position(|reply| matches!(reply.what, What::Torn(_)));
    if let Some(at) = torn {
        work.replies.truncate(at + 1);
        let after = work.replies[at].after;
        work.replies.push(Reply { after, what: What::Ended(Ended::Closed), http: None });
    }
}

fn indent(work: &mut Work<'_>) -> Result<(), String> {
    let Some(at) = work.answer() else { return Ok(()) };
    if work.replies[at].http.is_some() {
        return Err("over HTTP an answer may stand on several lines".to_owned());
    }
    let What::Message(message) = &work.replies[at].what else { return Ok(()) };
    let text = serde_json::to_string_pretty(message).unwrap_or_default();
    let after = work.replies[at].after;
    let lines = text.lines().map(|line| Reply { after, what: What::Bytes(line.as_bytes().to_vec()), http: None });
    work.replies.splice(at..=at, lines);
    Ok(())
}

pub(super) fn garbage(bytes: &[u8], work: &mut Work<'_>) {
    rewrite(work, |_| What::Bytes(bytes.to_vec()));
}

/// Something more that comes last.
fn push(work: &mut Work<'_>, what: What) {
    let (after, http) = (work.time(), work.http());
    work.replies.push(Reply { after, what, http });
}

pub(super) fn delay(by: Duration, work: &mut Work<'_>) {
    if let Some(at) = work.answer() {
        work.replies[at..].iter_mut().for_each(|reply| reply.after += by);
    }
}

/// Puts something before or after the answer; last where there is none.
fn beside(what: What, side: Side, http: Option<Arc<HttpHead>>, work: &mut Work<'_>) {
    let after = work.time();
    let at = work.answer().map_or(work.replies.len(), |at| if side == Side::Before { at } else { at + 1 });
    work.replies.insert(at, Reply { after, what, http });
}

pub(super) fn noise(text: &str, side: Side, work: &mut Work<'_>) {
    let http = work.http();
    beside(What::Bytes(text.as_bytes().to_vec()), side, http, work);
}

pub(super) fn stderr(text: &str, work: &mut Work<'_>) {
    beside(What::Stderr(text.as_bytes().to_vec()), Side::Before, None, work);
}

pub(super) fn reid(how: Reid, work: &mut Work<'_>) -> Result<(), String> {
    let Some(message) = work.message() else { return Ok(()) };
    let id = message["id"].clone();
    let new = match (how, &id) {
        (Reid::Text, Value::Number(number)) => json!(number.to_string()),
        (Reid::Number, Value::String(text)) => {
            let number: i64 = text.parse().map_err(|_| "the id is no number in any form")?;
            json!(number)
        }
        (Reid::Text | Reid::Number, _) => return Err("the id has that type already".to_owned()),
        (Reid::Null | Reid::Missing, _) => Value::Null,
        (Reid::Other, _) => json!(NOBODYS),
    };
    match message.as_object_mut() {
        Some(members) if how == Reid::Missing => drop(members.shift_remove("id")),
        _ => message["id"] = new,
    }
    Ok(())
}

pub(super) fn notify(method: &str, params: &Value, side: Side, work: &mut Work<'_>) {
    let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    let http = work.http();
    beside(What::Message(message), side, http, work);
}

fn is_named(reply: &Reply, method: &str) -> bool {
    matches!(&reply.what, What::Message(message) if message["method"].as_str().is_some_and(|name| fits(method, name)))
}

pub(super) fn swallow(method: &str, work: &mut Work<'_>) {
    work.replies.retain(|reply| !is_named(reply, method));
}

/// Sends the last notification of that name once more: at once, or after the answer.
pub(super) fn repeat(method: &str, side: Side, work: &mut Work<'_>) {
    let Some(at) = work.replies.iter().rposition(|reply| is_named(reply, method)) else { return };
    match side {
        Side::Before => work.replies.insert(at, work.replies[at].clone()),
        Side::After => beside(work.replies[at].what.clone(), Side::After, work.replies[at].http.clone(), work),
    }
}

/// What still comes for the request that a notification cancels.
pub(super) fn late(what: Late, work: &mut Work<'_>) -> Result<(), String> {
    let cancelled = work.ask.params["requestId"].clone();
    let this = work.exchange;
    let request = work.known.exchanges[..work.at].iter().rev().find_map(|other| {
        let ask = Ask::of(other);
        let is_it = other.owner == this.owner && other.session == this.session && ask.id.as_deref() == Some(&cancelled);
        is_it.then_some((other, ask))
    });
    let (other, ask) = request.ok_or("nothing is known of the request that is cancelled")?;
    let message = match what {
        Late::Error => {
            json!({"jsonrpc": "2.0", "id": cancelled, "error": {"code": 0, "message": "Request cancelled"}})
        }
        Late::Result => {
            let at = work.known.exchanges.iter().position(|known| std::ptr::eq(known, other)).unwrap_or(work.at);
            let result = answer::plain_result(&Work::new(at, work.known));
            json!({"jsonrpc": "2.0", "id": cancelled, "result": result})
        }
        Late::Progress => {
            let token = ask.params["_meta"].get("progressToken").ok_or("the request asked for no progress")?;
            let reported = other.replies.iter().filter_map(|reply| match &reply.what {
                What::Message(message) => message["params"]["progress"].as_f64(),
                What::Bytes(_) | What::Torn(_) | What::Stderr(_) | What::Stalled | What::Ended(_) => None,
            });
            let progress = reported.fold(0.0, f64::max) + 1.0;
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": progress}})
        }
    };
    work.replies.push(Reply { after: work.time() + LATE, what: What::Message(message), http: other_head(other) });
    Ok(())
}

fn other_head(other: &Exchange) -> Option<Arc<HttpHead>> {
    other.replies.iter().find_map(|reply| reply.http.clone())
}

/// Changes the head of the response.
pub(super) fn head(work: &mut Work<'_>, change: &mut dyn FnMut(&mut HttpHead)) {
    for reply in &mut work.replies {
        if let Some(http) = &mut reply.http {
            let mut changed = (**http).clone();
            change(&mut changed);
            *http = Arc::new(changed);
        }
    }
}

pub(super) fn headers(wanted: &[(String, Option<String>)], work: &mut Work<'_>) {
    head(work, &mut |http| {
        for (name, value) in wanted {
            http.headers.retain(|(known, _)| known != name);
            http.headers.extend(value.iter().map(|value| (name.clone(), value.clone())));
        }
    });
}

/// Lets the server end or go deaf instead of answering; after everything where nothing is answered.
pub(super) fn end(how: What, work: &mut Work<'_>) {
    let after = work.time();
    work.replies.truncate(work.answer().unwrap_or(work.replies.len()));
    if !matches!(work.replies.last(), Some(Reply { what: What::Ended(_), .. })) {
        work.replies.push(Reply { after, what: how, http: None });
    }
}
