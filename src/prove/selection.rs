//! Which mutants are tried, and which variants are not, with the reason.

use super::ProveSettings;
use super::live::LaunchCommands;
use super::mutation_runner::{MutantJob, OperatorTrial, can_occur};
use super::placement::RecordedTarget;
use crate::event::{FaultAtSubject, LeftOut, Verdict};
use crate::plan::{Plan, collect_declaration};
use crate::taxonomy::{Mutant, Tier, Variant};

/// The mutants that are tried, and what is left out.
#[derive(Debug, Default)]
pub(crate) struct MutantSelection<'a> {
    pub(crate) jobs: Vec<MutantJob<'a>>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl<'a> MutantSelection<'a> {
    pub(crate) fn of(
        settings: &ProveSettings<'a>,
        plan: &Plan,
        targets: &[RecordedTarget<'_>],
        launch_commands: &LaunchCommands,
    ) -> Self {
        let has_agents = collect_declaration(plan.cases()).probes.contains("agent");
        let mut selection = Self::default();
        for family in &settings.registry.families {
            for (leaf, variant) in
                family.leaves.iter().flat_map(|leaf| leaf.variants.iter().map(move |one| (leaf, one)))
            {
                if !targets.iter().any(|target| can_occur(variant, target)) {
                    continue;
                }
                let is_picked =
                    |mutant: &Mutant| settings.picks.as_ref().is_none_or(|picks| picks.contains(&mutant.id));
                let is_asked_for = settings.picks.is_none() || variant.mutants().iter().any(is_picked);
                let jobs: Vec<MutantJob<'a>> = variant
                    .mutants()
                    .iter()
                    .filter(|mutant| is_picked(mutant) && is_met(mutant, variant, targets, launch_commands))
                    .map(|mutant| MutantJob { leaf, variant, mutant })
                    .collect();
                let reason = if !is_asked_for {
                    Some("`--mutant` picks others".to_owned())
                } else if family.needs.is_some() && !has_agents {
                    Some("it matters where a model works with the tools, and the suite has no `agents:`".to_owned())
                } else if jobs.is_empty() {
                    Some(unplantable(variant, settings))
                } else {
                    selection.jobs.extend(jobs);
                    // In a recording its mutants show a part of it: their survivors are worth a test, their death proves
                    // nothing.
                    let takes = variant.live.as_ref().filter(|_| !settings.live);
                    let takes = takes.map(|takes| format!("{takes}; `--live` tries it on the real server"));
                    variant.unplanted.clone().or(takes)
                };
                let left_out =
                    reason.map(|reason| LeftOut { on_purpose: !is_asked_for, ..LeftOut::new(&variant.id, reason) });
                selection.left_out.extend(left_out);
            }
        }
        selection
    }
}

impl MutantSelection<'_> {
    /// Leaves out variants of which every changed start left the server unable to serve: that says nothing of the suite.
    pub(crate) fn leave_out_unserved_starts(&mut self, table: &[FaultAtSubject], trials: &[OperatorTrial]) {
        for (job, trial) in self.jobs.iter().zip(trials).filter(|(job, _)| job.mutant.start.is_some()) {
            let mut rows = table.iter().filter(|fault| fault.variant == job.variant.id).peekable();
            let is_unserved = rows.peek().is_some() && rows.all(|fault| fault.verdict == Verdict::Undecided);
            if is_unserved && self.left_out.iter().all(|one| one.id != job.variant.id) {
                let why = trial.result.reason.as_deref().unwrap_or("the server does not start for any case");
                let reason = format!("no changed start came to a verdict: {why}");
                self.left_out.push(LeftOut::new(&job.variant.id, reason));
            }
        }
    }
}

/// The order in which so many mutants are tried, which are in the order of families.
///
/// If the time may end before the last one, every seventh is tried, and then those behind them: any beginning has some of
/// each family, and stands for all.
pub(crate) fn order_of_trials(count: usize, is_limited: bool) -> Vec<usize> {
    const STRIDE: usize = 7;
    let mut order: Vec<usize> = (0..count).collect();
    if is_limited {
        order.sort_by_key(|at| at % STRIDE);
    }
    order
}

/// A server offers the subject of a mutant, or starts in a way that it can change.
fn is_met(
    mutant: &Mutant,
    variant: &Variant,
    targets: &[RecordedTarget<'_>],
    launch_commands: &LaunchCommands,
) -> bool {
    let mut targets = targets.iter().filter(|target| can_occur(variant, target));
    targets.any(|target| match &mutant.start {
        Some(start) => !launch_commands.alterations(start, target.name).is_empty(),
        None => mutant.needs.iter().all(|offer| offer.is_met(&target.history())),
    })
}

fn unplantable(variant: &Variant, settings: &ProveSettings<'_>) -> String {
    let starts = variant.mutants().iter().any(|mutant| mutant.start.is_some());
    let reason = match (variant.tier, &variant.unplanted) {
        (_, Some(reason)) => return reason.clone(),
        _ if starts && settings.live => {
            "no command of the suite has an option, variable, folder or number of that kind"
        }
        _ if starts => "it changes how the server starts, which a recording has not; `--live` plants it",
        _ if !variant.mutants().is_empty() => "the server offers nothing that it could show in",
        (Tier::Launch, None) => "it takes control over how the server starts, which a recording has not",
        (Tier::Companion, None) => "it takes a companion of the server, such as a file outside or a second server",
        (Tier::Impossible, None) => "it cannot be imitated from outside",
        (Tier::Frames | Tier::Memory, None) => "the registry has no mutant for it",
    };
    reason.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_time_is_limited_the_first_mutants_come_from_everywhere() {
        for (count, is_limited, expected) in [
            (16, true, vec![0, 7, 14, 1, 8, 15, 2, 9, 3, 10, 4, 11, 5, 12, 6, 13]),
            (3, false, vec![0, 1, 2]),
            (2, true, vec![0, 1]),
            (0, true, Vec::new()),
        ] {
            assert_eq!(order_of_trials(count, is_limited), expected, "{count} {is_limited}");
        }
    }
}
