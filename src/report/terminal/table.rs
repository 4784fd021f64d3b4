//! Tables of figures: as they are where they fit, with shorter headings where those do, and as paragraphs elsewhere.

use crate::event::{Cell, SectionTable, Tone};
use crate::source::{Style, visible_line};

use super::layout::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// The most rows of a table that grows with the suites.
pub(crate) const ROWS: usize = 40;
/// The most lines of a last column, and of a row that is a paragraph.
pub(crate) const LINES: usize = 6;
/// The room that the figures have beside the names of rows, unless they need less.
const FIGURES: usize = 30;
/// The room that stays for the names of rows where the figures need more.
const LABELS: usize = 20;
/// The least room for a last column that is broken into lines.
const LAST: usize = 20;
/// The fewest letters of a heading that say anything.
const HEADING: usize = 8;
/// The most lines of a name of a row.
const LABEL_LINES: usize = 2;
/// Between columns; the last where the table would not fit otherwise.
const GAPS: [usize; 2] = [3, 2];

/// What stands above the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headings<'a> {
    /// Their names, and this above the names of the rows.
    Named(&'a str),
    /// Nothing.
    Bare,
}

/// The table; a line for each row, or a paragraph where lines are too long.
pub(crate) fn table(table: &SectionTable, headings: Headings<'_>, style: &Style) -> String {
    grid(table, headings, style).unwrap_or_else(|| paragraphs(table, headings, style))
}

/// The table below the names of its columns, the first of which stands above the names of the rows.
pub(crate) fn named(table: &SectionTable) -> Headings<'_> {
    Headings::Named(table.columns.first().map_or("", String::as_str))
}

/// The first rows, and the number of the others.
pub(crate) fn first_rows(mut table: SectionTable, most: usize) -> (SectionTable, usize) {
    let more = table.rows.len().saturating_sub(most);
    table.rows.truncate(most);
    (table, more)
}

/// A line for each row; `None` where it does not fit, even with headings of a few letters.
pub(crate) fn grid(table: &SectionTable, headings: Headings<'_>, style: &Style) -> Option<String> {
    let widths = GAPS.into_iter().find_map(|gap| Widths::of(table, headings, gap, style.width))?;
    let mut text = String::new();
    if let Headings::Named(heading) = headings {
        let cropped = |names: Vec<&str>| -> Vec<String> {
            names.into_iter().zip(&widths.columns).map(|(name, width)| layout::crop(name, *width)).collect()
        };
        let groups = cropped(shown_groups(table));
        if groups.iter().any(|group| !group.is_empty()) {
            text += &line("", groups, &widths);
        }
        let names = cropped(table.columns.iter().skip(1).map(String::as_str).collect());
        text += &labelled(heading, Some(BOLD), names, &widths, style);
    }
    for row in &table.rows {
        let Some((label, cells)) = row.split_first() else { continue };
        text += &labelled(&visible_line(&label.text), None, lines_of(cells, &widths, style), &widths, style);
    }
    Some(text)
}

/// The width of each part of a line.
struct Widths {
    label: usize,
    /// Of the columns beside the label.
    columns: Vec<usize>,
    gap: usize,
}

