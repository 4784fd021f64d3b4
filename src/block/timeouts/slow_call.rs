//! The slow call of a server, found or named and measured alone, and a quick one to compare it with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::TimeoutSettings;
use crate::check::evidence::{refusal_result_with_help, shown_call};
use crate::check::hang::find_hang;
use crate::check::{CheckEnd, CheckRequest, CheckSession, call_params};
use crate::event::{CheckResult, Finding, Outcome, ReproductionCall};
use crate::plan::CheckContext;
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::plan::witness::filled_arguments;
use crate::session::{CallFailure, SessionReply};
use crate::source::{duration_text, words};
use crate::transport::Owner;
use crate::wire::{Direction, Tool};

/// A quicker call cannot be cancelled for certain while it is under way.
const SHORTEST: Duration = Duration::from_millis(300);

/// The least number of quick calls that take the time of a slow one: what is in between says nothing about waiting.
pub(crate) const TIMES_QUICK: u32 = 10;

/// The number of tools that are tried in the search for a quick one.
const QUICK_TRIES: usize = 8;

/// The number of tools that are tried in the search for a slow one.
const SLOW_TRIES: usize = 64;

/// The calls that were measured, by server and revision.
///
/// The case that measured them does so again when it is run again: a replay answers the calls that a case made.
#[derive(Debug, Default)]
pub(crate) struct SlowCalls(Mutex<BTreeMap<String, Arc<OnceCell<MeasuredBy>>>>);

/// Calls, and the case that measured them.
#[derive(Debug)]
struct MeasuredBy {
    case: Owner,
    calls: MeasuredCalls,
}

/// A slow call and a quick one, as far as a server has them.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredCalls {
    slow: Result<SlowCall, CheckResult>,
    /// The slowest of several that the suite names.
    slowest: Option<SlowCall>,
    /// A call of a tool that only reads.
    pub(crate) quick: Option<QuickCall>,
}

/// A call that takes long.
#[derive(Debug, Clone)]
pub(crate) struct SlowCall {
    pub(crate) tool: String,
    pub(crate) params: Value,
    /// The time that it takes alone.
    pub(crate) time: Duration,
}

/// A call that takes little time.
#[derive(Debug, Clone)]
pub(crate) struct QuickCall {
    pub(crate) tool: String,
    pub(crate) params: Value,
}

/// The request that stands for a quick call where no tool is quick.
pub(crate) const LIST_OF_TOOLS: &str = "tools/list";

impl SlowCall {
    pub(crate) fn request(&self) -> CheckRequest<'static> {
        call_request(&self.params)
    }
}

impl QuickCall {
    pub(crate) fn request(&self) -> CheckRequest<'static> {
        call_request(&self.params)
    }
}

impl MeasuredCalls {
    /// The same for a case that did not measure them: it has not seen what went wrong.
    fn for_another_case(&self) -> Self {
        let slow = self.slow.clone().map_err(|result| match (result.outcome, result.findings.first()) {
            (Outcome::Failed, Some(found)) => {
                CheckResult::inconclusive(format!("the slow call was not measured: {}", found.message))
            }
            _ => result,
        });
        Self { slow, slowest: self.slowest.clone(), quick: self.quick.clone() }
    }

    /// The slowest call that is known.
    pub(crate) fn slowest(&self) -> Option<&SlowCall> {
        self.slowest.as_ref().or(self.slow.as_ref().ok())
    }

    /// The slow call; the result is that of a check without one.
    pub(crate) fn slow(&self) -> Result<&SlowCall, CheckResult> {
        self.slow.as_ref().map_err(CheckResult::clone)
    }
}

