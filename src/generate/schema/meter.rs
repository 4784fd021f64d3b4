//! Counts steps, so that what takes too many can stop: the same ones everywhere, whatever the time.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A number that grows.
#[derive(Debug, Default)]
pub(super) struct Meter(AtomicUsize);

impl Meter {
    pub(super) fn add(&self, steps: usize) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Meter {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.read()))
    }
}
