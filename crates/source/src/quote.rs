//! A place in the user's text, taken along so that it can be shown without the text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sources, Span};

/// The number of bytes of one line that are taken along; suites with longer lines are generated ones.
const LINE_LIMIT: usize = 400;

/// A marked line: owned and serialisable, so that a recorded run can be shown again anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quote {
    /// The file as the user knows it.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The column in characters, counted from one.
    pub column: usize,
    /// The line's text.
    pub text: String,
    /// The marked range in bytes of `text`.
    pub marked: (usize, usize),
    /// The label of the marked range.
    pub label: String,
}

impl Quote {
    /// Takes the first line that `span` covers.
    pub fn new(sources: &Sources, span: Span, label: impl Into<String>) -> Self {
        let file = sources.file(span.source);
        let (line, column) = file.position(span.start as usize);
        let text = file.line(line);
        let start = (span.start as usize - file.line_start(line)).min(text.len());
        let end = (span.end as usize).saturating_sub(file.line_start(line)).clamp(start, text.len());
        let (text, marked) = crop(text, start, end);
        Self { file: file.name.clone(), line, column, text, marked, label: label.into() }
    }
}

/// Keeps a window of a very long line around the marked range.
fn crop(text: &str, start: usize, end: usize) -> (String, (usize, usize)) {
    if text.len() <= LINE_LIMIT {
        return (text.to_owned(), (start, end));
    }
    let from = boundary(text, start.saturating_sub(LINE_LIMIT / 2));
    let to = boundary(text, from + LINE_LIMIT);
    (text[from..to].to_owned(), (start - from, end.min(to) - from))
}

fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
