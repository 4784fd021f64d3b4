//! The needs of raw steps, and the variants that they judge.

use std::collections::BTreeSet;

use crate::fault::is_deleting_name;
use crate::matching::Expectation;
use crate::source::Node;
use crate::source::template::{Names, has_template};
use crate::suite::{Action, Payload, RawHttp, Server, ServerKind, Step, Wanted};
use crate::wire::{RpcMessage, classify};

/// Returns true if a step needs the wire to itself.
pub(crate) fn needs_own_session(step: &Step) -> bool {
    step.cancel.is_some() || matches!(step.action, Action::Restart | Action::Http(_) | Action::Send(_))
}

/// Returns true if other cases may repeat a step before a call of their own.
pub(crate) fn is_repeatable(step: &Step) -> bool {
    !needs_own_session(step)
}

/// Why a step cannot run on a server, if it cannot.
pub(crate) fn unfit(step: &Step, server: &Server) -> Option<String> {
    match (&step.action, &server.kind) {
        (Action::Http(_), ServerKind::Command(_) | ServerKind::Builtin(_)) => {
            Some("`http` needs a server over HTTP".to_owned())
        }
        (Action::Send(send), ServerKind::Url(_)) if matches!(send.answers, Wanted::End) => {
            Some("`then: close_write` needs a server with standard input".to_owned())
        }
        (Action::Restart, ServerKind::Url(http)) if http.command.is_none() => {
            Some("`restart` needs a server with a `command`".to_owned())
        }
        _ => None,
    }
}

/// The variants that the expectations of steps judge.
pub(crate) fn judged_variants(steps: &[Step]) -> BTreeSet<String> {
    let snapshots =
        steps.iter().filter_map(|step| step.snapshot.as_ref()).flat_map(|snapshot| snapshot.sample.judges());
    let expectations = steps.iter().enumerate().flat_map(|(at, step)| judged_by_step(step, &steps[at + 1..]));
    let reads = reads_another_value(steps).then_some("STATE-STALE-READ");
    let deletions = looks_for_what_was_deleted(steps).then_some("STATE-WRONG-DELETION");
    expectations.chain(snapshots).chain(reads).chain(deletions).map(str::to_owned).collect()
}

/// The variants that a step judges with its expectations; `later` are the steps after it.
fn judged_by_step(step: &Step, later: &[Step]) -> BTreeSet<&'static str> {
    let mut variants = BTreeSet::new();
    match (&step.action, &step.cancel) {
        (Action::Http(http), _) => of_http(http, step, &mut variants),
        (_, Some(_)) => of_cancel(step, later, &mut variants),
        (Action::Listen(listen), None) => {
            variants.extend(step.breakable().flat_map(Expectation::judges));
            for (at, one) in listen.during.iter().enumerate() {
                variants.extend(judged_by_step(one, &listen.during[at + 1..]));
            }
        }
        (Action::Send(send), None) => {
            let looks_at_message = |item: &&Expectation| path(item.node()).is_none_or(is_of_message);
            variants.extend(step.breakable().filter(looks_at_message).flat_map(Expectation::judges));
            if send.lines.iter().any(makes_no_sense) && is_followed(later) {
                variants.insert("PROTO-BAD-INPUT-FATAL");
            }
        }
        _ => variants.extend(step.breakable().flat_map(Expectation::judges)),
    }
    variants
}

/// Returns true if a call is repeated and must have another value at the same place then: the first answer once more
/// would not do.
pub(crate) fn reads_another_value(steps: &[Step]) -> bool {
    let call = |step: &Step| {
        let (tool, args) = step.action.as_call().filter(|_| step.cancel.is_none())?;
        Some((tool.to_json(), args.map(Node::to_json)))
    };
    let expected = |step: &Step, found: &Expectation| {
        let node = found.node();
        let is_breakable = step.breakable().any(|item| item.span() == found.span());
        let (at, equals) = (path(node)?.to_owned(), node.get("equals")?);
        (is_breakable && is_of_message(&at) && !has_template(equals)).then(|| (at, equals.to_json()))
    };
    let values = |step: &Step| step.expect.iter().filter_map(|item| expected(step, item)).collect::<Vec<_>>();
    let pairs =
        steps.iter().enumerate().flat_map(|(at, first)| steps[at + 1..].iter().map(move |later| (first, later)));
    pairs.filter(|(first, later)| call(first).is_some() && call(first) == call(later)).any(|(first, later)| {
        let later = values(later);
        values(first).iter().any(|(at, value)| later.iter().any(|(path, other)| path == at && other != value))
    })
}

