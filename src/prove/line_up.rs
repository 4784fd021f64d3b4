//! Which mutants are tried, and which variants are not, with the reason.

use super::Proving;
use super::live::Launches;
use super::plant::Bed;
use super::trial::{Suspect, can_occur};
use crate::event::LeftOut;
use crate::plan::{Plan, declared};
use crate::taxonomy::{Mutant, Tier, Variant};

/// The mutants that are tried, and what is left out.
#[derive(Debug, Default)]
pub(super) struct LineUp<'a> {
    pub(super) suspects: Vec<Suspect<'a>>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'a> LineUp<'a> {
    pub(super) fn of(proving: &Proving<'a>, plan: &Plan, (beds, launches): (&[Bed<'_>], &Launches)) -> Self {
        let has_agents = declared(plan).0.contains("agent");
        let mut line_up = Self::default();
        for family in &proving.registry.families {
            for (leaf, variant) in
                family.leaves.iter().flat_map(|leaf| leaf.variants.iter().map(move |one| (leaf, one)))
            {
                if !beds.iter().any(|bed| can_occur(variant, bed)) {
                    continue;
                }
                let is_picked = |mutant: &Mutant| proving.picks.as_ref().is_none_or(|picks| picks.contains(&mutant.id));
                let is_asked_for = proving.picks.is_none() || variant.mutants().iter().any(is_picked);
                let suspects: Vec<Suspect<'a>> = variant
                    .mutants()
                    .iter()
                    .filter(|mutant| is_picked(mutant) && is_met(mutant, variant, beds, launches))
                    .map(|mutant| Suspect { leaf, variant, mutant })
                    .collect();
                let reason = if !is_asked_for {
                    Some("`--mutant` picks others".to_owned())
                } else if family.needs.is_some() && !has_agents {
                    Some("it matters where a model works with the tools, and the suite has no `agents:`".to_owned())
                } else if suspects.is_empty() {
                    Some(unplantable(variant, proving))
                } else {
                    None
                };
                match reason {
                    Some(reason) => {
                        line_up.left_out.push(LeftOut { id: variant.id.clone(), reason });
                    }
                    None => line_up.suspects.extend(suspects),
                }
            }
        }
        line_up
    }
}

/// Whether a server offers what a mutant needs, or starts in a way that it can change.
fn is_met(mutant: &Mutant, variant: &Variant, beds: &[Bed<'_>], launches: &Launches) -> bool {
    let mut beds = beds.iter().filter(|bed| can_occur(variant, bed));
    beds.any(|bed| match &mutant.start {
        Some(start) => !launches.alterations(start, bed.name).is_empty(),
        None => mutant.needs.iter().all(|offer| offer.is_met(&bed.known())),
    })
}

fn unplantable(variant: &Variant, proving: &Proving<'_>) -> String {
    let starts = variant.mutants().iter().any(|mutant| mutant.start.is_some());
    let reason = match (variant.tier, &variant.unplanted) {
        (_, Some(reason)) => return reason.clone(),
        _ if starts && proving.live => "no command of the suite has an option, variable, folder or number of that kind",
        _ if starts => "it changes how the server starts, which a recording has not; `--live` plants it",
        _ if !variant.mutants().is_empty() => "the server offers nothing that it could show in",
        (Tier::Launch, None) => "it takes control over how the server starts, which a recording has not",
        (Tier::Companion, None) => "it takes a companion of the server, such as a file outside or a second server",
        (Tier::Impossible, None) => "it cannot be imitated from outside",
        (Tier::Frames | Tier::Memory, None) => "the registry has no mutant for it",
    };
    reason.to_owned()
}
