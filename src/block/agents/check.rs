//! The case of an agent: it runs as often as the suite asks, each run in servers of its own, and all of them are judged.

use std::sync::Arc;

use serde_json::Value;

use super::Agent;
use super::host::HostFailure;
use super::judge::JudgedView;
use super::log::{AgentLog, AgentRow};
use super::picture;
use super::repeat::PassedRuns;
use super::run::{AgentEnd, AgentRun, run};
use super::verdict::{self, AgentVerdict, JudgedRun};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::Quote;

/// An agent on its servers.
#[derive(Debug)]
pub(crate) struct AgentCheck {
    pub(crate) agent: Arc<Agent>,
    pub(crate) log: Arc<AgentLog>,
    /// The place of the agent in the suite.
    pub(crate) order: usize,
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
                    Ok(run) => runs.push(self.agent.judge(run, &JudgedView::of(&context, &self.agent.equal))),
                    Err(HostFailure::Unavailable(found)) => {
                        self.log_error(&found, &context);
                        return CheckResult::unavailable(found);
                    }
                    Err(HostFailure::Unusable(found)) => {
                        return CheckResult::with_findings(Outcome::Failed, vec![found]);
                    }
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
            compared_with: None,
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
            record(file, context.machine.neutral(recording));
        }
    }

    fn conclude(&self, mut runs: Vec<JudgedRun>, context: &CheckContext<'_>) -> CheckResult {
        let view = JudgedView::of(context, &self.agent.equal);
        let AgentVerdict { outcome, reason, findings, mut notes, passed, shown } = self.agent.verdict(&runs, &view);
        let is_recorded = context.record.is_some() && self.agent.provider.recording_file().is_some();
        if is_recorded && outcome != Outcome::Passed {
            notes.push_str(", not recorded, since it did not pass");
        }
        if !context.is_replayed {
            self.log.add(AgentRow {
                file: context.suite.file.clone(),
                server: context.server_name.to_owned(),
                revision: runs[shown].run.protocol_revision.clone(),
                order: self.order,
                agent: self.agent.title(),
                compared_with: self.agent.compared_with.as_ref().map(|other| self.agent.title_of(&other.value)),
                outcome,
                notes,
                passed,
                pass: self.agent.repeat.estimates(passed).collect(),
                tokens: verdict::most_tokens(&runs),
                cost: self.agent.highest_cost(&runs),
                clashes: runs[shown].run.clashes.clone(),
                runs: runs.iter().map(|judged| picture::lines(&judged.run, picture::MANY_CALLS)).collect(),
            });
        }
        result(outcome, reason, findings, runs.swap_remove(shown).run)
    }
}

fn result(outcome: Outcome, reason: Option<Reason>, findings: Vec<Finding>, run: AgentRun) -> CheckResult {
    let exchanges: Vec<_> = run.calls.into_iter().filter_map(|call| call.exchange).collect();
    let frames =
        exchanges.iter().flat_map(|exchange| std::iter::once(exchange.frame).chain(exchange.answer_frame)).collect();
    let protocol_revision = run.protocol_revision;
    CheckResult { reason, findings, exchanges, protocol_revision, frames, ..CheckResult::new(outcome) }
}
