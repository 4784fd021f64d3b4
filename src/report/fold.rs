//! The report of a run, folded from its events.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{
    CaseInfo, CaseResult, CaseStarted, Event, Finding, Outcome, RequirementLevel, RunEnd, RunFinished, RunStarted,
    ServerReady, SessionJudged, SessionTraced, ToolsChosen, UnjudgedTools,
};

use super::limit;
use super::parity::{self, Parity};
use super::repetition::{self, Repetition};

/// Everything that documents are made of.
///
/// Holds the events with their texts cut, so that a document made during the run and one made from its recording are
/// the same.
#[derive(Debug, Clone, Default)]
pub struct Report {
    events: Vec<Event>,
    totals: Totals,
    /// The cases that began and did not end.
    running: Vec<CaseStarted>,
    /// No document shows what passed cases sent, so that it is not kept.
    is_lean: bool,
    /// The event that ended the run in the middle of its cases.
    cut_off_by: Option<RunEnd>,
    /// The runs before this one, the earliest first.
    earlier: Vec<Report>,
}

/// The number of cases by outcome; every case is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Totals {
    /// Passed at the first attempt.
    pub passed: usize,
    /// Passed after an earlier attempt had not.
    pub flaky: usize,
    /// Broke a SHOULD.
    pub warned: usize,
    /// Broke an expectation or a MUST, in a way that no baseline excuses.
    pub failed: usize,
    /// Failed in no way that a baseline does not excuse.
    pub known: usize,
    /// Could not be run because the environment or this program broke.
    pub errored: usize,
    /// Ran and could not be judged.
    pub inconclusive: usize,
    /// Not run, for a reason.
    pub skipped: usize,
    /// Not run, as the server has nothing that they are about.
    pub inapplicable: usize,
}

impl Totals {
    /// All cases that are about something that the server has.
    pub fn cases(&self) -> usize {
        let judged = self.passed + self.flaky + self.warned + self.failed + self.known;
        judged + self.errored + self.inconclusive + self.skipped
    }

    /// The same, and those that do not apply to the server.
    pub(crate) fn with_inapplicable(&self) -> usize {
        self.cases() + self.inapplicable
    }

    pub(crate) fn count(&mut self, result: &CaseResult) {
        let number = match result.outcome {
            Outcome::Passed if result.is_flaky() => &mut self.flaky,
            Outcome::Passed => &mut self.passed,
            Outcome::Failed if result.is_known() => &mut self.known,
            Outcome::Failed => &mut self.failed,
            Outcome::Warned => &mut self.warned,
            Outcome::Skipped if result.is_inapplicable() => &mut self.inapplicable,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Inconclusive => &mut self.inconclusive,
            Outcome::Errored => &mut self.errored,
        };
        *number += 1;
    }
}

/// The cases of one file.
#[derive(Debug)]
pub(crate) struct SuiteReport<'a> {
    /// The file as the user knows it.
    pub(crate) file: &'a str,
    /// The suite's name.
    pub(crate) name: &'a str,
    /// In declared order.
    pub(crate) cases: Vec<&'a CaseResult>,
    /// One for each server that broke the protocol outside of any case.
    pub(crate) sessions: Vec<CaseResult>,
    /// Of the cases.
    pub(crate) totals: Totals,
    has_several_servers: bool,
}

impl SuiteReport<'_> {
    /// The time spent on its cases, which overlap when they run in parallel; a suite takes no longer than its run.
    pub(crate) fn duration(&self, report: &Report) -> Duration {
        let sum = Duration::from_micros(self.cases.iter().map(|result| result.duration_us).sum());
        report.duration().map_or(sum, |run| run.min(sum))
    }

    /// Its cases talk to more than one server or revision, so that names must say to which.
    pub(crate) fn has_several_servers(&self) -> bool {
        self.has_several_servers
    }
}

