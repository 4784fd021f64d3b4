//! Which cases differ between servers and revisions.

use crate::event::{CaseInfo, CaseResult, Event, Outcome, Reason};

use super::super::Report;
use super::fixture::passed;

/// Cases by name, each with its outcomes on the targets `a` and `b`; `None` does not apply there.
fn check(cases: &[(&str, [Option<Outcome>; 2])], expected: (&[&str], usize, usize)) {
    let mut events = Vec::new();
    for (line, (name, outcomes)) in cases.iter().enumerate() {
        for (server, outcome) in ["a", "b"].into_iter().zip(outcomes) {
            let result = passed(line, name, None);
            let case = CaseInfo { server: server.into(), id: format!("{name}@{server}"), ..result.case.clone() };
            let not_spoken = outcome.is_none().then(|| Reason::RevisionNotSupported {
                supported: "2025-11-25".into(),
                requested: "2026-07-28".into(),
            });
            let outcome = outcome.unwrap_or(Outcome::Skipped);
            let result = CaseResult { case, outcome, reason: not_spoken, ..result };
            events.push(Event::CaseFinished(Box::new(result)));
        }
    }
    let report = Report::of(&events);
    let parities = report.parities();
    let [(_, parity)] = parities.as_slice() else { panic!("{parities:?}") };
    let differing: Vec<&str> = parity.differing.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((differing.as_slice(), parity.agreeing, parity.partial), expected);
    assert_eq!(parity.targets, ["a", "b"]);
}

#[test]
fn verdicts_are_compared_where_there_are_two() {
    use Outcome::{Failed, Inconclusive, Passed, Skipped};
    check(&[("same", [Some(Passed), Some(Passed)]), ("both fail", [Some(Failed), Some(Failed)])], (&[], 2, 0));
    check(&[("differs", [Some(Passed), Some(Failed)])], (&["differs"], 0, 0));
    check(&[("open", [Some(Passed), Some(Inconclusive)])], (&["open"], 0, 0));
    check(&[("not spoken", [Some(Passed), None]), ("nowhere", [None, None])], (&[], 0, 1));
    check(&[("offered by one", [Some(Passed), Some(Skipped)])], (&["offered by one"], 0, 0));
    check(&[("skipped", [Some(Skipped), Some(Skipped)])], (&[], 0, 0));
}

#[test]
fn one_target_is_no_comparison() {
    let report = Report::of(&[Event::CaseFinished(Box::new(passed(1, "alone", None)))]);
    assert!(report.parities().is_empty());
}
