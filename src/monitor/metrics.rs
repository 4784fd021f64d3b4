//! The figures of a monitor as families of metrics, whatever form they are sent in.

use std::rc::Rc;
use std::time::Duration;

use super::ledger::{LatestRun, Ledger, TargetFigures};
use super::status::TargetStatus;
use crate::drift::ChangeLevel;
use crate::event::Outcome;
use crate::source::{FNV, fnv, hash_text, shorten, visible_line};

/// The upper bounds of histograms, in seconds.
pub const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The longest value of a label, in characters: servers and suites write them.
const LONGEST_LABEL: usize = 128;

/// Every outcome of a case.
const OUTCOMES: [Outcome; 6] =
    [Outcome::Passed, Outcome::Failed, Outcome::Warned, Outcome::Skipped, Outcome::Inconclusive, Outcome::Errored];

/// A histogram of times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    /// The number of times by bound, each counted once; the last bucket has no bound.
    pub counts: [u64; BOUNDS.len() + 1],
    /// All times added up.
    pub sum: Duration,
}

impl Histogram {
    /// Counts a time.
    pub fn count(&mut self, time: Duration) {
        let bucket = BOUNDS.iter().position(|bound| time.as_secs_f64() <= *bound).unwrap_or(BOUNDS.len());
        self.counts[bucket] += 1;
        self.sum = self.sum.saturating_add(time);
    }

    /// The number of all times.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The number of times that are longer than a bound of the histogram.
    pub fn count_above(&self, bound: f64) -> u64 {
        let buckets = BOUNDS.iter().copied().chain([f64::INFINITY]).zip(self.counts);
        buckets.filter(|(one, _)| *one > bound).map(|(_, count)| count).sum()
    }
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that goes up and down.
    Gauge,
    /// A number that only grows.
    Counter,
    /// Counted times.
    Histogram,
}

/// A label of a sample: its name, and a value that is short and harmless.
pub type MetricLabel = (&'static str, String);

/// Samples that measure the same thing.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFamily {
    /// The name as Prometheus has it, behind `mcprove_`.
    pub name: &'static str,
    /// The kind of all samples.
    pub kind: MetricKind,
    /// One sentence.
    pub help: &'static str,
    /// At least one.
    pub samples: Vec<MetricSample>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    /// The names of the target that it is of.
    target: Option<Rc<[MetricLabel; 3]>>,
    /// Its own label.
    label: Option<MetricLabel>,
    /// The value.
    pub value: MetricValue,
}

/// The value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// A count.
    Integer(i64),
    /// A time in seconds.
    Seconds(f64),
    /// Counted times.
    Times(Histogram),
}

