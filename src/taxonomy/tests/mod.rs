mod mutants;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::source::{SourceFile, Sources, Style, render};

use super::*;

fn load(text: &str) -> Result<Registry, String> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("faults.yml", text));
    Registry::load(&sources, source).map_err(|mistakes| {
        mistakes.iter().fold(String::new(), |mut shown, mistake| {
            let _ = writeln!(shown, "{}", render(mistake, &sources, Style::PLAIN).trim_end());
            shown
        })
    })
}

#[test]
fn counts_are_the_published_ones() {
    let registry = Registry::builtin();
    assert_eq!((registry.families.len(), registry.leaves().count(), registry.variants().count()), (8, 18, 82));
    let ids: BTreeSet<&str> = registry.variants().map(|variant| variant.id.as_str()).collect();
    assert_eq!(ids.len(), 82);
    let weights: f64 = registry.families.iter().map(|family| family.weight).sum();
    assert!((weights - 837.0).abs() < 1e-9, "{weights}");
}

#[test]
fn leaves_have_their_variants_and_probes() {
    let shown = Registry::builtin().leaves().fold(String::new(), |mut shown, leaf| {
        let _ = writeln!(shown, "{} {} {}", leaf.variants.len(), leaf.id, leaf.probes.join(","));
        shown
    });
    insta::assert_snapshot!(shown, @r"
    3 FAULT-PROTO-UNINITIALIZED conformance,compliance
    3 FAULT-PROTO-UNKNOWN-METHOD negative-path,conformance
    6 FAULT-PROTO-MALFORMED-ENVELOPE fuzz,negative-path
    2 FAULT-TOOL-UNHANDLED-EXCEPTION fuzz,fault-recovery
    12 FAULT-TOOL-RESULT-PROPAGATION negative-path,fuzz
    1 FAULT-SCHEMA-MISSING-REQUIRED negative-path,fuzz
    1 FAULT-SCHEMA-TYPE-MISMATCH negative-path,fuzz
    4 FAULT-SCHEMA-OUTPUT-NONCONFORMANT output-schema
    3 FAULT-SCHEMA-UNDERCONSTRAINED schema-lint
    9 FAULT-STATE-SESSION-LEAK test-isolation
    3 FAULT-STATE-CANCEL-RESIDUE fault-recovery,conformance
    4 FAULT-PROVIDER-SCHEMA-REJECTED agent
    3 FAULT-PROVIDER-TOOL-SELECTION agent,tool-selection
    4 FAULT-SECURITY-TOOL-INJECTION security
    11 FAULT-SECURITY-TRUST-BOUNDARY trust-boundary,security
    3 FAULT-TIMEOUT-HANG fault-recovery
    2 FAULT-TIMEOUT-SLOW fault-recovery
    8 FAULT-CONFIG-READONLY-IGNORED exec-policy
    ");
}

#[test]
fn the_builtin_registry_is_whole() {
    let registry = Registry::builtin();
    for leaf in registry.leaves() {
        assert!(leaf.probes.iter().all(|token| probe(token).is_some()), "{}", leaf.id);
        assert!(leaf.example.as_deref().is_some_and(|example| example.starts_with("examples/")), "{}", leaf.id);
    }
    for variant in registry.variants() {
        assert_eq!(variant.imitation.is_none(), variant.tier == Tier::Impossible, "{}", variant.id);
        let texts = [&variant.meaning, &variant.provoke, &variant.oracle];
        assert!(texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')), "{}", variant.id);
    }
    assert!(registry.own_probes.is_empty());
    assert_eq!(PROBES.len(), 13);
}

#[test]
fn a_shared_variant_is_counted_at_home() {
    let registry = Registry::builtin();
    assert_eq!(registry.leaf("FAULT-SCHEMA-TYPE-MISMATCH").unwrap().shared, ["SCHEMA-INPUT-NOT-VALIDATED"]);
    assert!(registry.leaves().filter(|leaf| !leaf.shared.is_empty()).count() == 1);
}

#[test]
fn variants_hold_where_they_can_occur() {
    let holds = |id, over, at| Registry::builtin().variant(id).unwrap().holds_for(over, at);
    assert!(holds("PROTO-REQUEST-BEFORE-INIT", "stdio", "2025-11-25"));
    assert!(!holds("PROTO-REQUEST-BEFORE-INIT", "stdio", "2026-07-28"));
    assert!(holds("PROTO-REQUEST-BEFORE-INIT", "stdio", "") && holds("PROTO-REQUEST-BEFORE-INIT", "", "auto"));
    assert!(!holds("STATE-STALE-SESSION", "stdio", "2025-11-25"));
    assert!(holds("STATE-STALE-SESSION", "http", "2025-11-25"));
    assert!(!holds("STATE-STALE-SESSION", "http", "2026-07-28"));
    assert!(holds("TOOL-CRASH", "memory", "2031-01-01"));
    assert!(!holds("PROTO-STDOUT-NOISE", "memory", "2025-11-25"));
}

#[test]
fn a_registry_may_be_empty_and_bring_its_own_probes_and_mutants() {
    let empty = load("version: 0.1.0\nfamilies: []\nleaves: []\n").unwrap();
    assert!(empty.families.is_empty() && empty.own_probes.is_empty());
    let file = empty.taxonomy.registry.as_ref().unwrap();
    assert_eq!((&*empty.taxonomy.version, &*file.name, file.hash.len()), ("0.1.0", "faults.yml", 16));
    assert_eq!(Registry::builtin().taxonomy.registry, None);
    let own = load(include_str!("../testdata/own.yml")).unwrap();
    assert_eq!(own.leaf("FAULT-TOOL-CHAIN-LOOP").unwrap().probes, ["load", "fuzz"]);
    assert_eq!(own.families[1].leaves.len(), 1);
    assert_eq!(own.variant("CHAIN-LOOP").unwrap().mutants()[0].id, "loop-twice");
    assert!(own.probes().any(|token| token == "load"));
}

#[test]
fn every_mistake_is_reported_at_once() {
    insta::assert_snapshot!(load(include_str!("../testdata/mistakes.yml")).unwrap_err());
}
