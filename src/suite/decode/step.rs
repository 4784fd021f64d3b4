//! Steps.

use super::{matcher_scope, snapshot};
use crate::matching::Expectation;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, Value};
use crate::suite::grammar::{ExchangeKeys, StepCondition, StepKeys};
use crate::suite::model::{Action, Awaited, Cancel, Capture, Step, StepNeed};

impl Setting for Step {
    // A raw request holds steps of its own.
    const SHAPE: Shape = Shape::Recursive(|| &StepKeys::KEYS);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let keys = StepKeys::decode(node, found)?;
        let needs = keys.needs.into_iter().filter_map(|need| condition(need, found)).collect();
        Some(Self { name: keys.name, needs, ..step(node, keys.exchange, found)? })
    }
}

/// Reports steps around tests, or during another step, that do nothing there: a fresh server would be gone again before
/// anything meets it, or end what it runs beside, and what they get is compared with no snapshot.
pub(crate) fn check_steps_around(steps: &[Step], key: &str, found: &mut Vec<Diagnostic>) {
    check_unsnapped(steps, key, found);
    for step in steps.iter().filter(|step| matches!(step.action, Action::Restart)) {
        found.push(
            Diagnostic::error("misplaced-key", format!("`restart` does nothing under `{key}`"), step.span)
                .with_help("put it among the `steps` of a test, or set `restart_policy: per_test`".to_owned()),
        );
    }
}

/// Reports steps with a snapshot, since their answers are compared with none.
pub(crate) fn check_unsnapped(steps: &[Step], key: &str, found: &mut Vec<Diagnostic>) {
    for snapshot in steps.iter().filter_map(|step| step.snapshot.as_ref()) {
        found.push(
            Diagnostic::error("misplaced-key", format!("`snapshot` does nothing under `{key}`"), snapshot.span)
                .with_help("put it on a step under `steps` of a test".to_owned()),
        );
    }
}

/// The step that these keys of a mapping are, without a name and conditions.
pub(crate) fn step(node: &Node, mut keys: ExchangeKeys, found: &mut Vec<Diagnostic>) -> Option<Step> {
    let is_action = |name: &str| ExchangeKeys::TABLE.iter().any(|key| key.choice.is_some() && key.name == name);
    let span = node.entries().iter().find(|(name, _)| is_action(&name.value)).map_or(node.span, |(name, _)| name.span);
    matcher_scope::check(&keys, found);
    let snapshot = snapshot::decode(node, keys.snapshot.as_ref(), found);
    // A misspelt `expect` was reported as such.
    let expects = keys.expect.is_some()
        || keys.unanswered
        || snapshot::is_asked(keys.snapshot.as_ref())
        || has_unknown_key(node, found);
    let capture = std::mem::take(&mut keys.capture).into_iter();
    let during = [keys.listen.as_deref().map(|listen| &listen.during), keys.http.as_deref().map(|http| &http.during)];
    for steps in during.into_iter().flatten() {
        check_steps_around(steps, "during", found);
    }
    let awaits = if keys.unanswered { Awaited::Nothing } else { Awaited::Answer };
    Some(Step {
        span,
        name: None,
        needs: Vec::new(),
        expects,
        expect: keys.expect.take().unwrap_or_default(),
        capture: capture.map(|(name, of)| Capture { name, path: of.0.at, is_secret: of.0.secret }).collect(),
        snapshot: snapshot.map(Box::new),
        timeout: keys.timeout,
        awaits,
        heals: false,
        progress: keys.progress,
        cancel: keys.cancel.take().and_then(Cancel::of).map(Box::new),
        task: keys.task.and_then(|task| task.0).map(Box::new),
        action: action(keys)?,
    })
}

fn has_unknown_key(node: &Node, found: &[Diagnostic]) -> bool {
    let is_reported = |span: Span| found.iter().any(|one| one.is_unknown_key_at(span));
    node.entries().iter().any(|(name, _)| is_reported(name.span))
}

/// Something that the answer must have.
fn condition(keys: StepCondition, found: &mut Vec<Diagnostic>) -> Option<StepNeed> {
    let StepCondition { assert, reason } = keys;
    let key = Located::new("assert".to_owned(), assert.span);
    let span = assert.span;
    let expectation = Node { value: Value::Map(vec![(key, assert)]), span };
    Some(StepNeed { assert: Expectation::build(&expectation, found)?, reason })
}

/// The action of a step; a mapping without one was reported.
fn action(keys: ExchangeKeys) -> Option<Action> {
    let (args, params) = (keys.args, keys.params);
    Some(match keys {
        ExchangeKeys { call: Some(tool), .. } => Action::Call { tool, args },
        ExchangeKeys { read: Some(uri), .. } => Action::Read { uri },
        ExchangeKeys { prompt: Some(name), .. } => Action::Prompt { name, args },
        ExchangeKeys { complete: Some(params), .. } => Action::Complete { params },
        ExchangeKeys { list: Some(list), .. } => Action::List(list),
        ExchangeKeys { request: Some(method), .. } => Action::Request { method, params },
        ExchangeKeys { notify: Some(method), .. } => Action::Notify { method, params },
        ExchangeKeys { wait: Some(time), .. } => Action::Wait(time),
        ExchangeKeys { alive: Some(_), .. } => Action::Alive,
        ExchangeKeys { restart: Some(_), .. } => Action::Restart,
        ExchangeKeys { listen: Some(listen), .. } => Action::Listen(listen),
        ExchangeKeys { send: Some(message), .. } => Action::Send(message),
        ExchangeKeys { http: Some(request), .. } => Action::Http(request),
        ExchangeKeys { .. } => return None,
    })
}
