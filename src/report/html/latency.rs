//! How long requests took, by tool: percentiles and a small histogram on an axis that all rows share.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::source::duration_text;

use super::NumberedCase;
use super::escape::{code, inline};
use super::table;

/// The bars of a histogram: below 100 µs, then each twice as long as the one before, up to an hour and more.
const BARS: usize = 24;
/// The upper end of the first bar, in microseconds.
const FIRST: u64 = 100;
/// The size of a histogram.
const BAR_WIDTH: usize = 6;
const HEIGHT: u64 = 24;

/// The table; nothing where no answer was timed.
pub(super) fn latency(cases: &[NumberedCase<'_>]) -> String {
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for exchange in cases.iter().flat_map(|numbered| &numbered.case.exchanges) {
        if exchange.answer_frame.is_some() && exchange.elapsed_us > 0 {
            let name = exchange.tool.as_deref().unwrap_or(exchange.title.as_str());
            times.entry(name).or_default().push(exchange.elapsed_us);
        }
    }
    if times.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<p>From request to answer, as the client sees it, its own work included. Each bar covers twice the time of the one \
         before; the first is what took less than {}.</p>\n",
        text_of(FIRST)
    );
    text += &table::open("Latency");
    text += "<thead><tr><th scope=\"col\">request</th>";
    for name in ["answers", "p50", "p95", "max", "distribution"] {
        let _ = write!(text, "<th scope=\"col\">{name}</th>");
    }
    text += "</tr></thead>\n<tbody>\n";
    for (name, times) in &mut times {
        times.sort_unstable();
        let figures = [percentile(times, 50), percentile(times, 95), percentile(times, 100)].map(text_of);
        let cell = |figure: &String| format!("<td class=\"number\">{figure}</td>");
        let figures: String = figures.iter().map(cell).collect();
        let count = times.len();
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{count}</td>{figures}<td>{}</td></tr>",
            code(name),
            drawing(name, &histogram(times))
        );
    }
    text + table::CLOSE
}

fn text_of(micros: u64) -> String {
    duration_text(Duration::from_micros(micros))
}

/// The smallest time that at least so many percent of the sorted times do not exceed; 0 where there are none.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// The number of times in each bar.
fn histogram(times: &[u64]) -> [u64; BARS] {
    let mut bars = [0; BARS];
    for time in times {
        let doublings = (time / FIRST).checked_ilog2().map_or(0, |log| log as usize + 1);
        bars[doublings.min(BARS - 1)] += 1;
    }
    bars
}

/// The histogram as a picture; anything that happened has a bar that can be seen.
fn drawing(name: &str, bars: &[u64; BARS]) -> String {
    let most = bars.iter().copied().max().unwrap_or_default().max(1);
    let bar = |(at, count): (usize, &u64)| {
        let height = (count * HEIGHT).div_ceil(most);
        let (x, y) = (at * BAR_WIDTH, HEIGHT - height);
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>", BAR_WIDTH - 1)
    };
    let drawn: String = bars.iter().enumerate().filter(|(_, count)| **count > 0).map(bar).collect();
    let (name, width) = (inline(name), BARS * BAR_WIDTH);
    format!(
        "<svg class=\"histogram\" role=\"img\" aria-label=\"distribution of {name}\" width=\"{width}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\">{drawn}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let hundred: Vec<u64> = (1..=100).collect();
        for (times, percent, expected) in [
            (&hundred[..], 50, 50),
            (&hundred, 95, 95),
            (&hundred, 100, 100),
            (&[7], 50, 7),
            (&[7, 9], 50, 7),
            (&[7, 9], 95, 9),
            (&[], 50, 0),
        ] {
            assert_eq!(percentile(times, percent), expected, "{percent} of {}", times.len());
        }
    }

    #[test]
    fn each_bar_is_twice_as_long() {
        for (time, bar) in [(0, 0), (99, 0), (100, 1), (199, 1), (200, 2), (400, 3), (u64::MAX, BARS - 1)] {
            let bars = histogram(&[time]);
            assert_eq!(bars.iter().position(|count| *count == 1), Some(bar), "{time}");
        }
    }
}
