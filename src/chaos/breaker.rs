//! Breakers: tools that fail too often are not called.

use std::collections::VecDeque;

use super::TOOLS;
use super::pattern::BreakerKind;

/// The breaker of a client.
#[derive(Debug)]
pub(crate) enum Breaker {
    None,
    Windowed(WindowedBreaker),
    Latching(CumulativeBreaker),
}

/// The breaker of the published demonstration: it counts from the start, and never closes.
#[derive(Debug, Default)]
pub(crate) struct CumulativeBreaker {
    tools: [BreakerCounts; TOOLS.len()],
}

#[derive(Debug, Default, Clone, Copy)]
struct BreakerCounts {
    good: u32,
    all: u32,
}

/// A breaker that looks at the last calls of each tool: it opens when more than half of them failed, and tries again
/// after some calls that it skipped.
#[derive(Debug, Default)]
pub(crate) struct WindowedBreaker {
    tools: [Window; TOOLS.len()],
}

#[derive(Debug, Default)]
struct Window {
    /// The last calls: good or not.
    last: VecDeque<bool>,
    /// The number of calls that were skipped since it opened; `None` while it is closed.
    skipped: Option<u32>,
}

/// The number of calls that a window holds, and needs before it can open.
const WINDOW: usize = 10;
/// The number of calls that are skipped before one is tried.
const REST: u32 = 5;

impl Breaker {
    pub(crate) fn new(kind: BreakerKind) -> Self {
        match kind {
            BreakerKind::None => Self::None,
            BreakerKind::Windowed => Self::Windowed(WindowedBreaker::default()),
            BreakerKind::Latching => Self::Latching(CumulativeBreaker::default()),
        }
    }

    /// This call of a tool is skipped.
    pub(crate) fn skips(&mut self, tool: usize) -> bool {
        match self {
            Self::None => false,
            Self::Windowed(breaker) => breaker.skips(tool),
            Self::Latching(breaker) => breaker.is_open(tool),
        }
    }

    pub(crate) fn note(&mut self, tool: usize, is_good: bool) {
        match self {
            Self::None => {}
            Self::Windowed(breaker) => breaker.note(tool, is_good),
            Self::Latching(breaker) => breaker.note(tool, is_good),
        }
    }
}

impl CumulativeBreaker {
    /// The tool is not called any more.
    pub(crate) fn is_open(&self, tool: usize) -> bool {
        let counts = self.tools[tool];
        counts.all >= 4 && counts.good * 2 < counts.all
    }

    pub(crate) fn note(&mut self, tool: usize, is_good: bool) {
        self.tools[tool].good += u32::from(is_good);
        self.tools[tool].all += 1;
    }
}

impl WindowedBreaker {
    fn skips(&mut self, tool: usize) -> bool {
        let window = &mut self.tools[tool];
        match &mut window.skipped {
            Some(skipped) if *skipped < REST => {
                *skipped += 1;
                true
            }
            Some(_) | None => false,
        }
    }

    fn note(&mut self, tool: usize, is_good: bool) {
        let window = &mut self.tools[tool];
        if window.skipped.is_some() && is_good {
            *window = Window::default();
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
