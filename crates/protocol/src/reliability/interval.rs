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

/// Hits in clusters of equal size, such as the failed tasks of each seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterCounts {
    /// The number of clusters.
    pub clusters: u64,
    /// The hits in all of them.
    pub hits: u64,
    /// The sum of the squares of the hits of each.
    squares: u64,
}

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_963_984_540_054;

impl ClusterCounts {
    /// Adds a cluster.
    pub fn add(&mut self, hits: u64) {
        self.clusters += 1;
        self.hits += hits;
        self.squares += hits * hits;
    }
}

impl Interval {
    /// The share of `hits` in `of`; nothing of nothing is everything between 0 and 1.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn wilson(hits: u64, of: u64) -> Self {
        if of == 0 {
            return Self { share: 0.0, low: 0.0, high: 1.0 };
        }
        Self::of_sample(hits as f64 / of as f64, of as f64)
    }

    /// The share of hits in clusters of `size`, of which only the clusters are independent of each other: the interval of
    /// Wilson for the number of independent tasks that would vary as much (Kish 1965, "Survey sampling", on the effective
    /// sample size), but never more than there are.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn of_clusters(counts: ClusterCounts, size: u64) -> Self {
        let independent = Self::wilson(counts.hits, counts.clusters * size);
        if counts.clusters < 2 {
            return independent;
        }
        let (clusters, hits, size) = (counts.clusters as f64, counts.hits as f64, size as f64);
        let variance = (counts.squares as f64 - hits * hits / clusters) / (clusters - 1.0);
        let variance_of_share = variance / (clusters * size * size);
        let effective = independent.share * (1.0 - independent.share) / variance_of_share;
        // Also where nothing varies, and the quotient is no number or has no end.
        if effective < clusters * size { Self::of_sample(independent.share, effective) } else { independent }
    }

    fn of_sample(share: f64, count: f64) -> Self {
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

    #[test]
    fn clusters_that_differ_widen_an_interval() {
        let counts = |hits: &[u64]| {
            let mut counts = ClusterCounts::default();
            for hits in hits {
                counts.add(*hits);
            }
            counts
        };
        let wilson = Interval::wilson(40, 80);
        assert_eq!(Interval::of_clusters(counts(&[10, 10, 10, 10]), 20), wilson);
        assert_eq!(Interval::of_clusters(counts(&[40]), 80), wilson);
        assert_eq!(Interval::of_clusters(counts(&[0, 0]), 20), Interval::wilson(0, 40));
        // Each cluster is all or nothing, so it counts as little more than one item: 4 clusters as 3 items.
        let extreme = Interval::of_clusters(counts(&[0, 20, 0, 20]), 20);
        let three = Interval::of_sample(0.5, 3.0);
        assert!((extreme.low - three.low).abs() < 1e-12 && (extreme.high - three.high).abs() < 1e-12, "{extreme:?}");
    }
}
