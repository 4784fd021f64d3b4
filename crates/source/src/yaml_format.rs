//! YAML in one layout: two columns for each level, lists below their key indented, `{ a: 1 }` and `[1, 2]`, one empty
//! line at most. Comments, quotes and the order of keys stay.
//!
//! Only the space between tokens changes. What comes out is read again: unless it says the same and has the same comments,
//! the text is left alone.

use std::collections::BTreeMap;

use granit_parser::{ScalarStyle, Scanner, StrInput, TokenType};

use super::{Diagnostic, Located, SourceFile, SourceId, Sources, Span, parse};

/// The columns of a level.
const STEP: usize = 2;

/// The text of a source in the one layout; `None` where the layout cannot be changed without changing what it says.
///
/// # Errors
///
/// Fails on a text that is not YAML.
pub fn format_yaml(sources: &Sources, source: SourceId) -> Result<Option<String>, Diagnostic> {
    let before = parse(sources, source)?;
    let text = &sources.file(source).text;
    let Some(formatted) = Layout::of(text) else { return Ok(None) };
    let mut copy = Sources::default();
    let copied = copy.add(SourceFile::new("formatted", formatted.clone()));
    let says_the_same = parse(&copy, copied).is_ok_and(|after| after.to_json() == before.to_json());
    let is_settled = || Layout::of(&formatted).as_ref() == Some(&formatted);
    Ok((says_the_same && comments(text) == comments(&formatted) && is_settled()).then_some(formatted))
}

/// The comments of a source without their `#`, each with the place where its line ends or the comment does.
pub fn yaml_comments(sources: &Sources, source: SourceId) -> Vec<Located<String>> {
    let tokens = Scanner::new(StrInput::new(&sources.file(source).text)).map_while(Result::ok);
    let located = tokens.filter_map(|token| {
        let TokenType::Comment(comment) = token.token_type() else { return None };
        let text = comment.text().trim().trim_start_matches('#');
        let text = text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned();
        let end = u32::try_from(token.into_parts().0.byte_range()?.end).unwrap_or(u32::MAX);
        Some(Located::new(text, Span { source, start: end, end }))
    });
    located.collect()
}

/// The texts of all comments.
fn comments(text: &str) -> Vec<String> {
    let tokens = Scanner::new(StrInput::new(text)).filter_map(Result::ok);
    let texts = tokens.filter_map(|token| {
        let TokenType::Comment(comment) = token.token_type() else { return None };
        Some(comment.text().trim_end().to_owned())
    });
    texts.collect()
}

/// Something that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// `-`.
    Entry,
    /// `?`.
    Question,
    /// `:`.
    Colon,
    /// `{`.
    OpenMap,
    /// `}`.
    CloseMap,
    /// `[`.
    OpenList,
    /// `]`.
    CloseList,
    /// `,`.
    Comma,
    /// `*name`.
    Alias,
    Comment,
    /// A text after `|` or `>`.
    Block,
    /// Any other value, an anchor, a tag, a mark of a document.
    Word,
}

/// A list or mapping that is written line by line.
#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    kind: BlockKind,
    /// Where its entries begin, once the first one is written, and where they began.
    columns: Option<Columns>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    List,
    /// A list whose entries stood in the column of their key.
    ListAtKey,
    Map,
}

/// The column of something now and before.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    new: usize,
    old: usize,
}

/// A line of the new text.
#[derive(Debug)]
struct Line {
    text: String,
    kind: LineKind,
    /// The columns of the comment behind its content, or of one that goes on below such a one.
    comment: Option<Columns>,
}

impl Line {
    fn new(text: String, kind: LineKind) -> Self {
        Self { text, kind, comment: None }
    }
}

#[derive(Debug, Clone, Copy)]
enum LineKind {
    /// It begins with a piece.
    Content(Columns),
    /// It has nothing but a comment, which was in this column.
    Comment(usize),
    /// It is empty, or the inside of a value.
    Inner,
}

struct Layout<'t> {
    source: &'t str,
    lines: Vec<Line>,
    blocks: Vec<OpenBlock>,
    /// The depth of braces and brackets, and the columns of the line with the outermost one.
    flow: usize,
    flow_line: Columns,
    /// A key of the innermost mapping begins with the next piece.
    is_key: bool,
    previous: Option<Piece>,
    /// The end of the previous piece in the source.
    at: usize,
    /// The empty lines after the previous piece belong to it.
    keeps_empty_lines: bool,
}

