//! The verdict on an agent: what is wrong with each of its runs, and what follows from all of them.

use std::sync::Arc;

use super::Agent;
use super::judge::{JudgedView, Judgement, SelectionCount, share_text};
use super::picture;
use super::price::cost_text;
use super::repeat::PassedRuns;
use super::run::{AgentCall, AgentEnd, AgentRun, CallTarget};
use crate::event::{Finding, Outcome, Reason};
use crate::fault::FaultPlayer;

/// The most runs of an agent that a failure shows.
const MOST_PICTURES: usize = 3;

/// A run, and what is wrong with it.
pub(crate) struct JudgedRun {
    pub(crate) run: AgentRun,
    found: Vec<Finding>,
    /// Why it cannot pass, although nothing is wrong with it.
    unjudged: Option<Reason>,
}

impl JudgedRun {
    fn has_passed(&self) -> bool {
        self.found.is_empty() && self.unjudged.is_none()
    }
}

/// The verdict on all runs of an agent.
pub(crate) struct AgentVerdict {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<Reason>,
    pub(crate) findings: Vec<Finding>,
    /// The figures of the case.
    pub(crate) notes: String,
    pub(crate) passed: PassedRuns,
    /// The run that stands for all of them.
    pub(crate) shown: usize,
}

impl Agent {
    pub(crate) fn judge(&self, run: AgentRun, view: &JudgedView<'_>) -> JudgedRun {
        let mut found: Vec<Finding> =
            self.ended_early(&run, view).into_iter().chain(self.of_servers(&run, view)).collect();
        found.extend(self.distractors.as_ref().and_then(|distractors| distractors.unoffered_distractor(&run, view)));
        found.extend(self.descriptions.of_unknown_tool(&run, view));
        let is_known = |judgement: &&Arc<dyn Judgement>| !is_unknown(&run, view) || !judgement.is_about_model();
        let judgements = self.judgements.iter().filter(is_known);
        found.extend(judgements.flat_map(|judgement| judgement.judge(&run, view)));
        let unjudged = if is_unknown(&run, view) {
            Some(Reason::ModelDiverged)
        } else {
            self.reason_not_judged(&run).map(Reason::NotEvaluated)
        };
        JudgedRun { run, found, unjudged }
    }

    /// Why nothing can be said of a run: it called nothing, or nothing that a judgement is about.
    fn reason_not_judged(&self, run: &AgentRun) -> Option<String> {
        let number = run.number;
        if run.calls.is_empty() {
            return Some(format!("the agent called no tool in run {number}, so nothing can be said of it"));
        }
        // Calls of distractors are judged, too.
        let is_judged = |call: &AgentCall| {
            call.reached_tool().is_some() || self.distractors.is_some() && call.target == CallTarget::Decoy
        };
        if !run.calls.iter().any(is_judged) {
            return Some(format!("no call of run {number} reached a server, so nothing can be said of it"));
        }
        self.judgements.iter().find_map(|judgement| judgement.reason_not_judged(run))
    }

    /// Why a run has no answer.
    fn ended_early(&self, run: &AgentRun, view: &JudgedView<'_>) -> Option<Finding> {
        match &run.end {
            AgentEnd::Answered(_) | AgentEnd::Unavailable(_) => None,
            AgentEnd::OverBudget(what) => {
                let message = format!("the agent did not answer within its budget of {what}");
                let help = "look at what it does again and again, or raise `budget`".to_owned();
                let quote = self.budget_span.map(|span| view.quote(span, "this budget"));
                Some(Finding { help: Some(help), quote, ..Finding::new("budget-exceeded", message) })
            }
            AgentEnd::Diverged(_) if view.is_replayed => None,
            AgentEnd::Stuck(found) | AgentEnd::Diverged(found) => Some(found.clone()),
        }
    }

    /// Findings about servers that no fault explains: a call without an answer, and an end.
    fn of_servers(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        // A recording has the faults in it.
        if view.is_replayed && !self.faults.is_empty() {
            return Vec::new();
        }
        let has_ended = run.faults.as_deref().is_some_and(FaultPlayer::has_ended);
        let mut unanswered = run.calls.iter().filter(|call| !call.is_struck && !has_ended);
        let first = unanswered.find_map(|call| call.failure.clone());
        let exits = run.exits.iter().filter(|_| !has_ended).cloned();
        first.into_iter().chain(exits).collect()
    }

