//! Counters of what passes a relay, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::traffic::{MessageChange, RelayedCall};
use crate::reliability::{CallOutcome, ReliabilityFigures};

/// The upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The tools whose calls are counted one by one: names come from clients, and may be many.
const MOST_TOOLS: usize = 200;

/// The label of all other tools; no tool has such a name.
const OTHER_TOOLS: &str = "(other tools)";

/// The counters of one relay.
#[derive(Debug, Default)]
pub struct RelayMetrics {
    /// By tool; of more tools than are kept, those that come later count together.
    outcomes: BTreeMap<String, BTreeMap<CallOutcome, u64>>,
    /// By name of the fault.
    changes: BTreeMap<String, u64>,
    /// By bound; the last one has none.
    latencies: [u64; BOUNDS.len() + 1],
    waited: Duration,
}

impl RelayMetrics {
    /// A call is over.
    pub fn count_call(&mut self, call: &RelayedCall) {
        let took = call.record.took;
        let name = &call.record.tool;
        let is_kept = self.outcomes.len() < MOST_TOOLS || self.outcomes.contains_key(name);
        let outcomes = self.outcomes.entry(if is_kept { name.clone() } else { OTHER_TOOLS.to_owned() }).or_default();
        *outcomes.entry(call.record.outcome).or_default() += 1;
        // It is unknown how long its client waited.
        if call.record.outcome == CallOutcome::Unanswered {
            return;
        }
        self.waited += took;
        let bucket = BOUNDS.iter().position(|bound| took.as_secs_f64() <= *bound).unwrap_or(BOUNDS.len());
        self.latencies[bucket] += 1;
    }

    /// Faults changed a message.
    pub fn count_change(&mut self, change: &MessageChange) {
        for fault in &change.faults {
            *self.changes.entry(fault.clone()).or_default() += 1;
        }
    }

    /// All counters and the figures, in the text format of Prometheus (exposition format 0.0.4).
    pub fn text(&self, figures: &ReliabilityFigures) -> String {
        let mut text = String::new();
        let of_tool = |(tool, counts): (&String, &BTreeMap<CallOutcome, u64>)| {
            CallOutcome::ALL.map(|outcome| {
                let count = counts.get(&outcome).copied().unwrap_or_default();
                (format!("{{tool=\"{}\",outcome=\"{}\"}}", escape(tool), outcome.word()), count.to_string())
            })
        };
        let outcomes: Vec<_> = self.outcomes.iter().flat_map(of_tool).collect();
        family(&mut text, "calls_total", "counter", "Calls of tools, by what the client got.", &outcomes);
        let changes = self.changes.iter();
        let changes: Vec<_> =
            changes.map(|(fault, count)| (format!("{{fault=\"{}\"}}", escape(fault)), count.to_string())).collect();
        family(&mut text, "changes_total", "counter", "Messages that a fault changed.", &changes);
        let mut sum = 0;
        let bounds = BOUNDS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        let mut lines: Vec<_> = bounds
            .zip(self.latencies)
            .map(|(bound, count)| {
                sum += count;
                (format!("_bucket{{le=\"{bound}\"}}"), sum.to_string())
            })
            .collect();
        lines.push(("_sum".to_owned(), self.waited.as_secs_f64().to_string()));
        lines.push(("_count".to_owned(), sum.to_string()));
        family(
            &mut text,
            "call_seconds",
            "histogram",
            "The time from a call to what the client got for it, of those that were answered.",
            &lines,
        );
        let shares = [
            ("availability", "The share of the calls whose answer looks good.", figures.availability),
            ("correctness", "The share of these whose answer is the server's own.", figures.correctness),
            ("eta", "Effective tool availability: availability times correctness.", figures.effective_availability),
            ("tcsr", "The share of the intents that were met in the end.", figures.success_rate),
            ("tcaf", "Calls for an intent.", figures.amplification),
            ("tcaf_at_server", "How many times the server heard of an intent.", figures.amplification_at_server),
            ("blast_radius", "The share of the tasks that failed.", figures.blast_radius.map(|blast| blast.share)),
        ];
        for (name, help, share) in shares {
            let line = share.map(|share| (String::new(), share.to_string()));
            family(&mut text, name, "gauge", help, line.as_slice());
        }
        text
    }
}

/// One family of metrics; nothing of it where nothing was counted.
fn family(text: &mut String, name: &str, kind: &str, help: &str, lines: &[(String, String)]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "# HELP mcprove_relay_{name} {help}\n# TYPE mcprove_relay_{name} {kind}");
    for (suffix, value) in lines {
        let _ = writeln!(text, "mcprove_relay_{name}{suffix} {value}");
    }
}

/// A value of a label.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
