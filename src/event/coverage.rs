//! The fault coverage of a run: in total, and of each suite on each server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::taxonomy::score::Score;

/// The fault coverage of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// From the plan, of all suites and servers together.
    pub declared: Score,
    /// From what ran, of all suites and servers together.
    pub exercised: Score,
    /// The thresholds that were asked for, if the run has one suite on one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// The variants that tests name in `judges:` and that nothing judges; they count in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claimed: Vec<String>,
    /// The scores of each suite on each server, which is what thresholds are about; empty if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<SuiteScore>,
}

/// The fault coverage of one suite on one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteScore {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// From the plan.
    pub declared: Score,
    /// From what ran.
    pub exercised: Score,
    /// From the mutants, if there was a proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<Score>,
    /// The variants that its tests name in `judges:` and that nothing here judges; they count in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claimed: Vec<String>,
    /// The thresholds that were asked for, for the last of these scores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

impl SuiteScore {
    /// The suite and the server, for messages.
    pub fn name(&self) -> String {
        format!("{} on {}", self.file, self.server)
    }

    /// The levels that there are, lowest first; the gates are about the last one.
    pub fn levels(&self) -> Vec<&Score> {
        [Some(&self.declared), Some(&self.exercised), self.proven.as_ref()].into_iter().flatten().collect()
    }

    pub(crate) fn change_cases(&mut self, change: &dyn Fn(&str) -> String) {
        self.declared.change_cases(change);
        self.exercised.change_cases(change);
        self.proven.iter_mut().for_each(|score| score.change_cases(change));
    }
}

/// A threshold for exercised coverage, and whether it was met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Which figure it is about.
    pub figure: Figure,
    /// The least that was asked for, in percent.
    pub threshold: f64,
    /// The run reached it.
    pub met: bool,
    /// It was not reached, and may be with the mutants for which there was no time: it was not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_judged: bool,
}

/// The verdict on a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// It was reached.
    Met,
    /// It was not reached.
    Missed,
    /// It was not reached yet.
    NotJudged,
}

impl Gate {
    /// The verdict.
    pub fn verdict(&self) -> GateVerdict {
        match (self.met, self.not_judged) {
            (true, _) => GateVerdict::Met,
            (false, false) => GateVerdict::Missed,
            (false, true) => GateVerdict::NotJudged,
        }
    }

    /// The threshold of a score that can only become higher: what is reached stays reached.
    #[must_use]
    pub fn with_more_to_come(self) -> Self {
        Self { not_judged: !self.met, ..self }
    }
}

/// One of the two figures of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The share of leaves.
    Plain,
    /// The share that is weighted by how often families fail.
    Weighted,
}
