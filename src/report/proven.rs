//! The sums of a proof: how many mutants ended in which way, in all and at each tool.
//!
//! Plain data that every format shows in its own way.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{By, Control, Figure, Gate, LeftOut, MutantResult, Proof, Verdict};
use crate::taxonomy::score::{Score, VariantScore};

use super::coverage;

/// A proof with what it adds up to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProofReport")]
pub(super) struct ProofDocument<'a> {
    /// The baseline run: the replay without any mutant.
    control: &'a Control,
    /// The baseline run against the real servers; absent if none was requested or needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<&'a Control>,
    /// How many mutants ended in which way.
    totals: MutantCounts,
    /// The mutants in the order of the registry.
    mutants: &'a [MutantResult],
    /// Tool by tool, the leaves whose mutants were planted in its calls.
    tools: Vec<ToolRow>,
    /// Variants that can occur here and stay out of the percentage, with the reason.
    left_out: &'a [LeftOut],
    /// Proven coverage: by variants that can occur here and can be planted.
    proven: &'a Score,
    /// The thresholds that were asked for.
    gates: &'a [Gate],
    /// How long proving took, in microseconds.
    duration_us: u64,
}

impl<'a> ProofDocument<'a> {
    /// Everything about a proof.
    pub(super) fn of(proof: &'a Proof) -> Self {
        let Proof { control, live, mutants, left_out, proven, gates, duration_us } = proof;
        let (totals, tools) = (MutantCounts::of(mutants), tool_rows(mutants));
        let live = live.as_ref();
        Self { control, live, totals, mutants, tools, left_out, proven, gates, duration_us: *duration_us }
    }
}

/// How many mutants ended in which way; every mutant is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct MutantCounts {
    /// Killed by something that the suite asked for.
    pub(super) killed_by_expectations: usize,
    /// Killed by nothing but the scans that every run makes.
    pub(super) killed_by_scans: usize,
    /// Noticed by nothing.
    pub(super) survived: usize,
    /// Left to the real server.
    pub(super) undecided: usize,
    /// Without anything that they could change.
    pub(super) unreached: usize,
    /// Faults that the healthy server has already.
    pub(super) redundant: usize,
    /// Planted with the real server only.
    pub(super) live_only: usize,
}

impl MutantCounts {
    /// Counts them.
    pub(super) fn of(mutants: &[MutantResult]) -> Self {
        let mut totals = Self::default();
        for mutant in mutants {
            *totals.of_verdict(mutant) += 1;
        }
        totals
    }

    /// All that were killed.
    pub(super) fn killed(&self) -> usize {
        self.killed_by_expectations + self.killed_by_scans
    }

    /// In words, with what killed them.
    pub(super) fn told(&self) -> String {
        let by = match *self {
            Self { killed_by_scans: 0, .. } => String::new(),
            Self { killed_by_expectations: suite, killed_by_scans: scans, .. } => {
                format!(" ({suite} by the suite's expectations, {scans} by the scans that every run makes)")
            }
        };
        let aside = [(self.redundant, ", # redundant"), (self.live_only, ", # for the real server only")];
        format!("{} killed{by}, {}{}", self.killed(), self.alive(), counted(&aside))
    }

    /// In words, those only that say something about the suite.
    pub(super) fn brief(&self) -> String {
        format!("{} killed, {}", self.killed(), self.alive())
    }

    fn alive(&self) -> String {
        let open = [(self.undecided, ", # undecided"), (self.unreached, ", # never reached")];
        format!("{} survived{}", self.survived, counted(&open))
    }

    fn of_verdict(&mut self, mutant: &MutantResult) -> &mut usize {
        let is_expected = mutant.kills.iter().any(|kill| kill.by == By::Expectation);
        match mutant.verdict {
            Verdict::Killed if is_expected => &mut self.killed_by_expectations,
            Verdict::Killed => &mut self.killed_by_scans,
            Verdict::Survived => &mut self.survived,
            Verdict::Undecided => &mut self.undecided,
            Verdict::Unreached => &mut self.unreached,
            Verdict::Redundant => &mut self.redundant,
            Verdict::LiveOnly => &mut self.live_only,
        }
    }
}

/// Those that were tried in front of the real servers, in words; nothing where there was none.
pub(super) fn live(mutants: &[MutantResult]) -> Option<String> {
    let tried: Vec<MutantResult> = mutants.iter().filter(|mutant| mutant.live).cloned().collect();
    let told = MutantCounts::of(&tried).brief();
    (!tried.is_empty()).then(|| format!("{} of them tried on real servers: {told}", tried.len()))
}

/// The words for what there is, the number in place of `#`.
fn counted(parts: &[(usize, &str)]) -> String {
    let told = parts.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, word)| word.replace('#', &count.to_string())).collect()
}

/// The verdicts at one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ToolRow {
    /// The tool.
    pub(super) tool: String,
    /// By leaf; one without a mutant that was planted there is left out.
    pub(super) leaves: BTreeMap<String, Killed>,
}

/// How many mutants were killed of those that were planted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Killed {
    /// How many were killed.
    pub(super) killed: usize,
    /// How many were planted: these, those that survived, and those that are undecided.
    pub(super) planted: usize,
}

