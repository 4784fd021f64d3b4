use crate::source::{SourceFile, Sources};
use crate::taxonomy::score::{Status, Tally};

use super::*;

mod proven;

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The plan of `examples/negative-path.yml`.
fn negative_path() -> Planned {
    Planned { probes: set(&["negative-path"]), ..Planned::default() }
}

/// The claims of `--probe`.
fn probes(words: &[&str]) -> Claims {
    Claims { probes: set(words), ..Claims::default() }
}

fn judged(variants: &[&str]) -> JudgedVariants {
    let case = || vec![Evidence { case: "a.yml::t@s/2025-11-25".to_owned(), frames: vec![3, 4] }];
    JudgedVariants { by_variant: variants.iter().map(|id| ((*id).to_owned(), case())).collect() }
}

fn leaf_counts(score: &Score, id: &str) -> bool {
    score.families.iter().flat_map(|family| &family.by_leaf).any(|leaf| leaf.id == id && leaf.counted)
}

fn near(figure: f64, wanted: f64) {
    assert!((figure - wanted).abs() < 1e-9, "{figure} is not {wanted}");
}

#[test]
fn the_published_example() {
    let score = with_claims(Registry::builtin(), &negative_path(), &probes(&["fuzz"]));
    let rows: Vec<String> =
        score.families.iter().map(|f| format!("{} {} {}", f.id, f.leaves, f.status.word())).collect();
    assert_eq!(
        rows,
        [
            "PROTO 2/3 partial",
            "TOOL 2/2 covered",
            "SCHEMA 2/4 partial",
            "STATE 0/2 uncovered",
            "PROVIDER 0/2 n/a",
            "SECURITY 0/2 uncovered",
            "TIMEOUT 0/2 uncovered",
            "CONFIG 0/1 uncovered",
        ]
    );
    near(score.percent, 37.5);
    near(score.weighted, 100.0 * (155.0 * 2.0 / 3.0 + 274.0 + 147.0 / 2.0) / (837.0 - 48.0));
    assert_eq!((score.leaves, score.covered), (Tally { counted: 6, of: 16 }, Tally { counted: 1, of: 7 }));
}

#[test]
fn claimed_probes_count_and_are_told_apart() {
    let claims = Claims { variants: set(&["SECURITY-AUTH-BYPASS"]), ..probes(&["fuzz", "negative-path"]) };
    let score = with_claims(Registry::builtin(), &negative_path(), &claims);
    assert_eq!(score.claimed, ["fuzz"], "what is planned needs no claim");
    assert_eq!(score.claimed_variants, ["SECURITY-AUTH-BYPASS"]);
    let alone: Vec<&str> =
        score.applicable_leaves().filter(|leaf| leaf.only_claimed).map(|leaf| leaf.id.as_str()).collect();
    assert_eq!(alone, ["FAULT-TOOL-UNHANDLED-EXCEPTION"]);
    near(score.percent, 37.5);
    let facts = score_declared(Registry::builtin(), &negative_path());
    assert_eq!((facts.claimed.len(), facts.without_claims), (0, None));
    assert_eq!(score.without_claims, Some(facts.figures()));
    assert!(meets(&score, 37.5) && !meets(&score, 37.51), "the figure with claimed probes is gated");
}

#[test]
fn a_claim_makes_its_family_applicable() {
    let mut sources = Sources::default();
    let text = "families: [{ id: A, name: a, weight: 1, needs: agents }]\n\
                leaves: [{ id: FAULT-A-X, meaning: m, probes: [agent], variants: [] }]\n";
    let source = sources.add(SourceFile::new("own.yml", text));
    let registry = Registry::load(&sources, source).unwrap();
    let score = with_claims(&registry, &Planned::default(), &probes(&["agent"]));
    near(score.percent, 100.0);
    assert!(meets(&score, 100.0) && !meets(&score_declared(&registry, &Planned::default()), 0.0));
}

#[test]
fn a_planned_verdict_declares_its_leaf() {
    let planned = Planned { variants: set(&["TOOL-CRASH"]), ..Planned::default() };
    let score = score_declared(Registry::builtin(), &planned);
    assert_eq!((score.leaves.counted, score.variants.counted), (1, 1));
    assert!(leaf_counts(&score, "FAULT-TOOL-UNHANDLED-EXCEPTION"));
}

#[test]
fn a_model_makes_its_family_count() {
    let status = |planned: &Planned| score_declared(Registry::builtin(), planned).families[4].status;
    assert_eq!(status(&Planned::default()), Status::NotApplicable);
    assert_eq!(status(&Planned { agents: true, ..Planned::default() }), Status::Uncovered);
    let claimed = with_claims(Registry::builtin(), &Planned::default(), &probes(&["tool-selection"]));
    assert_eq!(claimed.families[4].status, Status::Partial);
    assert_eq!(status(&Planned { probes: set(&["agent"]), ..Planned::default() }), Status::Covered);
    let without = Planned { variants: set(&["PROVIDER-SCHEMA-REJECTED"]), ..Planned::default() };
    let score = score_declared(Registry::builtin(), &without);
    assert_eq!((score.families[4].status, score.leaves), (Status::NotApplicable, Tally { counted: 0, of: 16 }));
}

