//! The result of a proof: what would improve the suite most, the figures, which tool is guarded against which fault, the
//! survivors with tests that notice them, and the mutants that are open.
//!
//! `~` survived, `?` undecided, `-` took no part or met nothing. Start reading in [`proof`].

mod best;
mod open;
mod survivors;
mod table;

use std::time::Duration;

use crate::event::{GateVerdict, Proof};
use crate::source::{Style, duration_text, printable, visible_line};

use super::super::coverage::levels;
use super::super::proven::{self, MutantCounts, sentence};
use super::layout::{self, DIM, GREEN, RED, YELLOW};

pub(crate) use self::best::best;

/// The survivors that are shown in full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Survivors {
    /// The worst ones; the others get a line each.
    #[default]
    Worst,
    /// All of them.
    All,
}

/// The parts of a proof that are shown.
#[derive(Debug, Clone, Copy)]
pub struct ProofView<'a> {
    /// The survivors that are shown in full.
    pub survivors: Survivors,
    /// The command of such a proof, such as `mcprove prove users.yml`; flags that show more are added to it. Empty where a
    /// command without a suite asked for it, which is repeated with them.
    pub command: &'a str,
}

impl ProofView<'_> {
    /// The command line with one more flag.
    pub(crate) fn with_flag(&self, flag: &str) -> String {
        format!("{} {flag}", self.command).trim_start().to_owned()
    }
}

/// Shows a proof without the run that it belongs to; ends with a line break.
pub fn proof(proof: &Proof, view: &ProofView<'_>, style: &Style) -> String {
    let mut sections = vec![best(proof, style)];
    sections.push(levels(&[&proof.proven], &proof.gates, style) + &figures(proof, style));
    sections.extend(parts(proof, view, style));
    sections.push(verdict(proof, style));
    sections.retain(|section| !section.is_empty());
    printable(&sections.join("\n"), style.color)
}

/// The lines below the levels of coverage: the mutants by verdict, and those that take no part.
pub(crate) fn figures(proof: &Proof, style: &Style) -> String {
    let mutants = format!("mutants: {}", MutantCounts::of(&proof.mutants).to_text());
    let mutants = layout::indent(&layout::wrap_some(&mutants, style.width - 2, 4), "  ");
    let live = proven::live(&proof.mutants).unwrap_or_default();
    let live = layout::indent(&layout::wrap_some(&live, style.width - 2, 3), "  ");
    let controls = open::control(proof, style) + &open::live(proof.live.as_ref(), style);
    let called =
        proven::of_called(proof).map(|told| layout::indent(&layout::wrap_some(&told, style.width - 2, 3), "  "));
    called.unwrap_or_default()
        + &mutants
        + &live
        + &controls
        + &open::left_out(&proof.left_out, "; the reasons are below", style)
}

/// Everything about single mutants.
pub(crate) fn parts(proof: &Proof, view: &ProofView<'_>, style: &Style) -> Vec<String> {
    let mut parts = vec![table::table(proof, view.survivors, style)];
    parts.extend(survivors::survivors(proof, view, style));
    parts.push(open::mutants(proof, view, style) + &open::variants(&proof.left_out, style));
    parts
}

fn verdict(proof: &Proof, style: &Style) -> String {
    let totals = MutantCounts::of(&proof.mutants);
    let (mark, look) = match totals {
        _ if proof.all_gates().any(|gate| gate.verdict() == GateVerdict::Missed) => ("✗", RED),
        MutantCounts { survived: 0, undecided: 0, not_called: 0, unreached: 0, untried: 0, .. }
            if totals.killed_count() > 0 =>
        {
            ("✓", GREEN)
        }
        MutantCounts { .. } => ("~", YELLOW),
    };
    let lines = layout::wrap(&sentence(proof), style.width - 2);
    let took = duration_text(Duration::from_micros(proof.duration_us));
    let took = layout::flush_right(&format!("  {}", lines.last().map_or("", String::as_str)), &took, style);
    format!("{} {}{}\n", layout::paint(mark, look, style), lines.join("\n  "), layout::paint(&took, DIM, style))
}

/// A marked line of some lines at most.
fn item(mark: &str, text: &str, lines: usize, style: &Style) -> String {
    let text = layout::wrap_some(&visible_line(text), style.width - 2, lines);
    format!("{} {}\n", layout::paint(mark, DIM, style), text.replace('\n', "\n  "))
}

/// The details of an item, below it.
fn below(text: &str, lines: usize, style: &Style) -> String {
    let text = layout::wrap_some(&visible_line(text), style.width - 6, lines).replace('\n', "\n  ");
    layout::indent(&text, "    ")
}
