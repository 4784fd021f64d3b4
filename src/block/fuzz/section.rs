//! The section of the summary: a row for each tool that was called.

use serde_json::json;

use super::{Fuzz, KIND};
use crate::event::{CaseResult, Cell, Outcome, Reason, Section, SectionPart, SectionTable, Tone};

/// The sections of the cases that used the seed of this block, one for each server and revision.
pub(crate) fn sections(settings: &Fuzz, results: &[CaseResult]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut rows: Vec<_> = results.iter().filter_map(|result| row(settings, result)).collect();
    // Cases end in any order.
    rows.sort_by(|(one, tool, _), (other, next, _)| {
        let place = |result: &CaseResult| {
            (result.case.file.clone(), result.case.server.clone(), result.protocol_revision.clone())
        };
        place(one).cmp(&place(other)).then_with(|| tool.cmp(next))
    });
    for (result, tool, counts) in rows {
        let (case, revision) = (&result.case, &result.protocol_revision);
        let is_same = |one: &Section| one.file == case.file && one.server == case.server && one.revision == *revision;
        let at = sections.iter().position(is_same).unwrap_or_else(|| {
            sections.push(empty(settings, result));
            sections.len() - 1
        });
        let tone = match result.outcome {
            Outcome::Passed => Tone::Good,
            Outcome::Failed | Outcome::Errored => Tone::Bad,
            Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => Tone::Doubtful,
        };
        if let Some(SectionPart::Table(table)) = sections[at].parts.first_mut() {
            table.rows.push(vec![Cell::plain(tool), Cell::new(result.outcome.as_str(), tone), Cell::plain(counts)]);
        }
        if let Some(tools) = sections[at].data["tools"].as_array_mut() {
            tools.push(json!({"tool": tool, "outcome": result.outcome, "calls": counts}));
        }
    }
    sections
}

fn empty(settings: &Fuzz, result: &CaseResult) -> Section {
    let columns = ["tool", "outcome", "calls"].map(str::to_owned).into();
    let (server, revision) = (result.case.server.clone(), result.protocol_revision.clone());
    Section {
        block: KIND.key.name.to_owned(),
        file: result.case.file.clone(),
        heading: format!("fuzzing of {server}, {revision}"),
        server,
        revision,
        parts: vec![
            SectionPart::Table(SectionTable { columns, rows: Vec::new() }),
            SectionPart::Note(format!("seed {} gives the same calls again", settings.seed)),
        ],
        data: json!({"seed": settings.seed, "tools": []}),
    }
}

/// The tool and the counts of a case; `None` for cases of other blocks and other seeds.
fn row<'a>(settings: &Fuzz, result: &'a CaseResult) -> Option<(&'a CaseResult, &'a str, &'a str)> {
    let Some(Reason::Measured(reason)) = result.reason.as_ref().filter(|_| is_fuzzed(result)) else { return None };
    let (_, tool) = result.case.name.split_once(": ")?;
    let counts = reason.rsplit_once(" (").map_or(reason.as_str(), |(_, counts)| counts);
    let (counts, _) = counts.split_once(&format!("; seed {},", settings.seed))?;
    Some((result, tool, counts))
}

pub(crate) fn is_fuzzed(result: &CaseResult) -> bool {
    result.case.probes.iter().any(|probe| probe == "fuzz")
}
