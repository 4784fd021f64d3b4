//! Patterns of resilience under many error rates, fan-outs and correlations, with the same faults for every pattern.

use super::client::play;
use super::faults::{SeedDraws, SeedFaults};
use super::figures::SeedTotals;
use super::{Correlation, FaultModel, NamedPatterns, PatternRow, TASKS};
use crate::reliability::{ClusterCounts, Interval};

/// The values that a sweep crosses, and what is the same in each of its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepGrid {
    /// The correlation of errors.
    pub correlations: Vec<Correlation>,
    /// Shares of attempts that are answered with an error.
    pub error_rates: Vec<f64>,
    /// Numbers of calls of a task, 1 or more.
    pub fan_outs: Vec<usize>,
    /// The patterns of each cell; the first one is what others are compared with.
    pub patterns: Vec<&'static NamedPatterns>,
    /// The share of attempts with a wrong answer.
    pub wrong: f64,
    /// The share of attempts that take longer than the deadline.
    pub slow: f64,
    /// The number of seeds, from 0 on.
    pub seeds: u32,
}

/// The figures of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The values that were crossed.
    pub grid: SweepGrid,
    /// A cell for each correlation, in it for each error rate, in it for each fan-out.
    pub cells: Vec<SweepCell>,
}

/// The figures for one correlation, error rate and fan-out.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepCell {
    /// The correlation of errors.
    pub correlation: Correlation,
    /// The share of attempts that were to be answered with an error.
    pub error_rate: f64,
    /// The number of calls of a task.
    pub fan_out: usize,
    /// The share of first attempts that were.
    pub measured_errors: Interval,
    /// The figures of each pattern, in the order of the grid.
    pub rows: Vec<PatternRow>,
}

/// The sums of a cell.
struct CellTotals {
    model: FaultModel,
    fan_out: usize,
    errors: ClusterCounts,
    patterns: Vec<SeedTotals>,
}

impl SweepGrid {
    /// Why some of the cells cannot be; `None` if all can.
    pub fn mistake(&self) -> Option<String> {
        self.models().find_map(|model| model.mistake())
    }

    fn models(&self) -> impl Iterator<Item = FaultModel> + '_ {
        self.correlations.iter().flat_map(|correlation| {
            self.error_rates.iter().map(|errors| FaultModel {
                errors: *errors,
                correlation: *correlation,
                wrong: self.wrong,
                slow: self.slow,
            })
        })
    }
}

impl SweepCell {
    /// A pattern fails more tasks than the first one, and the intervals do not overlap.
    pub fn is_worse(&self, row: &PatternRow) -> bool {
        row.figures.blast_radius.low > self.rows[0].figures.blast_radius.high
    }
}

/// Plays every pattern in every cell.
pub fn sweep(grid: SweepGrid) -> Sweep {
    let mut cells: Vec<CellTotals> = grid
        .models()
        .flat_map(|model| grid.fan_outs.iter().map(move |fan_out| (model, *fan_out)))
        .map(|(model, fan_out)| CellTotals {
            model,
            fan_out,
            errors: ClusterCounts::default(),
            patterns: vec![SeedTotals::default(); grid.patterns.len()],
        })
        .collect();
    let most = grid.fan_outs.iter().copied().max().unwrap_or_default();
    for seed in 0..grid.seeds {
        let draws = SeedDraws::new(seed, most);
        for cell in &mut cells {
            cell.add(&SeedFaults::new(&draws, cell.model, cell.fan_out), &grid.patterns);
        }
    }
    let cells = cells.iter().map(|cell| cell.finish(&grid.patterns)).collect();
    Sweep { grid, cells }
}

