//! Values of flags.

use std::num::NonZero;
use std::str::FromStr;
use std::time::Duration;

use crate::source::parse_duration;
use crate::suite::MOST_PARALLEL;

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let none = || format!("invalid duration `{text}`; write a number and a unit, such as `10s`");
    let duration = parse_duration(text).ok_or_else(none)?;
    if duration.is_zero() {
        return Err("no case ends in no time at all; write for example `10s`".to_owned());
    }
    Ok(duration)
}

/// How many cases run at a time.
pub(super) fn at_a_time(text: &str) -> Result<NonZero<usize>, String> {
    match positive::<NonZero<usize>>(text)? {
        many if many.get() > MOST_PARALLEL => Err(format!("at most {MOST_PARALLEL} cases run at a time")),
        some => Ok(some),
    }
}

pub(super) fn positive<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "write a whole number, 1 or more".to_owned())
}
