//! Which tool is guarded against which fault: rows are tools, prompts, resources and sessions, columns leaves, or
//! families where leaves do not fit.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::event::Proof;
use crate::source::{Style, visible_line};

use super::super::super::proven::{CellCounts, SubjectRow, subject_rows, subject_text};
use super::super::layout::{self, DIM, GREEN, RED, YELLOW};
use super::{Survivors, below, item};

/// The most tools.
const ROWS: usize = 40;
/// The fewest letters of a heading that say anything.
const LEAST: usize = 8;
/// Between columns.
const GAP: usize = 2;

/// Some leaves under one heading.
struct Column<'a> {
    family: &'a str,
    name: &'a str,
    leaves: Vec<&'a str>,
}

/// A row as it is shown.
struct TableRow<'a> {
    name: String,
    leaves: BTreeMap<&'a str, CellCounts>,
}

/// Shows what was killed of what was planted; nothing where no fault can occur.
pub(crate) fn table(proof: &Proof, survivors: Survivors, style: &Style) -> String {
    let rows = rows(proof);
    let leaves = leaves(proof, &rows);
    if leaves.is_empty() {
        return String::new();
    }
    let shown = match survivors {
        Survivors::Worst => rows.len().min(ROWS),
        Survivors::All => rows.len(),
    };
    let families = families(&leaves);
    let (rows, hidden) = rows.split_at(shown);
    let told = grid(&leaves, rows, LEAST, style).unwrap_or_else(|| {
        let text = grid(&families, rows, LEAST / 2, style).unwrap_or_else(|| list(&families, rows, style));
        let told = "faults are shown by family; a wider terminal or `--report json=FILE` shows each fault";
        text + &item("-", told, 3, style)
    });
    let text = layout::indent(&layout::wrap_some(TITLE, style.width - 2, 3), "  ") + &told;
    match hidden.len() {
        0 => text,
        more => {
            let more = layout::plural(more, "more row");
            text + &item("-", &format!("and {more}; `--survivors all` shows all"), 2, style)
        }
    }
}

const TITLE: &str = "changes that turned a case red, of all that were made at each tool; `none` where no case does \
                     what would show the fault, `·` where it cannot occur:";

/// The rows; the target is named where there are several.
fn rows(proof: &Proof) -> Vec<TableRow<'_>> {
    let rows = subject_rows(&proof.table);
    let has_several = rows.iter().any(|row| row.target != rows[0].target);
    let name = |row: &SubjectRow<'_>| {
        let name = subject_text(row.subject);
        if has_several { format!("{name} @ {}", row.target) } else { name }
    };
    rows.into_iter().map(|row| TableRow { name: name(&row), leaves: row.leaves }).collect()
}

/// The leaves that any mutant was planted for, in the order of the registry.
fn leaves<'a>(proof: &'a Proof, rows: &[TableRow<'_>]) -> Vec<Column<'a>> {
    let mut found: IndexMap<&str, Column<'a>> = IndexMap::new();
    for mutant in &proof.mutants {
        if rows.iter().any(|row| row.leaves.contains_key(mutant.leaf.as_str())) {
            let short = mutant.leaf.strip_prefix("FAULT-").unwrap_or(&mutant.leaf);
            let (family, name) = short.split_once('-').unwrap_or((short, short));
            found.entry(&mutant.leaf).or_insert(Column { family, name, leaves: vec![&mutant.leaf] });
        }
    }
    found.into_values().collect()
}

fn families<'a>(leaves: &[Column<'a>]) -> Vec<Column<'a>> {
    let mut found: IndexMap<&str, Column<'a>> = IndexMap::new();
    for leaf in leaves {
        let family = found.entry(leaf.family).or_insert(Column { family: "", name: leaf.family, leaves: Vec::new() });
        family.leaves.extend(&leaf.leaves);
    }
    found.into_values().collect()
}

