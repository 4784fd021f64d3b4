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
    /// The tool itself became slower or faster, and not only a call of it.
    pub notable: bool,
}

/// The fewest calls in each run whose latencies say anything: a busy machine delays single ones.
const LEAST_CALLS: usize = 5;

/// The least difference that is worth a word.
const LEAST_DIFFERENCE: Duration = Duration::from_millis(20);

fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64((time.as_secs_f64() * 1e6).round() / 1e3)
}

/// The tools that were served in both runs.
pub(crate) fn compare(before: &RunRecording, after: &RunRecording) -> Vec<LatencyChange> {
    let (old, mut new) = (latencies(before), latencies(after));
    let both = old.into_iter().filter_map(|(called, before)| {
        let after = new.remove(&called)?;
        let ((server, tool), notable) = (called, is_notable(&before, &after));
        Some(LatencyChange { server, tool, before: quartile(&before, 2), after: quartile(&after, 2), notable })
    });
    both.collect()
}

/// Judges sorted latencies: the median is twice as long or short, one notices, and the middle halves lie apart.
fn is_notable(before: &[Duration], after: &[Duration]) -> bool {
    let (quick, slow) = if quartile(before, 2) <= quartile(after, 2) { (before, after) } else { (after, before) };
    let (less, more) = (quartile(quick, 2), quartile(slow, 2));
    before.len().min(after.len()) >= LEAST_CALLS
        && more >= less + LEAST_DIFFERENCE
        && more >= less * 2
        && quartile(slow, 1) > quartile(quick, 3)
}

/// The sorted times to the answer, by server and tool.
fn latencies(of: &RunRecording) -> BTreeMap<(String, String), Vec<Duration>> {
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
    for of_tool in times.values_mut() {
        of_tool.sort_unstable();
    }
    times
}

/// The time to the answer.
fn latency(exchange: &MessageExchange) -> Option<Duration> {
    let id = exchange.answer()?.get("id");
    let is_answer = |message: &Value| message.get("id") == id;
    exchange.replies.iter().find(|reply| reply.response().is_some_and(is_answer)).map(|reply| reply.after)
}

/// The quartile of sorted latencies: the second is the median.
fn quartile(sorted: &[Duration], which: usize) -> Duration {
    sorted.get(sorted.len() * which / 4).copied().unwrap_or_default()
}
