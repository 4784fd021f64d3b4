//! Puts a score together from the answers to "does this leaf count" and "does this variant count".

use std::collections::{BTreeMap, BTreeSet};

use crate::taxonomy::score::{Evidence, FamilyScore, LeafScore, Level, Score, Status, Tally, VariantScore};
use crate::taxonomy::{Family, FamilyNeed, Leaf, Registry, Variant};

use super::{Claims, Planned};

/// One level of evidence.
pub(crate) struct ScoreSettings<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) level: Level,
    pub(crate) planned: &'a Planned,
    /// Claimed probes count like planned ones; claimed variants are only named.
    pub(crate) claims: &'a Claims,
    /// A variant counts where it can occur.
    pub(crate) counts: &'a dyn Fn(&str) -> bool,
    pub(crate) evidence: &'a dyn Fn(&str) -> Vec<Evidence>,
    /// This level can say anything about a variant that can occur.
    pub(crate) is_decidable: &'a dyn Fn(&Variant) -> bool,
}

pub(crate) fn assemble(setting: &ScoreSettings<'_>) -> Score {
    let families: Vec<FamilyScore> = setting.registry.families.iter().map(|family| setting.family(family)).collect();
    let applicable: Vec<&FamilyScore> = families.iter().filter(|one| one.status != Status::NotApplicable).collect();
    let measured: Vec<(f64, Tally)> =
        applicable.iter().map(|family| (family.weight, family.tally(setting.level))).collect();
    Score {
        taxonomy: setting.registry.taxonomy.clone(),
        level: setting.level,
        percent: share(ratio(measured.iter().map(|(_, tally)| *tally).sum()), 1.0),
        weighted: share(
            measured.iter().map(|(weight, tally)| weight * ratio(*tally)).sum(),
            measured.iter().filter(|(_, tally)| tally.of > 0).map(|(weight, _)| weight).sum(),
        ),
        leaves: applicable.iter().map(|family| family.leaves).sum(),
        variants: applicable.iter().map(|family| family.variants).sum(),
        covered: Tally::count(&applicable, |family| family.status == Status::Covered),
        claimed: setting.claims.probes.iter().cloned().collect(),
        claimed_variants: setting.claims.variants.iter().cloned().collect(),
        without_claims: None,
        families,
    }
}

impl ScoreSettings<'_> {
    fn family(&self, family: &Family) -> FamilyScore {
        let by_leaf: Vec<LeafScore> = family.leaves.iter().map(|leaf| self.leaf(leaf)).collect();
        let possible: Vec<&LeafScore> = by_leaf.iter().filter(|leaf| leaf.applicable).collect();
        let leaves = Tally::count(&possible, |leaf| leaf.counted);
        let variants = by_leaf.iter().flat_map(|leaf| &leaf.by_variant).filter(|one| one.applicable);
        let variants = Tally::count(&variants.collect::<Vec<_>>(), |one| one.counted);
        FamilyScore {
            id: family.id.clone(),
            name: family.name.clone(),
            weight: family.weight,
            status: if self.meets_need(family) { self.status(leaves, variants) } else { Status::NotApplicable },
            leaves,
            variants,
            by_leaf,
        }
    }

    fn leaf(&self, leaf: &Leaf) -> LeafScore {
        let by_variant: Vec<VariantScore> = leaf.variants.iter().map(|variant| self.variant(variant)).collect();
        let applicable = match self.level {
            Level::Declared | Level::Exercised => by_variant.is_empty() || by_variant.iter().any(|one| one.applicable),
            Level::Proven => self.possible(leaf).next().is_some(),
        };
        let planned: Vec<String> =
            leaf.probes.iter().filter(|probe| self.planned.probes.contains(*probe)).cloned().collect();
        let claimed: Vec<String> =
            leaf.probes.iter().filter(|probe| self.claims.probes.contains(*probe)).cloned().collect();
        let is_probed = self.level == Level::Declared && !(planned.is_empty() && claimed.is_empty());
        LeafScore {
            id: leaf.id.clone(),
            meaning: leaf.meaning.clone(),
            applicable,
            counted: applicable && (is_probed || self.is_shown(leaf)),
            probes: leaf.probes.clone(),
            planned,
            claimed,
            only_claimed: false,
            evidence: self.leaf_evidence(leaf),
            by_variant,
            shared: leaf.shared.clone(),
        }
    }

    /// By one variant that ran, or by all of them that can be proven.
    fn is_shown(&self, leaf: &Leaf) -> bool {
        let mut possible = self.possible(leaf);
        match self.level {
            Level::Declared | Level::Exercised => possible.any(|variant| (self.counts)(&variant.id)),
            Level::Proven => possible.all(|variant| (self.counts)(&variant.id)),
        }
    }

    /// The variants of a leaf that can occur here, those of other leaves that show it too included.
    fn possible<'s>(&'s self, leaf: &'s Leaf) -> impl Iterator<Item = &'s Variant> {
        let shared = leaf.shared.iter().filter_map(|id| self.registry.variant(id));
        leaf.variants.iter().chain(shared).filter(|variant| self.is_applicable(variant))
    }

    /// Every case that a variant of the leaf counts by, once.
    fn leaf_evidence(&self, leaf: &Leaf) -> Vec<Evidence> {
        let mut frames: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for found in self.possible(leaf).flat_map(|variant| (self.evidence)(&variant.id)) {
            frames.entry(found.case).or_default().extend(found.frames);
        }
        frames.into_iter().map(|(case, frames)| Evidence { case, frames: frames.into_iter().collect() }).collect()
    }

    fn is_applicable(&self, variant: &Variant) -> bool {
        self.can_occur(variant) && (self.is_decidable)(variant)
    }

    fn can_occur(&self, variant: &Variant) -> bool {
        let settings = &self.planned.settings;
        settings.is_empty() || settings.iter().any(|(transport, revision)| variant.holds_for(transport, revision))
    }

    fn variant(&self, variant: &Variant) -> VariantScore {
        let applicable = self.is_applicable(variant);
        VariantScore {
            id: variant.id.clone(),
            severity: variant.severity,
            applicable,
            counted: applicable && (self.counts)(&variant.id),
            evidence: (self.evidence)(&variant.id),
        }
    }

    /// A family that needs a model applies when one is planned, or is said to have been at work elsewhere.
    fn meets_need(&self, family: &Family) -> bool {
        let Some(FamilyNeed::Agents) = family.needs else { return true };
        let mut probes = family.leaves.iter().flat_map(|leaf| &leaf.probes);
        self.planned.agents || probes.any(|p| self.planned.probes.contains(p) || self.claims.probes.contains(p))
    }

    fn status(&self, leaves: Tally, variants: Tally) -> Status {
        match leaves {
            Tally { of: 0, .. } => Status::NotApplicable,
            Tally { counted, of } if counted == of => Status::Covered,
            // A leaf takes all of its variants to be proven, so a family can have some without having a leaf.
            Tally { counted: 0, .. } if self.level != Level::Proven || variants.counted == 0 => Status::Uncovered,
            Tally { .. } => Status::Partial,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a registry has fewer leaves than a double has whole numbers")]
fn ratio(tally: Tally) -> f64 {
    if tally.of == 0 { 0.0 } else { tally.counted as f64 / tally.of as f64 }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}