impl Widths {
    fn of(table: &SectionTable, headings: Headings<'_>, gap: usize, room: usize) -> Option<Self> {
        let names = if headings == Headings::Bare { Vec::new() } else { names(table) };
        let heading = match headings {
            Headings::Named(heading) => layout::columns(heading),
            Headings::Bare => 0,
        };
        let label = column_widths(table, 0).chain([heading]).max().unwrap_or_default();
        let cells: Vec<usize> =
            (1..table.columns.len()).map(|at| column_widths(table, at).max().unwrap_or_default()).collect();
        let most =
            |at: usize| names.get(at).map_or(0, |(group, name)| layout::columns(group).max(layout::columns(name)));
        let whole: Vec<usize> = cells.iter().enumerate().map(|(at, cells)| most(at).max(*cells)).collect();
        let beside_label = |columns: &[usize]| -> usize { columns.iter().map(|width| width + gap).sum() };
        let room = room.saturating_sub(2);
        let usual = label.min((room + 2).saturating_sub(FIGURES));
        let (last, before) = whole.split_last()?;
        let rest = room.checked_sub(usual + beside_label(before) + gap).filter(|rest| *rest >= LAST.min(*last));
        if let Some(rest) = rest {
            let columns = before.iter().copied().chain([(*last).min(rest)]).collect();
            return Some(Self { label: usual, columns, gap });
        }
        let narrow = label.min(LABELS);
        let shrunk = |most: usize| -> Vec<usize> {
            cells.iter().zip(&whole).map(|(cells, whole)| (*whole).min(most).max(*cells)).collect()
        };
        let widest = whole.iter().copied().max().unwrap_or_default();
        let columns = (HEADING..=widest).rev().map(shrunk).find(|columns| narrow + beside_label(columns) <= room)?;
        let label = label.min(room - beside_label(&columns));
        are_told_apart(&names, &columns).then_some(Self { label, columns, gap })
    }
}

/// No two headings of one group are the same once they are cropped.
fn are_told_apart(names: &[(&str, &str)], widths: &[usize]) -> bool {
    let shown: Vec<(&str, String)> =
        names.iter().zip(widths).map(|((group, name), width)| (*group, layout::crop(name, *width))).collect();
    (1..shown.len()).all(|at| !shown[..at].contains(&shown[at]))
}

/// The widths of the cells of a column.
fn column_widths(table: &SectionTable, at: usize) -> impl Iterator<Item = usize> {
    table.rows.iter().filter_map(move |row| row.get(at)).map(|cell| layout::columns(&visible_line(&cell.text)))
}

/// Each column but the first, with the group that it belongs to.
fn names(table: &SectionTable) -> Vec<(&str, &str)> {
    let group = |at: usize| table.groups.get(at).map_or("", String::as_str);
    table.columns.iter().enumerate().skip(1).map(|(at, name)| (group(at), name.as_str())).collect()
}

/// The group above each column but the first, where it begins.
fn shown_groups(table: &SectionTable) -> Vec<&str> {
    let names = names(table);
    let begins = |at: usize| at == 0 || names[at - 1].0 != names[at].0;
    (0..names.len()).map(|at| if begins(at) { names[at].0 } else { "" }).collect()
}

/// The cells of a row, painted; those below the last one are more lines of it.
fn lines_of(cells: &[Cell], widths: &Widths, style: &Style) -> Vec<String> {
    let mut told = Vec::new();
    for (at, (cell, width)) in cells.iter().zip(&widths.columns).enumerate() {
        let text = visible_line(&cell.text);
        if at + 1 < widths.columns.len() {
            told.push(paint_tone(&text, cell.tone, style));
            continue;
        }
        let wrapped = layout::wrap_some(&text, *width, LINES);
        let mut lines = wrapped.lines();
        told.push(paint_tone(lines.next().unwrap_or_default(), cell.tone, style));
        told.extend(lines.map(str::to_owned));
    }
    told
}

/// A line, and below it what is left of its last cell; a label that is too long stands above.
fn labelled(
    label: &str,
    look: Option<anstyle::Style>,
    mut cells: Vec<String>,
    widths: &Widths,
    style: &Style,
) -> String {
    let paint = |text: &str| look.map_or_else(|| text.to_owned(), |look| layout::paint(text, look, style));
    let below = cells.split_off(cells.len().min(widths.columns.len()));
    let mut text = String::new();
    if layout::columns(label) > widths.label {
        let above: Vec<String> = layout::wrap_some(label, style.width - 2, LABEL_LINES).lines().map(paint).collect();
        text += &layout::indent(&above.join("\n"), "  ");
        text += &line("", cells, widths);
    } else {
        text += &line(&paint(label), cells, widths);
    }
    let before = widths.columns.iter().rev().skip(1).map(|width| width + widths.gap).sum::<usize>();
    let before = widths.label + widths.gap + before;
    text + &layout::indent(&below.join("\n"), &" ".repeat(before + 2))
}

