//! The figures of a monitor in the text format of Prometheus (exposition format 0.0.4).

use std::fmt::{Display, Write as _};

use super::ledger::Ledger;
use super::metrics::{BOUNDS, Histogram, MetricFamily, MetricKind, MetricLabel, MetricSample, MetricValue, families};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All figures.
pub fn exposition(ledger: &Ledger) -> String {
    let mut text = String::new();
    for family in families(ledger) {
        write_family(&mut text, &family);
    }
    text
}

fn write_family(text: &mut String, family: &MetricFamily) {
    let MetricFamily { name, kind, help, samples } = family;
    let kind = match kind {
        MetricKind::Gauge => "gauge",
        MetricKind::Counter => "counter",
        MetricKind::Histogram => "histogram",
    };
    let _ = writeln!(text, "# HELP mcprove_{name} {help}\n# TYPE mcprove_{name} {kind}");
    for sample in samples {
        let labels = sample.labels();
        match &sample.value {
            MetricValue::Integer(value) => write_sample(text, name, labels, value),
            MetricValue::Seconds(value) => write_sample(text, name, labels, value),
            MetricValue::Times(times) => write_histogram(text, name, sample, times),
        }
    }
}

/// The lines of a histogram, whose buckets are cumulative.
fn write_histogram(text: &mut String, name: &str, sample: &MetricSample, times: &Histogram) {
    let bounds = BOUNDS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
    let mut sum = 0;
    for (bound, count) in bounds.zip(times.counts) {
        sum += count;
        let bound = ("le", bound);
        write_sample(text, &format!("{name}_bucket"), sample.labels().chain([&bound]), &sum);
    }
    write_sample(text, &format!("{name}_sum"), sample.labels(), &times.sum.as_secs_f64());
    write_sample(text, &format!("{name}_count"), sample.labels(), &sum);
}

fn write_sample<'a>(text: &mut String, name: &str, labels: impl Iterator<Item = &'a MetricLabel>, value: &dyn Display) {
    let _ = write!(text, "mcprove_{name}");
    let mut before = '{';
    for (label, value) in labels {
        let _ = write!(text, "{before}{label}=\"");
        text.extend(value.chars().flat_map(escape));
        text.push('"');
        before = ',';
    }
    if before == ',' {
        text.push('}');
    }
    let _ = writeln!(text, " {value}");
}

/// A character within the quotes of a label.
fn escape(c: char) -> impl Iterator<Item = char> {
    let (mark, c) = match c {
        '\\' | '"' => (Some('\\'), c),
        '\n' => (Some('\\'), 'n'),
        _ => (None, c),
    };
    mark.into_iter().chain([c])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::monitor::fold::{RunObservation, TimedCall};
    use crate::monitor::ledger::{RunRecord, TargetName};

    #[test]
    fn histograms_are_cumulative() {
        let mut ledger = Ledger::default();
        for milliseconds in [1, 5, 6, 400, 60_000] {
            ledger.lateness.count(Duration::from_millis(milliseconds));
        }
        let text = exposition(&ledger);
        let own = text.lines().filter_map(|line| line.strip_prefix("mcprove_schedule_lateness_seconds"));
        let lines: Vec<&str> = own.collect();
        assert_eq!(lines[0], "_bucket{le=\"0.005\"} 2");
        assert_eq!(lines[1], "_bucket{le=\"0.01\"} 3");
        assert_eq!(lines[6], "_bucket{le=\"0.5\"} 4");
        assert_eq!(lines[11..], ["_bucket{le=\"+Inf\"} 5", "_sum 60.412", "_count 5"]);
    }

    #[test]
    fn values_of_labels_are_escaped() {
        let mut text = String::new();
        let label = ("tool", "a\"b\\c\nd".to_owned());
        write_sample(&mut text, "x", [&label].into_iter(), &1);
        assert_eq!(text, "mcprove_x{tool=\"a\\\"b\\\\c\\nd\"} 1\n");
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
