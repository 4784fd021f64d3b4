//! Columns, line breaks and colours. Knows nothing about cases.

use anstyle::AnsiColor;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::source::{Color, Style, visible, visible_line};

/// Good news.
pub(crate) const GREEN: anstyle::Style = AnsiColor::Green.on_default().bold();
/// Findings.
pub(crate) const RED: anstyle::Style = AnsiColor::BrightRed.on_default().bold();
/// Doubts.
pub(crate) const YELLOW: anstyle::Style = AnsiColor::Yellow.on_default().bold();
/// The style of what is read last.
pub(crate) const DIM: anstyle::Style = anstyle::Style::new().dimmed();
/// The style of what is read first.
pub(crate) const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// Which lines of a long text stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeepLines {
    /// The first ones.
    First(usize),
    /// The last ones.
    Last(usize),
}

/// The number of lines that the last line of a text fills at most.
const LAST_LINE: usize = 8;

/// The text in a colour, if colours may be used.
pub(crate) fn paint(text: &str, look: anstyle::Style, style: &Style) -> String {
    match style.color {
        Color::Always if !text.is_empty() => format!("{look}{text}{look:#}"),
        Color::Always | Color::Never => text.to_owned(),
    }
}

/// The number of columns that a text without colours fills.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text on one line and no wider than that; `…` stands for what is left out.
pub(crate) fn crop(text: &str, width: usize) -> String {
    let text = visible_line(text);
    if columns(&text) <= width {
        return text.into_owned();
    }
    let mut cropped = take(&text, width.saturating_sub(1)).to_owned();
    cropped.push('…');
    cropped
}

/// Like [`crop`], but takes the beginning of the longest path first: in a frame of a stack, file and line come last.
fn crop_frame(line: &str, width: usize) -> String {
    let line = visible_line(line);
    let excess = columns(&line).saturating_sub(width);
    let ends = |c: char| c.is_whitespace() || "\"'()<>".contains(c);
    let is_path = |word: &&str| word.contains(['/', '\\']) && (!word.contains("://") || word.starts_with("file:"));
    let path = line.split(ends).filter(is_path).max_by_key(|word| columns(word));
    let Some(path) = path.filter(|_| excess > 0) else { return crop(&line, width) };
    // The part that stays begins at a separator; `…` takes one of the columns that become free.
    let mut kept = path.match_indices(['/', '\\']).map(|(at, _)| path.split_at(at));
    let kept = kept.clone().find(|(dropped, _)| columns(dropped) > excess).or(kept.next_back());
    crop(&kept.map_or(line.to_string(), |(_, kept)| line.replacen(path, &format!("…{kept}"), 1)), width)
}

/// The space and text after `left` that put `right` at the right edge; on the next line if there is no room.
pub(crate) fn flush_right(left: &str, right: &str, style: &Style) -> String {
    if right.is_empty() {
        return String::new();
    }
    let used = columns(left) + columns(right);
    if used + 2 <= style.width {
        return format!("{}{right}", " ".repeat(style.width - used));
    }
    let right = crop(right, style.width);
    format!("\n{}{right}", " ".repeat(style.width - columns(&right)))
}

/// The text broken at spaces so that no line is wider than that; words without spaces are broken anywhere.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    visible(text).lines().flat_map(|line| wrap_line(line.trim_end(), width.max(8))).collect()
}

/// Like [`wrap`], with a limit on the number of lines.
pub(crate) fn wrap_some(text: &str, width: usize, lines: usize) -> String {
    let mut wrapped = wrap(text, width);
    if wrapped.len() > lines {
        wrapped.truncate(lines);
        if let Some(last) = wrapped.last_mut() {
            *last = format!("{} …", take(last, width.saturating_sub(2)));
        }
    }
    wrapped.join("\n")
}

/// The number of lines of that width that hold as much as so many of an ordinary terminal.
pub(crate) fn lines_in(lines: usize, width: usize) -> usize {
    lines.max((lines * 60).div_ceil(width.max(1)))
}

