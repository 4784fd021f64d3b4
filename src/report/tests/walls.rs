//! However much goes wrong, nobody has to read a wall of text.

use crate::event::{CaseResult, Event, Finding, Outcome, Reason, RunEnd, RunFinished};
use crate::source::{Color, Style};

use super::super::{Report, View, failure, render, summary};
use super::fixture::{self, failed, passed};

#[test]
fn many_causes_end_in_lines_and_then_in_a_number() {
    let of_its_own = |number: usize| Finding::new("equals", format!("the value differs for reason {number}"));
    let text = text_of((0..500).map(|number| broken(number, of_its_own(number))));
    assert!(text.contains("and 400 cases not shown here; `--report json=report.json` writes all of them"), "{text}");
    let height = text.lines().count();
    assert!(height < 350, "{height} lines");
}

#[test]
fn the_end_of_a_run_says_what_ended_it() {
    let finished = |by| {
        let end = RunFinished { interrupted: true, ended_by: by, not_run: 0, ..fixture::finished() };
        Event::RunFinished(Box::new(end))
    };
    let mut cut_off = Report::default();
    cut_off.apply(&Event::CaseFinished(Box::new(passed(1, "one", None))));
    for (by, ended, cut) in [
        (RunEnd::OutOfTime, "the time of `--budget` was over", "; the time of `--budget` was over"),
        (RunEnd::Interrupted, "interrupted", "; interrupted"),
    ] {
        let mut report = Report::default();
        report.apply(&Event::CaseFinished(Box::new(passed(1, "one", None))));
        report.apply(&finished(Some(by)));
        for format in ["tap", "markdown"] {
            let text = render(format, &report, &Style::new(Color::Never, 100)).unwrap();
            assert!(text.contains(ended), "{format}: {text}");
        }
        let mut report = cut_off.clone();
        report.cut_off(by);
        let text = summary(&report, View::WHOLE, &Style::new(Color::Never, 100));
        assert!(text.contains(cut), "{text}");
    }
}

