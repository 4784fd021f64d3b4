//! Shows mistakes and failed expectations the way a compiler does, in one place for both.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Quote, Severity, Sources};

/// How text is laid out for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether colours may be used; they never are the only signal.
    pub color: Color,
    /// The width of the terminal in columns.
    pub width: usize,
}

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// Plain text.
    Never,
    /// ANSI escapes.
    Always,
}

impl Style {
    /// Plain text for a reader of unknown width.
    pub const PLAIN: Self = Self { color: Color::Never, width: 140 };

    /// Text for a terminal of a known width.
    pub fn new(color: Color, width: usize) -> Self {
        Self { color, width: width.clamp(40, 200) }
    }
}

/// What is shown of one finding: a title, marked lines, notes.
#[derive(Debug, Clone)]
pub struct Excerpt<'a> {
    /// The severity.
    pub severity: Severity,
    /// The stable code.
    pub code: &'a str,
    /// The sentence.
    pub message: &'a str,
    /// The marked line that matters most, if any.
    pub primary: Option<&'a Quote>,
    /// A second marked line.
    pub other: Option<&'a Quote>,
    /// What the server answered or what to do, below the lines.
    pub notes: &'a [(&'a str, String)],
}

/// Shows a diagnostic with its excerpt.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, style: Style) -> String {
    let quote = |label: &Option<super::Label>| label.as_ref().map(|l| Quote::new(sources, l.span, l.value.clone()));
    let (primary, other) = (quote(&diagnostic.label), quote(&diagnostic.other));
    let notes: Vec<(&str, String)> = diagnostic.help.iter().map(|help| ("help", help.clone())).collect();
    render_excerpt(
        &Excerpt {
            severity: diagnostic.severity,
            code: diagnostic.code,
            message: &diagnostic.message,
            primary: primary.as_ref(),
            other: other.as_ref(),
            notes: &notes,
        },
        style,
    )
}

/// Shows a finding with its marked lines; ends with a line break.
pub fn render_excerpt(excerpt: &Excerpt<'_>, style: Style) -> String {
    let level = match excerpt.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = visible(excerpt.message);
    let mut group = Group::with_title(level.primary_title(message).id(excerpt.code));
    let quotes = [(excerpt.primary, AnnotationKind::Primary), (excerpt.other, AnnotationKind::Context)];
    let mut shown: Vec<(&Quote, AnnotationKind)> = quotes.into_iter().filter_map(|(q, k)| q.map(|q| (q, k))).collect();
    // Lines of one file appear in the order of the file, whichever matters most.
    if shown.len() == 2 && shown[0].0.file == shown[1].0.file {
        shown.sort_by_key(|(quote, _)| quote.line);
    }
    for (quote, kind) in shown {
        group = group.element(snippet(quote, kind));
    }
    for (name, text) in excerpt.notes {
        group = group.element(Level::HELP.with_name(Some((*name).to_owned())).message(visible(text)));
    }
    let base = match style.color {
        Color::Always => Renderer::styled(),
        Color::Never => Renderer::plain(),
    };
    let mut text = base.decor_style(DecorStyle::Unicode).term_width(style.width).render(&[group]);
    text.push('\n');
    text
}

fn snippet(quote: &Quote, kind: AnnotationKind) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
    let (start, end) = quote.marked;
    // A mark of no width cannot be seen.
    let end = if end > start { end } else { next_boundary(&quote.text, start) };
    let label = (!quote.label.is_empty()).then(|| visible(&quote.label));
    Snippet::source(quote.text.as_str())
        .line_start(quote.line)
        .path(quote.file.as_str())
        .annotation(kind.span(start..end).label(label))
}

fn next_boundary(text: &str, from: usize) -> usize {
    text[from..].chars().next().map_or(from, |c| from + c.len_utf8())
}

/// Shows control characters instead of obeying them; line breaks stay.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => c.to_string(),
            '\t' => " ".to_owned(),
            c if c.is_control() || is_bidi(c) => c.escape_unicode().to_string(),
            c => c.to_string(),
        })
        .collect()
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
