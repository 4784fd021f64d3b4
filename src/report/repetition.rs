//! The share of passes of cases that run more than once.

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::CaseResult;

/// The results of repetitions as one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Repetition {
    /// The number of runs of every case.
    pub times: usize,
    /// The cases that were repeated.
    pub cases: usize,
    /// pass^k for k from 1 to `times`: the share of cases that pass k times in a row, estimated without bias.
    pub pass_k: Vec<f64>,
}

/// Counts; `None` where nothing was repeated.
pub(crate) fn of(cases: &[&CaseResult]) -> Option<Repetition> {
    let counts: Vec<(usize, usize)> = cases.iter().filter_map(|case| case.passed_of()).collect();
    let times = counts.iter().map(|(_, of)| *of).max()?;
    // A run that was stopped leaves cases with fewer repetitions, which say nothing about more.
    let whole: Vec<(usize, usize)> = counts.iter().copied().filter(|(_, of)| *of == times).collect();
    let pass_k =
        (1..=times).map(|k| whole.iter().map(|count| all_of(count.0, count.1, k)).sum::<f64>() / share(whole.len()));
    Some(Repetition { times, cases: counts.len(), pass_k: pass_k.collect() })
}

/// The chance that `k` different ones of `of` runs all passed, if `passed` did.
fn all_of(passed: usize, of: usize, k: usize) -> f64 {
    (0..k).map(|taken| share(passed.saturating_sub(taken)) / share(of - taken)).product()
}

fn share(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::all_of;

    #[test]
    fn the_chance_that_several_pass() {
        for (passed, of, k, expected) in
            [(10, 10, 10, 1.0), (9, 10, 10, 0.0), (7, 10, 1, 0.7), (3, 4, 2, 0.5), (2, 4, 2, 1.0 / 6.0), (0, 1, 1, 0.0)]
        {
            let got = all_of(passed, of, k);
            assert!((got - expected).abs() < 1e-12, "{passed} of {of}, {k} at a time: {got}");
        }
    }
}
