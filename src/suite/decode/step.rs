//! Steps.

use super::{duration, flag, matcher_scope, raw, snapshot};
use crate::matching::{Expectation, ValuePath};
use crate::source::{Diagnostic, Node, Span, Value, parse_duration};
use crate::suite::model::{Action, Awaited, Capture, Step, StepNeed};
use crate::wire::ListKind;

/// The keys of which a step has exactly one.
const ACTIONS: [&str; 12] =
    ["call", "read", "prompt", "complete", "list", "request", "notify", "wait", "alive", "restart", "send", "http"];

/// The steps of a list; mistakes in them are reported.
pub(crate) fn steps(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    node.map(Node::items).unwrap_or_default().iter().filter_map(|item| step(item, found)).collect()
}

/// Steps around tests: a fresh server would be gone again before anything meets it, and what they get is not judged.
pub(crate) fn steps_around(node: &Node, key: &str, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    let steps = unsnapped_steps(node, key, found);
    for step in steps.iter().filter(|step| matches!(step.action, Action::Restart)) {
        found.push(
            Diagnostic::error("misplaced-key", format!("`restart` does nothing under `{key}`"), step.span)
                .with_help("put it among the `steps` of a test, or set `restart_policy: per_test`".to_owned()),
        );
    }
    steps
}

/// Steps whose answers are compared with no snapshot.
pub(crate) fn unsnapped_steps(node: &Node, key: &str, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    let steps = steps(node.get(key), found);
    for snapshot in steps.iter().filter_map(|step| step.snapshot.as_ref()) {
        found.push(
            Diagnostic::error("misplaced-key", format!("`snapshot` does nothing under `{key}`"), snapshot.span)
                .with_help("put it on a step under `steps` of a test".to_owned()),
        );
    }
    steps
}

pub(crate) fn step(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Step> {
    let key = ACTIONS.into_iter().find(|key| node.get(key).is_some())?;
    let action = action(node, key, found)?;
    matcher_scope::check(node, key, found);
    Some(Step {
        span: node.entries().iter().find(|(name, _)| name.value == key).map_or(node.span, |(name, _)| name.span),
        name: node.get("name").and_then(Node::text).map(str::to_owned),
        action,
        needs: node
            .get("needs")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| need(item, found))
            .collect(),
        expect: node
            .get("expect")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| Expectation::build(item, found))
            .collect(),
        // A misspelt `expect` was reported as such.
        expects: node.get("expect").is_some()
            || flag(node, "unanswered")
            || snapshot::is_asked(node)
            || has_unknown_key(node, found),
        capture: captures(node.get("capture"), found),
        snapshot: snapshot::read(node, found),
        timeout: duration(node, "timeout"),
        awaits: if flag(node, "unanswered") { Awaited::Nothing } else { Awaited::Answer },
        heals: false,
        progress: flag(node, "progress"),
        cancel: raw::cancel(node),
    })
}

fn has_unknown_key(node: &Node, found: &[Diagnostic]) -> bool {
    let is_reported = |span: Span| found.iter().any(|one| one.is_unknown_key_at(span));
    node.entries().iter().any(|(name, _)| is_reported(name.span))
}

/// Something that the answer must have; what is missing was reported with the shape of the mapping.
fn need(item: &Node, found: &mut Vec<Diagnostic>) -> Option<StepNeed> {
    let reason = item.get("else").and_then(Node::text)?.to_owned();
    let (key, assert) = item.entries().iter().find(|(key, _)| key.value == "assert")?;
    let condition = Node { value: Value::Map(vec![(key.clone(), assert.clone())]), ..item.clone() };
    Some(StepNeed { assert: Expectation::build(&condition, found)?, reason })
}

fn action(node: &Node, key: &str, found: &mut Vec<Diagnostic>) -> Option<Action> {
    let value = node.get(key)?.clone();
    let args = node.get("args").cloned();
    let params = node.get("params").cloned();
    Some(match key {
        "call" => Action::Call { tool: value, args },
        "read" => Action::Read { uri: value },
        "prompt" => Action::Prompt { name: value, args },
        "complete" => Action::Complete { params: value },
        "list" => Action::List(ListKind::parse(value.text()?)?),
        "request" => Action::Request { method: value, params },
        "notify" => Action::Notify { method: value, params },
        "wait" => Action::Wait(parse_duration(value.text()?)?),
        "alive" => Action::Alive,
        "restart" => Action::Restart,
        "http" => Action::Http(Box::new(raw::http(&value, found))),
        _ => Action::Send(Box::new(raw::send(&value, found)?)),
    })
}

fn captures(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Vec<Capture> {
    let mut captures = Vec::new();
    for (name, value) in node.map(Node::entries).unwrap_or_default() {
        // A missing `at` was reported with the shape of the mapping.
        let path = if value.text().is_some() { Some(value) } else { value.get("at") };
        let Some(path) = path else { continue };
        match ValuePath::parse(path.text().unwrap_or_default()) {
            Ok(path) => captures.push(Capture { name: name.clone(), path, is_secret: flag(value, "secret") }),
            Err(reason) => found.push(Diagnostic::error("bad-path", reason, path.span)),
        }
    }
    captures
}
