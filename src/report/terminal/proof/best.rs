//! What would improve a suite most: a sentence and the first additions, and the tools that nobody calls.

use std::collections::BTreeSet;

use crate::event::{Proof, SubjectKind, Verdict};
use crate::source::{Style, visible, visible_line};

use super::super::super::additions;
use super::super::layout;
use super::item;

/// The most tools that are named.
const TOOLS: usize = 12;

/// The additions that gain most; nothing where none is known.
pub(crate) fn best(proof: &Proof, style: &Style) -> String {
    additions(proof, style).unwrap_or_default() + &uncalled(proof, style)
}

fn additions(proof: &Proof, style: &Style) -> Option<String> {
    let (told, shown) = additions::best(proof)?;
    let mut text = layout::indent(&layout::wrap_some(&told, style.width - 2, 2), "  ");
    for addition in shown {
        text += &item("+", &additions::place(addition), 3, style);
        text += &layout::indent(visible(additions::lines(addition).trim_end()).trim_end(), "    ");
    }
    Some(text)
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
