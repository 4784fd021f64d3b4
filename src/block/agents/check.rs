//! The case of an agent: it runs as often as the suite asks, each run in servers of its own, and all of them are judged.

use std::sync::Arc;

use serde_json::Value;

use super::Agent;
use super::host::HostFailure;
use super::judge::{JudgedView, Judgement, SelectionCount, share_text};
use super::log::{AgentLog, AgentRow};
use super::picture;
use super::price::cost_text;
use super::repeat::PassedRuns;
use super::run::{AgentCall, AgentEnd, AgentRun, CallTarget, run};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::fault::FaultPlayer;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::Quote;

/// The most runs of an agent that a failure shows.
const MOST_PICTURES: usize = 3;

/// An agent on its servers.
#[derive(Debug)]
pub(crate) struct AgentCheck {
    pub(crate) agent: Arc<Agent>,
    pub(crate) log: Arc<AgentLog>,
    /// The place of the agent in the suite.
    pub(crate) order: usize,
}

/// A run, and what is wrong with it.
struct JudgedRun {
    run: AgentRun,
    found: Vec<Finding>,
    /// Why it cannot pass, although nothing is wrong with it.
    unjudged: Option<Reason>,
}

impl JudgedRun {
    fn has_passed(&self) -> bool {
        self.found.is_empty() && self.unjudged.is_none()
    }
}

impl Check for AgentCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            if let Some(found) = self.too_few_recorded(&context) {
                return self.without_model(found, &context);
            }
            let mut runs = Vec::new();
            for number in 1..=self.agent.repeat.runs {
                match run(&self.agent, &context, number).await {
                    Ok(AgentRun { end: AgentEnd::Unavailable(found), .. }) => {
                        return self.without_model(found, &context);
                    }
                    Ok(run) => runs.push(self.judge(run, &context)),
                    Err(HostFailure::Unavailable(found)) => {
                        self.log_error(&found, &context);
                        return CheckResult::unavailable(found);
                    }
                    Err(HostFailure::Unusable(found)) => return CheckResult::found(Outcome::Failed, vec![found]),
                }
            }
            self.record(&runs, &context);
            self.conclude(runs, &context)
        })
    }

    fn can_be_replayed(&self) -> bool {
        self.agent.provider.is_deterministic()
    }
}

impl AgentCheck {
    fn judge(&self, run: AgentRun, context: &CheckContext<'_>) -> JudgedRun {
        let view = JudgedView { context, equal: &self.agent.equal };
        let mut found: Vec<Finding> =
            self.ended_early(&run, context).into_iter().chain(self.of_servers(&run, context)).collect();
        found.extend(
            self.agent.distractors.as_ref().and_then(|distractors| distractors.unoffered_distractor(&run, context)),
        );
        let is_known = |judgement: &&Arc<dyn Judgement>| !is_unknown(&run, context) || !judgement.is_about_model();
        let judgements = self.agent.judgements.iter().filter(is_known);
        found.extend(judgements.flat_map(|judgement| judgement.judge(&run, &view)));
        let unjudged = if is_unknown(&run, context) {
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
            call.reached_tool().is_some() || self.agent.distractors.is_some() && call.target == CallTarget::Decoy
        };
        if !run.calls.iter().any(is_judged) {
            return Some(format!("no call of run {number} reached a server, so nothing can be said of it"));
        }
        self.agent.judgements.iter().find_map(|judgement| judgement.reason_not_judged(run))
    }

    /// The result where the model could not be asked: an error, since it says nothing about the servers.
    fn without_model(&self, found: Finding, context: &CheckContext<'_>) -> CheckResult {
        self.log_error(&found, context);
        let reason = Reason::ServerUnavailable(found.message.clone());
        let quote =
            found.quote.or_else(|| Some(Quote::new(context.sources, self.agent.provider_span, "this provider")));
        CheckResult { findings: vec![Finding { quote, ..found }], ..CheckResult::because(Outcome::Errored, reason) }
    }

    /// Adds a row for an agent that could not be run.
    fn log_error(&self, found: &Finding, context: &CheckContext<'_>) {
        let Some(server) = context.server.filter(|_| !context.is_replayed) else { return };
        self.log.add(AgentRow {
            file: context.suite.file.clone(),
            server: context.server_name.to_owned(),
            revision: server.revision.to_string(),
            order: self.order,
            agent: self.agent.title(),
            outcome: Outcome::Errored,
            notes: found.message.clone(),
            passed: PassedRuns { passed: 0, runs: 0 },
            pass: Vec::new(),
            tokens: 0,
            cost: None,
            clashes: Vec::new(),
            runs: Vec::new(),
        });
    }

