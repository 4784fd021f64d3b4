//! When a target is due: a fixed place in the interval, a little jitter, and a backoff while it cannot be reached.
//!
//! Times are counted from the start of the monitor on a clock that never jumps. The time of day is asked once, so that a
//! target keeps its place in the interval over restarts.

use std::time::Duration;

use crate::source::{FNV, fnv, mix_hash};

/// The longest backoff, in intervals.
const LONGEST_BACKOFF: u64 = 10;

/// The share of the interval by which a run may be moved, in hundredths.
const JITTER_PERCENT: u32 = 2;

/// The due times of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    seed: u64,
    every: Duration,
    /// The first run, before the grid begins.
    first: Duration,
    /// The first time on the grid, which is tick 1.
    grid: Duration,
}

/// The next run of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextRun {
    /// The number of its tick.
    pub tick: u64,
    /// The number of ticks that fell into the last run and are left out.
    pub skipped: u64,
}

impl Timetable {
    /// The due times of a target by its name. The first runs of all targets are spread over `startup`, all others over the
    /// interval, where the place follows from the name and `unix_now`.
    pub fn new(name: &str, every: Duration, startup: Duration, unix_now: Duration) -> Self {
        let seed = hash(name.as_bytes());
        let first = share(startup.min(every), seed);
        let (place, now) = (share(every, seed).as_nanos(), unix_now.as_nanos() % every.as_nanos().max(1));
        let ahead = if place >= now { place - now } else { place + every.as_nanos() - now };
        let ahead = Duration::from_nanos(u64::try_from(ahead).unwrap_or(u64::MAX));
        let grid = if ahead > first { ahead } else { ahead + every };
        Self { seed, every, first, grid }
    }

    /// The time of a tick, counted from the start of the monitor.
    pub fn due(&self, tick: u64) -> Duration {
        if tick == 0 {
            return self.first;
        }
        let jitter = share(self.every * JITTER_PERCENT / 100, hash(&(self.seed ^ tick).to_le_bytes()));
        self.on_grid(tick) + jitter
    }

    /// The run after that of `tick`, which ended at `ended`; before it, the target could not be reached `unreachable` times
    /// in a row.
    pub fn next(&self, tick: u64, ended: Duration, unreachable: u32) -> NextRun {
        let planned = tick + backoff(unreachable);
        let mut tick = planned;
        if self.due(planned) < ended {
            let late = ended.saturating_sub(self.grid).as_nanos() / self.every.as_nanos().max(1);
            tick = planned.max(u64::try_from(late).unwrap_or(u64::MAX).saturating_add(1));
            while self.due(tick) < ended {
                tick += 1;
            }
        }
        NextRun { tick, skipped: tick - planned }
    }

    fn on_grid(&self, tick: u64) -> Duration {
        let ahead = self.every.as_nanos().saturating_mul(u128::from(tick - 1));
        self.grid.saturating_add(Duration::from_nanos(u64::try_from(ahead).unwrap_or(u64::MAX)))
    }
}

/// The number of intervals to the next run of a target that could not be reached so many times in a row.
pub fn backoff(unreachable: u32) -> u64 {
    1_u64.checked_shl(unreachable).unwrap_or(LONGEST_BACKOFF).clamp(1, LONGEST_BACKOFF)
}

/// The part of a time that a hash says, evenly spread.
fn share(whole: Duration, hash: u64) -> Duration {
    let nanos = whole.as_nanos().saturating_mul(u128::from(hash)) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A hash that is the same in every version.
fn hash(bytes: &[u8]) -> u64 {
    mix_hash(fnv(FNV, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn timetable(name: &str, unix_now: u64) -> Timetable {
        Timetable::new(name, MINUTE, Duration::ZERO, Duration::from_secs(unix_now))
    }

    #[test]
    fn backoff_doubles_up_to_ten_intervals() {
        for (unreachable, expected) in [(0, 1), (1, 2), (2, 4), (3, 8), (4, 10), (5, 10), (63, 10), (64, 10), (900, 10)]
        {
            assert_eq!(backoff(unreachable), expected, "{unreachable}");
        }
    }

    #[test]
    fn targets_are_spread_evenly_and_each_keeps_its_place() {
        let mut seconds = [0; 60];
        for number in 0..6000 {
            let name = format!("suite.yml@server-{number}/auto");
            let (before, after) = (timetable(&name, 1_000_000), timetable(&name, 1_234_567));
            let place =
                |unix: u64, table: Timetable| (Duration::from_secs(unix) + table.grid).as_nanos() % 60_000_000_000;
            assert_eq!(place(1_000_000, before), place(1_234_567, after), "{name}");
            seconds[usize::try_from(before.grid.as_secs() % 60).unwrap()] += 1;
        }
        assert!(seconds.iter().all(|count| (60..150).contains(count)), "{seconds:?}");
    }

    #[test]
    fn ticks_that_fall_into_a_run_are_left_out() {
        let table = timetable("a", 0);
        for (what, tick, lasted, unreachable, expected) in [
            ("a short run", 1, 1, 0, (2, 0)),
            ("a run over one tick", 1, 70, 0, (3, 1)),
            ("a run over five ticks", 1, 310, 0, (7, 5)),
            ("a backoff leaves nothing out", 1, 1, 2, (5, 0)),
            ("a run that is longer than the backoff", 1, 310, 1, (7, 4)),
        ] {
            let ended = table.due(tick) + Duration::from_secs(lasted);
            let next = table.next(tick, ended, unreachable);
            assert_eq!((next.tick, next.skipped), expected, "{what}");
            assert!(table.due(next.tick) >= ended, "{what}");
        }
    }

    #[test]
    fn jitter_is_small_and_differs_from_tick_to_tick() {
        let table = timetable("a", 0);
        let moved: Vec<Duration> = (1..100).map(|tick| table.due(tick).saturating_sub(table.on_grid(tick))).collect();
        assert!(moved.iter().all(|moved| *moved < Duration::from_millis(1200)), "{moved:?}");
        assert!(moved.windows(2).all(|two| two[0] != two[1]), "{moved:?}");
    }

    #[test]
    fn the_first_run_comes_soon_and_the_grid_after_it() {
        for name in ["a", "b", "c", "d", "e"] {
            let table = Timetable::new(name, MINUTE, Duration::from_secs(2), Duration::from_secs(77));
            assert!(table.due(0) < Duration::from_secs(2), "{name}");
            assert!(table.due(0) < table.due(1) && table.due(1) < Duration::from_secs(64), "{name}");
        }
    }
}
