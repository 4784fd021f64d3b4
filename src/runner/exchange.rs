//! One step against one session: what is sent, what comes back.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::task::TaskRun;
use super::{micros, raw, raw_http};
use crate::event::{Exchange, Finding, Phase, StepProblem};
use crate::session::{
    CallFailure, CancelSignal, CancelTrigger, Cancellation, FailureReason, Session, SessionReply, SessionRequest,
};
use crate::source::template::{Names, TemplateError, Unfilled, bind_templates, fill, from_json, text_of};
use crate::source::{Node, beginning, beginning_of_json};
use crate::suite::{Action, Cancel, CancelWhen, NotificationFilter, Step};
use crate::transport::Owner;
use crate::wire::{Catalog, Era, ListKind, Revision};

/// The number of characters of a message that an exchange keeps.
const KEPT: usize = 4096;

/// A session and who speaks over it.
pub(crate) struct CaseSpeaker<'a> {
    pub(crate) session: &'a Session,
    pub(crate) owner: &'a Owner,
    pub(crate) catalog: Arc<Catalog>,
}

/// An answer, and what was asked.
pub(crate) struct StepResponse {
    pub(crate) method: String,
    pub(crate) reply: SessionReply,
}

/// The message that a step sends, filled in.
pub(crate) enum Intent {
    Request { method: String, params: Option<Value> },
    List(ListKind),
    Listen(NotificationFilter),
    Notify { method: String, params: Option<Value> },
    Wait(Duration),
    Cancel { method: String, params: Option<Value>, cancel: Box<Cancel>, reason: Option<String> },
    Send(Box<raw::FilledSend>),
    Http(Box<raw_http::FilledHttp>),
}

/// Why a step says nothing.
pub(crate) enum IntentError {
    /// It wants the id of a session that has none.
    WithoutSessionId,
    Unfilled(Unfilled),
}

/// The message that a step sends, and the exchange that it begins; `Err` says why it cannot be sent.
pub(crate) fn intend(step: &Step, names: &Names, phase: Phase) -> (Exchange, Result<Intent, IntentError>) {
    match intent(&step.action, names, &|node| fill(node, names))
        .and_then(|intent| with_cancellation(intent, step, names))
    {
        Ok(intent) => {
            let tool = called_tool(&intent).map(str::to_owned);
            (Exchange { tool, sent: sent_text(&intent), ..blank(phase, title(&intent)) }, Ok(intent))
        }
        Err(unfilled) => {
            let unsaid = if wants_session_id(step, names) {
                IntentError::WithoutSessionId
            } else {
                IntentError::Unfilled(unfilled)
            };
            let tool = match &step.action {
                Action::Call { tool, .. } => tool.text().map(str::to_owned),
                Action::Read { .. }
                | Action::Prompt { .. }
                | Action::Complete { .. }
                | Action::List(_)
                | Action::Request { .. }
                | Action::Notify { .. }
                | Action::Wait(_)
                | Action::Alive
                | Action::Restart
                | Action::Listen(_)
                | Action::Http(_)
                | Action::Send(_) => None,
            };
            (Exchange { tool, ..blank(phase, step_title(step)) }, Err(unsaid))
        }
    }
}

/// Returns true if a step could be filled in if only the session had an id, which servers over HTTP may give or not.
fn wants_session_id(step: &Step, names: &Names) -> bool {
    let mut names = names.clone();
    let is_http = names.contains_key("server");
    match names.get_mut("session") {
        Some(session) if is_http && session.get("id").is_none() => {
            session["id"] = "id".into();
            intent(&step.action, &names, &|node| fill(node, &names)).is_ok()
        }
        Some(_) | None => false,
    }
}

