//! A plot of a sweep as SVG: a panel for each correlation and each value of the other axis, a line for each pattern.

use std::fmt::Write as _;

use super::table::percent;
use super::{Sweep, SweepCell};
use crate::reliability::Interval;

/// The values along the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotAxis {
    /// The error rates, with a row of panels for each fan-out.
    ErrorRate,
    /// The fan-outs, with a row of panels for each error rate.
    FanOut,
}

/// A line of a plot: the colour and the dashes.
struct Stroke {
    color: &'static str,
    dashes: &'static str,
}

/// The top left corner of a panel's axes.
#[derive(Clone, Copy)]
struct Corner {
    x: f64,
    y: f64,
}

// Sizes in pixels: the area within the axes of a panel, and the room around it.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 45.0;
const HEADER: f64 = 30.0;
const LEGEND: f64 = 150.0;
/// The distance between the lines of two patterns, so that one interval does not hide another.
const SHIFT: f64 = 3.0;
/// The steps of the vertical axis.
const STEPS: u32 = 5;

/// The colours of Okabe and Ito (2008), which colour-blind people can tell apart; dashes help where there are none.
const COLORS: [&str; 8] = ["#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#999999"];
const DASHES: [&str; 4] = ["none", "6 3", "2 2", "8 2 2 2"];

/// The blast radius of every pattern with its interval at 95 %, as an SVG document.
pub fn plot(sweep: &Sweep, axis: PlotAxis) -> String {
    let (rates, fan_outs) = (sweep.grid.error_rates.len(), sweep.grid.fan_outs.len());
    let (points, rows) = match axis {
        PlotAxis::ErrorRate => (rates, fan_outs),
        PlotAxis::FanOut => (fan_outs, rates),
    };
    let columns = sweep.grid.correlations.len();
    let top = greatest(sweep);
    let panels = size(columns) * (LEFT + WIDTH);
    let (width, height) = (panels + LEGEND, HEADER + size(rows) * (TOP + HEIGHT + BOTTOM));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Blast radius of patterns of resilience</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let heading = format!("Blast radius: share of tasks that failed, 95 % interval, {} seeds", sweep.grid.seeds);
    write_text(&mut svg, LEFT, 20.0, "start", &heading);
    for column in 0..columns {
        for row in 0..rows {
            let cells = (0..points).map(|point| {
                let (rate, fan_out) = if axis == PlotAxis::ErrorRate { (point, row) } else { (row, point) };
                &sweep.cells[(column * rates + rate) * fan_outs + fan_out]
            });
            let corner = Corner {
                x: LEFT + size(column) * (LEFT + WIDTH),
                y: HEADER + TOP + size(row) * (TOP + HEIGHT + BOTTOM),
            };
            write_panel(&mut svg, corner, axis, &cells.collect::<Vec<_>>(), top);
        }
    }
    write_legend(&mut svg, sweep, panels + 20.0);
    svg.push_str("</svg>\n");
    svg
}

fn write_panel(svg: &mut String, corner: Corner, axis: PlotAxis, cells: &[&SweepCell], top: f64) {
    let Some(first) = cells.first() else { return };
    let Corner { x, y } = corner;
    let (title, label) = match axis {
        PlotAxis::ErrorRate => (format!("{}, fan-out {}", first.correlation, first.fan_out), "error rate"),
        PlotAxis::FanOut => (format!("{}, {}", first.correlation, percent(first.error_rate)), "fan-out"),
    };
    write_text(svg, x + WIDTH / 2.0, y - 8.0, "middle", &title);
    write_text(svg, x + WIDTH / 2.0, y + HEIGHT + 32.0, "middle", label);
    let (left, middle) = (x - 44.0, y + HEIGHT / 2.0);
    let _ = writeln!(
        svg,
        "<text transform=\"translate({left:.1} {middle:.1}) rotate(-90)\" text-anchor=\"middle\">blast radius</text>"
    );
    for step in 0..=STEPS {
        let share = top * f64::from(step) / f64::from(STEPS);
        let at = height_of(share, top) + y;
        let _ = writeln!(svg, "<path d=\"M{x:.1} {at:.1}h{WIDTH}\" stroke=\"#dddddd\"/>");
        write_text(svg, x - 6.0, at + 4.0, "end", &percent(share));
    }
    let _ = writeln!(svg, "<path d=\"M{x:.1} {y:.1}v{HEIGHT}h{WIDTH}\" fill=\"none\" stroke=\"black\"/>");
    for (index, cell) in cells.iter().enumerate() {
        let value = match axis {
            PlotAxis::ErrorRate => percent(cell.error_rate),
            PlotAxis::FanOut => cell.fan_out.to_string(),
        };
        write_text(svg, x + place_of(index, cells.len()), y + HEIGHT + 16.0, "middle", &value);
    }
    for pattern in 0..first.rows.len() {
        let shift = (size(pattern) - size(first.rows.len() - 1) / 2.0) * SHIFT;
        let line = Corner { x: x + shift, y };
        let intervals = cells.iter().map(|cell| cell.rows[pattern].figures.blast_radius);
        write_pattern(svg, line, &stroke(pattern), &intervals.collect::<Vec<_>>(), top);
    }
}

/// A line through the shares of a pattern, with a bar for each interval.
fn write_pattern(svg: &mut String, corner: Corner, stroke: &Stroke, intervals: &[Interval], top: f64) {
    let Stroke { color, dashes } = stroke;
    let (mut line, mut bars) = (String::new(), String::new());
    for (index, interval) in intervals.iter().enumerate() {
        let x = corner.x + place_of(index, intervals.len());
        let y = |share: f64| corner.y + height_of(share, top);
        let _ = write!(line, "{}{x:.1} {:.1}", if index == 0 { 'M' } else { 'L' }, y(interval.share));
        let _ = write!(bars, "M{x:.1} {:.1}V{:.1}", y(interval.low), y(interval.high));
    }
    let _ = writeln!(
        svg,
        "<path d=\"{line}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>\n\
         <path d=\"{bars}\" stroke=\"{color}\" stroke-width=\"2.5\" stroke-opacity=\"0.6\"/>"
    );
}

fn write_legend(svg: &mut String, sweep: &Sweep, x: f64) {
    for (index, pattern) in sweep.grid.patterns.iter().enumerate() {
        let (y, Stroke { color, dashes }) = (HEADER + TOP + size(index) * 18.0, stroke(index));
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {y:.1}h28\" stroke=\"{color}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
        );
        write_text(svg, x + 34.0, y + 4.0, "start", pattern.name);
    }
}

/// Writes a text that contains no character of markup.
fn write_text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn stroke(pattern: usize) -> Stroke {
    Stroke { color: COLORS[pattern % COLORS.len()], dashes: DASHES[pattern % DASHES.len()] }
}

/// The place of an index on the horizontal axis; the values are at even distances.
fn place_of(index: usize, count: usize) -> f64 {
    (size(index) + 0.5) * WIDTH / size(count)
}

/// The place of a share on the vertical axis.
fn height_of(share: f64, top: f64) -> f64 {
    HEIGHT * (1.0 - share / top)
}

/// The end of the vertical axis, the same for all panels.
fn greatest(sweep: &Sweep) -> f64 {
    let rows = sweep.cells.iter().flat_map(|cell| &cell.rows);
    let high = rows.map(|row| row.figures.blast_radius.high).fold(0.0, f64::max);
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].into_iter().find(|end| high <= *end).unwrap_or(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of panels and patterns are small")]
fn size(count: usize) -> f64 {
    count as f64
}
