//! The message of a request that was never recorded: it names what was.

use serde_json::Value;

use crate::fault::MessageExchange;
use crate::source::{shorten, visible_line};

/// The most recorded things that are named.
const NAMED: usize = 3;

/// The longest of them, in characters.
const LONGEST: usize = 60;

/// Says that a request was not recorded, and what was instead.
pub(crate) fn unanswered(method: &str, params: &Value, recorded: &[MessageExchange]) -> String {
    let named = method.to_owned() + &subject(params).map(|name| format!(" {name}")).unwrap_or_default();
    let begin = format!("mock: no recorded answer for {}", short(&named));
    let of_method = || recorded.iter().filter(|exchange| exchange.method() == Some(method));
    let of_subject = || of_method().filter(|exchange| subject(exchange.params()) == subject(params));
    if of_subject().next().is_some() {
        let what = if params.get("arguments").is_some() { "arguments" } else { "parameters" };
        let whose = short(subject(params).unwrap_or(method));
        let known = few(of_subject().map(|exchange| details(exchange.params())));
        return format!("{begin} with these {what}; recorded for {whose}: {known}");
    }
    if of_method().next().is_some() {
        let known = few(of_method().filter_map(|exchange| subject(exchange.params()).map(str::to_owned)));
        return format!("{begin}; recorded for {}: {known}", short(method));
    }
    let requests = recorded.iter().filter(|exchange| exchange.answer().is_some());
    format!("{begin}; recorded: {}", few(requests.filter_map(|exchange| exchange.method().map(str::to_owned))))
}

/// The name or address of what a request is about.
fn subject(params: &Value) -> Option<&str> {
    params["name"].as_str().or(params["uri"].as_str())
}

/// The arguments, or all parameters apart from `_meta`.
fn details(params: &Value) -> String {
    let mut shown = params.get("arguments").unwrap_or(params).clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.shift_remove("_meta");
    }
    if shown.is_null() { "{}".to_owned() } else { shown.to_string() }
}

/// The first of them, each once, and how many more there are.
fn few(items: impl Iterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for item in items {
        if !known.contains(&item) {
            known.push(item);
        }
    }
    let more = known.len().saturating_sub(NAMED);
    let shown: Vec<String> = known.iter().take(NAMED).map(|item| short(item)).collect();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

fn short(text: &str) -> String {
    shorten(&visible_line(text), LONGEST)
}
