//! Raw steps and cancellations.

use super::{flag, step};
use crate::redact::from_base64;
use crate::source::template::is_template;
use crate::source::{Diagnostic, Node, Value};
use crate::suite::grammar::{CANCEL, HTTP, SEND};
use crate::suite::model::{
    Cancel, CancelWhen, Cuts, Defaults, Extent, Payload, RawHttp, RawSend, Then, Wanted, not_base64,
};

pub(crate) fn http(node: &Node, found: &mut Vec<Diagnostic>) -> RawHttp {
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
        cuts: cuts(node),
        then: match node.get("then").and_then(Node::text) {
            Some("close_write") => Then::CloseWrite,
            Some("abort") => Then::Abort,
            _ => Then::Read,
        },
        read: extent(node.get("read")),
        during: step::steps(node.get("during"), found),
        linger: HTTP.duration(node, "for").unwrap_or_default(),
    }
}

fn extent(node: Option<&Node>) -> Extent {
    match node.and_then(Node::text) {
        Some("head") => Extent::Head,
        Some(_) => Extent::Body,
        None => node.and_then(|node| size(node, "events")).map_or(Extent::Answer, Extent::Events),
    }
}

fn size(node: &Node, key: &str) -> Option<usize> {
    node.get(key).and_then(Node::whole).and_then(|number| usize::try_from(number).ok())
}

fn cuts(node: &Node) -> Cuts {
    let offset = |node: &Node| node.whole().and_then(|offset| usize::try_from(offset).ok());
    match node.get("split") {
        Some(split) => Cuts::At(split.items().iter().filter_map(offset).collect()),
        None => size(node, "every").map_or(Cuts::None, Cuts::Every),
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

pub(crate) fn send(node: &Node, found: &mut Vec<Diagnostic>) -> Option<RawSend> {
    let watch = SEND.duration(node, "for").unwrap_or_default();
    if node.text().is_some() {
        let lines = vec![Payload::Text(node.clone())];
        return Some(RawSend { lines, newline: "\n".to_owned(), cuts: Cuts::None, answers: Wanted::Own, watch });
    }
    let lines = if let Some(text) = node.get("text") {
        vec![Payload::Text(text.clone())]
    } else if let Some(json) = node.get("json") {
        vec![Payload::Json(json.clone())]
    } else if let Some(bytes) = node.get("base64") {
        base64(bytes, found);
        vec![Payload::Base64(bytes.clone())]
    } else {
        node.get("lines")?.items().iter().map(|item| payload(item, found)).collect()
    };
    let newline = match node.get("newline") {
        Some(text) if text.flag() == Some(false) => String::new(),
        Some(text) => text.text().unwrap_or("\n").to_owned(),
        None => "\n".to_owned(),
    };
    if newline.is_empty() && !lines.is_empty() && lines.iter().all(|line| line.node().text() == Some("")) {
        let help = "write a message, as in `send: '{\"jsonrpc\": \"2.0\"}'`".to_owned();
        found.push(Diagnostic::error("empty-send", "`send` writes nothing", node.span).with_help(help));
    }
    let answers = match node.get("answers") {
        _ if node.get("then").is_some() => Wanted::End,
        None => Wanted::Own,
        Some(written) => match (written.text(), &written.value) {
            (Some("any"), _) => Wanted::Any,
            (Some("none"), _) => Wanted::Nothing,
            (_, Value::List(ids)) => Wanted::All(ids.clone()),
            _ => Wanted::One(written.clone()),
        },
    };
    Some(RawSend { lines, newline, cuts: cuts(node), answers, watch })
}

/// When the request of a step is taken back.
pub(crate) fn cancel(step: &Node) -> Option<Cancel> {
    let node = step.get("cancel")?;
    let when = match CANCEL.duration(node, "after") {
        Some(after) => CancelWhen::After(after),
        None => CancelWhen::Progress(size(node, "progress")?),
    };
    let watch = CANCEL.duration(node, "watch").unwrap_or_default();
    Some(Cancel { when, reason: node.get("reason").cloned(), watch })
}
