//! The faults of servers: families, their leaves, and the variants in which a leaf shows.
//!
//! `registry.yml` beside this file is the only place that says so; [`Registry::builtin`] is that file, read once and
//! only when somebody asks, and [`Registry::load`] reads a customised copy.
//! [`PROBES`] are the kinds of checks that exercise leaves, and [`score`] is what coverage is reported as.
//! Knows nothing about suites, plans or runs. Start reading in `registry.yml`.

mod builtin;
mod decode;
mod model;
mod mutant;
mod probe;
pub mod score;
mod start;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::score::Taxonomy;
use crate::source::{Diagnostic, SourceId, Sources};

pub use self::decode::{REGISTRY, json_schema};
pub use self::model::{Family, FamilyNeed, Holds, Leaf, Revisions, Tier, Transport, Variant, VariantSeverity};
pub use self::mutant::{Mutant, Mutants, OfferKind};
pub use self::probe::{PROBES, Probe, probe};
pub use self::start::{Alteration, Launch, OnDisk, START, Start};

/// Every fault that is known, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registry {
    /// Its version, and its file unless it is the built-in one.
    pub taxonomy: Taxonomy,
    /// The families with their leaves.
    pub families: Vec<Family>,
    /// Probes that this registry declares beside [`PROBES`], with their meaning.
    pub own_probes: BTreeMap<String, String>,
}

impl Registry {
    /// The registry that comes with the program; read at the first call.
    pub fn builtin() -> &'static Self {
        builtin::registry()
    }

    /// Reads a registry; every mistake at once, in the order of the file.
    pub fn load(sources: &Sources, source: SourceId) -> Result<Self, Vec<Diagnostic>> {
        let mut registry = decode::load(sources, source)?;
        registry.taxonomy.registry = builtin::file(sources.file(source));
        Ok(registry)
    }

    /// Every leaf, in order.
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf> {
        self.families.iter().flat_map(|family| &family.leaves)
    }

    /// Every variant, in order.
    pub fn variants(&self) -> impl Iterator<Item = &Variant> {
        self.leaves().flat_map(|leaf| &leaf.variants)
    }

    /// The leaf with that id.
    pub fn leaf(&self, id: &str) -> Option<&Leaf> {
        self.leaves().find(|leaf| leaf.id == id)
    }

    /// The variant with that id.
    pub fn variant(&self, id: &str) -> Option<&Variant> {
        self.variants().find(|variant| variant.id == id)
    }

    /// The names of all probes: the common ones, then those that this registry declares.
    pub fn probes(&self) -> impl Iterator<Item = &str> {
        PROBES.iter().map(|probe| probe.id).chain(self.own_probes.keys().map(String::as_str))
    }
}
