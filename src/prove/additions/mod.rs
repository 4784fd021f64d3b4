//! What suites lack: of all suggested tests and expectations, the fewest that kill the most survivors.
//!
//! Faults weigh as much as their family fails in practice, times their severity. Start reading in [`additions`].

mod choice;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::choice::{Candidate, Choice, choose};
use super::mutation_runner::OperatorTrial;
use super::placement::RecordedTarget;
use super::suggest::{SuggestedTest, last_expect, requests};
use crate::event::{Addition, LeftOut, MutantSubject, StepOfTest, SubjectKind, severity_weight};
use crate::redact::Redactor;
use crate::taxonomy::Registry;

pub(crate) use self::step::step_of;

/// A place at which a mutant survived.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Gap {
    target: String,
    file: String,
    subject: MutantSubject,
    /// The step of a test that got the answer which the mutant changed.
    step: Option<StepOfTest>,
    /// The tests that would notice it.
    tests: Vec<SuggestedTest>,
}

impl Gap {
    pub(crate) fn new(
        target: &RecordedTarget<'_>,
        subject: &MutantSubject,
        step: Option<StepOfTest>,
        tests: Vec<SuggestedTest>,
    ) -> Self {
        let (name, file) = (target.name.to_owned(), target.recorded.file.clone());
        Self { target: name, file, subject: subject.clone(), step, tests }
    }
}

/// The least weight of a family, and the share that a fault has which stays out of the figure: a test of it is of use, and
/// raises nothing.
const LEAST: f64 = 0.05;

/// The weight of the heaviest fault, so that shares of it are whole numbers.
const SCALE: f64 = 1_000_000.0;

/// The key of an addition: the file, the requests or the step, and what is expected in the end.
type AdditionKey = (String, String);

/// Something that could be added, and the gaps that it closes.
#[derive(Debug)]
struct Found {
    /// `None` where it cannot be shown.
    addition: Option<Addition>,
    closes: BTreeSet<usize>,
}

/// Additions that could be made, and the gaps that they would close.
#[derive(Debug, Default)]
struct GapTable {
    found: IndexMap<AdditionKey, Found>,
    weights: Vec<u64>,
    /// The mutant of each gap.
    mutants: Vec<usize>,
    /// The number of open gaps of each mutant.
    open: Vec<usize>,
}

/// The additions to the suites, the one that gains most first; what a redactor would change is none.
pub(crate) fn additions(
    trials: &[OperatorTrial],
    registry: &Registry,
    left_out: &[LeftOut],
    redactor: &Redactor,
) -> Vec<Addition> {
    let weights_of_variants = weights_of_variants(registry, left_out);
    let mut gaps = GapTable::default();
    for trial in trials {
        let weight = weights_of_variants.get(trial.result.variant.as_str()).copied().unwrap_or(1.0);
        gaps.add_operator(&trial.gaps, weight, redactor);
    }
    let GapTable { found, weights, mutants, mut open } = gaps;
    let found = found.into_values().filter_map(|one| Some((one.addition?, one.closes)));
    let (lasting, others): (Vec<_>, Vec<_>) = found.partition(|(addition, _)| addition.lasts);
    let mut is_closed = vec![false; weights.len()];
    let mut chosen = Vec::new();
    // What holds only on this machine closes what nothing else does.
    for found in [lasting, others] {
        let candidates: Vec<Candidate> =
            found.iter().map(|(addition, closes)| candidate(addition, closes, &is_closed)).collect();
        for Choice { candidate, closes } in choose(&weights, &candidates) {
            for gap in &closes {
                is_closed[*gap] = true;
                open[mutants[*gap]] -= 1;
            }
            let closed: BTreeSet<usize> = closes.iter().map(|gap| mutants[*gap]).collect();
            let kills = closed.iter().filter(|mutant| open[**mutant] == 0).count();
            chosen.push(Addition { kills, notices: closes.len(), ..found[candidate].0.clone() });
        }
    }
    chosen
}

