//! JUnit XML as Jenkins' xUnit plugin takes it, which holds documents against its schema (`junit-10.xsd`) and refuses those
//! that have more.
//!
//! The schema knows neither files, lines and properties of cases, nor how long an earlier attempt took, nor when a run
//! began and how many cases of it were skipped; whatever else the JUnit report says stands here, too.

use quick_junit::{TestCaseStatus, TestRerun};

use super::fold::Report;
use super::{Format, junit};

pub(crate) const FORMAT: Format = Format {
    name: "xunit",
    about: "the same without what the strict schema of Jenkins' xUnit plugin refuses, such as the files and lines of cases",
    shows_passed: false,
    render: |report, _| render(report),
};

fn render(report: &Report) -> String {
    let mut document = junit::document(report);
    document.timestamp = None;
    for case in document.test_suites.iter_mut().flat_map(|suite| &mut suite.test_cases) {
        case.extra.clear();
        case.properties.clear();
        for attempt in attempts(&mut case.status) {
            attempt.time = None;
        }
    }
    let skipped = format!(" skipped=\"{}\"", document.skipped);
    // The first is that of the whole document, which has a fixed name in front of it.
    junit::text(&document).replacen(&skipped, "", 1)
}

fn attempts(status: &mut TestCaseStatus) -> &mut [TestRerun] {
    match status {
        TestCaseStatus::Success { flaky_runs } => flaky_runs,
        TestCaseStatus::NonSuccess { reruns, .. } => &mut reruns.runs,
        TestCaseStatus::Skipped { .. } => &mut [],
    }
}
