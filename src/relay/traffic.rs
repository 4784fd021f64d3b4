//! The traffic of a relay, in words that name no content: texts of a server may be secrets.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use super::{MOST_NOTES, Relay, RelayStop};
use crate::fault::{ChangedMessage, HeardMessage, LiveExchange, LiveRequest, ReplyContent, ServerReply};
use crate::reliability::{CallOutcome, CallRecord};
use crate::schema::Judge;
use crate::source::{duration_text, shorten};
use crate::wire::{canonical, is_served};

/// The longest name of a task that is kept, in characters.
const LONGEST_TASK: usize = 200;

/// The longest name of a method that is told, in characters.
const LONGEST_METHOD: usize = 100;

/// The most sessions that have a number of their own, and tools whose schema is kept.
const MOST_SESSIONS: u64 = 100_000;
const MOST_TOOLS: usize = 1000;

/// The most intents of which is known whether they are over; later ones are one for each task and call.
const MOST_INTENTS: usize = 1_000_000;

/// Receives what passes a relay. The errors are sentences; they end a strict relay, and no other.
pub trait RelayWatcher: Send + Sync {
    /// Faults changed a message.
    fn on_change(&self, change: &MessageChange) -> Result<(), String>;

    /// A call of a tool is over.
    fn on_call(&self, call: &RelayedCall) -> Result<(), String>;

    /// Something that the user should know; each text comes once.
    fn note(&self, text: &str) -> Result<(), String>;
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageDirection {
    /// From the client.
    ToServer,
    /// From the server, or in its place.
    ToClient,
}

impl MessageDirection {
    /// Its word in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::ToServer => "to-server",
            Self::ToClient => "to-client",
        }
    }
}

/// The change of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageChange {
    /// The number of the session; 0 for requests without one.
    pub session: u64,
    /// The direction of the message.
    pub direction: MessageDirection,
    /// The method of the request to which it belongs; `None` where it belongs to none.
    pub method: Option<String>,
    /// The tool that the request calls.
    pub tool: Option<String>,
    /// The faults, in the order in which they struck.
    pub faults: Vec<String>,
    /// The kinds of change.
    pub changes: Vec<String>,
}

/// A call of a tool that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct RelayedCall {
    /// The number of the session; 0 for requests without one.
    pub session: u64,
    /// The call.
    pub record: CallRecord,
}

/// The output schemas of the tools that were listed.
pub(crate) type OutputSchemas = BTreeMap<String, Arc<Judge>>;

/// A message of a client on its way, and what became of it so far. A call that ends without an answer ends with this.
pub(crate) struct RelayedExchange {
    /// The relay may hold it.
    relay: Weak<Relay>,
    pub(crate) live: LiveExchange,
    call: Mutex<Option<CallUnderWay>>,
    is_struck: AtomicBool,
}

/// The purpose of a call, which a client may repeat until it is over.
pub(crate) struct CallIntent {
    number: u64,
    is_over: bool,
}

/// A call of a tool without an answer.
struct CallUnderWay {
    begun: Instant,
    task: String,
    intent: String,
    tool: String,
    /// A hash of task, tool and arguments.
    key: u64,
    /// The number of times that the server heard of it.
    heard: u32,
    /// The server received another message than the client sent.
    is_misheard: bool,
}

impl Relay {
    pub(crate) fn match_request(self: &Arc<Self>, request: LiveRequest) -> RelayedExchange {
        let call = self.watcher.as_ref().and_then(|_| self.open_call(&request));
        let live = self.player.match_request(request);
        RelayedExchange { relay: Arc::downgrade(self), live, call: Mutex::new(call), is_struck: AtomicBool::new(false) }
    }