impl CaseSpeaker<'_> {
    /// Says it and notes what came of it; `Err` says why there is no answer to judge.
    pub(crate) async fn perform(
        &self,
        intent: Intent,
        step: &Step,
        timeout: Option<Duration>,
        exchange: &mut Exchange,
    ) -> Result<Option<StepResponse>, Finding> {
        let (begun, progress) = (Instant::now(), step.progress);
        let heard = match intent {
            Intent::Wait(duration) => {
                tokio::time::sleep(duration).await;
                return Ok(None);
            }
            // The conversation subscribes, since it knows the steps that run meanwhile.
            Intent::Listen(_) => return Ok(None),
            Intent::Notify { method, params } => {
                exchange.frame = self.session.notify(self.owner, &method, params.as_ref());
                return Ok(None);
            }
            Intent::Http(request) => {
                let performed = request.perform(self.session, self.owner, step, exchange);
                return Box::pin(performed).await.map(Some);
            }
            Intent::Send(message) => Box::pin(message.perform(self.session, self.owner, timeout)).await,
            Intent::Cancel { method, params, cancel, reason } => {
                let request = SessionRequest { owner: self.owner, method: &method, params, timeout, progress };
                let heard = Box::pin(self.cancel(request, &cancel, reason)).await;
                return note(exchange, heard, begun).and_then(|heard| too_soon(heard, exchange));
            }
            Intent::List(kind) => {
                let heard = self.session.list(self.owner, kind).await;
                heard.map(|reply| StepResponse { method: kind.method().to_owned(), reply })
            }
            Intent::Request { method, params } => {
                if let Some(wanted) = step.task.as_deref() {
                    let (session, owner) = (self.session, self.owner);
                    let limit = timeout.unwrap_or_else(|| session.request_timeout());
                    let task = TaskRun { session, owner, wanted, limit };
                    return Box::pin(call_as_task(task, method, params, exchange)).await;
                }
                let request = SessionRequest { owner: self.owner, method: &method, params, timeout, progress };
                self.session.request(request).await.map(|reply| StepResponse { method: method.clone(), reply })
            }
        };
        note(exchange, heard, begun)
    }

    async fn cancel(
        &self,
        request: SessionRequest<'_>,
        cancel: &Cancel,
        reason: Option<String>,
    ) -> Result<StepResponse, CallFailure> {
        let method = request.method.to_owned();
        let when = match cancel.when {
            CancelWhen::After(time) => CancelTrigger::After(time),
            CancelWhen::Progress(count) => CancelTrigger::Progress(count),
        };
        let (signal, watch) = (CancelSignal::Standard, cancel.watch);
        let cancelled = self.session.cancel(Cancellation { request, trigger: when, reason, signal, watch }).await?;
        let answer = json!({
            "cancelled": cancelled.is_cancelled,
            "answered": !cancelled.late.is_empty(),
            "late": cancelled.late,
            "progress_after": cancelled.progress_after,
            "watched_ms": u64::try_from(cancel.watch.as_millis()).unwrap_or(u64::MAX),
        });
        let made = raw::reply_to_step(Arc::new(answer), cancelled.frame, None, cancelled.elapsed);
        Ok(StepResponse { method, reply: SessionReply { params: cancelled.params, ..made } })
    }
}

/// Makes a call that becomes a task; its answer is what it would have been answered with otherwise.
async fn call_as_task(
    task: TaskRun<'_>,
    method: String,
    params: Option<Value>,
    exchange: &mut Exchange,
) -> Result<Option<StepResponse>, Finding> {
    let begun = Instant::now();
    let params = Some(task.asking(params.unwrap_or_else(|| json!({}))));
    let request =
        SessionRequest { owner: task.owner, method: &method, params, timeout: Some(task.limit), progress: false };
    let created = task.session.request(request).await.map(|reply| StepResponse { method: method.clone(), reply });
    let Some(created) = note(exchange, created, begun)? else { return Ok(None) };
    let (frame, params) = (exchange.frame, created.reply.params.clone());
    let reply = task.follow(created.reply, begun).await?;
    let reply = SessionReply { frame, params, ..reply };
    note(exchange, Ok(StepResponse { method, reply }), begun)
}

/// A request that was answered before it was cancelled says nothing about cancellations.
fn too_soon(heard: Option<StepResponse>, exchange: &Exchange) -> Result<Option<StepResponse>, Finding> {
    if heard.as_ref().is_none_or(|heard| heard.reply.message["cancelled"] == true) {
        return Ok(heard);
    }
    let message = format!("`{}` was answered before it was cancelled", exchange.title);
    let help = "cancel sooner, or call something that takes longer".to_owned();
    let found = Finding { help: Some(help), ..Finding::new("not-cancelled", message) };
    Err(found.with_problem(StepProblem::NotCancelled))
}

