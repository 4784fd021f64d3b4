//! The registry that comes with the program, read in two parts: what every run scores, and what only a proof imitates.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::source::{FNV, SourceFile, Sources, fnv, hash_text};

use super::mutant::{Mutant, Mutants};
use super::score::RegistryFile;
use super::{Registry, decode};

const TEXT: &str = include_str!("registry.yml");

/// Families, leaves and variants, read at the first call.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = load(&without_mutants(TEXT));
        for variant in
            registry.families.iter_mut().flat_map(|family| &mut family.leaves).flat_map(|leaf| &mut leaf.variants)
        {
            variant.mutants = Mutants::BuiltIn;
        }
        registry
    });
    &REGISTRY
}

/// The imitations of a variant, read at the first call.
pub(crate) fn mutants(variant: &str) -> &'static [Mutant] {
    static MUTANTS: LazyLock<BTreeMap<String, Vec<Mutant>>> = LazyLock::new(|| {
        let registry = load(TEXT);
        registry.variants().map(|variant| (variant.id.clone(), variant.mutants().to_vec())).collect()
    });
    MUTANTS.get(variant).map(Vec::as_slice).unwrap_or_default()
}

/// The identity of a file that does not say the same as the built-in registry.
pub(crate) fn file(file: &SourceFile) -> Option<RegistryFile> {
    // A checkout with other line ends is the same registry.
    let text = file.text.replace("\r\n", "\n");
    let hash = || hash_text(fnv(FNV, text.as_bytes()));
    (text != TEXT.replace("\r\n", "\n")).then(|| RegistryFile { name: file.name.clone(), hash: hash() })
}

fn load(text: &str) -> Registry {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("<built-in registry>", text));
    decode::load(&sources, source).unwrap_or_else(|mistakes| panic!("the built-in registry has mistakes: {mistakes:?}"))
}

/// The text without the lines below each key `mutants`; reading YAML costs far more than looking at its lines.
fn without_mutants(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut key_indent = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if key_indent.is_some_and(|key| bare.is_empty() || indent > key) {
            continue;
        }
        key_indent = (bare == "mutants:").then_some(indent);
        if key_indent.is_none() {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_parts_are_the_whole_file() {
        let whole = load(TEXT);
        let ids = |registry: &Registry| registry.variants().map(|variant| variant.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(registry()), ids(&whole));
        for (part, variant) in registry().variants().zip(whole.variants()) {
            assert_eq!(part.mutants(), variant.mutants(), "{}", variant.id);
            let part = super::super::Variant { mutants: variant.mutants.clone(), ..part.clone() };
            assert_eq!(part, *variant);
        }
        assert!(without_mutants(TEXT).len() < TEXT.len() / 2);
    }
}
