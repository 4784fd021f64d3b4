//! The state that a server shows: the answers of tools that only read, its lists, resources and prompts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::sides::pause_within;
use crate::block::state::visit::{ShownText, VisitRound};
use crate::plan::CheckContext;
use crate::plan::arguments::valid_arguments;
use crate::session::Session;
use crate::source::beginning_of_json;
use crate::wire::format::is_timestamp;

/// How long a clock is given to be seen, where a change is looked at again.
pub(super) const CLOCK: Duration = Duration::from_millis(1_100);

/// How many tools are asked for the state.
const MOST_READERS: usize = 16;

/// How much of an answer is shown, in characters.
const SHOWN: usize = 400;

/// Members whose values change with every update, or by themselves.
const VARYING: [&str; 12] = [
    "updated",
    "modified",
    "accessed",
    "timestamp",
    "time",
    "date",
    "version",
    "revision",
    "etag",
    "uptime",
    "mtime",
    "atime",
];

/// A tool that only reads, with valid arguments.
pub(super) struct ShownStateReader {
    tool: String,
    arguments: Value,
}

/// The state that a server showed at one time, by place.
#[derive(Debug, Default)]
pub(super) struct ShownState(BTreeMap<String, Value>);

/// A part of the state that differs.
pub(super) struct ShownChange {
    /// The place, in words.
    pub(super) place: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// The tools that only read and that may be called, as far as they are wanted.
pub(super) fn readers(context: &CheckContext<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<ShownStateReader> {
    let tools = context.catalog.tools.iter().filter(|tool| tool.only_reads() && is_wanted(&tool.name));
    let usable = tools.filter(|tool| !tool.is_task_only()).filter_map(|tool| {
        let arguments = valid_arguments(context.suite, context.server_name, tool).ok()?;
        Some(ShownStateReader { tool: tool.name.clone(), arguments: (context.filled)(&arguments)? })
    });
    usable.take(MOST_READERS).collect()
}

impl ShownState {
    /// Reads the state once.
    pub(super) async fn read(
        context: &CheckContext<'_>,
        deadline: Instant,
        session: &Session,
        readers: &[ShownStateReader],
    ) -> Self {
        let mut round = VisitRound::new(context, deadline.saturating_duration_since(Instant::now()));
        let mut shown: Vec<ShownText> = Vec::new();
        for reader in readers {
            shown.extend(round.call(session, &reader.tool, &reader.arguments).await);
        }
        shown.extend(round.visit_lists(session).await);
        let served = shown.into_iter().filter(|shown| shown.is_served);
        Self(served.map(|shown| (shown.place, neutral(&result_text(&shown.text)))).collect())
    }

    /// Reads the state twice and keeps what is the same both times: what changes by itself, or by being read, says
    /// nothing.
    pub(super) async fn stable(
        context: &CheckContext<'_>,
        deadline: Instant,
        session: &Session,
        readers: &[ShownStateReader],
    ) -> Self {
        Self::stable_over(context, deadline, session, readers, Duration::ZERO).await
    }

    /// The same with some time between the two, so that clocks are seen to go on.
    pub(super) async fn stable_over(
        context: &CheckContext<'_>,
        deadline: Instant,
        session: &Session,
        readers: &[ShownStateReader],
        time: Duration,
    ) -> Self {
        let first = Self::read(context, deadline, session, readers).await;
        if let Some(pause) = pause_within(deadline, time) {
            sleep(pause).await;
        }
        let second = Self::read(context, deadline, session, readers).await;
        let is_same = |place: &String, value: &Value| first.0.get(place) == Some(value);
        Self(second.0.into_iter().filter(|(place, value)| is_same(place, value)).collect())
    }

    /// Where the state was read.
    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The first part that another reading shows differently; what it does not show is no difference.
    pub(super) fn first_change(&self, after: &Self) -> Option<ShownChange> {
        let mut changed = self.0.iter().filter_map(|(place, before)| {
            let now = after.0.get(place).filter(|now| *now != before)?;
            Some(ShownChange {
                place: place.clone(),
                before: beginning_of_json(before, SHOWN),
                after: beginning_of_json(now, SHOWN),
            })
        });
        changed.next()
    }
}

/// The part of an answer that is compared.
pub(super) fn result_of(message: &Value) -> Value {
    let result = message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default();
    neutral(&result)
}

fn result_text(text: &str) -> Value {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    message.get("result").cloned().unwrap_or_default()
}

/// A value without what says when something was changed; texts with JSON are read.
fn neutral(value: &Value) -> Value {
    match value {
        Value::String(text) if is_timestamp(text) => Value::Null,
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => neutral(&inner),
            Ok(_) | Err(_) => value.clone(),
        },
        Value::Array(items) => items.iter().map(neutral).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !varies(name));
            Value::Object(kept.map(|(name, member)| (name.clone(), neutral(member))).collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn varies(name: &str) -> bool {
    let words = crate::source::words(name);
    name == "_meta" || words.iter().any(|word| VARYING.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(value: &Value) -> ShownState {
        ShownState([("the answer of `list`".to_owned(), neutral(value))].into())
    }

    #[test]
    fn times_and_versions_are_no_state() {
        let before = json!({"content": [{"type": "text", "text": r#"{"name":"Ann","updatedAt":1,"etag":"a"}"#}]});
        let after = json!({"content": [{"type": "text", "text": r#"{"etag":"b","name":"Ann","updatedAt":2}"#}]});
        assert!(state(&before).first_change(&state(&after)).is_none());
        let renamed = json!({"content": [{"type": "text", "text": r#"{"name":"Anna","updatedAt":1,"etag":"a"}"#}]});
        let change = state(&before).first_change(&state(&renamed)).map(|change| (change.place, change.after));
        assert!(change.is_some_and(|(place, after)| place == "the answer of `list`" && after.contains("Anna")));
        assert!(state(&before).first_change(&ShownState::default()).is_none());
    }
}