#[test]
fn one_cause_is_shown_three_times() {
    let text = text_of((0..500).map(|number| broken(number, Finding::new("equals", "the value differs"))));
    assert!(text.contains("and 497 more with the same cause: case 3, case 4,"), "{text}");
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn rows_of_a_test_with_one_cause_are_shown_once() {
    let row = |number: usize| {
        let mut case = broken(0, Finding::new("equals", "the value differs"));
        case.case.id = format!("row {number}");
        case.case.row = Some(format!("id={number}"));
        case
    };
    let text = text_of((0..12).map(row));
    assert_eq!(text.matches("error[equals]").count(), 1, "{text}");
    assert!(text.contains("and 11 more with the same cause: case 0 [id=1],"), "{text}");
}

#[test]
fn a_store_that_cannot_be_copied_is_shown_once_and_every_store_by_its_name() {
    let case = |number: usize| {
        let name = if number < 20 { "a" } else { "b" };
        let found = Finding::new("bad-store", format!("the fixture `{name}` cannot be copied: the disk is full"));
        CaseResult { outcome: Outcome::Errored, ..broken(number, found) }
    };
    let text = text_of((0..42).map(case));
    assert_eq!(text.matches("error[bad-store]").count(), 2, "{text}");
    for more in ["and 19 more with the same cause: case 1,", "and 21 more with the same cause: case 21,"] {
        assert!(text.contains(more), "{text}");
    }
}

#[test]
fn what_a_scan_found_everywhere_is_shown_once_and_hides_nothing_else() {
    let scanned = |number: usize| {
        let message = format!("the key `key {number}` of a `_meta` breaks the grammar");
        Finding { frame: Some(7), ..Finding::new("meta-key", message) }
    };
    let mut cases: Vec<CaseResult> = (0..39).map(|number| broken(number, scanned(number))).collect();
    cases[0].findings.extend([scanned(40), scanned(41)]);
    cases[5].findings.push(Finding::new("equals", "the value differs"));
    let text = text_of(cases.into_iter());
    assert_eq!(text.matches("error[meta-key]").count(), 1, "{text}");
    assert!(text.contains("meta-key 2 times more"), "{text}");
    assert!(text.contains("and 38 more with the same cause: case 1, case 2,"), "{text}");
    assert!(text.contains("error[equals]: the value differs"), "{text}");
    assert!(text.contains("meta-key as well, which is shown above"), "{text}");
}

#[test]
fn one_missing_validation_is_one_failure() {
    let case = |number: usize| {
        let tool = if number < 20 { "add" } else { "echo" };
        let message = format!("the call of `{tool}` was served although the tool's own schema forbids it");
        let mut case = broken(number, Finding::new("forbidden-served", message));
        case.case.name = format!("negative_path / {tool} without argument {number}");
        case.case.probes = vec!["negative-path".to_owned()];
        case
    };
    let text = text_of((0..42).map(case));
    assert_eq!(text.matches("error[forbidden-served]").count(), 1, "{text}");
    assert!(text.contains("and 41 more with the same cause: add without argument 1, add without"), "{text}");
    let events: Vec<Event> = (0..42).map(|number| Event::CaseFinished(Box::new(case(number)))).collect();
    let annotations = render("github", &Report::of(&events), &Style::PLAIN).unwrap();
    assert_eq!(annotations.lines().count(), 1, "{annotations}");
    assert!(annotations.contains("and 41 more cases with the same cause"), "{annotations}");
}

#[test]
fn one_case_with_everything_wrong_fits_on_a_page() {
    let long = "a line of evidence\n".repeat(1000);
    let mut found = Finding::new("contains", "word ".repeat(1000)).with_evidence("stderr", long.as_str());
    for number in 0..20 {
        found = found.with_evidence(&format!("evidence {number}"), long.as_str());
    }
    found.diff = Some(long.clone());
    let case = failed(passed(1, "everything", None), vec![found; 50]);
    let text = failure(&case, &Style::new(Color::Never, 80));
    assert!(text.contains("and 49 findings more"), "{text}");
    assert!(text.lines().count() < 80, "{}", text.lines().count());
}

#[test]
fn names_of_any_length_leave_room() {
    for (length, width) in [(1, 40), (35, 40), (39, 40), (300, 40), (300, 200)] {
        let case = failed(passed(7, &"n".repeat(length), Some("id=1")), vec![Finding::new("equals", "differs")]);
        let text = failure(&case, &Style::new(Color::Never, width));
        assert!(text.contains("examples/users.yml:7"), "{text}");
    }
}

#[test]
fn forty_columns_lose_nothing() {
    let mut case = failed(
        passed(7, "a case", None),
        vec![Finding::new("missing-value", format!("{}and its end", "some words ".repeat(16)))],
    );
    let reason = format!("{}and its last word", "a reason ".repeat(14));
    case.exchanges[0].sent =
        r#"{"name":"Ann","email":"ann@example.com","roles":["reader","writer","owner"]}"#.to_owned();
    let text = failure(&case, &Style::new(Color::Never, 40));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("and its end"), "{text}");
    assert!(text.replace("\n         ", "").contains(r#"["reader","writer","owner"]}"#), "{text}");
    (case.findings, case.reason, case.outcome) =
        (Vec::new(), Some(Reason::NotEvaluated(reason)), Outcome::Inconclusive);
    let text = failure(&case, &Style::new(Color::Never, 40));
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("and its last word"), "{text}");
}

#[test]
fn names_and_reasons_are_broken_at_the_width() {
    for name in ["漢字".repeat(60), "some words ".repeat(12), "n".repeat(150)] {
        let case = failed(passed(7, &name, None), vec![Finding::new("equals", "differs")]);
        let mut case = CaseResult { rerun_command: String::new(), exchanges: Vec::new(), ..case };
        let wide = |text: &str| text.lines().map(unicode_width::UnicodeWidthStr::width).max();
        let text = failure(&case, &Style::new(Color::Never, 40));
        assert!(wide(&text) <= Some(40), "{text}");
        case.outcome = Outcome::Skipped;
        case.reason = Some(Reason::SkippedBySuite(format!("{name}, to the end")));
        let text = render("text", &Report::of(&[Event::CaseFinished(Box::new(case))]), &Style::new(Color::Never, 60));
        let text = text.unwrap();
        assert!(wide(&text) <= Some(60), "{text}");
        assert!(name.starts_with('漢') || text.contains("to the end"), "{text}");
    }
}

#[test]
fn a_run_without_a_single_case_says_what_to_do() {
    let text = render("text", &Report::default(), &Style::PLAIN).unwrap();
    insta::assert_snapshot!(text);
    for format in super::super::FORMATS {
        let _ = (format.render)(&Report::default(), &Style::PLAIN);
    }
}

fn broken(number: usize, finding: Finding) -> CaseResult {
    let mut result = failed(passed(number + 1, &format!("case {number}"), None), vec![finding]);
    result.exchanges.clear();
    result
}

fn text_of(results: impl Iterator<Item = CaseResult>) -> String {
    let events: Vec<Event> = results.map(|result| Event::CaseFinished(Box::new(result))).collect();
    render("text", &Report::of(&events), &Style::new(Color::Never, 80)).unwrap()
}
