//! `budget:`, how much a run may take.

use std::time::Duration;

use super::price::Price;
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Diagnostic, Node, Span, Value};

pub(crate) static BUDGET: Object = Object {
    name: "a budget",
    doc: "How much a run may take; one that wants more is ended and fails.",
    keys: &[&[
        key("calls", Shape::Range(1, 100_000), "The most calls of tools.").default("100"),
        key(
            "tokens",
            Shape::Range(1, 1_000_000_000),
            "The most tokens that are read and written; where the model does not count them, four bytes are one.",
        ),
        key("cost", Shape::Amount, "The highest cost, in the money of the `price` of the provider."),
        key("time", Shape::Timeout, "The time for a run, the start of its servers included.").default("60s"),
    ]],
};

/// The limits of a run.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// Its position in the suite, if the suite has one.
    pub(crate) span: Option<Span>,
    pub(crate) calls: usize,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
    pub(crate) time: Duration,
}

impl Budget {
    /// The budget under the key of an agent, whose model has this price, and this name if it is one of several.
    pub(crate) fn read(agent: &Node, model: Option<&str>, price: Option<Price>, found: &mut Vec<Diagnostic>) -> Self {
        let nothing = Node { value: Value::Map(Vec::new()), span: agent.span };
        let node = agent.get("budget").unwrap_or(&nothing);
        let cost = node.get("cost");
        if let Some(without_price) = cost.filter(|_| price.is_none()) {
            let of_model = model.map(|model| format!(" `{model}`")).unwrap_or_default();
            let message = format!("`cost` needs the `price` of the model{of_model}");
            let help = "write what a million tokens cost in `provider`, such as `price: { input: 3, output: 15 }`";
            found.push(Diagnostic::error("missing-key", message, without_price.span).with_help(help.to_owned()));
        }
        Self {
            span: agent.get("budget").map(|budget| budget.span),
            calls: BUDGET.whole(node, "calls").and_then(|calls| usize::try_from(calls).ok()).unwrap_or(usize::MAX),
            tokens: BUDGET.whole(node, "tokens"),
            cost: cost.and_then(|cost| cost.to_json().as_f64()),
            time: BUDGET.duration(node, "time").unwrap_or_default(),
        }
    }
}
