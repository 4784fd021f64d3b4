//! The requests before a call in the same session of the same case, as steps that can be done again.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::recording::{RequestKey, TargetRecording};
use super::answer::{ExchangeAnswer, ExchangeAnswerKind};
use super::answer_path::scalars;
use super::step::{KnownValue, action, fill_names, has_secret, whole_word};
use crate::fault::MessageExchange;
use crate::path::DottedPath;
use crate::source::template::Names;
use crate::transport::Owner;
use crate::wire::{Catalog, ListKind};

/// The most steps before the one that matters.
const MOST: usize = 7;

/// Names that suites give to other things.
const TAKEN: [&str; 9] =
    ["env", "session", "server", "result", "error", "message", "notifications", "elapsed_ms", "loop"];

/// A call, and how it came to it.
#[derive(Debug)]
pub(crate) struct Prelude {
    /// The steps before it, without expectations.
    pub(crate) earlier: Vec<Value>,
    /// The step itself, still without expectations.
    pub(crate) step: Map<String, Value>,
    /// Values that earlier steps find out.
    pub(crate) known: Vec<KnownValue>,
    /// An earlier request cannot be made again.
    pub(crate) is_cut: bool,
}

impl Prelude {
    /// The same values as templates see them.
    pub(crate) fn names(&self) -> Names {
        self.known.iter().cloned().collect()
    }
}

/// A value that one step finds out and a later one needs.
struct NeededCapture {
    by: usize,
    name: String,
    path: DottedPath,
    value: Value,
}

/// The steps that lead to an exchange, and the exchange as the last of them.
pub(crate) fn prelude(recorded: &TargetRecording, catalog: &Catalog, exchange: &MessageExchange) -> Option<Prelude> {
    let own = action(exchange, recorded)?;
    let (kept, is_cut) = before(recorded, catalog, exchange);
    let mut requests: Vec<(&MessageExchange, Value)> = kept;
    requests.push((exchange, own));
    let captures = captures(&requests);
    let last = requests.len() - 1;
    let known = |before: usize| -> Vec<KnownValue> {
        let earlier = captures.iter().filter(|capture| capture.by < before);
        earlier.map(|capture| (capture.name.clone(), capture.value.clone())).collect()
    };
    let mut steps = Vec::new();
    for (at, (_, action)) in requests.iter().enumerate() {
        let mut step = fill_names(action, &known(at))?.as_object()?.clone();
        let found: Map<String, Value> = captures
            .iter()
            .filter(|capture| capture.by == at)
            .map(|capture| (capture.name.clone(), capture.path.to_string().into()))
            .collect();
        if !found.is_empty() {
            step.insert("capture".to_owned(), found.into());
        }
        if at < last && !step.contains_key("notify") {
            step.insert("expect".to_owned(), json!([]));
        }
        steps.push(step);
    }
    let step = steps.pop()?;
    Some(Prelude { earlier: steps.into_iter().map(Value::Object).collect(), step, known: known(last), is_cut })
}