    /// Fewer runs are recorded than are to be made: playing one twice would count it twice.
    fn too_few_recorded(&self, context: &CheckContext<'_>) -> Option<Finding> {
        let recorded = self.agent.provider.recorded_runs().filter(|_| context.record.is_none())?;
        let (runs, wanted) = (recorded.runs, self.agent.repeat.runs);
        let message = || {
            let is = if runs == 1 { "run is" } else { "runs are" };
            format!("{runs} {is} recorded in `{}`, and `repeat` asks for {wanted}", recorded.file.display())
        };
        let help = "record all of them with `mcprove run --update`, which asks the model".to_owned();
        (runs < wanted).then(|| Finding { help: Some(help), ..Finding::new("recording-too-short", message()) })
    }

    /// Hands on what the model said, where that is to be recorded.
    fn record(&self, runs: &[JudgedRun], context: &CheckContext<'_>) {
        let turns = runs.iter().map(|judged| Value::Array(judged.run.turns.clone())).collect();
        if let Some(record) = context.record
            && let Some((file, recording)) = self.agent.provider.recording(turns)
        {
            record(file, (context.neutral)(recording));
        }
    }

    /// Why a run has no answer.
    fn ended_early(&self, run: &AgentRun, context: &CheckContext<'_>) -> Option<Finding> {
        match &run.end {
            AgentEnd::Answered(_) | AgentEnd::Unavailable(_) => None,
            AgentEnd::OverBudget(what) => {
                let message = format!("the agent did not answer within its budget of {what}");
                let help = "look at what it does again and again, or raise `budget`".to_owned();
                let quote = self.agent.budget.span.map(|span| Quote::new(context.sources, span, "this budget"));
                Some(Finding { help: Some(help), quote, ..Finding::new("budget-exceeded", message) })
            }
            AgentEnd::Diverged(_) if context.is_replayed => None,
            AgentEnd::Stuck(found) | AgentEnd::Diverged(found) => Some(found.clone()),
        }
    }

    /// Findings about servers that no fault explains: a call without an answer, and an end.
    fn of_servers(&self, run: &AgentRun, context: &CheckContext<'_>) -> Vec<Finding> {
        // A recording has the faults in it.
        if context.is_replayed && !self.agent.faults.is_empty() {
            return Vec::new();
        }
        let has_ended = run.faults.as_deref().is_some_and(FaultPlayer::has_ended);
        let mut unanswered = run.calls.iter().filter(|call| !call.is_struck && !has_ended);
        let first = unanswered.find_map(|call| call.failure.clone());
        let exits = run.exits.iter().filter(|_| !has_ended).cloned();
        first.into_iter().chain(exits).collect()
    }

    fn conclude(&self, mut runs: Vec<JudgedRun>, context: &CheckContext<'_>) -> CheckResult {
        let mut selection = SelectionCount::default();
        for judged in &runs {
            selection.add(&judged.run);
        }
        let passed = passed_runs(&runs);
        let has_reached = runs.iter().flat_map(|judged| &judged.run.calls).any(|call| call.reached_tool().is_some());
        let has_passed = self.agent.repeat.is_met(passed) && has_reached;
        let distracted = self.judge_selection(selection, &runs, context);
        let mut notes = self.notes(&runs, selection, context);
        let shown = runs.iter().position(|judged| !judged.found.is_empty());
        let shown = shown.or_else(|| runs.iter().position(|judged| judged.unjudged.is_some())).unwrap_or_default();
        let (outcome, mut findings) = if !has_passed && !runs[shown].found.is_empty() {
            (Outcome::Failed, std::mem::take(&mut runs[shown].found))
        } else {
            (if has_passed { Outcome::Passed } else { Outcome::Inconclusive }, Vec::new())
        };
        findings.extend(distracted);
        let outcome = if findings.is_empty() { outcome } else { Outcome::Failed };
        let judged = &runs[shown];
        let is_recorded = context.record.is_some() && self.agent.provider.recording_file().is_some();
        if is_recorded && outcome != Outcome::Passed {
            notes.push_str(", not recorded, since it did not pass");
        }
        if let Some(first) = findings.first_mut() {
            first.evidence.extend(self.evidence(&runs, shown, passed));
        }
        let reason = match outcome {
            Outcome::Inconclusive => {
                let only_decoys = || "no call reached a server, so nothing can be said of the agent".to_owned();
                Some(judged.unjudged.clone().unwrap_or_else(|| Reason::NotEvaluated(only_decoys())))
            }
            Outcome::Passed => Some(Reason::Measured(notes.clone())),
            Outcome::Failed | Outcome::Warned | Outcome::Skipped | Outcome::Errored => None,
        };
        if !context.is_replayed {
            self.log.add(AgentRow {
                file: context.suite.file.clone(),
                server: context.server_name.to_owned(),
                revision: judged.run.protocol_revision.clone(),
                order: self.order,
                agent: self.agent.title(),
                outcome,
                notes,
                passed,
                pass: self.agent.repeat.estimates(passed).collect(),
                tokens: most_tokens(&runs),
                cost: self.highest_cost(&runs),
                clashes: judged.run.clashes.clone(),
                runs: runs.iter().map(|judged| picture::lines(&judged.run, picture::MANY_CALLS)).collect(),
            });
        }
        let judged = runs.swap_remove(shown);
        result(outcome, reason, findings, judged.run)
    }