fn note(
    exchange: &mut Exchange,
    result: Result<StepResponse, CallFailure>,
    begun: Instant,
) -> Result<Option<StepResponse>, Finding> {
    match result {
        Ok(heard) => {
            exchange.frame = heard.reply.frame;
            exchange.answer_frame = Some(heard.reply.answer_frame);
            exchange.elapsed_us = micros(heard.reply.elapsed);
            let answer = heard.reply.message.get("result").or(heard.reply.message.get("error"));
            exchange.received = shorten_json(answer.unwrap_or(&heard.reply.message));
            Ok(Some(heard))
        }
        Err(failure) => {
            exchange.frame = failure.frame.unwrap_or(0);
            exchange.elapsed_us = micros(begun.elapsed());
            if let FailureReason::RefusedWhole(answer) = &failure.reason {
                exchange.received = shorten_json(&answer["error"]);
            }
            Err(Finding::from(&failure))
        }
    }
}

/// The parameters of a request as its suite writes them, in which only `is_open` names are left, and these names; `None`
/// where it uses none of them, or nobody can send it again.
pub(crate) fn written_params(
    action: &Action,
    names: &Names,
    is_open: &dyn Fn(&str) -> bool,
) -> Option<(Value, BTreeSet<String>)> {
    if matches!(action, Action::Http(_) | Action::Send(_)) {
        return None;
    }
    let uses = RefCell::new(BTreeSet::new());
    let bind = |node: &Node| {
        let bound = bind_templates(&node.to_json(), names, &mut |name| {
            let is_open = is_open(name);
            uses.borrow_mut().extend(is_open.then(|| name.to_owned()));
            is_open
        });
        let unbound = || Unfilled { span: node.span, reason: TemplateError::Invalid(String::new()) };
        bound.map(|bound| from_json(&bound, node.span)).ok_or_else(unbound)
    };
    let params = match intent(action, names, &bind).ok()? {
        Intent::Request { params, .. } | Intent::Notify { params, .. } => params?,
        Intent::List(_)
        | Intent::Listen(_)
        | Intent::Wait(_)
        | Intent::Cancel { .. }
        | Intent::Send(_)
        | Intent::Http(_) => return None,
    };
    let uses = uses.into_inner();
    (!uses.is_empty()).then_some((params, uses))
}

fn intent(action: &Action, names: &Names, fill: &dyn Fn(&Node) -> Result<Node, Unfilled>) -> Result<Intent, Unfilled> {
    let text = |node: &Node| fill(node).map(|node| text_of(&node.to_json()));
    let value = |node: &Option<Node>| node.as_ref().map(|node| fill(node).map(|node| node.to_json())).transpose();
    let request = |method: &str, params: Value| Intent::Request { method: method.to_owned(), params: Some(params) };
    Ok(match action {
        Action::Call { tool, args } => {
            let arguments = value(args)?.unwrap_or_else(|| json!({}));
            request("tools/call", json!({"name": text(tool)?, "arguments": arguments}))
        }
        Action::Read { uri } => request("resources/read", json!({"uri": text(uri)?})),
        Action::Prompt { name, args } => {
            let mut params = Map::from_iter([("name".to_owned(), Value::from(text(name)?))]);
            if let Some(arguments) = value(args)? {
                params.insert("arguments".to_owned(), arguments);
            }
            request("prompts/get", params.into())
        }
        Action::Complete { params } => request("completion/complete", fill(params)?.to_json()),
        Action::List(kind) => Intent::List(*kind),
        Action::Request { method, params } => Intent::Request { method: text(method)?, params: value(params)? },
        Action::Notify { method, params } => Intent::Notify { method: text(method)?, params: value(params)? },
        Action::Wait(duration) => Intent::Wait(*duration),
        Action::Listen(listen) => {
            let resources = listen.resources.iter().map(text).collect::<Result<_, _>>()?;
            Intent::Listen(NotificationFilter { lists: listen.lists.clone(), resources })
        }
        Action::Http(http) => Intent::Http(Box::new(raw_http::FilledHttp::fill(http, names)?)),
        Action::Send(send) => Intent::Send(Box::new(raw::FilledSend::fill(send, names)?)),
        Action::Alive => {
            let is_stateless = names
                .get("session")
                .and_then(|session| Revision::parse(session["revision"].as_str()?))
                .is_some_and(|revision| revision.era() == Era::Stateless);
            let method = if is_stateless { "server/discover" } else { "ping" };
            Intent::Request { method: method.to_owned(), params: None }
        }
        // The case deals with it before a step is spoken.
        Action::Restart => Intent::Wait(Duration::ZERO),
    })
}

