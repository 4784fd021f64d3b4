//! Shares with their interval.

/// A share and the interval in which it lies with 95 % confidence: that of Wilson (1927), "Probable inference, the law of
/// succession, and statistical inference", which holds for small shares as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The share, from 0 to 1.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_963_984_540_054;

impl Interval {
    /// The share of `hits` in `of`; nothing of nothing is everything between 0 and 1.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn wilson(hits: u64, of: u64) -> Self {
        if of == 0 {
            return Self { share: 0.0, low: 0.0, high: 1.0 };
        }
        let (count, share) = (of as f64, hits as f64 / of as f64);
        let denominator = 1.0 + Z * Z / count;
        let middle = (share + Z * Z / (2.0 * count)) / denominator;
        let half = Z / denominator * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        Self { share, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
    #[test]
    fn intervals_are_the_published_ones() {
        for (hits, of, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let interval = Interval::wilson(hits, of);
            assert!((interval.low - low).abs() < 5e-5 && (interval.high - high).abs() < 5e-5, "{interval:?}");
        }
        assert_eq!(Interval::wilson(0, 0), Interval { share: 0.0, low: 0.0, high: 1.0 });
    }
}
