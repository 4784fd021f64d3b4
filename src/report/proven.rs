//! The sums of a proof: how many mutants ended in which way, in all and at each tool.
//!
//! Plain data that every format shows in its own way.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{
    Addition, By, Control, FaultAtSubject, Figure, Gate, GateVerdict, LeftOut, MutantResult, MutantSubject,
    PlantedMutant, Proof, ProvenSuite, SubjectKind, Verdict, severity_weight,
};
use crate::taxonomy::score::{FamilyScore, Score, VariantScore};

use super::coverage;

/// A proof with what it adds up to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProofReport")]
pub(crate) struct ProofDocument<'a> {
    /// The baseline run: the replay without any mutant.
    control: &'a Control,
    /// The baseline run against the real servers; absent if none was requested or needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<&'a Control>,
    /// The number of mutants by verdict.
    totals: MutantCounts,
    /// The fault operators in the order of the registry, with their mutants.
    mutants: &'a [MutantResult],
    /// What the suites lack, the addition that gains most first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    additions: &'a [Addition],
    /// The faults at each tool, prompt, resource and session.
    table: &'a [FaultAtSubject],
    /// Variants that can occur here and stay out of the percentage, with the reason.
    left_out: &'a [LeftOut],
    /// Proven coverage: by variants that can occur here and can be planted.
    proven: &'a Score,
    /// The same for each suite on each server, if there are several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    suites: &'a [ProvenSuite],
    /// The thresholds that were asked for.
    gates: &'a [Gate],
    /// The time that proving took, in microseconds.
    duration_us: u64,
}

impl<'a> ProofDocument<'a> {
    /// Everything about a proof.
    pub(crate) fn of(proof: &'a Proof) -> Self {
        let Proof { control, live, mutants, additions, table, left_out, proven, suites, gates, duration_us } = proof;
        let (totals, live) = (MutantCounts::of(mutants), live.as_ref());
        Self {
            control,
            live,
            totals,
            mutants,
            additions,
            table,
            left_out,
            proven,
            suites,
            gates,
            duration_us: *duration_us,
        }
    }
}

/// The number of mutants by verdict: one for each operator at each tool, prompt, resource and session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct MutantCounts {
    /// Killed by something that the suite asked for.
    pub(crate) killed_by_expectations: usize,
    /// Killed by nothing but the scans that every run makes.
    pub(crate) killed_by_scans: usize,
    /// Noticed by nothing.
    pub(crate) survived: usize,
    /// Left to the real server.
    pub(crate) undecided: usize,
    /// At tools, prompts and resources that no case uses.
    pub(crate) not_called: usize,
    /// Without anything that they could change.
    pub(crate) unreached: usize,
    /// Faults that the healthy server has already.
    pub(crate) redundant: usize,
    /// At tools whose declaration leaves no room for them.
    pub(crate) impossible: usize,
    /// Planted with the real server only.
    pub(crate) live_only: usize,
    /// Operators for which there was no time, each counted once.
    pub(crate) untried: usize,
}

impl MutantCounts {
    /// Counts them.
    pub(crate) fn of(mutants: &[MutantResult]) -> Self {
        let mut totals = Self::default();
        for result in mutants {
            if result.mutants.is_empty() {
                *totals.of_verdict(result.verdict, By::Scan) += 1;
            }
            for mutant in &result.mutants {
                let mut kills = mutant.places.iter().filter_map(|place| place.kill.as_ref());
                let is_expected = kills.any(|kill| kill.by == By::Expectation);
                *totals.of_verdict(mutant.verdict, if is_expected { By::Expectation } else { By::Scan }) += 1;
            }
        }
        totals
    }

    /// All that were killed.
    pub(crate) fn killed_count(&self) -> usize {
        self.killed_by_expectations + self.killed_by_scans
    }

    /// In words, with what killed them.
    pub(crate) fn to_text(self) -> String {
        let by = match self {
            Self { killed_by_scans: 0, .. } => String::new(),
            Self { killed_by_expectations: suite, killed_by_scans: scans, .. } => {
                format!(" ({suite} by the suite's expectations, {scans} by the scans that every run makes)")
            }
        };
        let aside = [
            (self.redundant, ", # redundant"),
            (self.impossible, ", # where the fault cannot occur"),
            (self.live_only, ", # for the real server only"),
        ];
        format!("{} killed{by}, {}{}", self.killed_count(), self.alive(), join_counts(&aside))
    }

    /// In words, those only that say something about the suite.
    pub(crate) fn brief(&self) -> String {
        format!("{} killed, {}", self.killed_count(), self.alive())
    }

