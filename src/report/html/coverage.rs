//! Fault coverage at its levels, comparisons, and the sections that blocks add.

use std::fmt::Write as _;

use crate::event::{RunFinished, Section, SectionPart, SuiteScore};
use crate::report::comparison;
use crate::report::coverage::{levels_of, levels_table, sentences, suites_table};
use crate::report::fold::Report;

use super::escape::{inline, item, paragraph, preformatted};
use super::table::table;

/// Declared, exercised and proven, as far as there are figures.
pub(super) fn coverage(report: &Report) -> String {
    let Some(run) = report.run_finished() else { return String::new() };
    let (scores, gates) = levels_of(run);
    if scores.is_empty() {
        return String::new();
    }
    let told: String = sentences(&scores, gates).iter().map(|line| paragraph(&line.to_text())).collect();
    told + &table(&levels_table(&scores), "Fault coverage by family") + &of_suites(run)
}

/// The scores of each suite on each server, what is only claimed, and the registry of faults.
fn of_suites(run: &RunFinished) -> String {
    let Some(found) = &run.coverage else { return String::new() };
    let mut text = String::new();
    if !found.suites.is_empty() {
        let mut suites: Vec<SuiteScore> = found.suites.clone();
        if let Some(proof) = &run.proof {
            proof.complete(&mut suites);
        }
        text += "<p>That is the total of all suites and servers; thresholds are about each of them.</p>\n";
        text += &table(&suites_table(&suites), "Fault coverage by suite");
    }
    if !found.claimed.is_empty() {
        let _ = writeln!(
            text,
            "<p>Claimed with <code>judges</code>, and not counted: {}</p>",
            inline(&found.claimed.join(", "))
        );
    }
    text + &format!("<p class=\"at\">Taxonomy {}</p>\n", inline(&found.declared.taxonomy.to_string()))
}

/// The cases whose verdict differs between servers, revisions or orders.
pub(super) fn comparisons(report: &Report) -> String {
    let mut text = String::new();
    for (at, one) in comparison::comparisons(report).into_iter().enumerate() {
        if !one.table.rows.is_empty() {
            text += &table(&one.table, &format!("Verdicts that differ, comparison {}", at + 1));
        }
        text += &paragraph(&one.agreeing);
    }
    text
}

/// The sections that blocks add to the summary.
pub(super) fn sections(report: &Report) -> String {
    let Some(run) = report.run_finished() else { return String::new() };
    run.sections.iter().enumerate().map(|(at, section)| self::section(at, section)).collect()
}

fn section(at: usize, section: &Section) -> String {
    let heading = inline(&section.heading);
    let mut text = format!("<h3>{heading}</h3>\n");
    for (part_at, part) in section.parts.iter().enumerate() {
        let part = match part {
            SectionPart::Table(part) => table(part, &format!("{}, {}.{}", section.heading, at + 1, part_at + 1)),
            SectionPart::List(lines) => {
                format!("<ul>{}</ul>\n", lines.iter().map(|line| item(line)).collect::<String>())
            }
            SectionPart::Code(part) => preformatted(part),
            SectionPart::Note(note) => paragraph(note),
        };
        text += &part;
    }
    text
}