    pub(crate) fn verdict(&self, runs: &[JudgedRun], view: &JudgedView<'_>) -> AgentVerdict {
        let mut selection = SelectionCount::default();
        for judged in runs {
            selection.add(&judged.run);
        }
        let passed = passed_runs(runs);
        let has_reached = runs.iter().flat_map(|judged| &judged.run.calls).any(|call| call.reached_tool().is_some());
        let has_passed = self.repeat.is_met(passed) && has_reached;
        let distracted = self.judge_selection(selection, runs, view);
        let notes = self.notes(runs, selection, view);
        let shown = runs.iter().position(|judged| !judged.found.is_empty());
        let shown = shown.or_else(|| runs.iter().position(|judged| judged.unjudged.is_some())).unwrap_or_default();
        let (outcome, mut findings) = if !has_passed && !runs[shown].found.is_empty() {
            (Outcome::Failed, runs[shown].found.clone())
        } else {
            (if has_passed { Outcome::Passed } else { Outcome::Inconclusive }, Vec::new())
        };
        findings.extend(distracted);
        let outcome = if findings.is_empty() { outcome } else { Outcome::Failed };
        let judged = &runs[shown];
        if let Some(first) = findings.first_mut() {
            first.evidence.extend(self.evidence(runs, shown, passed));
        }
        let reason = match outcome {
            Outcome::Inconclusive => {
                let only_decoys = || "no call reached a server, so nothing can be said of the agent".to_owned();
                Some(judged.unjudged.clone().unwrap_or_else(|| Reason::NotEvaluated(only_decoys())))
            }
            Outcome::Passed => Some(Reason::Measured(notes.clone())),
            Outcome::Failed | Outcome::Warned | Outcome::Skipped | Outcome::Errored => None,
        };
        AgentVerdict { outcome, reason, findings, notes, passed, shown }
    }

    /// The evidence of a failure: the number of runs that passed, the faults injected into the shown one, and pictures.
    fn evidence(&self, runs: &[JudgedRun], shown: usize, passed: PassedRuns) -> Vec<(String, String)> {
        let powers = self.repeat.estimates(passed).map(|power| format!("{} {}", power.name(), power.text()));
        let lines: Vec<String> = std::iter::once(passed.text()).chain(powers).collect();
        let several = (runs.len() > 1).then(|| ("runs".to_owned(), lines.join("\n")));
        let injected = Some(runs[shown].run.injected_changes()).filter(|injected| !injected.is_empty());
        let injected = injected.map(|injected| ("injected".to_owned(), injected));
        let mut evidence = pictures(runs, shown);
        evidence.splice(1..1, injected.into_iter().chain(several));
        evidence
    }

    /// Judges the model's choice among tools that it should have left alone.
    fn judge_selection(&self, selection: SelectionCount, runs: &[JudgedRun], view: &JudgedView<'_>) -> Option<Finding> {
        let distractors = self.distractors.as_ref()?;
        let interval = selection.interval();
        // A run that was broken off would have gone on with other calls.
        let is_whole = runs.iter().all(|judged| !is_unknown(&judged.run, view));
        if selection.all == 0 || interval.share >= distractors.accuracy || !is_whole {
            return None;
        }
        let is_wrong = |call: &&AgentCall| matches!(call.target, CallTarget::Decoy | CallTarget::Unknown);
        let first = runs.iter().flat_map(|judged| &judged.run.calls).find(is_wrong)?;
        let message = format!(
            "{} of {} calls chose a tool of the servers: {}; the first other one is `{}`",
            selection.right,
            selection.all,
            share_text(interval),
            first.name
        );
        let quote = view.quote(distractors.span, "these distractors");
        let help = "make the names and descriptions of the tools say better what each is for".to_owned();
        Some(Finding { quote: Some(quote), help: Some(help), ..Finding::new("distracted", message) })
    }