/// A request that is to be taken back.
fn with_cancellation(intent: Intent, step: &Step, names: &Names) -> Result<Intent, Unfilled> {
    match (intent, &step.cancel) {
        (Intent::Request { method, params }, Some(cancel)) => {
            let reason = cancel.reason.as_ref().map(|node| fill(node, names)).transpose()?;
            let reason = reason.map(|node| text_of(&node.to_json()));
            Ok(Intent::Cancel { method, params, cancel: cancel.clone(), reason })
        }
        (intent, _) => Ok(intent),
    }
}

/// The tool that a request calls.
fn called_tool(intent: &Intent) -> Option<&str> {
    match intent {
        Intent::Request { method, params: Some(params) } | Intent::Cancel { method, params: Some(params), .. } => {
            params["name"].as_str().filter(|_| method == "tools/call")
        }
        Intent::Request { .. }
        | Intent::List(_)
        | Intent::Listen(_)
        | Intent::Notify { .. }
        | Intent::Wait(_)
        | Intent::Cancel { .. }
        | Intent::Send(_)
        | Intent::Http(_) => None,
    }
}

fn title(intent: &Intent) -> String {
    match intent {
        Intent::Request { method, params } | Intent::Cancel { method, params, .. } => {
            let params = params.as_ref();
            let name = params.and_then(|params| params["name"].as_str().or(params["uri"].as_str()));
            name.map_or_else(|| method.clone(), |name| format!("{method} {name}"))
        }
        Intent::List(kind) => kind.method().to_owned(),
        Intent::Listen(_) => "listen".to_owned(),
        Intent::Notify { method, .. } => method.clone(),
        Intent::Wait(_) => "wait".to_owned(),
        Intent::Send(_) => "send".to_owned(),
        Intent::Http(request) => request.title(),
    }
}

fn sent_text(intent: &Intent) -> String {
    match intent {
        Intent::Send(message) => shorten(&message.text()),
        Intent::Http(request) => shorten(&request.text()),
        Intent::Request { params: Some(params), .. } | Intent::Cancel { params: Some(params), .. } => {
            shorten_json(params.get("arguments").unwrap_or(params))
        }
        Intent::Notify { params: Some(params), .. } => shorten_json(params),
        Intent::Listen(filter) => shorten_json(&filter.to_json()),
        Intent::Request { params: None, .. }
        | Intent::Cancel { params: None, .. }
        | Intent::Notify { params: None, .. }
        | Intent::List(_)
        | Intent::Wait(_) => String::new(),
    }
}

/// The action of a step that could not be filled in.
fn step_title(step: &Step) -> String {
    match &step.action {
        Action::Call { tool, .. } => format!("tools/call {}", tool.text().unwrap_or_default()),
        Action::Read { uri } => format!("resources/read {}", uri.text().unwrap_or_default()),
        Action::Prompt { name, .. } => format!("prompts/get {}", name.text().unwrap_or_default()),
        Action::Request { method, .. } | Action::Notify { method, .. } => method.text().unwrap_or_default().to_owned(),
        Action::Complete { .. } => "completion/complete".to_owned(),
        Action::List(kind) => kind.method().to_owned(),
        Action::Wait(_) => "wait".to_owned(),
        Action::Alive => "alive".to_owned(),
        Action::Restart => "restart".to_owned(),
        Action::Listen(_) => "listen".to_owned(),
        Action::Http(_) => "http".to_owned(),
        Action::Send(_) => "send".to_owned(),
    }
}

