//! The result of a suite.

use std::fmt;

use super::{CaseResult, Event, Outcome, Score, Totals};
use crate::redact::Redactor;
use crate::report::{self, Report};
use crate::runner::{Observer, SessionFrames, Summary};
use crate::source::Style;

/// A suite that ran.
#[derive(Clone)]
pub struct Run {
    report: Report,
    summary: Summary,
    style: Style,
}

impl Run {
    pub(crate) fn new(seen: ReportedRun, summary: Summary, style: Style) -> Self {
        Self { report: seen.0, summary, style }
    }

    /// Stops the test unless every case passed, with the text that a terminal would show.
    ///
    /// Warnings and skipped cases are no failures, as on the command line; a run that judged nothing is one, and so is one
    /// below [`Suite::threshold`](super::Suite::threshold).
    ///
    /// # Panics
    ///
    /// Panics where [`Run::is_passed`] is false.
    #[track_caller]
    pub fn assert_passed(&self) {
        if let Some(problem) = self.problem() {
            panic!("{problem}\n\n{}", self.text().trim_end());
        }
    }

    /// Something was judged, nothing failed or broke, and the threshold is reached where there is one.
    pub fn is_passed(&self) -> bool {
        self.problem().is_none()
    }

    fn problem(&self) -> Option<&'static str> {
        let Summary { failed, errored, judged, .. } = self.summary;
        if failed + errored > 0 {
            return Some("the suite does not pass");
        }
        if judged == 0 {
            return Some("no case reached a verdict");
        }
        report::misses_a_threshold(&self.report).then_some("coverage is below the threshold")
    }

    /// The number of cases of each outcome.
    pub fn totals(&self) -> Totals {
        self.report.totals()
    }

    /// The cases in declared order, with their findings and exchanges.
    pub fn cases(&self) -> Vec<&CaseResult> {
        self.report.cases()
    }

    /// The outcome of the case of that name, the worst where several have it; `None` where none has.
    ///
    /// ```no_run
    /// # fn look(run: mcprove::testing::Run) {
    /// use mcprove::testing::Outcome;
    /// assert_eq!(run.outcome("unknown users are explained"), Some(Outcome::Failed));
    /// # }
    /// ```
    pub fn outcome(&self, name: &str) -> Option<Outcome> {
        let named = self.cases().into_iter().filter(|result| result.case.name == name);
        named.map(|result| result.outcome).max_by_key(|outcome| badness(*outcome))
    }

    /// Everything that happened, in order, without secrets; long texts are cut.
    pub fn events(&self) -> &[Event] {
        self.report.events()
    }

    /// Which faults the suite looks at.
    pub fn declared_score(&self) -> Option<&Score> {
        self.summary.coverage.as_ref().map(|coverage| &coverage.declared)
    }

    /// Which faults the run looked at and came to a verdict on.
    pub fn exercised_score(&self) -> Option<&Score> {
        self.summary.coverage.as_ref().map(|coverage| &coverage.exercised)
    }

    /// The text that a terminal shows at the end of the run.
    pub fn text(&self) -> String {
        self.render("text").unwrap_or_default()
    }

    /// The text that a terminal shows of one case that did not pass, such as a failure of a test of its own.
    pub fn text_of(&self, result: &CaseResult) -> String {
        report::failure(result, &self.style)
    }

    /// The run as JUnit XML.
    pub fn junit(&self) -> String {
        self.render("junit").unwrap_or_default()
    }

    /// The run in any format of `mcprove run --report`; `None` where there is no such format.
    pub fn render(&self, format: &str) -> Option<String> {
        report::render(format, &self.report, &self.style)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

fn badness(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Passed => 0,
        Outcome::Skipped => 1,
        Outcome::Warned => 2,
        Outcome::Inconclusive => 3,
        Outcome::Errored => 4,
        Outcome::Failed => 5,
    }
}

/// Folds the events of a run.
#[derive(Default)]
pub(crate) struct ReportedRun(Report);

impl Observer for ReportedRun {
    fn event(&mut self, event: &Event) {
        match event {
            // No command line runs a case of this test again.
            Event::CaseFinished(result) => {
                let result = CaseResult { rerun_command: String::new(), ..(**result).clone() };
                self.0.apply(&Event::CaseFinished(Box::new(result)));
            }
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => self.0.apply(event),
        }
    }

    fn session(&mut self, _frames: &SessionFrames, _redactor: &Redactor) {}
}
