//! Calls that went on as tasks, as a step with `task` sees them: a call, and the answer that it had in the end.
//!
//! A recording has several exchanges for one task: the call that makes it, the questions after it, and the request for its
//! result. What is changed in one of them shows in the answer of the end, in the time until then, or only to a client that
//! asks again after the end.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::recording::TargetRecording;
use super::Survivor;
use super::answer::ExchangeAnswer;
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerReply};

/// The interval at which a client asks where the server names none, in milliseconds.
const USUAL_INTERVAL: u64 = 500;

/// The bounds of an interval that a server names, in milliseconds.
const INTERVALS: (u64, u64) = (20, 5_000);

/// A survivor in the recording whose tasks are calls.
#[derive(Debug)]
pub(crate) struct MergedTasks {
    recorded: TargetRecording,
    at: usize,
    changed: Vec<ServerReply>,
    /// The change comes after the end of a task, so that it shows to those alone who ask again.
    pub(crate) is_after_end: bool,
}

impl MergedTasks {
    /// The survivor with its recording; `None` where nothing became a task, or nothing came of the task that it is about.
    pub(crate) fn of(survivor: &Survivor<'_>) -> Option<Self> {
        let exchanges = &survivor.recorded.exchanges;
        if !exchanges.iter().any(|exchange| created(exchange).is_some()) {
            return None;
        }
        let struck = exchanges.iter().position(|exchange| std::ptr::eq(exchange, survivor.exchange))?;
        let call = call_of(exchanges, struck);
        let mut merged = Self {
            recorded: TargetRecording {
                file: survivor.recorded.file.clone(),
                server: survivor.recorded.server.clone(),
                transport: survivor.recorded.transport,
                revision: survivor.recorded.revision.clone(),
                exchanges: Vec::new(),
                unplayable: survivor.recorded.unplayable.clone(),
            },
            at: 0,
            changed: survivor.changed.to_vec(),
            is_after_end: false,
        };
        for (at, exchange) in exchanges.iter().enumerate().filter(|(at, _)| call_of(exchanges, *at) == *at) {
            let task = created(exchange).and_then(|_| Task::of(exchanges, at, &[]));
            if at == call {
                merged.at = merged.recorded.exchanges.len();
                match &task {
                    Some(task) => {
                        merged.is_after_end = struck > task.ended_by;
                        merged.changed = vec![Task::of(exchanges, at, &[(struck, survivor.changed)])?.reply];
                    }
                    None if struck == call => {}
                    None => return None,
                }
            }
            merged.recorded.exchanges.push(task.map_or_else(|| exchange.clone(), |task| task.merge(exchange)));
        }
        Some(merged)
    }

    /// The survivor as one of a plain call.
    pub(crate) fn survivor<'s>(&'s self, survivor: &Survivor<'s>) -> Survivor<'s> {
        Survivor {
            recorded: &self.recorded,
            exchange: &self.recorded.exchanges[self.at],
            changed: &self.changed,
            ..*survivor
        }
    }
}

/// The index of the call whose task an exchange is about; its own index if it is about none.
pub(crate) fn call_of(exchanges: &[MessageExchange], at: usize) -> usize {
    let asked = &exchanges[at];
    if !asked.method().is_some_and(|method| method.starts_with("tasks/")) {
        return at;
    }
    let makes = |other: &MessageExchange| {
        let is_here = other.owner == asked.owner && other.session == asked.session;
        is_here && created(other).is_some_and(|task| task["taskId"] == asked.params()["taskId"])
    };
    exchanges[..at].iter().rposition(makes).unwrap_or(at)
}

/// Whether a changed answer loses or reopens a task after its end, where a server may do that: its `ttl` is over when a step
/// with `again` asks, or the server names none.
pub(crate) fn may_lose_task(exchanges: &[MessageExchange], at: usize, changed: &[ServerReply]) -> bool {
    let call = call_of(exchanges, at);
    let task = if call == at { None } else { Task::of(exchanges, call, &[]) };
    let may_be_gone = task.is_some_and(|task| at > task.ended_by && task.may_be_gone);
    if !may_be_gone {
        return false;
    }
    let sent = &exchanges[at].sent;
    let answers = ExchangeAnswer::of(sent, &exchanges[at].replies).zip(ExchangeAnswer::of(sent, changed));
    answers.is_some_and(|(healthy, changed)| {
        let is_gone = changed.message.get("error").is_some() && healthy.message.get("error").is_none();
        is_gone || changed.message["result"]["status"] != healthy.message["result"]["status"]
    })
}

/// The task that the answer to a call creates.
fn created(exchange: &MessageExchange) -> Option<&Value> {
    exchange.tool()?;
    let result = exchange.answer()?.get("result")?;
    if result["resultType"] == "task" { Some(result) } else { result.get("task").filter(|task| task.is_object()) }
}

/// A task from its call to its end.
struct Task {
    /// The answer of its call.
    reply: ServerReply,
    /// The index of the exchange that brought it.
    ended_by: usize,
    is_cancelled: bool,
    /// The server need not know it any more when a client asks again.
    may_be_gone: bool,
}

