//! What a baseline excuses, what refutes it, and that what is written can be read.

use crate::event::{CaseResult, Finding, Outcome, SessionJudged};
use crate::source::{SourceFile, Sources, Style, render};

use super::{Baseline, BaselineMatches, BaselineScope, BaselineWriter, load};

const TODAY: u64 = 1_767_225_600_000;

fn read(text: &str) -> Result<Baseline, String> {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("known.yml", text));
    let told = |found: &[crate::source::Diagnostic]| -> String {
        found.iter().map(|found| render(found, &sources, Style::PLAIN)).collect()
    };
    load(&sources, id, TODAY).map(|(baseline, _)| baseline).map_err(|mistakes| told(&mistakes))
}

/// A case with findings of these codes, as the runner would report it under a baseline.
fn case(baseline: &Baseline, name: &str, outcome: Outcome, codes: &[&'static str]) -> CaseResult {
    let entry = read("- { case: 'a.yml::x', reason: r }").unwrap();
    let mut result = BaselineMatches::new(&entry).close(BaselineScope::Whole, &["a.yml".to_owned()]).broken.remove(0);
    result.case.id = format!("a.yml::{name}@s/auto");
    result.outcome = outcome;
    result.findings = codes.iter().map(|code| Finding::new(*code, "said")).collect();
    baseline.mark(&result.case.id, &mut result.findings);
    result
}

/// The codes of what is wrong with the baseline after these cases.
fn verdict(text: &str, cases: &[(&str, Outcome, &[&'static str])], scope: BaselineScope) -> Vec<String> {
    let baseline = read(text).unwrap();
    let mut matches = BaselineMatches::new(&baseline);
    for (name, outcome, codes) in cases {
        matches.case(&case(&baseline, name, *outcome, codes));
    }
    let verdict = matches.close(scope, &["a.yml".to_owned()]);
    let broken = verdict.broken.iter().map(|case| case.findings[0].code.to_string());
    broken.chain((0..verdict.unmatched).map(|_| "unmatched".to_owned())).collect()
}

#[test]
fn findings_are_excused_one_by_one() {
    let baseline = read("- { case: 'a.yml::x', check: length, reason: issue 1 }").unwrap();
    for (name, codes, known, first) in [
        ("x", &["length"][..], true, "length"),
        ("x[id=1]", &["length"], true, "length"),
        ("x", &["length", "equals"], false, "equals"),
        ("y", &["length"], false, "length"),
    ] {
        let result = case(&baseline, name, Outcome::Failed, codes);
        assert_eq!((result.is_known(), result.findings[0].code.as_str()), (known, first), "{name} {codes:?}");
    }
    assert!(!case(&baseline, "x", Outcome::Errored, &["length"]).is_known());
}

#[test]
fn entries_are_held_to_their_word() {
    use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped};
    let whole = "- { case: 'a.yml::x', reason: r }";
    let check = "- { case: 'a.yml::x', check: length, reason: r }";
    let open = "- { case: 'a.yml::*', reason: r }";
    let other = "- { case: 'b.yml::x', reason: r }";
    let over = "- { case: 'a.yml::x', reason: r, until: 2025-12-31 }";
    for (text, cases, told) in [
        (whole, &[("x", Failed, &["length"][..])][..], &[][..]),
        (whole, &[("x", Passed, &[])], &["unexpected-pass"]),
        (check, &[("x", Failed, &["length"])], &[]),
        (check, &[("x", Failed, &["equals"])], &["unexpected-pass"]),
        (open, &[("x", Failed, &["equals"]), ("y", Passed, &[])], &["unexpected-pass"]),
        (whole, &[("x", Errored, &["timeout"])], &[]),
        (whole, &[("x", Inconclusive, &[])], &[]),
        (whole, &[("x", Skipped, &[])], &[]),
        (whole, &[("y", Passed, &[])], &["stale-entry"]),
        (other, &[("x", Passed, &[])], &["unmatched"]),
        (over, &[("x", Passed, &[])], &[]),
    ] {
        assert_eq!(verdict(text, cases, BaselineScope::Whole), told, "{text} {cases:?}");
    }
    assert_eq!(verdict(whole, &[("y", Passed, &[])], BaselineScope::Part), ["unmatched"]);
}

#[test]
fn the_day_itself_still_counts() {
    let excuses = |until: &str| {
        let baseline = read(&format!("- {{ case: 'a.yml::x', reason: r, until: {until} }}")).unwrap();
        case(&baseline, "x", Outcome::Failed, &["length"]).is_known()
    };
    assert!(excuses("2026-01-01"));
    assert!(!excuses("2025-12-31"));
}

#[test]
fn what_is_written_can_be_read_and_excuses_everything() {
    let hostile = "\"\\ \u{1b}[31m\u{202e}\u{e0041}\u{ffff}# 'x': {}\n- y";
    let none = Baseline::default();
    let mut writer = BaselineWriter::default();
    assert!(read(&writer.text()).is_ok_and(|empty| empty.entries.is_empty()));
    writer.case(&case(&none, hostile, Outcome::Failed, &["length", "length", "equals"]));
    writer.case(&case(&none, "y", Outcome::Errored, &["timeout"]));
    let judged = SessionJudged {
        file: "a.yml".into(),
        suite: "s".into(),
        line: 1,
        from_command_line: false,
        server: "s".into(),
        revision: "2025-11-25".into(),
        findings: vec![Finding::new("stray-output", "x")],
    };
    writer.session(&judged);
    assert_eq!(writer.len(), 3);
    let baseline = read(&writer.text()).unwrap();
    assert!(case(&baseline, hostile, Outcome::Failed, &["length", "equals"]).is_known());
    let mut findings = judged.findings.clone();
    baseline.mark(&judged.id(), &mut findings);
    assert_eq!(findings[0].baseline_reason.as_deref(), Some("to be explained"));
}
