//! Which tool is guarded against which fault, as a table: rows are tools, prompts, resources and sessions, columns leaves
//! or families.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::event::{Cell, FaultAtSubject, MutantSubject, Proof, SectionTable, SubjectKind, Tone, Verdict};

use super::proven::subject_text;

/// What the cells mean.
pub(crate) fn title(proof: &Proof) -> String {
    let untried = proof.untried_count();
    if untried == 0 {
        return TITLE.to_owned();
    }
    let kinds = if untried == 1 { "kind" } else { "kinds" };
    format!("of the mutants that were tried ({untried} {kinds} were not): {TITLE}")
}

const TITLE: &str = "changes that turned a case red, of all that were made at each tool; `none` where no case \
                                does what would show the fault, `·` where it cannot occur:";

/// A table with a column for each leaf, below its family; no rows where no fault can occur.
pub(crate) fn leaf_table(proof: &Proof) -> SectionTable {
    let rows = subject_rows(&proof.table);
    table(&leaves(proof, &rows), &rows)
}

/// A table with a column for each family; no rows where no fault can occur.
pub(crate) fn family_table(proof: &Proof) -> SectionTable {
    let rows = subject_rows(&proof.table);
    let mut found: IndexMap<&str, Column<'_>> = IndexMap::new();
    for leaf in leaves(proof, &rows) {
        let family = found.entry(leaf.family).or_insert(Column { family: "", name: leaf.family, leaves: Vec::new() });
        family.leaves.extend(leaf.leaves);
    }
    table(&found.into_values().collect::<Vec<_>>(), &rows)
}

/// All faults at each tool together, of all targets; a tool at which no fault can occur is left out.
pub(crate) fn tool_cells(proof: &Proof) -> IndexMap<String, Cell> {
    let mut tools: IndexMap<String, CellCounts> = IndexMap::new();
    for row in subject_rows(&proof.table).iter().filter(|row| row.subject.kind == SubjectKind::Tool) {
        for counts in row.leaves.values() {
            let known = tools.entry(row.subject.name.clone());
            known.and_modify(|known| *known = known.and(*counts)).or_insert(*counts);
        }
    }
    tools.into_iter().map(|(tool, counts)| (tool, counts_cell(Some(counts)))).collect()
}

/// Some leaves under one heading.
struct Column<'a> {
    family: &'a str,
    name: &'a str,
    leaves: Vec<&'a str>,
}

/// The leaves that any mutant was planted for, in the order of the registry.
fn leaves<'a>(proof: &'a Proof, rows: &[SubjectRow<'_>]) -> Vec<Column<'a>> {
    let mut found: IndexMap<&str, Column<'a>> = IndexMap::new();
    for mutant in &proof.mutants {
        if rows.iter().any(|row| row.leaves.contains_key(mutant.leaf.as_str())) {
            let short = mutant.leaf.strip_prefix("FAULT-").unwrap_or(&mutant.leaf);
            let (family, name) = short.split_once('-').unwrap_or((short, short));
            found.entry(&mutant.leaf).or_insert(Column { family, name, leaves: vec![&mutant.leaf] });
        }
    }
    found.into_values().collect()
}

/// The target is named where there are several.
fn table(columns: &[Column<'_>], rows: &[SubjectRow<'_>]) -> SectionTable {
    let has_several = rows.iter().any(|row| row.target != rows[0].target);
    let name = |row: &SubjectRow<'_>| {
        let name = subject_text(row.subject);
        if has_several { format!("{name} @ {}", row.target) } else { name }
    };
    let cells = |row: &SubjectRow<'_>| {
        let figures = columns.iter().map(|column| counts_cell(count_leaves(column, row)));
        std::iter::once(Cell::plain(name(row))).chain(figures).collect()
    };
    let names = std::iter::once("tool").chain(columns.iter().map(|column| column.name));
    let groups = std::iter::once("").chain(columns.iter().map(|column| column.family));
    let rows = if columns.is_empty() { Vec::new() } else { rows.iter().map(cells).collect() };
    SectionTable { groups: groups.map(str::to_owned).collect(), ..SectionTable::new(names, rows) }
}

/// Together; `None` where no fault of the column can occur.
fn count_leaves(column: &Column<'_>, row: &SubjectRow<'_>) -> Option<CellCounts> {
    column.leaves.iter().filter_map(|leaf| row.leaves.get(*leaf)).copied().reduce(CellCounts::and)
}

fn counts_cell(counts: Option<CellCounts>) -> Cell {
    let Some(CellCounts { killed, planted, is_proven }) = counts else { return Cell::new("·", Tone::Faint) };
    let tone = match killed {
        _ if is_proven => Tone::Good,
        0 => Tone::Bad,
        _ => Tone::Doubtful,
    };
    Cell::new(if planted == 0 { "none".to_owned() } else { format!("{killed}/{planted}") }, tone)
}

/// The faults at one tool, prompt, resource or session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SubjectRow<'a> {
    /// The target and the subject.
    target: &'a str,
    subject: &'a MutantSubject,
    /// By leaf; one of which no fault can occur there is left out.
    leaves: BTreeMap<&'a str, CellCounts>,
}

/// The places that were changed, and those of them at which a case turned red.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CellCounts {
    killed: usize,
    planted: usize,
    /// Every fault is proven.
    is_proven: bool,
}

impl CellCounts {
    /// Both together.
    fn and(self, other: Self) -> Self {
        Self {
            killed: self.killed + other.killed,
            planted: self.planted + other.planted,
            is_proven: self.is_proven && other.is_proven,
        }
    }
}

/// The tools first, then prompts, resources and sessions, each in the order in which the mutants name them.
fn subject_rows(table: &[FaultAtSubject]) -> Vec<SubjectRow<'_>> {
    let mut rows: IndexMap<(&str, &MutantSubject), BTreeMap<&str, CellCounts>> = IndexMap::new();
    for fault in table.iter().filter(|fault| fault.verdict.counts()) {
        let leaves = rows.entry((&fault.target, &fault.subject)).or_default();
        let FaultAtSubject { killed, planted, verdict, .. } = fault;
        let here = CellCounts { killed: *killed, planted: *planted, is_proven: *verdict == Verdict::Killed };
        leaves.entry(&fault.leaf).and_modify(|known| *known = known.and(here)).or_insert(here);
    }
    let rows = rows.into_iter().map(|((target, subject), leaves)| SubjectRow { target, subject, leaves });
    let mut rows: Vec<SubjectRow<'_>> = rows.collect();
    rows.sort_by_key(|row| row.subject.kind);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_what_was_planted() {
        let at = |tool: &str, leaf: &str, verdict: Verdict, killed: usize, planted: usize| FaultAtSubject {
            target: "s.yml@server/2025-11-25".into(),
            subject: MutantSubject { kind: SubjectKind::Tool, name: tool.into() },
            variant: "V".into(),
            leaf: leaf.into(),
            verdict,
            killed,
            planted,
        };
        let table = [
            at("one", "A", Verdict::Killed, 2, 2),
            at("one", "A", Verdict::Survived, 0, 1),
            at("two", "A", Verdict::NotCalled, 0, 0),
            at("two", "B", Verdict::CannotOccur, 0, 0),
        ];
        let rows = subject_rows(&table);
        let shown: Vec<String> = rows.iter().map(|row| format!("{} {:?}", row.subject.name, row.leaves)).collect();
        assert_eq!(
            shown,
            [
                r#"one {"A": CellCounts { killed: 2, planted: 3, is_proven: false }}"#,
                r#"two {"A": CellCounts { killed: 0, planted: 0, is_proven: false }}"#,
            ]
        );
    }
}