impl SlowCalls {
    /// The calls of a server, measured in this session if they are not known yet.
    pub(crate) async fn of(&self, client: &CheckSession<'_>, settings: &TimeoutSettings) -> MeasuredCalls {
        let key = format!("{}/{}", client.context.server_name, client.revision());
        let cell = Arc::clone(self.0.lock().entry(key).or_default());
        let mut has_measured = false;
        let case = client.context.owner;
        let measuring = async {
            has_measured = true;
            MeasuredBy { case: case.clone(), calls: measure(client, settings).await }
        };
        let known = cell.get_or_init(|| measuring).await;
        match known.case == *case {
            true if !has_measured => measure(client, settings).await,
            true => known.calls.clone(),
            false => known.calls.for_another_case(),
        }
    }
}

async fn measure(client: &CheckSession<'_>, settings: &TimeoutSettings) -> MeasuredCalls {
    let mut search = CallSearch { client, limit: settings.max_time / 3, reads: Vec::new() };
    let slow = match settings.slow_tool.first() {
        Some(name) => search.find_named(&name.value, settings).await,
        None => search.slowest(settings).await,
    };
    let mut slowest = slow.as_ref().ok().cloned();
    for name in settings.slow_tool.iter().skip(1) {
        let named = search.find_named(&name.value, settings).await.ok();
        slowest = named.into_iter().chain(slowest).max_by_key(|slow| slow.time);
    }
    let slow_time = slow.as_ref().map_or(Duration::MAX, |slow| slow.time);
    if search.quick(slow_time).is_none() && client.session().is_open() {
        search.find_quick(settings, slow_time).await;
    }
    MeasuredCalls { slow, slowest, quick: search.quick(slow_time).cloned() }
}

/// A search under way.
struct CallSearch<'a> {
    client: &'a CheckSession<'a>,
    /// The time for one call.
    limit: Duration,
    /// Calls of tools that only read, in the order in which they were made.
    reads: Vec<TimedRead>,
}

/// A slow call without an answer.
#[derive(Debug, Clone, Copy)]
struct UnansweredCall {
    /// The time that it had.
    limit: Duration,
    request_timeout: Duration,
    /// The server reported progress meanwhile.
    has_progress: bool,
}

impl UnansweredCall {
    /// True if it is a hang, which `request_timeout` without a sign of life is for every other call; the time of a slow call is
    /// more than that, unless the suite says otherwise.
    fn is_hang(self) -> bool {
        !self.has_progress && self.limit >= self.request_timeout
    }
}

/// A call of a tool that only reads, and its time.
struct TimedRead {
    time: Duration,
    call: QuickCall,
}

/// The first call that is quick beside a slow one. The quickest would be another one each time.
fn quick_call(reads: &[TimedRead], slow_time: Duration) -> Option<&QuickCall> {
    reads.iter().find(|read| read.time.saturating_mul(TIMES_QUICK) < slow_time).map(|read| &read.call)
}

