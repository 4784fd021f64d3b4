//! The open ends of a proof: undecided and unreached mutants with their cure, and mutants that take no part.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::event::{Control, LeftOut, MutantResult, Proof, SubjectKind, Verdict};
use crate::source::Style;
use crate::taxonomy::probe;

use super::super::super::proven::subject_text;
use super::super::layout;
use super::{ProofView, below, item};

/// The most reasons of a kind.
const REASONS: usize = 8;
/// The most names for one reason.
const NAMES: usize = 12;

/// Who can kill, and which cases take no part.
pub(crate) fn control(proof: &Proof, style: &Style) -> String {
    let Control { cases: recorded, green, left_out } = &proof.control;
    let recorded = layout::plural(*recorded, "recorded case");
    let passed = "passed, in the run and again from its recording";
    let told = match green {
        0 if proof.has_green_case() => format!("none of {recorded} {passed}"),
        0 => format!("none of {recorded} {passed}, so nothing can notice a mutant; first make the suite pass"),
        green if proof.live.is_some() => {
            format!("{green} of {recorded} {passed}; no other can notice a mutant there")
        }
        green => format!("{green} of {recorded} {passed}; no other can notice a mutant"),
    };
    let told = layout::indent(&layout::wrap_some(&told, style.width - 2, 3), "  ");
    let there = if proof.live.is_some() { " in the replay" } else { "" };
    told + &cases(left_out, |count| layout::plural(count, "case") + take_or_takes(count) + there, style)
}

/// Who passes in front of the real servers, and which cases do not.
pub(crate) fn live(control: Option<&Control>, style: &Style) -> String {
    let Some(Control { cases: all, green, left_out }) = control else { return String::new() };
    let told = format!("{green} of {} passed again in front of the real servers", layout::plural(*all, "case"));
    let told = layout::indent(&layout::wrap_some(&told, style.width - 2, 3), "  ");
    told + &cases(left_out, |count| layout::plural(count, "case") + take_or_takes(count), style)
}

/// The number of variants that cannot be planted; nothing if all can.
pub(crate) fn left_out(left_out: &[LeftOut], more: &str, style: &Style) -> String {
    let stay = match left_out.len() {
        0 => return String::new(),
        1 => "stays",
        _ => "stay",
    };
    item("-", &format!("{} {stay} out of the figure{more}", layout::plural(left_out.len(), "variant")), 3, style)
}

/// The variants that cannot be planted, with the reasons.
pub(crate) fn variants(variants: &[LeftOut], style: &Style) -> String {
    left_out(variants, "", style) + &by_reason(variants.iter(), style)
}

/// The mutants that are neither killed nor survivors.
pub(crate) fn mutants(proof: &Proof, view: &ProofView<'_>, style: &Style) -> String {
    let of = |verdict, live: Option<bool>| {
        let is_one =
            move |mutant: &&MutantResult| mutant.verdict == verdict && live.is_none_or(|live| live == mutant.live);
        proof.mutants.iter().filter(is_one)
    };
    let live = format!("`{}`", view.with_flag("--live"));
    let plain = |mutant: &MutantResult| mutant.reason.clone().unwrap_or_default();
    let kinds = [
        ("?", Verdict::Undecided, Some(false), format!("undecided in the recording; {live} asks the real server")),
        ("?", Verdict::Undecided, Some(true), "undecided in front of the real server, too".to_owned()),
        ("-", Verdict::Unreached, None, "never reached: no message of the suite can carry the fault".to_owned()),
        ("-", Verdict::Redundant, None, "redundant: the healthy server does the same".to_owned()),
        (
            "-",
            Verdict::LiveOnly,
            None,
            format!("for real servers only; {live} injects those that can be injected there"),
        ),
        (
            "-",
            Verdict::Untried,
            None,
            "not tried: the time was over; give a longer `--budget`, or leave it out".to_owned(),
        ),
    ];
    let mut text = unused_cases(proof, style) + &undecided_in_part(proof, style);
    for (mark, verdict, live, told) in kinds {
        let found: Vec<&MutantResult> = of(verdict, live).collect();
        if found.is_empty() {
            continue;
        }
        text += &item(mark, &format!("{} {told}", found.len()), 3, style);
        let reason = |mutant: &&MutantResult| match verdict {
            Verdict::Unreached => suggested_test(proof, mutant),
            Verdict::Killed
            | Verdict::Survived
            | Verdict::Undecided
            | Verdict::NotCalled
            | Verdict::Redundant
            | Verdict::CannotOccur
            | Verdict::LiveOnly => plain(mutant),
            Verdict::Untried => String::new(),
        };
        text += &by_reason(
            found.iter().map(|mutant| LeftOut::new(&mutant.id, reason(mutant))).collect::<Vec<_>>().iter(),
            style,
        );
    }
    text
}