/// Some lines of a text, each cropped, with a word about those left out.
pub(crate) fn block(text: &str, keep: KeepLines, width: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let (from, to) = match keep {
        KeepLines::First(count) => (0, count.min(lines.len())),
        KeepLines::Last(count) => (lines.len().saturating_sub(count), lines.len()),
    };
    let mut shown: Vec<String> = lines[from..to].iter().map(|line| crop_frame(line, width)).collect();
    if from > 0 {
        shown.insert(0, format!("… {} before these", plural(from, "line")));
    }
    if to < lines.len() {
        shown.push(format!("… {} more", plural(lines.len() - to, "line")));
    }
    shown.join("\n")
}

/// The last lines of what a program said before it ended, the very last one whole: that is why it ended, and often how to
/// mend it.
pub(crate) fn last_words(text: &str, count: usize, width: usize) -> String {
    let text = text.trim_end();
    let (earlier, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let last = wrap_some(last, width, lines_in(LAST_LINE, width));
    if earlier.is_empty() {
        last
    } else {
        block(earlier, KeepLines::Last(count.saturating_sub(1)), width) + "\n" + &last
    }
}

/// The number of columns that a text fills which may be painted.
pub(crate) fn painted_columns(text: &str) -> usize {
    columns(&anstream::adapter::strip_str(text).to_string())
}

/// A line of a table: cells, which may be painted, each as wide as its column, with so many blanks between them.
pub(crate) fn table_line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>, widths: &[usize], gap: usize) -> String {
    let mut text = String::new();
    for (cell, width) in cells.into_iter().zip(widths) {
        text += cell.as_ref();
        text += &" ".repeat(width.saturating_sub(painted_columns(cell.as_ref())) + gap);
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Every line moved to the right.
pub(crate) fn indent(text: &str, by: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{by}{line}\n") }).collect()
}

/// `1 case`, `2 cases`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = line;
    loop {
        // The rest is never measured as a whole: lines can be as long as a message.
        let fitting = take(rest, width);
        if fitting.len() == rest.len() {
            break;
        }
        // A character wider than the width would go on for ever.
        let fitting = if fitting.is_empty() { &rest[..rest.chars().next().map_or(0, char::len_utf8)] } else { fitting };
        let at = match fitting.rfind(' ') {
            Some(space) if space > fitting.len() / 3 && !rest[fitting.len()..].starts_with(' ') => space,
            Some(_) | None => fitting.len(),
        };
        lines.push(rest[..at].trim_end().to_owned());
        rest = rest[at..].trim_start();
    }
    lines.push(rest.to_owned());
    lines
}

/// As much of the beginning as fits.
fn take(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wider_than_asked() {
        for text in
            ["a plain sentence of some words", "漢字漢字漢字漢字漢字", "nospacesatallinthisword", "\u{1b}[31m\u{0}"]
        {
            for width in [8, 9, 13, 40] {
                assert!(columns(&crop(text, width)) <= width, "{text} {width}");
                assert!(wrap(text, width).iter().all(|line| columns(line) <= width), "{text} {width}");
                assert!(wrap_some(text, width, 1).lines().count() == 1);
            }
        }
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(block("a\nb\nc\n", KeepLines::Last(2), 10), "… 1 line before these\nb\nc");
        assert_eq!(block("a\nb\r\nc", KeepLines::First(1), 10), "a\n… 2 lines more");
        let frame = "  File \"/home/me/project/src/server.py\", line 31, in call";
        assert_eq!(block(frame, KeepLines::Last(2), 45), "  File \"…/src/server.py\", line 31, in call");
        assert_eq!(block("at f (file:///home/me/a.js:3:1)", KeepLines::Last(2), 24), "at f (…/me/a.js:3:1)");
        let traceback = "at f\nat g\nError: it cannot start; install it";
        assert_eq!(last_words(traceback, 2, 20), "… 1 line before these\nat g\nError: it cannot\nstart; install it");
        let endless = "n".repeat(2_000_000);
        assert_eq!(wrap(&endless, 8).len(), 250_000);
        let style = Style::new(Color::Never, 40);
        assert_eq!(flush_right("left", "right", &style), format!("{}right", " ".repeat(31)));
        assert_eq!(flush_right(&"l".repeat(39), "right", &style), format!("\n{}right", " ".repeat(35)));
    }
}
