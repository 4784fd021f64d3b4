//! The state that a server shows: the answers of tools that only read, its lists, resources and prompts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::pause_within;
use super::visit::{ShownText, VisitRound};
use crate::event::{Finding, ReproductionCall};
use crate::plan::CheckContext;
use crate::plan::arguments::valid_arguments;
use crate::plan::generated::text_node;
use crate::session::Session;
use crate::source::template::from_json;
use crate::source::{Span, beginning_of_json};
use crate::suite::Action;
use crate::wire::format::is_timestamp;

/// How long a clock is given to be seen, where a change is looked at again.
pub(crate) const CLOCK: Duration = Duration::from_millis(1_100);

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
pub(crate) struct ShownStateReader {
    tool: String,
    arguments: Value,
}

/// The state that a server showed at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownState {
    /// The compared values, by place.
    values: BTreeMap<String, Value>,
    /// The same as it came, and how it was asked for.
    answers: BTreeMap<String, ShownAnswer>,
    /// Why a request got no answer, the first time.
    failed: Option<Finding>,
}

/// An answer that shows a part of the state.
#[derive(Debug, Clone)]
pub(crate) struct ShownAnswer {
    pub(crate) request: ReproductionCall,
    pub(crate) result: Value,
}

/// A part of the state that differs.
pub(crate) struct ShownChange {
    /// The place, in words.
    pub(crate) place: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// The tools that only read and that may be called, as far as they are wanted.
pub(crate) fn readers(context: &CheckContext<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<ShownStateReader> {
    let tools = context.catalog.tools.iter().filter(|tool| tool.only_reads() && is_wanted(&tool.name));
    let usable = tools.filter(|tool| !tool.is_task_only()).filter_map(|tool| {
        let arguments = valid_arguments(context.suite, context.server_name, tool).ok()?;
        Some(ShownStateReader { tool: tool.name.clone(), arguments: (context.filled)(&arguments)? })
    });
    usable.take(MOST_READERS).collect()
}

impl ShownStateReader {
    /// A tool that only reads, with these arguments.
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        Self { tool: tool.to_owned(), arguments }
    }

    /// The call.
    pub(crate) fn action(&self, span: Span) -> Action {
        Action::Call { tool: text_node(&self.tool, span), args: Some(from_json(&self.arguments, span)) }
    }

    /// Whether it asks for the same as another one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool && self.arguments == other.arguments
    }

    /// The place of its answer; the arguments say which one it is where the tool is asked several times.
    fn place(&self, shown: &ShownText, readers: &[Self]) -> String {
        let is_only = readers.iter().filter(|reader| reader.tool == self.tool).count() == 1;
        if is_only { shown.place.clone() } else { format!("the answer of `{} {}`", self.tool, self.arguments) }
    }
}

impl ShownState {
    /// Reads the state once.
    pub(crate) async fn read(
        context: &CheckContext<'_>,
        deadline: Instant,
        session: &Session,
        readers: &[ShownStateReader],
    ) -> Self {
        let mut round = VisitRound::new(context, deadline.saturating_duration_since(Instant::now()));
        let mut shown: Vec<ShownText> = Vec::new();
        for reader in readers {
            if let Some(mut answer) = round.call(session, &reader.tool, &reader.arguments).await {
                answer.place = reader.place(&answer, readers);
                shown.push(answer);
            }
        }
        shown.extend(round.visit_lists(session).await);
        let mut state = Self { failed: round.failed(), ..Self::default() };
        for shown in shown.into_iter().filter(|shown| shown.is_served) {
            let result = shown.result();
            state.values.insert(shown.place.clone(), neutral(&result));
            let request = shown.request().cloned();
            state.answers.extend(request.map(|request| (shown.place, ShownAnswer { request, result })));
        }
        state
    }

    /// Reads the state twice and keeps what is the same both times: what changes by itself, or by being read, says
    /// nothing.
    pub(crate) async fn stable(
        context: &CheckContext<'_>,
        deadline: Instant,
        session: &Session,
        readers: &[ShownStateReader],
    ) -> Self {
        Self::stable_over(context, deadline, session, readers, Duration::ZERO).await
    }

    /// The same with some time between the two, so that clocks are seen to go on.
    pub(crate) async fn stable_over(
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
        let is_same = |place: &String, value: &Value| first.values.get(place) == Some(value);
        let values = second.values.into_iter().filter(|(place, value)| is_same(place, value)).collect();
        Self { values, ..second }
    }

    /// Everything that is compared: an object with a member for each place.
    pub(crate) fn compared(&self) -> Value {
        self.values.iter().map(|(place, value)| (place.clone(), value.clone())).collect::<Map<_, _>>().into()
    }

    /// The answer at a place.
    pub(crate) fn answer(&self, place: &str) -> Option<&ShownAnswer> {
        self.answers.get(place)
    }

    /// Why a request got no answer, the first time.
    pub(crate) fn failed(&self) -> Option<&Finding> {
        self.failed.as_ref()
    }

    /// Where the state was read.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The first part that another reading shows differently; what it does not show is no difference.
    pub(crate) fn first_change(&self, after: &Self) -> Option<ShownChange> {
        let mut changed = self.values.iter().filter_map(|(place, before)| {
            let now = after.values.get(place).filter(|now| *now != before)?;
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
pub(crate) fn result_of(message: &Value) -> Value {
    let result = message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default();
    neutral(&result)
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
        let values = [("the answer of `list`".to_owned(), neutral(value))].into();
        ShownState { values, ..ShownState::default() }
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
