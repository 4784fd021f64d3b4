//! Rules, needs, and what a `compliance:` block asks for.

use std::sync::Arc;

use super::step::steps;
use super::texts;
use crate::source::template::expression_problem;
use crate::source::{Diagnostic, Located, Node};
use crate::suite::model::{Carrier, Handshake, Rule, RuleLevel, Step, TestNeed};
use crate::wire::Revision;

/// The rule for which a test stands.
pub(crate) fn rule(node: &Node) -> Option<Arc<Rule>> {
    let rule = node.get("rule")?;
    let text = |key: &str| rule.get(key).and_then(Node::text).map(str::to_owned);
    let named = texts(rule.get("revisions"));
    let mut revisions: Vec<Revision> = named.iter().filter_map(|name| Revision::parse(&name.value)).collect();
    if revisions.is_empty() {
        revisions.extend(Revision::ALL);
    }
    revisions.sort_unstable();
    Some(Arc::new(Rule {
        id: text("id")?,
        section: text("section")?,
        level: level(rule, RuleLevel::Must),
        advice: text("advice"),
        revisions,
        over: carrier(rule),
        quote: text("quote")?,
        source: text("source"),
        why: text("why")?,
        good: text("good")?,
        broken: rule.get("broken").cloned(),
        also_broken: also_broken(rule),
        reference: rule.get("reference").cloned(),
        span: rule.span,
    }))
}

fn also_broken(rule: &Node) -> Vec<(String, Node)> {
    let variants = rule.get("also_broken").map(Node::entries).unwrap_or_default().iter();
    variants.map(|(name, faults)| (name.value.clone(), faults.clone())).collect()
}

/// Reads a level.
pub(crate) fn level(node: &Node, default: RuleLevel) -> RuleLevel {
    match node.get("level").and_then(Node::text) {
        Some("must") => RuleLevel::Must,
        Some("should") => RuleLevel::Should,
        _ => default,
    }
}

fn carrier(node: &Node) -> Option<Carrier> {
    node.get("over").and_then(Node::text).map(|word| if word == "http" { Carrier::Http } else { Carrier::Stdio })
}

/// The needs of a test.
pub(crate) fn needs(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<TestNeed> {
    node.get("needs").map(Node::items).unwrap_or_default().iter().flat_map(|item| need(item, found)).collect()
}

fn need(item: &Node, found: &mut Vec<Diagnostic>) -> Vec<TestNeed> {
    let text = |key: &str| item.get(key).and_then(Node::text).map(str::to_owned);
    let assert = item.get("assert").and_then(Node::located_text);
    if let Some(expression) = &assert
        && let Some(reason) = expression_problem(&expression.value)
    {
        found.push(Diagnostic::error("bad-expression", format!("invalid expression: {reason}"), expression.span));
    }
    let reason = text("else");
    let because = |expression: Located<String>| TestNeed::Assert {
        reason: reason.clone().unwrap_or_else(|| format!("it needs `{}`", expression.value)),
        expression,
    };
    [
        text("hint").map(TestNeed::Hint),
        text("capability").map(TestNeed::Capability),
        text("no_capability").map(TestNeed::NoCapability),
        carrier(item).map(TestNeed::Over),
        assert.map(because),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Steps that must go well before the others count.
pub(crate) fn preconditions(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    steps(node.get("witness"), found)
}

/// The texts that all frames are searched for.
pub(crate) fn scans(node: &Node) -> Vec<Located<String>> {
    let Some(scan) = node.get("scan") else { return Vec::new() };
    scan.located_text().map_or_else(|| texts(Some(scan)), |one| vec![one])
}

/// Reads the beginning of the session of a test.
pub(crate) fn handshake(node: &Node) -> Handshake {
    if node.get("handshake").and_then(Node::flag) == Some(false) { Handshake::Skip } else { Handshake::Perform }
}