impl CallSearch<'_> {
    fn quick(&self, slow_time: Duration) -> Option<&QuickCall> {
        quick_call(&self.reads, slow_time)
    }

    /// The slow tool that the suite names.
    async fn find_named(&mut self, name: &str, settings: &TimeoutSettings) -> Result<SlowCall, CheckResult> {
        let context = self.client.context;
        let Some(tool) = context.catalog.tool(name) else {
            return Err(CheckResult::not_applicable(format!("the server offers no tool `{name}`")));
        };
        let params = match &settings.args {
            Some(args) => context.fill(args).map(|args| call_params(name, &args)),
            None => Some(params_of(context, tool).map_err(|kept| {
                let config_source = ConfigSource::of(context.suite);
                CheckResult::because(Outcome::Skipped, kept.skip_reason(name, config_source))
            })?),
        };
        let Some(params) = params else {
            return Err(CheckResult::inconclusive(format!(
                "the arguments of `{name}` use a name that only a step captures"
            )));
        };
        let reply = match self.client.request(call_request(&params).with_progress().within(self.limit)).await {
            Ok(reply) => reply,
            Err(CheckEnd::Unanswered(failure)) if failure.is_timeout() => {
                return Err(self.judge_unanswered(name, &failure));
            }
            Err(end) => return Err(end.into_result()),
        };
        if !reply.is_served() {
            let help = format!("with `timeouts: {{ slow_tool: {name}, args: {{ … }} }}`");
            return Err(refusal_result_with_help(name, Some(&shown_call(&reply)), help));
        }
        if reply.elapsed < SHORTEST {
            return Err(CheckResult::not_given(format!(
                "`{name}` answered after {}, too soon to be cancelled while it is under way; give it `args` with which it \
                 takes a second or two",
                duration_text(reply.elapsed)
            )));
        }
        Ok(SlowCall { tool: name.to_owned(), params, time: reply.elapsed })
    }

    /// The result where the slow tool of the suite did not answer.
    fn judge_unanswered(&self, name: &str, failure: &CallFailure) -> CheckResult {
        let frames = self.client.session().frames();
        let later = frames.iter().filter(|frame| failure.frame.is_some_and(|request| frame.seq > request));
        let mut received = later.filter(|frame| frame.direction == Direction::Received);
        let silence = UnansweredCall {
            limit: self.limit,
            request_timeout: self.client.context.request_timeout,
            has_progress: received
                .any(|frame| frame.json().is_ok_and(|message| message["method"] == "notifications/progress")),
        };
        let limit = duration_text(self.limit);
        let help = "give it arguments with which it takes a second or two, or raise `max_time`";
        if !silence.is_hang() {
            let why = format!("`{name}` took longer than {limit}, a third of `max_time`; {help}");
            return CheckResult::inconclusive(why);
        }
        let found = Finding {
            message: format!("`{name}` got no answer and no progress within {limit}, a third of `max_time`"),
            help: Some(format!("if it may take so long, {help}")),
            ..Finding::from(failure)
        };
        CheckResult {
            frames: failure.frame.into_iter().collect(),
            ..CheckResult::with_findings(Outcome::Failed, vec![found])
        }
    }

    /// The slowest tool that may be called; each is called once.
    async fn slowest(&mut self, settings: &TimeoutSettings) -> Result<SlowCall, CheckResult> {
        let mut slowest: Option<SlowCall> = None;
        let mut left_alone = 0;
        let context = self.client.context;
        let selected = context.catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
        for tool in selected.take(SLOW_TRIES) {
            let Ok(params) = params_of(context, tool) else {
                left_alone += 1;
                continue;
            };
            if self.client.remaining() < settings.max_time / 2 || !self.client.session().is_open() {
                break;
            }
            let Some(reply) = self.try_once(tool, &params).await else {
                if self.is_silent().await
                    && let Some(hang) = self.find_hang(&params).await
                {
                    return Err(CheckResult::with_findings(Outcome::Failed, vec![hang]));
                }
                continue;
            };
            if slowest.as_ref().is_none_or(|slowest| slowest.time < reply.elapsed) {
                slowest = Some(SlowCall { tool: tool.name.clone(), params, time: reply.elapsed });
            }
        }
        if slowest.as_ref().is_none_or(|slowest| slowest.time < SHORTEST) {
            slowest = self.waiting(settings).await.or(slowest);
        }
        slowest.filter(|slowest| slowest.time >= SHORTEST).ok_or_else(|| {
            let left = if left_alone == 0 { String::new() } else { format!(", and {left_alone} may not be called") };
            CheckResult::not_given(format!(
                "no tool took longer than {}{left}; name one with `slow_tool`, and give it `args` with which it takes a \
                 second or two",
                duration_text(SHORTEST)
            ))
        })
    }

    /// The first call that a longer wait among its arguments makes slow.
    async fn waiting(&mut self, settings: &TimeoutSettings) -> Option<SlowCall> {
        let context = self.client.context;
        let selected = context.catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
        let callable = selected.filter_map(|tool| Some((tool, params_of(context, tool).ok()?)));
        for (tool, params) in callable.take(SLOW_TRIES) {
            let Some(arguments) = with_longer_wait(tool.input_schema(), &params["arguments"]) else { continue };
            if self.client.remaining() < settings.max_time / 2 || !self.client.session().is_open() {
                break;
            }
            let params = call_params(&tool.name, &arguments);
            if let Some(reply) = self.try_once(tool, &params).await.filter(|reply| reply.elapsed >= SHORTEST) {
                return Some(SlowCall { tool: tool.name.clone(), params, time: reply.elapsed });
            }
        }
        None
    }

    async fn find_quick(&mut self, settings: &TimeoutSettings, slow_time: Duration) {
        let context = self.client.context;
        let is_slow = |tool: &Tool| settings.slow_tool.iter().any(|name| name.value == tool.name);
        let reading = context.catalog.tools.iter();
        let reading = reading.filter(|tool| tool.only_reads() && settings.tools.selects(&tool.name) && !is_slow(tool));
        for tool in reading.take(QUICK_TRIES) {
            let is_over = self.client.remaining() < settings.max_time / 2 || !self.client.session().is_open();
            if is_over || self.quick(slow_time).is_some() {
                break;
            }
            if let Ok(params) = params_of(context, tool) {
                self.try_once(tool, &params).await;
            }
        }
    }

    /// The server does not even answer a sign of life.
    async fn is_silent(&self) -> bool {
        let timeout = self.client.context.request_timeout;
        self.client.session().is_open() && self.client.ping(timeout).await.is_err()
    }

    async fn find_hang(&self, params: &Value) -> Option<Finding> {
        let call = ReproductionCall::new("tools/call", params.clone());
        find_hang(self.client.context, self.client.limits().clone(), &call).await
    }

    /// Calls a tool once; `None` where it served nothing in time.
    async fn try_once(&mut self, tool: &Tool, params: &Value) -> Option<SessionReply> {
        let reply = self
            .client
            .request(call_request(params).with_progress().within(self.limit))
            .await
            .ok()
            .filter(SessionReply::is_served)?;
        if tool.only_reads() {
            let call = QuickCall { tool: tool.name.clone(), params: params.clone() };
            self.reads.push(TimedRead { time: reply.elapsed, call });
        }
        Some(reply)
    }
}

