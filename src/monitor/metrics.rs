//! The figures of a monitor in the text format of Prometheus (exposition format 0.0.4).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use super::ledger::{Ledger, TargetFigures};
use super::status::TargetStatus;
use crate::drift::ChangeLevel;
use crate::event::Outcome;
use crate::source::{FNV, fnv, hash_text, shorten, visible_line};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper bounds of histograms, in seconds.
const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The longest value of a label, in characters: servers and suites write them.
const LONGEST_LABEL: usize = 128;

/// Every outcome of a case.
const OUTCOMES: [Outcome; 6] =
    [Outcome::Passed, Outcome::Failed, Outcome::Warned, Outcome::Skipped, Outcome::Inconclusive, Outcome::Errored];

/// A histogram of times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    /// By bound; the last one has none.
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
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

    /// The lines of the histogram, behind the name of its family.
    fn lines(&self, labels: &str) -> Vec<MetricSample> {
        let bounds = BOUNDS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        let mut sum = 0;
        let mut lines: Vec<MetricSample> = bounds
            .zip(self.counts)
            .map(|(bound, count)| {
                sum += count;
                MetricSample {
                    suffix: "_bucket",
                    labels: join(labels, &format!("le=\"{bound}\"")),
                    value: sum.to_string(),
                }
            })
            .collect();
        let own = |suffix, value| MetricSample { suffix, labels: labels.to_owned(), value };
        lines.push(own("_sum", self.sum.as_secs_f64().to_string()));
        lines.push(own("_count", sum.to_string()));
        lines
    }
}

/// One line of a family.
struct MetricSample {
    /// Behind the name of the family, as histograms have it.
    suffix: &'static str,
    labels: String,
    value: String,
}

impl MetricSample {
    #[expect(clippy::needless_pass_by_value, reason = "numbers, which are copied")]
    fn new(labels: impl Into<String>, value: impl ToString) -> Self {
        Self { suffix: "", labels: labels.into(), value: value.to_string() }
    }
}

/// All figures.
pub fn exposition(ledger: &Ledger) -> String {
    let mut text = String::new();
    let targets: Vec<(String, &TargetFigures)> =
        ledger.targets.values().map(|figures| (labels_of(figures), figures)).collect();
    let each = |samples: &dyn Fn(&str, &TargetFigures) -> Vec<MetricSample>| -> Vec<MetricSample> {
        targets.iter().flat_map(|(labels, figures)| samples(labels, figures)).collect()
    };
    let one = |sample: Option<MetricSample>| sample.into_iter().collect::<Vec<_>>();
    let version = label("version", env!("CARGO_PKG_VERSION"));
    family(&mut text, "build_info", "gauge", "The version of mcprove.", vec![MetricSample::new(version, 1)]);
    let count = vec![MetricSample::new("", ledger.targets.len())];
    family(&mut text, "targets", "gauge", "The number of targets that are watched.", count);
    let up = each(&|labels, figures| {
        one(figures.state.status.map(|status| MetricSample::new(labels, u8::from(status.is_serving()))))
    });
    family(&mut text, "target_up", "gauge", "1 if the server answers and none of its probes fails, else 0.", up);
    let reasons = each(&|labels, figures| {
        let Some(status) = figures.state.status else { return Vec::new() };
        let reason = |reason: &TargetStatus| {
            MetricSample::new(join(labels, &label("reason", reason.as_str())), u8::from(*reason == status))
        };
        TargetStatus::REASONS.iter().map(reason).collect()
    });
    family(&mut text, "target_reason", "gauge", "1 at the reason why a target is not simply up.", reasons);
    let runs = each(&|labels, figures| {
        let counted = figures.runs.iter();
        counted
            .map(|(status, count)| MetricSample::new(join(labels, &label("result", status.as_str())), count))
            .collect()
    });
    family(&mut text, "runs_total", "counter", "Runs of a target, by their result.", runs);
    let last = |value: &dyn Fn(&super::ledger::LatestRun) -> String| {
        each(&|labels, figures| one(figures.last.as_ref().map(|last| MetricSample::new(labels, value(last)))))
    };
    let took = last(&|last| last.took.as_secs_f64().to_string());
    family(&mut text, "run_duration_seconds", "gauge", "The time that the last run of a target took.", took);
    let at = last(&|last| last.at.to_string());
    family(&mut text, "last_run_timestamp_seconds", "gauge", "When the last run of a target ended.", at);
    let cases = each(&|labels, figures| {
        let Some(last) = &figures.last else { return Vec::new() };
        let count = |outcome: &Outcome| last.cases.get(outcome).copied().unwrap_or_default();
        let sample =
            |outcome: &Outcome| MetricSample::new(join(labels, &label("outcome", outcome.as_str())), count(outcome));
        OUTCOMES.iter().map(sample).collect()
    });
    family(&mut text, "cases", "gauge", "The cases of the last run of a target, by outcome.", cases);
    let drift = each(&|labels, figures| {
        let Some(changes) = &figures.drift else { return Vec::new() };
        let count = |level: ChangeLevel| changes.get(&level).copied().unwrap_or_default();
        let levels = [ChangeLevel::Breaking, ChangeLevel::Compatible, ChangeLevel::Cosmetic];
        let sample =
            |level: ChangeLevel| MetricSample::new(join(labels, &label("level", level.as_str())), count(level));
        levels.into_iter().map(sample).collect()
    });
    let help = "Changes of what a server offers since it was first seen, by level.";
    family(&mut text, "drift", "gauge", help, drift);
    let days = each(&|labels, figures| one(figures.certificate_days.map(|days| MetricSample::new(labels, days))));
    family(&mut text, "certificate_days_left", "gauge", "Days until the certificate of a server ends.", days);
    let skipped = each(&|labels, figures| vec![MetricSample::new(labels, figures.skipped)]);
    let help = "Runs that were left out because the one before was not over.";
    family(&mut text, "ticks_skipped_total", "counter", help, skipped);
    let tools = each(&|labels, figures| {
        figures.tools.iter().flat_map(|(tool, times)| times.lines(&join(labels, &label("tool", tool)))).collect()
    });
    family(&mut text, "tool_duration_seconds", "histogram", "The time from a call of a tool to its answer.", tools);
    let help = "The time by which runs began later than planned.";
    family(&mut text, "schedule_lateness_seconds", "histogram", help, ledger.lateness.lines(""));
    for (name, help, counts) in [
        ("webhooks_total", "Messages of webhooks, by result.", &ledger.webhooks),
        ("reloads_total", "Times that the suites were read again, by result.", &ledger.reloads),
        ("state_writes_total", "Times that the state was written, by result.", &ledger.state_writes),
    ] {
        let results = [("ok", counts.ok), ("failed", counts.failed)];
        let samples = results.map(|(result, count)| MetricSample::new(label("result", result), count)).into();
        family(&mut text, name, "counter", help, samples);
    }
    text
}

