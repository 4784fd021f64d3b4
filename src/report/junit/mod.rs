//! JUnit XML, as Jenkins, GitLab and the GitHub actions show it best.
//!
//! - One `testsuite` for each suite file, named after the file: paths are unique, names of suites are not.
//! - `classname` is the path of the file without its extension, with dots for slashes. Jenkins makes package and class
//!   of it, GitLab groups by it and drops cases without one; together with `name` it identifies a case everywhere.
//! - `name` holds the row, and server and revision where a suite has several, so that no two cases fall together.
//! - `file` and `line` make GitLab link to the suite and the GitHub actions annotate it; where the suite was made from a
//!   command line, there are none.
//! - What could not be judged is `skipped`, never a pass; what a server did outside of any case is a case of its own.
//! - Coverage stands in the properties of its suite; if the suite has several servers, the name of each ends with one.
//! - What was proven stands in the properties of every suite, like everything else about the whole run.
//! - Requests and answers are written for cases that need attention; the JSON report has those of all cases.

mod case;
mod text;

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::DateTime;
use quick_junit::{Property, TestSuite, XmlString};

use crate::event::{Figure, Gate, GateVerdict, ProvenSuite, SuiteScore};
use crate::taxonomy::score::Score;

use super::fold::{Report, SuiteReport};
use super::proven::MutantCounts;
use super::{Format, wording};

pub(crate) const FORMAT: Format = Format {
    name: "junit",
    about: "JUnit XML for Jenkins, GitLab, GitHub actions and most others",
    shows_passed: false,
    render: |report, _| text(&document(report)),
};

/// The report before it is written.
pub(crate) fn document(report: &Report) -> quick_junit::Report {
    let mut document = quick_junit::Report::new("mcprove");
    if let Some(started) = report.run_started()
        && let Some(timestamp) = i64::try_from(started.started_unix_ms).ok().and_then(DateTime::from_timestamp_millis)
    {
        document.set_timestamp(timestamp);
    }
    document.set_time(report.duration().unwrap_or_default());
    for suite in report.suites() {
        document.add_test_suite(test_suite(report, &suite));
    }
    document
}

/// A report as it is written.
pub(crate) fn text(document: &quick_junit::Report) -> String {
    let written = document.to_string();
    debug_assert!(written.is_ok(), "memory does not refuse: {written:?}");
    text::without_commands(&written.unwrap_or_default())
}

fn test_suite(report: &Report, suite: &SuiteReport<'_>) -> TestSuite {
    let mut element = TestSuite::new(text::attribute(suite.file));
    let sum = suite.cases.iter().map(|result| result.duration_us).sum();
    element.set_time(Duration::from_micros(sum));
    if wording::is_written(report, suite.file) {
        element.extra.insert(XmlString::new("file"), text::attribute(suite.file));
    }
    element.add_property(property("suite", suite.name));
    if let Some(run) = report.run_started() {
        element.add_property(property("program", &run.program));
    }
    if let Some(run) = report.run_finished() {
        let unfinished = [("interrupted", usize::from(run.interrupted)), ("not_run", run.not_run)];
        let told = unfinished.iter().filter(|(_, count)| *count > 0);
        element.add_properties(told.map(|(name, count)| property(name, &count.to_string())));
    }
    element.add_properties(coverage(report, suite.file).iter().map(|(name, value)| property(name, value)));
    element.add_properties(proof(report, suite.file).iter().map(|(name, value)| property(name, value)));
    let several = suite.has_several_servers();
    element.add_test_cases(suite.sessions.iter().map(|result| case::test_case(result, several)));
    element.add_test_cases(suite.cases.iter().map(|result| case::test_case(result, several)));
    element
}

