//! One finding, quoted like a compile error, with the answer and the evidence below it.

use crate::event::{Exchange, Finding, Level};
use crate::source::{Excerpt, Quote, Severity, Style, render_excerpt};

use super::answer::answer_text;
use super::layout::{self, Keep};

/// The most lines of one piece of evidence.
const EVIDENCE_LINES: usize = 10;
/// The most lines of a difference.
const DIFF_LINES: usize = 16;
/// The most pieces of evidence.
const EVIDENCE: usize = 4;
/// The longest name of a piece of evidence.
const EVIDENCE_NAME: usize = 20;

/// Shows a finding; `answered` is the exchange whose answer stands below it.
pub(super) fn finding(finding: &Finding, answered: Option<&Exchange>, style: &Style) -> String {
    let inner = Style { width: style.width.saturating_sub(2), ..*style };
    let severity = match finding.level {
        Level::Must => Severity::Error,
        Level::Should => Severity::Warning,
    };
    let room = inner.width.saturating_sub(finding.code.len() + 11).max(24);
    let code = layout::crop(&finding.code, 60);
    let message = layout::wrap_some(&finding.message, room, 6);
    let label = |quote: &Quote| Quote { label: layout::crop(&quote.label, inner.width), ..quote.clone() };
    let quote = finding.quote.as_ref().map(label);
    let notes = notes(finding, answered, &inner);
    let notes: Vec<(&str, String)> = notes.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let excerpt =
        Excerpt { severity, code: &code, message: &message, primary: quote.as_ref(), other: None, notes: &notes };
    layout::indent(&render_excerpt(&excerpt, inner), "  ")
}

/// The lines below the excerpt, each with a name.
fn notes(finding: &Finding, answered: Option<&Exchange>, style: &Style) -> Vec<(String, String)> {
    // The line numbers stand before the notes.
    let gutter = finding.quote.as_ref().map_or(1, |quote| quote.line.to_string().len()) + 3;
    let room = |name: &str| style.width.saturating_sub(gutter + name.len() + 2).max(24);
    let short = |name: &str, text: &str, lines: usize| (name.to_owned(), layout::wrap_some(text, room(name), lines));
    let long = |name: &str, text: &str, keep: Keep| (name.to_owned(), layout::block(text, keep, room(name)));
    let optional = |name: &str, text: &Option<String>, lines: usize| text.as_ref().map(|text| short(name, text, lines));

    let mut notes: Vec<(String, String)> = optional("at", &finding.path, 2).into_iter().collect();
    notes.extend(finding.diff.as_ref().map(|diff| long("diff", diff, Keep::First(DIFF_LINES))));
    if finding.diff.is_none() {
        notes.extend(optional("expected", &finding.expected, 3));
        notes.extend(optional("actual", &finding.actual, 3));
    }
    for (name, text) in finding.evidence.iter().take(EVIDENCE) {
        notes.push(long(&layout::crop(name, EVIDENCE_NAME), text, Keep::Last(EVIDENCE_LINES)));
    }
    notes.extend(answered.map(|exchange| short("answered", &answer_text(&exchange.received), 3)));
    if let (Some(frame), None) = (finding.frame, finding.exchange) {
        notes.push(short("frame", &format!("{frame}; `--transcript DIR` writes every frame"), 2));
    }
    notes.extend(optional("help", &finding.help, 6));
    notes
}
