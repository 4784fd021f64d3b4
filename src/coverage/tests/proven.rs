//! The score of a proof, over registries of a few variants.

use crate::event::{
    By, FaultAtSubject, Kill, LeftOut, MutantPlace, MutantResult, MutantSubject, PlantedMutant, SubjectKind, Verdict,
};
use crate::taxonomy::score::Status;
use crate::taxonomy::{Family, Holds, Leaf, Mutant, Mutants, Revisions, Tier, Transport, Variant, VariantSeverity};

use super::super::*;
use super::near;

/// A variant that can occur everywhere; one whose name ends in `-HTTP` needs HTTP, one in `-N` has no mutant.
fn variant(id: &str) -> Variant {
    let meaning = "m".to_owned();
    let mutant = Mutant {
        id: id.to_lowercase(),
        meaning,
        fault: None,
        start: None,
        shown_by: None,
        needs: Vec::new(),
        at_once: false,
    };
    let is_over_http = id.ends_with("-HTTP");
    Variant {
        id: id.into(),
        meaning: "m".into(),
        severity: VariantSeverity::High,
        holds: Holds::Must,
        revisions: Revisions::All,
        transports: if is_over_http { vec![Transport::Http] } else { vec![Transport::Stdio, Transport::Http] },
        provoke: "p".into(),
        oracle: "o".into(),
        tier: Tier::Frames,
        imitation: None,
        also: Vec::new(),
        unplanted: None,
        live: None,
        mutants: Mutants::Listed(if id.ends_with("-N") { Vec::new() } else { vec![mutant] }),
    }
}

fn leaf(id: &str, variants: &[&str], shared: &[&str]) -> Leaf {
    Leaf {
        id: id.into(),
        meaning: "m".into(),
        probes: vec!["fuzz".into()],
        example: None,
        references: Vec::new(),
        variants: variants.iter().map(|id| variant(id)).collect(),
        shared: shared.iter().map(|id| (*id).to_owned()).collect(),
    }
}

fn family(id: &str, weight: f64, leaves: Vec<Leaf>) -> Family {
    Family { id: id.into(), name: "n".into(), weight, needs: None, leaves }
}

/// Two families of weights three and one.
fn registry() -> Registry {
    let first = vec![leaf("A-X", &["A1", "A2", "A3-HTTP"], &[]), leaf("A-Y", &["A4", "A5-N"], &["B1"])];
    let second = vec![leaf("B-X", &["B1"], &[]), leaf("B-Y", &["B2-N"], &[]), leaf("B-Z", &[], &[])];
    let families = vec![family("A", 3.0, first), family("B", 1.0, second)];
    Registry { families, ..Registry::default() }
}

/// One letter a verdict, in the order of [`Verdict`]; several for several mutants.
fn mutants(told: &[(&str, &str)]) -> Vec<MutantResult> {
    let verdict = |letter| match letter {
        'k' => Verdict::Killed,
        's' => Verdict::Survived,
        '?' => Verdict::Undecided,
        'u' => Verdict::Unreached,
        'r' => Verdict::Redundant,
        _ => Verdict::LiveOnly,
    };
    let of = |(variant, letters): &(&str, &str)| {
        letters.chars().enumerate().map(|(at, letter)| mutant(variant, at, verdict(letter))).collect::<Vec<_>>()
    };
    told.iter().flat_map(of).collect()
}

fn mutant(variant: &str, at: usize, verdict: Verdict) -> MutantResult {
    let kill = Kill { case: format!("case {at}"), by: By::Scan, code: "c".into(), message: "m".into() };
    MutantResult {
        id: format!("{variant}-{at}"),
        meaning: "m".into(),
        variant: variant.into(),
        leaf: "L".into(),
        verdict,
        live: false,
        only_on_stderr: false,
        reason: None,
        change: Vec::new(),
        mutants: vec![PlantedMutant {
            target: "s.yml@server/2025-11-25".into(),
            subject: MutantSubject::session(),
            verdict,
            reason: None,
            places: vec![MutantPlace {
                field: String::new(),
                verdict,
                kill: (verdict == Verdict::Killed).then_some(kill),
            }],
        }],
        missing: Vec::new(),
    }
}

fn scored(told: &[(&str, &str)], left_out: &[&str]) -> Score {
    let left_out: Vec<LeftOut> = left_out.iter().map(|id| LeftOut::new(*id, "r")).collect();
    let settings = [("stdio".to_owned(), "2025-11-25".to_owned())].into();
    proven(
        &registry(),
        &Planned { settings, ..Planned::default() },
        &Proved::of(&mutants(told), table(told).iter(), &left_out),
    )
}

/// The faults of the same mutants, each at a subject of its own.
fn table(told: &[(&str, &str)]) -> Vec<FaultAtSubject> {
    let fault = |mutant: MutantResult| FaultAtSubject {
        target: "s.yml@server/2025-11-25".into(),
        subject: MutantSubject { kind: SubjectKind::Tool, name: mutant.id },
        variant: mutant.variant,
        leaf: mutant.leaf,
        verdict: mutant.verdict,
        killed: usize::from(mutant.verdict == Verdict::Killed),
        planted: 1,
    };
    mutants(told).into_iter().map(fault).collect()
}

