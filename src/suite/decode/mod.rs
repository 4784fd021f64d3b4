//! From checked nodes to the model; collects every mistake that the grammar cannot see.
//!
//! Mistakes that the grammar already reported are skipped here: a part that is missing or of a wrong type makes no
//! model, and no second message.

mod matcher_scope;
mod raw;
mod rule;
mod server;
mod snapshot;
mod step;
mod test;
mod tools;

use std::time::Duration;

use crate::source::{Located, Node, Span, parse_duration};

pub(crate) use self::rule::level;
pub(crate) use self::server::servers;
pub(crate) use self::step::steps;
pub(crate) use self::step::steps_around;
pub(crate) use self::test::{NamedFaults, injected, named_faults, skip_reason, test};
pub(crate) use self::tools::{selected_tools, tool_selection};

/// The texts of a list.
pub(crate) fn texts(node: Option<&Node>) -> Vec<Located<String>> {
    node.map(Node::items).unwrap_or_default().iter().filter_map(Node::located_text).collect()
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::flag).unwrap_or(false)
}

/// A duration under a key.
pub(crate) fn duration(node: &Node, key: &str) -> Option<Duration> {
    node.get(key).and_then(Node::text).and_then(parse_duration)
}

fn retries(node: &Node) -> Option<u32> {
    node.get("retries").and_then(Node::whole).and_then(|n| u32::try_from(n).ok())
}

/// The span of a key of a mapping.
pub(crate) fn key_span(node: &Node, key: &str) -> Span {
    node.entries().iter().find(|(name, _)| name.value == key).map_or(node.span, |(name, _)| name.span)
}
