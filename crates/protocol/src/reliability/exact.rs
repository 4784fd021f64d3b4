//! Whether two shares differ by more than chance.

/// Shares differ if equal ones would differ as much in less than this share of all samples.
const SIGNIFICANT: f64 = 0.05;

/// The most trials that are proposed.
const MOST_TRIALS: u64 = 10_000;

/// Hits in a number of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// Those that hit.
    pub hits: u64,
    /// All of them.
    pub of: u64,
}

impl Trials {
    /// The probability, from 0 to 1, that two samples of one share differ at least as much as these: the exact test of
    /// Fisher (1922), "On the interpretation of χ² from contingency tables", with two sides, the second of which is every
    /// table that is no more probable.
    pub fn chance_against(self, other: Self) -> f64 {
        let (hits, all) = (self.hits + other.hits, self.of + other.of);
        let factorials = logs_of_factorials(all);
        let choices = |from: u64, taken: u64| {
            factorial(&factorials, from) - factorial(&factorials, taken) - factorial(&factorials, from - taken)
        };
        let probability = |own: u64| (choices(self.of, own) + choices(other.of, hits - own) - choices(all, hits)).exp();
        let observed = probability(self.hits);
        // Equal probabilities are computed in different ways.
        let is_as_rare = |chance: &f64| *chance <= observed * (1.0 + 1e-7);
        let possible = hits.saturating_sub(other.of)..=hits.min(self.of);
        possible.map(probability).filter(is_as_rare).sum::<f64>().min(1.0)
    }

    /// Returns true if the shares differ by more than chance.
    pub fn differs_from(self, other: Self) -> bool {
        self.chance_against(other) < SIGNIFICANT
    }

    /// The least number of trials of each, in steps of a tenth, in which the same shares would differ by more than chance;
    /// `None` where they are equal, or 10,000 are too few.
    pub fn trials_to_differ(self, other: Self) -> Option<u64> {
        if self.hits * other.of == other.hits * self.of {
            return None;
        }
        let scaled = |trials: Self, of: u64| Self { hits: (trials.hits * of + trials.of / 2) / trials.of.max(1), of };
        let mut of = self.of.max(other.of).max(1);
        while of <= MOST_TRIALS {
            if scaled(self, of).differs_from(scaled(other, of)) {
                return Some(of);
            }
            of += (of / 10).max(1);
        }
        None
    }
}

/// The logarithms of 0! to `most`!.
fn logs_of_factorials(most: u64) -> Vec<f64> {
    let mut logs = vec![0.0];
    let mut last = 0.0;
    for number in 1..=most {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let number = number as f64;
        last += number.ln();
        logs.push(last);
    }
    logs
}

fn factorial(logs: &[f64], of: u64) -> f64 {
    usize::try_from(of).ok().and_then(|at| logs.get(at)).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(hits: u64, of: u64) -> Trials {
        Trials { hits, of }
    }

    /// Agresti (2002), "Categorical Data Analysis", 3.5, the lady tasting tea; the others by enumeration.
    #[test]
    fn chances_are_the_known_ones() {
        for (first, second, expected) in [
            (trials(3, 4), trials(1, 4), 0.485_714),
            (trials(1, 10), trials(11, 14), 0.002_759),
            (trials(8, 10), trials(1, 6), 0.034_965),
            (trials(0, 5), trials(5, 5), 0.007_937),
            (trials(5, 5), trials(5, 5), 1.0),
            (trials(0, 0), trials(2, 5), 1.0),
        ] {
            for (one, other) in [(first, second), (second, first)] {
                let chance = one.chance_against(other);
                assert!((chance - expected).abs() < 1e-6, "{one:?} {other:?}: {chance}");
            }
        }
    }

    #[test]
    fn chances_are_those_of_counting_all_tables() {
        fn choose(from: u32, taken: u32) -> u32 {
            (0..taken).fold(1, |all, at| all * (from - at) / (at + 1))
        }
        for (own, first) in (0..=6_u32).flat_map(|of| (0..=of).map(move |hits| (hits, of))) {
            for (hits, of) in (1..=6_u32).flat_map(|of| (0..=of).map(move |hits| (hits, of))) {
                let all_hits = own + hits;
                let ways = |own: u32| {
                    let other = all_hits.checked_sub(own).filter(|other| *other <= of);
                    other.map_or(0, |other| choose(first, own) * choose(of, other))
                };
                let rare = (0..=first).map(ways).filter(|count| *count <= ways(own)).sum::<u32>();
                let counted = f64::from(rare) / f64::from(choose(first + of, all_hits));
                let chance = trials(own.into(), first.into()).chance_against(trials(hits.into(), of.into()));
                assert!((chance - counted).abs() < 1e-9, "{own} of {first}, {hits} of {of}: {chance} {counted}");
            }
        }
    }

    #[test]
    fn more_trials_tell_a_small_difference() {
        for (first, second, expected) in [
            (trials(3, 4), trials(3, 4), None),
            (trials(1, 2), trials(2, 4), None),
            (trials(5_001, 10_000), trials(5_002, 10_000), None),
        ] {
            assert_eq!(first.trials_to_differ(second), expected, "{first:?} {second:?}");
        }
        let more = trials(6, 10).trials_to_differ(trials(8, 10)).unwrap();
        assert!((40..=60).contains(&more), "{more}");
        assert!(!trials(6, 10).differs_from(trials(8, 10)));
        assert!(trials(31, 40).differs_from(trials(39, 40)));
    }
}
