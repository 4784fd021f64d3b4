//! `repeat:`, how often an agent runs, and how reliable it must be.
//!
//! pass^k is the chance that each of `k` runs passes, as in <https://arxiv.org/abs/2406.12045>.

use serde_json::{Value, json};

use super::judge::share_text;
use crate::reliability::Interval;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, settings};

/// The most runs of an agent.
const MOST_RUNS: u64 = 1000;

settings! {
    /// Several runs of one agent.
    struct RepeatKeys as "repeated runs" {
        /// How many runs are made.
        runs: u64 => required() range(1, MOST_RUNS),
        /// The share of them that must pass; by default all, or what `pass` asks for.
        at_least: Option<f64> => shape(Shape::Share),
        /// pass^k, the chance that each of `k` runs passes, is reported for these `k`.
        pass: Vec<PassPower> => shape(Shape::Set(&PassPower::SHAPE)),
    }
}

settings! {
    /// The chance that each of `k` runs passes.
    struct PassKeys as "runs in a row" {
        /// How many runs; no more than are made.
        k: Located<u64> => required() range(1, MOST_RUNS),
        /// The least chance, as it is estimated from all runs.
        at_least: f64 => required() shape(Shape::Share),
    }
}

/// The number of runs of an agent, and of those that must pass.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    pub(crate) runs: usize,
    at_least: f64,
    powers: Vec<PassPower>,
}

/// A pass^k that is reported.
#[derive(Debug, Clone, Copy)]
struct PassPower {
    k: u64,
    at_least: f64,
    span: Span,
}

impl Setting for PassPower {
    const SHAPE: Shape = Shape::Either(&[Shape::Range(1, MOST_RUNS), PassKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Some(k) = node.whole() {
            return Some(Self { k, at_least: 0.0, span: node.span });
        }
        let PassKeys { k, at_least } = PassKeys::decode(node, found)?;
        Some(Self { k: k.value, at_least, span: k.span })
    }
}

impl Setting for Repeat {
    const SHAPE: Shape = Shape::Either(&[Shape::Range(1, MOST_RUNS), RepeatKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let keys = match node.whole() {
            Some(runs) => RepeatKeys { runs, at_least: None, pass: Vec::new() },
            None => RepeatKeys::decode(node, found)?,
        };
        let runs = keys.runs;
        for PassPower { k, span, .. } in keys.pass.iter().filter(|power| power.k > runs) {
            let message = format!("`k` must be at most the number of runs, {runs}, not {k}");
            found.push(Diagnostic::error("bad-number", message, *span));
        }
        let asks = keys.pass.iter().any(|power| power.at_least > 0.0);
        let at_least = keys.at_least.unwrap_or(if asks { 0.0 } else { 1.0 });
        Some(Self { runs: usize::try_from(runs).unwrap_or(1).max(1), at_least, powers: keys.pass })
    }
}

/// The number of runs that passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassedRuns {
    pub(crate) passed: usize,
    pub(crate) runs: usize,
}

/// A pass^k of the runs that were made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassEstimate {
    pub(crate) k: u64,
    pub(crate) interval: Interval,
    /// The least chance that is asked for.
    pub(crate) at_least: f64,
}

impl Repeat {
    /// So many runs are enough; never without one that passed.
    pub(crate) fn is_met(&self, runs: PassedRuns) -> bool {
        runs.passed > 0 && runs.interval().share >= self.at_least && self.estimates(runs).all(PassEstimate::is_met)
    }

    /// Each pass^k that the suite asks for.
    pub(crate) fn estimates(&self, runs: PassedRuns) -> impl Iterator<Item = PassEstimate> {
        self.powers.iter().map(move |power| runs.power(power.k, power.at_least))
    }
}

impl PassedRuns {
    /// In words, with the interval.
    pub(crate) fn text(self) -> String {
        format!("{} of {} runs passed, {}", self.passed, self.runs, share_text(self.interval()))
    }

    pub(crate) fn interval(self) -> Interval {
        Interval::wilson(self.passed as u64, self.runs as u64)
    }

    /// The share of those among all choices of `k` runs that have only passed ones, C(passed, k) / C(runs, k), which is
    /// unbiased; its interval is that of one run, to the power of `k`.
    #[expect(clippy::cast_precision_loss, reason = "runs are few")]
    fn power(self, k: u64, at_least: f64) -> PassEstimate {
        let (passed, runs) = (self.passed as u64, self.runs as u64);
        let share = (0..k).map(|at| passed.saturating_sub(at) as f64 / runs.saturating_sub(at).max(1) as f64).product();
        let one = self.interval();
        let to_power = |chance: f64| chance.powi(i32::try_from(k).unwrap_or(i32::MAX));
        let interval = Interval { share, low: to_power(one.low).min(share), high: to_power(one.high).max(share) };
        PassEstimate { k, interval, at_least }
    }
}

