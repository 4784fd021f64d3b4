//! Sections that blocks write.

use crate::event::{Section, SectionPart};
use crate::source::{Style, visible_line};

use super::layout::{self, BOLD, DIM};
use super::table::{self, Headings, LINES};

pub(crate) fn section(section: &Section, style: &Style) -> String {
    let heading = visible_line(&section.heading);
    let mut parts = section.parts.as_slice();
    // A table with several columns of figures has the heading in its first line.
    let mut text = match parts {
        [SectionPart::Table(first), rest @ ..] if first.columns.len() > 2 => {
            parts = rest;
            table::table(first, Headings::Named(&heading), style)
        }
        _ => format!("  {}\n", layout::paint(&layout::crop(&heading, style.width - 2), BOLD, style)),
    };
    for part in parts {
        text += &match part {
            SectionPart::Table(part) => table::table(part, Headings::Bare, style),
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