    fn open_call(&self, request: &LiveRequest) -> Option<CallUnderWay> {
        let tool = request.tool().filter(|_| request.id().is_some())?.to_owned();
        let begun = Instant::now();
        let params = request.params();
        let session = self.session(&request.scope);
        let task = match request.task() {
            Some(task) => task.chars().take(LONGEST_TASK).collect(),
            None if session > 0 => format!("session {session}"),
            None => format!("call {}", self.next_call()),
        };
        let arguments = params.get("arguments").map(canonical).unwrap_or_default();
        let key = self.salt.hash_one((&task, &tool, arguments));
        let mut intents = self.intents.lock();
        let mut number = 1;
        if intents.len() < MOST_INTENTS || intents.contains_key(&key) {
            let intent = intents.entry(key).or_insert(CallIntent { number: 1, is_over: false });
            if intent.is_over {
                *intent = CallIntent { number: intent.number + 1, is_over: false };
            }
            number = intent.number;
        }
        let intent = format!("{key:016x}-{number}");
        Some(CallUnderWay { begun, task, intent, tool, key, heard: 1, is_misheard: false })
    }

    /// The message as the server hears it.
    pub(crate) fn hear(&self, exchange: &RelayedExchange, bytes: &[u8]) -> HeardMessage {
        let heard = if self.has_faults {
            self.player.hear(&exchange.live, bytes)
        } else {
            HeardMessage { bytes: Some(bytes.to_vec()), ..HeardMessage::default() }
        };
        if heard.faults.is_empty() {
            return heard;
        }
        exchange.is_struck.store(true, Ordering::Relaxed);
        let is_other = heard.bytes.as_deref().is_some_and(|heard| heard != bytes);
        if let Some(call) = exchange.call.lock().as_mut() {
            (call.heard, call.is_misheard) = (heard.count(), is_other);
        }
        let mut changes = Vec::new();
        changes.extend(heard.bytes.is_none().then(|| "the server does not hear of it".to_owned()));
        let times = heard.count();
        changes.extend((times > 1 && heard.arrival.is_none()).then(|| format!("the server hears of it {times} times")));
        let is_whole = heard.arrival.is_none();
        changes.extend((is_other && is_whole).then(|| "the server hears another message".to_owned()));
        changes.extend(heard.headers.iter().map(|(name, value)| match value {
            Some(_) => format!("the server hears another header `{name}`"),
            None => format!("the server does not hear the header `{name}`"),
        }));
        changes.extend(heard.arrival.filter(|_| heard.bytes.is_some()).map(|arrival| arrival.change().to_owned()));
        changes.extend(heard.transfer.map(|time| format!("takes {} to arrive", duration_text(time))));
        let request = &exchange.live.request;
        self.report_change(&request.scope, Some(request), MessageDirection::ToServer, &heard.faults, changes);
        heard
    }

    /// Changes an answer, which is `None` if there was none.
    pub(crate) fn answer(&self, exchange: &RelayedExchange, answer: Option<ServerReply>) -> ChangedMessage {
        let request = &exchange.live.request;
        if self.watcher.is_none() {
            return self.player.answer(&exchange.live, answer);
        }
        self.learn(request, answer.as_ref());
        let had_ended = self.player.has_ended();
        let changed = if self.has_faults {
            self.player.answer(&exchange.live, answer.clone())
        } else {
            ChangedMessage::pass(answer.clone())
        };
        if !changed.faults.is_empty() {
            exchange.is_struck.store(true, Ordering::Relaxed);
            let kinds = kinds_of_change(answer.as_ref(), &changed);
            self.report_change(&request.scope, Some(request), MessageDirection::ToClient, &changed.faults, kinds);
        }
        self.report_idle(request.method(), &changed.idle);
        if answer.is_some() || !changed.own.is_empty() {
            // Behind the end of the server nothing reaches its client.
            if had_ended {
                exchange.abandon();
            } else {
                exchange.conclude(answer.as_ref(), &changed);
            }
        }
        changed
    }

    /// Changes a message that the server sends by itself.
    pub(crate) fn change_sent(
        &self,
        during: Option<&RelayedExchange>,
        scope: &str,
        reply: ServerReply,
    ) -> ChangedMessage {
        if !self.has_faults {
            return ChangedMessage::pass(Some(reply));
        }
        let before = self.watcher.as_ref().map(|_| reply.clone());
        let live = during.map(|exchange| &exchange.live);
        let changed = self.player.change_sent(live, scope, reply);
        if !changed.faults.is_empty() {
            let request = live.map(|live| &live.request);
            let kinds = if changed.loss.is_some() {
                vec!["does not come".to_owned()]
            } else {
                kinds_of_change(before.as_ref(), &changed)
            };
            self.report_change(scope, request, MessageDirection::ToClient, &changed.faults, kinds);
        }
        self.report_idle(live.and_then(|live| live.request.method()), &changed.idle);
        changed
    }

