//! The results of the agents of a run, and their section of the report.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::descriptions::AgentComparison;
use super::repeat::{PassEstimate, PassedRuns};
use crate::event::{Cell, Outcome, Section, SectionPart, SectionTable, Tone};

/// The agents of a run.
#[derive(Debug, Default)]
pub(crate) struct AgentLog {
    rows: Mutex<Vec<AgentRow>>,
}

/// One agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentRow {
    pub(crate) file: String,
    pub(crate) server: String,
    pub(crate) revision: String,
    /// The place of the agent in the suite.
    pub(crate) order: usize,
    pub(crate) agent: String,
    /// The agent with which it is compared.
    pub(crate) compared_with: Option<String>,
    pub(crate) outcome: Outcome,
    pub(crate) notes: String,
    pub(crate) passed: PassedRuns,
    pub(crate) pass: Vec<PassEstimate>,
    /// The most tokens of a run, and the highest cost.
    pub(crate) tokens: u64,
    pub(crate) cost: Option<f64>,
    /// Names that several servers use.
    pub(crate) clashes: Vec<String>,
    /// The picture of each run.
    pub(crate) runs: Vec<Vec<String>>,
}

impl AgentLog {
    pub(crate) fn add(&self, row: AgentRow) {
        self.rows.lock().push(row);
    }

    /// A section for each server and revision.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let mut targets: BTreeMap<[String; 3], Vec<AgentRow>> = BTreeMap::new();
        for row in self.rows.lock().iter() {
            targets.entry([&row.file, &row.server, &row.revision].map(String::clone)).or_default().push(row.clone());
        }
        targets.into_iter().map(|(target, rows)| section(target, rows)).collect()
    }
}

fn section([file, server, revision]: [String; 3], mut rows: Vec<AgentRow>) -> Section {
    // Cases end in any order.
    rows.sort_by_key(|row| row.order);
    let columns = ["agent", "verdict", "figures"];
    let cells = rows.iter().map(|row| {
        vec![
            Cell::plain(row.agent.clone()),
            Cell::new(row.outcome.as_str(), tone(row.outcome)),
            Cell::plain(row.notes.clone()),
        ]
    });
    let mut parts = vec![SectionPart::Table(SectionTable::new(columns, cells.collect()))];
    let clashes: BTreeSet<&String> = rows.iter().flat_map(|row| &row.clashes).collect();
    parts.extend(clashes.into_iter().cloned().map(SectionPart::Note));
    let compared = comparisons(&rows);
    parts.extend(compared.iter().map(|(_, _, comparison)| SectionPart::Note(comparison.sentence.clone())));
    let compared = compared
        .iter()
        .map(|(row, other, comparison)| json!({ "agent": row.agent, "with": other.agent, "p": comparison.chance }));
    let compared: Vec<Value> = compared.collect();
    Section {
        block: "agents".to_owned(),
        heading: format!("agents at {server}, {revision}"),
        file,
        server,
        revision,
        parts,
        data: json!({ "agents": rows.iter().map(AgentRow::json).collect::<Vec<_>>(), "comparisons": compared }),
    }
}

/// Each agent that is compared, with the other one; both have made runs.
fn comparisons(rows: &[AgentRow]) -> Vec<(&AgentRow, &AgentRow, AgentComparison)> {
    let compared = rows.iter().filter_map(|row| {
        let other = rows.iter().find(|other| row.compared_with.as_ref() == Some(&other.agent))?;
        let has_runs = row.passed.runs > 0 && other.passed.runs > 0;
        has_runs.then(|| (row, other, AgentComparison::of(row, other)))
    });
    compared.collect()
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Passed => Tone::Good,
        Outcome::Failed | Outcome::Errored => Tone::Bad,
        Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => Tone::Doubtful,
    }
}

impl AgentRow {
    fn json(&self) -> Value {
        json!({
            "agent": self.agent,
            "outcome": self.outcome,
            "figures": self.notes,
            "passed": self.passed.passed,
            "pass": self.pass.iter().copied().map(PassEstimate::json).collect::<Vec<_>>(),
            "tokens": self.tokens,
            "cost": self.cost,
            "runs": self.runs,
            "clashes": self.clashes,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An agent of which so many runs passed.
    pub(crate) fn row_of(agent: &str, passed: usize, runs: usize) -> AgentRow {
        AgentRow { agent: agent.to_owned(), passed: PassedRuns { passed, runs }, ..row("a", 0, Outcome::Passed, &[]) }
    }

    #[test]
    fn agents_that_ran_are_compared() {
        let compared = |agent: &str, with: &str, runs| AgentRow {
            compared_with: Some(with.to_owned()),
            ..row_of(agent, runs, runs)
        };
        for (rows, expected) in [
            (vec![row_of("old", 2, 2), compared("new", "old", 3)], vec![("new", "old")]),
            (vec![row_of("old", 0, 0), compared("new", "old", 3)], vec![]),
            (vec![row_of("old", 2, 2), compared("new", "old", 0)], vec![]),
            (vec![compared("new", "old", 3)], vec![]),
        ] {
            let found = comparisons(&rows);
            let names: Vec<(&str, &str)> =
                found.iter().map(|(row, other, _)| (row.agent.as_str(), other.agent.as_str())).collect();
            assert_eq!(names, expected);
        }
    }

    fn row(server: &str, order: usize, outcome: Outcome, clashes: &[&str]) -> AgentRow {
        AgentRow {
            file: "suite.yml".to_owned(),
            server: server.to_owned(),
            revision: "2025-11-25".to_owned(),
            order,
            agent: format!("agent {order}"),
            compared_with: None,
            outcome,
            notes: "1 call".to_owned(),
            passed: PassedRuns { passed: 1, runs: 1 },
            pass: Vec::new(),
            tokens: 40,
            cost: None,
            clashes: clashes.iter().map(|clash| (*clash).to_owned()).collect(),
            runs: Vec::new(),
        }
    }

    #[test]
    fn agents_are_listed_by_server_in_the_order_of_the_suite() {
        let log = AgentLog::default();
        for row in [
            row("b", 1, Outcome::Failed, &[]),
            row("a", 2, Outcome::Passed, &["two tools are called `get`"]),
            row("a", 0, Outcome::Inconclusive, &["two tools are called `get`"]),
        ] {
            log.add(row);
        }
        let sections = log.sections();
        let headings: Vec<&str> = sections.iter().map(|section| section.heading.as_str()).collect();
        assert_eq!(headings, ["agents at a, 2025-11-25", "agents at b, 2025-11-25"]);
        let [SectionPart::Table(table), SectionPart::Note(note)] = &sections[0].parts[..] else {
            panic!("{sections:?}")
        };
        let rows: Vec<(&str, Tone)> = table.rows.iter().map(|row| (row[0].text.as_str(), row[1].tone)).collect();
        assert_eq!(rows, [("agent 0", Tone::Doubtful), ("agent 2", Tone::Good)]);
        assert_eq!(note, "two tools are called `get`", "once, although both agents met it");
        assert_eq!(sections[1].data["agents"][0]["outcome"], "failed");
    }
}