/// The tools in the order in which the mutants name them.
pub(super) fn tool_rows(mutants: &[MutantResult]) -> Vec<ToolRow> {
    let mut rows: IndexMap<&str, BTreeMap<String, Killed>> = IndexMap::new();
    for (mutant, at) in mutants.iter().flat_map(|mutant| mutant.tools.iter().map(move |at| (mutant, at))) {
        let leaves = rows.entry(&at.tool).or_default();
        let killed = match at.verdict {
            Verdict::Killed => 1,
            Verdict::Survived | Verdict::Undecided => 0,
            Verdict::Unreached | Verdict::Redundant | Verdict::LiveOnly => continue,
        };
        let cell = leaves.entry(mutant.leaf.clone()).or_default();
        *cell = Killed { killed: cell.killed + killed, planted: cell.planted + 1 };
    }
    rows.into_iter().map(|(tool, leaves)| ToolRow { tool: tool.to_owned(), leaves }).collect()
}

/// The survivors, those that imitate the worst faults first.
pub(super) fn survivors(proof: &Proof) -> Vec<&MutantResult> {
    let mut found: Vec<&MutantResult> =
        proof.mutants.iter().filter(|mutant| mutant.verdict == Verdict::Survived).collect();
    // An unknown variant comes last; equals stay in the order of the registry.
    found.sort_by_key(|mutant| variant(proof, mutant).map_or((1, None), |found| (0, Some(found.severity))));
    found
}

/// The facts about the fault that a mutant imitates.
pub(super) fn variant<'a>(proof: &'a Proof, mutant: &MutantResult) -> Option<&'a VariantScore> {
    let mut variants =
        proof.proven.families.iter().flat_map(|family| &family.by_leaf).flat_map(|leaf| &leaf.by_variant);
    variants.find(|one| one.id == mutant.variant)
}

/// The tools at which a mutant survived.
pub(super) fn survived_at(mutant: &MutantResult) -> impl Iterator<Item = &str> {
    mutant.tools.iter().filter(|at| at.verdict == Verdict::Survived).map(|at| at.tool.as_str())
}

/// The meaning of a survivor: the server's mistake, or the effect of the mutant if that is not known.
pub(super) fn could(mutant: &MutantResult) -> &str {
    mutant.missing.first().map_or(mutant.meaning.as_str(), |missing| missing.could.as_str())
}

/// The figures in one sentence: `64% of variants proven (18/28); mutants: 3 killed, 1 survived`.
pub(super) fn sentence(proof: &Proof) -> String {
    let (score, totals) = (&proof.proven, MutantCounts::of(&proof.mutants));
    let missed = coverage::missed(&proof.gates, Figure::Plain);
    let percent = coverage::percent(score.percent, missed);
    format!("{percent} of variants proven ({}); mutants: {}", score.variants, totals.brief())
}

#[cfg(test)]
mod tests {
    use crate::event::{AtTool, Kill};

    use super::*;

    fn mutant(leaf: &str, verdict: Verdict, tools: &[(&str, Verdict)]) -> MutantResult {
        let tools = tools.iter().map(|(tool, verdict)| AtTool { tool: (*tool).into(), verdict: *verdict });
        MutantResult {
            id: "m".into(),
            meaning: "m".into(),
            variant: "V".into(),
            leaf: leaf.into(),
            verdict,
            live: false,
            reason: None,
            places: 1,
            change: Vec::new(),
            kills: Vec::new(),
            tools: tools.collect(),
            missing: Vec::new(),
        }
    }

    fn kill(by: By) -> Kill {
        Kill { case: "c".into(), by, code: "equals".into(), message: "differs".into() }
    }

    #[test]
    fn a_kill_by_an_expectation_is_one_whatever_else_turned_red() {
        let killed = |kills: &[By]| MutantResult {
            kills: kills.iter().copied().map(kill).collect(),
            ..mutant("L", Verdict::Killed, &[])
        };
        let all = [killed(&[By::Scan]), killed(&[By::Scan, By::Expectation]), mutant("L", Verdict::Redundant, &[])];
        let totals = MutantCounts::of(&all);
        assert_eq!((totals.killed_by_expectations, totals.killed_by_scans, totals.redundant), (1, 1, 1));
        let told = "2 killed (1 by the suite's expectations, 1 by the scans that every run makes), 0 survived, \
                    1 redundant";
        assert_eq!(totals.told(), told);
    }

    #[test]
    fn a_cell_counts_what_was_planted() {
        use Verdict::{Killed as Dead, LiveOnly, Redundant, Survived, Undecided, Unreached};
        let all = [
            mutant("A", Survived, &[("one", Dead), ("two", Survived)]),
            mutant("A", Survived, &[("one", Undecided), ("two", Unreached)]),
            mutant("B", Redundant, &[("one", Redundant), ("three", LiveOnly)]),
        ];
        let rows = tool_rows(&all);
        let shown: Vec<String> = rows.iter().map(|row| format!("{} {:?}", row.tool, row.leaves)).collect();
        assert_eq!(
            shown,
            [
                r#"one {"A": Killed { killed: 1, planted: 2 }}"#,
                r#"two {"A": Killed { killed: 0, planted: 1 }}"#,
                "three {}",
            ]
        );
    }
}
