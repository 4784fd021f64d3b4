//! Tables that other reports draw as well.

use std::fmt::Write as _;

use crate::event::{Cell, SectionTable, Tone};

use super::escape::{code, inline};

/// A table that scrolls by itself where it is too wide; `label` names it to those who do not see it.
pub(super) fn table(table: &SectionTable, label: &str) -> String {
    let mut text = open(label);
    text += "<thead>";
    text += &groups(table);
    text += "<tr>";
    for name in &table.columns {
        let _ = write!(text, "<th scope=\"col\">{}</th>", inline(name));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        text += &self::row(row);
    }
    text + CLOSE
}

/// The beginning of a table, up to its head.
pub(super) fn open(label: &str) -> String {
    let label = inline(label);
    format!("<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{label}\"><table>")
}

/// The end of a table.
pub(super) const CLOSE: &str = "</tbody></table></div>\n";

fn groups(table: &SectionTable) -> String {
    if table.groups.iter().all(String::is_empty) {
        return String::new();
    }
    let mut text = String::from("<tr>");
    for group in table.groups.chunk_by(|one, other| one == other) {
        let name = group.first().map_or("", String::as_str);
        if name.is_empty() {
            text += &"<td></td>".repeat(group.len());
        } else {
            let _ = write!(text, "<th scope=\"colgroup\" colspan=\"{}\">{}</th>", group.len(), inline(name));
        }
    }
    text + "</tr>"
}

fn row(row: &[Cell]) -> String {
    let Some((label, cells)) = row.split_first() else { return String::new() };
    let cells: String = cells.iter().map(cell).collect();
    format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", code(&label.text))
}

/// A cell with the class of its tone, which its text says as well.
pub(super) fn cell(cell: &Cell) -> String {
    format!("<td class=\"{}\">{}</td>", tone_class(cell.tone), inline(&cell.text))
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Doubtful => "doubt",
        Tone::Bad => "bad",
        Tone::Faint => "faint",
    }
}