impl CellTotals {
    fn add(&mut self, faults: &SeedFaults<'_>, patterns: &[&'static NamedPatterns]) {
        self.errors.add(faults.first_errors());
        for (totals, named) in self.patterns.iter_mut().zip(patterns) {
            totals.add(&play(named.patterns, faults));
        }
    }

    fn finish(&self, patterns: &[&'static NamedPatterns]) -> SweepCell {
        SweepCell {
            correlation: self.model.correlation,
            error_rate: self.model.errors,
            fan_out: self.fan_out,
            measured_errors: Interval::of_clusters(self.errors, (TASKS * self.fan_out) as u64),
            rows: self.patterns.iter().zip(patterns).map(|(totals, named)| totals.row(named)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep_of(correlation: Correlation, names: &[&str], seeds: u32) -> Sweep {
        sweep(SweepGrid {
            correlations: vec![correlation],
            error_rates: vec![0.01, 0.02, 0.05, 0.1],
            fan_outs: vec![2, 4, 8, 16],
            patterns: names.iter().map(|name| NamedPatterns::by_name(name).unwrap()).collect(),
            wrong: 0.0,
            slow: 0.0,
            seeds,
        })
    }

    /// The distance of a figure from the expected one, as a multiple of the distance to the end of its interval.
    fn distance(interval: Interval, expected: f64) -> f64 {
        let end = if expected < interval.share { interval.low } else { interval.high };
        (expected - interval.share) / (end - interval.share)
    }

    /// Of 16 intervals of 95 %, one or two may miss, but none by far.
    fn assert_meets(sweep: &Sweep, of: impl Fn(&SweepCell) -> Interval, expected: impl Fn(&SweepCell) -> f64) {
        let distances: Vec<f64> = sweep.cells.iter().map(|cell| distance(of(cell), expected(cell))).collect();
        assert!(distances.iter().all(|distance| *distance < 2.0), "{distances:?}");
        assert!(distances.iter().filter(|distance| **distance > 1.0).count() <= 2, "{distances:?}");
    }

    fn power(share: f64, calls: usize) -> f64 {
        share.powi(i32::try_from(calls).unwrap())
    }

    fn blast_radius(cell: &SweepCell) -> Interval {
        cell.rows[0].figures.blast_radius
    }

    #[test]
    fn independent_errors_meet_the_formula() {
        let sweep = sweep_of(Correlation::Independent, &["none"], 40);
        assert_meets(&sweep, blast_radius, |cell| 1.0 - power(1.0 - cell.error_rate, cell.fan_out));
    }

    /// The calls of a task share the servers of the five tools.
    #[test]
    fn episodes_meet_the_formula() {
        let sweep = sweep_of(Correlation::Episodes(20), &["none"], 40);
        assert_meets(&sweep, blast_radius, |cell| 1.0 - power(1.0 - cell.error_rate, cell.fan_out.min(5)));
    }

    /// A task escapes a burst if its first call does, and no later one is the first of a burst.
    #[test]
    fn bursts_meet_the_formula() {
        let sweep = sweep_of(Correlation::Bursts(16), &["none"], 40);
        assert_meets(&sweep, blast_radius, |cell| {
            let share = cell.error_rate;
            1.0 - (1.0 - share) * power(1.0 - share / (16.0 * (1.0 - share)), cell.fan_out - 1)
        });
    }

    #[test]
    fn shares_of_errors_are_those_that_were_asked_for() {
        for correlation in [
            Correlation::Independent,
            Correlation::Bursts(4),
            Correlation::Bursts(64),
            Correlation::Episodes(1),
            Correlation::Episodes(20),
        ] {
            let sweep = sweep_of(correlation, &["none"], 40);
            assert_meets(&sweep, |cell| cell.measured_errors, |cell| cell.error_rate);
        }
    }

    /// A breaker that never closes keeps failing tasks after the servers are well again.
    #[test]
    fn a_latched_breaker_makes_episodes_worse() {
        let names = ["none", "latched-breaker", "breaker"];
        let worse = |correlation: Correlation, pattern: usize| {
            let sweep = sweep_of(correlation, &names, 20);
            sweep.cells.iter().filter(|cell| cell.is_worse(&cell.rows[pattern])).count()
        };
        assert_eq!(worse(Correlation::Independent, 1), 0);
        assert!(worse(Correlation::Episodes(20), 1) >= 8);
        assert_eq!(worse(Correlation::Episodes(20), 2), 0);
    }
}
