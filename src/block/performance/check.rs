//! The calls of one tool, several under way at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Load;
use super::growth::Growth;
use super::measurement::{Measurement, Measurements};
use crate::check::evidence::{refusal_result_with_help, shown_call};
use crate::check::latency::latency_text;
use crate::check::{
    CheckEnd, CheckLimits, CheckLog, CheckRequest, CheckSession, SessionCaller, call_params, with_exit,
};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel};
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::{CallFailure, SessionReply};
use crate::source::Node;

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

    fn largest_message(&self) -> Option<usize> {
        None
    }
}

async fn run(check: &LoadCheck, context: &CheckContext<'_>) -> CheckResult {
    let Some(arguments) = context.fill(&check.arguments) else {
        let why = format!("the arguments of `{}` use a name that only a step captures", check.tool);
        return CheckResult::because(Outcome::Inconclusive, Reason::Unfilled(why));
    };
    let load = &check.load;
    // The last call of the warm-up and of the load begin within `time`, and have their whole time.
    let time = (load.time + context.request_timeout) * 2;
    let session = match CheckSession::open(context, CheckLimits::new(time, "raise `time`")).await {
        Ok(session) => session,
        Err(end) => return end.into_result(),
    };
    let protocol_revision = session.revision();
    let params = call_params(&check.tool, &arguments).into();
    let LoadRun { calls, elapsed } = run_load(LoadCaller { caller: session.caller(), params }, load).await;
    let exit = session.close().await;
    let measurement = Measurement::new(&calls.times, elapsed);
    let help = ConfigSource::of(context.suite).help_to_give_arguments(&check.tool);
    let judged = JudgedLoad { load, tool: &check.tool, help };
    let result = CheckResult { protocol_revision, ..verdict(&judged, calls, &measurement) };
    if result.outcome == Outcome::Inconclusive {
        return result;
    }
    check.measurements.add(context, &result.protocol_revision, check, measurement);
    with_exit(result, exit)
}

/// Makes one call after the other.
#[derive(Clone)]
struct LoadCaller {
    caller: SessionCaller,
    params: Arc<Value>,
}

/// The calls of a load, and the time of those that are measured.
struct LoadRun {
    calls: LoadCalls,
    elapsed: Duration,
}

/// The calls that were made.
#[derive(Default)]
struct LoadCalls {
    /// The duration of each served call.
    times: Vec<Duration>,
    refused: usize,
    /// The served call that took longest, and its time.
    slowest: Option<Exchange>,
    slowest_time: Duration,
    /// The first refused call, and the time of the one that took longest.
    refusal: Option<Exchange>,
    slowest_refusal: Duration,
    failure: Option<CallFailure>,
    /// The resources of the server's processes before and after; nothing where nobody can tell.
    growth: Option<Growth>,
}

async fn run_load(caller: LoadCaller, load: &Load) -> LoadRun {
    let warm_up = caller.call(&AtomicUsize::new(0), load.warm_up, Instant::now() + load.time).await;
    if warm_up.ends_load(load.warm_up) {
        return LoadRun { calls: LoadCalls { times: Vec::new(), ..warm_up }, elapsed: Duration::ZERO };
    }
    let usage = || load.growth.as_ref().and_then(|_| caller.caller.session().processes()?.usage());
    let before = usage();
    let begun = Instant::now();
    let (deadline, most) = (begun + load.time, load.calls);
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..load.in_flight {
        let (caller, next) = (caller.clone(), Arc::clone(&next));
        workers.spawn(async move { caller.call(&next, most, deadline).await });
    }
    let calls = workers.join_all().await.into_iter().fold(LoadCalls::default(), LoadCalls::and);
    let elapsed = begun.elapsed();
    let made = calls.times.len() + calls.refused;
    let growth = before.zip(usage()).map(|(before, after)| Growth { before, after, calls: made });
    LoadRun { calls: LoadCalls { growth, ..calls }, elapsed }
}