    fn report_change(
        &self,
        scope: &str,
        request: Option<&LiveRequest>,
        direction: MessageDirection,
        faults: &[String],
        changes: Vec<String>,
    ) {
        let Some(watcher) = &self.watcher else { return };
        self.refuse(watcher.on_change(&MessageChange {
            session: self.session(scope),
            direction,
            method: request.and_then(LiveRequest::method).map(str::to_owned),
            tool: request.and_then(LiveRequest::tool).map(str::to_owned),
            faults: faults.to_vec(),
            changes,
        }));
    }

    /// Ends a strict relay where something did not work.
    fn refuse(&self, result: Result<(), String>) {
        if let Some(problem) = result.err().filter(|_| self.is_strict) {
            self.stop(RelayStop::Refused(problem));
        }
    }

    /// Reports a limit of the relay, once.
    pub(crate) fn note_once(&self, text: &str) {
        let is_new = {
            let mut notes = self.notes.lock();
            notes.len() < MOST_NOTES && notes.insert(text.to_owned())
        };
        if let Some(watcher) = self.watcher.as_ref().filter(|_| is_new) {
            self.refuse(watcher.note(text));
        }
    }

    /// Reports faults that found nothing to change, or ends the relay because of them.
    fn report_idle(&self, method: Option<&str>, idle: &[String]) {
        for fault in idle {
            let what = method
                .map_or("a message".to_owned(), |method| format!("an answer to `{}`", shorten(method, LONGEST_METHOD)));
            let problem = format!("the fault `{fault}` matches {what} and finds nothing in it to change");
            if self.is_strict {
                self.refuse(Err(problem));
            } else {
                self.note_once(&format!("{problem}; it passes unchanged"));
            }
        }
    }

    /// The number of a session; requests without one share the number 0.
    fn session(&self, scope: &str) -> u64 {
        if scope.is_empty() {
            return 0;
        }
        let mut sessions = self.sessions.lock();
        let (key, next) = (self.salt.hash_one(scope), sessions.len() as u64 + 1);
        if next > MOST_SESSIONS && !sessions.contains_key(&key) {
            return 0;
        }
        *sessions.entry(key).or_insert(next)
    }

    /// A number for a call that belongs to no session and to no task.
    fn next_call(&self) -> u64 {
        self.loose_calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes in the output schemas of listed tools.
    fn learn(&self, request: &LiveRequest, answer: Option<&ServerReply>) {
        let Some(message) = answer.and_then(ServerReply::message) else { return };
        let Some(tools) = message["result"]["tools"].as_array().filter(|_| request.method() == Some("tools/list"))
        else {
            return;
        };
        let mut schemas = self.schemas.lock();
        for tool in tools {
            let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("outputSchema")) else { continue };
            if schemas.len() >= MOST_TOOLS || schemas.contains_key(name) {
                continue;
            }
            if let Ok(judge) = Judge::of(schema) {
                schemas.insert(name.to_owned(), Arc::new(judge));
            }
        }
    }
}

/// The outcome of a call, and whether its result fits the output schema of its tool.
type CallEnd = (CallOutcome, Option<bool>);

impl RelayedExchange {
    /// Notes what came of a call.
    fn conclude(&self, answer: Option<&ServerReply>, changed: &ChangedMessage) {
        let Some(relay) = self.relay.upgrade() else { return };
        let Some(call) = self.call.lock().take() else { return };
        let own = changed.own.first().filter(|_| changed.loss.is_none());
        if own.is_some_and(asks_back) {
            return;
        }
        let is_altered = call.is_misheard || content_of(own) != content_of(answer);
        let outcome =
            own.map_or(CallOutcome::Unanswered, |own| outcome(own, self.live.request.id().as_ref(), is_altered));
        let conforms = own.filter(|_| outcome.looks_good()).and_then(|own| relay.conforms(&call.tool, own));
        // A client that sees that the result is wrong may want the same again.
        let is_taken = outcome == CallOutcome::Served || outcome == CallOutcome::Altered && conforms != Some(false);
        if let Some(intent) = relay.intents.lock().get_mut(&call.key).filter(|_| is_taken) {
            intent.is_over = true;
        }
        self.report_end(&relay, call, (outcome, conforms), changed.delay());
    }

