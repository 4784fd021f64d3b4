//! A recorded message of the client as a step of a suite.

use serde_json::{Map, Value, json};

use super::super::recording::TargetRecording;
use crate::fault::{ClientMessage, MessageExchange};
use crate::source::template::is_template;
use crate::source::yaml_writer::object;
use crate::wire::ListKind;

/// The placeholder for secrets in recordings.
const SECRET: &str = "[redacted]";

/// The parameters that a session adds by itself.
const ADDED: [&str; 3] = ["inputResponses", "requestState", "_meta"];

/// The step that says the same; `None` where no step could, or where it takes a secret.
pub(crate) fn action(exchange: &MessageExchange, recorded: &TargetRecording) -> Option<Value> {
    let (id, method, params) = match &exchange.sent {
        ClientMessage::Raw(bytes) => return raw(bytes),
        ClientMessage::Message { id, method, params } => (id, method.as_str(), params),
    };
    if has_secret(params) {
        return None;
    }
    let own = own(params);
    if id.is_none() {
        return Some(object([("notify", Some(method.into())), ("params", some(own))]));
    }
    let progress = params["_meta"].get("progressToken").map(|_| json!(true));
    let listed = ListKind::ALL.into_iter().find(|kind| kind.method() == method);
    if let Some(kind) = listed.filter(|_| is_page(&own, recorded)) {
        return Some(json!({"list": kind.as_str()}));
    }
    let mut step =
        write_step(method, &own).unwrap_or_else(|| object([("request", Some(method.into())), ("params", some(own))]));
    if let (Some(members), Some(progress)) = (step.as_object_mut(), progress) {
        members.insert("progress".to_owned(), progress);
    }
    Some(step)
}

/// A request for which steps have a word of their own.
fn write_step(method: &str, params: &Value) -> Option<Value> {
    let members = params.as_object()?;
    let only = |names: &[&str]| members.keys().all(|name| names.contains(&name.as_str()));
    let name = || params["name"].as_str().map(Value::from);
    let arguments = || params.get("arguments").filter(|arguments| arguments.is_object()).cloned();
    match method {
        "tools/call" if only(&["name", "arguments", "task"]) => {
            let task = params.get("task");
            // Otherwise it is the parameter of a request, not the key of a step.
            task.is_none_or(|task| *task == true || task["cancel"] == true).then_some(())?;
            let arguments = arguments()?;
            Some(object([("call", Some(name()?)), ("args", some(arguments)), ("task", task.cloned())]))
        }
        "prompts/get" if only(&["name", "arguments"]) => {
            let is_plain = params.get("arguments").is_none_or(Value::is_object);
            is_plain.then_some(())?;
            Some(object([("prompt", Some(name()?)), ("args", arguments())]))
        }
        "resources/read" if only(&["uri"]) => Some(json!({"read": params["uri"].as_str()?})),
        "completion/complete" if only(&["ref", "argument", "context"]) && members.len() > 1 => {
            Some(json!({"complete": params}))
        }
        _ => None,
    }
}

/// A list was asked for from its beginning, or from a cursor that the server gave out.
fn is_page(params: &Value, recorded: &TargetRecording) -> bool {
    let Some(members) = params.as_object() else { return true };
    match members.get("cursor") {
        None => members.is_empty(),
        Some(cursor) => {
            let gives = |exchange: &MessageExchange| {
                exchange.answer().is_some_and(|answer| answer["result"].get("nextCursor") == Some(cursor))
            };
            members.len() == 1 && recorded.exchanges.iter().any(gives)
        }
    }
}

/// The parameters that a suite wrote itself.
fn own(params: &Value) -> Value {
    let Value::Object(members) = params else { return params.clone() };
    let mut kept = members.clone();
    kept.retain(|name, _| !ADDED.contains(&name.as_str()));
    if let Some(Value::Object(meta)) = members.get("_meta") {
        let mut meta = meta.clone();
        meta.retain(|name, _| name != "progressToken" && !name.starts_with("io.modelcontextprotocol/"));
        if !meta.is_empty() {
            kept.insert("_meta".to_owned(), meta.into());
        }
    }
    kept.into()
}

/// A value, unless it says nothing.
fn some(value: Value) -> Option<Value> {
    let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
    (!is_empty).then_some(value)
}

fn raw(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    // Without an id nothing says which answer is meant.
    let id = serde_json::from_str::<Value>(text).ok()?.get("id").filter(|id| !id.is_null()).cloned()?;
    (!text.contains(SECRET)).then(|| json!({"send": {"text": text, "answers": id}}))
}

/// The value holds something that the recording does not know.
pub(crate) fn has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(SECRET),
        Value::Array(items) => items.iter().any(has_secret),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains(SECRET) || has_secret(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A name for a value of the run, and the value that it had in the recording.
pub(crate) type KnownValue = (String, Value);

/// A recorded value as a suite writes it: with names for what differs from run to run, and no template by accident;
/// `None` where a suite cannot write it.
pub(crate) fn fill_names(value: &Value, known: &[KnownValue]) -> Option<Value> {
    if let Some((name, _)) = known.iter().find(|(_, recorded)| recorded == value) {
        return Some(format!("{{{{ {name} }}}}").into());
    }
    match value {
        Value::String(text) => text_filled(text, known).map(Value::from),
        Value::Array(items) => items.iter().map(|item| fill_names(item, known)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = fill_names(value, known)?;
                (!is_template(name)).then(|| (name.clone(), value))
            });
            members.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.clone()),
    }
}

fn text_filled(text: &str, known: &[KnownValue]) -> Option<String> {
    if is_template(text) {
        return (!text.contains("endraw")).then(|| format!("{{% raw %}}{text}{{% endraw %}}"));
    }
    let mut text = text.to_owned();
    for (name, value) in known {
        if let Some(at) = value.as_str().and_then(|value| whole_word(&text, value)) {
            text.replace_range(at, &format!("{{{{ {name} }}}}"));
        }
    }
    Some(text)
}

/// The place of a word in a text that is no part of a longer one.
pub(crate) fn whole_word(text: &str, word: &str) -> Option<std::ops::Range<usize>> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
    let found = text.match_indices(word).map(|(at, _)| at..at + word.len());
    found
        .filter(|_| !word.is_empty())
        .find(|at| is_edge(text[..at.start].chars().next_back()) && is_edge(text[at.end..].chars().next()))
}