/// The table; `None` where headings would be shorter than that, or two of them the same.
fn grid(columns: &[Column<'_>], rows: &[TableRow<'_>], least: usize, style: &Style) -> Option<String> {
    let tools = rows.iter().map(|row| layout::columns(&visible_line(&row.name)));
    let first = tools.max().unwrap_or(0).max("tool".len()).min(style.width / 3);
    let room = style.width.saturating_sub(2 + first);
    let most = widest(columns, rows, room);
    let width = |column: &Column<'_>| wanted_width(column, rows).min(most);
    let widths: Vec<usize> = std::iter::once(first).chain(columns.iter().map(width)).collect();
    let headings: Vec<String> =
        columns.iter().zip(&widths[1..]).map(|(column, width)| layout::crop(column.name, *width)).collect();
    let are_short = columns.iter().any(|column| width(column) < least.min(wanted_width(column, rows)));
    let are_same = (1..columns.len()).any(|at| {
        let is_same = |before: usize| columns[before].family == columns[at].family && headings[before] == headings[at];
        (0..at).any(is_same)
    });
    if are_short || are_same {
        return None;
    }
    let mut text = above(columns, &widths);
    text += &line("tool", &headings, &widths);
    for row in rows {
        let cells: Vec<String> = columns.iter().map(|column| paint_counts(cell(column, row), style)).collect();
        text += &line(&layout::crop(&row.name, first), &cells, &widths);
    }
    Some(text)
}

/// The families, each above the first of its leaves; nothing where the columns are families.
fn above(columns: &[Column<'_>], widths: &[usize]) -> String {
    let is_first = |at: usize| at == 0 || columns[at - 1].family != columns[at].family;
    let name = |at: usize| if is_first(at) { layout::crop(columns[at].family, widths[at + 1]) } else { String::new() };
    let names: Vec<String> = (0..columns.len()).map(name).collect();
    if names.iter().all(String::is_empty) { String::new() } else { line("", &names, widths) }
}

fn line<'a>(name: &'a str, cells: &'a [String], widths: &[usize]) -> String {
    let cells = std::iter::once(name).chain(cells.iter().map(String::as_str));
    format!("  {}", layout::table_line(cells, widths, GAP))
}

/// The same in words, where no table fits.
fn list(columns: &[Column<'_>], rows: &[TableRow<'_>], style: &Style) -> String {
    let row = |row: &TableRow<'_>| {
        let cells = columns.iter().filter_map(|column| Some((column.name, cell(column, row)?)));
        let told = cells.map(|(name, cell)| format!("{name} {}", cell_text(cell))).collect::<Vec<_>>().join(", ");
        format!("  {}\n{}", layout::crop(&row.name, style.width - 2), below(&told, 4, style))
    };
    rows.iter().map(row).collect()
}

/// The cell; `None` where no fault of the column can occur.
fn cell(column: &Column<'_>, row: &TableRow<'_>) -> Option<CellCounts> {
    column.leaves.iter().filter_map(|leaf| row.leaves.get(*leaf)).copied().reduce(CellCounts::and)
}

fn cell_text(cell: CellCounts) -> String {
    if cell.planted == 0 { "none".to_owned() } else { format!("{}/{}", cell.killed, cell.planted) }
}

fn paint_counts(cell: Option<CellCounts>, style: &Style) -> String {
    let Some(cell) = cell else { return layout::paint("·", DIM, style) };
    let color = match cell {
        CellCounts { is_proven: true, .. } => GREEN,
        CellCounts { killed: 0, .. } => RED,
        CellCounts { .. } => YELLOW,
    };
    layout::paint(&cell_text(cell), color, style)
}

/// The width that a column needs.
fn wanted_width(column: &Column<'_>, rows: &[TableRow<'_>]) -> usize {
    let cells = rows.iter().filter_map(|row| cell(column, row)).map(|cell| cell_text(cell).len());
    cells.max().unwrap_or(0).max(layout::columns(column.name)).max(layout::columns(column.family))
}

/// The widest that a column may be so that all of them fit beside each other.
fn widest(columns: &[Column<'_>], rows: &[TableRow<'_>], room: usize) -> usize {
    let wanted: Vec<usize> = columns.iter().map(|column| wanted_width(column, rows)).collect();
    let fits = |most: &usize| wanted.iter().map(|width| GAP + width.min(most)).sum::<usize>() <= room;
    let all = wanted.iter().copied().max().unwrap_or(0);
    (0..=all).rev().find(fits).unwrap_or(0)
}
