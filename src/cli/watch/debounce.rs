//! When changes have settled: files are written in bursts, by editors, formatters and version control.

use std::time::Duration;

/// The time without a change after which a burst is over.
const QUIET: Duration = Duration::from_millis(50);

/// The time after which a burst that does not end is looked at all the same.
const LONGEST: Duration = Duration::from_millis(500);

/// A burst of changes, by a clock that the caller reads.
#[derive(Debug, Default)]
pub(super) struct Debounce {
    burst: Option<Burst>,
}

#[derive(Debug)]
struct Burst {
    first: Duration,
    last: Duration,
}

impl Debounce {
    /// Takes note of a change.
    pub(super) fn on_change(&mut self, now: Duration) {
        self.burst.get_or_insert(Burst { first: now, last: now }).last = now;
    }

    /// The time until the changes are to be looked at; `None` where nothing changed.
    pub(super) fn wait(&self, now: Duration) -> Option<Duration> {
        let Burst { first, last } = self.burst.as_ref()?;
        Some((*last + QUIET).min(*first + LONGEST).saturating_sub(now))
    }

    /// Returns true, once, if the changes are to be looked at now.
    pub(super) fn take_due(&mut self, now: Duration) -> bool {
        let is_due = self.wait(now) == Some(Duration::ZERO);
        if is_due {
            self.burst = None;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The milliseconds at which changes are looked at, for changes at these.
    fn looks(changes: &[u64]) -> Vec<u64> {
        let mut debounce = Debounce::default();
        let mut looks = Vec::new();
        for now in 0..3000 {
            let time = Duration::from_millis(now);
            if changes.contains(&now) {
                debounce.on_change(time);
            }
            if debounce.take_due(time) {
                looks.push(now);
            }
        }
        assert_eq!(debounce.wait(Duration::from_secs(3)), None, "nothing is left of {changes:?}");
        looks
    }

    #[test]
    fn a_burst_is_looked_at_once() {
        let every = |step: usize, end: u64| -> Vec<u64> { (0..end).step_by(step).collect() };
        for (changes, expected) in [
            (vec![], vec![]),
            (vec![7], vec![57]),
            (vec![7, 8, 9], vec![59]),
            (vec![0, 49], vec![99]),
            (vec![0, 50], vec![100]),
            (vec![0, 51], vec![50, 101]),
            (vec![0, 1000], vec![50, 1050]),
            (every(1, 60), vec![109]),
            // It does not end, and is looked at twice a second.
            (every(10, 1400), vec![500, 1010, 1440]),
        ] {
            assert_eq!(looks(&changes), expected, "{changes:?}");
        }
    }

    #[test]
    fn the_wait_is_what_is_left() {
        let at = Duration::from_millis;
        let mut debounce = Debounce::default();
        debounce.on_change(at(100));
        for (now, expected) in [(100, 50), (120, 30), (150, 0), (900, 0)] {
            assert_eq!(debounce.wait(at(now)), Some(at(expected)), "{now}");
        }
    }
}
