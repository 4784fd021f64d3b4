//! The state that a suite names, read before and after: whether a slow call changed anything, and when.

use std::time::Duration;

use serde_json::Value;

use super::TimeoutSettings;
use super::slow_call::{SlowCall, params_of};
use crate::check::evidence::refused;
use crate::check::{CheckEnd, CheckRequest, CheckSession};
use crate::event::CheckResult;
use crate::plan::arguments::ConfigSource;
use crate::session::SessionReply;

/// Reads the state with a tool.
pub(crate) struct StateReader {
    pub(crate) tool: String,
    params: Value,
    /// Whether it changes in the second half of a call, so that it shows whether a call goes on.
    pub(crate) shows_end: bool,
    /// The shorter of two times that the slow call took alone.
    pub(crate) slow_time: Duration,
}

impl StateReader {
    /// The reader that the suite names; `None` without one. The result is that of a check whose reader shows nothing.
    pub(crate) async fn of(
        client: &CheckSession<'_>,
        settings: &TimeoutSettings,
        slow: &SlowCall,
    ) -> Result<Option<Self>, Box<CheckResult>> {
        let Some(name) = &settings.state else { return Ok(None) };
        let context = client.context;
        let Some(tool) = context.catalog.tool(&name.value) else { return Ok(None) };
        let params = params_of(context, tool).map_err(|kept| {
            let reason = kept.skip_reason(&tool.name, ConfigSource::of(context.suite));
            Box::new(CheckResult::because(crate::event::Outcome::Skipped, reason))
        })?;
        let mut reader = Self { tool: tool.name.clone(), params, shows_end: false, slow_time: slow.time };
        match reader.watch_call(client, slow).await {
            Ok(None) => Ok(Some(reader)),
            Ok(Some(result)) => Err(Box::new(result)),
            Err(end) => Err(Box::new(end.into_result())),
        }
    }

    /// Makes the slow call to its end: the state must change with it, and stay as it is without it.
    async fn watch_call(
        &mut self,
        client: &CheckSession<'_>,
        slow: &SlowCall,
    ) -> Result<Option<CheckResult>, CheckEnd> {
        let before = self.read(client).await?;
        if !before.is_served() {
            return Ok(Some(refused(client.context, &self.tool, Some(&before))));
        }
        client.wait(slow.time / 4).await;
        let unchanged = self.read(client).await?;
        if shown(&before) != shown(&unchanged) {
            let why = format!("what `{}` shows changes by itself, so it does not show what a call did", self.tool);
            return Ok(Some(CheckResult::inconclusive(why)));
        }
        let halfway = async {
            client.wait(slow.time / 2).await;
            self.read(client).await
        };
        let calling =
            client.request(slow.request().with_progress().within(slow.time * 4 + client.context.request_timeout));
        let (called, halfway) = tokio::join!(calling, halfway);
        let (called, halfway, after) = (called?, halfway?, self.read(client).await?);
        if shown(&unchanged) == shown(&after) {
            let why = format!(
                "a call of `{}` that is not cancelled changes nothing that `{}` shows; name another tool in `state`, or \
                 arguments that change something each time",
                slow.tool, self.tool
            );
            return Ok(Some(CheckResult::inconclusive(why)));
        }
        self.shows_end = shown(&halfway) != shown(&after);
        self.slow_time = slow.time.min(called.elapsed);
        Ok(None)
    }

    pub(crate) async fn read(&self, client: &CheckSession<'_>) -> Result<SessionReply, CheckEnd> {
        client.request(CheckRequest::new("tools/call", self.params.clone())).await
    }
}

/// The part of an answer that shows the state.
pub(crate) fn shown(reply: &SessionReply) -> Value {
    let mut result = reply.message.get("result").cloned().unwrap_or_default();
    if let Some(members) = result.as_object_mut() {
        members.shift_remove("_meta");
    }
    result
}
