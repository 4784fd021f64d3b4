//! Sections that blocks write.

use crate::event::{Cell, RunFinished, Section, SectionPart, SectionTable, Tone};
use crate::source::{Style, visible_line};

use super::layout::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// The least room for the figures of a table beside the names of its rows.
const FIGURES: usize = 30;
/// The most lines of a list or of a table's last column.
const LINES: usize = 6;

/// Every section of a run.
pub(crate) fn sections(finished: &RunFinished, style: &Style) -> Vec<String> {
    finished.sections.iter().map(|one| section(one, style)).collect()
}

fn section(section: &Section, style: &Style) -> String {
    let heading = visible_line(&section.heading);
    let mut parts = section.parts.as_slice();
    // A table with several columns of figures has the heading in its first line.
    let mut text = match parts {
        [SectionPart::Table(first), rest @ ..] if first.columns.len() > 2 => {
            parts = rest;
            table(first, Some(&heading), style)
        }
        _ => format!("  {}\n", layout::paint(&layout::crop(&heading, style.width - 2), BOLD, style)),
    };
    for part in parts {
        text += &match part {
            SectionPart::Table(part) => table(part, None, style),
            SectionPart::List(lines) => dim(&lines.join(", "), "    ", style),
            SectionPart::Code(code) => layout::indent(code, "    "),
            SectionPart::Note(note) => {
                layout::indent(&layout::wrap_some(&visible_line(note), style.width - 2, LINES), "  ")
            }
        };
    }
    text
}

fn dim(text: &str, by: &str, style: &Style) -> String {
    let lines = layout::wrap_some(&visible_line(text), style.width - by.len(), LINES);
    let painted: Vec<String> = lines.lines().map(|line| layout::paint(line, DIM, style)).collect();
    layout::indent(&painted.join("\n"), by)
}

/// A table below its heading; the names of its columns are shown where there is a heading to stand beside.
fn table(table: &SectionTable, heading: Option<&str>, style: &Style) -> String {
    let labels = || table.rows.iter().filter_map(|row| row.first()).map(|cell| visible_line(&cell.text));
    let widest = labels().map(|label| layout::columns(&label)).chain(heading.map(layout::columns)).max();
    let width = widest.unwrap_or_default().min(style.width.saturating_sub(FIGURES));
    let widths = figure_widths(table, heading.is_some());
    let mut text = String::new();
    if let Some(heading) = heading {
        let names: Vec<Cell> = table.columns.iter().skip(1).map(Cell::plain).collect();
        text += &label_figures(heading, Some(BOLD), &figures(&names, &widths, 0, style), width, style);
    }
    for row in &table.rows {
        let Some((label, cells)) = row.split_first() else { continue };
        text +=
            &label_figures(&visible_line(&label.text), None, &figures(cells, &widths, width + 5, style), width, style);
    }
    text
}

/// The width of each column but the first.
fn figure_widths(table: &SectionTable, has_names: bool) -> Vec<usize> {
    let names = table.columns.iter().enumerate().skip(1);
    let width = |(at, name): (usize, &String)| {
        let cells =
            table.rows.iter().filter_map(|row| row.get(at)).map(|cell| layout::columns(&visible_line(&cell.text)));
        cells.chain(has_names.then(|| layout::columns(name))).max().unwrap_or_default()
    };
    names.map(width).collect()
}

/// The cells of a row beside its label; the last one is wrapped below itself, `before` columns from the left.
fn figures(cells: &[Cell], widths: &[usize], before: usize, style: &Style) -> String {
    let mut line = String::new();
    let mut used = before;
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let text = visible_line(&cell.text);
        if at + 1 == cells.len() {
            let room = style.width.saturating_sub(used).max(20);
            let wrapped = layout::wrap_some(&text, room, LINES);
            let mut lines = wrapped.lines();
            line += &paint_tone(lines.next().unwrap_or_default(), cell.tone, style);
            for below in lines {
                line.push('\n');
                line += &" ".repeat(used);
                line += below;
            }
        } else {
            let gap = " ".repeat(width.saturating_sub(layout::columns(&text)));
            line += &paint_tone(&text, cell.tone, style);
            line += &gap;
            line += "   ";
            used += width + 3;
        }
    }
    line
}

fn paint_tone(text: &str, tone: Tone, style: &Style) -> String {
    let look = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => GREEN,
        Tone::Doubtful => YELLOW,
        Tone::Bad => RED,
    };
    layout::paint(text, look, style)
}

/// A line of a table; a label that is too long for its column stands above the figures.
fn label_figures(label: &str, look: Option<anstyle::Style>, figures: &str, width: usize, style: &Style) -> String {
    let paint = |text: &str| look.map_or_else(|| text.to_owned(), |look| layout::paint(text, look, style));
    let columns = layout::columns(label);
    if columns <= width {
        let line = format!("  {}{}   {figures}", paint(label), " ".repeat(width - columns));
        return format!("{}\n", line.trim_end());
    }
    let above: Vec<String> = layout::wrap(label, style.width - 2).iter().map(|line| paint(line)).collect();
    let below = format!("  {}   {figures}", " ".repeat(width));
    format!("{}{}\n", layout::indent(&above.join("\n"), "  "), below.trim_end())
}