impl<'t> Layout<'t> {
    fn of(source: &'t str) -> Option<String> {
        let mut layout = Self {
            source,
            lines: Vec::new(),
            blocks: Vec::new(),
            flow: 0,
            flow_line: Columns::default(),
            is_key: false,
            previous: None,
            at: if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 },
            keeps_empty_lines: false,
        };
        let beginning = layout.at;
        for token in Scanner::new(StrInput::new(source)) {
            let (span, kind) = token.ok()?.into_parts();
            layout.take(&kind, span.byte_range()?.end)?;
        }
        if layout.keeps_empty_lines {
            layout.add_empty_lines(source[layout.at..].matches('\n').count().saturating_sub(1));
        } else if blank_length(&source[layout.at..]) < source.len() - layout.at {
            return None;
        }
        let text = layout.finish();
        let text = if source.contains("\r\n") { text.replace('\n', "\r\n") } else { text };
        Some(format!("{}{text}", &source[..beginning]))
    }

    /// Writes what a token stands for; `None` where that cannot be found in the source.
    ///
    /// The scanner tells signs at the place behind them, and texts after `|` without it: where a piece begins, the source
    /// says.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a later version of the scanner may tell more")]
    fn take(&mut self, token: &TokenType<'_>, end: usize) -> Option<()> {
        let start = self.at + blank_length(&self.source[self.at..]);
        let rest = &self.source[start..];
        let piece = match token {
            TokenType::BlockSequenceStart => {
                self.begin(BlockKind::List);
                return Some(());
            }
            TokenType::BlockMappingStart => {
                self.begin(BlockKind::Map);
                return Some(());
            }
            TokenType::BlockEnd => {
                self.end_list_at_key();
                self.blocks.pop();
                return Some(());
            }
            TokenType::Key => {
                self.end_list_at_key();
                self.is_key = true;
                // Most keys have no sign of their own.
                match rest.strip_prefix('?') {
                    Some(behind) if blank_length(behind) > 0 => Piece::Question,
                    Some(_) | None => return Some(()),
                }
            }
            TokenType::Value if rest.starts_with(':') => Piece::Colon,
            TokenType::BlockEntry if rest.starts_with('-') => {
                if self.blocks.last().is_some_and(|block| block.kind == BlockKind::Map) {
                    self.begin(BlockKind::ListAtKey);
                }
                Piece::Entry
            }
            TokenType::FlowMappingStart if rest.starts_with('{') => Piece::OpenMap,
            TokenType::FlowMappingEnd if rest.starts_with('}') => Piece::CloseMap,
            TokenType::FlowSequenceStart => Piece::OpenList,
            TokenType::FlowSequenceEnd => Piece::CloseList,
            TokenType::FlowEntry => Piece::Comma,
            TokenType::Alias(_) => Piece::Alias,
            // One behind `|` is told after the text, and written with it.
            TokenType::Comment(_) if end <= self.at => return Some(()),
            TokenType::Comment(_) => Piece::Comment,
            TokenType::Scalar(ScalarStyle::Literal | ScalarStyle::Folded, _) if rest.starts_with(['|', '>']) => {
                Piece::Block
            }
            TokenType::Scalar(ScalarStyle::Plain | ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, _)
            | TokenType::Anchor(_)
            | TokenType::Tag(..)
            | TokenType::DocumentStart
            | TokenType::DocumentEnd => Piece::Word,
            // They stand for nothing that is written.
            TokenType::StreamStart
            | TokenType::StreamEnd
            | TokenType::Value
            | TokenType::FlowMappingStart
            | TokenType::FlowMappingEnd => return Some(()),
            TokenType::Scalar(..) if end <= start => return Some(()),
            _ => return None,
        };
        let is_sign = matches!(piece, Piece::Question | Piece::Colon | Piece::Entry);
        let end = if is_sign { start + 1 } else { end };
        self.write(piece, start, end)
    }

    fn begin(&mut self, kind: BlockKind) {
        self.blocks.push(OpenBlock { kind, columns: None });
    }

    fn end_list_at_key(&mut self) {
        if self.flow == 0 && self.blocks.last().is_some_and(|block| block.kind == BlockKind::ListAtKey) {
            self.blocks.pop();
        }
    }

    /// Writes a piece behind the others, or on a line of its own if it was on one; `None` where pieces overlap.
    fn write(&mut self, piece: Piece, start: usize, end: usize) -> Option<()> {
        let gap = &self.source[self.at..start];
        let mut text = self.source.get(start..end)?;
        if piece == Piece::Block {
            // The line breaks behind it belong to the layout.
            text = without_blank_end(text);
        }
        let breaks = gap.matches('\n').count();
        let is_first = self.previous.is_none();
        if breaks > 0 || is_first {
            let most = if self.keeps_empty_lines { usize::MAX } else { 1 };
            self.add_empty_lines(if is_first { 0 } else { breaks.saturating_sub(1).min(most) });
            self.begin_line(piece, column_in(self.source, start));
        } else {
            let separator = self.separator(piece, gap);
            let line = self.lines.last_mut()?;
            line.text.push_str(&separator);
            if piece == Piece::Comment {
                let new = line.text.chars().count();
                let old = column_in(self.source, start);
                line.comment = Some(Columns { new, old });
            } else if self.blocks.last().is_some_and(|block| block.columns.is_none()) {
                let new = line.text.chars().count();
                self.place_block(Columns { new, old: column_in(self.source, start) });
            }
        }
        if piece == Piece::Block {
            self.write_block(text);
        } else if piece == Piece::Word {
            self.write_word(text);
        } else {
            self.push(text.trim_end());
        }
        if matches!(piece, Piece::OpenMap | Piece::OpenList) {
            if self.flow == 0 {
                self.flow_line = self.line_columns();
            }
            self.flow += 1;
        } else if matches!(piece, Piece::CloseMap | Piece::CloseList) {
            self.flow = self.flow.checked_sub(1)?;
        }
        if piece != Piece::Comment {
            self.is_key = false;
        }
        self.at = start + text.len();
        self.keeps_empty_lines = piece == Piece::Block && text.lines().next().is_some_and(keeps_end);
        self.previous = Some(piece);
        Some(())
    }

    fn add_empty_lines(&mut self, count: usize) {
        self.lines.extend((0..count).map(|_| Line::new(String::new(), LineKind::Inner)));
    }

    /// Begins a line with the spaces before a piece.
    fn begin_line(&mut self, piece: Piece, old: usize) {
        if piece == Piece::Comment {
            self.lines.push(Line::new(String::new(), LineKind::Comment(old)));
            return;
        }
        let new = if self.flow > 0 {
            (old + self.flow_line.new).saturating_sub(self.flow_line.old)
        } else {
            self.block_column(piece)
        };
        self.place_block(Columns { new, old });
        self.lines.push(Line::new(" ".repeat(new), LineKind::Content(Columns { new, old })));
    }

    /// The column of a piece that begins a line outside of braces and brackets.
    fn block_column(&self, piece: Piece) -> usize {
        let Some(block) = self.blocks.last() else { return 0 };
        let Some(columns) = block.columns else {
            let outer = self.blocks.iter().rev().find_map(|block| block.columns);
            return outer.map_or(0, |outer| outer.new + STEP);
        };
        let is_entry = self.is_key || matches!(piece, Piece::Entry | Piece::Question | Piece::Colon);
        if is_entry { columns.new } else { columns.new + STEP }
    }

    /// The innermost block begins here, unless it has begun.
    fn place_block(&mut self, columns: Columns) {
        if let Some(block) = self.blocks.last_mut().filter(|block| block.columns.is_none()) {
            block.columns = Some(columns);
        }
    }

    /// What stands between the previous piece and this one on a line.
    fn separator(&self, piece: Piece, gap: &str) -> String {
        let space = || " ".to_owned();
        match (self.previous, piece) {
            // The comments of neighbouring lines may be aligned.
            (_, Piece::Comment) => " ".repeat(gap.chars().count().max(1)),
            (Some(Piece::Alias), Piece::Colon) => space(),
            (Some(Piece::OpenMap), Piece::CloseMap)
            | (Some(Piece::OpenList), _)
            | (_, Piece::CloseList | Piece::Comma | Piece::Colon) => String::new(),
            _ => space(),
        }
    }

    /// The columns of the current line.
    fn line_columns(&self) -> Columns {
        let contents = self.lines.iter().rev().find_map(|line| match line.kind {
            LineKind::Content(columns) => Some(columns),
            LineKind::Comment(_) | LineKind::Inner => None,
        });
        contents.unwrap_or_default()
    }

    /// A value of one line or several; how far the others are indented says nothing.
    fn write_word(&mut self, text: &str) {
        let Columns { new, old } = self.line_columns();
        let least = self.blocks.iter().rev().find_map(|block| block.columns).map_or(0, |columns| columns.new + STEP);
        for (at, line) in text.lines().enumerate() {
            if at == 0 {
                self.push(line.trim_end());
                continue;
            }
            let inner = line.trim();
            let spaces = (line.len() - line.trim_start().len() + new).saturating_sub(old).max(least);
            let text = if inner.is_empty() { String::new() } else { format!("{}{inner}", " ".repeat(spaces)) };
            self.lines.push(Line::new(text, LineKind::Inner));
        }
    }

    /// A text after `|` or `>`: its lines keep their distance.
    fn write_block(&mut self, text: &str) {
        let parent = self.blocks.iter().rev().find_map(|block| block.columns);
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default().trim_end();
        let old = indent_of_block(text);
        let is_explicit = head.split('#').next().is_some_and(|marks| marks.contains(|c: char| c.is_ascii_digit()));
        let new = match parent {
            Some(columns) if is_explicit => (old + columns.new).saturating_sub(columns.old),
            Some(columns) => columns.new + STEP,
            None => old,
        };
        self.push(head);
        for line in lines {
            let text = match line.get(old.min(indent_of(line))..) {
                Some(inner) if !inner.is_empty() => format!("{}{inner}", " ".repeat(new)),
                Some(_) | None => String::new(),
            };
            self.lines.push(Line::new(text, LineKind::Inner));
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(line) = self.lines.last_mut() {
            line.text.push_str(text);
        }
    }

    /// The text, with comments in the column of what they are about.
    fn finish(mut self) -> String {
        let columns = comment_columns(&self.lines);
        for (line, column) in self.lines.iter_mut().zip(columns) {
            line.text.insert_str(0, &" ".repeat(column));
        }
        let mut text = String::with_capacity(self.source.len());
        for line in &self.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

/// The spaces before each line that has nothing but a comment, and 0 for the others. A comment goes on below one behind
/// content, or stands in the column of the next line if they were in one column, or else in that of the nearest line before
/// it that was. At the end of a file, the first column is that of the whole file.
fn comment_columns(lines: &[Line]) -> Vec<usize> {
    let mut columns = vec![0; lines.len()];
    let mut next = None;
    let mut following = vec![None; lines.len()];
    for (at, line) in lines.iter().enumerate().rev() {
        following[at] = next;
        if let LineKind::Content(columns) = line.kind {
            next = Some(columns);
        }
    }
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    // The comment that the next line may go on with.
    let mut begun: Option<Columns> = None;
    for (at, line) in lines.iter().enumerate() {
        match line.kind {
            LineKind::Content(place) => {
                before.insert(place.old, place.new);
                begun = line.comment;
            }
            LineKind::Inner => begun = line.comment,
            LineKind::Comment(old) => {
                let goes_on = begun.filter(|begun| begun.old == old);
                columns[at] = match (goes_on, following[at]) {
                    (Some(begun), _) => begun.new,
                    (None, next) => own_column(old, next, before.get(&old).copied()),
                };
                begun = goes_on;
            }
        }
    }
    columns
}

/// The column of a comment that was in `old`, before the next line, where `before` is that of the nearest line before it that
/// was in its column.
fn own_column(old: usize, next: Option<Columns>, before: Option<usize>) -> usize {
    match next {
        Some(next) if next.old == old => next.new,
        None if old == 0 => 0,
        next => {
            let deeper = next.filter(|next| next.old > old).map(|next| next.new);
            before.or(deeper).or(next.map(|next| next.new)).unwrap_or_default()
        }
    }
}

/// The column of a place in a text.
fn column_in(text: &str, place: usize) -> usize {
    let line = &text[..place];
    line[line.rfind('\n').map_or(0, |end| end + 1)..].trim_start_matches('\u{feff}').chars().count()
}

/// The length of the space before the next piece.
fn blank_length(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len()
}

/// A text after `|` or `>` without the empty lines at its end. Spaces beyond those of the text are a part of it.
fn without_blank_end(text: &str) -> &str {
    let is_blank = text.lines().skip(1).all(|line| line.trim().is_empty());
    let indent = if is_blank { usize::MAX } else { indent_of_block(text) };
    let mut kept = text;
    while let Some((before, last)) = kept.rsplit_once('\n')
        && last.trim().is_empty()
        && last.trim_end_matches('\r').len() <= indent
    {
        kept = before.strip_suffix('\r').unwrap_or(before);
    }
    kept
}

/// The spaces before the lines of a text after `|` or `>`.
fn indent_of_block(text: &str) -> usize {
    text.lines().skip(1).find(|line| !line.trim().is_empty()).map_or(0, indent_of)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A text after `|+` keeps the empty lines at its end.
fn keeps_end(head: &str) -> bool {
    head.split('#').next().is_some_and(|marks| marks.contains('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(text: &str) -> Option<String> {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("a.yml", text.to_owned()));
        format_yaml(&sources, source).unwrap()
    }

    #[test]
    fn layouts() {
        for (before, after) in [
            ("a:   1\n", "a: 1\n"),
            ("a: 1", "a: 1\n"),
            ("\n\na: 1\n\n\n\nb: 2\n\n", "a: 1\n\nb: 2\n"),
            ("a:\n- 1\n- 2\nb:\n    - x:   1\n      y: 2\n", "a:\n  - 1\n  - 2\nb:\n  - x: 1\n    y: 2\n"),
            ("-   a: 1\n    b: 2\n", "- a: 1\n  b: 2\n"),
            ("- - 1\n  - 2\n", "- - 1\n  - 2\n"),
            ("a: {b: 1,c:  [ 1,2 ] ,  d: {}}\n", "a: { b: 1, c: [1, 2], d: {} }\n"),
            ("a: [b: 1 , {c: 2}]\n", "a: [b: 1, { c: 2 }]\n"),
            ("?   a\n:   b\n", "? a\n: b\n"),
            ("a: [\n    1,\n    2\n  ]\n", "a: [\n    1,\n    2\n  ]\n"),
            ("a:\n    b: {\n      c: 1\n    }\n", "a:\n  b: {\n    c: 1\n  }\n"),
            ("# top\na: 1  # at the end\n# end\n", "# top\na: 1  # at the end\n# end\n"),
            ("a:\n    # of b\n    b: 1\n    # of the rest\nc: 2\n", "a:\n  # of b\n  b: 1\n  # of the rest\nc: 2\n"),
            ("a:\n- b\n# end\n", "a:\n  - b\n# end\n"),
            ("a:\n- b\n# of c\n- c\n", "a:\n  - b\n  # of c\n  - c\n"),
            ("a: |\n      one\n        two\n\n      three\nb: 1\n", "a: |\n  one\n    two\n\n  three\nb: 1\n"),
            ("a: |+\n  one\n\n\nb: 1\n", "a: |+\n  one\n\n\nb: 1\n"),
            ("a: >-   # why\n    one\n    two\n", "a: >-   # why\n  one\n  two\n"),
            ("a: \"one\n      two\"\n", "a: \"one\n      two\"\n"),
            ("a:\n    \"one\"\n", "a:\n  \"one\"\n"),
            ("a: &x 1\nb:   *x\n", "a: &x 1\nb: *x\n"),
            ("a: &x\n    b: 1\nc:\n    <<: *x\n", "a: &x\n  b: 1\nc:\n  <<: *x\n"),
            ("a: |\n    one\n      \nb: 1\n", "a: |\n  one\n    \nb: 1\n"),
            ("a: |\n   \n\nb: 1\n", "a: |\n\nb: 1\n"),
            ("a: |+\n   \n\nb: 1\n", "a: |+\n\n\nb: 1\n"),
            ("a:  1   # one\n        # and more\nb: 2\n", "a: 1   # one\n       # and more\nb: 2\n"),
            ("a:\n- b # one\n    # two\n- c\n", "a:\n  - b # one\n      # two\n  - c\n"),
            ("- |\n   one\n- 2\n", "- |\n  one\n- 2\n"),
            ("a:\r\n    b: 1\r\n", "a:\r\n  b: 1\r\n"),
            ("---\na: 1\n", "---\na: 1\n"),
            ("{ \"a\":1,b: 'x' }\n", "{ \"a\": 1, b: 'x' }\n"),
            ("a: 漢字   # c\n", "a: 漢字   # c\n"),
            ("", ""),
            ("# only this", "# only this\n"),
        ] {
            let formatted = format(before);
            assert_eq!(formatted.as_deref(), Some(after), "{before}");
            assert_eq!(format(after).as_deref(), Some(after), "again: {after}");
        }
    }

    #[test]
    fn what_cannot_be_laid_out_stays() {
        assert_eq!(format("%YAML 1.2\n---\na: 1\n"), None);
    }
}