/// An addition with the gaps that it closes and none before it did; a test of its own takes some more lines.
fn candidate(addition: &Addition, closes: &BTreeSet<usize>, is_closed: &[bool]) -> Candidate {
    let closes = closes.iter().copied().filter(|gap| !is_closed[*gap]).collect();
    let lines = addition.yaml.lines().count() + if addition.at.is_some() { 0 } else { 4 };
    Candidate { closes, lines }
}

/// The weight of each variant: how often its family fails, times how bad it is.
fn weights_of_variants<'a>(registry: &'a Registry, left_out: &[LeftOut]) -> BTreeMap<&'a str, f64> {
    let mut weights = BTreeMap::new();
    for family in &registry.families {
        for variant in family.leaves.iter().flat_map(|leaf| &leaf.variants) {
            let counts = if left_out.iter().any(|one| one.id == variant.id) { LEAST } else { 1.0 };
            weights.insert(variant.id.as_str(), family.weight.max(LEAST) * severity_weight(variant.severity) * counts);
        }
    }
    weights
}

impl GapTable {
    /// Adds the gaps of an operator; those of one of its mutants share its weight.
    fn add_operator(&mut self, gaps: &[Gap], weight: f64, redactor: &Redactor) {
        let first = self.mutants.len();
        let mut known: BTreeMap<(&str, &MutantSubject), usize> = BTreeMap::new();
        for gap in gaps {
            let mutant = *known.entry((&gap.target, &gap.subject)).or_insert_with(|| {
                self.open.push(0);
                self.open.len() - 1
            });
            self.open[mutant] += 1;
            for suggested in &gap.tests {
                let Some(asked) = gap.asked(suggested) else { continue };
                let key = (gap.file.clone(), asked.key);
                let found = self.found.entry(key).or_insert_with(|| {
                    let addition = gap.addition(suggested, asked.at);
                    let addition = addition.filter(|addition| redactor.text(&addition.yaml) == addition.yaml);
                    Found { addition, closes: BTreeSet::new() }
                });
                found.closes.insert(self.mutants.len());
            }
            self.mutants.push(mutant);
        }
        for mutant in &self.mutants[first..] {
            #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
            let share = weight * SCALE / self.open[*mutant] as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "weights are small and positive"
            )]
            self.weights.push((share as u64).max(1));
        }
    }
}

/// What a suggested test asks and expects, as a key, and the step that asks the same.
struct Asked {
    key: String,
    at: Option<StepOfTest>,
}

impl Gap {
    fn asked(&self, suggested: &SuggestedTest) -> Option<Asked> {
        let test = suggested.value.get(0)?.as_object()?;
        let expect = Value::from(last_expect(&mut test.clone()).cloned().unwrap_or_default()).to_string();
        // The step of the test may know the values of earlier answers by other names.
        let at = self.step.clone().filter(|_| !expect.contains("{{") && !changes_request(test));
        let asked = match &at {
            Some(StepOfTest { test, step, .. }) => format!("{step} {test}"),
            None => Value::Object(requests(test)).to_string(),
        };
        Some(Asked { key: format!("{asked} {expect}"), at })
    }

    fn addition(&self, suggested: &SuggestedTest, at: Option<StepOfTest>) -> Option<Addition> {
        Some(Addition {
            file: self.file.clone(),
            tool: (self.subject.kind == SubjectKind::Tool).then(|| self.subject.name.clone()),
            could: suggested.could.clone(),
            kills: 0,
            notices: 0,
            yaml: suggested.yaml()?,
            at,
            pinned: suggested.notes.iter().any(|note| note.starts_with("pinned")),
            lasts: suggested.lasts,
        })
    }
}

/// The last step of a test asks for something else than the recorded one: its end, or its task again.
fn changes_request(test: &Map<String, Value>) -> bool {
    let last = test.get("steps").and_then(Value::as_array).and_then(|steps| steps.last()?.as_object());
    let step = last.unwrap_or(test);
    step.contains_key("cancel") || step.get("task").is_some_and(|task| task["again"] == true)
}
