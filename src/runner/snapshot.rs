//! Snapshots during a run: what was recorded comes in as texts, what should be recorded leaves as texts.
//!
//! Values lose their secrets before they are compared, so that none can reach a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Emitter, RunMessage, rerun};
use crate::diagnosis;
use crate::event::{CaseResult, Finding, Outcome, RequirementLevel};
use crate::matching::snapshot_text;
use crate::plan::{Body, Case, Plan, Script, SnapshotFiles, SuitePlan, snapshot_files};
use crate::redact::Redactor;
use crate::source::{PathStyle, Sources};
use crate::suite::Snapshot;

/// The recordings as they were before the run.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    /// The texts by file.
    pub known: BTreeMap<PathBuf, String>,
    /// True if differences fail a case.
    pub purpose: Purpose,
}

/// The treatment of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// It fails the case.
    #[default]
    Compare,
    /// It is handed on, to be recorded.
    Update,
}

/// The counts of a run's recordings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotNews {
    /// Recordings to write; only for [`Purpose::Update`].
    pub changes: Vec<SnapshotChange>,
    /// Files for which cases that passed had answers that differ, and the cases.
    pub conflicts: Vec<(PathBuf, Vec<String>)>,
    /// Files that no test uses.
    pub stale: Vec<PathBuf>,
}

/// A recording that should be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChange {
    /// The file.
    pub file: PathBuf,
    /// The ids of the cases that saw it.
    pub cases: Vec<String>,
    /// The current answer, without secrets; `None` if there is none.
    pub known: Option<String>,
    /// The recorded answer.
    pub wanted: String,
}

/// The result of a comparison with a recording.
pub(crate) struct SnapshotCheck {
    case: String,
    file: PathBuf,
    wanted: String,
    /// True if the recording differs.
    differs: bool,
}

/// The settings of comparisons.
#[derive(Default)]
pub(crate) struct Recordings {
    pub(crate) snapshots: Arc<Snapshots>,
    pub(crate) redactor: Redactor,
}

/// Compares the answers of one case.
pub(crate) struct SnapshotRecorder<'a> {
    pub(crate) emitter: &'a Emitter,
    pub(crate) planned: &'a SuitePlan,
    pub(crate) case: &'a Case,
    /// True if an answer is to be recorded that differs from its recording, so that nothing was judged.
    pub(crate) has_recorded: bool,
}

impl SnapshotRecorder<'_> {
    /// The findings about an answer, and the doubts about the snapshot.
    pub(crate) fn check(
        &mut self,
        snapshot: &Snapshot,
        message: &Json,
        sources: &Sources,
        exchange: usize,
    ) -> Vec<Finding> {
        let taken = match snapshot.sample.take(message) {
            Ok(taken) => taken,
            Err(mismatch) => return vec![diagnosis::of_mismatch(*mismatch, sources, Some(exchange))],
        };
        let Recordings { snapshots, redactor } = self.emitter.recordings.as_ref();
        let value = redactor.value(taken.value);
        let known = snapshots.known.get(&snapshot.file).map(String::as_str);
        let mismatch = snapshot.sample.compare(known, &value, &display_path(&snapshot.file));
        let idle = taken.idle.into_iter().map(|idle| diagnosis::of_mismatch(idle, sources, Some(exchange)));
        let mut found: Vec<Finding> = idle.map(|found| Finding { level: RequirementLevel::Should, ..found }).collect();
        if snapshots.purpose == Purpose::Update {
            let (case, file) = (self.case.id.clone(), snapshot.file.clone());
            let seen = SnapshotCheck { case, file, wanted: snapshot_text(&value), differs: mismatch.is_some() };
            self.has_recorded |= seen.differs;
            self.emitter.send(RunMessage::Snapshot(seen));
        } else if let Some(mismatch) = mismatch {
            let is_of_revision = known.is_some_and(|known| snapshot.sample.differs_by_revision(known, &value));
            let help = if is_of_revision {
                "only parts that depend on the revision differ; record other parts with `at:`, or one snapshot for each revision with `per: revision`".to_owned()
            } else {
                format!("if this is right, record it with `{} --update`", rerun::command(self.planned, self.case))
            };
            found.insert(0, Finding { help: Some(help), ..diagnosis::of_mismatch(mismatch, sources, Some(exchange)) });
        }
        found
    }
}

