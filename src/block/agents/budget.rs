//! `budget:`, how much a run may take.

use std::time::Duration;

use crate::source::grammar::{Object, Shape, key};
use crate::source::{Node, Value};

pub(super) static BUDGET: Object = Object {
    name: "a budget",
    doc: "How much a run may take; one that wants more is ended and fails.",
    keys: &[&[
        key("calls", Shape::Range(1, 100_000), "The most calls of tools.").default("100"),
        key(
            "tokens",
            Shape::Range(1, 1_000_000_000),
            "The most tokens that are read and written; where the model does not count them, four bytes are one.",
        ),
        key("time", Shape::Timeout, "The time for a run, the start of its servers included.").default("60s"),
    ]],
};

/// How much a run may take.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    pub(super) calls: usize,
    pub(super) tokens: Option<u64>,
    pub(super) time: Duration,
}

impl Budget {
    /// The budget under the key of an agent.
    pub(super) fn read(agent: &Node) -> Self {
        let nothing = Node { value: Value::Map(Vec::new()), span: agent.span };
        let node = agent.get("budget").unwrap_or(&nothing);
        Self {
            calls: BUDGET.whole(node, "calls").and_then(|calls| usize::try_from(calls).ok()).unwrap_or(usize::MAX),
            tokens: BUDGET.whole(node, "tokens"),
            time: BUDGET.duration(node, "time").unwrap_or_default(),
        }
    }
}