    /// The evidence of a failure: the number of runs that passed, the faults injected into the shown one, and pictures.
    fn evidence(&self, runs: &[JudgedRun], shown: usize, passed: PassedRuns) -> Vec<(String, String)> {
        let powers = self.agent.repeat.estimates(passed).map(|power| format!("{} {}", power.name(), power.text()));
        let lines: Vec<String> = std::iter::once(passed.text()).chain(powers).collect();
        let several = (runs.len() > 1).then(|| ("runs".to_owned(), lines.join("\n")));
        let injected = Some(runs[shown].run.injected_changes()).filter(|injected| !injected.is_empty());
        let injected = injected.map(|injected| ("injected".to_owned(), injected));
        let mut evidence = pictures(runs, shown);
        evidence.splice(1..1, injected.into_iter().chain(several));
        evidence
    }

    /// Judges the model's choice among tools that it should have left alone.
    fn judge_selection(
        &self,
        selection: SelectionCount,
        runs: &[JudgedRun],
        context: &CheckContext<'_>,
    ) -> Option<Finding> {
        let distractors = self.agent.distractors.as_ref()?;
        let interval = selection.interval();
        // A run that was broken off would have gone on with other calls.
        let is_whole = runs.iter().all(|judged| !is_unknown(&judged.run, context));
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
        let quote = Quote::new(context.sources, distractors.span, "these distractors");
        let help = "make the names and descriptions of the tools say better what each is for".to_owned();
        Some(Finding { quote: Some(quote), help: Some(help), ..Finding::new("distracted", message) })
    }

    /// The figures of a case.
    fn notes(&self, runs: &[JudgedRun], selection: SelectionCount, context: &CheckContext<'_>) -> String {
        let view = JudgedView { context, equal: &self.agent.equal };
        let calls: Vec<usize> = runs.iter().map(|judged| judged.run.calls.len()).collect();
        let (least, most) = (calls.iter().min().copied().unwrap_or(0), calls.iter().max().copied().unwrap_or(0));
        let mut notes =
            vec![if least == most { count(most, "call") } else { format!("{least} to {}", count(most, "call")) }];
        if runs.len() > 1 {
            let passed = passed_runs(runs);
            let powers = self.agent.repeat.estimates(passed).map(|power| format!("{} {}", power.name(), power.text()));
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
        if let Some(golden) = &self.agent.golden {
            let extra: Vec<usize> = runs.iter().filter_map(|judged| golden.extra(&judged.run, &view)).collect();
            notes.extend(
                extra.iter().max().filter(|extra| **extra > 0).map(|extra| format!("{extra} beside the golden path")),
            );
        }
        if self.agent.distractors.is_some() && selection.all > 0 {
            notes.push(format!("selection {}", share_text(selection.interval())));
        }
        notes.push(format!("about {} tokens", most_tokens(runs)));
        notes.extend(self.highest_cost(runs).map(|cost| format!("cost {}", cost_text(cost))));
        notes.join(", ")
    }

    /// The cost of the most expensive run.
    fn highest_cost(&self, runs: &[JudgedRun]) -> Option<f64> {
        runs.iter().filter_map(|judged| self.agent.cost(judged.run.tokens)).reduce(f64::max)
    }
}

/// A recorded model cannot go on: a recorded server answers in another way than the one to which the model
/// was recorded, as a mutant does in a proof. Any change would look like a failure of the agent.
fn is_unknown(run: &AgentRun, context: &CheckContext<'_>) -> bool {
    context.is_replayed && matches!(run.end, AgentEnd::Diverged(_))
}

fn most_tokens(runs: &[JudgedRun]) -> u64 {
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

fn result(outcome: Outcome, reason: Option<Reason>, findings: Vec<Finding>, run: AgentRun) -> CheckResult {
    let exchanges: Vec<_> = run.calls.into_iter().filter_map(|call| call.exchange).collect();
    let frames =
        exchanges.iter().flat_map(|exchange| std::iter::once(exchange.frame).chain(exchange.answer_frame)).collect();
    let protocol_revision = run.protocol_revision;
    CheckResult { reason, findings, exchanges, protocol_revision, frames, ..CheckResult::new(outcome) }
}
