//! From checked nodes to the model; collects every mistake that the grammar cannot see.
//!
//! Mistakes that the grammar already reported are skipped here: a part that is missing or of a wrong type makes no
//! model, and no second message.

mod matcher_scope;
mod rule;
mod server;
mod snapshot;
mod step;
mod test;
mod tools;

use crate::source::{Node, Span};

pub(crate) use self::server::servers;
pub(crate) use self::step::check_steps_around;
pub(crate) use self::test::{NamedFaults, injected, named_faults, test};

/// The span of a key of a mapping.
pub(crate) fn key_span(node: &Node, key: &str) -> Span {
    node.entries().iter().find(|(name, _)| name.value == key).map_or(node.span, |(name, _)| name.span)
}
