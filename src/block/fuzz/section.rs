//! The section of the summary: a row for each tool that was called.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::json;

use super::{Fuzz, KIND};
use crate::event::{CaseResult, Cell, Outcome, Section, SectionPart, SectionTable, Tone};

/// The calls of a block's cases, by the id of the case.
#[derive(Debug, Default)]
pub(crate) struct FuzzLog(Mutex<BTreeMap<String, FuzzedTool>>);

/// The tool that a case called, and its calls in words.
#[derive(Debug, Clone)]
pub(crate) struct FuzzedTool {
    tool: String,
    calls: String,
}

impl FuzzLog {
    /// Takes in the calls of a case; those of an earlier attempt are forgotten.
    pub(crate) fn add(&self, case: &str, tool: &str, calls: String) {
        self.0.lock().insert(case.to_owned(), FuzzedTool { tool: tool.to_owned(), calls });
    }

    /// The tool and the calls of a case; `None` for a case of another block, or without calls.
    pub(crate) fn tool_of(&self, result: &CaseResult) -> Option<FuzzedTool> {
        self.0.lock().get(&result.case.id).cloned()
    }
}

/// The sections of the cases of this block, one for each server and revision.
pub(crate) fn sections(settings: &Fuzz, results: &[CaseResult]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let row = |result| Some((result, settings.log.tool_of(result)?));
    let mut rows: Vec<(&CaseResult, FuzzedTool)> = results.iter().filter_map(row).collect();
    // Cases end in any order.
    rows.sort_by(|(one, FuzzedTool { tool, .. }), (other, FuzzedTool { tool: next, .. })| {
        let place = |result: &CaseResult| {
            (result.case.file.clone(), result.case.server.clone(), result.protocol_revision.clone())
        };
        place(one).cmp(&place(other)).then_with(|| tool.cmp(next))
    });
    for (result, FuzzedTool { tool, calls }) in rows {
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
            table.rows.push(vec![Cell::plain(&tool), Cell::new(result.outcome.as_str(), tone), Cell::plain(&calls)]);
        }
        if let Some(tools) = sections[at].data["tools"].as_array_mut() {
            tools.push(json!({"tool": tool, "outcome": result.outcome, "calls": calls}));
        }
    }
    sections
}

fn empty(settings: &Fuzz, result: &CaseResult) -> Section {
    let columns = ["tool", "outcome", "calls"];
    let (server, revision) = (result.case.server.clone(), result.protocol_revision.clone());
    Section {
        block: KIND.key.name.to_owned(),
        file: result.case.file.clone(),
        heading: format!("fuzzing of {server}, {revision}"),
        server,
        revision,
        parts: vec![
            SectionPart::Table(SectionTable::new(columns, Vec::new())),
            SectionPart::Note(format!("seed {} gives the same calls again", settings.seed)),
        ],
        data: json!({"seed": settings.seed, "tools": []}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::settings;

    #[test]
    fn a_section_has_the_tools_of_one_server_in_order() {
        let fuzz: Fuzz = settings("{ seed: 7 }");
        let result = |name: &str, server: &str, outcome| {
            let mut result = CaseResult::of_test(name, outcome);
            result.case.server = server.to_owned();
            result.protocol_revision = "2025-11-25".to_owned();
            result
        };
        let results = [
            result("c1", "notes", Outcome::Passed),
            result("c2", "users", Outcome::Failed),
            result("c3", "notes", Outcome::Inconclusive),
            result("of another block", "notes", Outcome::Passed),
        ];
        for (case, tool) in [("c1", "list"), ("c2", "get"), ("c3", "old name"), ("c3", "add")] {
            fuzz.log.add(case, tool, format!("calls of {tool}"));
        }
        let shown = sections(&fuzz, &results).into_iter().map(|section| {
            let Some(SectionPart::Table(table)) = section.parts.first() else { panic!("{:?}", section.parts) };
            let row = |row: &Vec<Cell>| (row[0].text.clone(), row[1].text.clone(), row[1].tone);
            (section.heading, table.rows.iter().map(row).collect::<Vec<_>>())
        });
        let row = |tool: &str, outcome: &str, tone| (tool.to_owned(), outcome.to_owned(), tone);
        let expected = [
            (
                "fuzzing of notes, 2025-11-25".to_owned(),
                // Of a case that ran twice, the later attempt counts.
                vec![row("add", "inconclusive", Tone::Doubtful), row("list", "passed", Tone::Good)],
            ),
            ("fuzzing of users, 2025-11-25".to_owned(), vec![row("get", "failed", Tone::Bad)]),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
}
