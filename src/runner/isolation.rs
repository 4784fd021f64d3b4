//! Checks that no case depends on another: all run in three ways, and their verdicts are compared.
//!
//! The verdicts of the run are those of the first way; the others are heard here and told as what they differ in.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Options, RunCollector, RunMessage, case_result, run_suites};
use crate::event::{CaseResult, CheckResult, Code, Event, Finding, IsolationReport, Outcome, Verdicts};
use crate::plan::{Plan, replan};
use crate::suite::{Order, RestartPolicy};

/// More suspects than this say nothing.
const SUSPECTS: usize = 3;

/// The result of one way of running the cases.
#[derive(Debug, Default)]
struct IsolationRun {
    /// The ids in the order in which the cases began.
    begun: Vec<String>,
    results: BTreeMap<String, CaseResult>,
}

impl IsolationRun {
    fn note(&mut self, event: &Event) {
        match event {
            Event::CaseStarted(started) if started.attempt == 1 => self.begun.push(started.id.clone()),
            Event::CaseFinished(result) => drop(self.results.insert(result.case.id.clone(), (**result).clone())),
            Event::CaseStarted(_)
            | Event::RunStarted(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => {}
        }
    }

    fn outcome(&self, id: &str) -> Option<Outcome> {
        self.results.get(id).map(|result| result.outcome)
    }

    /// The cases that began before this one on the same server.
    fn before(&self, id: &str) -> Vec<&str> {
        let target =
            |id: &str| self.results.get(id).map(|result| (result.case.server.clone(), result.case.revision.clone()));
        let earlier = self.begun.iter().map(String::as_str).take_while(|other| *other != id);
        earlier.filter(|other| target(other) == target(id)).collect()
    }
}

/// The three ways.
#[derive(Debug, Default)]
struct IsolationRuns {
    shared: IsolationRun,
    isolated: IsolationRun,
    shuffled: IsolationRun,
}

/// Runs the cases in three ways; returns how many were not reached, and what differs.
pub(crate) async fn verify(
    plan: &Arc<Plan>,
    options: &Arc<Options>,
    collector: &mut RunCollector<'_>,
) -> (usize, Option<IsolationReport>) {
    // One at a time: cases that run side by side would meet in whatever order it happens.
    let alone = Options { parallel: Some(1), order: None, ..Options::clone(options) };
    let alone = Arc::new(alone);
    let recordings = Arc::clone(&collector.recordings);
    let mut ways = IsolationRuns::default();
    let shared = Arc::new(replan(plan, RestartPolicy::PerSuite, Order::Declared));
    let not_run = run_suites(&shared, &alone, &recordings, &mut |message| {
        if let RunMessage::Event(event) = &message {
            ways.shared.note(event);
        }
        collector.on_message(message);
    })
    .await;
    let others = [
        (RestartPolicy::PerTest, Order::Declared, &mut ways.isolated),
        (RestartPolicy::PerSuite, Order::Shuffled, &mut ways.shuffled),
    ];
    for (policy, order, way) in others {
        let plan = Arc::new(replan(plan, policy, order));
        run_suites(&plan, &alone, &recordings, &mut |message| match message {
            RunMessage::Event(event) => way.note(&event),
            RunMessage::Session(_) | RunMessage::Section(_) | RunMessage::Started(_) => collector.on_message(message),
            // The answers of the first way are recorded, and counted.
            RunMessage::Snapshot(_)
            | RunMessage::SnapshotFiles(_)
            | RunMessage::SuiteCheck(_)
            | RunMessage::Planned(_) => {}
        })
        .await;
    }
    if options.stop.is_set() {
        return (not_run, None);
    }
    let isolation = compare(&ways, options.seed);
    for result in judge_targets(&shared, &ways, &isolation) {
        collector.on_suite_check(&result);
    }
    (not_run, Some(isolation))
}

fn compare(ways: &IsolationRuns, seed: u32) -> IsolationReport {
    let mut isolation = IsolationReport { seed, agreeing: 0, differing: Vec::new() };
    for (id, result) in &ways.shared.results {
        let (Some(isolated), Some(shuffled)) = (ways.isolated.outcome(id), ways.shuffled.outcome(id)) else { continue };
        let shared = result.outcome;
        if shared == isolated && shared == shuffled {
            isolation.agreeing += usize::from(shared != Outcome::Skipped);
            continue;
        }
        let row = result.case.row.as_ref().map(|row| format!(" [{row}]")).unwrap_or_default();
        let name = format!("{}{row}", result.case.name);
        let suspects = suspects(ways, id);
        isolation.differing.push(Verdicts { id: id.clone(), name, shared, isolated, shuffled, suspects });
    }
    isolation
}

/// The cases that came before this one wherever its verdict was not that of the case alone, and nowhere else.
fn suspects(ways: &IsolationRuns, id: &str) -> Vec<String> {
    let alone = ways.isolated.outcome(id);
    let (differs, agrees): (Vec<&IsolationRun>, Vec<&IsolationRun>) =
        [&ways.shared, &ways.shuffled].into_iter().partition(|way| way.outcome(id) != alone);
    let Some((first, more)) = differs.split_first() else { return Vec::new() };
    let suspected: Vec<String> = first
        .before(id)
        .into_iter()
        .filter(|other| more.iter().all(|way| way.before(id).contains(other)))
        .filter(|other| !agrees.iter().any(|way| way.before(id).contains(other)))
        .filter_map(|other| first.results.get(other).map(|result| result.case.name.clone()))
        .collect();
    if suspected.len() > SUSPECTS { Vec::new() } else { suspected }
}

/// The verdict for each server and revision, as a case of its own.
fn judge_targets(plan: &Plan, ways: &IsolationRuns, isolation: &IsolationReport) -> Vec<CaseResult> {
    let mut results = Vec::new();
    for (suite, planned) in plan.suites.iter().enumerate() {
        for at in 0..planned.targets.len() {
            let target = &planned.targets[at];
            let here: Vec<&CaseResult> = ways
                .shared
                .results
                .values()
                .filter(|result| result.outcome != Outcome::Skipped && result.case.server == target.server)
                .filter(|result| result.case.revision == target.protocol.as_str())
                .filter(|result| result.case.id.starts_with(&format!("{}::", planned.suite.file)))
                .collect();
            if here.is_empty() {
                continue;
            }
            let differing = isolation.differing.iter().filter(|row| here.iter().any(|result| result.case.id == row.id));
            let findings = differing.map(|row| finding(row, isolation.seed, &planned.suite.file)).collect();
            let frames = here.iter().filter_map(|result| result.frames.first().copied()).collect();
            let check = CheckResult { frames, ..CheckResult::with_findings(Outcome::Failed, findings) };
            results.push(case_result::of_isolation(plan, suite, at, check, isolation.seed));
        }
    }
    results
}

fn finding(row: &Verdicts, seed: u32, file: &str) -> Finding {
    let Verdicts { name, shared, isolated, shuffled, suspects, .. } = row;
    let [shared, isolated, shuffled] = [shared, isolated, shuffled].map(|outcome| outcome.as_str());
    let after = if suspects.is_empty() { "other cases".to_owned() } else { either(suspects) };
    let message = match (row.shared, row.isolated, row.shuffled) {
        (Outcome::Passed, Outcome::Passed, _) => {
            format!("`{name}` depends on the order: it passed as written and alone, and {shuffled} after {after}")
        }
        (_, Outcome::Passed, _) => {
            format!("`{name}` passes alone, and {shared} after {after}, which left something behind")
        }
        (Outcome::Passed, _, _) => {
            format!("`{name}` passes only after {after}: alone, in a session of its own, it {isolated}")
        }
        (_, _, _) => format!("`{name}` does not pass, and how it ends depends on {after}"),
    };
    let help = format!(
        "prepare the case's data in its own `setup`, or give every case a fresh server with `restart_policy: per_test`; `mcprove run {} --repeat 10` shows whether the case is flaky by itself",
        shell_words::quote(file)
    );
    Finding { help: Some(help), ..Finding::new(Code::NOT_ISOLATED, message) }
        .with_evidence("shared", shared)
        .with_evidence("isolated", isolated)
        .with_evidence("shuffled", format!("{shuffled} (seed {seed})"))
}

fn either(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    use Outcome::{Failed, Passed, Skipped};

    /// Cases in the order in which they began, each with its outcome.
    type Way = &'static [(&'static str, Outcome)];
    /// The cases that differ, with their suspects and what is said of them.
    type Differing = &'static [(&'static str, &'static [&'static str], &'static str)];

    fn way(cases: Way) -> IsolationRun {
        let mut run = IsolationRun::default();
        for (name, outcome) in cases {
            run.begun.push((*name).to_owned());
            run.results.insert((*name).to_owned(), CaseResult::of_test(name, *outcome));
        }
        run
    }

    #[test]
    fn a_case_depends_on_others_where_its_verdict_changes_with_its_place() {
        const FIRST: &str = "`a` and `b` pass in every way";
        let rows: [(&str, [Way; 3], Differing); 8] = [
            (
                FIRST,
                [&[("a", Passed), ("b", Passed)], &[("a", Passed), ("b", Passed)], &[("b", Passed), ("a", Passed)]],
                &[],
            ),
            (
                "`a` leaves something behind",
                [&[("a", Passed), ("b", Failed)], &[("a", Passed), ("b", Passed)], &[("b", Passed), ("a", Passed)]],
                &[("b", &["a"], "`b` passes alone, and failed after `a`, which left something behind")],
            ),
            (
                "`b` needs what `a` makes",
                [&[("a", Passed), ("b", Passed)], &[("a", Passed), ("b", Failed)], &[("b", Failed), ("a", Passed)]],
                &[("b", &["a"], "`b` passes only after `a`: alone, in a session of its own, it failed")],
            ),
            (
                "`a` fails after `b`, which the suite never shows",
                [&[("a", Passed), ("b", Passed)], &[("a", Passed), ("b", Passed)], &[("b", Passed), ("a", Failed)]],
                &[("a", &["b"], "`a` depends on the order: it passed as written and alone, and failed after `b`")],
            ),
            (
                "`b` fails alone and after `a`, and is skipped where it is first",
                [&[("a", Passed), ("b", Failed)], &[("a", Passed), ("b", Failed)], &[("b", Skipped), ("a", Passed)]],
                &[("b", &[], "`b` does not pass, and how it ends depends on other cases")],
            ),
            (
                "too many cases come before `e`",
                [
                    &[("a", Passed), ("b", Passed), ("c", Passed), ("d", Passed), ("e", Failed)],
                    &[("a", Passed), ("b", Passed), ("c", Passed), ("d", Passed), ("e", Passed)],
                    &[("e", Passed), ("d", Passed), ("c", Passed), ("b", Passed), ("a", Passed)],
                ],
                &[("e", &[], "`e` passes alone, and failed after other cases, which left something behind")],
            ),
            ("a skipped case shows nothing", [&[("a", Skipped)], &[("a", Skipped)], &[("a", Skipped)]], &[]),
            (
                "`b` was not reached in one way",
                [&[("a", Passed), ("b", Failed)], &[("a", Passed), ("b", Passed)], &[("a", Passed)]],
                &[],
            ),
        ];
        for (what, [shared, isolated, shuffled], expected) in rows {
            let ways = IsolationRuns { shared: way(shared), isolated: way(isolated), shuffled: way(shuffled) };
            let report = compare(&ways, 7);
            let found: Vec<(String, Vec<String>, String)> = report
                .differing
                .iter()
                .map(|row| (row.name.clone(), row.suspects.clone(), finding(row, 7, "s.yml").message))
                .collect();
            let expected: Vec<(String, Vec<String>, String)> = expected
                .iter()
                .map(|(name, suspects, message)| {
                    (
                        (*name).to_owned(),
                        suspects.iter().map(|name| (*name).to_owned()).collect(),
                        (*message).to_owned(),
                    )
                })
                .collect();
            assert_eq!(found, expected, "{what}");
            assert_eq!(report.agreeing, if what == FIRST { 2 } else { report.agreeing }, "{what}");
        }
    }

    #[test]
    fn cases_of_another_server_are_no_suspects() {
        let mut shared = way(&[("a", Passed), ("b", Failed)]);
        if let Some(other) = shared.results.get_mut("a") {
            other.case.server = "other".to_owned();
        }
        let ways = IsolationRuns {
            shared,
            isolated: way(&[("a", Passed), ("b", Passed)]),
            shuffled: way(&[("b", Passed), ("a", Passed)]),
        };
        assert_eq!(suspects(&ways, "b"), Vec::<String>::new());
    }
}