/// The variants and the leaves, of all families and then of each, with the words for the families.
fn check(told: &[(&str, &str)], left_out: &[&str], expected: &str) {
    let score = scored(told, left_out);
    let families: Vec<String> =
        score.families.iter().map(|f| format!("{} {} {}", f.variants, f.leaves, f.status.word())).collect();
    assert_eq!(format!("{} | {}", score.variants, families.join(" | ")), expected, "{told:?} {left_out:?}");
    near(score.percent, 100.0 * figure(score.variants));
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn figure(tally: crate::taxonomy::score::Tally) -> f64 {
    if tally.of == 0 { 0.0 } else { tally.counted as f64 / tally.of as f64 }
}

#[test]
fn a_variant_takes_all_of_its_planted_mutants() {
    check(&[("A1", "k"), ("A2", "k"), ("A4", "k"), ("B1", "k")], &[], "4/4 | 3/3 2/2 covered | 1/1 1/1 covered");
    check(&[("A1", "kk"), ("A2", "k"), ("A4", "s"), ("B1", "s")], &[], "2/4 | 2/3 1/2 partial | 0/1 0/1 uncovered");
    for open in ["s", "?", "u", "ks", "sk", "k?", "ku", "urk"] {
        check(&[("A1", open)], &[], "0/4 | 0/3 0/2 uncovered | 0/1 0/1 uncovered");
    }
    for proof in ["k", "kkk", "kr", "lkr"] {
        check(&[("A1", proof)], &[], "1/4 | 1/3 0/2 partial | 0/1 0/1 uncovered");
    }
}

#[test]
fn what_no_suite_can_reach_is_no_part_of_the_figure() {
    check(&[("A1", "r"), ("A2", "rl"), ("A4", "k"), ("B1", "k")], &[], "2/2 | 1/1 1/1 covered | 1/1 1/1 covered");
    check(&[("A1", "u"), ("A2", "s")], &["A1", "A2", "A4", "B1"], "0/0 | 0/0 0/0 n/a | 0/0 0/0 n/a");
    check(&[("A5-N", "k"), ("A3-HTTP", "k")], &[], "1/5 | 1/4 0/2 partial | 0/1 0/1 uncovered");
}

#[test]
fn leaving_a_test_out_never_raises_the_figure() {
    let with = scored(&[("A1", "k"), ("A2", "s"), ("A4", "k"), ("B1", "k")], &[]);
    let without = scored(&[("A1", "k"), ("A2", "u"), ("A4", "k"), ("B1", "k")], &[]);
    let nobody_tried = scored(&[("A1", "k"), ("A4", "k"), ("B1", "k")], &[]);
    for score in [&without, &nobody_tried] {
        assert_eq!((score.variants, score.leaves), (with.variants, with.leaves));
    }
}

#[test]
fn a_shared_variant_proves_both_leaves_and_counts_once() {
    let both = scored(&[("A4", "k"), ("B1", "k")], &[]);
    let one = scored(&[("A4", "k"), ("B1", "s")], &[]);
    let counted = |score: &Score| (score.families[0].by_leaf[1].counted, score.families[1].by_leaf[0].counted);
    assert_eq!((counted(&both), counted(&one)), ((true, true), (false, false)));
    assert_eq!((both.variants.counted, one.variants.counted), (2, 1));
    assert_eq!(both.families[0].by_leaf[1].evidence.len(), 1, "one case killed both");
}

#[test]
fn families_weigh_by_their_share_of_variants() {
    near(scored(&[("A1", "k"), ("B1", "k")], &[]).weighted, 100.0 * (3.0 / 3.0 + 1.0) / 4.0);
    near(scored(&[("A1", "k")], &["B1"]).weighted, 100.0 / 3.0);
}

#[test]
fn evidence_is_the_first_case_of_each_kill() {
    let score = scored(&[("A1", "kk"), ("A2", "ks")], &[]);
    let cases = |at: usize| score.families[0].by_leaf[0].by_variant[at].evidence.iter().map(|one| one.case.clone());
    assert_eq!(cases(0).collect::<Vec<_>>(), ["case 0", "case 1"]);
    assert_eq!(cases(1).count(), 0);
}

#[test]
fn thresholds_look_at_variants() {
    let score = scored(&[("A1", "k"), ("A2", "s"), ("A4", "s"), ("B1", "s")], &[]);
    assert!(meets(&score, 25.0) && !meets(&score, 25.1));
    let nothing = scored(&[], &["A1", "A2", "A4", "B1"]);
    assert!(!meets(&nothing, 0.0) && !meets_weighted(&nothing, 0.0));
    assert!(nothing.families.iter().all(|family| family.status == Status::NotApplicable));
    let told: Vec<bool> = gates(&score, Some(25.0), Some(90.0)).iter().map(|gate| gate.met).collect();
    assert_eq!(told, [true, false]);
}