fn call_request(params: &Value) -> CheckRequest<'static> {
    CheckRequest::new("tools/call", params.clone())
}

/// Words of the names of parameters that say how long a call takes.
const WAIT_WORDS: [&str; 5] = ["delay", "duration", "wait", "sleep", "pause"];

/// Units in names and descriptions of such parameters.
const MILLISECONDS: [&str; 4] = ["ms", "millis", "millisecond", "milliseconds"];
const SECONDS: [&str; 4] = ["s", "sec", "second", "seconds"];

/// Arguments with which a call waits about a second, as far as the schema allows it; `None` where no parameter is a wait
/// whose unit is known.
fn with_longer_wait(schema: &Value, arguments: &Value) -> Option<Value> {
    let properties = schema["properties"].as_object()?;
    let (name, wait) = properties.iter().find_map(|(name, declared)| Some((name, wait_of(name, declared)?)))?;
    let mut arguments = arguments.clone();
    arguments.as_object_mut()?.insert(name.clone(), wait.into());
    Some(arguments)
}

/// A wait of about a second for a parameter.
fn wait_of(name: &str, declared: &Value) -> Option<u64> {
    let is_number = declared["type"] == "integer" || declared["type"] == "number";
    let of_name = words(name);
    let of_description = words(declared["description"].as_str().unwrap_or_default());
    let has = |words: &[String], known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is_wait = has(&of_name, &WAIT_WORDS) || of_name.len() == 1 && has(&of_name, &SECONDS[1..]);
    if !is_number || !is_wait {
        return None;
    }
    let unit = [of_name, of_description].iter().find_map(|words| match words {
        words if has(words, &MILLISECONDS) => Some(1000),
        words if has(words, &SECONDS) => Some(1),
        _ => None,
    })?;
    let bound = |key: &str| declared[key].as_u64();
    let wait = unit.max(bound("minimum").unwrap_or_default()).min(bound("maximum").unwrap_or(u64::MAX));
    (wait <= unit * 3).then_some(wait)
}