impl LoadCaller {
    /// Calls one after the other until so many calls were made by all who share the number, the time is over, or a call fails.
    async fn call(&self, next: &AtomicUsize, most: usize, deadline: Instant) -> LoadCalls {
        let mut calls = LoadCalls::default();
        while Instant::now() < deadline && next.fetch_add(1, Ordering::Relaxed) < most {
            match self.caller.send(CheckRequest::new("tools/call", Value::clone(&self.params))).await {
                Ok(reply) => calls.count(&reply),
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
    /// A load after such a warm-up, of which so many calls were wanted, would measure nothing.
    fn ends_load(&self, wanted: usize) -> bool {
        self.failure.is_some() || (wanted > 0 && self.times.is_empty())
    }

    fn count(&mut self, reply: &SessionReply) {
        if !reply.is_served() {
            self.refused += 1;
            self.slowest_refusal = self.slowest_refusal.max(reply.elapsed);
            self.refusal.get_or_insert_with(|| shown_call(reply));
            return;
        }
        self.times.push(reply.elapsed);
        if self.slowest_time < reply.elapsed {
            (self.slowest_time, self.slowest) = (reply.elapsed, Some(shown_call(reply)));
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.times.extend(other.times);
        Self {
            times: self.times,
            refused: self.refused + other.refused,
            slowest: if self.slowest_time < other.slowest_time { other.slowest } else { self.slowest },
            slowest_time: self.slowest_time.max(other.slowest_time),
            refusal: self.refusal.or(other.refusal),
            slowest_refusal: self.slowest_refusal.max(other.slowest_refusal),
            failure: self.failure.or(other.failure),
            growth: None,
        }
    }
}

/// The load and the tool that its calls are judged by.
struct JudgedLoad<'a> {
    load: &'a Load,
    tool: &'a str,
    /// The way to give valid arguments.
    help: String,
}

fn verdict(judged: &JudgedLoad<'_>, calls: LoadCalls, measurement: &Measurement) -> CheckResult {
    let JudgedLoad { load, tool, help } = judged;
    if let Some(failure) = calls.failure {
        return CheckEnd::Unanswered(Box::new(failure)).into_result();
    }
    if calls.times.is_empty() {
        return refusal_result_with_help(tool, calls.refusal.as_ref(), help.clone());
    }
    let mut log = CheckLog::default();
    let mut result = CheckResult::new(Outcome::Passed);
    let mut broken = load.bounds().broken(measurement, tool);
    if let (Some(bounds), Some(growth)) = (&load.growth, &calls.growth) {
        broken.extend(bounds.broken(growth, tool));
    }
    if !broken.is_empty() {
        result.outcome = Outcome::Failed;
    } else if load.growth.is_some() && calls.growth.is_none() {
        let why = "what the server holds is measured on Linux, and where it is a process that mcprove starts with a \
                   `command`; leave `growth` out elsewhere";
        return CheckResult::inconclusive(why);
    }
    let exchange = calls.slowest.map(|slowest| log.add(slowest));
    result.findings.extend(broken.into_iter().map(|found| Finding { exchange, ..found }));
    if let Some(refusal) = calls.refusal {
        let exchange = Some(log.add(refusal));
        let all = calls.refused + measurement.served_calls();
        let message = format!(
            "`{tool}` refused {} of {all} identical valid calls, {} at a time; the slowest refusal took {}",
            calls.refused,
            load.in_flight,
            latency_text(calls.slowest_refusal)
        );
        let help = "bounds are about served calls: raise the server's limit in tests, or make fewer `calls`";
        let help = Some(help.to_owned());
        let found =
            Finding { level: RequirementLevel::Should, exchange, help, ..Finding::new("calls-refused", message) };
        if result.outcome == Outcome::Passed {
            result.outcome = Outcome::Warned;
        }
        result.findings.push(found);
    }
    CheckResult { reason: Some(Reason::Measured(measurement.to_string())), ..log.attach(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests;
    use crate::session::FailureReason;
    use crate::transport::ProcessUsage;

    fn calls(times: &[u64], refused: usize) -> LoadCalls {
        let mut calls = LoadCalls::default();
        for took in times {
            calls.count(&SessionReply { elapsed: Duration::from_millis(*took), ..tests::served("ok") });
        }
        (1..=refused as u64).for_each(|number| {
            calls.count(&SessionReply { elapsed: Duration::from_millis(20 * number), ..tests::refused() });
        });
        calls
    }

    /// A call that got no answer in time.
    fn failure() -> CallFailure {
        CallFailure {
            reason: FailureReason::Timeout(Duration::from_secs(1)),
            method: "tools/call".to_owned(),
            frame: None,
            violation: None,
            stderr: Vec::new(),
            stray: Vec::new(),
            alive: true,
            is_local: true,
            lack: None,
        }
    }

    fn usage(files: u64) -> ProcessUsage {
        ProcessUsage { memory: 0, files, processes: 1 }
    }

    #[test]
    fn a_load_is_judged_by_its_bounds() {
        let growth = |files| Some(Growth { before: usage(3), after: usage(files), calls: 2 });
        for (load, calls, expected) in [
            ("{ latency: { p95: 20ms } }", calls(&[10, 20], 0), "passed: "),
            (
                "{ latency: { p50: 9ms } }",
                calls(&[10, 20], 0),
                "failed: `get` took 10.0 ms at p50, longer than the bound of 9 ms",
            ),
            (
                "{ calls_per_second: 3 }",
                calls(&[10, 20], 0),
                "failed: `get` served 2.00 calls/s, fewer than the bound of 3",
            ),
            // A refusal is no measurement, and no failure of the bound.
            (
                "{ latency: { max: 1s } }",
                calls(&[10], 2),
                "warned: `get` refused 2 of 3 identical valid calls, 1 at a time; the slowest refusal took 40.0 ms",
            ),
            ("{ latency: { max: 1s } }", calls(&[], 2), "inconclusive: "),
            (
                "{ growth: { files: 1 } }",
                LoadCalls { growth: growth(5), ..calls(&[10], 0) },
                "failed: 2 calls of `get` left 2 more open files behind; the bound is 1",
            ),
            ("{ growth: { files: 2 } }", LoadCalls { growth: growth(5), ..calls(&[10], 0) }, "passed: "),
            // Nobody can tell what the server holds.
            ("{ growth: { files: 2 } }", calls(&[10], 0), "inconclusive: "),
            (
                "{ growth: { files: 2 }, latency: { max: 1ms } }",
                calls(&[10], 0),
                "failed: `get` took 10.0 ms at max, longer than the bound of 1 ms",
            ),
        ] {
            let measurement = Measurement::new(&calls.times, Duration::from_secs(1));
            let judged = JudgedLoad { load: &tests::settings(load), tool: "get", help: String::new() };
            let result = verdict(&judged, calls, &measurement);
            let messages: Vec<&str> = result.findings.iter().map(|found| found.message.as_str()).collect();
            assert_eq!(format!("{}: {}", result.outcome.as_str(), messages.join("; ")), expected, "{load}");
        }
    }

    #[test]
    fn calls_of_several_workers_are_added_up() {
        let all = calls(&[10, 30], 1).and(calls(&[20], 2));
        assert_eq!((all.times.len(), all.refused), (3, 3));
        assert_eq!(all.slowest.map(|call| call.elapsed_us), Some(30_000));
    }

    #[test]
    fn a_warm_up_that_serves_nothing_ends_the_load() {
        for (warm_up, wanted, expected) in [
            (calls(&[10], 0), 3, false),
            (calls(&[10], 2), 3, false),
            (calls(&[], 3), 3, true),
            // Nobody asked for one.
            (calls(&[], 0), 0, false),
            (LoadCalls { failure: Some(failure()), ..calls(&[10], 0) }, 3, true),
        ] {
            assert_eq!(warm_up.ends_load(wanted), expected, "{:?} {} {wanted}", warm_up.times, warm_up.refused);
        }
    }

    #[test]
    fn what_is_found_points_at_the_call_that_shows_it() {
        let load = "{ latency: { max: 15ms }, in_flight: 2 }";
        for (calls, outcome, expected) in [
            (calls(&[10, 12], 0), Outcome::Passed, &[][..]),
            (calls(&[10, 20], 0), Outcome::Failed, &[("latency-above-bound", 20_000)]),
            (calls(&[10], 1), Outcome::Warned, &[("calls-refused", 20_000)]),
            // A refusal excuses no bound.
            (calls(&[30], 3), Outcome::Failed, &[("latency-above-bound", 30_000), ("calls-refused", 20_000)]),
        ] {
            let measurement = Measurement::new(&calls.times, Duration::from_secs(1));
            let judged = JudgedLoad { load: &tests::settings(load), tool: "get", help: String::new() };
            let result = verdict(&judged, calls, &measurement);
            let shown = result.findings.iter().map(|found| {
                let exchange = found.exchange.and_then(|at| result.exchanges.get(at));
                (found.code.as_str(), exchange.map_or(0, |exchange| exchange.elapsed_us))
            });
            assert_eq!((result.outcome, shown.collect::<Vec<_>>().as_slice()), (outcome, expected));
        }
    }

    #[test]
    fn a_failed_call_judges_the_server_and_not_its_bounds() {
        let measured = calls(&[10], 0);
        let measurement = Measurement::new(&measured.times, Duration::from_secs(1));
        let judged = JudgedLoad {
            load: &tests::settings("{ latency: { max: 1ms } }"),
            tool: "get",
            help: "give it arguments".to_owned(),
        };
        let failed = LoadCalls { failure: Some(failure()), ..measured };
        let result = verdict(&judged, failed, &measurement);
        let codes: Vec<&str> = result.findings.iter().map(|found| found.code.as_str()).collect();
        assert!(result.outcome == Outcome::Failed && !codes.contains(&"latency-above-bound"), "{codes:?}");
        // Refusals alone say that the arguments are wrong.
        let refused = verdict(&judged, calls(&[], 3), &measurement);
        assert!(format!("{:?}", refused.reason).contains("give it arguments"), "{:?}", refused.reason);
    }
}
