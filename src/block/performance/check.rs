//! The calls of one tool, several under way at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Load;
use super::growth::Growth;
use super::measurement::{Measurement, Measurements};
use crate::event::{
    CallPurpose, CheckResult, Exchange, Finding, Outcome, Phase, Reason, RefusedCall, RequirementLevel,
};
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer};
use crate::session::{CallFailure, Session, SessionReply, SessionRequest};
use crate::source::{Node, beginning_of_json};

/// How much of a message is shown, in characters.
const SHOWN: usize = 600;

/// Calls a tool under load, and compares what is measured with the bounds.
#[derive(Debug)]
pub(crate) struct LoadCheck {
    pub(crate) load: Arc<Load>,
    pub(crate) measurements: Arc<Measurements>,
    pub(crate) tool: String,
    pub(crate) arguments: Node,
}

impl Check for LoadCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &LoadCheck, context: &CheckContext<'_>) -> CheckResult {
    let Some(arguments) = (context.filled)(&check.arguments) else {
        let why = format!("the arguments of `{}` use a name that only a step captures", check.tool);
        return CheckResult::because(Outcome::Inconclusive, Reason::Unfilled(why));
    };
    let session = match context.servers.open(OpenServer::FRESH).await {
        Ok(session) => session,
        Err(found) => return CheckResult::unavailable(found),
    };
    let protocol_revision = session.server.revision.to_string();
    let caller = Arc::new(LoadCaller {
        session,
        owner: context.owner.to_owned(),
        params: json!({"name": check.tool, "arguments": arguments}),
        timeout: context.request_timeout,
    });
    let load = &check.load;
    let (calls, elapsed) = under_load(&caller, load).await;
    let ended = match Arc::into_inner(caller) {
        Some(caller) => context.servers.close(&caller.session, CloseServer::AfterTeardown).await.exit,
        None => None,
    };
    let measurement = Measurement::new(&calls.times, elapsed);
    let result = CheckResult { protocol_revision, ..verdict(check, context, calls, &measurement) };
    if result.outcome == Outcome::Inconclusive {
        return result;
    }
    check.measurements.add(context, &result.protocol_revision, check, measurement);
    match ended {
        // A failed call tells of the end already.
        Some(found) if result.outcome != Outcome::Failed => CheckResult::found(Outcome::Failed, vec![found]),
        _ => result,
    }
}

/// Makes one call after the other.
struct LoadCaller {
    session: Session,
    owner: String,
    params: Value,
    timeout: Duration,
}

/// The calls that were made.
#[derive(Default)]
struct LoadCalls {
    /// How long each served call took.
    times: Vec<Duration>,
    refused: usize,
    /// The served call that took longest.
    slowest: Option<SessionReply>,
    refusal: Option<SessionReply>,
    failure: Option<CallFailure>,
    /// The resources of the server's processes before and after; nothing where nobody can tell.
    growth: Option<Growth>,
}

/// Makes the calls of a load; returns them, and how long those took that are measured.
async fn under_load(caller: &Arc<LoadCaller>, load: &Load) -> (LoadCalls, Duration) {
    let warm_up = caller.call(&AtomicUsize::new(0), load.warm_up, Instant::now() + load.time).await;
    if warm_up.failure.is_some() || (load.warm_up > 0 && warm_up.times.is_empty()) {
        return (LoadCalls { times: Vec::new(), ..warm_up }, Duration::ZERO);
    }
    let usage = || load.growth.as_ref().and_then(|_| caller.session.processes()?.usage());
    let before = usage();
    let begun = Instant::now();
    let (deadline, most) = (begun + load.time, load.calls);
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..load.in_flight {
        let (caller, next) = (Arc::clone(caller), Arc::clone(&next));
        workers.spawn(async move { caller.call(&next, most, deadline).await });
    }
    let calls = workers.join_all().await.into_iter().fold(LoadCalls::default(), LoadCalls::and);
    let elapsed = begun.elapsed();
    let made = calls.times.len() + calls.refused;
    let growth = before.zip(usage()).map(|(before, after)| Growth { before, after, calls: made });
    (LoadCalls { growth, ..calls }, elapsed)
}

impl LoadCaller {
    /// Calls one after the other until so many calls were made by all who share the number, the time is over, or a call fails.
    async fn call(&self, next: &AtomicUsize, most: usize, deadline: Instant) -> LoadCalls {
        let mut calls = LoadCalls::default();
        while Instant::now() < deadline && next.fetch_add(1, Ordering::Relaxed) < most {
            let request = SessionRequest {
                owner: &self.owner,
                method: "tools/call",
                params: Some(self.params.clone()),
                timeout: Some(self.timeout),
                progress: false,
            };
            match self.session.request(request).await {
                Ok(reply) => calls.count(reply),
                Err(failure) => {
                    next.store(most, Ordering::Relaxed);
                    calls.failure = Some(failure);
                    break;
                }
            }
        }
        calls
    }
}

