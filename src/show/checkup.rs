//! A checkup of a server, for people: a line for each examination, its cure below it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::doctor::{Checkup, Examination, ExaminationVerdict};
use crate::report::layout::{self, BOLD, DIM, GREEN, RED, YELLOW};
use crate::source::Style;

/// The columns of the mark and of the names.
const MARGIN: usize = 2;
const NAMES: usize = 17;

/// The lines that the last line of a server fills at most: it often says what to do.
const LAST_LINE: usize = 4;

/// A checkup as text that is no wider than the style says.
pub(crate) fn checkup_text(checkup: &Checkup, style: &Style) -> String {
    let (mut text, mut shown) = (String::new(), BTreeSet::new());
    for examination in &checkup.examinations {
        text += &examination_text(examination, &new_evidence(examination, &shown), style);
        shown.extend(examination.evidence.iter().map(|line| line.trim()));
    }
    if !checkup.not_reached.is_empty() {
        let names = checkup.not_reached.join(", ");
        text += &line("-", DIM, "not reached", &names, style);
    }
    let look = match checkup.verdict() {
        ExaminationVerdict::Fine => GREEN,
        ExaminationVerdict::Doubtful => YELLOW,
        ExaminationVerdict::Wrong => RED,
    };
    text.push('\n');
    for part in layout::wrap(&checkup.conclusion(), style.width) {
        let _ = writeln!(text, "{}", layout::paint(&part, look, style));
    }
    if let Some(next) = checkup.next_step() {
        let wrapped = layout::wrap(&format!("next: {next}"), style.width.saturating_sub(6));
        let _ = writeln!(text, "{}", wrapped.join("\n      "));
    }
    text
}

/// The evidence of an examination that is not among the lines of earlier ones.
fn new_evidence<'a>(examination: &'a Examination, shown: &BTreeSet<&str>) -> Vec<&'a str> {
    let lines = examination.evidence.iter().map(String::as_str);
    lines.filter(|line| !shown.contains(line.trim())).collect()
}

fn examination_text(examination: &Examination, evidence: &[&str], style: &Style) -> String {
    let (mark, look) = match examination.verdict {
        ExaminationVerdict::Fine => ("✓", GREEN),
        ExaminationVerdict::Doubtful => ("~", YELLOW),
        ExaminationVerdict::Wrong => ("✗", RED),
    };
    let mut text = line(mark, look, examination.name, &examination.sentence, style);
    let margin = " ".repeat(MARGIN + NAMES);
    let width = style.width.saturating_sub(margin.len() + 2);
    for (index, line) in evidence.iter().enumerate() {
        let is_last = index + 1 == evidence.len();
        let shown = if is_last { layout::wrap_some(line, width, LAST_LINE) } else { layout::crop(line, width) };
        let painted: Vec<String> = shown.lines().map(|line| layout::paint(line, DIM, style)).collect();
        text += &layout::indent(&painted.join("\n"), &format!("{margin}| "));
    }
    if let Some(cure) = &examination.cure {
        let wrapped = layout::wrap(cure, width);
        for (index, part) in wrapped.iter().enumerate() {
            let _ = writeln!(text, "{margin}{} {part}", if index == 0 { "→" } else { " " });
        }
    }
    text
}

/// A mark, a name and a text that goes on below itself.
fn line(mark: &str, look: anstyle::Style, name: &str, words: &str, style: &Style) -> String {
    let margin = MARGIN + NAMES;
    let wrapped = layout::wrap(words, style.width.saturating_sub(margin));
    let name = layout::paint(&format!("{name:<NAMES$}"), BOLD, style);
    let mut text = format!("{} {name}", layout::paint(mark, look, style));
    for (index, part) in wrapped.iter().enumerate() {
        let before = if index == 0 { String::new() } else { " ".repeat(margin) };
        let _ = writeln!(text, "{before}{part}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Color;

    #[test]
    fn a_line_of_the_server_is_shown_once() {
        let examination = |name: &'static str, evidence: &[&str]| Examination {
            name,
            verdict: ExaminationVerdict::Wrong,
            sentence: "it fails".to_owned(),
            cure: None,
            evidence: evidence.iter().map(|line| (*line).to_owned()).collect(),
            figures: std::collections::BTreeMap::new(),
        };
        let examinations = vec![
            examination("environment", &["KeyError: 'TOKEN'"]),
            examination("start", &["Traceback:", "  KeyError: 'TOKEN'"]),
        ];
        let checkup = Checkup { server: "s".to_owned(), examinations, not_reached: Vec::new() };
        let text = checkup_text(&checkup, &Style::new(Color::Never, 100));
        assert_eq!((text.matches("KeyError").count(), text.matches("Traceback").count()), (1, 1), "{text}");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        let examination = Examination {
            name: "end of input",
            verdict: ExaminationVerdict::Doubtful,
            sentence: "the server stayed when its input ended; SIGTERM ended it".to_owned(),
            cure: Some("end the program when standard input ends; clients close it first".to_owned()),
            evidence: vec!["a line that is much longer than the terminal that it is shown in, by far".to_owned()],
            figures: std::collections::BTreeMap::new(),
        };
        let checkup = Checkup { server: "s".to_owned(), examinations: vec![examination], not_reached: vec!["lists"] };
        for width in [40, 100] {
            let text = checkup_text(&checkup, &Style::new(Color::Never, width));
            assert!(text.lines().all(|line| layout::columns(line) <= width), "{text}");
            assert!(text.contains("~ end of input     the server"), "{text}");
            assert!(text.contains("- not reached      lists"), "{text}");
        }
    }
}
