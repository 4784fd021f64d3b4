//! The latencies of the tools in two runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::fault::MessageExchange;
use crate::prove::RunRecording;

/// The median latency of a tool in two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatencyChange {
    /// The server, as its suite names it.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// In the first run.
    #[serde(rename = "before_ms", serialize_with = "milliseconds")]
    pub before: Duration,
    /// In the second run.
    #[serde(rename = "after_ms", serialize_with = "milliseconds")]
    pub after: Duration,
}

/// The least difference that is worth a word; a busy machine makes smaller ones.
const LEAST_DIFFERENCE: Duration = Duration::from_millis(20);

impl LatencyChange {
    /// The tool takes at least twice the time, or half of it, and one notices.
    pub fn is_notable(&self) -> bool {
        let (less, more) = (self.before.min(self.after), self.before.max(self.after));
        more >= less + LEAST_DIFFERENCE && more >= less * 2
    }
}

fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64((time.as_secs_f64() * 1e6).round() / 1e3)
}

/// The tools that were served in both runs.
pub(crate) fn compare(before: &RunRecording, after: &RunRecording) -> Vec<LatencyChange> {
    let (old, new) = (medians(before), medians(after));
    let both = old.into_iter().filter_map(|(called, before)| {
        let after = *new.get(&called)?;
        let (server, tool) = called;
        Some(LatencyChange { server, tool, before, after })
    });
    both.collect()
}

/// The median time to the answer, by server and tool.
fn medians(of: &RunRecording) -> BTreeMap<(String, String), Duration> {
    let names = of.server_names();
    let mut times: BTreeMap<(String, String), Vec<Duration>> = BTreeMap::new();
    for (id, target) in &of.targets {
        let server = names.get(id).cloned().unwrap_or_default();
        for exchange in &target.exchanges {
            if let (Some(tool), Some(time)) = (exchange.tool(), latency(exchange)) {
                times.entry((server.clone(), tool.to_owned())).or_default().push(time);
            }
        }
    }
    times.into_iter().map(|(called, times)| (called, median(times))).collect()
}

/// The time to the answer.
fn latency(exchange: &MessageExchange) -> Option<Duration> {
    let id = exchange.answer()?.get("id");
    let is_answer = |message: &Value| message.get("id") == id;
    exchange.replies.iter().find(|reply| reply.response().is_some_and(is_answer)).map(|reply| reply.after)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
