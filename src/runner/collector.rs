//! Sees everything that a run tells, once and in order: counts it, judges it, hands it on without secrets.

use std::sync::Arc;

use super::coverage::CoverageCollector;
use super::snapshot::{self, Recordings};
use super::{Observer, RunMessage, Summary};
use crate::baseline::{self, BaselineScope, BaselineVerdict};
use crate::event::{
    CaseResult, Event, FailureClass, Finding, Outcome, Reason, Section, ServerStarts, SessionJudged, ShardFacts,
};
use crate::plan::{CaseSource, Plan};

/// Sees every message once, in order.
pub(crate) struct RunCollector<'a> {
    /// The files of the suites, with which the ids of their cases begin.
    pub(crate) suite_files: Vec<String>,
    pub(crate) judge: CoverageCollector,
    /// The recorded answers.
    pub(crate) recorded: snapshot::SnapshotLedger,
    /// The known failures.
    pub(crate) known: baseline::BaselineMatches<'a>,
    pub(crate) summary: Summary,
    /// The settings of all blocks.
    pub(crate) blocks: Vec<Arc<dyn CaseSource>>,
    /// Results that sections of blocks need.
    pub(crate) kept: Vec<CaseResult>,
    /// Sections about tools, each server and revision once.
    pub(crate) sections: Vec<Section>,
    pub(crate) starts: ServerStarts,
    pub(crate) recordings: Arc<Recordings>,
    pub(crate) observer: &'a mut dyn Observer,
}

impl RunCollector<'_> {
    pub(crate) fn on_message(&mut self, message: RunMessage) {
        match message {
            RunMessage::Event(mut event) => {
                if let Event::SessionJudged(judged) = &mut event {
                    self.known.mark(judged);
                }
                self.count(&event);
                self.event(event);
            }
            RunMessage::Planned(more) => self.observer.on_planned(more),
            RunMessage::Session(frames) => {
                self.judge.session(&frames);
                self.observer.session(&frames, &self.recordings.redactor);
            }
            RunMessage::Started(starts) => self.starts.add(starts),
            RunMessage::Section(section) => {
                if !self.sections.contains(&section) {
                    self.sections.push(section);
                }
            }
            RunMessage::Snapshot(seen) => self.recorded.add(seen),
            RunMessage::SuiteCheck(result) => self.on_suite_check(&result),
            RunMessage::SnapshotFiles(files) => self.recorded.mark_used(files),
        }
    }

    /// A verdict that no task came to.
    pub(crate) fn on_suite_check(&mut self, result: &CaseResult) {
        self.judge.case(result);
        self.known.case(result);
        self.summary.failed += usize::from(result.outcome == Outcome::Failed && !result.is_known());
        self.event(Event::CaseFinished(Box::new(result.clone())));
    }

    pub(crate) fn event(&mut self, mut event: Event) {
        let redactor = &self.recordings.redactor;
        // Also where there is no secret: what a server wrote must not pass for one.
        event.keep_reproductions(&|text| redactor.restorable(text));
        event.change_texts(&|text| redactor.text(text));
        self.observer.event(&event);
    }

    /// Tells of recordings and of entries of the baseline that this run showed to be wrong.
    pub(crate) fn close(&mut self, plan: &Plan, not_run: usize) {
        let was_whole = not_run == 0 && !self.summary.interrupted;
        self.summary.snapshots = self.recorded.news(was_whole);
        let is_telling = was_whole && plan.selection.is_everything() && self.summary.errored == 0;
        let scope = if is_telling { BaselineScope::Whole } else { BaselineScope::Part };
        let files: Vec<String> = plan
            .suites
            .iter()
            .map(|planned| planned.suite.file.clone())
            .chain(plan.cases().map(|case| case.place.file.clone()))
            .collect();
        // Of a part, that is decided with the other parts.
        let is_part = plan.selection.shard.is_some();
        let verdict = if is_part { BaselineVerdict::default() } else { self.known.close(scope, &files) };
        self.summary.failed += verdict.broken.len();
        self.summary.unmatched = verdict.unmatched;
        if !verdict.broken.is_empty() {
            // An entry can be judged only if all cases that it may name have run.
            self.summary.beyond_cases.extend(plan.suites.iter().map(|planned| planned.suite.file.clone()));
        }
        for broken in verdict.broken {
            self.event(Event::CaseFinished(Box::new(broken)));
        }
    }

    /// What the run of which this is a part needs of it beside its cases.
    pub(crate) fn facts(&mut self) -> ShardFacts {
        let stale = std::mem::take(&mut self.summary.snapshots.stale);
        let stale_snapshots = stale.into_iter().map(|file| file.display().to_string()).collect();
        ShardFacts { stale_snapshots, ..self.judge.facts() }
    }

    /// The sections that blocks add to the summary.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for block in &self.blocks {
            for section in block.section_of_cases(&self.kept) {
                if !sections.contains(&section) {
                    sections.push(section);
                }
            }
        }
        sections.extend(self.sections.iter().cloned());
        sections
    }

    /// The id of a case without secrets, for a file; its suite is to be found again, so the name of that stays.
    fn remembered_id(&self, id: &str) -> String {
        let redactor = &self.recordings.redactor;
        let named = self.suite_files.iter().find_map(|file| Some((file, id.strip_prefix(file.as_str())?)));
        named.map_or_else(|| redactor.text(id), |(file, rest)| format!("{file}{}", redactor.text(rest)))
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::CaseFinished(result) => {
                if self.blocks.iter().any(|block| block.keeps(result)) {
                    self.kept.push(CaseResult { findings: Vec::new(), exchanges: Vec::new(), ..(**result).clone() });
                }
                self.judge.case(result);
                self.recorded.finish_case(result);
                self.known.case(result);
                let id = self.remembered_id(&result.case.id);
                self.summary.count(result, id);
            }
            Event::SessionJudged(judged) => {
                self.known.session(judged);
                self.summary.count_session(judged);
            }
            Event::ServerReady(ready) => self.judge.ready(ready),
            Event::RunStarted(_)
            | Event::ToolsChosen(_)
            | Event::CaseStarted(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
    }
}

