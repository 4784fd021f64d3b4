//! Raw steps and cancellations.

use std::time::Duration;

use super::{duration, flag, key_span, step};
use crate::redact::from_base64;
use crate::source::template::{has_template, is_template};
use crate::source::{Diagnostic, Node, Value};
use crate::suite::model::{
    Cancel, CancelWhen, Cuts, Defaults, Extent, Payload, RawHttp, RawSend, Then, Wanted, not_base64,
};

/// How long to look where no answer is awaited.
const LOOK: Duration = Duration::from_millis(300);

/// How long a response is read after the steps that run meanwhile.
const LINGER: Duration = Duration::from_millis(100);

/// How long to look at what comes after a cancellation.
const WATCH: Duration = Duration::from_millis(500);

/// The forms of `send`.
const FORMS: [&str; 4] = ["text", "json", "base64", "lines"];

pub(super) fn http(node: &Node, found: &mut Vec<Diagnostic>) -> RawHttp {
    if node.get("raw").is_some() {
        for key in ["method", "path", "headers", "bare", "body"] {
            exclusive(node, ("raw", key), "`raw` is the whole request", found);
        }
    }
    if node.get("then").and_then(Node::text) == Some("abort") && node.get("read").is_some() {
        let message = "`read` does nothing beside `then: abort`, which reads nothing";
        found.push(Diagnostic::error("misplaced-key", message, key_span(node, "read")));
    }
    let headers = node.get("headers").map(Node::entries).unwrap_or_default().to_vec();
    for value in headers.iter().flat_map(|(_, value)| std::iter::once(value).chain(value.items())) {
        payload(value, found);
    }
    let mut written = |key: &str| node.get(key).map(|node| payload(node, found));
    let (body, raw) = (written("body"), written("raw"));
    RawHttp {
        method: node.get("method").cloned(),
        path: node.get("path").cloned(),
        headers,
        defaults: if flag(node, "bare") { Defaults::Bare } else { Defaults::Sent },
        body,
        raw,
        cuts: cuts(node, found),
        then: match node.get("then").and_then(Node::text) {
            Some("close_write") => Then::CloseWrite,
            Some("abort") => Then::Abort,
            _ => Then::Read,
        },
        read: extent(node.get("read"), found),
        during: step::steps(node.get("during"), found),
        linger: duration(node, "for").unwrap_or(LINGER),
    }
}

