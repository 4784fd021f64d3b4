//! `price:`, what the tokens of a model cost; the suite says it, since prices change.

use super::provider::Tokens;
use crate::source::settings::Setting;
use crate::source::{Node, settings};

/// So many tokens have a price.
const TOKENS: f64 = 1_000_000.0;

/// Significant figures of a printed cost.
const FIGURES: i32 = 3;

settings! {
    /// The price of a million tokens, in any money.
    #[derive(Copy, PartialEq, Default)]
    pub(crate) struct Price as "a price" {
        /// A million tokens that the model reads.
        input: f64 => required(),
        /// A million of those that the provider had in its cache; by default as `input`.
        cached: Option<f64>,
        /// A million tokens that it writes.
        output: f64 => required(),
    }
}

impl Price {
    /// The price of a provider or a model; a part that is missing was reported.
    pub(crate) fn of_written(written: &Node) -> Self {
        Self::decode(written, &mut Vec::new()).unwrap_or_default()
    }

    /// The cost of so many tokens.
    #[expect(clippy::cast_precision_loss, reason = "a cost is shown with three figures")]
    pub(crate) fn of(self, tokens: Tokens) -> f64 {
        let cached = tokens.cached.min(tokens.read);
        let fresh = (tokens.read - cached) as f64;
        let read = self.input * fresh + self.cached.unwrap_or(self.input) * cached as f64;
        (read + self.output * tokens.written as f64) / TOKENS
    }
}

/// A cost in figures: `0.00123`, `12.5`.
pub(crate) fn cost_text(cost: f64) -> String {
    let before = if cost > 0.0 { cost.log10().floor() } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "logarithms of finite numbers are small")]
    let decimals = (FIGURES - 1 - before as i32).clamp(0, 12);
    let text = format!("{cost:.*}", usize::try_from(decimals).unwrap_or_default());
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let price = |cached| Price { input: 2.0, cached, output: 10.0 };
        for (cached, tokens, expected) in [
            (None, Tokens { read: 1_000_000, cached: 400_000, written: 0 }, 2.0),
            (Some(0.5), Tokens { read: 1_000_000, cached: 400_000, written: 100_000 }, 2.4),
            (Some(0.0), Tokens { read: 1_000_000, cached: 1_000_000, written: 0 }, 0.0),
            // A provider that counts them beside the others.
            (Some(0.5), Tokens { read: 0, cached: 400_000, written: 0 }, 0.0),
        ] {
            let cost = price(cached).of(tokens);
            assert!((cost - expected).abs() < 1e-9, "{cached:?} {tokens:?}: {cost}");
        }
    }

    #[test]
    fn costs_have_few_figures() {
        let texts = [0.0, 0.001_234_5, 0.05, 12.0, 12.345, 1234.5].map(cost_text);
        assert_eq!(texts, ["0", "0.00123", "0.05", "12", "12.3", "1234"]);
    }
}
