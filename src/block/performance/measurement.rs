//! The times of calls as figures, and the bounds that they must keep.

use std::fmt;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::to_value;

use super::KIND;
use super::check::LoadCheck;
use crate::check::latency::{latency_text, nearest_rank};
use crate::event::{Cell, Finding, Section, SectionPart, SectionTable, Tone};
use crate::plan::CheckContext;
use crate::source::{duration_text, settings};

/// The figures of latency: the key, and of 100 calls, how many take no longer.
const RANKS: [(&str, usize); 4] = [("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)];

settings! {
    /// The longest time that a share of the calls may take, by nearest rank.
    pub(crate) struct LatencyBounds as "a bound on latency" {
        /// For half of the calls.
        p50: Option<Duration> => alternative() cure("add for example `p95: 300ms`"),
        /// For 95 of 100 calls.
        p95: Option<Duration> => alternative(),
        /// For 99 of 100 calls.
        p99: Option<Duration> => alternative(),
        /// For every call.
        max: Option<Duration> => alternative(),
    }
}

/// The bounds that a tool must keep.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// The longest time for each rank.
    latency: [Option<Duration>; RANKS.len()],
    /// The smallest number of served calls a second.
    calls_per_second: Option<f64>,
}

impl Bounds {
    pub(crate) fn new(latency: Option<&LatencyBounds>, calls_per_second: Option<f64>) -> Self {
        let ranks = |bounds: &LatencyBounds| [bounds.p50, bounds.p95, bounds.p99, bounds.max];
        Self { latency: latency.map(ranks).unwrap_or_default(), calls_per_second }
    }

    pub(crate) fn are_any(&self) -> bool {
        self.calls_per_second.is_some() || self.latency.iter().any(Option::is_some)
    }

    /// A finding for each bound that is broken.
    pub(crate) fn broken(&self, measured: &Measurement, tool: &str) -> Vec<Finding> {
        let late = measured.broken_ranks(self).map(|at| {
            let (rank, _) = RANKS[at];
            let latency = latency_text(measured.latency[at]);
            let bound = duration_text(self.latency[at].unwrap_or_default());
            let message = format!("`{tool}` took {latency} at {rank}, longer than the bound of {bound}");
            let (expected, actual) = (Some(format!("{rank} at most {bound}")), Some(latency));
            Finding { expected, actual, ..Finding::new("latency-above-bound", message) }
        });
        let few = self.calls_per_second.filter(|least| measured.calls_per_second < *least).map(|least| {
            let rate = rate_text(measured.calls_per_second);
            let message = format!("`{tool}` served {rate}, fewer than the bound of {least}");
            let (expected, actual) = (Some(format!("at least {least} calls/s")), Some(rate));
            Finding { expected, actual, ..Finding::new("throughput-below-bound", message) }
        });
        late.chain(few).collect()
    }
}

/// The figures of one tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    /// For each rank, the time that so many of the served calls do not exceed (nearest rank).
    latency: [Duration; RANKS.len()],
    served: usize,
    calls_per_second: f64,
}

impl Measurement {
    /// The figures of served calls that took that long, all of them made within a time.
    pub(crate) fn new(times: &[Duration], elapsed: Duration) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let at_rank = |(_, rank): (&str, usize)| nearest_rank(&sorted, rank);
        #[expect(clippy::cast_precision_loss, reason = "calls are bounded in number")]
        let calls_per_second = sorted.len() as f64 / elapsed.as_secs_f64();
        Self { latency: RANKS.map(at_rank), served: sorted.len(), calls_per_second }
    }

    pub(crate) fn served_calls(&self) -> usize {
        self.served
    }

    fn broken_ranks(&self, bounds: &Bounds) -> impl Iterator<Item = usize> {
        let is_broken = move |at: &usize| bounds.latency[*at].is_some_and(|bound| self.latency[*at] > bound);
        (0..RANKS.len()).filter(is_broken)
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} calls, {}", self.served, rate_text(self.calls_per_second))?;
        RANKS.iter().zip(self.latency).try_for_each(|((rank, _), took)| write!(to, ", {rank} {}", latency_text(took)))
    }
}

/// The figures of all tools of a run.
#[derive(Debug, Default)]
pub(crate) struct Measurements(Mutex<Vec<MeasuredTool>>);