impl Report {
    /// Keeps from now on only what documents need that show no exchange of a case that passed at once, and not when a case
    /// began: less than half as much of a large run.
    #[must_use]
    pub fn lean(self) -> Self {
        Self { is_lean: true, ..self }
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::CaseStarted(started) => {
                if self.running.iter().all(|known| known.id != started.id) {
                    self.running.push(limit::cut_start(started));
                }
                if self.is_lean {
                    return;
                }
            }
            Event::CaseFinished(result) => {
                self.totals.count(result);
                self.running.retain(|started| started.id != result.case.id);
                if self.is_lean && result.outcome == Outcome::Passed && result.earlier.is_empty() {
                    self.events.push(limit::without_exchanges(result));
                    return;
                }
            }
            Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
        self.events.push(limit::event(event));
    }

    /// Takes in that the run ends here, in the middle of its cases, unless its end is known already.
    pub fn cut_off(&mut self, by: RunEnd) {
        self.cut_off_by = Some(by).filter(|_| self.run_finished().is_none());
    }

    /// Returns true if the run was ended in the middle of its cases.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off_by.is_some()
    }

    /// Returns true if the time that the user gave the run was over before its last case was.
    pub(crate) fn is_out_of_time(&self) -> bool {
        let ended_by = self.cut_off_by.or_else(|| self.run_finished()?.ended_by);
        ended_by == Some(RunEnd::OutOfTime)
    }

    /// The names of the cases that began and did not end.
    pub(crate) fn running(&self) -> Vec<&str> {
        self.running.iter().map(|started| &*started.name).collect()
    }

    /// Folds a whole recording.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut report = Self::default();
        events.into_iter().for_each(|event| report.apply(event));
        report
    }

    /// The same run with those before it, the earliest first, which documents may compare it with.
    #[must_use]
    pub fn after(self, earlier: Vec<Self>) -> Self {
        Self { earlier, ..self }
    }

    /// The runs before this one, the earliest first.
    pub fn earlier(&self) -> &[Self] {
        &self.earlier
    }

    /// The events in the order in which they came, long texts cut.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The number of cases by outcome.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The facts known before the first case.
    pub fn run_started(&self) -> Option<&RunStarted> {
        self.events.iter().find_map(|event| if let Event::RunStarted(started) = event { Some(started) } else { None })
    }

    /// The end of the run; `None` while it lasts, and if its recording breaks off.
    pub fn run_finished(&self) -> Option<&RunFinished> {
        self.events
            .iter()
            .rev()
            .find_map(|event| if let Event::RunFinished(end) = event { Some(end.as_ref()) } else { None })
    }

    /// The tools that were not judged.
    pub(crate) fn unjudged(&self) -> &[UnjudgedTools] {
        self.run_finished().map_or(&[], |finished| &finished.unjudged)
    }

    /// From the first to the last event.
    pub fn duration(&self) -> Option<Duration> {
        self.run_finished().map(|finished| Duration::from_micros(finished.duration_us))
    }

    /// The cases in declared order: by file, line and id, whatever the order in which they finished.
    pub fn cases(&self) -> Vec<&CaseResult> {
        self.suites().into_iter().flat_map(|suite| suite.cases).collect()
    }

    /// The differences between servers and revisions, by the file of the suite.
    pub fn parities(&self) -> Vec<(&str, Parity)> {
        self.suites().iter().filter_map(|suite| Some((suite.file, parity::of(suite)?))).collect()
    }

    /// The share of passes of cases that ran more than once.
    pub fn repetition(&self) -> Option<Repetition> {
        repetition::of(&self.cases())
    }

    /// Which tools generated cases call, and which they leave alone.
    pub fn tools_chosen(&self) -> impl Iterator<Item = &ToolsChosen> {
        self.events.iter().filter_map(|event| if let Event::ToolsChosen(chosen) = event { Some(chosen) } else { None })
    }

    /// The servers that answered, in order.
    pub fn servers(&self) -> impl Iterator<Item = &ServerReady> {
        self.events.iter().filter_map(|event| if let Event::ServerReady(ready) = event { Some(ready) } else { None })
    }

    /// The findings outside of any case, in order.
    pub fn judgements(&self) -> impl Iterator<Item = &SessionJudged> {
        self.events.iter().filter_map(|event| if let Event::SessionJudged(found) = event { Some(found) } else { None })
    }

    /// The sessions that were traced, in the order in which they ended.
    pub(crate) fn traces(&self) -> impl Iterator<Item = &SessionTraced> {
        self.events
            .iter()
            .filter_map(|event| if let Event::SessionTraced(traced) = event { Some(&**traced) } else { None })
    }

    /// One case for each server and revision that broke the protocol outside of any case, in declared order.
    pub fn protocol_cases(&self) -> Vec<CaseResult> {
        let mut cases: Vec<CaseResult> = Vec::new();
        for judged in self.judgements().filter(|judged| !judged.findings.is_empty()) {
            let case = protocol_case(judged);
            match cases.iter_mut().find(|known| known.case.id == case.case.id) {
                Some(known) => merge(known, case),
                None => cases.push(case),
            }
        }
        cases.sort_by(|a, b| declaration_order(&a.case, &b.case));
        cases
    }

    /// The suites in the order of the command line; cases of files that it does not name follow, by name.
    pub(crate) fn suites(&self) -> Vec<SuiteReport<'_>> {
        let mut suites = SuiteList::default();
        for info in self.run_started().iter().flat_map(|started| &started.suites) {
            suites.find_or_add(&info.file, &info.name);
        }
        let named = suites.list.len();
        for event in &self.events {
            if let Event::CaseFinished(result) = event {
                let suite = suites.find_or_add(&result.case.file, &result.case.suite);
                suite.totals.count(result);
                suite.cases.push(result);
            }
        }
        for judged in self.judgements() {
            suites.find_or_add(&judged.file, &judged.suite);
        }
        for session in self.protocol_cases() {
            if let Some(at) = suites.places.get(session.case.file.as_str()) {
                suites.list[*at].sessions.push(session);
            }
        }
        let mut suites = suites.list;
        suites[named..].sort_by_key(|suite| suite.file);
        for suite in &mut suites {
            suite.cases.sort_by(|a, b| declaration_order(&a.case, &b.case));
            suite.has_several_servers =
                suite.cases.windows(2).any(|pair| target(&pair[0].case) != target(&pair[1].case));
        }
        suites
    }
}

