//! The slow call of a server, found or named and measured alone, and a quick one to compare it with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OnceCell;

use super::TimeoutSettings;
use super::client::{SlowCallClient, Stuck, call_params};
use crate::block::evidence::refused_with_help;
use crate::event::CheckResult;
use crate::plan::CheckContext;
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::plan::witness::filled_arguments;
use crate::session::{FailureReason, SessionReply};
use crate::source::duration_text;
use crate::wire::Tool;

/// A quicker call cannot be cancelled for certain while it is under way.
const SHORTEST: Duration = Duration::from_millis(300);

/// How often a slow call takes the time of a quick one, at least: what is in between says nothing about waiting.
pub(super) const TIMES_QUICK: u32 = 10;

/// How many tools are tried in the search for a quick one.
const QUICK_TRIES: usize = 8;

/// How many tools are tried in the search for a slow one.
const SLOW_TRIES: usize = 64;

/// The calls that were measured, by server and revision.
#[derive(Debug, Default)]
pub(super) struct SlowCalls(Mutex<BTreeMap<String, Arc<OnceCell<MeasuredCalls>>>>);

/// A slow call and a quick one, as far as a server has them.
#[derive(Debug, Clone)]
pub(super) struct MeasuredCalls {
    slow: Result<SlowCall, CheckResult>,
    /// A call of a tool that only reads.
    pub(super) quick: Option<QuickCall>,
}

/// A call that takes long.
#[derive(Debug, Clone)]
pub(super) struct SlowCall {
    pub(super) tool: String,
    pub(super) params: Value,
    /// The time that it takes alone.
    pub(super) time: Duration,
}

/// A call that takes little time.
#[derive(Debug, Clone)]
pub(super) struct QuickCall {
    pub(super) tool: String,
    pub(super) params: Value,
}

impl MeasuredCalls {
    /// The slow call; the result is that of a check without one.
    pub(super) fn slow(&self) -> Result<&SlowCall, CheckResult> {
        self.slow.as_ref().map_err(CheckResult::clone)
    }
}

impl SlowCalls {
    /// The calls of a server, measured in this session if they are not known yet.
    pub(super) async fn of(&self, client: &SlowCallClient<'_>, settings: &TimeoutSettings) -> MeasuredCalls {
        let key = format!("{}/{}", client.context.server_name, client.session.server.revision);
        let cell = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        cell.get_or_init(|| measure(client, settings)).await.clone()
    }
}

async fn measure(client: &SlowCallClient<'_>, settings: &TimeoutSettings) -> MeasuredCalls {
    let mut search = CallSearch { client, limit: settings.max_time / 3, quickest: None };
    let slow = match &settings.slow_tool {
        Some(name) => search.named(&name.value, settings).await,
        None => search.slowest(settings).await,
    };
    if search.quickest.is_none() && client.session.is_open() {
        search.find_quick(settings).await;
    }
    let slowest = slow.as_ref().map_or(Duration::MAX, |slow| slow.time);
    let quick = search.quickest.filter(|(time, _)| *time * TIMES_QUICK < slowest).map(|(_, quick)| quick);
    MeasuredCalls { slow, quick }
}

/// A search under way.
struct CallSearch<'a> {
    client: &'a SlowCallClient<'a>,
    /// The time for one call.
    limit: Duration,
    quickest: Option<(Duration, QuickCall)>,
}

impl CallSearch<'_> {
    /// The slow tool that the suite names.
    async fn named(&mut self, name: &str, settings: &TimeoutSettings) -> Result<SlowCall, CheckResult> {
        let context = self.client.context;
        let Some(tool) = context.catalog.tool(name) else {
            return Err(CheckResult::not_applicable(format!("the server offers no tool `{name}`")));
        };
        let params = match &settings.args {
            Some(args) => (context.filled)(args).map(|args| call_params(name, &args)),
            None => Some(params_of(context, tool).map_err(|kept| {
                let config_source = ConfigSource::of(context.suite);
                CheckResult::because(crate::event::Outcome::Skipped, kept.skip_reason(name, config_source))
            })?),
        };
        let Some(params) = params else {
            return Err(CheckResult::inconclusive(format!(
                "the arguments of `{name}` use a name that only a step captures"
            )));
        };
        let reply = match self.client.call(&params, self.limit, true).await {
            Ok(reply) => reply,
            Err(Stuck::Failed(failure)) if matches!(failure.reason, FailureReason::Timeout(_)) => {
                return Err(CheckResult::inconclusive(format!(
                    "`{name}` took longer than {}, a third of `max_time`; give it arguments with which it takes a second \
                     or two, or raise `max_time`",
                    duration_text(self.limit)
                )));
            }
            Err(stuck) => return Err(self.client.stuck_result(&stuck)),
        };
        if !reply.is_served() {
            let help = format!("with `timeouts: {{ slow_tool: {name}, args: {{ … }} }}`");
            return Err(refused_with_help(name, Some(&reply), help));
        }
        if reply.elapsed < SHORTEST {
            return Err(CheckResult::not_applicable(format!(
                "`{name}` answered after {}, too soon to be cancelled while it is under way; give it `args` with which it \
                 takes a second or two",
                duration_text(reply.elapsed)
            )));
        }
        Ok(SlowCall { tool: name.to_owned(), params, time: reply.elapsed })
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
            if self.client.left() < settings.max_time / 2 || !self.client.session.is_open() {
                break;
            }
            let Some(reply) = self.try_once(tool, &params).await else { continue };
            if slowest.as_ref().is_none_or(|slowest| slowest.time < reply.elapsed) {
                slowest = Some(SlowCall { tool: tool.name.clone(), params, time: reply.elapsed });
            }
        }
        slowest.filter(|slowest| slowest.time >= SHORTEST).ok_or_else(|| {
            let left = if left_alone == 0 { String::new() } else { format!(", and {left_alone} may not be called") };
            CheckResult::not_applicable(format!(
                "no tool took longer than {}{left}; name one with `slow_tool`, and give it `args` with which it takes a \
                 second or two",
                duration_text(SHORTEST)
            ))
        })
    }

    async fn find_quick(&mut self, settings: &TimeoutSettings) {
        let context = self.client.context;
        let slow = settings.slow_tool.as_ref().map(|name| name.value.as_str());
        let reading =
            context.catalog.tools.iter().filter(|tool| {
                tool.only_reads() && settings.tools.selects(&tool.name) && slow != Some(tool.name.as_str())
            });
        for tool in reading.take(QUICK_TRIES) {
            if self.client.left() < settings.max_time / 2 || !self.client.session.is_open() {
                break;
            }
            if let Ok(params) = params_of(context, tool) {
                self.try_once(tool, &params).await;
            }
        }
    }

    /// Calls a tool once; `None` where it served nothing in time.
    async fn try_once(&mut self, tool: &Tool, params: &Value) -> Option<SessionReply> {
        let reply = self.client.call(params, self.limit, true).await.ok().filter(SessionReply::is_served)?;
        let is_quicker = self.quickest.as_ref().is_none_or(|(time, _)| reply.elapsed < *time);
        if tool.only_reads() && is_quicker {
            let quick = QuickCall { tool: tool.name.clone(), params: params.clone() };
            self.quickest = Some((reply.elapsed, quick));
        }
        Some(reply)
    }
}

/// A valid call of a tool that may be called: with arguments of the suite, or generated ones.
pub(super) fn params_of(context: &CheckContext<'_>, tool: &Tool) -> Result<Value, NotCallable> {
    Ok(call_params(&tool.name, &filled_arguments(context, tool)?))
}