impl LoadCalls {
    fn count(&mut self, reply: SessionReply) {
        if reply.message.get("result").is_none_or(|result| result["isError"] == true) {
            self.refused += 1;
            self.refusal.get_or_insert(reply);
            return;
        }
        self.times.push(reply.elapsed);
        if self.slowest.as_ref().is_none_or(|slowest| slowest.elapsed < reply.elapsed) {
            self.slowest = Some(reply);
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.times.extend(other.times);
        Self {
            times: self.times,
            refused: self.refused + other.refused,
            slowest: [self.slowest, other.slowest].into_iter().flatten().max_by_key(|reply| reply.elapsed),
            refusal: self.refusal.or(other.refusal),
            failure: self.failure.or(other.failure),
            growth: None,
        }
    }
}

fn verdict(check: &LoadCheck, context: &CheckContext<'_>, calls: LoadCalls, measurement: &Measurement) -> CheckResult {
    let LoadCheck { load, tool, .. } = check;
    let mut shown = Shown { tool, result: CheckResult::new(Outcome::Passed) };
    if let Some(failure) = &calls.failure {
        shown.result.outcome = Outcome::Failed;
        shown.result.frames.extend(failure.frame);
        shown.result.findings.push(Finding::from(failure));
        return shown.result;
    }
    if calls.times.is_empty() {
        let call = RefusedCall {
            call: format!("tools/call {tool}"),
            answer: calls.refusal.map(|reply| beginning_of_json(&*reply.message, SHOWN)).unwrap_or_default(),
            help: ConfigSource::of(context.suite).help_to_give_arguments(tool),
            purpose: CallPurpose::Check,
        };
        return CheckResult {
            outcome: Outcome::Inconclusive,
            reason: Some(Reason::ValidCallRefused(call)),
            ..shown.result
        };
    }
    let mut broken = load.bounds.broken(measurement, tool);
    if let (Some(bounds), Some(growth)) = (&load.growth, &calls.growth) {
        broken.extend(bounds.broken(growth, tool));
    }
    if !broken.is_empty() {
        shown.result.outcome = Outcome::Failed;
    } else if load.growth.is_some() && calls.growth.is_none() {
        let why = "what the server holds is measured on Linux, and where it is a process that mcprove starts with a \
                   `command`; leave `growth` out elsewhere";
        return CheckResult {
            outcome: Outcome::Inconclusive,
            reason: Some(Reason::NotEvaluated(why.to_owned())),
            ..shown.result
        };
    }
    let exchange = calls.slowest.map(|slowest| shown.exchange(&slowest));
    shown.result.findings.extend(broken.into_iter().map(|found| Finding { exchange, ..found }));
    if let Some(refusal) = calls.refusal {
        let exchange = Some(shown.exchange(&refusal));
        let all = calls.refused + measurement.served();
        let message =
            format!("`{tool}` refused {} of {all} identical valid calls, {} at a time", calls.refused, load.in_flight);
        let help = "refused calls are not measured: raise the server's limit in tests, or make fewer `calls`";
        let help = Some(help.to_owned());
        let found =
            Finding { level: RequirementLevel::Should, exchange, help, ..Finding::new("calls-refused", message) };
        if shown.result.outcome == Outcome::Passed {
            shown.result.outcome = Outcome::Warned;
        }
        shown.result.findings.push(found);
    }
    CheckResult { reason: Some(Reason::Measured(measurement.to_string())), ..shown.result }
}

/// A result that shows calls.
struct Shown<'a> {
    tool: &'a str,
    result: CheckResult,
}

impl Shown<'_> {
    /// Adds a call, and returns its number.
    fn exchange(&mut self, reply: &SessionReply) -> usize {
        self.result.frames.extend([reply.frame, reply.answer_frame]);
        self.result.exchanges.push(Exchange {
            phase: Phase::Steps,
            title: format!("tools/call {}", self.tool),
            tool: Some(self.tool.to_owned()),
            sent: beginning_of_json(&reply.params["arguments"], SHOWN),
            received: beginning_of_json(&*reply.message, SHOWN),
            frame: reply.frame,
            answer_frame: Some(reply.answer_frame),
            elapsed_us: u64::try_from(reply.elapsed.as_micros()).unwrap_or(u64::MAX),
        });
        self.result.exchanges.len() - 1
    }
}
