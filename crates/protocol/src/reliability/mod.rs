//! How reliable calls of tools were: records of single calls, and the figures over many of them.
//!
//! Pure. The records come from live traffic, from a simulator, or from anything else that knows what a client saw.

mod exact;
mod figures;
mod interval;
mod record;

pub use self::exact::Trials;
pub use self::figures::{Reliability, ReliabilityFigures};
pub use self::interval::{ClusterCounts, Interval};
pub use self::record::{CallOutcome, CallRecord};