/// The undecided mutants of operators that have a worse verdict elsewhere, and so are no undecided ones as a whole.
fn undecided_in_part(proof: &Proof, style: &Style) -> String {
    let operators = proof.mutants.iter().filter(|operator| operator.verdict != Verdict::Undecided);
    let named = operators.flat_map(|operator| {
        let undecided = operator.mutants.iter().filter(|mutant| mutant.verdict == Verdict::Undecided);
        undecided.map(|mutant| {
            let at = format!("{} at {}", operator.id, subject_text(&mutant.subject));
            LeftOut::new(at, mutant.reason.clone().unwrap_or_default())
        })
    });
    let named: Vec<LeftOut> = named.collect();
    if named.is_empty() {
        return String::new();
    }
    let told = format!("{} undecided at some tools, prompts or resources only", named.len());
    item("?", &told, 3, style) + &by_reason(named.iter(), style)
}

/// The prompts and resources that no case uses; tools stand at the beginning.
fn unused_cases(proof: &Proof, style: &Style) -> String {
    let kinds = [(SubjectKind::Prompt, "prompt", "gets"), (SubjectKind::Resource, "resource", "reads")];
    let line = |(kind, noun, verb): (SubjectKind, &str, &str)| {
        let unused = proof.table.iter().filter(|one| one.subject.kind == kind && one.verdict == Verdict::NotCalled);
        let names: BTreeSet<&str> = unused.map(|one| one.subject.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let told = format!("no case that passes {verb} {}: {}", layout::plural(names.len(), noun), list_names(&names));
        if names.is_empty() { String::new() } else { item("-", &told, 4, style) }
    };
    kinds.into_iter().map(line).collect()
}

/// The test to write so that the suite says something that a mutant could change.
fn suggested_test(proof: &Proof, mutant: &MutantResult) -> String {
    let said = mutant.reason.clone().unwrap_or_default();
    let Some(block) = block(proof, &mutant.leaf) else { return said };
    let joint = if said.is_empty() { "" } else { "; " };
    format!("{said}{joint}add `{block}`")
}

/// The key that plans the first probe of a leaf that the suite does not have yet.
pub(crate) fn block(proof: &Proof, leaf: &str) -> Option<&'static str> {
    let mut leaves = proof.proven.families.iter().flat_map(|family| &family.by_leaf);
    let leaf = leaves.find(|one| one.id == leaf)?;
    let missing = leaf.probes.iter().filter(|id| !leaf.planned.contains(id));
    let planned: Vec<&str> = leaf.planned.iter().filter_map(|id| probe(id)).map(|probe| probe.block).collect();
    let blocks = missing.filter_map(|id| probe(id)).map(|probe| probe.block);
    blocks.into_iter().find(|block| !planned.contains(block))
}

/// The names by reason, below an item; those that a flag leaves out are only counted.
fn by_reason<'a>(found: impl Iterator<Item = &'a LeftOut>, style: &Style) -> String {
    let groups = group_by_reason(found);
    let line = |(reason, names): (&&str, &Vec<&LeftOut>)| {
        let joint = if reason.is_empty() { "" } else { ": " };
        below(&format!("{reason}{joint}{}", listed_unless_chosen(names).unwrap_or(names.len().to_string())), 4, style)
    };
    let text: String = groups.iter().take(REASONS).map(line).collect();
    match groups.len().saturating_sub(REASONS) {
        0 => text,
        more => text + &below(&format!("and more for {}", layout::plural(more, "further reason")), 1, style),
    }
}

/// The cases that are left out, an item for each reason.
fn cases(left_out: &[LeftOut], counted: impl Fn(usize) -> String, style: &Style) -> String {
    let groups = group_by_reason(left_out.iter());
    let line = |(reason, cases): (&&str, &Vec<&LeftOut>)| {
        let named = listed_unless_chosen(cases).map(|names| format!(": {names}")).unwrap_or_default();
        item("-", &format!("{}: {reason}{named}", counted(cases.len())), 4, style)
    };
    let text: String = groups.iter().take(REASONS).map(line).collect();
    match groups.len().saturating_sub(REASONS) {
        0 => text,
        more => text + &item("-", &format!("and {} more", layout::plural(more, "reason")), 1, style),
    }
}

/// The left-out cases or variants by reason, the most frequent first.
fn group_by_reason<'a>(left_out: impl Iterator<Item = &'a LeftOut>) -> IndexMap<&'a str, Vec<&'a LeftOut>> {
    let mut groups: IndexMap<&str, Vec<&LeftOut>> = IndexMap::new();
    left_out.for_each(|one| groups.entry(&one.reason).or_default().push(one));
    groups.sort_by(|_, a, _, b| b.len().cmp(&a.len()));
    groups
}

/// The names; `None` where the user left them out and knows them.
fn listed_unless_chosen(left_out: &[&LeftOut]) -> Option<String> {
    let names: Vec<&str> = left_out.iter().map(|one| one.id.as_str()).collect();
    (!left_out.iter().any(|one| one.on_purpose)).then(|| list_names(&names))
}

fn list_names(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn take_or_takes(count: usize) -> &'static str {
    if count == 1 { " takes no part" } else { " take no part" }
}
