//! The demonstration with the same faults for every pattern, and with many seeds.

use super::client::play;
use super::faults::{SeedDraws, SeedFaults};
use super::figures::SeedTotals;
use super::{Correlation, ERROR_RATE, FAN_OUT, FaultModel, NAMED, PatternRow};

/// Every pattern under two kinds of faults.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTables {
    /// Under errors alone, as in the published table.
    pub errors: Vec<PatternRow>,
    /// Under errors, wrong answers that the client does not notice, and servers that are slow at times.
    pub mixed: Vec<PatternRow>,
}

const ERRORS: FaultModel =
    FaultModel { errors: ERROR_RATE, correlation: Correlation::Independent, wrong: 0.0, slow: 0.0 };
/// Errors, half as many wrong answers, and as many slow ones.
pub(crate) const MIXED: FaultModel = FaultModel { wrong: 0.01, slow: 0.02, ..ERRORS };

/// Every pattern under the same faults, with the seeds from 0 to `seeds`.
pub fn play_paired(seeds: u32) -> PairedTables {
    let mut errors = [SeedTotals::default(); NAMED.len()];
    let mut mixed = errors;
    for seed in 0..seeds {
        let draws = SeedDraws::new(seed, FAN_OUT);
        let (of_errors, of_mixed) = (SeedFaults::new(&draws, ERRORS, FAN_OUT), SeedFaults::new(&draws, MIXED, FAN_OUT));
        for (index, named) in NAMED.iter().enumerate() {
            errors[index].add(&play(named.patterns, &of_errors));
            mixed[index].add(&play(named.patterns, &of_mixed));
        }
    }
    let rows = |totals: &[SeedTotals]| NAMED.iter().zip(totals).map(|(named, totals)| totals.row(named)).collect();
    PairedTables { errors: rows(&errors), mixed: rows(&mixed) }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::chaos::PatternFigures;

    static TABLES: LazyLock<PairedTables> = LazyLock::new(|| play_paired(40));

    fn figures(rows: &[PatternRow], name: &str) -> PatternFigures {
        rows.iter().find(|row| row.pattern.name == name).unwrap().figures
    }

    /// The figures lie where the formula has them: 1 - (1 - e)^n.
    #[test]
    fn intervals_hold_the_analytic_figures() {
        for (name, expected) in [
            ("none", 1.0 - 0.98_f64.powi(8)),
            ("one-retry", 1.0 - (1.0 - 0.0004_f64).powi(8)),
            ("degradation", 1.0 - 0.98_f64.powi(6)),
            ("hedging", 1.0 - (1.0 - 0.0004_f64).powi(8)),
        ] {
            let found = figures(&TABLES.errors, name).blast_radius;
            assert!(found.low <= expected && expected <= found.high, "{name}: {found:?} for {expected}");
        }
        assert_eq!(figures(&TABLES.errors, "breaker"), figures(&TABLES.errors, "none"));
    }

    #[test]
    fn routing_avoids_slow_servers_and_nothing_else() {
        let (errors, mixed) = (&TABLES.errors, &TABLES.mixed);
        assert_eq!(figures(errors, "routing"), figures(errors, "none"));
        assert_eq!(figures(errors, "none").in_time.to_bits(), 1.0_f64.to_bits());
        let (routed, plain) = (figures(mixed, "routing"), figures(mixed, "none"));
        assert!(plain.in_time < 0.985 && routed.in_time > 0.995, "{routed:?} for {plain:?}");
        assert!(routed.blast_radius.high < plain.blast_radius.low, "{routed:?} for {plain:?}");
        assert!(figures(mixed, "two-retries").in_time < 0.985, "a retry is no help against slow servers");
    }

    #[test]
    fn wrong_answers_are_silent_for_every_pattern() {
        for row in &TABLES.errors {
            let figures = [row.figures.failed_silently, row.figures.correctness].map(f64::to_bits);
            assert_eq!(figures, [0.0_f64, 1.0].map(f64::to_bits), "{row:?}");
        }
        for row in &TABLES.mixed {
            let figures = row.figures;
            assert!((figures.correctness - 0.99).abs() < 0.002, "{row:?}");
            assert!((figures.availability * figures.correctness - figures.eta).abs() < 1e-12, "{row:?}");
        }
        // Nearly all other faults are gone, so what is left is silent.
        let all = figures(&TABLES.mixed, "all");
        assert!(all.failed_silently > 0.9 * all.blast_radius.share, "{all:?}");
    }

    #[test]
    fn more_seeds_continue_what_fewer_began() {
        assert_eq!(play_paired(3), play_paired(3));
        assert_ne!(play_paired(3), play_paired(4));
        assert_eq!(play_paired(0).errors[0].figures.blast_radius.high.to_bits(), 1.0_f64.to_bits());
    }
}
