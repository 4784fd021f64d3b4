//! One step against one session: what is sent, what comes back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::micros;
use crate::event::{Exchange, Finding};
use crate::session::{CallFailure, Reply, Request, Session};
use crate::source::Node;
use crate::source::template::{Names, fill, text_of};
use crate::suite::{Action, Step};
use crate::wire::{Catalog, ListKind};

/// How much of a message an exchange keeps, in characters.
const KEPT: usize = 4096;

/// A session and the case that speaks over it.
pub(super) struct Speaker<'a> {
    pub(super) session: &'a Session,
    /// The case id; empty for the lane itself.
    pub(super) owner: &'a str,
    pub(super) catalog: Arc<Catalog>,
}

/// An answer, and what was asked.
pub(super) struct Heard {
    pub(super) method: String,
    pub(super) reply: Reply,
}

/// What a step wants to send, filled in.
pub(super) enum Intent {
    Request { method: String, params: Option<Value> },
    List(ListKind),
    Notify { method: String, params: Option<Value> },
    Wait(Duration),
}

/// What a step wants to say, and the exchange that it begins; `Err` says why it cannot be said.
pub(super) fn intend(step: &Step, names: &Names, phase: &str) -> (Exchange, Result<Intent, Finding>) {
    match intent(&step.action, names) {
        Ok(intent) => (Exchange { sent: sent_text(&intent), ..blank(phase, title(&intent)) }, Ok(intent)),
        Err(reason) => (blank(phase, step_title(step)), Err(Finding::new("unfilled-template", reason))),
    }
}

impl Speaker<'_> {
    /// Says it and notes what came of it; `Err` says why there is no answer to judge.
    pub(super) async fn perform(
        &self,
        intent: Intent,
        step: &Step,
        exchange: &mut Exchange,
    ) -> Result<Option<Heard>, Finding> {
        let heard = match intent {
            Intent::Wait(duration) => {
                tokio::time::sleep(duration).await;
                return Ok(None);
            }
            Intent::Notify { method, params } => {
                exchange.frame = self.session.notify(self.owner, &method, params.as_ref());
                return Ok(None);
            }
            Intent::List(kind) => {
                let heard = self.session.list(self.owner, kind).await;
                heard.map(|listing| Heard { method: kind.method().to_owned(), reply: listing.reply })
            }
            Intent::Request { method, params } => {
                let (timeout, progress) = (step.timeout, step.progress);
                let request = Request { owner: self.owner, method: &method, params, timeout, progress };
                self.session.request(request).await.map(|reply| Heard { method: method.clone(), reply })
            }
        };
        note(exchange, heard)
    }
}

fn note(exchange: &mut Exchange, result: Result<Heard, CallFailure>) -> Result<Option<Heard>, Finding> {
    match result {
        Ok(heard) => {
            exchange.frame = heard.reply.frame;
            exchange.answer_frame = Some(heard.reply.answer_frame);
            exchange.elapsed_us = micros(heard.reply.elapsed);
            let answer = heard.reply.message.get("result").or(heard.reply.message.get("error"));
            exchange.received = cut(&answer.unwrap_or(&heard.reply.message).to_string());
            Ok(Some(heard))
        }
        Err(failure) => {
            exchange.frame = failure.frame.unwrap_or(0);
            Err(failure.finding())
        }
    }
}

fn intent(action: &Action, names: &Names) -> Result<Intent, String> {
    let text = |node: &Node| fill(node, names).map(|node| text_of(&node.to_json()));
    let value =
        |node: &Option<Node>| node.as_ref().map(|node| fill(node, names).map(|node| node.to_json())).transpose();
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
        Action::Complete { params } => request("completion/complete", fill(params, names)?.to_json()),
        Action::List(kind) => Intent::List(*kind),
        Action::Request { method, params } => Intent::Request { method: text(method)?, params: value(params)? },
        Action::Notify { method, params } => Intent::Notify { method: text(method)?, params: value(params)? },
        Action::Wait(duration) => Intent::Wait(*duration),
        // Both are dealt with before a step is spoken: one by the case, the other by the plan.
        Action::Restart | Action::Unavailable(_) => Intent::Wait(Duration::ZERO),
    })
}

fn title(intent: &Intent) -> String {
    match intent {
        Intent::Request { method, params } => {
            let params = params.as_ref();
            let name = params.and_then(|params| params["name"].as_str().or(params["uri"].as_str()));
            name.map_or_else(|| method.clone(), |name| format!("{method} {name}"))
        }
        Intent::List(kind) => kind.method().to_owned(),
        Intent::Notify { method, .. } => method.clone(),
        Intent::Wait(_) => "wait".to_owned(),
    }
}

fn sent_text(intent: &Intent) -> String {
    match intent {
        Intent::Request { params: Some(params), .. } => cut(&params.get("arguments").unwrap_or(params).to_string()),
        Intent::Notify { params: Some(params), .. } => cut(&params.to_string()),
        Intent::Request { params: None, .. }
        | Intent::Notify { params: None, .. }
        | Intent::List(_)
        | Intent::Wait(_) => String::new(),
    }
}

/// What a step does, where it could not be filled in.
fn step_title(step: &Step) -> String {
    match &step.action {
        Action::Call { tool, .. } => format!("tools/call {}", tool.text().unwrap_or_default()),
        Action::Read { uri } => format!("resources/read {}", uri.text().unwrap_or_default()),
        Action::Prompt { name, .. } => format!("prompts/get {}", name.text().unwrap_or_default()),
        Action::Request { method, .. } | Action::Notify { method, .. } => method.text().unwrap_or_default().to_owned(),
        Action::Complete { .. } => "completion/complete".to_owned(),
        Action::List(kind) => kind.method().to_owned(),
        Action::Wait(_) => "wait".to_owned(),
        Action::Restart => "restart".to_owned(),
        Action::Unavailable(key) => (*key).to_owned(),
    }
}

pub(super) fn blank(phase: &str, title: String) -> Exchange {
    Exchange {
        phase: phase.to_owned(),
        title,
        sent: String::new(),
        received: String::new(),
        frame: 0,
        answer_frame: None,
        elapsed_us: 0,
    }
}

fn cut(text: &str) -> String {
    if text.len() <= KEPT {
        return text.to_owned();
    }
    let kept: String = text.chars().take(KEPT).collect();
    format!("{kept}… ({} bytes in all)", text.len())
}
