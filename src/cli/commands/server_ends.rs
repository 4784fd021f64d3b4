//! How a run on several servers ends for each of them.

use indexmap::IndexMap;

use super::run_findings::Severities;
use super::verdict::exit_alone;
use crate::cli::exit::Exit;
use crate::event::{CaseResult, Coverage, Outcome, RunEnd, RunFinished, ServerEnd, SessionJudged, Severity};
use crate::runner::Summary;

/// What was seen of each server.
#[derive(Debug, Default)]
pub(crate) struct ServerEnds {
    /// What makes the exit code.
    pub(crate) rules: ExitRules,
    /// By name, in the order in which they were first heard of.
    servers: IndexMap<String, ServerTally>,
}

/// What flags say of the exit code.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExitRules {
    /// The least severity of a failure that counts; nothing for all.
    pub(crate) least: Option<Severity>,
    pub(crate) fails_on_flaky: bool,
}

#[derive(Debug, Default)]
struct ServerTally {
    severities: Severities,
    passed: usize,
    flaky: Vec<String>,
    errored: usize,
    undecided: usize,
    judged: usize,
}

impl ServerEnds {
    /// Counts a case.
    pub(crate) fn case(&mut self, result: &CaseResult) {
        let tally = self.tally(&result.case.server);
        tally.severities.case(result);
        tally.judged += usize::from(matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed));
        match result.outcome {
            Outcome::Passed | Outcome::Warned => tally.passed += 1,
            Outcome::Failed => {}
            Outcome::Errored => tally.errored += 1,
            Outcome::Skipped | Outcome::Inconclusive => tally.undecided += 1,
        }
        if result.is_flaky() {
            tally.flaky.push(result.case.id.clone());
        }
    }

    /// Counts what was found outside of cases.
    pub(crate) fn session(&mut self, judged: &SessionJudged) {
        self.tally(&judged.server).severities.session(judged);
    }

    fn tally(&mut self, server: &str) -> &mut ServerTally {
        if !self.servers.contains_key(server) {
            self.servers.insert(server.to_owned(), ServerTally::default());
        }
        &mut self.servers[server]
    }

    /// The end for each server; none where the run has one.
    pub(crate) fn ends(&self, finished: &RunFinished) -> Vec<ServerEnd> {
        if self.servers.len() < 2 {
            return Vec::new();
        }
        let end = |(server, tally): (&String, &ServerTally)| {
            let failed = tally.severities.at_least(Severity::Low);
            let summary = Summary {
                interrupted: finished.interrupted,
                failed: self.rules.least.map_or(failed, |least| tally.severities.at_least(least)),
                flaky: tally.flaky.clone(),
                errored: tally.errored,
                judged: tally.judged,
                ..Summary::default()
            };
            let is_out_of_time = finished.ended_by == Some(RunEnd::OutOfTime);
            let exit = exit_alone(&summary, is_out_of_time, self.rules.fails_on_flaky);
            let is_too_little = exit == Exit::Passed && misses_threshold(finished.coverage.as_ref(), server);
            let exit = if is_too_little { Exit::Coverage } else { exit };
            let is_unjudged = matches!(exit, Exit::Passed | Exit::Coverage) && has_unjudged_tool(finished, server);
            let exit = if is_unjudged { Exit::Nothing } else { exit };
            let ServerTally { passed, errored, undecided, .. } = *tally;
            ServerEnd { server: server.clone(), exit: exit as u8, passed, failed, errored, undecided }
        };
        self.servers.iter().map(end).collect()
    }
}

fn has_unjudged_tool(finished: &RunFinished, server: &str) -> bool {
    finished.unjudged.iter().flat_map(|tools| &tools.tools).any(|tool| tool.server.as_deref() == Some(server))
}

fn misses_threshold(coverage: Option<&Coverage>, server: &str) -> bool {
    let scores = coverage.into_iter().flat_map(|coverage| &coverage.suites).filter(|score| score.server == server);
    scores.flat_map(|score| &score.gates).any(|gate| !gate.met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Finding, RequirementLevel, UnjudgedReason, UnjudgedTool, UnjudgedTools};

    fn ends(rules: ExitRules, finished: &RunFinished, outcomes: &[(&str, Outcome)]) -> Vec<(String, u8)> {
        let mut seen = ServerEnds { rules, ..ServerEnds::default() };
        for (server, outcome) in outcomes {
            let mut result = CaseResult::of_test("a", *outcome);
            (*server).clone_into(&mut result.case.server);
            seen.case(&result);
        }
        seen.ends(finished).into_iter().map(|end| (end.server, end.exit)).collect()
    }

    #[test]
    fn each_server_ends_as_if_it_were_alone() {
        let all = ExitRules::default();
        let severe = ExitRules { least: Some(Severity::Critical), ..all };
        let finished = RunFinished::default();
        let unjudged = UnjudgedTools {
            reason: UnjudgedReason::NotServed,
            message: String::new(),
            tools: vec![UnjudgedTool { name: "get".to_owned(), server: Some("b".to_owned()) }],
            answer: None,
            help: String::new(),
        };
        let unjudged = RunFinished { unjudged: vec![unjudged], ..RunFinished::default() };
        let interrupted = RunFinished { interrupted: true, ..RunFinished::default() };
        let (passed, failed) = (Outcome::Passed, Outcome::Failed);
        for (rules, finished, outcomes, expected) in [
            (all, &finished, &[("a", passed), ("b", failed), ("a", passed)][..], &[("a", 0), ("b", 1)][..]),
            (severe, &finished, &[("a", passed), ("b", failed)], &[("a", 0), ("b", 0)]),
            (all, &finished, &[("a", Outcome::Errored), ("b", Outcome::Skipped)], &[("a", 3), ("b", 4)]),
            (all, &finished, &[("a", Outcome::Warned), ("b", Outcome::Inconclusive)], &[("a", 0), ("b", 4)]),
            (all, &unjudged, &[("a", passed), ("b", passed)], &[("a", 0), ("b", 4)]),
            (all, &unjudged, &[("a", passed), ("b", failed)], &[("a", 0), ("b", 1)]),
            (all, &interrupted, &[("a", passed), ("b", failed)], &[("a", 130), ("b", 130)]),
            (all, &finished, &[("a", failed)], &[]),
        ] {
            let expected: Vec<(String, u8)> = expected.iter().map(|(name, exit)| ((*name).to_owned(), *exit)).collect();
            assert_eq!(ends(rules, finished, outcomes), expected, "{outcomes:?}");
        }
    }

    #[test]
    fn what_a_server_should_do_ends_no_run() {
        use RequirementLevel::{Must, Should};
        for (levels, expected) in [(&[Should][..], (0, 4)), (&[Must], (1, 1)), (&[Should, Must], (1, 1))] {
            let mut seen = ServerEnds::default();
            for server in ["a", "b"] {
                let found =
                    |level: &RequirementLevel| Finding { level: *level, ..Finding::new("no-shutdown", "it ran on") };
                seen.session(&SessionJudged {
                    file: "a.yml".to_owned(),
                    suite: "a".to_owned(),
                    line: 1,
                    from_command_line: false,
                    server: server.to_owned(),
                    revision: "2025-11-25".to_owned(),
                    findings: levels.iter().map(found).collect(),
                });
            }
            let ends = seen.ends(&RunFinished::default());
            assert_eq!((ends[0].failed, ends[0].exit), expected, "{levels:?}");
        }
    }
}