impl Task {
    /// The task that a call made, with other replies to some exchanges; `None` where it has no end.
    fn of(exchanges: &[MessageExchange], call: usize, changed: &[(usize, &[ServerReply])]) -> Option<Self> {
        let answer = |at: usize| {
            let replies = changed.iter().find(|(struck, _)| *struck == at).map(|(_, replies)| *replies);
            ExchangeAnswer::of(&exchanges[at].sent, replies.unwrap_or(&exchanges[at].replies))
        };
        let made = answer(call)?;
        let is_older = made.message["result"].get("task").is_some();
        let state = if is_older { &made.message["result"]["task"] } else { &made.message["result"] };
        let (mut interval, mut ttl) = (interval(state), ttl(state));
        let (mut elapsed, mut is_cancelled) = (made.elapsed, false);
        for at in (call + 1..exchanges.len()).filter(|at| call_of(exchanges, *at) == call) {
            let said = answer(at)?;
            let method = exchanges[at].method().unwrap_or_default();
            let state = &said.message["result"];
            elapsed += said.elapsed + if method == "tasks/get" { interval } else { Duration::ZERO };
            is_cancelled |= method == "tasks/cancel";
            if method == "tasks/get" {
                (interval, ttl) = (self::interval(state), self::ttl(state));
            }
            let is_over = matches!(state["status"].as_str(), Some("completed" | "failed" | "cancelled"));
            let end = match method {
                _ if said.message.get("error").is_some() => Some(("error", &said.message["error"])),
                "tasks/cancel" if is_older => Some(("result", state)),
                "tasks/result" => Some(("result", state)),
                "tasks/get" if !is_older && is_over => Some(end_of(state, is_cancelled)),
                _ => None,
            };
            if let Some((member, value)) = end {
                let mut message = json!({ "jsonrpc": "2.0", "id": made.message["id"] });
                message[member] = value.clone();
                let reply = ServerReply { after: elapsed, content: ReplyContent::Message(message), http: None };
                return Some(Self { reply, ended_by: at, is_cancelled, may_be_gone: ttl <= elapsed + interval });
            }
        }
        None
    }

    /// The call, as a step with `task` makes it.
    fn merge(self, call: &MessageExchange) -> MessageExchange {
        let mut sent = call.sent.clone();
        if let ClientMessage::Message { params, .. } = &mut sent {
            params["task"] = if self.is_cancelled { json!({ "cancel": true }) } else { json!(true) };
        }
        MessageExchange { sent, replies: vec![self.reply], ..call.clone() }
    }
}

/// The answer of a call in the last state of its task (2026-07-28).
fn end_of(state: &Value, is_cancelled: bool) -> (&'static str, &Value) {
    match state["status"].as_str() {
        Some("completed") if !is_cancelled => ("result", &state["result"]),
        Some("failed") if !is_cancelled => ("error", &state["error"]),
        _ => ("result", state),
    }
}

/// The time after which a client asks again.
fn interval(state: &Value) -> Duration {
    let named = state["pollIntervalMs"].as_u64().or(state["pollInterval"].as_u64());
    Duration::from_millis(named.map_or(USUAL_INTERVAL, |named| named.clamp(INTERVALS.0, INTERVALS.1)))
}

/// The time for which a server keeps a task; none where it does not say.
fn ttl(state: &Value) -> Duration {
    match state.get("ttlMs").or(state.get("ttl")) {
        Some(Value::Null) => Duration::MAX,
        Some(ttl) => Duration::from_millis(ttl.as_u64().unwrap_or_default()),
        None => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Owner;

    #[test]
    fn a_server_may_lose_a_task_whose_time_is_over() {
        let (working, done) = (json!({ "status": "working" }), json!({ "status": "completed" }));
        let gone = json!({ "error": { "code": -32602, "message": "there is no such task" } });
        for (ttl, at, changed, expected) in [
            (json!({ "ttl": 100, "pollInterval": 300 }), 3, gone.clone(), true),
            (json!({ "ttl": 100, "pollInterval": 300 }), 3, json!({ "result": working }), true),
            (json!({ "ttl": 100, "pollInterval": 300 }), 4, gone.clone(), true),
            (json!({ "pollInterval": 300 }), 3, gone.clone(), true),
            (json!({ "ttl": 60_000, "pollInterval": 300 }), 3, gone.clone(), false),
            (json!({ "ttl": null, "pollInterval": 300 }), 4, gone.clone(), false),
            // Nothing is lost, or something that the suite waits for.
            (json!({ "ttl": 100, "pollInterval": 300 }), 3, json!({ "result": done }), false),
            (json!({ "ttl": 100, "pollInterval": 300 }), 2, gone, false),
        ] {
            let state = |status: &str| {
                let mut state = ttl.clone();
                (state["taskId"], state["status"]) = (json!("t1"), json!(status));
                state
            };
            let about =
                |method: &str, result: Value| exchange(method, json!({ "taskId": "t1" }), json!({ "result": result }));
            let made = json!({ "result": { "task": state("working") } });
            let exchanges = [
                exchange("tools/call", json!({ "name": "job", "arguments": {}, "task": {} }), made),
                about("tasks/get", state("completed")),
                about("tasks/result", json!({ "content": [] })),
                about("tasks/get", state("completed")),
                about("tasks/result", json!({ "content": [] })),
            ];
            assert_eq!(may_lose_task(&exchanges, at, &[reply(changed.clone())]), expected, "{ttl} {at} {changed}");
        }
    }

    fn exchange(method: &str, params: Value, answer: Value) -> MessageExchange {
        let sent = ClientMessage::Message { id: Some(json!(1)), method: method.to_owned(), params };
        MessageExchange { owner: Owner::Session, session: 0, occurrence: 0, sent, replies: vec![reply(answer)] }
    }

    fn reply(mut message: Value) -> ServerReply {
        (message["jsonrpc"], message["id"]) = (json!("2.0"), json!(1));
        ServerReply { after: Duration::ZERO, content: ReplyContent::Message(message), http: None }
    }
}
