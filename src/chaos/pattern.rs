//! Patterns of resilience, alone and together.

use std::collections::VecDeque;

use super::TOOLS;

/// The patterns that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patterns {
    /// How often a failed call is made again, at once.
    pub retries: u32,
    /// Whether calls that a task can do without may fail.
    pub degrades: bool,
    /// Whether tools that fail too often are not called.
    pub breaks: bool,
    /// Whether every call is made twice at once, and the first good answer counts.
    pub hedges: bool,
}

/// A breaker of the published demonstration: it counts from the start and never closes.
#[derive(Debug, Default)]
pub(super) struct CumulativeBreaker {
    calls: [(u32, u32); TOOLS.len()],
}

/// A breaker that looks at the last calls of each tool: it opens when half of them failed, and tries again after some
/// calls that it skipped.
#[derive(Debug, Default)]
pub(super) struct WindowedBreaker {
    tools: [Window; TOOLS.len()],
}

#[derive(Debug, Default)]
struct Window {
    /// Whether each of the last calls was good.
    last: VecDeque<bool>,
    /// How many calls were skipped since it opened; `None` while it is closed.
    skipped: Option<u32>,
}

/// How many calls a window holds, and how many it needs before it can open.
const WINDOW: usize = 10;
/// How many calls are skipped before one is tried.
const REST: u32 = 5;

impl CumulativeBreaker {
    /// Whether a tool is not called any more.
    pub(super) fn is_open(&self, tool: usize) -> bool {
        let (good, all) = self.calls[tool];
        all >= 4 && f64::from(good) / f64::from(all) < 0.5
    }

    pub(super) fn note(&mut self, tool: usize, is_good: bool) {
        self.calls[tool].0 += u32::from(is_good);
        self.calls[tool].1 += 1;
    }
}

impl WindowedBreaker {
    /// Whether this call of a tool is skipped.
    pub(super) fn skips(&mut self, tool: usize) -> bool {
        let window = &mut self.tools[tool];
        match &mut window.skipped {
            Some(skipped) if *skipped < REST => {
                *skipped += 1;
                true
            }
            Some(_) | None => false,
        }
    }

    pub(super) fn note(&mut self, tool: usize, is_good: bool) {
        let window = &mut self.tools[tool];
        if window.skipped.is_some() && is_good {
            (window.skipped, window.last) = (None, VecDeque::new());
        }
        window.last.push_back(is_good);
        if window.last.len() > WINDOW {
            window.last.pop_front();
        }
        let failed = window.last.iter().filter(|good| !**good).count();
        if window.last.len() == WINDOW && failed * 2 > WINDOW {
            window.skipped = Some(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_windowed_breaker_opens_and_closes() {
        let mut breaker = WindowedBreaker::default();
        for _ in 0..WINDOW {
            assert!(!breaker.skips(0));
            breaker.note(0, false);
        }
        assert_eq!((0..7).filter(|_| breaker.skips(0)).count(), 5);
        assert!(!breaker.skips(1));
        breaker.note(0, true);
        assert!(!breaker.skips(0));
    }

    #[test]
    fn a_cumulative_breaker_never_closes() {
        let mut breaker = CumulativeBreaker::default();
        for _ in 0..4 {
            assert!(!breaker.is_open(2));
            breaker.note(2, false);
        }
        assert!(breaker.is_open(2) && !breaker.is_open(1));
    }
}