/// The coverage of one suite as properties, with the registry of faults that is counted.
fn coverage(report: &Report, file: &str) -> Vec<(String, String)> {
    let Some(coverage) = report.run_finished().and_then(|run| run.coverage.as_ref()) else { return Vec::new() };
    let of_file: Vec<&SuiteScore> = coverage.suites.iter().filter(|suite| suite.file == file).collect();
    let mut told = vec![("taxonomy".to_owned(), coverage.declared.taxonomy.to_string())];
    let claimed: BTreeSet<&str> = match of_file.as_slice() {
        [] if coverage.suites.is_empty() => coverage.claimed.iter().map(String::as_str).collect(),
        suites => suites.iter().flat_map(|suite| &suite.claimed).map(String::as_str).collect(),
    };
    if !claimed.is_empty() {
        told.push(("claimed".to_owned(), claimed.into_iter().collect::<Vec<_>>().join(",")));
    }
    let figures = |level: &str, score: &Score, server: &str| {
        [
            (format!("{level}_percent{server}"), format!("{:.1}", score.percent)),
            (format!("{level}_percent_weighted{server}"), format!("{:.1}", score.weighted)),
            (format!("{level}_faults{server}"), score.leaves.to_string()),
        ]
    };
    let mut tell = |declared: &Score, exercised: &Score, gates: &[Gate], server: &str| {
        told.extend(figures("declared", declared, server));
        told.extend(figures("exercised", exercised, server));
        told.extend(gates.iter().map(|gate| threshold(gate, server)));
    };
    match of_file.as_slice() {
        [] if report.suites().len() == 1 => tell(&coverage.declared, &coverage.exercised, &coverage.gates, ""),
        [] => {}
        [one] => tell(&one.declared, &one.exercised, &one.gates, ""),
        several => {
            for one in several {
                tell(&one.declared, &one.exercised, &one.gates, &format!("@{}", one.server));
            }
        }
    }
    told
}

/// The name and the value of the property for a threshold.
fn threshold(gate: &Gate, server: &str) -> (String, String) {
    let figure = match gate.figure {
        Figure::Plain => "threshold",
        Figure::Weighted => "threshold_weighted",
    };
    let verdict = match gate.verdict() {
        GateVerdict::Met => "met",
        GateVerdict::Missed => "not met",
        GateVerdict::NotJudged => "not judged",
    };
    (format!("{figure}{server}"), format!("{} {verdict}", gate.threshold))
}

/// The result of a proof as properties: a mutant is no test, and would spoil the counts.
fn proof(report: &Report, file: &str) -> Vec<(String, String)> {
    let Some(proof) = report.run_finished().and_then(|run| run.proof.as_deref()) else { return Vec::new() };
    let of_file: Vec<&ProvenSuite> = proof.suites.iter().filter(|suite| suite.file == file).collect();
    let scores: Vec<(String, &Score)> = match of_file.as_slice() {
        [] if proof.suites.is_empty() => vec![(String::new(), &proof.proven)],
        [one] => vec![(String::new(), &one.proven)],
        several => several.iter().map(|one| (format!("@{}", one.server), &one.proven)).collect(),
    };
    let figures = scores.into_iter().flat_map(|(server, score)| {
        [
            (format!("proven_percent{server}"), format!("{:.1}", score.percent)),
            (format!("proven_percent_weighted{server}"), format!("{:.1}", score.weighted)),
            (format!("proven_variants{server}"), score.variants.to_string()),
        ]
    });
    let mutants = MutantCounts::of(&proof.mutants);
    let counts = [
        ("mutants_killed", mutants.killed_count().to_string()),
        ("mutants_killed_by_scans", mutants.killed_by_scans.to_string()),
        ("mutants_survived", mutants.survived.to_string()),
        ("mutants_undecided", mutants.undecided.to_string()),
        ("mutants_not_called", mutants.not_called.to_string()),
        ("mutants_unreached", mutants.unreached.to_string()),
    ];
    let untried = (mutants.untried > 0).then(|| ("mutants_untried".to_owned(), mutants.untried.to_string()));
    // Those of several suites stand with their other scores.
    let gates = proof.gates.iter().map(|gate| threshold(gate, ""));
    let counts = counts.map(|(name, count)| (name.to_owned(), count));
    figures.chain(gates).chain(counts).chain(untried).collect()
}

fn property(name: &str, value: &str) -> Property {
    Property::new(text::attribute(name), text::attribute(value))
}
