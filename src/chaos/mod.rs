//! A simulator of tool calls under faults: what patterns of resilience are worth, without a server and without a network.
//!
//! `published` repeats the demonstration of mcp-chaos draw by draw; `paired` asks the same with the same faults for every
//! pattern and with many seeds. Deterministic: the same arguments give the same figures everywhere.

mod paired;
mod pattern;
mod published;
mod table;

pub use self::paired::{PairedRow, paired};
pub use self::pattern::Patterns;
pub use self::published::{PublishedRow, published};
pub use self::table::{json, text};

/// How many tasks a run has.
pub const TASKS: usize = 200;
/// How many calls each task makes.
pub const FAN_OUT: usize = 8;
/// The share of calls that fail.
pub const ERROR_RATE: f64 = 0.02;
/// The last calls of a task that it can do without.
const DISPENSABLE: usize = 2;
/// The tools, in the order in which the calls of a task use them.
const TOOLS: [&str; 5] = ["get_metrics", "get_logs", "get_traces", "describe_service", "check_dependency"];

/// Whether a task can do without the call at that place.
fn is_dispensable(slot: usize) -> bool {
    slot >= FAN_OUT - DISPENSABLE
}