    /// Takes back that the server heard of the call: it could not be reached.
    pub(crate) fn unhear(&self) {
        if let Some(call) = self.call.lock().as_mut() {
            call.heard = 0;
        }
    }

    /// Leaves the call out of the figures: its answer is not read.
    pub(crate) fn forget(&self) {
        self.call.lock().take();
    }

    /// Notes that the client does not wait for an answer any more.
    pub(crate) fn abandon(&self) {
        let Some(relay) = self.relay.upgrade() else { return };
        if let Some(call) = self.call.lock().take() {
            self.report_end(&relay, call, (CallOutcome::Unanswered, None), Duration::ZERO);
        }
    }

    fn report_end(&self, relay: &Relay, call: CallUnderWay, (outcome, conforms): CallEnd, delay: Duration) {
        let Some(watcher) = &relay.watcher else { return };
        let CallUnderWay { begun, task, intent, tool, heard, .. } = call;
        let (took, is_struck) = (begun.elapsed() + delay, self.is_struck.load(Ordering::Relaxed));
        relay.refuse(watcher.on_call(&RelayedCall {
            session: relay.session(&self.live.request.scope),
            record: CallRecord { task, intent, tool, outcome, took, heard, is_struck, conforms },
        }));
    }
}

impl Relay {
    /// The result fits the output schema of its tool; `None` where nothing can be said.
    fn conforms(&self, tool: &str, own: &ServerReply) -> Option<bool> {
        let judge = self.schemas.lock().get(tool).cloned()?;
        let Some(structured) = own.message()?["result"].get("structuredContent") else { return Some(false) };
        judge.is_valid(structured)
    }
}

