//! Sections of a run's summary that blocks write, each rendered once by every report that people read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::source::map_texts;

/// A section of a run's summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// The key of the block that wrote it.
    pub block: String,
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that was spoken.
    pub revision: String,
    /// One line.
    pub heading: String,
    /// The content below the heading, in order.
    pub parts: Vec<SectionPart>,
    /// The same as the block's own figures, for programs.
    #[serde(default)]
    pub data: Value,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SectionPart {
    /// Rows of cells.
    Table(SectionTable),
    /// Lines that belong together, such as the tools that cost most.
    List(Vec<String>),
    /// Something to type or to copy.
    Code(String),
    /// A sentence.
    Note(String),
}

/// A table; the first column names the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SectionTable {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The name above each column, the same for those that belong together; empty where there are no such groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// Good or bad news.
    pub tone: Tone,
}

/// Good or bad news; colour is never the only sign of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Neither.
    Plain,
    /// In order.
    Good,
    /// Worth a look.
    Doubtful,
    /// Wrong.
    Bad,
    /// Nothing to judge.
    Faint,
}

impl SectionTable {
    /// A table without groups.
    pub fn new(columns: impl IntoIterator<Item: Into<String>>, rows: Vec<Vec<Cell>>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), groups: Vec::new(), rows }
    }
}

impl Cell {
    /// A cell with a tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    /// A cell that is neither good nor bad news.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl Section {
    /// Returns true if both are about the same on the same server.
    pub fn is_same(&self, other: &Self) -> bool {
        self.subject() == other.subject()
    }

    fn subject(&self) -> [&str; 5] {
        [&self.block, &self.file, &self.server, &self.revision, &self.heading]
    }

    /// Adds the rows of the same section in another part of the run, in the order of their names.
    pub fn absorb(&mut self, other: Self) {
        for (part, more) in self.parts.iter_mut().zip(other.parts) {
            if let (SectionPart::Table(table), SectionPart::Table(more)) = (part, more) {
                let new: Vec<Vec<Cell>> = more.rows.into_iter().filter(|row| !table.rows.contains(row)).collect();
                if new.is_empty() {
                    continue;
                }
                table.rows.extend(new);
                let name = |row: &[Cell]| row.first().map(|cell| cell.text.clone());
                table.rows.sort_by_cached_key(|row| name(row));
            }
        }
        let members = self.data.as_object_mut().into_iter().flatten();
        for (name, value) in members {
            if let (Some(items), Some(more)) = (value.as_array_mut(), other.data[name].as_array()) {
                let new: Vec<Value> = more.iter().filter(|item| !items.contains(item)).cloned().collect();
                if new.is_empty() {
                    continue;
                }
                items.extend(new);
                items.sort_by(|one, other| one["tool"].as_str().cmp(&other["tool"].as_str()));
            }
        }
    }

    /// Changes every text that may hold a secret.
    pub(crate) fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        self.heading = change(&self.heading);
        for part in &mut self.parts {
            match part {
                SectionPart::Table(table) => {
                    table.rows.iter_mut().flatten().for_each(|cell| cell.text = change(&cell.text));
                }
                SectionPart::List(lines) => lines.iter_mut().for_each(|line| *line = change(line)),
                SectionPart::Code(text) | SectionPart::Note(text) => *text = change(text),
            }
        }
        self.data = map_texts(std::mem::take(&mut self.data), change);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn section(tools: &[(&str, &str)]) -> Section {
        let rows = tools.iter().map(|(tool, outcome)| vec![Cell::plain(*tool), Cell::plain(*outcome)]);
        let data = tools.iter().map(|(tool, outcome)| json!({"tool": tool, "outcome": outcome}));
        Section {
            block: "fuzz".to_owned(),
            file: "s.yml".to_owned(),
            server: "server".to_owned(),
            revision: "2025-11-25".to_owned(),
            heading: "fuzzing".to_owned(),
            parts: vec![
                SectionPart::Table(SectionTable::new(["tool", "outcome"], rows.collect())),
                SectionPart::Note("seed 1".to_owned()),
            ],
            data: json!({"seed": 1, "tools": data.collect::<Vec<_>>()}),
        }
    }

    #[test]
    fn a_section_of_several_parts_has_the_rows_of_all() {
        let mut whole = section(&[("add", "passed"), ("list", "failed")]);
        whole.absorb(section(&[("get", "passed"), ("list", "failed")]));
        assert_eq!(whole, section(&[("add", "passed"), ("get", "passed"), ("list", "failed")]));
    }
}
