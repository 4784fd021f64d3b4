//! `budget:`, how much a run may take.

use std::time::Duration;

use super::price::{Price, cost_text};
use super::provider::Tokens;
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

    /// The part of the budget that a run has spent, which may have a cost.
    pub(crate) fn exceeded(&self, tokens: Tokens, cost: Option<f64>) -> Option<String> {
        if let Some(most) = self.tokens.filter(|most| tokens.all() > *most) {
            return Some(format!("{most} tokens"));
        }
        let most = self.cost.filter(|most| cost.is_some_and(|cost| cost > *most))?;
        Some(format!("{} of cost", cost_text(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::Scene;

    #[test]
    fn a_turn_beyond_the_budget_ends_the_run() {
        let scene = Scene::new("{ budget: { calls: 2, tokens: 100, cost: 0.5 } }");
        let mut found = Vec::new();
        let budget = Budget::read(&scene.node, None, Some(Price::default()), &mut found);
        assert!(found.is_empty());
        for (read, cost, expected) in [
            (100, Some(0.5), None),
            (101, None, Some("100 tokens")),
            (1, Some(0.51), Some("0.5 of cost")),
            // Both are over; the tokens are what a user can count.
            (101, Some(0.51), Some("100 tokens")),
            (1, None, None),
        ] {
            let tokens = Tokens { read, written: 0 };
            assert_eq!(budget.exceeded(tokens, cost).as_deref(), expected, "{read} {cost:?}");
        }
    }

    #[test]
    fn a_budget_has_defaults_and_a_cost_needs_a_price() {
        let scene = Scene::new("{ name: a }");
        let budget = Budget::read(&scene.node, None, None, &mut Vec::new());
        assert_eq!((budget.calls, budget.time.as_secs(), budget.tokens, budget.span), (100, 60, None, None));
        let scene = Scene::new("{ budget: { cost: 1 } }");
        let mut found = Vec::new();
        Budget::read(&scene.node, Some("small"), None, &mut found);
        assert_eq!(found[0].message, "`cost` needs the `price` of the model `small`");
    }
}
