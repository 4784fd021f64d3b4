//! Coverage as plain data, owned and serialisable, so that events and reports can carry it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VariantSeverity;

/// Coverage at one level of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Score {
    /// The registry of faults that is counted.
    #[serde(default)]
    pub taxonomy: Taxonomy,
    /// The level at which leaves are counted.
    pub level: Level,
    /// The share that counts, from 0 to 100, exact: of leaves, at the level `proven` of variants.
    pub percent: f64,
    /// The same, with each family weighted by how often it fails in practice.
    pub weighted: f64,
    /// The leaves of applicable families.
    pub leaves: Tally,
    /// The applicable variants of applicable families.
    pub variants: Tally,
    /// The families that are fully covered, among applicable ones.
    pub covered: Tally,
    /// The probes that were claimed to have run elsewhere, rather than planned.
    pub claimed: Vec<String>,
    /// The variants that tests claim to judge with `judges:`, although no expectation of theirs does; they do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claimed_variants: Vec<String>,
    /// The figures without the claimed probes; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_claims: Option<Figures>,
    /// The families, in the order of the registry.
    pub families: Vec<FamilyScore>,
}

/// The identity of a registry of faults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taxonomy {
    /// The version that the registry gives itself; empty if it gives none.
    pub version: String,
    /// The file, if it is not the registry that comes with mcprove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<RegistryFile>,
}

/// The file of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryFile {
    /// Its name, as the user knows it.
    pub name: String,
    /// A hash of its text, with line feeds at the ends of lines: FNV-1a of 64 bits.
    pub hash: String,
}

impl std::fmt::Display for Taxonomy {
    /// The version, with the file and hash of a registry that is not the built-in one.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let version = if self.version.is_empty() { "(no version)" } else { &self.version };
        match &self.registry {
            None => formatter.write_str(version),
            Some(RegistryFile { name, hash }) => write!(formatter, "{version} of {name} (hash {hash})"),
        }
    }
}

/// The figures of a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The share that counts, from 0 to 100, exact.
    pub percent: f64,
    /// The same, with each family weighted by how often it fails in practice.
    pub weighted: f64,
    /// The counts behind the unweighted share.
    pub counts: Tally,
}

/// A level of coverage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceLevel")]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A case is planned.
    Declared,
    /// A case ran and judged.
    Exercised,
    /// Imitations were found out.
    Proven,
}

/// A count and its total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// The number that counts.
    pub counted: usize,
    /// The number that could count.
    pub of: usize,
}

/// Coverage of one family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FamilyScore {
    /// The family.
    pub id: String,
    /// Its subject.
    pub name: String,
    /// The frequency of its failures in practice.
    pub weight: f64,
    /// The word for how much of it is covered.
    pub status: Status,
    /// Its leaves; also where the family is not applicable.
    pub leaves: Tally,
    /// Its applicable variants; also where the family is not applicable.
    pub variants: Tally,
    /// Leaf by leaf.
    pub by_leaf: Vec<LeafScore>,
}

/// The coverage of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    /// Every leaf.
    #[serde(rename = "covered")]
    Covered,
    /// Some leaves; at the level `proven` some variants are enough.
    #[serde(rename = "partial")]
    Partial,
    /// No leaf.
    #[serde(rename = "uncovered")]
    Uncovered,
    /// It does not apply and is left out of the figures.
    #[serde(rename = "n/a")]
    NotApplicable,
}

/// Coverage of one leaf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeafScore {
    /// The leaf.
    pub id: String,
    /// The fault in one sentence.
    pub meaning: String,
    /// It can occur with the transports and revisions in use; at the level `proven` it can also be imitated.
    pub applicable: bool,
    /// It counts.
    pub counted: bool,
    /// The cases that make its variants count, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The probes that exercise it.
    pub probes: Vec<String>,
    /// Those of its probes that are planned.
    pub planned: Vec<String>,
    /// Those of its probes that were claimed to have run elsewhere, rather than planned.
    pub claimed: Vec<String>,
    /// It counts for no other reason than a claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_claimed: bool,
    /// Variant by variant.
    pub by_variant: Vec<VariantScore>,
    /// Variants of other leaves that count for this one too, without being counted again.
    pub shared: Vec<String>,
}

/// Coverage of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantScore {
    /// The variant.
    pub id: String,
    /// The severity.
    pub severity: VariantSeverity,
    /// It can occur with the transports and revisions in use; at the level `proven` it can also be imitated.
    pub applicable: bool,
    /// It counts.
    pub counted: bool,
    /// The cases or claims that make it count.
    pub evidence: Vec<Evidence>,
}

/// A case that judged a variant, or noticed an imitation of it, and where to look.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The case.
    pub case: String,
    /// Its frames in the transcript; none for what was imitated.
    pub frames: Vec<u32>,
}

impl Score {
    /// Changes the ids of the cases that make something count, all in the same way.
    pub fn change_cases(&mut self, change: &dyn Fn(&str) -> String) {
        for leaf in self.families.iter_mut().flat_map(|family| &mut family.by_leaf) {
            let of_variants = leaf.by_variant.iter_mut().flat_map(|variant| &mut variant.evidence);
            for evidence in leaf.evidence.iter_mut().chain(of_variants) {
                evidence.case = change(&evidence.case);
            }
        }
    }
}

impl Level {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Exercised => "exercised",
            Self::Proven => "proven",
        }
    }

    /// The unit of the level's percentages.
    pub const fn counts(self) -> &'static str {
        match self {
            Self::Declared | Self::Exercised => "faults",
            Self::Proven => "variants",
        }
    }
}

impl Status {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Partial => "partial",
            Self::Uncovered => "uncovered",
            Self::NotApplicable => "n/a",
        }
    }
}

impl Tally {
    /// Counts the items that count.
    pub fn count<T>(items: &[T], counts: impl Fn(&T) -> bool) -> Self {
        Self { counted: items.iter().filter(|item| counts(item)).count(), of: items.len() }
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, one| Self { counted: sum.counted + one.counted, of: sum.of + one.of })
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&format!("{}/{}", self.counted, self.of))
    }
}

impl FamilyScore {
    /// The counts behind the percentages of that level.
    pub fn tally(&self, level: Level) -> Tally {
        match level {
            Level::Declared | Level::Exercised => self.leaves,
            Level::Proven => self.variants,
        }
    }
}

impl Score {
    /// The counts behind the unweighted percentage.
    pub fn tally(&self) -> Tally {
        match self.level {
            Level::Declared | Level::Exercised => self.leaves,
            Level::Proven => self.variants,
        }
    }

    /// The figures, which thresholds are compared with.
    pub fn figures(&self) -> Figures {
        Figures { percent: self.percent, weighted: self.weighted, counts: self.tally() }
    }

    /// The leaves of applicable families that could count, in order.
    pub fn applicable_leaves(&self) -> impl Iterator<Item = &LeafScore> {
        let applicable = self.families.iter().filter(|family| family.status != Status::NotApplicable);
        applicable.flat_map(|family| &family.by_leaf).filter(|leaf| leaf.applicable)
    }
}