/// Returns true if what a tool deletes is asked for afterwards, and must be refused.
fn looks_for_what_was_deleted(steps: &[Step]) -> bool {
    let arguments = |step: &Step| -> Vec<serde_json::Value> {
        let args = step.action.as_call().and_then(|(_, args)| args).map(Node::to_json);
        args.as_ref()
            .and_then(serde_json::Value::as_object)
            .map(|args| args.values().cloned().collect())
            .unwrap_or_default()
    };
    let is_deletion = |step: &Step| step.action.as_call().is_some_and(|(tool, _)| is_deleting_name(&tool.to_text()));
    let refused = |item: &Expectation| {
        let node = item.node();
        node.setting("is_error") == Some(true) || node.get("error").is_some()
    };
    let asks = |step: &Step, deleted: &[serde_json::Value]| {
        step.cancel.is_none()
            && step.breakable().any(refused)
            && arguments(step).iter().any(|value| deleted.contains(value))
    };
    let mut deletions = steps.iter().enumerate().filter(|(_, step)| step.cancel.is_none() && is_deletion(step));
    deletions.any(|(at, step)| {
        let deleted = arguments(step);
        steps[at + 1..].iter().any(|later| asks(later, &deleted))
    })
}

fn of_http(http: &RawHttp, step: &Step, variants: &mut BTreeSet<&'static str>) {
    if step.breakable().next().is_none() {
        return;
    }
    variants.insert("PROTO-HTTP-CONTRACT");
    let wants_refusal = step.breakable().any(|item| is_of_refusal(item.node()));
    let writes = |name: &str| wants_refusal && http.headers.iter().any(|(key, _)| key.value.eq_ignore_ascii_case(name));
    if writes("origin") || writes("host") {
        variants.insert("SECURITY-DNS-REBINDING");
    }
    if writes("mcp-session-id") {
        variants.insert("STATE-STALE-SESSION");
    }
    if writes("authorization") {
        variants.insert("SECURITY-AUTH-BYPASS");
    }
    if step.breakable().any(|item| path(item.node()).is_some_and(|path| path.contains("error.code"))) {
        variants.insert("PROTO-WRONG-ERROR-CODE");
    }
}

/// Returns true if an expectation holds only where the server refuses: each status that it allows is one of 4xx.
fn is_of_refusal(item: &Node) -> bool {
    let refuses = |status: &Node| match (status.whole(), status.text()) {
        (Some(code), _) => (400..500).contains(&code),
        (None, Some(class)) => class.eq_ignore_ascii_case("4xx"),
        (None, None) => false,
    };
    let by_path = item.get("equals").filter(|_| path(item) == Some("status"));
    match item.get("status").or(by_path) {
        Some(status) if status.items().is_empty() => refuses(status),
        Some(status) => status.items().iter().all(refuses),
        None => item.get("all").is_some_and(|all| all.items().iter().any(is_of_refusal)),
    }
}

fn of_cancel(step: &Step, later: &[Step], variants: &mut BTreeSet<&'static str>) {
    for name in step.breakable().flat_map(Expectation::members) {
        match name.as_str() {
            "answered" | "late" => drop(variants.insert("TIMEOUT-CANCEL-REPLY")),
            "progress_after" => drop(variants.insert("TIMEOUT-CANCEL-IGNORED")),
            _ => {}
        }
    }
    if is_followed(later) {
        variants.insert("TIMEOUT-CANCEL-FATAL");
    }
}

/// The path that an expectation looks at, without the signs of a JSONPath.
fn path(item: &Node) -> Option<&str> {
    item.get("at").and_then(Node::text).map(|path| path.trim_start_matches(['$', '.']))
}

fn is_of_message(path: &str) -> bool {
    path.starts_with("result") || path.starts_with("error")
}

/// Returns true if a later step would notice that the server is gone.
fn is_followed(later: &[Step]) -> bool {
    later.iter().any(|step| {
        let asks = !matches!(
            step.action,
            Action::Notify { .. } | Action::Wait(_) | Action::Restart | Action::Http(_) | Action::Send(_)
        );
        asks && step.cancel.is_none()
    })
}

/// Returns true if bytes that hold no template are no message of JSON-RPC.
fn makes_no_sense(line: &Payload) -> bool {
    if has_template(line.node()) {
        return false;
    }
    let Ok(bytes) = line.bytes(&Names::new()) else { return false };
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(&bytes) else { return true };
    value["jsonrpc"] != "2.0" || matches!(classify(&value), RpcMessage::Invalid(_))
}
