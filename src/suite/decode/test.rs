//! Tests, but for their rows.

use super::server::answers;
use super::step::{step, steps as steps_of, steps_around};
use super::{retries, rule, texts};
use crate::source::template::expression_problem;
use crate::source::{Diagnostic, Node, grammar};
use crate::suite::model::{ForEach, Loop, Step, Test};

/// Keys of a test that this version cannot run.
pub(crate) const UNAVAILABLE_TEST_KEYS: [&str; 1] = ["inject"];

/// Reads a test but for its rows, which may come from a file.
pub(crate) fn test(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Test> {
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
        answers: answers(node.get("answers")),
        judges: texts(node.get("judges")),
        probes: &[],
        retries: retries(node),
        unavailable: UNAVAILABLE_TEST_KEYS.into_iter().find(|key| node.get(key).is_some()),
        injects: node.get("inject").is_some_and(|inject| !inject.items().is_empty()),
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