    /// The figures of a case.
    fn notes(&self, runs: &[JudgedRun], selection: SelectionCount, view: &JudgedView<'_>) -> String {
        let calls: Vec<usize> = runs.iter().map(|judged| judged.run.calls.len()).collect();
        let (least, most) = (calls.iter().min().copied().unwrap_or(0), calls.iter().max().copied().unwrap_or(0));
        let mut notes =
            vec![if least == most { count(most, "call") } else { format!("{least} to {}", count(most, "call")) }];
        if runs.len() > 1 {
            let passed = passed_runs(runs);
            let powers = self.repeat.estimates(passed).map(|power| format!("{} {}", power.name(), power.text()));
            notes.splice(0..0, std::iter::once(passed.text()).chain(powers));
        }
        let most = |is_meant: fn(&CallTarget) -> bool| {
            let count = |judged: &JudgedRun| judged.run.calls.iter().filter(|call| is_meant(&call.target)).count();
            runs.iter().map(count).max().filter(|most| *most > 0)
        };
        let unknown = most(|target| *target == CallTarget::Unknown);
        notes.extend(unknown.map(|unknown| format!("{unknown} of tools that are not offered")));
        let malformed = most(|target| matches!(target, CallTarget::Malformed { .. }));
        notes.extend(malformed.map(|malformed| format!("{malformed} malformed")));
        if let Some(golden) = &self.golden {
            let extra: Vec<usize> = runs.iter().filter_map(|judged| golden.extra(&judged.run, view)).collect();
            notes.extend(
                extra.iter().max().filter(|extra| **extra > 0).map(|extra| format!("{extra} beside the golden path")),
            );
        }
        if self.distractors.is_some() && selection.all > 0 {
            notes.push(format!("selection {}", share_text(selection.interval())));
        }
        notes.push(format!("about {} tokens", most_tokens(runs)));
        notes.extend(self.highest_cost(runs).map(|cost| format!("cost {}", cost_text(cost))));
        notes.join(", ")
    }

    /// The cost of the most expensive run.
    pub(crate) fn highest_cost(&self, runs: &[JudgedRun]) -> Option<f64> {
        runs.iter().filter_map(|judged| self.cost(judged.run.tokens)).reduce(f64::max)
    }
}

/// A recorded model cannot go on: a recorded server answers in another way than the one to which the model
/// was recorded, as a mutant does in a proof. Any change would look like a failure of the agent.
fn is_unknown(run: &AgentRun, view: &JudgedView<'_>) -> bool {
    view.is_replayed && matches!(run.end, AgentEnd::Diverged(_))
}

pub(crate) fn most_tokens(runs: &[JudgedRun]) -> u64 {
    runs.iter().map(|judged| judged.run.tokens.all()).max().unwrap_or_default()
}

fn passed_runs(runs: &[JudgedRun]) -> PassedRuns {
    PassedRuns { passed: runs.iter().filter(|judged| judged.has_passed()).count(), runs: runs.len() }
}