    fn alive(&self) -> String {
        let open = [
            (self.undecided, ", # undecided"),
            (self.not_called, ", # not called"),
            (self.unreached, ", # never reached"),
            (self.untried, if self.untried == 1 { ", # kind not tried" } else { ", # kinds not tried" }),
        ];
        format!("{} survived{}", self.survived, join_counts(&open))
    }

    fn of_verdict(&mut self, verdict: Verdict, by: By) -> &mut usize {
        match verdict {
            Verdict::Killed if by == By::Expectation => &mut self.killed_by_expectations,
            Verdict::Killed => &mut self.killed_by_scans,
            Verdict::Survived => &mut self.survived,
            Verdict::Undecided => &mut self.undecided,
            Verdict::NotCalled => &mut self.not_called,
            Verdict::Unreached => &mut self.unreached,
            Verdict::Redundant => &mut self.redundant,
            Verdict::CannotOccur => &mut self.impossible,
            Verdict::LiveOnly => &mut self.live_only,
            Verdict::Untried => &mut self.untried,
        }
    }
}

/// Those that were tried in front of the real servers, in words; nothing where there was none.
pub(crate) fn live(mutants: &[MutantResult]) -> Option<String> {
    let tried: Vec<MutantResult> = mutants.iter().filter(|mutant| mutant.live).cloned().collect();
    let counts = MutantCounts { unreached: 0, not_called: 0, ..MutantCounts::of(&tried) };
    let count = counts.killed_count() + counts.survived + counts.undecided;
    (count > 0).then(|| format!("{count} of them tried on real servers: {}", counts.brief()))
}

/// The words for what there is, the number in place of `#`.
fn join_counts(parts: &[(usize, &str)]) -> String {
    let told = parts.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, word)| word.replace('#', &count.to_string())).collect()
}

/// The name of a subject in a sentence.
pub(crate) fn subject_text(subject: &MutantSubject) -> String {
    match subject.kind {
        SubjectKind::Tool => subject.name.clone(),
        SubjectKind::Prompt => format!("prompt {}", subject.name),
        SubjectKind::Resource | SubjectKind::ResourceTemplate => format!("resource {}", subject.name),
        SubjectKind::Session => "the session".to_owned(),
    }
}

/// The operators of which a mutant survived: first those in the figure, and of these the faults that happen most, times
/// their severity.
pub(crate) fn survivors(proof: &Proof) -> Vec<&MutantResult> {
    let mut found: Vec<&MutantResult> =
        proof.mutants.iter().filter(|mutant| mutant.verdict == Verdict::Survived).collect();
    // Equals stay in the order of the registry.
    found.sort_by(|one, other| {
        let by_weight = || weight(proof, other).total_cmp(&weight(proof, one));
        is_left_out(proof, one).cmp(&is_left_out(proof, other)).then_with(by_weight)
    });
    found
}

/// How often the family of a mutant's fault fails in practice, times how bad the fault is; 0 for an unknown variant.
fn weight(proof: &Proof, mutant: &MutantResult) -> f64 {
    let of_family = |family: &FamilyScore| {
        let mut variants = family.by_leaf.iter().flat_map(|leaf| &leaf.by_variant);
        variants.find(|one| one.id == mutant.variant).map(|one| family.weight * severity_weight(one.severity))
    };
    proof.proven.families.iter().find_map(of_family).unwrap_or(0.0)
}

/// The survivors by the tool and the field at which they survived, the names of the operators in their order; those at a
/// whole answer stand under its tool.
pub(crate) fn by_field<'a>(found: &[&'a MutantResult]) -> IndexMap<String, Vec<&'a str>> {
    let mut fields: IndexMap<String, Vec<&str>> = IndexMap::new();
    for result in found {
        for mutant in result.mutants.iter().filter(|mutant| mutant.verdict == Verdict::Survived) {
            for place in mutant.places.iter().filter(|place| place.verdict == Verdict::Survived) {
                let colon = if place.field.is_empty() { "" } else { ": " };
                let at = format!("{}{colon}{}", subject_text(&mutant.subject), place.field);
                let names = fields.entry(at).or_default();
                if names.last() != Some(&result.id.as_str()) {
                    names.push(&result.id);
                }
            }
        }
    }
    fields
}

/// The figure of what is called, in a sentence; nothing where all is called.
///
/// A variant is proven there if it is noticed at everything that some case uses.
pub(crate) fn of_called(proof: &Proof) -> Option<String> {
    let mut variants: BTreeMap<&str, bool> = BTreeMap::new();
    let counted = proof.table.iter().filter(|fault| !proof.left_out.iter().any(|one| one.id == fault.variant));
    let mut is_partial = false;
    for fault in counted.filter(|fault| fault.verdict.counts()) {
        if fault.verdict == Verdict::NotCalled {
            is_partial = true;
            continue;
        }
        *variants.entry(&fault.variant).or_insert(true) &= fault.verdict == Verdict::Killed;
    }
    let (proven, all) = (variants.values().filter(|proven| **proven).count(), variants.len());
    let percent = (proven * 100).checked_div(all)?;
    is_partial.then(|| format!("of what is called alone: {percent}% of variants proven ({proven}/{all})"))
}

