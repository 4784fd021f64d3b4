//! One call of a tool, as its client saw it.

use std::time::Duration;

/// One request that called a tool: a physical attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// The task that the call was made for, as the client names it, or what stands for one.
    pub task: String,
    /// The purpose of the call: the same text for every attempt at the same.
    pub intent: String,
    /// The tool.
    pub tool: String,
    /// Its end.
    pub outcome: CallOutcome,
    /// The time from the request to its answer, or until it was given up.
    pub took: Duration,
    /// The number of times that the server heard of it: not at all, once, or more often if a fault repeats it.
    pub heard: u32,
    /// True if a fault changed it, its answer or its time.
    pub is_struck: bool,
    /// True if the structured result fits the output schema of the tool; `None` where there is nothing to compare.
    pub conforms: Option<bool>,
}

/// The end of a call, as its client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallOutcome {
    /// A result without `isError`.
    Served,
    /// A result without `isError` that is not the server's own, or answers another request than the client's: nothing
    /// but the output schema of the tool can tell the client.
    Altered,
    /// A result with `isError`.
    Failed,
    /// An error of JSON-RPC or of HTTP.
    Error,
    /// Something that is no message, or no result of a call.
    Broken,
    /// Nothing.
    Unanswered,
}

impl CallOutcome {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Served, Self::Altered, Self::Failed, Self::Error, Self::Broken, Self::Unanswered];

    /// Its word in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Altered => "altered",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Broken => "broken",
            Self::Unanswered => "unanswered",
        }
    }

    /// It looks like a success to the client.
    pub fn looks_good(self) -> bool {
        matches!(self, Self::Served | Self::Altered)
    }
}
