//! The thresholds of a score.

use crate::event::{Figure, Gate};
use crate::taxonomy::score::Score;

/// Sums of thirds and sevenths miss whole numbers by less than this.
const ROUNDING: f64 = 1e-9;

/// The plain figure reaches a threshold; a score over nothing reaches none, not even 0.
pub fn meets(score: &Score, threshold: f64) -> bool {
    reaches(score, score.percent, threshold)
}

/// The weighted figure reaches a threshold; a score over nothing reaches none, not even 0.
pub fn meets_weighted(score: &Score, threshold: f64) -> bool {
    reaches(score, score.weighted, threshold)
}

/// The thresholds for the plain and the weighted figure of a score, and whether they are met.
pub fn gates(score: &Score, plain: Option<f64>, weighted: Option<f64>) -> Vec<Gate> {
    let gate = |figure: Figure, threshold: f64, met: bool| Gate { figure, threshold, met, not_judged: false };
    let plain = plain.map(|threshold| gate(Figure::Plain, threshold, meets(score, threshold)));
    let weighted = weighted.map(|threshold| gate(Figure::Weighted, threshold, meets_weighted(score, threshold)));
    plain.into_iter().chain(weighted).collect()
}

/// Reads a threshold in percent, or says what is wrong with it.
pub fn parse_threshold(text: &str) -> Result<f64, String> {
    let typed = text.trim();
    if typed.is_empty() {
        return Err("the threshold is missing; write a percentage from 0 to 100, such as `60`".to_owned());
    }
    match typed.parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        Ok(_) => Err(format!("`{typed}` is not between 0 and 100; write a percentage such as `60`")),
        Err(_) => Err(format!("`{typed}` is not a number; write a percentage such as `60`")),
    }
}

fn reaches(score: &Score, figure: f64, threshold: f64) -> bool {
    score.tally().of > 0 && figure + ROUNDING >= threshold
}