/// The fault that a mutant imitates stays out of the figure, so that no test would raise it.
pub(crate) fn is_left_out(proof: &Proof, mutant: &MutantResult) -> bool {
    proof.left_out.iter().any(|variant| variant.id == mutant.variant)
}

/// The facts about the fault that a mutant imitates.
pub(crate) fn variant<'a>(proof: &'a Proof, mutant: &MutantResult) -> Option<&'a VariantScore> {
    let mut variants =
        proof.proven.families.iter().flat_map(|family| &family.by_leaf).flat_map(|leaf| &leaf.by_variant);
    variants.find(|one| one.id == mutant.variant)
}

/// The places at which a mutant survived: `get_order: price, total`; a target is named where there are several.
pub(crate) fn survived_at(result: &MutantResult) -> impl Iterator<Item = String> {
    let survived = |mutant: &&PlantedMutant| mutant.verdict == Verdict::Survived;
    result.mutants.iter().filter(survived).map(|mutant| {
        let fields = mutant.places.iter().filter(|place| place.verdict == Verdict::Survived);
        let fields: Vec<&str> = fields.map(|place| place.field.as_str()).filter(|field| !field.is_empty()).collect();
        let (shown, more) = (fields.len().min(MOST_FIELDS), fields.len().saturating_sub(MOST_FIELDS));
        let fields = fields[..shown].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let colon = if fields.is_empty() { "" } else { ": " };
        format!("{}{colon}{fields}{more}", subject_text(&mutant.subject))
    })
}

/// The most fields that are named for one subject.
const MOST_FIELDS: usize = 6;

/// The meaning of a survivor: the server's mistake, or the effect of the mutant if that is not known.
pub(crate) fn could(mutant: &MutantResult) -> &str {
    mutant.missing.first().map_or(mutant.meaning.as_str(), |missing| missing.could.as_str())
}

/// The figures in one sentence: `64% of variants proven (18/28); mutants: 3 killed, 1 survived`.
pub(crate) fn sentence(proof: &Proof) -> String {
    let (score, totals) = (&proof.proven, MutantCounts::of(&proof.mutants));
    let missed = coverage::missed_threshold(&proof.gates, Figure::Plain);
    let percent = coverage::percent(score.percent, missed);
    let is_open = proof.all_gates().any(|gate| gate.verdict() == GateVerdict::NotJudged);
    let gate = if is_open { "; the threshold was not judged" } else { "" };
    let cure = if totals.untried > 0 { "; a longer `--budget` tries more" } else { "" };
    format!("{percent} of variants proven ({}); mutants: {}{gate}{cure}", score.variants, totals.brief())
}

#[cfg(test)]
mod tests {
    use crate::event::{Kill, MutantPlace};

    use super::*;

    fn mutant(verdict: Verdict, kills: &[By]) -> PlantedMutant {
        let kill = |by: &By| Kill { case: "c".into(), by: *by, code: "equals".into(), message: "differs".into() };
        let place = |by| MutantPlace { field: "f".into(), verdict, kill: Some(kill(by)) };
        let (target, subject) = ("s.yml@server/2025-11-25".into(), MutantSubject::session());
        PlantedMutant { target, subject, verdict, reason: None, places: kills.iter().map(place).collect() }
    }

    #[test]
    fn a_kill_by_an_expectation_is_one_whatever_else_turned_red() {
        let mutants = vec![
            mutant(Verdict::Killed, &[By::Scan]),
            mutant(Verdict::Killed, &[By::Scan, By::Expectation]),
            mutant(Verdict::Redundant, &[]),
        ];
        let result = MutantResult {
            id: "m".into(),
            meaning: "m".into(),
            variant: "V".into(),
            leaf: "L".into(),
            verdict: Verdict::Killed,
            live: false,
            only_on_stderr: false,
            reason: None,
            change: Vec::new(),
            mutants,
            missing: Vec::new(),
        };
        let totals = MutantCounts::of(&[result]);
        assert_eq!((totals.killed_by_expectations, totals.killed_by_scans, totals.redundant), (1, 1, 1));
        let told = "2 killed (1 by the suite's expectations, 1 by the scans that every run makes), 0 survived, \
                    1 redundant";
        assert_eq!(totals.to_text(), told);
    }
}