/// The tool that an exchange calls; of a raw message, that it calls one.
pub(crate) fn name_of_call(exchange: &Exchange) -> Option<&str> {
    let is_raw_call = || exchange.title == "send" && exchange.sent.contains("tools/call");
    exchange.tool.as_deref().or_else(|| is_raw_call().then_some("tools/call"))
}

pub(crate) fn blank(phase: Phase, title: String) -> Exchange {
    Exchange {
        phase,
        title,
        tool: None,
        sent: String::new(),
        received: String::new(),
        frame: 0,
        answer_frame: None,
        elapsed_us: 0,
    }
}

/// The part of a value that an exchange keeps.
pub(crate) fn shorten_json(value: &Value) -> String {
    beginning_of_json(value, KEPT)
}

/// The part of a text that an exchange keeps.
pub(crate) fn shorten(text: &str) -> String {
    beginning(text, KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ListKind;

    fn request(method: &str, params: Value) -> Intent {
        Intent::Request { method: method.to_owned(), params: Some(params) }
    }

    #[test]
    fn a_request_is_named_by_what_it_asks_for() {
        for (intent, named, tool, sent) in [
            (
                request("tools/call", json!({ "name": "find", "arguments": { "id": "u1" } })),
                "tools/call find",
                Some("find"),
                r#"{"id":"u1"}"#,
            ),
            (request("tools/call", json!({ "name": 7 })), "tools/call", None, r#"{"name":7}"#),
            (request("prompts/get", json!({ "name": "find" })), "prompts/get find", None, r#"{"name":"find"}"#),
            (
                request("resources/read", json!({ "uri": "users://u1" })),
                "resources/read users://u1",
                None,
                r#"{"uri":"users://u1"}"#,
            ),
            (Intent::Request { method: "ping".to_owned(), params: None }, "ping", None, ""),
            (Intent::List(ListKind::Tools), "tools/list", None, ""),
            (Intent::Wait(Duration::ZERO), "wait", None, ""),
            (
                Intent::Notify { method: "tools/call".to_owned(), params: Some(json!({ "name": "find" })) },
                "tools/call",
                None,
                r#"{"name":"find"}"#,
            ),
        ] {
            assert_eq!(
                (title(&intent).as_str(), called_tool(&intent), sent_text(&intent).as_str()),
                (named, tool, sent)
            );
        }
    }

    #[test]
    fn the_sign_of_life_is_that_of_the_revision() {
        for (revision, method) in [("2025-11-25", "ping"), ("2026-07-28", "server/discover"), ("", "ping")] {
            let names = Names::from_iter([("session".to_owned(), json!({ "revision": revision }))]);
            match intent(&Action::Alive, &names, &|node| fill(node, &names)) {
                Ok(Intent::Request { method: asked, params: None }) => assert_eq!(asked, method, "{revision}"),
                Ok(_) | Err(_) => panic!("a sign of life is a request without parameters"),
            }
        }
    }

    #[test]
    fn a_request_that_was_answered_first_says_nothing_of_its_cancellation() {
        let answer = |message: Value| {
            let reply = raw::reply_to_step(Arc::new(message), 1, None, Duration::ZERO);
            Some(StepResponse { method: "tools/call".to_owned(), reply })
        };
        let exchange = blank(Phase::Steps, "tools/call slow".to_owned());
        for (what, heard, is_judged) in [
            ("cancelled", answer(json!({ "cancelled": true, "answered": true })), true),
            ("answered before", answer(json!({ "cancelled": false, "answered": true })), false),
            ("no answer", None, true),
        ] {
            match too_soon(heard, &exchange) {
                Ok(_) => assert!(is_judged, "{what}"),
                Err(found) => {
                    assert!(!is_judged && found.step_problem.as_deref() == Some(&StepProblem::NotCancelled), "{what}");
                }
            }
        }
    }
}
