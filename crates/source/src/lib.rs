//! Texts, and the way back to their places.
//!
//! A suite, a registry or a filter typed on the command line is a [`SourceFile`]; a [`Span`] is a range in one, and a
//! [`Located`] value remembers the span it was read from. [`parse`] turns text into a tree of located [`Node`]s,
//! [`grammar`] says what such a tree may look like, and [`Diagnostic`] is what a user sees when it does not. Knows
//! nothing about suites or servers. Start reading in [`parse`].

mod diagnostic;
mod difference;
mod duration;
mod ends;
pub mod file;
mod file_uri;
pub mod grammar;
mod hash;
mod jsonc;
mod manual;
mod node;
mod parallel;
mod quote;
mod render;
mod scalar;
mod schema_address;
pub mod settings;
mod suggest;
mod synonyms;
mod syntax;
pub mod template;
mod text;
mod visible;
mod yaml;
mod yaml_format;
pub mod yaml_writer;

use std::sync::Arc;

pub use self::diagnostic::{Diagnostic, DiagnosticSeverity, Label, MistakeKind};
pub use self::difference::{LineSide, difference};
pub use self::duration::{duration_text, parse_duration};
pub use self::ends::{Ends, beginning_of_json};
pub use self::file_uri::PathStyle;
pub use self::hash::{FNV, fnv, hash_text, mix_hash};
pub use self::jsonc::parse_jsonc;
pub use self::manual::{ManualReference, manual};
pub use self::node::{Node, Value};
pub use self::parallel::map_many;
pub use self::quote::Quote;
pub use self::render::{Color, Excerpt, Style, render, render_all, render_excerpt};
pub use self::schema_address::schema_address;
pub use self::suggest::{did_you_mean, nearest};
pub use self::text::{beginning, legible_json, map_texts, replace_path, shorten, singular, with_line_ends_of, words};
pub use self::visible::{
    command_brackets, is_hidden, printable, replace_command_brackets, visible, visible_line, without_commands,
};
pub use self::yaml::{parse, parse_documents};
pub use self::yaml_format::{format_yaml, yaml_comments};

/// A text and the name under which messages mention it.
#[derive(Debug)]
pub struct SourceFile {
    /// The path as the user knows it, or a name in angle brackets for text that is no file.
    pub name: String,
    /// The whole text.
    pub text: String,
    line_starts: Vec<usize>,
}

impl SourceFile {
    /// Remembers `text` under `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { name: name.into(), line_starts: line_starts(&text), text }
    }

    /// The line and column of a byte offset, both counted from one, the column in characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.floor(offset);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line - 1];
        (line, self.text[start..offset].chars().count() + 1)
    }

    /// The text of a line counted from one, without its end of line; empty past the end.
    pub fn line(&self, line: usize) -> &str {
        let Some(start) = line.checked_sub(1).and_then(|index| self.line_starts.get(index)) else { return "" };
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        self.text[*start..end].trim_end_matches('\r')
    }

    /// The byte offset at which a line counted from one starts.
    pub fn line_start(&self, line: usize) -> usize {
        self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())
    }

    fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// The number of a text within [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(u32);

/// A range of bytes in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// A byte offset lies within.
    pub fn contains(&self, offset: usize) -> bool {
        (self.start as usize..self.end as usize).contains(&offset)
    }
}

/// A value and the place where the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub span: Span,
}

impl<T> Located<T> {
    /// Puts a value and its place together.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Changes the value and keeps the place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), span: self.span }
    }
}

/// Every text that was read, in order.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
}

impl Sources {
    /// Remembers a text and returns its number.
    pub fn add(&mut self, file: SourceFile) -> SourceId {
        self.files.push(Arc::new(file));
        SourceId(u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX))
    }

    /// The text with that number.
    pub fn file(&self, id: SourceId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The name of every text, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }

    /// The number of every text, in order.
    pub fn ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..u32::try_from(self.files.len()).unwrap_or(u32::MAX)).map(SourceId)
    }

    /// Every text, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.text.as_str())
    }

    /// The name, line and column at which a span starts.
    pub fn place(&self, span: Span) -> (&str, usize, usize) {
        let file = self.file(span.source);
        let (line, column) = file.position(span.start as usize);
        (&file.name, line, column)
    }

    /// The text that a span covers.
    pub fn text(&self, span: Span) -> &str {
        let file = self.file(span.source);
        &file.text[file.floor(span.start as usize)..file.floor(span.end as usize)]
    }
}

/// The offsets at which the lines of a text begin.
fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_the_end() {
        let file = SourceFile::new("a", "é=1\r\nb");
        assert_eq!(file.position(2), (1, 2));
        assert_eq!(file.position(6), (2, 1));
        assert_eq!(file.position(99), (2, 2));
        assert_eq!((file.line(1), file.line(2), file.line(3)), ("é=1", "b", ""));
    }
}
