//! The texts that the setup of a suite captures in the sessions of a check. Each server may draw its own: a check fills its
//! arguments once, and the texts of other sessions become those of the one that gets them.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use crate::source::template::Names;
use crate::suite::Step;

/// The fewest characters of a text that names one thing: shorter ones come by chance.
const SHORTEST: usize = 4;

/// The captured texts that were met, by name.
#[derive(Debug, Default)]
pub(crate) struct CapturedTexts(Mutex<BTreeMap<String, BTreeSet<String>>>);

impl CapturedTexts {
    /// Takes note of what a setup captured, and returns the texts of this session by those of others.
    pub(crate) fn note(&self, setup: &[Step], names: &Names) -> BTreeMap<String, String> {
        let mut known = self.0.lock();
        let mut own_texts = BTreeMap::new();
        for capture in setup.iter().flat_map(|step| &step.capture) {
            let name = &capture.name.value;
            let Some(own) = names.get(name).and_then(|value| value.as_str()) else { continue };
            if own.chars().count() < SHORTEST {
                continue;
            }
            let met = known.entry(name.clone()).or_default();
            own_texts.extend(met.iter().filter(|other| *other != own).map(|other| (other.clone(), own.to_owned())));
            met.insert(own.to_owned());
        }
        own_texts
    }
}