impl From<u64> for MetricValue {
    fn from(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<usize> for MetricValue {
    fn from(count: usize) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<bool> for MetricValue {
    fn from(holds: bool) -> Self {
        Self::Integer(holds.into())
    }
}

impl MetricSample {
    fn new(value: impl Into<MetricValue>) -> Self {
        Self { target: None, label: None, value: value.into() }
    }

    fn with(self, name: &'static str, value: &str) -> Self {
        Self { label: Some((name, label_value(value))), ..self }
    }

    /// All labels, those of the target first.
    pub fn labels(&self) -> impl Iterator<Item = &MetricLabel> {
        self.target.iter().flat_map(|labels| labels.iter()).chain(&self.label)
    }
}

/// All figures, without the families of which there is nothing to say.
pub fn families(ledger: &Ledger) -> Vec<MetricFamily> {
    let targets: Vec<(Rc<[MetricLabel; 3]>, &TargetFigures)> =
        ledger.targets.values().map(|figures| (Rc::new(labels_of(figures)), figures)).collect();
    let each = |samples: &dyn Fn(&TargetFigures) -> Vec<MetricSample>| -> Vec<MetricSample> {
        let of_target = |(labels, figures): &(Rc<[MetricLabel; 3]>, &TargetFigures)| {
            let labelled = |sample| MetricSample { target: Some(Rc::clone(labels)), ..sample };
            samples(figures).into_iter().map(labelled).collect::<Vec<_>>()
        };
        targets.iter().flat_map(of_target).collect()
    };
    let last = |value: &dyn Fn(&LatestRun) -> MetricValue| {
        each(&|figures| figures.last.as_ref().map(|last| MetricSample::new(value(last))).into_iter().collect())
    };
    let mut families = vec![
        MetricFamily {
            name: "build_info",
            kind: MetricKind::Gauge,
            help: "The version of mcprove.",
            samples: vec![MetricSample::new(true).with("version", env!("CARGO_PKG_VERSION"))],
        },
        MetricFamily {
            name: "targets",
            kind: MetricKind::Gauge,
            help: "The number of targets that are watched.",
            samples: vec![MetricSample::new(ledger.targets.len())],
        },
        MetricFamily {
            name: "target_up",
            kind: MetricKind::Gauge,
            help: "1 if the server answers and none of its probes fails, else 0.",
            samples: each(&|figures| {
                figures.state.status.map(|status| MetricSample::new(status.is_serving())).into_iter().collect()
            }),
        },
        MetricFamily {
            name: "target_reason",
            kind: MetricKind::Gauge,
            help: "1 at the reason why a target is not simply up.",
            samples: each(&reasons),
        },
        MetricFamily {
            name: "runs_total",
            kind: MetricKind::Counter,
            help: "Runs of a target, by their result.",
            samples: each(&|figures| {
                let counted = figures.runs.iter();
                counted.map(|(status, count)| MetricSample::new(*count).with("result", status.as_str())).collect()
            }),
        },
        MetricFamily {
            name: "run_duration_seconds",
            kind: MetricKind::Gauge,
            help: "The time that the last run of a target took.",
            samples: last(&|last| MetricValue::Seconds(last.took.as_secs_f64())),
        },
        MetricFamily {
            name: "last_run_timestamp_seconds",
            kind: MetricKind::Gauge,
            help: "When the last run of a target ended.",
            samples: last(&|last| last.at.into()),
        },
        MetricFamily {
            name: "cases",
            kind: MetricKind::Gauge,
            help: "The cases of the last run of a target, by outcome.",
            samples: each(&cases),
        },
        MetricFamily {
            name: "drift",
            kind: MetricKind::Gauge,
            help: "Changes of what a server offers since it was first seen, by level.",
            samples: each(&drift),
        },
        MetricFamily {
            name: "certificate_days_left",
            kind: MetricKind::Gauge,
            help: "Days until the certificate of a server ends.",
            samples: each(&|figures| {
                let days = figures.certificate_days.map(MetricValue::Integer);
                days.map(MetricSample::new).into_iter().collect()
            }),
        },
        MetricFamily {
            name: "ticks_skipped_total",
            kind: MetricKind::Counter,
            help: "Runs that were left out because the one before was not over.",
            samples: each(&|figures| vec![MetricSample::new(figures.skipped)]),
        },
        MetricFamily {
            name: "tool_duration_seconds",
            kind: MetricKind::Histogram,
            help: "The time from a call of a tool to its answer.",
            samples: each(&|figures| {
                let times = |(tool, times): (&String, &Histogram)| {
                    MetricSample::new(MetricValue::Times(times.clone())).with("tool", tool)
                };
                figures.tools.iter().map(times).collect()
            }),
        },
        MetricFamily {
            name: "schedule_lateness_seconds",
            kind: MetricKind::Histogram,
            help: "The time by which runs began later than planned.",
            samples: vec![MetricSample::new(MetricValue::Times(ledger.lateness.clone()))],
        },
    ];
    let counts = [
        ("webhooks_total", "Messages of webhooks, by result.", &ledger.webhooks),
        ("reloads_total", "Times that the suites were read again, by result.", &ledger.reloads),
        ("state_writes_total", "Times that the state was written, by result.", &ledger.state_writes),
        ("otlp_exports_total", "Requests to the endpoint of OpenTelemetry, by result.", &ledger.otlp_exports),
    ];
    families.extend(counts.map(|(name, help, counts)| {
        let results = [("ok", counts.ok), ("failed", counts.failed)];
        let samples = results.map(|(result, count)| MetricSample::new(count).with("result", result)).into();
        MetricFamily { name, kind: MetricKind::Counter, help, samples }
    }));
    families.push(MetricFamily {
        name: "otlp_spans_dropped_total",
        kind: MetricKind::Counter,
        help: "Spans that the endpoint of OpenTelemetry did not get.",
        samples: vec![MetricSample::new(ledger.spans_dropped)],
    });
    families.retain(|family| !family.samples.is_empty());
    families
}

fn reasons(figures: &TargetFigures) -> Vec<MetricSample> {
    let Some(status) = figures.state.status else { return Vec::new() };
    let sample = |reason: &TargetStatus| MetricSample::new(*reason == status).with("reason", reason.as_str());
    TargetStatus::REASONS.iter().map(sample).collect()
}

fn cases(figures: &TargetFigures) -> Vec<MetricSample> {
    let Some(last) = &figures.last else { return Vec::new() };
    let count = |outcome: &Outcome| last.cases.get(outcome).copied().unwrap_or_default();
    OUTCOMES.iter().map(|outcome| MetricSample::new(count(outcome)).with("outcome", outcome.as_str())).collect()
}

fn drift(figures: &TargetFigures) -> Vec<MetricSample> {
    let Some(changes) = &figures.drift else { return Vec::new() };
    let count = |level: ChangeLevel| changes.get(&level).copied().unwrap_or_default();
    let levels = [ChangeLevel::Breaking, ChangeLevel::Compatible, ChangeLevel::Cosmetic];
    levels.into_iter().map(|level| MetricSample::new(count(level)).with("level", level.as_str())).collect()
}

fn labels_of(figures: &TargetFigures) -> [MetricLabel; 3] {
    let TargetFigures { suite, server, revision, .. } = figures;
    [("suite", suite), ("server", server), ("revision", revision)].map(|(name, value)| (name, label_value(value)))
}

/// The value of a label, which somebody else may have written, as one short line.
pub fn label_value(value: &str) -> String {
    let value = visible_line(value);
    // What is cut must not become the same as another.
    if value.chars().count() > LONGEST_LABEL {
        format!("{} {}", shorten(&value, LONGEST_LABEL), hash_text(fnv(FNV, value.as_bytes())))
    } else {
        value.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_short_lines() {
        for (value, expected) in
            [("plain", "plain"), ("a\"b\\c", "a\"b\\c"), ("a\nmcprove_target_up 1", "a\\u{a}mcprove_target_up 1")]
        {
            assert_eq!(label_value(value), expected);
        }
        let [long, other] = ["y", "z"].map(|end| label_value(&("x".repeat(10_000) + end)));
        assert!(long.len() < 170 && long != other, "{long} {other}");
    }
}