impl Drop for RelayedExchange {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// A result that asks the client for input, or names a task: the call is not over.
fn asks_back(reply: &ServerReply) -> bool {
    let Some(message) = reply.message() else { return false };
    let result = &message["result"];
    result.get("task").is_some() || result.get("resultType").is_some_and(|kind| kind != "complete")
}

/// The outcome of a call with that id by its answer, as its client sees it.
fn outcome(reply: &ServerReply, id: Option<&Value>, is_altered: bool) -> CallOutcome {
    if reply.http.as_ref().is_some_and(|http| http.status >= 400) {
        return CallOutcome::Error;
    }
    match &reply.content {
        // The client waits on for the answer to its request.
        ReplyContent::Message(message) if is_altered && message.get("id") != id => CallOutcome::Unanswered,
        ReplyContent::Message(message) if is_altered && message["jsonrpc"] != "2.0" => CallOutcome::Broken,
        ReplyContent::Message(message) if message.get("error").is_some() => CallOutcome::Error,
        ReplyContent::Message(message) if !is_served(message) && message.get("result").is_some() => CallOutcome::Failed,
        ReplyContent::Message(message) if is_altered && !is_readable(&message["result"]) => CallOutcome::Broken,
        ReplyContent::Message(message) if message.get("result").is_some() => {
            if is_altered {
                CallOutcome::Altered
            } else {
                CallOutcome::Served
            }
        }
        ReplyContent::Message(_) | ReplyContent::Bytes(_) | ReplyContent::Torn(_) => CallOutcome::Broken,
        ReplyContent::Stderr(_) | ReplyContent::Stalled | ReplyContent::Ended(_) => CallOutcome::Unanswered,
    }
}

/// A client can read it as the result of a call: what all revisions demand of its members holds.
fn is_readable(result: &Value) -> bool {
    let is_text_or_none = |value: Option<&Value>| value.is_none_or(Value::is_string);
    let is_block = |block: &Value| {
        let is_text = block["type"] == "text";
        block["type"].is_string() && (!is_text || block["text"].is_string()) && is_text_or_none(block.get("mimeType"))
    };
    let has_blocks = result["content"].as_array().is_some_and(|content| content.iter().all(is_block));
    has_blocks && result.get("isError").is_none_or(Value::is_boolean)
}

fn content_of(reply: Option<&ServerReply>) -> Option<&ReplyContent> {
    reply.map(|reply| &reply.content)
}

/// The kinds of change of a message.
fn kinds_of_change(before: Option<&ServerReply>, changed: &ChangedMessage) -> Vec<String> {
    if changed.own.iter().any(|reply| reply.content == ReplyContent::Stalled) {
        return vec!["never comes, and neither does anything else".to_owned()];
    }
    if changed.loss.is_some() {
        return vec!["no answer comes".to_owned()];
    }
    let mut found = Vec::new();
    let delay = changed.delay();
    if !delay.is_zero() {
        found.push(format!("comes {} later", duration_text(delay)));
    }
    let messages: Vec<&ServerReply> =
        changed.own.iter().filter(|reply| !matches!(reply.content, ReplyContent::Ended(_))).collect();
    match (before, messages.as_slice()) {
        (Some(_), []) if changed.end().is_none() => found.push("does not come".to_owned()),
        (Some(before), [first, ..]) => {
            found.extend(kind_of_content(&before.content, &first.content).map(str::to_owned));
            if let (Some(old), Some(new)) = (&before.http, &first.http) {
                if old.status != new.status {
                    found.push(format!("status {} instead of {}", new.status, old.status));
                }
                if old.headers != new.headers {
                    found.push("other headers".to_owned());
                }
            }
        }
        (None, [_, ..]) => found.push("comes in the place of the server's answer".to_owned()),
        (_, []) => {}
    }
    if messages.len() > 1 {
        found.push(format!("comes {} times", messages.len()));
    }
    let beside = changed.before.len() + changed.after.len();
    if beside > 0 {
        found.push(format!("{beside} more {}", if beside == 1 { "message" } else { "messages" }));
    }
    if changed.on_listening {
        found.push("comes on other streams, too".to_owned());
    }
    if changed.end().is_some() {
        found.push("the server ends".to_owned());
    }
    found
}

fn kind_of_content(before: &ReplyContent, after: &ReplyContent) -> Option<&'static str> {
    let is_failure = |message: &Value| message.pointer("/result/isError") == Some(&Value::Bool(true));
    match (before, after) {
        _ if before == after => None,
        (ReplyContent::Message(old), ReplyContent::Message(new)) => {
            let is_error = new.get("error").is_some() && old.get("error").is_none();
            Some(if is_error {
                "an error instead of the result"
            } else if is_failure(new) && !is_failure(old) {
                "a failure (`isError`) instead of the result"
            } else {
                "another content"
            })
        }
        (_, ReplyContent::Torn(_)) => Some("cut off in the middle"),
        _ => Some("bytes instead of the message"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_client_can_read_is_altered() {
        let text = json!({"type": "text", "text": "5"});
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": 7, "result": result});
        for (message, expected) in [
            (answer(json!({"content": [text]})), CallOutcome::Altered),
            (answer(json!({"content": []})), CallOutcome::Altered),
            (answer(json!({"content": [text], "structuredContent": {"sum": "5"}})), CallOutcome::Altered),
            (answer(json!({})), CallOutcome::Broken),
            (answer(json!({"content": null})), CallOutcome::Broken),
            (answer(json!({"content": [{"type": "text", "text": 5}]})), CallOutcome::Broken),
            (answer(json!({"content": [text], "isError": "false"})), CallOutcome::Broken),
            (json!({"jsonrpc": "1.0", "id": 7, "result": {"content": [text]}}), CallOutcome::Broken),
            (json!({"jsonrpc": "2.0", "id": "7", "result": {"content": [text]}}), CallOutcome::Unanswered),
            (json!({"jsonrpc": "2.0", "result": {"content": [text]}}), CallOutcome::Unanswered),
            (answer(json!({"content": [text], "isError": true})), CallOutcome::Failed),
            (json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no"}}), CallOutcome::Error),
        ] {
            let reply = ServerReply::now(ReplyContent::Message(message.clone()), None);
            assert_eq!(outcome(&reply, Some(&json!(7)), true), expected, "{message}");
        }
        let own = ServerReply::now(ReplyContent::Message(answer(json!({}))), None);
        assert_eq!(outcome(&own, Some(&json!(7)), false), CallOutcome::Served, "the server's own answer");
    }
}