/// The figures of one tool of one server in one revision.
#[derive(Debug, Clone)]
struct MeasuredTool {
    file: String,
    server: String,
    revision: String,
    tool: String,
    in_flight: usize,
    measurement: Measurement,
    /// The ranks whose bounds are broken.
    late: Vec<usize>,
    /// The bound on calls a second is broken.
    is_few: bool,
}

/// The same, for programs; times are in microseconds.
#[derive(Serialize)]
struct ToolFigures<'a> {
    tool: &'a str,
    in_flight: usize,
    served: usize,
    /// Nothing where no time passed, as in a replay.
    calls_per_second: Option<f64>,
    p50_us: u128,
    p95_us: u128,
    p99_us: u128,
    max_us: u128,
}

impl Measurements {
    /// Adds the figures of a tool, in place of those of an earlier attempt.
    pub(crate) fn add(&self, context: &CheckContext<'_>, revision: &str, check: &LoadCheck, measurement: Measurement) {
        let bounds = &check.load.bounds();
        let measured = MeasuredTool {
            file: context.suite.file.clone(),
            server: context.server_name.to_owned(),
            revision: revision.to_owned(),
            tool: check.tool.clone(),
            in_flight: check.load.in_flight,
            late: measurement.broken_ranks(bounds).collect(),
            is_few: bounds.calls_per_second.is_some_and(|least| measurement.calls_per_second < least),
            measurement,
        };
        self.keep_latest(measured);
    }

    fn keep_latest(&self, measured: MeasuredTool) {
        let mut all = self.0.lock();
        all.retain(|other| other.key() != measured.key());
        all.push(measured);
    }

    /// A section for each server and revision.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let mut all = self.0.lock().clone();
        all.sort_by(|one, other| one.key().cmp(&other.key()));
        all.chunk_by(|one, other| one.target() == other.target()).map(section).collect()
    }
}

impl MeasuredTool {
    fn target(&self) -> [&str; 3] {
        [&self.file, &self.server, &self.revision]
    }

    fn key(&self) -> ([&str; 3], &str, usize) {
        (self.target(), &self.tool, self.in_flight)
    }

    fn row(&self) -> Vec<Cell> {
        let Measurement { latency, served, calls_per_second } = &self.measurement;
        let cell = |text: String, is_bad: bool| Cell::new(text, if is_bad { Tone::Bad } else { Tone::Plain });
        let name = if self.in_flight == 1 {
            self.tool.clone()
        } else {
            format!("{}, {} at a time", self.tool, self.in_flight)
        };
        let counts =
            [cell(name, false), cell(served.to_string(), false), cell(rate_figure(*calls_per_second), self.is_few)];
        let times = latency.iter().enumerate().map(|(at, took)| cell(latency_text(*took), self.late.contains(&at)));
        counts.into_iter().chain(times).collect()
    }

    fn figures(&self) -> ToolFigures<'_> {
        let Measurement { latency, served, calls_per_second } = &self.measurement;
        let [p50_us, p95_us, p99_us, max_us] = latency.map(|took| took.as_micros());
        ToolFigures {
            tool: &self.tool,
            in_flight: self.in_flight,
            served: *served,
            calls_per_second: calls_per_second.is_finite().then_some(*calls_per_second),
            p50_us,
            p95_us,
            p99_us,
            max_us,
        }
    }
}

fn section(tools: &[MeasuredTool]) -> Section {
    let [file, server, revision] = tools.first().map(MeasuredTool::target).unwrap_or_default();
    let figures: Vec<ToolFigures<'_>> = tools.iter().map(MeasuredTool::figures).collect();
    let columns = ["tool", "calls", "calls/s"].into_iter().chain(RANKS.map(|(rank, _)| rank));
    Section {
        block: KIND.key.name.to_owned(),
        file: file.to_owned(),
        server: server.to_owned(),
        revision: revision.to_owned(),
        heading: format!("performance of {server}, {revision}"),
        parts: vec![SectionPart::Table(SectionTable::new(columns, tools.iter().map(MeasuredTool::row).collect()))],
        data: to_value(figures).unwrap_or_default(),
    }
}

fn rate_text(rate: f64) -> String {
    format!("{} calls/s", rate_figure(rate))
}

