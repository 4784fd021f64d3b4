//! Shows mistakes and failed expectations the way a compiler does, in one place for both.

use std::collections::{BTreeMap, BTreeSet};

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, DiagnosticSeverity, Quote, SourceId, Sources, Span, visible, visible_line};

/// The layout of text for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Colours are allowed or not; they never are the only signal.
    pub color: Color,
    /// The width of the terminal in columns.
    pub width: usize,
}

/// The use of colours.
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

/// One finding as it is shown: a title, marked lines, notes.
#[derive(Debug, Clone)]
pub struct Excerpt<'a> {
    /// The severity.
    pub severity: DiagnosticSeverity,
    /// The stable code.
    pub code: &'a str,
    /// The sentence.
    pub message: &'a str,
    /// The marked line that matters most, if any.
    pub primary: Option<&'a Quote>,
    /// A second marked line.
    pub other: Option<&'a Quote>,
    /// Notes below the lines: the server's answer, or a hint.
    pub notes: &'a [(&'a str, String)],
}

/// Shows a diagnostic with its excerpt.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, style: Style) -> String {
    render_with_repetitions(diagnostic, &[], sources, style)
}

/// Shows a diagnostic with its excerpt, and the lines of others that say the same.
fn render_with_repetitions(diagnostic: &Diagnostic, others: &[&Diagnostic], sources: &Sources, style: Style) -> String {
    let quote = |label: &Option<super::Label>| label.as_ref().map(|l| Quote::new(sources, l.span, l.value.clone()));
    let (primary, other) = (quote(&diagnostic.label), quote(&diagnostic.other));
    let lines = others.iter().filter_map(|other| other.label.as_ref()).map(|label| sources.place(label.span).1);
    let also = (!others.is_empty()).then(|| ("also", on_lines(&lines.collect::<Vec<_>>())));
    let notes: Vec<(&str, String)> = diagnostic.help.iter().map(|help| ("help", help.clone())).chain(also).collect();
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

/// The most lines that are named for one mistake.
const MOST_LINES: usize = 12;

/// `on lines 3, 4 and 9`, in their order; a line with several mistakes is named once.
fn on_lines(lines: &[usize]) -> String {
    let lines: BTreeSet<usize> = lines.iter().copied().collect();
    let mut words: Vec<String> = lines.iter().take(MOST_LINES).map(ToString::to_string).collect();
    let more = lines.len().saturating_sub(MOST_LINES);
    let end = if more > 0 { format!("{more} more") } else { words.pop().unwrap_or_default() };
    match words.as_slice() {
        [] => format!("again on line {end}"),
        words => format!("on lines {} and {end}", words.join(", ")),
    }
}

/// The diagnostics with those behind each that say the same of other places in the same text.
fn with_repetitions<'a>(ordered: &[&'a Diagnostic]) -> Vec<(&'a Diagnostic, Vec<&'a Diagnostic>)> {
    let mut groups: Vec<(&Diagnostic, Vec<&Diagnostic>)> = Vec::new();
    let mut known: BTreeMap<Wording<'_>, usize> = BTreeMap::new();
    for &diagnostic in ordered {
        let wording = Wording::of(diagnostic);
        if let Some(at) = wording.as_ref().and_then(|wording| known.get(wording)) {
            groups[*at].1.push(diagnostic);
            continue;
        }
        known.extend(wording.map(|wording| (wording, groups.len())));
        groups.push((diagnostic, Vec::new()));
    }
    groups
}

/// Everything that a diagnostic says of a text, but the place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wording<'a> {
    source: SourceId,
    severity: DiagnosticSeverity,
    code: &'a str,
    message: &'a str,
    label: &'a str,
    help: Option<&'a str>,
    other: Option<(Span, &'a str)>,
}

impl<'a> Wording<'a> {
    fn of(diagnostic: &'a Diagnostic) -> Option<Self> {
        let Diagnostic { code, severity, message, label, other, help, .. } = diagnostic;
        let label = label.as_ref()?;
        Some(Self {
            source: label.span.source,
            severity: *severity,
            code,
            message,
            label: &label.value,
            help: help.as_deref(),
            other: other.as_ref().map(|other| (other.span, other.value.as_str())),
        })
    }
}