/// The pictures of the run that is shown and of others that failed, the shown one first.
fn pictures(runs: &[JudgedRun], shown: usize) -> Vec<(String, String)> {
    let others = runs.iter().enumerate().filter(|(at, judged)| *at != shown && !judged.found.is_empty());
    let all = std::iter::once(&runs[shown]).chain(others.map(|(_, judged)| judged)).take(MOST_PICTURES);
    let drawn = all.map(|judged| {
        let name = if runs.len() == 1 { "run".to_owned() } else { format!("run {}", judged.run.number) };
        (name, picture::lines(&judged.run, picture::FEW_CALLS).join("\n"))
    });
    drawn.collect()
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::agents::tests::{Scene, call, calls, decoy, malformed, messages, run_of, unknown};

    /// An agent with more settings beside those that it must have.
    fn scene(settings: &str) -> Scene {
        Scene::new(&format!("{{ name: a, provider: {{ scripted: [{{ answer: done }}] }}, prompt: p, {settings} }}"))
    }

    /// The verdict on runs, in one line.
    fn verdict(scene: &Scene, runs: Vec<AgentRun>) -> String {
        let (agent, mistakes) = scene.agent();
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let runs: Vec<JudgedRun> = runs.into_iter().map(|run| agent.judge(run, &scene.view())).collect();
        let AgentVerdict { outcome, reason, findings, .. } = agent.verdict(&runs, &scene.view());
        let reason = reason.map(|reason| reason.to_string()).unwrap_or_default();
        format!("{}: {}{reason}", outcome.as_str(), messages(&findings).join("; "))
    }

    #[test]
    fn an_agent_that_calls_nothing_passes_nothing() {
        let ended = |end, tools: &[&str]| AgentRun { end, ..run_of(calls(tools)) };
        let over = || AgentEnd::OverBudget("2 calls".to_owned());
        let timeout = || Some(Finding::new("timeout", "no answer to `tools/call get`"));
        let lost = || AgentCall { failure: timeout(), ..call("get", json!({})) };
        for (settings, runs, expected) in [
            ("trajectory: { any_order: [get] }", vec![run_of(calls(&["get"]))], "passed: 1 call, about 40 tokens"),
            ("trajectory: { any_order: [get] }", vec![run_of(calls(&["find"]))], "failed: no call of `get` was made"),
            (
                "trajectory: { never: [delete] }",
                vec![run_of(Vec::new())],
                "inconclusive: the agent called no tool in run 1, so nothing can be said of it",
            ),
            (
                "trajectory: { never: [delete] }",
                vec![run_of(vec![unknown("shell"), malformed("get")])],
                "inconclusive: no call of run 1 reached a server, so nothing can be said of it",
            ),
            (
                "trajectory: { never: [delete] }",
                vec![ended(over(), &["get", "get"])],
                "failed: the agent did not answer within its budget of 2 calls",
            ),
            // The server gave no answer: that is a finding whatever the agent did.
            ("trajectory: { never: [delete] }", vec![run_of(vec![lost()])], "failed: no answer to `tools/call get`"),
            (
                "trajectory: { never: [delete] }",
                vec![run_of(vec![AgentCall { is_struck: true, ..lost() }])],
                "passed: 1 call, about 40 tokens",
            ),
            ("readable_results: true", vec![run_of(vec![call("get", json!({}))])], "passed: 1 call, about 40 tokens"),
        ] {
            assert_eq!(verdict(&scene(settings), runs), expected, "{settings}");
        }
    }

    #[test]
    fn as_many_runs_pass_as_the_suite_asks_for() {
        let good = || run_of(calls(&["get"]));
        let bad = || run_of(calls(&["find"]));
        let silent = || run_of(Vec::new());
        let one_failed = "failed: no call of `get` was made";
        for (repeat, runs, expected) in [
            ("2", vec![good(), good()], "passed: 2 of 2 runs passed, 100% (34% to 100%), 1 call, about 40 tokens"),
            ("2", vec![good(), bad()], one_failed),
            (
                "{ runs: 2, at_least: 0.5 }",
                vec![good(), bad()],
                "passed: 1 of 2 runs passed, 50% (9% to 91%), 1 call, about 40 tokens",
            ),
            // A run without calls lacks the one that is asked for.
            ("2", vec![silent(), good()], one_failed),
        ] {
            let scene = scene(&format!("trajectory: {{ any_order: [get] }}, repeat: {repeat}"));
            assert_eq!(verdict(&scene, runs), expected, "{repeat}");
        }
    }

    #[test]
    fn a_model_leaves_distractors_alone() {
        let run = |made: &[&str], decoys: usize| {
            let mut made = calls(made);
            made.extend(vec![0; decoys].into_iter().map(|_| decoy("shell")));
            run_of(made)
        };
        for (accuracy, run, is_right) in [
            ("1", run(&["get"], 0), true),
            ("1", run(&["get"], 1), false),
            ("0.5", run(&["get"], 1), true),
            ("0.51", run(&["get"], 1), false),
        ] {
            let scene = scene(&format!("distractors: {{ tools: [{{ name: shell }}], accuracy: {accuracy} }}"));
            let seen = verdict(&scene, vec![run]);
            assert_eq!(!seen.contains("the first other one is `shell`"), is_right, "{accuracy}: {seen}");
        }
    }

    #[test]
    fn only_distractors_show_nothing_of_the_servers() {
        let scene = scene("distractors: { tools: [{ name: shell }], accuracy: 0 }");
        let seen = verdict(&scene, vec![run_of(vec![decoy("shell")])]);
        assert_eq!(seen, "inconclusive: no call reached a server, so nothing can be said of the agent");
    }

    #[test]
    fn a_recorded_model_cannot_go_on_before_another_server() {
        let diverged = || AgentEnd::Diverged(Finding::new("recording-differs", "the input differs"));
        let run = |tools: &[&str]| AgentRun { end: diverged(), ..run_of(calls(tools)) };
        let mut scene = scene("trajectory: { any_order: [get] }");
        assert_eq!(verdict(&scene, vec![run(&["get"])]), "failed: the input differs");
        // In a proof, a mutant answers otherwise, which is no failure of the agent.
        scene.is_replayed = true;
        assert!(verdict(&scene, vec![run(&["find"])]).starts_with("inconclusive: "));
    }

    #[test]
    fn a_failure_shows_the_run_and_others_that_failed() {
        let scene = scene("trajectory: { any_order: [get] }, repeat: 5");
        let (agent, _) = scene.agent();
        let names = ["get", "find", "find", "find", "find"];
        let runs = names.iter().enumerate().map(|(at, name)| AgentRun { number: at + 1, ..run_of(calls(&[name])) });
        let runs: Vec<JudgedRun> = runs.map(|run| agent.judge(run, &scene.view())).collect();
        let verdict = agent.verdict(&runs, &scene.view());
        let labels: Vec<&str> = verdict.findings[0].evidence.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["run 2", "runs", "run 3", "run 4"]);
        assert_eq!((verdict.shown, verdict.passed.passed), (1, 1));
    }
}