impl Summary {
    /// Counts what a recorded run tells.
    #[cfg(feature = "cli")]
    pub(crate) fn count_event(&mut self, event: &Event) {
        if let Event::CaseFinished(result) = event {
            self.count(result, result.case.id.clone());
        }
        if let Event::SessionJudged(judged) = event {
            self.count_session(judged);
        }
    }

    /// Counts a case that is decided; `id` is its id without secrets.
    fn count(&mut self, result: &CaseResult, id: String) {
        match result.outcome {
            Outcome::Failed => self.failed += usize::from(!result.is_known()),
            Outcome::Errored => self.errored += 1,
            Outcome::Passed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => {}
        }
        self.judged += usize::from(matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed));
        let is_internal = |finding: &Finding| finding.class == Some(FailureClass::Internal);
        self.internal += usize::from(result.findings.iter().any(is_internal));
        let was_reached = !matches!(result.reason, Some(Reason::NotRun(_)));
        if was_reached {
            self.decided.push(id.clone());
        }
        if result.is_flaky() {
            self.flaky.push(id.clone());
        }
        let has_failed = matches!(result.outcome, Outcome::Failed | Outcome::Errored | Outcome::Inconclusive);
        if has_failed && !result.is_known() || !was_reached {
            self.not_passed.push(id);
        }
    }

    /// Counts what a server did beside all cases.
    fn count_session(&mut self, judged: &SessionJudged) {
        if judged.failures().next().is_some() {
            self.failed += 1;
            self.beyond_cases.insert(judged.file.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Attempt, RequirementLevel, RunEnd};

    fn found(level: RequirementLevel, is_known: bool) -> Finding {
        let baseline_reason = is_known.then(|| "issue 7".to_owned());
        Finding { level, baseline_reason, ..Finding::new("equals", "it differs") }
    }

    #[test]
    fn the_exit_code_follows_from_what_failed_and_is_not_known() {
        use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped, Warned};
        use RequirementLevel::{Must, Should};
        let case = |outcome, findings: Vec<Finding>| CaseResult { findings, ..CaseResult::of_test("a", outcome) };
        let not_run = CaseResult { reason: Some(Reason::NotRun(RunEnd::Interrupted)), ..case(Skipped, Vec::new()) };
        let internal = Finding::failure(FailureClass::Internal, "it broke");
        for (what, result, [failed, errored, judged, decided, not_passed]) in [
            ("passed", case(Passed, vec![]), [0, 0, 1, 1, 0]),
            ("warned", case(Warned, vec![found(Should, false)]), [0, 0, 1, 1, 0]),
            ("failed", case(Failed, vec![found(Must, false)]), [1, 0, 1, 1, 1]),
            ("failed as is known", case(Failed, vec![found(Must, true)]), [0, 0, 1, 1, 0]),
            (
                "failed in two ways, one of them known",
                case(Failed, vec![found(Must, true), found(Must, false)]),
                [1, 0, 1, 1, 1],
            ),
            (
                "failed as is known, and warned",
                case(Failed, vec![found(Must, true), found(Should, false)]),
                [0, 0, 1, 1, 0],
            ),
            ("failed without a finding", case(Failed, vec![]), [1, 0, 1, 1, 1]),
            ("errored", case(Errored, vec![internal]), [0, 1, 0, 1, 1]),
            ("inconclusive", case(Inconclusive, vec![]), [0, 0, 0, 1, 1]),
            ("skipped", case(Skipped, vec![]), [0, 0, 0, 1, 0]),
            ("not reached", not_run, [0, 0, 0, 0, 1]),
        ] {
            let mut summary = Summary::default();
            summary.count(&result, "a".to_owned());
            let Summary { decided: reached, not_passed: left, .. } = &summary;
            let counts = [summary.failed, summary.errored, summary.judged, reached.len(), left.len()];
            assert_eq!(counts, [failed, errored, judged, decided, not_passed], "{what}");
            assert_eq!(summary.internal, errored, "{what}");
        }
    }

    #[test]
    fn a_case_that_passed_after_a_failure_is_flaky() {
        let attempt = Attempt { outcome: Outcome::Failed, duration_us: 0, findings: Vec::new() };
        for (outcome, expected) in [(Outcome::Passed, 1), (Outcome::Failed, 0), (Outcome::Warned, 0)] {
            let mut summary = Summary::default();
            let result = CaseResult { earlier: vec![attempt.clone()], ..CaseResult::of_test("a", outcome) };
            summary.count(&result, "a".to_owned());
            assert_eq!(summary.flaky.len(), expected, "{outcome:?}");
        }
    }

    #[test]
    fn a_server_that_breaks_a_must_beside_all_cases_fails_the_run() {
        use RequirementLevel::{Must, Should};
        for (findings, failed) in [
            (vec![], 0),
            (vec![found(Should, false)], 0),
            (vec![found(Must, true)], 0),
            (vec![found(Must, true), found(Must, false)], 1),
            (vec![found(Must, false), found(Must, false)], 1),
        ] {
            let judged = SessionJudged {
                file: "s.yml".to_owned(),
                line: 1,
                suite: "s".to_owned(),
                from_command_line: false,
                server: "server".to_owned(),
                revision: "auto".to_owned(),
                findings,
            };
            let mut summary = Summary::default();
            summary.count_session(&judged);
            assert_eq!((summary.failed, summary.beyond_cases.len()), (failed, failed), "{:?}", judged.findings);
        }
    }
}
