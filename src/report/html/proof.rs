//! What a proof found: additions that gain most, the faults at each tool, and each field with what was noticed there.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::event::{Cell, MutantSubject, Proof, SectionTable, Tone, Verdict};
use crate::report::additions;
use crate::report::fault_table::{family_table, leaf_table, title};
use crate::report::proven::{self, MutantCounts, subject_text};
use crate::report::terminal::{self, ProofView, Survivors};
use crate::source::{Color, Style};

use super::escape::{code, inline, preformatted, sentence};
use super::failures::{WIDTH, without_indent};
use super::table::table;

/// The most names of faults in one cell.
const NAMES: usize = 6;
/// The most rows of the table of fields.
const FIELDS: usize = 1000;
/// The most bytes of survivors with the tests that would notice them.
const SURVIVORS: usize = 1 << 20;

/// The proof of a run; `command` proves it again.
pub(super) fn proof(proof: &Proof, command: &str) -> String {
    let mut text =
        format!("<p>{}</p>\n", sentence(&format!("Mutants: {}.", MutantCounts::of(&proof.mutants).to_text())));
    text += &additions(proof);
    let faults = family_table(proof);
    if !faults.rows.is_empty() {
        text += "<h3>Faults at each tool</h3>\n";
        let _ = writeln!(text, "<p>{}</p>", sentence(title(proof).trim_end_matches(':')));
        text += &table(&faults, "Families of faults at each tool");
        text += "<details><summary>each fault</summary>\n";
        text += &table(&leaf_table(proof), "Faults at each tool");
        text += "</details>\n";
    }
    let (fields, more) = terminal::table::first_rows(field_table(proof), FIELDS);
    if !fields.rows.is_empty() {
        text += "<h3>Fields</h3>\n<p>Changes of each field, alone, and how many of them turned a case red.</p>\n";
        text += &table(&fields, "Fields");
    }
    if more > 0 {
        let _ = writeln!(text, "<p>and {}</p>", terminal::plural(more, "more field"));
    }
    text + &parts(proof, command)
}

/// What would improve the suite most.
fn additions(proof: &Proof) -> String {
    let Some((told, shown)) = additions::best(proof) else { return String::new() };
    let mut text = format!("<h3>What to add</h3>\n<p>{}</p>\n", inline(&told));
    for addition in shown {
        let _ = write!(
            text,
            "<details open><summary>{}</summary>\n{}</details>\n",
            sentence(additions::place(addition).trim_end_matches(':')),
            preformatted(&additions::lines(addition))
        );
    }
    text
}

/// The changes of one field.
#[derive(Default)]
struct FieldCounts<'a> {
    killed: usize,
    survived: usize,
    undecided: usize,
    /// The faults that nobody noticed there.
    unnoticed: BTreeSet<&'a str>,
}

/// A row for each field of each tool, prompt and resource, in the order in which mutants name them.
fn field_table(proof: &Proof) -> SectionTable {
    let mut fields: IndexMap<(&MutantSubject, &str), FieldCounts<'_>> = IndexMap::new();
    for result in &proof.mutants {
        for mutant in &result.mutants {
            for place in mutant.places.iter().filter(|place| !place.field.is_empty()) {
                let counts = fields.entry((&mutant.subject, &place.field)).or_default();
                match place.verdict {
                    Verdict::Killed => counts.killed += 1,
                    Verdict::Survived => {
                        counts.survived += 1;
                        counts.unnoticed.insert(&result.variant);
                    }
                    Verdict::Undecided => counts.undecided += 1,
                    Verdict::NotCalled
                    | Verdict::Unreached
                    | Verdict::Redundant
                    | Verdict::CannotOccur
                    | Verdict::LiveOnly
                    | Verdict::Untried => {}
                }
            }
        }
    }
    fields.sort_by(|one, _, other, _| (one.0.kind, &one.0.name).cmp(&(other.0.kind, &other.0.name)));
    let rows = fields.into_iter().map(|((subject, field), counts)| field_row(&subject_text(subject), field, &counts));
    SectionTable::new(["tool", "field", "noticed", "not noticed"], rows.collect())
}

fn field_row(tool: &str, field: &str, counts: &FieldCounts<'_>) -> Vec<Cell> {
    let FieldCounts { killed, survived, undecided, unnoticed } = counts;
    let tone = match (killed, survived) {
        (_, 0) if *undecided == 0 => Tone::Good,
        (0, _) => Tone::Bad,
        _ => Tone::Doubtful,
    };
    let mut names = unnoticed.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
    if unnoticed.len() > NAMES {
        let _ = write!(names, " and {} more", unnoticed.len() - NAMES);
    }
    let of = killed + survived + undecided;
    vec![Cell::plain(tool), Cell::plain(field), Cell::new(format!("{killed}/{of}"), tone), Cell::plain(names)]
}

/// Survivors with the tests that would notice them, and what is open, as the terminal shows them.
fn parts(proof: &Proof, command: &str) -> String {
    let style = Style::new(Color::Never, WIDTH);
    let view = ProofView { survivors: Survivors::All, command };
    let figures = terminal::figures(proof, &style);
    let found = proven::survivors(proof).len();
    let shown = terminal::parts(proof, &view, &style);
    // The first part is the table of faults, which stands above.
    let (mut survivors, mut left_out) = (String::new(), 0);
    for part in shown.iter().skip(1).take(found) {
        if survivors.len() > SURVIVORS {
            left_out += 1;
        } else {
            survivors += &terminal_part(part);
        }
    }
    if left_out > 0 {
        let more = terminal::plural(left_out, "more survivor");
        let command = code(&view.with_flag("--survivors all"));
        let _ = writeln!(survivors, "<p>and {more}; {command} shows them</p>");
    }
    if !survivors.is_empty() {
        survivors = format!("<h3>Survivors</h3>\n{survivors}");
    }
    let open: String =
        shown.iter().skip(1 + found).filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("\n");
    let open = format!("{figures}\n{open}");
    format!("{survivors}<h3>Mutants that are open</h3>\n{}", preformatted(open.trim_end()))
}

/// A part whose first line is its title: the mark, the operator, and the fault that it imitates at the right.
fn terminal_part(part: &str) -> String {
    let (title, rest) = part.split_once('\n').unwrap_or((part, ""));
    let mut words = title.split_whitespace();
    let operator: Vec<&str> = words.by_ref().take(2).collect();
    let fault = words.collect::<Vec<_>>().join(" ");
    format!(
        "<details><summary><span class=\"doubt\">{}</span> <span class=\"place\">{}</span></summary>\n{}</details>\n",
        inline(&operator.join(" ")),
        inline(&fault),
        preformatted(&without_indent(rest))
    )
}