fn line(label: &str, cells: Vec<String>, widths: &Widths) -> String {
    let all: Vec<usize> = std::iter::once(widths.label).chain(widths.columns.iter().copied()).collect();
    format!("  {}", layout::table_line(std::iter::once(label.to_owned()).chain(cells), &all, widths.gap))
}

/// The rows in words, each with the names of its columns.
fn paragraphs(table: &SectionTable, headings: Headings<'_>, style: &Style) -> String {
    let mut text = String::new();
    if let Headings::Named(heading) = headings {
        let lines = layout::wrap_some(heading, style.width - 2, LABEL_LINES);
        let painted: Vec<String> = lines.lines().map(|line| layout::paint(line, BOLD, style)).collect();
        text += &layout::indent(&painted.join("\n"), "  ");
    }
    for row in &table.rows {
        let Some((label, cells)) = row.split_first() else { continue };
        let cells = cells.iter().zip(table.columns.iter().skip(1)).filter(|(cell, _)| !cell.text.is_empty());
        let told: Vec<String> = cells
            .map(|(cell, name)| match headings {
                Headings::Named(_) => format!("{name} {}", cell.text),
                Headings::Bare => cell.text.clone(),
            })
            .collect();
        let label = layout::wrap_some(&visible_line(&label.text), style.width - 2, LABEL_LINES);
        let told = layout::wrap_some(&visible_line(&told.join(", ")), style.width - 4, LINES);
        text += &layout::indent(&label, "  ");
        text += &layout::indent(&told, "    ");
    }
    text
}

fn paint_tone(text: &str, tone: Tone, style: &Style) -> String {
    let look = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => GREEN,
        Tone::Doubtful => YELLOW,
        Tone::Bad => RED,
        Tone::Faint => DIM,
    };
    layout::paint(text, look, style)
}

#[cfg(test)]
mod tests {
    use crate::source::Color;

    use super::*;

    fn of(columns: &[&str], rows: &[&[&str]]) -> SectionTable {
        let row = |row: &&[&str]| row.iter().map(|text| Cell::plain(*text)).collect();
        SectionTable::new(columns.iter().map(|name| (*name).to_owned()), rows.iter().map(row).collect())
    }

    fn at(width: usize, table: &SectionTable) -> String {
        super::table(table, named(table), &Style::new(Color::Never, width))
    }

    #[test]
    fn a_table_folds_where_it_does_not_fit() {
        let verdicts =
            of(&["verdicts", "staging/2026-07-28", "users/auto"], &[&["a user is read back", "failed", "passed"]]);
        let whole = "  verdicts              staging/2026-07-28   users/auto\n  \
                     a user is read back   failed               passed\n";
        let cropped = "  verdicts              staging/2026…   users/auto\n  \
                       a user is read back   failed          passed\n";
        let close = "  verdicts             staging…  users/a…\n  a user is read back  failed    passed\n";
        assert_eq!([at(80, &verdicts), at(50, &verdicts), at(41, &verdicts)], [whole, cropped, close]);
        let same = of(&["tool", "the long name one", "the long name two"], &[&["get_user", "1/2", "2/2"]]);
        let told = "  tool\n  get_user\n    the long name one 1/2, the long name\n    two 2/2\n";
        assert_eq!(at(40, &same), told);
    }

    #[test]
    fn groups_stand_above_the_first_of_their_columns() {
        let table = of(&["tool", "HANG", "SLOW", "CRASH"], &[&["get_user", "2/2", "·", "0/4"]]);
        let table = SectionTable { groups: ["", "TIMEOUT", "TIMEOUT", "TOOL"].map(str::to_owned).to_vec(), ..table };
        let shown = "             TIMEOUT             TOOL\n  \
                     tool       HANG      SLOW      CRASH\n  \
                     get_user   2/2       ·         0/4\n";
        assert_eq!(at(80, &table), shown);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = "a sentence that goes on and on until somebody breaks it into lines";
        let table = of(&["names", "figure", "why"], &[&[long, "17", long], &["one", "2", "three"]]);
        for width in [40, 50, 60, 100] {
            let text = at(width, &table);
            assert!(text.lines().all(|line| layout::columns(line) <= width), "{width}\n{text}");
        }
    }
}