/// The name of a file in messages, the same on every system.
fn display_path(file: &Path) -> String {
    PathStyle::HERE.with_slashes(&file.display().to_string())
}

/// Hands on what a check has recorded; it is written if the case passes.
pub(crate) fn hand_on(emitter: &Emitter, case: &Case, file: PathBuf, value: &Json) {
    let wanted = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    emitter.send(RunMessage::Snapshot(SnapshotCheck { case: case.id.clone(), file, wanted, differs: true }));
}

/// Tells which files the steps of a case use, whether or not it gets as far as using them.
pub(crate) fn announce(emitter: &Emitter, script: &Script) {
    let snapshots = script.steps.iter().filter_map(|step| step.snapshot.as_ref());
    let files: Vec<PathBuf> = snapshots.map(|snapshot| snapshot.file.clone()).collect();
    if !files.is_empty() {
        emitter.send(RunMessage::SnapshotFiles(files));
    }
}

/// Collects what cases tell about snapshots.
pub(crate) struct SnapshotLedger {
    recordings: Arc<Recordings>,
    suites: Vec<SnapshotFiles>,
    used: BTreeSet<PathBuf>,
    /// The ids of cases that stand for others.
    templates: BTreeSet<String>,
    /// True if every template became cases, and the whole plan was wanted.
    is_complete: bool,
    /// Of cases that are not decided yet.
    pending: Vec<SnapshotCheck>,
    seen: BTreeMap<PathBuf, Vec<SnapshotCheck>>,
}

