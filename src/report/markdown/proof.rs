//! The mutants of a proof: the survivors with what would notice them, then what is open, each folded away.

use std::fmt::Write as _;

use crate::event::{LeftOut, MutantResult, Proof, Verdict};
use crate::source::without_commands;

use super::super::additions;
use super::super::fault_table::{family_table, title};
use super::super::proven::{self, MutantCounts};
use super::super::terminal;
use super::{LISTED, code, fence, some_rows};

/// The most bytes of all survivors.
const SURVIVORS: usize = 150 * 1024;

pub(crate) fn mutants(proof: &Proof) -> String {
    let of = |verdict| proof.mutants.iter().filter(move |mutant| mutant.verdict == verdict);
    let mut text = format!("### Mutants\n\n{}\n", MutantCounts::of(&proof.mutants).to_text());
    if let Some(live) = proven::live(&proof.mutants) {
        let _ = write!(text, "\n{live}\n");
    }
    text += &additions(proof);
    let faults = family_table(proof);
    if !faults.rows.is_empty() {
        let _ = write!(text, "\n{}\n\n{}", title(proof), some_rows(faults));
    }
    text += &survivors(&proven::survivors(proof));
    let kinds = [
        (Verdict::Undecided, "undecided"),
        (Verdict::Unreached, "never reached"),
        (Verdict::Untried, "not tried: the time was over; give a longer `--budget`, or leave it out"),
    ];
    for (verdict, word) in kinds {
        let found: Vec<(&str, &str)> = of(verdict)
            .map(|mutant| (mutant.id.as_str(), mutant.reason.as_deref().unwrap_or(&mutant.meaning)))
            .collect();
        text += &details(&format!("{} {word}", found.len()), &found);
    }
    let left_out = |found: &[LeftOut], noun: &str| {
        let listed: Vec<(&str, &str)> = found.iter().map(|one| (one.id.as_str(), one.reason.as_str())).collect();
        details(&format!("{} left out", terminal::plural(found.len(), noun)), &listed)
    };
    let live = proof.live.iter().flat_map(|control| control.left_out.clone()).collect::<Vec<_>>();
    text + &left_out(&proof.left_out, "variant") + &left_out(&proof.control.left_out, "case") + &left_out(&live, "case")
}

/// What would improve the suite most, folded away below its sentence.
fn additions(proof: &Proof) -> String {
    let Some((told, shown)) = additions::best(proof) else { return String::new() };
    let mut text = format!("\n<details><summary>{told}</summary>\n");
    for addition in shown {
        let place = code(&terminal::crop(additions::place(addition).trim_end_matches(':'), 200));
        let _ = write!(text, "\n{place}:\n\n{}", fence(&without_commands(&additions::lines(addition)), "yaml"));
    }
    text + "\n</details>\n"
}

fn survivors(found: &[&MutantResult]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let mut text = format!("\n<details><summary>{} survived</summary>\n", found.len());
    let mut shown = 0;
    for mutant in found.iter().take(LISTED) {
        if text.len() >= SURVIVORS {
            break;
        }
        text += &survivor(mutant);
        shown += 1;
    }
    if found.len() > shown {
        let more = terminal::plural(found.len() - shown, "survivor");
        let _ = writeln!(text, "\n{more} more; `--report json=report.json` has all of them");
    }
    text + "\n</details>\n"
}

fn survivor(mutant: &MutantResult) -> String {
    let tools: Vec<String> =
        proven::survived_at(mutant).take(LISTED).map(|tool| code(&terminal::crop(&tool, 80))).collect();
    let at = if tools.is_empty() { String::new() } else { format!(" at {}", tools.join(", ")) };
    let (id, variant) = (code(&mutant.id), code(&mutant.variant));
    let mut text = format!("\n**survived** {id}, {variant}{at}: {}\n", code(&terminal::crop(&mutant.meaning, 200)));
    for missing in mutant.missing.iter().take(2) {
        let place = if missing.is_test() { "to `tests:` of" } else { "to" };
        let could = code(&terminal::crop(&missing.could, 200));
        let _ = write!(
            text,
            "\nUnnoticed: {could}; add {place} {}:\n\n{}",
            code(&missing.file),
            fence(&without_commands(&missing.yaml), "yaml")
        );
    }
    text
}

/// Names with what is said of each, folded away; nothing where there are none.
fn details(summary: &str, listed: &[(&str, &str)]) -> String {
    if listed.is_empty() {
        return String::new();
    }
    let mut text = format!("\n<details><summary>{summary}</summary>\n\n");
    for (name, said) in listed.iter().take(LISTED) {
        let _ = writeln!(text, "- {}: {}", code(&terminal::crop(name, 160)), code(&terminal::crop(said, 200)));
    }
    text + &super::and_more(listed.len()) + "\n</details>\n"
}
