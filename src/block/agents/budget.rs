//! `budget:`, how much a run may take.

use std::time::Duration;

use super::price::cost_text;
use super::provider::Tokens;
use crate::source::settings::Setting;
use crate::source::{Located, Node, Span, Value, settings};

settings! {
    /// How much a run may take; one that wants more is ended and fails.
    pub(crate) struct Budget as "a budget", at span {
        /// The most calls of tools.
        pub(crate) calls: usize => range(1, 100_000) default("100"),
        /// The most tokens that are read and written; where the model does not count them, four bytes are one.
        pub(crate) tokens: Option<u64> => range(1, 1_000_000_000),
        /// The highest cost, in the money of the `price` of the provider.
        pub(crate) cost: Option<Located<f64>>,
        /// The time for a run, the start of its servers included.
        pub(crate) time: Duration => default("60s"),
    }
}

impl Budget {
    /// The budget of an agent for which none is written.
    pub(crate) fn usual(agent: Span) -> Option<Self> {
        Self::decode(&Node { value: Value::Map(Vec::new()), span: agent }, &mut Vec::new())
    }

    /// The part of the budget that a run has spent, which may have a cost.
    pub(crate) fn exceeded_part(&self, tokens: Tokens, cost: Option<f64>) -> Option<String> {
        if let Some(most) = self.tokens.filter(|most| tokens.all() > *most) {
            return Some(format!("{most} tokens"));
        }
        let most = self.cost.as_ref().map(|most| most.value).filter(|most| cost.is_some_and(|cost| cost > *most))?;
        Some(format!("{} of cost", cost_text(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::Scene;

    #[test]
    fn a_turn_beyond_the_budget_ends_the_run() {
        let budget: Budget = Scene::new("{ calls: 2, tokens: 100, cost: 0.5 }").read();
        for (read, cost, expected) in [
            (100, Some(0.5), None),
            (101, None, Some("100 tokens")),
            (1, Some(0.51), Some("0.5 of cost")),
            // Both are over; the tokens are what a user can count.
            (101, Some(0.51), Some("100 tokens")),
            (1, None, None),
        ] {
            let tokens = Tokens { read, cached: 0, written: 0 };
            assert_eq!(budget.exceeded_part(tokens, cost).as_deref(), expected, "{read} {cost:?}");
        }
    }

    #[test]
    fn a_budget_has_defaults() {
        let budget = Budget::usual(Scene::new("{ name: a }").node.span).unwrap();
        assert_eq!((budget.calls, budget.time.as_secs(), budget.tokens), (100, 60, None));
    }

    #[test]
    fn a_cost_needs_a_price() {
        let (_, found) = Scene::new(
            "{ name: a, prompt: Go, provider: { scripted: [{ answer: ok }] }, expect: [{ text: ok }], budget: { cost: 1 } }",
        )
        .agent();
        assert_eq!(found[0].message, "`cost` needs the `price` of the model");
    }
}
