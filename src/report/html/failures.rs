//! The cases that need attention with their evidence, as the terminal quotes them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::event::Outcome;
use crate::report::terminal::{self, CaseDetail, Groups};
use crate::report::wording;
use crate::source::{Color, Style};

use super::escape::{inline, preformatted, sentence};
use super::{NumberedCase, case_name, outcome_words};

/// Wide enough for excerpts, narrow enough for a page.
pub(super) const WIDTH: usize = 100;

/// The cases that need attention.
pub(super) struct Failures {
    pub(super) body: String,
    /// The numbers of those that are shown with their evidence.
    pub(super) shown: BTreeSet<usize>,
}

/// The worst kind first, each cause once.
pub(super) fn failures(cases: &[NumberedCase<'_>]) -> Failures {
    let kinds = [Outcome::Failed, Outcome::Errored, Outcome::Warned, Outcome::Inconclusive, Outcome::Passed];
    let troubled = kinds
        .iter()
        .flat_map(|kind| cases.iter().filter(|one| one.case.outcome == *kind && terminal::is_trouble(one.case)));
    let mut groups = Groups::default();
    let admitted: Vec<(&NumberedCase<'_>, CaseDetail)> =
        troubled.map(|numbered| (numbered, groups.admit(numbered.case))).collect();
    let style = Style::new(Color::Never, WIDTH);
    let (mut body, mut shown, mut left_out) = (String::new(), BTreeSet::new(), 0);
    for (numbered, detail) in admitted {
        let text = match detail {
            CaseDetail::Full(known) => terminal::untitled(numbered.case, &known, &style),
            CaseDetail::Line => terminal::summarize(numbered.case).unwrap_or_default(),
            CaseDetail::Name => {
                left_out += 1;
                continue;
            }
        };
        shown.insert(numbered.number);
        body += &failure(numbered, &text, &groups.more(numbered.case, &style));
    }
    if left_out > 0 {
        let cases = terminal::plural(left_out, "more case");
        let _ = writeln!(body, "<p>{cases}, most with causes shown here: <a href=\"#cases\">all cases</a></p>");
    }
    Failures { body, shown }
}

fn failure(numbered: &NumberedCase<'_>, text: &str, more: &str) -> String {
    let (mark, word, class) = outcome_words(numbered.case);
    let place = wording::line(&numbered.case.case).unwrap_or_default();
    // The terminal breaks it into lines.
    let more = more.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = if more.is_empty() { String::new() } else { format!("<p>{}</p>\n", sentence(&more)) };
    format!(
        "<details id=\"failure-{number}\" open><summary><span class=\"{class}\"><span aria-hidden=\"true\">{mark}</span> \
         {word}</span> <span class=\"name\">{}</span> <span class=\"place\">{}</span></summary>\n{}{more}\
         <p class=\"at screen\"><a href=\"#case-{number}\">the case with its requests</a></p>\n</details>\n",
        inline(&terminal::crop(&case_name(numbered), 160)),
        inline(&place),
        preformatted(&without_indent(text)),
        number = numbered.number,
    )
}

/// In the terminal the text is indented below its title, which stands elsewhere here.
pub(super) fn without_indent(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}
