//! The clock of faults on live links.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

/// The time since some moment; virtual where the time of the run is.
pub fn clock() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    Instant::now().saturating_duration_since(*BEGUN.get_or_init(Instant::now))
}