/// A valid call of a tool that may be called: with arguments of the suite, or generated ones.
pub(crate) fn params_of(context: &CheckContext<'_>, tool: &Tool) -> Result<Value, NotCallable> {
    Ok(call_params(&tool.name, &filled_arguments(context, tool)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_whose_unit_is_known_is_a_second() {
        for (name, declared, expected) in [
            ("delay_ms", json!({"type": "integer"}), Some(1000)),
            ("delay_ms", json!({"type": "integer", "maximum": 500}), Some(500)),
            ("delay", json!({"type": "number", "description": "Time between rows in milliseconds"}), Some(1000)),
            ("duration", json!({"type": "number", "description": "Duration of the operation in seconds"}), Some(1)),
            ("seconds", json!({"type": "number"}), Some(1)),
            ("waitSeconds", json!({"type": "number", "minimum": 2}), Some(2)),
            ("waitSeconds", json!({"type": "number", "minimum": 60}), None),
            ("duration", json!({"type": "number"}), None),
            ("delay_ms", json!({"type": "string"}), None),
            ("limit", json!({"type": "integer", "description": "Rows per second"}), None),
            ("timeout_ms", json!({"type": "integer"}), None),
        ] {
            let schema = json!({"properties": {name: declared}});
            let mut waiting = json!({"format": "csv"});
            let longer = with_longer_wait(&schema, &waiting);
            let expected = expected.map(|wait: u64| {
                waiting[name] = wait.into();
                waiting
            });
            assert_eq!(longer, expected, "{name} {declared}");
        }
    }

    #[test]
    fn a_quick_call_takes_a_tenth_of_the_slow_one() {
        let read = |(tool, millis): &(&str, u64)| TimedRead {
            time: Duration::from_millis(*millis),
            call: QuickCall { tool: (*tool).to_owned(), params: Value::Null },
        };
        for (reads, expected) in [
            (&[("list", 90), ("get", 20)][..], Some("list")),
            (&[("list", 100), ("get", 20)], Some("get")),
            (&[("list", 100), ("get", 500)], None),
            (&[("list", 0)], Some("list")),
            (&[], None),
        ] {
            let reads: Vec<TimedRead> = reads.iter().map(read).collect();
            let quick = quick_call(&reads, Duration::from_secs(1));
            assert_eq!(quick.map(|quick| quick.tool.as_str()), expected);
        }
        // Without a slow call, anything is quick.
        assert!(quick_call(&[read(&("list", 90_000))], Duration::MAX).is_some());
    }

    #[test]
    fn silence_is_a_hang_where_the_call_had_its_time_and_gave_no_sign() {
        for (limit, request_timeout, has_progress, expected) in [
            (20, 10, false, true),
            (10, 10, false, true),
            (20, 10, true, false),
            (5, 10, false, false),
            (5, 10, true, false),
        ] {
            let [limit, request_timeout] = [limit, request_timeout].map(Duration::from_secs);
            let silence = UnansweredCall { limit, request_timeout, has_progress };
            assert_eq!(silence.is_hang(), expected, "{silence:?}");
        }
    }

    #[test]
    fn another_case_has_not_seen_what_went_wrong() {
        let slow = || SlowCall { tool: "export".to_owned(), params: Value::Null, time: Duration::from_secs(2) };
        let failed = CheckResult::with_findings(Outcome::Failed, vec![Finding::new("hang", "it hangs")]);
        for (slow, expected) in [
            (Ok(slow()), None),
            (Err(failed), Some(Outcome::Inconclusive)),
            (Err(CheckResult::not_applicable("no tool is slow")), Some(Outcome::Skipped)),
            (Err(CheckResult::inconclusive("it was refused")), Some(Outcome::Inconclusive)),
        ] {
            let calls = MeasuredCalls { slow, slowest: None, quick: None }.for_another_case();
            let outcome = calls.slow().err().map(|result| result.outcome);
            assert_eq!(outcome, expected);
        }
    }
}