fn extent(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Extent {
    let Some(node) = node else { return Extent::Answer };
    if let Some(word) = node.text() {
        return if word == "head" { Extent::Head } else { Extent::Body };
    }
    if let Some(count) = node.get("events") {
        return Extent::Events(at_least_one(count, found));
    }
    if matches!(node.value, Value::Map(_)) {
        let help = "write `read: { events: 1 }`".to_owned();
        found.push(Diagnostic::error("missing-key", "`read` says not how many events", node.span).with_help(help));
    }
    Extent::Answer
}

/// A number that means nothing as zero.
fn at_least_one(node: &Node, found: &mut Vec<Diagnostic>) -> usize {
    let number = node.whole().and_then(|number| usize::try_from(number).ok()).unwrap_or(1);
    if number == 0 {
        found.push(Diagnostic::error("bad-number", "the number must be 1 at least", node.span));
    }
    number
}

fn cuts(node: &Node, found: &mut Vec<Diagnostic>) -> Cuts {
    exclusive(node, ("split", "every"), "bytes are cut in one way", found);
    let offset = |node: &Node| node.whole().and_then(|offset| usize::try_from(offset).ok());
    match (node.get("split"), node.get("every")) {
        (Some(split), _) => Cuts::At(split.items().iter().filter_map(offset).collect()),
        (None, Some(every)) => Cuts::Every(at_least_one(every, found)),
        (None, None) => Cuts::None,
    }
}

/// Reports the second of two keys that exclude each other.
fn exclusive(node: &Node, (first, second): (&str, &str), why: &str, found: &mut Vec<Diagnostic>) {
    if node.get(first).is_some() && node.get(second).is_some() {
        found.push(
            Diagnostic::error(
                "two-ways",
                format!("{why}, so `{second}` cannot stand beside `{first}`"),
                key_span(node, second),
            )
            .with_other(key_span(node, first), format!("`{first}` is here")),
        );
    }
}

fn payload(node: &Node, found: &mut Vec<Diagnostic>) -> Payload {
    let payload = Payload::of(node);
    if let Payload::Base64(bytes) = &payload {
        base64(bytes, found);
    }
    payload
}

fn base64(node: &Node, found: &mut Vec<Diagnostic>) {
    let text = node.text().unwrap_or_default();
    if !is_template(text) && from_base64(text).is_none() {
        found.push(
            Diagnostic::error("bad-bytes", not_base64(text), node.span)
                .with_help("write the bytes in groups of four letters, such as `/w==` for the byte 0xff".to_owned()),
        );
    }
}

pub(super) fn send(node: &Node, found: &mut Vec<Diagnostic>) -> Option<RawSend> {
    if node.text().is_some() {
        let lines = vec![Payload::Text(node.clone())];
        let newline = "\n".to_owned();
        return Some(RawSend { lines, newline, cuts: Cuts::None, answers: Wanted::Own, watch: LOOK });
    }
    let written: Vec<&str> = FORMS.into_iter().filter(|form| node.get(form).is_some()).collect();
    let [form] = written.as_slice() else {
        for other in written.iter().skip(1) {
            exclusive(node, (written[0], other), "a message is written in one way", found);
        }
        if written.is_empty() && matches!(node.value, Value::Map(_)) {
            found.push(empty(node));
        }
        return None;
    };
    let value = node.get(form)?;
    let lines = match *form {
        "text" => vec![Payload::Text(value.clone())],
        "json" => vec![Payload::Json(value.clone())],
        "base64" => {
            base64(value, found);
            vec![Payload::Base64(value.clone())]
        }
        _ => value.items().iter().map(|item| payload(item, found)).collect(),
    };
    let newline = match node.get("newline") {
        Some(text) if text.flag() == Some(false) => String::new(),
        Some(text) => text.text().unwrap_or("\n").to_owned(),
        None => "\n".to_owned(),
    };
    if newline.is_empty() && lines.iter().all(|line| line.node().text() == Some("")) || lines.is_empty() {
        found.push(empty(node));
    }
    exclusive(node, ("then", "answers"), "a server whose input has ended is waited for until it ends", found);
    let answers = if node.get("then").is_some() { Wanted::End } else { wanted(node.get("answers"), found) };
    if node.get("for").is_some() && !matches!(answers, Wanted::Nothing | Wanted::Own | Wanted::End) {
        let message = "`for` is how long to look where no answer is awaited, and `answers` awaits one";
        let help = "write `answers: none`, or bound the wait with `timeout` beside `send`".to_owned();
        found.push(Diagnostic::error("misplaced-key", message, key_span(node, "for")).with_help(help));
    }
    Some(RawSend { lines, newline, cuts: cuts(node, found), answers, watch: duration(node, "for").unwrap_or(LOOK) })
}

fn empty(node: &Node) -> Diagnostic {
    Diagnostic::error("empty-send", "`send` writes nothing", node.span)
        .with_help("write a message, as in `send: '{\"jsonrpc\": \"2.0\"}'`".to_owned())
}

fn wanted(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Wanted {
    let Some(node) = node else { return Wanted::Own };
    match (node.text(), node.items()) {
        (Some("any"), _) => Wanted::Any,
        (Some("none"), _) => Wanted::Nothing,
        (None, []) if matches!(node.value, Value::List(_)) => {
            let help = "write `answers: none` to wait for nothing".to_owned();
            found.push(Diagnostic::error("empty-list", "no answer is listed", node.span).with_help(help));
            Wanted::Nothing
        }
        (None, items @ [_, ..]) => Wanted::All(items.to_vec()),
        _ => Wanted::One(node.clone()),
    }
}

/// When the request of a step is taken back.
pub(super) fn cancel(step: &Node, found: &mut Vec<Diagnostic>) -> Option<Cancel> {
    let node = step.get("cancel")?;
    exclusive(node, ("after", "progress"), "a request is cancelled once", found);
    if step.get("snapshot").is_some() {
        let help = "a request that is cancelled has no answer to compare".to_owned();
        let message = "`snapshot` does nothing beside `cancel`";
        found.push(Diagnostic::error("misplaced-key", message, key_span(step, "snapshot")).with_help(help));
    }
    let after = node.get("after").map(|_| duration(node, "after").map(CancelWhen::After));
    let when = match (after, node.get("progress")) {
        (Some(after), _) => after?,
        (None, Some(count)) => CancelWhen::Progress(at_least_one(count, found)),
        (None, None) => {
            if !has_template(node) && matches!(node.value, Value::Map(_)) {
                let message = "`cancel` does not say when";
                let help = "write `cancel: { after: 200ms }` or `cancel: { progress: 1 }`".to_owned();
                found.push(Diagnostic::error("missing-key", message, key_span(step, "cancel")).with_help(help));
            }
            return None;
        }
    };
    Some(Cancel { when, reason: node.get("reason").cloned(), watch: duration(node, "watch").unwrap_or(WATCH) })
}
