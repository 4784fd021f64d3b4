//! Values of flags.

use std::num::NonZero;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::source::parse_duration;
use crate::suite::MOST_PARALLEL;

/// The time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A seed that differs from run to run, and is short enough to be typed.
pub(crate) fn drawn_seed() -> u32 {
    (now().subsec_nanos() ^ std::process::id().rotate_left(16)) % 1_000_000
}

/// A time that is not zero.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Some(Duration::ZERO) => Err("must be greater than zero, for example `10s`".to_owned()),
        Some(duration) => Ok(duration),
        None => Err(format!("invalid duration `{text}`; write a number and a unit, such as `10s`")),
    }
}

/// The number of cases that run at a time.
pub(crate) fn at_a_time(text: &str) -> Result<NonZero<usize>, String> {
    match positive::<NonZero<usize>>(text)? {
        many if many.get() > MOST_PARALLEL => Err(format!("at most {MOST_PARALLEL} cases can run at a time")),
        some => Ok(some),
    }
}

/// A share, from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("invalid share `{text}`; write a number from 0 to 1, such as `0.2`"))
}

pub(crate) fn positive<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "write a whole number, 1 or more".to_owned())
}

/// A duration as it is typed.
pub(crate) fn typed_duration(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}