#[test]
fn a_shared_variant_counts_for_both_leaves_and_once_itself() {
    let score = score_exercised(Registry::builtin(), &negative_path(), &judged(&["SCHEMA-INPUT-NOT-VALIDATED"]));
    assert!(leaf_counts(&score, "FAULT-SCHEMA-MISSING-REQUIRED") && leaf_counts(&score, "FAULT-SCHEMA-TYPE-MISMATCH"));
    assert_eq!((score.leaves.counted, score.variants.counted), (2, 1));
    assert_eq!(score.families[2].by_leaf[0].by_variant[0].evidence[0].frames, [3, 4]);
}

#[test]
fn settings_decide_what_can_occur() {
    let over =
        |over: &str, at: &str| Planned { settings: [(over.to_owned(), at.to_owned())].into(), ..Planned::default() };
    let variants =
        |planned: &Planned| score_exercised(Registry::builtin(), planned, &JudgedVariants::default()).variants.of;
    let all = variants(&Planned::default());
    assert_eq!(all, 82 - 7);
    let on_stdio = variants(&over("stdio", "2025-11-25"));
    assert_eq!(all - on_stdio, 4, "STALE-SESSION, HTTP-CONTRACT, AUTH-BYPASS and DNS-REBINDING need HTTP");
    assert_eq!(on_stdio - variants(&over("stdio", "2026-07-28")), 1);
    let unjudgeable = score_exercised(
        Registry::builtin(),
        &over("stdio", "2026-07-28"),
        &judged(&["PROTO-REQUEST-BEFORE-INIT", "NO-SUCH-VARIANT"]),
    );
    assert_eq!((unjudgeable.variants.counted, leaf_counts(&unjudgeable, "FAULT-PROTO-UNINITIALIZED")), (0, false));
}

#[test]
fn a_variant_without_cases_was_not_judged() {
    let empty = JudgedVariants { by_variant: [("TOOL-CRASH".to_owned(), Vec::new())].into() };
    assert_eq!(score_exercised(Registry::builtin(), &Planned::default(), &empty).leaves.counted, 0);
}

#[test]
fn thresholds() {
    let score = score_declared(Registry::builtin(), &negative_path());
    near(score.percent, 31.25);
    assert!(meets(&score, 31.25) && meets(&score, 0.0) && !meets(&score, 31.26));
    assert!(meets_weighted(&score, 39.0) && !meets_weighted(&score, 41.0));
    let empty = score_declared(&Registry::default(), &negative_path());
    near(empty.percent, 0.0);
    assert!(!meets(&empty, 0.0) && !meets(&empty, 100.0) && !meets_weighted(&empty, 0.0));
    for (typed, read) in [("0", 0.0), (" 62.5 ", 62.5), ("100", 100.0)] {
        assert_eq!(parse_threshold(typed), Ok(read));
    }
    for typed in ["", " ", "NaN", "nan", "inf", "-inf", "1000", "-1", "100.1", "60%", "sixty"] {
        let refusal = parse_threshold(typed).unwrap_err();
        assert!(refusal.contains("write a percentage"), "{refusal}");
    }
}

#[test]
fn sums_of_thirds_reach_whole_numbers() {
    let leaf =
        |name: &str, probe: &str| format!("  - {{ id: FAULT-{name}, meaning: m, probes: [{probe}], variants: [] }}\n");
    let text = format!(
        "families:\n  - {{ id: A, name: a, weight: 0.1 }}\n  - {{ id: B, name: b, weight: 0.2 }}\nleaves:\n{}{}{}{}{}{}",
        leaf("A-X", "fuzz"),
        leaf("A-Y", "fuzz"),
        leaf("A-Z", "agent"),
        leaf("B-X", "fuzz"),
        leaf("B-Y", "fuzz"),
        leaf("B-Z", "agent"),
    );
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("own.yml", text));
    let registry = Registry::load(&sources, source).unwrap();
    let score = score_declared(&registry, &Planned { probes: set(&["fuzz"]), ..Planned::default() });
    assert!(meets(&score, 200.0 / 3.0) && meets_weighted(&score, 200.0 / 3.0));
}

#[test]
fn an_exercised_leaf_lists_its_cases_and_frames() {
    let of = |case: &str, frames: &[u32]| Evidence { case: case.to_owned(), frames: frames.to_vec() };
    let by_variant = [
        ("TOOL-CRASH".to_owned(), vec![of("a", &[3, 4]), of("b", &[7])]),
        ("TOOL-SPURIOUS-ERROR".to_owned(), vec![of("a", &[4, 5])]),
    ];
    let score =
        score_exercised(Registry::builtin(), &negative_path(), &JudgedVariants { by_variant: by_variant.into() });
    let leaf = &score.families[1].by_leaf[0];
    assert!(leaf.counted, "{leaf:?}");
    let told: Vec<(&str, &[u32])> = leaf.evidence.iter().map(|one| (one.case.as_str(), &*one.frames)).collect();
    assert_eq!(told, [("a", &[3, 4, 5][..]), ("b", &[7][..])]);
}
