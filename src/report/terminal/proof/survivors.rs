//! The mutants that nobody noticed, each with what would have noticed it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::event::{Missing, MutantResult, Proof};
use crate::source::{Style, visible, visible_line};

use super::super::super::proven::{self, survived_at};
use super::super::layout::{self, BOLD, DIM, YELLOW};
use super::open::block;
use super::{ProofView, Survivors, item};

/// The most survivors that are shown in full; those after them get one line.
const IN_FULL: usize = 10;
/// The most fields that get a line with the survivors that are not shown in full, and the most of these.
const FIELDS: usize = 40;
const NAMES: usize = 6;
/// The most missing tests that are shown for one survivor.
const TESTS: usize = 2;
/// The most tools that are named for one survivor.
const TOOLS: usize = 6;
/// The most changes on the wire that are shown for one survivor.
const CHANGES: usize = 3;

/// The survivors, a section each for those in full; then what to type next.
pub(crate) fn survivors(proof: &Proof, view: &ProofView<'_>, style: &Style) -> Vec<String> {
    let found = proven::survivors(proof);
    let in_full = match view.survivors {
        Survivors::Worst => IN_FULL,
        Survivors::All => found.len(),
    };
    let mut seen = ShownKills::default();
    let mut parts: Vec<String> =
        found.iter().take(in_full).map(|mutant| survivor(proof, mutant, view, &mut seen, style)).collect();
    let rest = found.get(in_full..).unwrap_or_default();
    parts.push(fields(rest, style) + &more(&found, in_full, view, style));
    parts
}

/// The tests that were shown, and for which mutant.
type ShownKills<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

fn survivor<'a>(
    proof: &Proof,
    mutant: &'a MutantResult,
    view: &ProofView<'_>,
    seen: &mut ShownKills<'a>,
    style: &Style,
) -> String {
    let mut text = title(proof, mutant, style);
    text += &render_sentence(&format!("{}{}", mutant.meaning, at(mutant)), style);
    for change in mutant.change.iter().take(CHANGES) {
        let change = layout::wrap(change, style.width - 9).join("\n         ");
        let _ = writeln!(text, "  {}   {change}", layout::paint("wire", DIM, style));
    }
    let shown = match view.survivors {
        Survivors::Worst => TESTS,
        Survivors::All => mutant.missing.len(),
    };
    // Other entries of a list have the same test.
    let mut told = BTreeSet::new();
    let tests: Vec<&Missing> =
        mutant.missing.iter().filter(|missing| told.insert((&missing.could, &missing.yaml))).collect();
    for missing in tests.iter().take(shown) {
        text += &test(missing, mutant, seen, style);
    }
    if let Some(more) = tests.len().checked_sub(shown).filter(|more| *more > 0) {
        let told = format!(
            "and {}; `{}` shows them",
            layout::plural(more, "more test") + " to add",
            view.with_flag("--survivors all")
        );
        text += &render_sentence(&told, style);
    }
    if mutant.missing.is_empty() {
        text += &render_sentence(&advice(proof, mutant), style);
    }
    text
}

fn title(proof: &Proof, mutant: &MutantResult, style: &Style) -> String {
    let name = layout::crop(&mutant.id, style.width - 2);
    let severity = proven::variant(proof, mutant).map(|found| format!(", {}", found.severity.as_str()));
    let outside = if proven::is_left_out(proof, mutant) { ", not in the figure" } else { "" };
    let fault = format!("{}{}{outside}", visible_line(&mutant.variant), severity.unwrap_or_default());
    let fault = layout::flush_right(&format!("~ {name}"), &fault, style);
    let (mark, name) = (layout::paint("~", YELLOW, style), layout::paint(&name, BOLD, style));
    format!("{mark} {name}{}\n", layout::paint(&fault, DIM, style))
}

/// The tools and fields at which nobody noticed it.
fn at(mutant: &MutantResult) -> String {
    let at: Vec<String> = survived_at(mutant).collect();
    let named: Vec<String> = at.iter().take(TOOLS).map(|tool| layout::crop(tool, 100)).collect();
    match (named.as_slice(), at.len().saturating_sub(TOOLS)) {
        ([], _) => String::new(),
        (_, 0) => format!("; survived at {}", named.join("; ")),
        (_, more) => format!("; survived at {}; and at {more} more", named.join("; ")),
    }
}

/// The mistake of the server, and the lines that notice it, indented as they are pasted.
fn test<'a>(missing: &'a Missing, mutant: &'a MutantResult, seen: &mut ShownKills<'a>, style: &Style) -> String {
    let text = render_sentence(&format!("unnoticed: {}", missing.could), style);
    let file = visible_line(&missing.file);
    if let Some(first) = seen.get(&(missing.file.as_str(), missing.yaml.as_str())) {
        return text + &render_sentence(&format!("killed by the lines for `{first}` above"), style);
    }
    seen.insert((&missing.file, &missing.yaml), &mutant.id);
    let (place, indent) = if missing.is_test() { ("to `tests:` of", "  ") } else { ("to", "") };
    let lines = layout::indent(visible(missing.yaml.trim_end()).trim_end(), indent);
    text + &render_sentence(&format!("add {place} {file}:"), style) + &lines
}

fn advice(proof: &Proof, mutant: &MutantResult) -> String {
    if mutant.only_on_stderr {
        return "no test can notice it, since tests of a proof do not see standard error".to_owned();
    }
    let reason = mutant.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let block = block(proof, &mutant.leaf).map(|block| format!("; try `{block}`, which is about {}", mutant.leaf));
    format!("no test is known that would notice it{reason}{}", block.unwrap_or_default())
}

/// The survivors that are not shown in full, a line for each tool and field.
fn fields(rest: &[&MutantResult], style: &Style) -> String {
    let fields = proven::by_field(rest);
    let line = |(at, names): (&String, &Vec<&str>)| {
        let shown = names.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let told = visible_line(&format!("{at}: {shown}{more}")).into_owned();
        format!("{} {}\n", layout::paint("~", YELLOW, style), layout::crop(&told, style.width - 2))
    };
    let text: String = fields.iter().take(FIELDS).map(line).collect();
    match fields.len().saturating_sub(FIELDS) {
        0 => text,
        more => text + &item("~", &format!("and {}", layout::plural(more, "more field")), 1, style),
    }
}

/// The number of survivors that are left out, and how to see all of them.
fn more(found: &[&MutantResult], in_full: usize, view: &ProofView<'_>, style: &Style) -> String {
    let mut text = String::new();
    if found.len() > in_full {
        let told = format!("`{}` shows a test for each survivor", view.with_flag("--survivors all"));
        text += &item("-", &told, 3, style);
    }
    if found.iter().any(|mutant| !mutant.missing.is_empty()) {
        let command = view.with_flag("--write-missing missing.yml");
        let told = format!("`{command}` writes all these tests as a suite");
        text += &item("-", &told, 3, style);
    }
    text
}

fn render_sentence(text: &str, style: &Style) -> String {
    layout::indent(&layout::wrap_some(&visible_line(text), style.width - 2, 4), "  ")
}
