//! Tests, but for their rows.

use std::collections::BTreeMap;

use super::step::{step, steps as steps_of, steps_around, unsnapped_steps};
use super::{retries, rule, texts};
use crate::fault::{Fault, decode_named};
use crate::source::settings::Setting;
use crate::source::template::expression_problem;
use crate::source::{Diagnostic, MistakeKind, Node, did_you_mean, grammar};
use crate::suite::model::{ForEach, Loop, Step, Test};

/// The faults of a suite by name.
pub(crate) type NamedFaults = BTreeMap<String, Vec<Fault>>;

/// Reads the faults that a suite names.
pub(crate) fn named_faults(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> NamedFaults {
    let mut faults = NamedFaults::new();
    for node in node.map(Node::items).unwrap_or_default() {
        let Some(name) = node.get("name").and_then(Node::located_text) else { continue };
        let named = decode_named(&name.value, node, found);
        if faults.insert(name.value.clone(), named).is_some() {
            let message = format!("two faults are called `{}`", name.value);
            found.push(Diagnostic::error("duplicate-name", message, name.span));
        }
    }
    faults
}

const NAME_IT: &str = "name it in `faults:`, such as `faults: [{ name: lost, type: lost_response }]`";

/// The faults of an `inject:` list, by name or written in it.
pub(crate) fn injected(node: Option<&Node>, faults: &NamedFaults, found: &mut Vec<Diagnostic>) -> Vec<Fault> {
    let mut injected: Vec<Fault> = Vec::new();
    for (at, node) in node.map(Node::items).unwrap_or_default().iter().enumerate() {
        let Some(name) = node.text() else {
            let name =
                node.get("type").and_then(Node::text).map_or_else(|| format!("number {}", at + 1), str::to_owned);
            injected.extend(decode_named(&name, node, found));
            continue;
        };
        if let Some(fault) = faults.get(name) {
            injected.extend(fault.iter().cloned());
            continue;
        }
        let message = format!("there is no fault `{name}`");
        let help = did_you_mean(name, faults.keys().map(String::as_str)).unwrap_or_else(|| NAME_IT.to_owned());
        let unknown = Diagnostic::error("unknown-name", message, node.span).of_kind(MistakeKind::UnknownName);
        found.push(unknown.with_help(help));
    }
    injected
}

/// The steps after the faults have ended; the first ends them.
fn verified(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    let mut steps = unsnapped_steps(node, "verify", found);
    steps.iter_mut().take(1).for_each(|step| step.heals = true);
    steps
}

/// Reads a test but for its rows, which may come from a file.
pub(crate) fn test(node: &Node, faults: &NamedFaults, found: &mut Vec<Diagnostic>) -> Option<Test> {
    let name = node.get("name")?.located_text()?;
    let steps = match node.get("steps") {
        Some(list) => steps_of(Some(list), found),
        None => step(node, found).map(|step| Step { name: None, needs: Vec::new(), ..step }).into_iter().collect(),
    };
    for key in ["tags", "skip", "rows"] {
        node.get(key).into_iter().for_each(|value| grammar::refuse_templates(value, found));
    }
    Some(Test {
        name,
        span: node.span,
        tags: texts(node.get("tags")).into_iter().map(|tag| tag.value).collect(),
        skip: skip_reason(node.get("skip")),
        only: node.get("only").filter(|only| only.flag() == Some(true)).map(|only| only.span),
        server: node.get("server").and_then(Node::located_text),
        setup: steps_around(node, "setup", found),
        rule: rule::rule(node),
        property: None,
        needs: rule::needs(node, found),
        preconditions: rule::preconditions(node, found),
        scans: rule::scans(node),
        handshake: rule::handshake(node),
        steps,
        teardown: steps_around(node, "teardown", found),
        rows: Vec::new(),
        for_each: for_each(node, found),
        output_schema: node.get("output_schema").filter(|value| value.flag() == Some(true)).map(|value| value.span),
        answers: node.get("answers").and_then(Setting::read).unwrap_or_default(),
        judges: texts(node.get("judges")),
        probes: &[],
        retries: retries(node),
        inject: injected(node.get("inject"), faults, found),
        recovery: node.get("recovery").and_then(Setting::read),
        verify: verified(node, found),
    })
}

/// Why a test, agent or other item is not run; `None` where it is, since `skip: false` is no reason.
pub(crate) fn skip_reason(node: Option<&Node>) -> Option<String> {
    let node = node?;
    match node.flag() {
        Some(true) => Some("`skip: true`".to_owned()),
        Some(false) => None,
        None => node.text().map(str::to_owned),
    }
}

fn for_each(node: &Node, found: &mut Vec<Diagnostic>) -> Option<ForEach> {
    let filter = node.get("where").and_then(Node::located_text);
    if let Some(filter) = &filter
        && let Some(reason) = expression_problem(&filter.value)
    {
        found.push(Diagnostic::error("bad-expression", format!("invalid expression: {reason}"), filter.span));
    }
    let over = match node.get("for_each")?.text()? {
        "tools" => Loop::Tools,
        "resources" => Loop::Resources,
        _ => Loop::Prompts,
    };
    Some(ForEach { over, filter })
}