impl PassEstimate {
    fn is_met(self) -> bool {
        // A product of quotients may be off in its last bit.
        self.interval.share + f64::EPSILON >= self.at_least
    }

    /// For programs.
    pub(crate) fn json(self) -> Value {
        json!({ "k": self.k, "share": self.interval.share, "low": self.interval.low, "high": self.interval.high })
    }

    /// `pass^3`.
    pub(crate) fn name(self) -> String {
        format!("pass^{}", self.k)
    }

    /// Its share, with what is asked for where that is missed.
    pub(crate) fn text(self) -> String {
        let text = share_text(self.interval);
        if self.is_met() { text } else { format!("{text}, below {:.0}%", self.at_least * 100.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::Scene;

    fn share(passed: usize, runs: usize, k: u64) -> f64 {
        PassedRuns { passed, runs }.power(k, 0.0).interval.share
    }

    /// Counts the choices of `k` runs one by one.
    fn counted(passed: usize, runs: usize, k: u64) -> f64 {
        let chosen = (0u32..1 << runs).filter(|chosen| u64::from(chosen.count_ones()) == k);
        let (all, good) =
            chosen.fold((0u32, 0u32), |(all, good), chosen| (all + 1, good + u32::from(chosen >> passed == 0)));
        f64::from(good) / f64::from(all)
    }

    #[test]
    fn pass_powers_are_the_share_of_choices_with_passed_runs_only() {
        for runs in 1..=8 {
            for passed in 0..=runs {
                for k in 1..=runs as u64 {
                    let (estimated, counted) = (share(passed, runs, k), counted(passed, runs, k));
                    assert!((estimated - counted).abs() < 1e-12, "{passed} of {runs}, {k}: {estimated}, {counted}");
                }
            }
        }
    }

    #[test]
    fn an_interval_holds_its_estimate() {
        for passed in 0..=10 {
            for k in 1..=10 {
                let PassEstimate { interval, .. } = PassedRuns { passed, runs: 10 }.power(k, 0.0);
                assert!(
                    interval.low <= interval.share && interval.share <= interval.high,
                    "{passed}, {k}: {interval:?}"
                );
            }
        }
    }

    #[test]
    fn enough_runs_must_pass() {
        for (repeat, passed, is_met) in [
            ("1", 1, true),
            ("3", 3, true),
            ("3", 2, false),
            ("{ runs: 4, at_least: 0.5 }", 2, true),
            ("{ runs: 4, at_least: 0.5 }", 1, false),
            ("{ runs: 4, at_least: 0 }", 0, false),
            // pass^2 of 3 among 4 runs is 3/6.
            ("{ runs: 4, pass: [{ k: 2, at_least: 0.5 }] }", 3, true),
            ("{ runs: 4, pass: [{ k: 2, at_least: 0.51 }] }", 3, false),
            // A pass^k that is only reported asks for nothing; all runs must pass then.
            ("{ runs: 4, pass: [2] }", 3, false),
            ("{ runs: 4, pass: [2] }", 4, true),
        ] {
            let repeat_read: Repeat = Scene::new(repeat).read();
            assert_eq!(repeat_read.is_met(PassedRuns { passed, runs: repeat_read.runs }), is_met, "{repeat}: {passed}");
        }
    }

    #[test]
    fn more_runs_in_a_row_than_there_are_is_a_mistake() {
        let scene = Scene::new("{ runs: 3, pass: [2, 4, { k: 5, at_least: 1 }] }");
        let mut found = Vec::new();
        Repeat::decode(&scene.node, &mut found);
        let messages: Vec<&str> = found.iter().map(|mistake| mistake.message.as_str()).collect();
        assert_eq!(
            messages,
            ["`k` must be at most the number of runs, 3, not 4", "`k` must be at most the number of runs, 3, not 5"]
        );
    }

    #[test]
    fn a_missed_estimate_says_what_is_asked_for() {
        let power = |passed, at_least| PassedRuns { passed, runs: 10 }.power(1, at_least);
        assert_eq!(power(9, 0.9).text(), "90% (60% to 98%)");
        assert_eq!(power(8, 0.9).text(), "80% (49% to 94%), below 90%");
        assert_eq!(power(8, 0.9).name(), "pass^1");
    }
}