/// The earlier requests of the session, and whether some are missing.
fn before<'a>(
    recorded: &'a TargetRecording,
    catalog: &Catalog,
    exchange: &'a MessageExchange,
) -> (Vec<(&'a MessageExchange, Value)>, bool) {
    if exchange.owner == Owner::Session {
        return (Vec::new(), false);
    }
    let of_session =
        recorded.exchanges.iter().filter(|other| other.owner == exchange.owner && other.session == exchange.session);
    let is_this = |other: &MessageExchange| other.occurrence == exchange.occurrence && other.sent == exchange.sent;
    let earlier = of_session.take_while(|other| !is_this(other));
    let earlier = earlier.filter(|other| !is_by_itself(other) && (!is_refused(other) || asks_alike(other, exchange)));
    let mut is_cut = false;
    let mut kept: Vec<(&MessageExchange, Value)> = Vec::new();
    for other in earlier {
        match action(other, recorded).filter(|action| action.get("send").is_none()) {
            // The list step asks for all pages.
            Some(action) if other.params().get("cursor").is_some() && action.get("list").is_some() => {}
            Some(action) => kept.push((other, action)),
            None => is_cut = true,
        }
    }
    if kept.len() > MOST {
        kept.retain(|(other, _)| may_write(other, catalog) || asks_alike(other, exchange));
    }
    if kept.len() > MOST {
        is_cut = true;
        kept.drain(..kept.len() - MOST);
    }
    (kept, is_cut)
}

/// A request that was refused has done nothing, so that nothing later needs it.
fn is_refused(exchange: &MessageExchange) -> bool {
    ExchangeAnswer::of(&exchange.sent, &exchange.replies)
        .is_some_and(|answer| answer.kind() != ExchangeAnswerKind::Served)
}

fn asks_alike(one: &MessageExchange, other: &MessageExchange) -> bool {
    RequestKey::of(&one.sent) == RequestKey::of(&other.sent)
}

/// Messages that a client sends by itself.
fn is_by_itself(exchange: &MessageExchange) -> bool {
    matches!(exchange.method(), Some("notifications/cancelled" | "notifications/initialized" | "initialize"))
}

/// The request may change the data of the server.
pub(crate) fn may_write(exchange: &MessageExchange, catalog: &Catalog) -> bool {
    let reads = ["resources/read", "prompts/get", "completion/complete", "ping", "server/discover"];
    match (exchange.tool(), exchange.method()) {
        (Some(tool), _) => {
            let tool = catalog.tool(tool);
            tool.is_some_and(|tool| tool.raw["annotations"]["readOnlyHint"] != true)
        }
        (None, Some(method)) => {
            !reads.contains(&method) && !ListKind::ALL.into_iter().any(|kind| kind.method() == method)
        }
        (None, None) => true,
    }
}

/// The values that earlier answers tell and later requests use.
fn captures(requests: &[(&MessageExchange, Value)]) -> Vec<NeededCapture> {
    let mut captures: Vec<NeededCapture> = Vec::new();
    for (at, (exchange, _)) in requests.iter().enumerate() {
        for (path, used) in scalars(exchange.params()) {
            let is_known = captures.iter().any(|capture| is_used(&capture.value, &used));
            if !is_known && let Some(capture) = capture(&requests[..at], &path, &used, &captures) {
                captures.push(capture);
            }
        }
    }
    captures
}

/// The first earlier answer that tells a value which no earlier message had.
fn capture(
    requests: &[(&MessageExchange, Value)],
    path: &DottedPath,
    used: &Value,
    known: &[NeededCapture],
) -> Option<NeededCapture> {
    let mut said: Vec<Value> = Vec::new();
    for (by, (exchange, action)) in requests.iter().enumerate() {
        said.extend(scalars(exchange.params()).into_iter().map(|(_, value)| value));
        let Some(answer) = ExchangeAnswer::of(&exchange.sent, &exchange.replies) else { continue };
        if answer.kind() != ExchangeAnswerKind::Served || action.get("list").is_some() {
            continue;
        }
        let tells = |(found, value): &(DottedPath, Value)| {
            let is_alike = value.is_string() || (is_id(found) && is_id(path) && value.is_number());
            is_alike && is_telling(found, value) && is_used(value, used) && !said.contains(value) && !has_secret(value)
        };
        let mut found: Vec<_> = scalars(&answer.content()).into_iter().filter(tells).collect();
        found.sort_by_key(|(found, _)| !found.names().any(|name| name == "structuredContent"));
        if let Some((found, value)) = found.into_iter().next() {
            return Some(NeededCapture { by, name: name(&found, known), path: found, value });
        }
    }
    None
}

/// The value was sent, or is a word of a value that was sent.
fn is_used(value: &Value, used: &Value) -> bool {
    let is_word = || Some(whole_word(used.as_str()?, value.as_str()?).is_some());
    value == used || is_word().unwrap_or(false)
}

/// A value that deserves a name: words such as `ok` come up by accident.
fn is_telling(path: &DottedPath, value: &Value) -> bool {
    is_id(path) || value.as_str().is_some_and(|text| text.len() > 1 && text.contains(|c: char| c.is_ascii_digit()))
}

fn is_id(path: &DottedPath) -> bool {
    path.names().next_back().is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        ["id", "uuid", "key", "token", "cursor", "handle", "uri"].iter().any(|end| name.ends_with(end))
    })
}

fn name(path: &DottedPath, known: &[NeededCapture]) -> String {
    let wanted = path.names().next_back().unwrap_or("value");
    let mut wanted: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !wanted.starts_with(|c: char| c.is_ascii_alphabetic()) {
        wanted.insert_str(0, "the_");
    }
    let taken: BTreeSet<&str> = known.iter().map(|capture| capture.name.as_str()).chain(TAKEN).collect();
    if !taken.contains(wanted.as_str()) {
        return wanted;
    }
    let mut numbered = (2..).map(|number| format!("{wanted}_{number}"));
    numbered.find(|name| !taken.contains(name.as_str())).unwrap_or(wanted)
}
