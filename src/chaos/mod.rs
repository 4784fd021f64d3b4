//! A simulator of tool calls under faults: what patterns of resilience are worth, without a server and without a network.
//!
//! `published` repeats the demonstration of mcp-chaos draw by draw. `paired` asks the same with the same faults for every
//! pattern and with many seeds, and `sweep` for many error rates, fan-outs and correlations. Below both, `faults` says
//! what each attempt meets, and `client` plays the tasks of a seed. Deterministic: the same arguments give the same
//! figures everywhere. Nothing is written here; tables and plots are texts.

mod breaker;
mod client;
mod faults;
mod figures;
mod paired;
mod pattern;
mod plot;
mod published;
mod retry_budget;
mod routing;
mod sweep;
mod sweep_table;
mod table;

pub use self::faults::{Correlation, FaultModel};
pub use self::figures::{PatternFigures, PatternRow};
pub use self::paired::{PairedTables, play_paired};
pub use self::pattern::{BreakerKind, NAMED, NamedPatterns, Patterns, RetryPolicy};
pub use self::plot::{PlotAxis, plot};
pub use self::published::{PublishedRow, play_published};
pub use self::sweep::{Sweep, SweepCell, SweepGrid, sweep};
pub use self::sweep_table::{sweep_json, sweep_text};
pub use self::table::{json, text};

/// The tasks of a run.
pub const TASKS: usize = 200;
/// The calls of each task in the demonstration.
pub const FAN_OUT: usize = 8;
/// The share of calls that fail in the demonstration.
pub const ERROR_RATE: f64 = 0.02;
/// The time in milliseconds that a call may take with all its attempts; the calls of a task are made side by side.
pub const DEADLINE_MS: f64 = 1000.0;
/// The tools, in the order in which the calls of a task use them.
const TOOLS: [&str; 5] = ["get_metrics", "get_logs", "get_traces", "describe_service", "check_dependency"];
/// The time in milliseconds that each of the tools takes to answer.
const LATENCIES_MS: [f64; TOOLS.len()] = [20.0, 35.0, 30.0, 15.0, 25.0];
/// The servers that offer each of the tools.
const SERVERS: [&str; 2] = ["primary", "replica"];

/// A task can do without the call at that place: the last quarter of its calls.
fn is_dispensable(slot: usize, fan_out: usize) -> bool {
    slot >= fan_out - fan_out / 4
}

/// The tool that the call at that place uses.
fn tool_of(slot: usize) -> usize {
    slot % TOOLS.len()
}
