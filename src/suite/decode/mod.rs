//! From checked nodes to the model; collects every mistake that the grammar cannot see.
//!
//! What the grammar already reported is passed over in silence here: a part that is missing or of a wrong type makes
//! no model, and no second message.

mod auth;
mod block;
mod misplaced;
mod property;
mod raw;
mod rule;
mod server;
mod snapshot;
mod step;
mod stray;
mod test;

use std::time::Duration;

use crate::source::{Located, Node, Span, parse_duration};

pub use self::block::{block_differential, block_fuzz, block_negative_path, block_schema_lint};
pub(super) use self::block::{blocks, share};
pub(super) use self::property::property;
pub use self::rule::block_compliance;
pub(super) use self::server::{answers, run_options, servers};
pub(super) use self::step::steps_around;
pub use self::test::skip_reason;
pub(super) use self::test::{UNAVAILABLE_TEST_KEYS, test};

pub(super) fn texts(node: Option<&Node>) -> Vec<Located<String>> {
    node.map(Node::items).unwrap_or_default().iter().filter_map(Node::located_text).collect()
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::flag).unwrap_or(false)
}

fn duration(node: &Node, key: &str) -> Option<Duration> {
    node.get(key).and_then(Node::text).and_then(parse_duration)
}

fn retries(node: &Node) -> Option<u32> {
    node.get("retries").and_then(Node::whole).and_then(|n| u32::try_from(n).ok())
}

/// The span of a key of a mapping.
pub(super) fn key_span(node: &Node, key: &str) -> Span {
    node.entries().iter().find(|(name, _)| name.value == key).map_or(node.span, |(name, _)| name.span)
}
