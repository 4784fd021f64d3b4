//! What would improve a suite most: a sentence and the first additions, and the tools that nobody calls.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::event::{Addition, Proof, StepOfTest, SubjectKind, Verdict};
use crate::source::{Style, visible, visible_line, yaml_writer};

use super::super::super::proven::MutantCounts;
use super::super::layout;
use super::item;

/// The most additions that are shown.
const MOST: usize = 5;

/// The most tools that are named.
const TOOLS: usize = 12;

/// The additions that gain most; nothing where none is known.
pub(crate) fn best(proof: &Proof, style: &Style) -> String {
    additions(&proof.additions, MutantCounts::of(&proof.mutants).survived, style) + &uncalled(proof, style)
}

fn additions(found: &[Addition], survivors: usize, style: &Style) -> String {
    let shown = &found[..found.len().min(MOST)];
    let kills: usize = shown.iter().map(|addition| addition.kills).sum();
    if shown.is_empty() || kills == 0 {
        return String::new();
    }
    let told = match shown.len() {
        1 => format!("this addition kills {kills} of {survivors} survivors:"),
        many => format!("these {many} additions kill {kills} of {survivors} survivors:"),
    };
    let mut text = layout::indent(&layout::wrap_some(&told, style.width - 2, 2), "  ");
    for addition in shown {
        let changes = layout::plural(addition.notices, "change");
        let place = match &addition.at {
            Some(StepOfTest { test, line, .. }) => {
                format!("line {line} of {}, in `expect` of `{test}`, notices {changes}:", addition.file)
            }
            None => format!("a new test of {} notices {changes}:", addition.file),
        };
        text += &item("+", &place, 3, style);
        let lines = visible(lines(addition).trim_end()).trim_end().to_owned();
        let _ = write!(text, "{}", layout::indent(&lines, "    "));
    }
    text
}

/// The lines to add: those of the expectations, or of the whole test.
fn lines(addition: &Addition) -> String {
    let expected = || {
        let tests = yaml_writer::read_value(&addition.yaml)?;
        let test = tests.get(0)?;
        let last = test.get("steps").and_then(|steps| steps.as_array()?.last()).unwrap_or(test);
        Some(yaml_writer::block(last.get("expect")?, 0))
    };
    addition.at.as_ref().and_then(|_| expected()).unwrap_or_else(|| addition.yaml.clone())
}

/// The tools that no case that passes calls.
fn uncalled(proof: &Proof, style: &Style) -> String {
    let unused = proof.table.iter().filter(|one| one.subject.kind == SubjectKind::Tool);
    let unused = unused.filter(|one| one.verdict == Verdict::NotCalled).map(|one| one.subject.name.as_str());
    let names: Vec<&str> = unused.collect::<BTreeSet<_>>().into_iter().collect();
    if names.is_empty() {
        return String::new();
    }
    let shown = names.iter().take(TOOLS).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(TOOLS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let told = format!("no case that passes calls {}: {shown}{more}", layout::plural(names.len(), "tool"));
    item("-", &visible_line(&told), 4, style)
}