/// Shows diagnostics in the order of the texts, and how many mistakes there are; `ending` says what was not done
/// because of them, and may be empty. What is said of several places in a text is shown at the first of them.
pub fn render_all(found: &[Diagnostic], sources: &Sources, ending: &str, style: Style) -> String {
    let mut ordered: Vec<&Diagnostic> = found.iter().collect();
    ordered.sort_by_key(|diagnostic| diagnostic.label.as_ref().map(|label| label.span));
    let groups = with_repetitions(&ordered).into_iter();
    let mut text: String =
        groups.map(|(first, others)| render_with_repetitions(first, &others, sources, style) + "\n").collect();
    let errors = found.iter().filter(|diagnostic| diagnostic.severity == DiagnosticSeverity::Error).count();
    if errors > 0 {
        let noun = if errors == 1 { "mistake" } else { "mistakes" };
        let ending = if ending.is_empty() { String::new() } else { format!(", {ending}") };
        text += &[&errors.to_string(), " ", noun, " found", &ending, "\n"].concat();
    }
    text
}

/// Shows a finding with its marked lines; ends with a line break.
pub fn render_excerpt(excerpt: &Excerpt<'_>, style: Style) -> String {
    let level = match excerpt.severity {
        DiagnosticSeverity::Error => Level::ERROR,
        DiagnosticSeverity::Warning => Level::WARNING,
    };
    let message = visible(excerpt.message);
    let mut group = Group::with_title(level.primary_title(message).id(visible_line(excerpt.code)));
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
        group = group.element(Level::HELP.with_name(Some(visible_line(name))).message(visible(text)));
    }
    let base = match style.color {
        Color::Always => Renderer::styled(),
        Color::Never => Renderer::plain(),
    };
    let mut text = base.decor_style(DecorStyle::Unicode).term_width(style.width).render(&[group]);
    text.push('\n');
    text
}

/// Marks a line; the range is fitted to the text, since a recording may have been edited by hand.
fn snippet(quote: &Quote, kind: AnnotationKind) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
    let start = boundary(&quote.text, quote.marked.0);
    let end = boundary(&quote.text, quote.marked.1).max(start);
    // A mark of no width cannot be seen.
    let end = if end > start { end } else { next_boundary(&quote.text, start) };
    let [before, marked, after] =
        [0..start, start..end, end..quote.text.len()].map(|range| visible_line(&quote.text[range]));
    let span = before.len()..before.len() + marked.len();
    let label = (!quote.label.is_empty()).then(|| visible(&quote.label));
    Snippet::source(format!("{before}{marked}{after}"))
        .line_start(quote.line)
        .path(visible_line(&quote.file))
        .annotation(kind.span(span).label(label))
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn next_boundary(text: &str, from: usize) -> usize {
    text[from..].chars().next().map_or(from, |c| from + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::super::SourceFile;
    use super::*;

    #[test]
    fn repetitions_are_named_by_their_lines() {
        for (lines, expected) in [
            (vec![7], "again on line 7"),
            (vec![7, 7], "again on line 7"),
            (vec![9, 7], "on lines 7 and 9"),
            (vec![3, 4, 9], "on lines 3, 4 and 9"),
            ((1..=13).collect(), "on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 1 more"),
        ] {
            assert_eq!(on_lines(&lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn only_the_same_words_about_the_same_text_are_repetitions() {
        let mut sources = Sources::default();
        let [one, two] = ["a.yml", "b.yml"].map(|name| sources.add(SourceFile::new(name, "a\nb\nc\n")));
        let at = |source, start| Span { source, start, end: start + 1 };
        let mistake = |message: &str, span| Diagnostic::error("unknown-key", message, span);
        let found = [
            mistake("m", at(one, 0)),
            mistake("m", at(one, 2)),
            mistake("other", at(one, 2)),
            mistake("m", at(two, 2)),
            mistake("m", at(one, 4)).with_help("help".to_owned()),
            mistake("m", at(one, 4)).into_warning(),
            Diagnostic::without_place("unknown-key", "m"),
            Diagnostic::without_place("unknown-key", "m"),
        ];
        let counts: Vec<usize> =
            with_repetitions(&found.iter().collect::<Vec<_>>()).iter().map(|(_, others)| others.len()).collect();
        assert_eq!(counts, [1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn hostile_lines_and_wrong_marks_are_shown_not_obeyed() {
        for marked in [(0, 0), (1, 3), (2, 2), (90, 99), (5, 1)] {
            let text = "a\u{9b}é\u{202e}\u{1b}[31m".to_owned();
            let quote = Quote { file: "\u{1b}]0;x".into(), line: 1, column: 1, text, marked, label: "\0".into() };
            let excerpt = Excerpt {
                severity: DiagnosticSeverity::Error,
                code: "a-code\u{7}",
                message: "m\u{9b}",
                primary: Some(&quote),
                other: None,
                notes: &[("n\u{8}", "\u{202e}".to_owned())],
            };
            let shown = render_excerpt(&excerpt, Style::PLAIN);
            assert!(!shown.chars().any(|c| c != '\n' && super::super::is_hidden(c)), "{shown:?}");
        }
    }
}
