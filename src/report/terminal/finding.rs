//! One finding, quoted like a compile error, with the answer and the evidence below it.

use crate::event::{Exchange, FailureClass, Finding, RequirementLevel};
use crate::source::{DiagnosticSeverity, Excerpt, Quote, Style, render_excerpt};

use super::answer::answer_text;
use super::layout::{self, BOLD, KeepLines};

/// The most lines of one piece of evidence.
const EVIDENCE_LINES: usize = 10;
/// The most lines of a difference.
const DIFF_LINES: usize = 16;
/// The name of the evidence from standard error.
const STDERR: &str = "stderr";
/// The longest name of a piece of evidence.
const EVIDENCE_NAME: usize = 20;
/// The same in a narrow terminal.
const NARROW_NAME: usize = 8;
/// The columns that evidence has at least beside its name, where names can be shorter.
const LEAST_EVIDENCE: usize = 20;
/// The columns that a message has at least beside its code; with less room it stands below.
const LEAST_MESSAGE: usize = 24;

/// Shows a finding; `answered` is the exchange whose answer stands below it.
pub(crate) fn finding(finding: &Finding, answered: Option<&Exchange>, style: &Style) -> String {
    let inner = Style { width: style.width.saturating_sub(2), ..*style };
    let severity = match finding.level {
        RequirementLevel::Must => DiagnosticSeverity::Error,
        RequirementLevel::Should => DiagnosticSeverity::Warning,
    };
    let code = layout::crop(finding.code.as_str(), 60);
    let beside_code = inner.width.saturating_sub(layout::columns(&code) + 11);
    let is_below = beside_code < LEAST_MESSAGE;
    let room = if is_below { inner.width.saturating_sub(2) } else { beside_code };
    let message = layout::wrap_some(&finding.message, room, layout::lines_in(6, room));
    let (message, below) = if is_below { (String::new(), message) } else { (message, String::new()) };
    let (quote, label) = finding.quote.as_ref().map(|quote| with_label_in_room(quote, &inner)).unzip();
    let notes = notes(finding, label.unwrap_or_default(), answered, &inner);
    let notes: Vec<(&str, String)> = notes.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let excerpt =
        Excerpt { severity, code: &code, message: &message, primary: quote.as_ref(), other: None, notes: &notes };
    let text = render_excerpt(&excerpt, inner);
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let below: Vec<String> = below.lines().map(|line| format!("  {}\n", layout::paint(line, BOLD, style))).collect();
    layout::indent(&format!("{}\n{}{rest}", title.trim_end(), below.concat()), "  ")
}

/// The quote, without its label if there is no room for it beside the mark; then the label is returned for a note.
fn with_label_in_room(quote: &Quote, style: &Style) -> (Quote, String) {
    let (start, end) = quote.marked;
    // Long lines are moved to the left until the mark is about in the middle.
    let before = start.min(style.width / 2) + end.saturating_sub(start) + quote.line.to_string().len() + 4;
    if before + layout::columns(&quote.label) <= style.width {
        return (quote.clone(), String::new());
    }
    (Quote { label: String::new(), ..quote.clone() }, quote.label.clone())
}

/// The lines below the excerpt, each with a name.
fn notes(finding: &Finding, label: String, answered: Option<&Exchange>, style: &Style) -> Vec<(String, String)> {
    // The line numbers stand before the notes.
    let gutter = finding.quote.as_ref().map_or(1, |quote| quote.line.to_string().len()) + 3;
    let room = |name: &str| style.width.saturating_sub(gutter + layout::columns(name) + 2);
    let short = |name: &str, text: &str, lines: usize| {
        (name.to_owned(), layout::wrap_some(text, room(name), layout::lines_in(lines, room(name))))
    };
    let long = |name: &str, text: &str, keep: KeepLines| (name.to_owned(), layout::block(text, keep, room(name)));
    let optional = |name: &str, text: &Option<String>, lines: usize| text.as_ref().map(|text| short(name, text, lines));

    let label = Some(label).filter(|label| !label.is_empty());
    let mut notes: Vec<(String, String)> = optional("here", &label, 3).into_iter().collect();
    notes.extend(optional("at", &finding.path, 2));
    notes.extend(finding.diff.as_ref().map(|diff| long("diff", diff, KeepLines::First(DIFF_LINES))));
    if finding.diff.is_none() {
        notes.extend(optional("expected", &finding.expected, 3));
        // A whole message says less than the answer in words, which stands below or with a neighbour.
        let is_message = finding.actual.as_ref().is_some_and(|actual| actual.starts_with("{\"jsonrpc\""));
        let is_told = is_message && finding.exchange.is_some();
        notes.extend(optional("actual", &finding.actual, 3).filter(|_| !is_told));
    }
    for (name, text) in finding.evidence.iter().take(Finding::SHOWN_EVIDENCE) {
        let most = style.width.saturating_sub(gutter + 2 + LEAST_EVIDENCE).clamp(NARROW_NAME, EVIDENCE_NAME);
        let name = layout::crop(name, most);
        notes.push(if name == STDERR && finding.class == Some(FailureClass::ProcessExited) {
            (name.clone(), layout::last_words(text, EVIDENCE_LINES, room(&name)))
        } else {
            long(&name, text, KeepLines::Last(EVIDENCE_LINES))
        });
    }
    notes.extend(answered.map(|exchange| short("answered", &answer_text(&exchange.received), 3)));
    if let (Some(frame), None) = (finding.frame, finding.exchange) {
        notes.push(short("frame", &format!("{frame}; `--transcript FOLDER` writes every frame"), 2));
    }
    notes.extend(optional("known", &finding.baseline_reason, 2));
    notes.extend(optional("help", &finding.help, 6));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Color;

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let message = "the answer has a value that is much longer than any terminal is wide";
        for code in ["equals", "missing-value", "instructions-in-description"] {
            for width in [40, 46, 60, 80, 140] {
                let found = Finding { help: Some(message.to_owned()), ..Finding::new(code, message) };
                let found = found.with_evidence("a long name of evidence", message);
                let shown = finding(&found, None, &Style::new(Color::Never, width));
                let is_wide = |line: &&str| layout::columns(line) > width;
                assert_eq!(shown.lines().find(is_wide), None, "{code} {width}: {shown}");
                assert!(shown.starts_with(&format!("  error[{code}]:")), "{shown}");
            }
        }
    }
}