impl SnapshotLedger {
    pub(crate) fn new(plan: &Plan, recordings: Arc<Recordings>) -> Self {
        let templates = plan.cases().filter(|case| matches!(case.body, Body::Template(_)));
        Self {
            recordings,
            suites: plan.suites.iter().map(|planned| snapshot_files(planned.snapshot_scope())).collect(),
            used: BTreeSet::new(),
            templates: templates.map(|case| case.id.clone()).collect(),
            is_complete: plan.whole().selection.is_everything(),
            pending: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    pub(crate) fn mark_used(&mut self, files: Vec<PathBuf>) {
        self.used.extend(files);
    }

    /// Counts once its case is decided; of several attempts, the last one.
    pub(crate) fn add(&mut self, seen: SnapshotCheck) {
        self.pending.retain(|other| (&other.case, &other.file) != (&seen.case, &seen.file));
        self.pending.push(seen);
    }

    /// Takes in what a case saw if it passed: an answer that is wrong in other ways is no example.
    pub(crate) fn finish_case(&mut self, result: &CaseResult) {
        self.is_complete &= !self.templates.contains(&result.case.id);
        let has_passed = matches!(result.outcome, Outcome::Passed | Outcome::Warned);
        let (own, others) = std::mem::take(&mut self.pending).into_iter().partition(|seen| seen.case == result.case.id);
        self.pending = others;
        for seen in if has_passed { own } else { Vec::new() } {
            self.seen.entry(seen.file.clone()).or_default().push(seen);
        }
    }

    /// The counts that are reported at the end.
    pub(crate) fn news(&self, was_whole: bool) -> SnapshotNews {
        let mut news = SnapshotNews::default();
        for (file, seen) in &self.seen {
            let cases = seen.iter().map(|seen| seen.case.clone()).collect();
            if seen.windows(2).any(|pair| pair[0].wanted != pair[1].wanted) {
                news.conflicts.push((file.clone(), cases));
            } else if let Some(first) = seen.first().filter(|first| first.differs) {
                let Recordings { snapshots, redactor } = self.recordings.as_ref();
                let known = snapshots.known.get(file).map(|text| redactor.text(text));
                news.changes.push(SnapshotChange { file: file.clone(), cases, known, wanted: first.wanted.clone() });
            }
        }
        if was_whole && self.is_complete {
            let known = self.recordings.snapshots.known.keys();
            news.stale = known.filter(|file| self.is_stale(file)).cloned().collect();
        }
        news
    }

    fn is_stale(&self, file: &Path) -> bool {
        let owners = self.suites.iter().filter(|suite| file.parent() == Some(&suite.folder));
        let is_named = |suite: &SnapshotFiles| suite.files.contains_key(file);
        // Nothing is known of a loop that never ran, for example since its test is skipped.
        let is_unknown = |suite: &SnapshotFiles| {
            suite.beginning_of(file).is_some_and(|beginning| {
                let begins = |used: &PathBuf| suite.beginning_of(used) == Some(beginning);
                !self.used.iter().any(begins)
            })
        };
        !self.used.contains(file)
            && owners.clone().next().is_some()
            && !owners.clone().any(|suite| is_named(suite) || is_unknown(suite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ledger for the folder `s`, in which the files `known` are recorded and `named` belong to a test.
    fn ledger(known: &[&str], named: &[&str], beginnings: &[&str]) -> SnapshotLedger {
        let mut sources = Sources::default();
        let source = sources.add(crate::source::SourceFile::new("s.yml", ""));
        let span = crate::source::Span { source, start: 0, end: 0 };
        let known = known.iter().map(|file| (Path::new("s").join(file), "old".to_owned())).collect();
        let snapshots = Arc::new(Snapshots { known, purpose: Purpose::Update });
        let files = SnapshotFiles {
            folder: PathBuf::from("s"),
            files: named.iter().map(|file| (Path::new("s").join(file), span)).collect(),
            beginnings: beginnings.iter().map(|name| (*name).to_owned()).collect(),
        };
        SnapshotLedger {
            recordings: Arc::new(Recordings { snapshots, redactor: Redactor::default() }),
            suites: vec![files],
            used: BTreeSet::new(),
            templates: BTreeSet::new(),
            is_complete: true,
            pending: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    fn finish(ledger: &mut SnapshotLedger, case: &str, wanted: &[&str], outcome: Outcome) {
        for wanted in wanted {
            let (case, file) = (case.to_owned(), Path::new("s").join("a.json"));
            ledger.add(SnapshotCheck { case, file, wanted: (*wanted).to_owned(), differs: *wanted != "old" });
        }
        ledger.finish_case(&CaseResult::of_test(case, outcome));
    }

    #[test]
    fn an_answer_is_recorded_once_all_cases_that_passed_agree() {
        use Outcome::{Failed, Passed, Warned};
        for (what, cases, changes, conflicts) in [
            ("as recorded", &[("one", &["old"][..], Passed)][..], 0, 0),
            ("changed", &[("one", &["new"], Passed)], 1, 0),
            ("changed, with a warning", &[("one", &["new"], Warned)], 1, 0),
            ("of a case that failed", &[("one", &["new"], Failed)], 0, 0),
            ("two cases agree", &[("one", &["new"], Passed), ("two", &["new"], Passed)], 1, 0),
            ("two cases differ", &[("one", &["new"], Passed), ("two", &["newer"], Passed)], 0, 1),
            ("the other one failed", &[("one", &["new"], Passed), ("two", &["newer"], Failed)], 1, 0),
            ("an earlier attempt differs", &[("one", &["odd", "new"], Passed)], 1, 0),
        ] {
            let mut ledger = ledger(&["a.json"], &["a.json"], &[]);
            for (case, wanted, outcome) in cases {
                finish(&mut ledger, case, wanted, *outcome);
            }
            let news = ledger.news(true);
            assert_eq!((news.changes.len(), news.conflicts.len()), (changes, conflicts), "{what}");
            assert!(news.changes.iter().all(|change| change.wanted == "new"), "{what}");
        }
    }

    #[test]
    fn a_file_is_stale_only_where_no_test_can_use_it() {
        for (what, used, beginnings, was_whole, expected) in [
            ("no test names it", &[][..], &[][..], true, &["s/gone.json"][..]),
            ("a test used it", &["gone.json"], &[], true, &[]),
            ("a loop that never ran may use it", &[], &["go"], true, &[]),
            ("the loop ran and did not use it", &["go-on.json"], &["go"], true, &["s/gone.json"]),
            ("the run ended early", &[], &[], false, &[]),
        ] {
            let mut ledger = ledger(&["a.json", "gone.json"], &["a.json"], beginnings);
            ledger.mark_used(used.iter().map(|file| Path::new("s").join(file)).collect());
            let stale: Vec<String> = ledger.news(was_whole).stale.iter().map(|file| display_path(file)).collect();
            assert_eq!(stale, expected, "{what}");
        }
    }
}
