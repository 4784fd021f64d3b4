//! Patterns of resilience, alone and together.

/// The patterns that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patterns {
    /// The retries of calls that fail, at once.
    pub retries: RetryPolicy,
    /// Calls that a task can do without may fail.
    pub degrades: bool,
    /// The breaker of tools that fail too often.
    pub breaker: BreakerKind,
    /// Calls go to the replica while the recent latency of the primary server would miss the deadline.
    pub routes: bool,
    /// Every call goes to both servers at once, and the first answer that is no error counts.
    pub hedges: bool,
}

/// The number of retries of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// Up to that many times; 0 is never.
    UpTo(u32),
    /// Up to that many times, while not too many attempts have failed lately.
    WithinBudget(u32),
}

/// The breaker of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerKind {
    /// Every call is made.
    None,
    /// Judges the last calls of a tool, and tries the tool again after a pause.
    Windowed,
    /// Judges all calls of a tool since the start, and never tries the tool again, as that of mcp-chaos.
    Latching,
}

/// Patterns under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedPatterns {
    /// The name, in lower case and with hyphens.
    pub name: &'static str,
    /// The effect in a few words.
    pub does: &'static str,
    /// The patterns.
    pub patterns: Patterns,
}

/// No pattern at all.
pub(crate) const NONE: Patterns = Patterns {
    retries: RetryPolicy::UpTo(0),
    degrades: false,
    breaker: BreakerKind::None,
    routes: false,
    hedges: false,
};

/// The most retries of a call in [`NAMED`].
pub(crate) const MOST_RETRIES: u32 = 2;

/// Each pattern alone, and together; the first one is none.
pub const NAMED: [NamedPatterns; 11] = [
    NamedPatterns { name: "none", does: "a call that fails fails its task", patterns: NONE },
    NamedPatterns {
        name: "one-retry",
        does: "a failed call is made again once",
        patterns: Patterns { retries: RetryPolicy::UpTo(1), ..NONE },
    },
    NamedPatterns {
        name: "two-retries",
        does: "a failed call is made again up to twice",
        patterns: Patterns { retries: RetryPolicy::UpTo(MOST_RETRIES), ..NONE },
    },
    NamedPatterns {
        name: "retry-budget",
        does: "two retries, while not too many attempts have failed lately",
        patterns: Patterns { retries: RetryPolicy::WithinBudget(MOST_RETRIES), ..NONE },
    },
    NamedPatterns {
        name: "degradation",
        does: "a quarter of a task's calls may fail",
        patterns: Patterns { degrades: true, ..NONE },
    },
    NamedPatterns {
        name: "breaker",
        does: "a tool that fails is not called for a while",
        patterns: Patterns { breaker: BreakerKind::Windowed, ..NONE },
    },
    NamedPatterns {
        name: "latched-breaker",
        does: "a tool that fails is never called again",
        patterns: Patterns { breaker: BreakerKind::Latching, ..NONE },
    },
    NamedPatterns {
        name: "routing",
        does: "calls go to the replica while the primary server would miss the deadline",
        patterns: Patterns { routes: true, ..NONE },
    },
    NamedPatterns {
        name: "hedging",
        does: "every call goes to both servers at once",
        patterns: Patterns { hedges: true, ..NONE },
    },
    NamedPatterns {
        name: "all-but-hedging",
        does: "retry-budget, degradation, breaker and routing",
        patterns: Patterns { hedges: false, ..ALL },
    },
    NamedPatterns { name: "all", does: "all-but-hedging, and hedging", patterns: ALL },
];

const ALL: Patterns = Patterns {
    retries: RetryPolicy::WithinBudget(MOST_RETRIES),
    degrades: true,
    breaker: BreakerKind::Windowed,
    routes: true,
    hedges: true,
};

impl RetryPolicy {
    /// The most retries of a call.
    pub(crate) fn most(self) -> u32 {
        match self {
            Self::UpTo(most) | Self::WithinBudget(most) => most,
        }
    }
}

impl NamedPatterns {
    /// The patterns of that name in [`NAMED`].
    pub fn by_name(name: &str) -> Option<&'static Self> {
        NAMED.iter().find(|named| named.name == name)
    }
}