/// One family of metrics; nothing of it where there is nothing to say.
fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: Vec<MetricSample>) {
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(text, "# HELP mcprove_{name} {help}\n# TYPE mcprove_{name} {kind}");
    for MetricSample { suffix, labels, value } in samples {
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let _ = writeln!(text, "mcprove_{name}{suffix}{labels} {value}");
    }
}

fn labels_of(figures: &TargetFigures) -> String {
    let TargetFigures { suite, server, revision, .. } = figures;
    [label("suite", suite), label("server", server), label("revision", revision)].join(",")
}

fn join(labels: &str, more: &str) -> String {
    if labels.is_empty() { more.to_owned() } else { format!("{labels},{more}") }
}

/// A label with its value, which somebody else may have written.
fn label(name: &str, value: &str) -> String {
    let value: Cow<'_, str> = visible_line(value);
    // What is cut must not become the same as another.
    let cut = if value.chars().count() > LONGEST_LABEL {
        format!("{} {}", shorten(&value, LONGEST_LABEL), hash_text(fnv(FNV, value.as_bytes())))
    } else {
        value.into_owned()
    };
    let value = cut.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::fold::{RunObservation, TimedCall};
    use crate::monitor::ledger::{RunRecord, TargetName};

    #[test]
    fn histograms_are_cumulative() {
        let mut times = Histogram::default();
        for milliseconds in [1, 5, 6, 400, 60_000] {
            times.count(Duration::from_millis(milliseconds));
        }
        let lines: Vec<String> = times
            .lines("a=\"b\"")
            .iter()
            .map(|line| format!("{}{{{}}} {}", line.suffix, line.labels, line.value))
            .collect();
        assert_eq!(lines[0], "_bucket{a=\"b\",le=\"0.005\"} 2");
        assert_eq!(lines[1], "_bucket{a=\"b\",le=\"0.01\"} 3");
        assert_eq!(lines[6], "_bucket{a=\"b\",le=\"0.5\"} 4");
        assert_eq!(lines[11..], ["_bucket{a=\"b\",le=\"+Inf\"} 5", "_sum{a=\"b\"} 60.412", "_count{a=\"b\"} 5"]);
    }

    #[test]
    fn values_of_labels_are_short_and_harmless() {
        for (value, expected) in [
            ("plain", "name=\"plain\""),
            ("a\"b\\c", "name=\"a\\\"b\\\\c\""),
            ("a\nmcprove_target_up 1", "name=\"a\\\\u{a}mcprove_target_up 1\""),
        ] {
            assert_eq!(label("name", value), expected);
        }
        let [long, other] = ["y", "z"].map(|end| label("name", &("x".repeat(10_000) + end)));
        assert!(long.len() < 170 && long != other, "{long} {other}");
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample() {
        let mut ledger = Ledger::default();
        let name = TargetName { suite: "s\"{}.yml".into(), server: "one two".into(), revision: "auto".into() };
        ledger.watch("id", &name);
        let calls = (0..200).map(|number| TimedCall { tool: format!("tool {number} \n\" "), took: Duration::ZERO });
        let observation =
            RunObservation { calls: calls.collect(), certificate_end: Some(9), ..RunObservation::default() };
        ledger.record("id", RunRecord { observation, lateness: Duration::ZERO, skipped: 2, now: 5 });
        let text = exposition(&ledger);
        let mut families: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let count = families.len();
        families.dedup();
        assert_eq!(families.len(), count, "{families:?}");
        let sample = regex::Regex::new(r#"^mcprove_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? -?[0-9.e-]+$"#).unwrap();
        for line in text.lines().filter(|line| !line.starts_with("# ")) {
            assert!(sample.is_match(line), "{line}");
        }
        let tools = text.lines().filter(|line| line.starts_with("mcprove_tool_duration_seconds_count")).count();
        assert!(tools < 60, "{tools}");
        assert!(
            text.contains("mcprove_target_up{suite=\"s\\\"{}.yml\",server=\"one two\",revision=\"auto\"} 1"),
            "{text}"
        );
    }
}