/// The suites so far, each once.
#[derive(Default)]
struct SuiteList<'a> {
    list: Vec<SuiteReport<'a>>,
    /// By file.
    places: BTreeMap<&'a str, usize>,
}

impl<'a> SuiteList<'a> {
    fn find_or_add(&mut self, file: &'a str, name: &'a str) -> &mut SuiteReport<'a> {
        let at = *self.places.entry(file).or_insert(self.list.len());
        if at == self.list.len() {
            let (cases, sessions, totals) = (Vec::new(), Vec::new(), Totals::default());
            self.list.push(SuiteReport { file, name, cases, sessions, totals, has_several_servers: false });
        }
        &mut self.list[at]
    }
}

/// The server and the revision that a case is about.
fn target(info: &CaseInfo) -> (&str, &str) {
    (&info.server, &info.revision)
}

fn declaration_order(a: &CaseInfo, b: &CaseInfo) -> Ordering {
    a.line.cmp(&b.line).then_with(|| a.position.cmp(&b.position)).then_with(|| a.id.cmp(&b.id))
}

/// The findings of a session as a case of its own, so that every document shows them in the same way.
pub(crate) fn protocol_case(judged: &SessionJudged) -> CaseResult {
    let must = judged.findings.iter().any(|finding| finding.level == RequirementLevel::Must);
    let outcome = if must { Outcome::Failed } else { Outcome::Warned };
    CaseResult {
        findings: judged.findings.clone(),
        protocol_revision: judged.revision.clone(),
        ..CaseResult::beside(judged.info(), outcome, String::new())
    }
}

fn merge(known: &mut CaseResult, more: CaseResult) {
    if more.outcome == Outcome::Failed {
        known.outcome = Outcome::Failed;
    }
    for finding in more.findings {
        let same = |other: &Finding| other.code == finding.code && other.message == finding.message;
        if !known.findings.iter().any(same) {
            known.findings.push(finding);
        }
    }
}
