//! The state that a suite names, read before and after: whether a slow call changed anything, and when.

use std::time::Duration;

use serde_json::Value;

use super::TimeoutSettings;
use super::slow_call::{SlowCall, params_of};
use crate::check::evidence::{refusal_result, shown_call};
use crate::check::shown_state::ShownState;
use crate::check::{CheckEnd, CheckRequest, CheckSession};
use crate::event::{CheckResult, Outcome};
use crate::plan::arguments::ConfigSource;
use crate::session::SessionReply;

/// Reads the state with a tool.
pub(crate) struct StateReader {
    pub(crate) tool: String,
    params: Value,
    /// It changes in the second half of a call, so that it shows whether a call goes on.
    pub(crate) shows_end: bool,
    /// The shorter of two times that the slow call took alone.
    pub(crate) slow_time: Duration,
}

/// The state at one time.
#[derive(Debug, Clone)]
pub(crate) struct StateReading {
    pub(crate) state: ShownState,
    /// The frame that shows it.
    pub(crate) frame: u32,
}

/// A state before, in the middle of and after a call that nobody cancels.
struct WatchedCall<'a> {
    before: &'a ShownState,
    halfway: &'a ShownState,
    after: &'a ShownState,
}

/// The part of a call that a state shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownCall {
    Nothing,
    /// The call has changed it.
    Effect {
        /// Also in the second half of the call.
        shows_end: bool,
    },
}

impl WatchedCall<'_> {
    fn judge(&self) -> ShownCall {
        if self.before.first_change(self.after).is_none() {
            return ShownCall::Nothing;
        }
        ShownCall::Effect { shows_end: self.halfway.first_change(self.after).is_some() }
    }
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
            Box::new(CheckResult::because(Outcome::Skipped, reason))
        })?;
        let mut reader = Self { tool: tool.name.clone(), params, shows_end: false, slow_time: slow.time };
        match reader.watch_call(client, slow).await {
            Ok(()) => Ok(Some(reader)),
            Err(end) => Err(Box::new(end.into_result())),
        }
    }

    /// Makes the slow call to its end: the state must change with it, and stay as it is without it.
    async fn watch_call(&mut self, client: &CheckSession<'_>, slow: &SlowCall) -> Result<(), CheckEnd> {
        let first = self.ask(client).await?;
        if !first.is_served() {
            return Err(CheckEnd::Decided(Box::new(refusal_result(
                client.context,
                &self.tool,
                Some(&shown_call(&first)),
            ))));
        }
        client.wait(slow.time / 4).await;
        let before = self.read(client).await?.state;
        if before.first_change(&self.reading(&first).state).is_some() {
            let why = format!("what `{}` shows changes by itself, so it does not show what a call did", self.tool);
            return Err(CheckEnd::inconclusive(why));
        }
        let halfway = async {
            client.wait(slow.time / 2).await;
            self.read(client).await
        };
        let calling =
            client.request(slow.request().with_progress().within(slow.time * 4 + client.context.request_timeout));
        let (called, halfway) = tokio::join!(calling, halfway);
        let (called, halfway, after) = (called?, halfway?.state, self.read(client).await?.state);
        let ShownCall::Effect { shows_end } =
            (WatchedCall { before: &before, halfway: &halfway, after: &after }).judge()
        else {
            return Err(CheckEnd::inconclusive(format!(
                "a call of `{}` that is not cancelled changes nothing that `{}` shows; name another tool in `state`, or \
                 arguments that change something each time",
                slow.tool, self.tool
            )));
        };
        self.shows_end = shows_end;
        self.slow_time = slow.time.min(called.elapsed);
        Ok(())
    }

    pub(crate) async fn read(&self, client: &CheckSession<'_>) -> Result<StateReading, CheckEnd> {
        Ok(self.reading(&self.ask(client).await?))
    }

    async fn ask(&self, client: &CheckSession<'_>) -> Result<SessionReply, CheckEnd> {
        client.request(CheckRequest::new("tools/call", self.params.clone())).await
    }

    fn reading(&self, reply: &SessionReply) -> StateReading {
        StateReading { state: ShownState::of_message(&self.tool, &reply.message), frame: reply.answer_frame }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_shows_a_call_that_changes_it() {
        let state =
            |count: u32| ShownState::of_message("count", &json!({"result": {"count": count, "updated": count}}));
        for ([before, halfway, after], expected) in [
            ([1, 1, 2], ShownCall::Effect { shows_end: true }),
            ([1, 2, 3], ShownCall::Effect { shows_end: true }),
            ([1, 2, 2], ShownCall::Effect { shows_end: false }),
            ([1, 1, 1], ShownCall::Nothing),
            // It came and went.
            ([1, 2, 1], ShownCall::Nothing),
        ] {
            let [before, halfway, after] = [state(before), state(halfway), state(after)];
            let watched = WatchedCall { before: &before, halfway: &halfway, after: &after };
            assert_eq!(watched.judge(), expected);
        }
    }
}