/// Calls a second, a dash where no time passed.
fn rate_figure(rate: f64) -> String {
    match rate {
        rate if !rate.is_finite() => "–".to_owned(),
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        let ranks = |times: &[u64]| {
            let times: Vec<Duration> = times.iter().copied().map(Duration::from_millis).collect();
            Measurement::new(&times, Duration::from_secs(1)).latency.map(|took| took.as_millis())
        };
        assert_eq!(ranks(&[7]), [7, 7, 7, 7]);
        assert_eq!(ranks(&[40, 10, 30, 20]), [20, 40, 40, 40]);
        assert_eq!(ranks(&(1..=100).rev().collect::<Vec<_>>()), [50, 95, 99, 100]);
        assert_eq!(ranks(&(1..=200).collect::<Vec<_>>()), [100, 190, 198, 200]);
    }

    #[test]
    fn a_bound_is_broken_only_beyond_it() {
        let ms = Duration::from_millis;
        let measured = Measurement::new(&[10, 20, 30, 40].map(ms), Duration::from_secs(1));
        let (late, slow) = ("latency-above-bound", "throughput-below-bound");
        for (what, latency, calls_per_second, expected) in [
            ("no bound", [None; 4], None, &[][..]),
            ("as much as is allowed", [Some(ms(20)), None, None, Some(ms(40))], Some(4.0), &[]),
            ("the median is late", [Some(ms(19)), Some(ms(40)), None, None], None, &[late]),
            ("too few calls", [None; 4], Some(4.1), &[slow]),
            ("everything", [Some(ms(1)); 4], Some(5.0), &[late, late, late, late, slow]),
        ] {
            let found = Bounds { latency, calls_per_second }.broken(&measured, "find");
            assert_eq!(found.iter().map(|found| found.code.as_str()).collect::<Vec<_>>(), expected, "{what}");
        }
    }

    #[test]
    fn figures_have_three_digits_that_count() {
        let texts = [412, 4_123, 41_234, 412_345, 1_210_000].map(Duration::from_micros).map(latency_text);
        assert_eq!(texts, ["412 µs", "4.12 ms", "41.2 ms", "412 ms", "1.21 s"]);
        assert_eq!([0.5, 9.994, 812.4, f64::INFINITY].map(rate_figure), ["0.50", "9.99", "812", "–"]);
    }

    fn measured(server: &str, tool: &str, in_flight: usize, times: &[u64], bounds: &Bounds) -> MeasuredTool {
        let times: Vec<Duration> = times.iter().copied().map(Duration::from_millis).collect();
        let measurement = Measurement::new(&times, Duration::from_secs(1));
        MeasuredTool {
            file: "suite.yml".to_owned(),
            server: server.to_owned(),
            revision: "2025-11-25".to_owned(),
            tool: tool.to_owned(),
            in_flight,
            late: measurement.broken_ranks(bounds).collect(),
            is_few: bounds.calls_per_second.is_some_and(|least| measurement.calls_per_second < least),
            measurement,
        }
    }

    #[test]
    fn each_server_has_a_table_in_which_broken_bounds_stand_out() {
        let bounds =
            Bounds { latency: [None, Some(Duration::from_millis(15)), None, None], calls_per_second: Some(2.0) };
        let log = Measurements::default();
        log.keep_latest(measured("b", "get", 1, &[10, 12], &bounds));
        log.keep_latest(measured("a", "list", 4, &[20], &bounds));
        log.keep_latest(measured("a", "get", 1, &[99, 99], &bounds));
        // An attempt that is repeated counts once.
        log.keep_latest(measured("a", "get", 1, &[10, 20], &bounds));
        let seen = log.sections().into_iter().map(|section| {
            let rows = section
                .parts
                .iter()
                .filter_map(|part| if let SectionPart::Table(table) = part { Some(&table.rows) } else { None });
            let text = |cell: &Cell| format!("{}{}", cell.text, if cell.tone == Tone::Bad { "!" } else { "" });
            let rows = rows.flatten().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" | "));
            (section.heading, rows.collect::<Vec<_>>())
        });
        let expected = [
            (
                "performance of a, 2025-11-25".to_owned(),
                vec![
                    "get | 2 | 2.00 | 10.0 ms | 20.0 ms! | 20.0 ms | 20.0 ms".to_owned(),
                    "list, 4 at a time | 1 | 1.00! | 20.0 ms | 20.0 ms! | 20.0 ms | 20.0 ms".to_owned(),
                ],
            ),
            (
                "performance of b, 2025-11-25".to_owned(),
                vec!["get | 2 | 2.00 | 10.0 ms | 12.0 ms | 12.0 ms | 12.0 ms".to_owned()],
            ),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
    }
}
