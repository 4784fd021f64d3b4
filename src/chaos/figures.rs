//! The figures of a pattern over many seeds.

use super::client::SeedTally;
use super::{NamedPatterns, TASKS};
use crate::reliability::{ClusterCounts, Interval};

/// The figures of a client over all seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PatternFigures {
    /// Attempts that were made for a task, on average.
    pub attempts_per_task: f64,
    /// The share of the calls that tasks needed which had an answer in the end, also a wrong or a late one.
    pub availability: f64,
    /// The share of these answers that were right.
    pub correctness: f64,
    /// Effective tool availability: availability times correctness.
    pub eta: f64,
    /// Deadline adherence: the share of answers that came before the deadline.
    pub in_time: f64,
    /// The share of tasks that used a wrong answer without any sign of it, and did not fail otherwise.
    pub failed_silently: f64,
    /// The share of tasks that failed, silently or not.
    pub blast_radius: Interval,
}

/// A pattern and its figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PatternRow {
    /// The pattern.
    pub pattern: &'static NamedPatterns,
    /// Its figures.
    pub figures: PatternFigures,
}

/// The sums of seeds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SeedTotals {
    tally: SeedTally,
    failed_tasks: ClusterCounts,
}

impl SeedTotals {
    /// Adds the tasks of a seed.
    pub(crate) fn add(&mut self, tally: &SeedTally) {
        self.tally.add(tally);
        self.failed_tasks.add(tally.failed_tasks());
    }

    pub(crate) fn row(&self, pattern: &'static NamedPatterns) -> PatternRow {
        let SeedTally { attempts, calls, answered, right, in_time, failed_silently, .. } = self.tally;
        let tasks = self.failed_tasks.clusters * TASKS as u64;
        let figures = PatternFigures {
            attempts_per_task: ratio(attempts, tasks),
            availability: ratio(answered, calls),
            correctness: ratio(right, answered),
            eta: ratio(right, calls),
            in_time: ratio(in_time, answered),
            failed_silently: ratio(failed_silently, tasks),
            blast_radius: Interval::of_clusters(self.failed_tasks, TASKS as u64),
        };
        PatternRow { pattern, figures }
    }
}

/// The share of something; 0 of nothing, as mcp-chaos has it.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
