//! The state that a server shows: the answers of tools that only read, its lists, resources and prompts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::sleep;

use super::CheckLimits;
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

/// The pause after which a clock is seen to go on.
pub(crate) const CLOCK: Duration = Duration::from_millis(1_100);

/// The number of tools that are asked for the state.
const MOST_READERS: usize = 16;

/// The number of characters of an answer that are shown.
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

/// The way to the state that a server shows: tools that only read, and the lists of a session.
pub(crate) struct StateView<'a> {
    context: &'a CheckContext<'a>,
    limits: CheckLimits,
    readers: Vec<ShownStateReader>,
}

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
    /// The same as it came.
    answers: BTreeMap<String, ShownAnswer>,
    failure: Option<Finding>,
}

/// An answer that shows a part of the state.
#[derive(Debug, Clone)]
pub(crate) struct ShownAnswer {
    pub(crate) request: ReproductionCall,
    pub(crate) result: Value,
    pub(crate) shown: ShownText,
}

/// A part of the state that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownChange {
    /// The place, in words.
    pub(crate) place: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl ShownStateReader {
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        Self { tool: tool.to_owned(), arguments }
    }

    /// The call.
    pub(crate) fn action(&self, span: Span) -> Action {
        Action::Call { tool: text_node(&self.tool, span), args: Some(from_json(&self.arguments, span)) }
    }

    /// It asks for the same as another one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool && self.arguments == other.arguments
    }

    /// The place of its answer; the arguments say which one it is where the tool is asked several times.
    fn place(&self, shown: &ShownText, readers: &[Self]) -> String {
        let is_only = readers.iter().filter(|reader| reader.tool == self.tool).count() == 1;
        if is_only { shown.place.clone() } else { format!("the answer of `{} {}`", self.tool, self.arguments) }
    }
}

impl<'a> StateView<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, limits: CheckLimits, readers: Vec<ShownStateReader>) -> Self {
        Self { context, limits, readers }
    }

    /// With the tools that only read and that may be called, as far as they are wanted.
    pub(crate) fn of_tools(
        context: &'a CheckContext<'a>,
        limits: CheckLimits,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Self {
        Self::new(context, limits, Self::readers_of(context, is_wanted))
    }

    pub(crate) fn readers_of(context: &CheckContext<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<ShownStateReader> {
        let tools = context.catalog.tools.iter().filter(|tool| tool.only_reads() && is_wanted(&tool.name));
        let usable = tools.filter(|tool| !tool.is_task_only()).filter_map(|tool| {
            let arguments = valid_arguments(context.suite, context.server_name, tool).ok()?;
            Some(ShownStateReader { tool: tool.name.clone(), arguments: context.fill(&arguments)? })
        });
        usable.take(MOST_READERS).collect()
    }

    pub(crate) fn readers(&self) -> &[ShownStateReader] {
        &self.readers
    }

    /// Reads the state once.
    pub(crate) async fn observe(&self, session: &Session) -> ShownState {
        self.observe_in(&mut VisitRound::new(self.context, self.limits.clone()), session).await
    }

    /// Reads the state once, with the requests of a round.
    pub(crate) async fn observe_in(&self, round: &mut VisitRound<'_>, session: &Session) -> ShownState {
        let mut shown: Vec<ShownText> = Vec::new();
        for reader in &self.readers {
            if let Some(mut answer) = round.call(session, &reader.tool, &reader.arguments).await {
                answer.place = reader.place(&answer, &self.readers);
                shown.push(answer);
            }
        }
        shown.extend(round.visit_lists(session).await);
        ShownState::of(shown, round.failure())
    }

    /// Reads the state twice, with a pause between, and keeps what is the same both times: what changes by itself, or by
    /// being read, says nothing.
    pub(crate) async fn observe_stable(&self, session: &Session, pause: Duration) -> ShownState {
        let first = self.observe(session).await;
        if let Some(pause) = self.limits.pause(pause) {
            sleep(pause).await;
        }
        self.observe(session).await.common_with(&first)
    }
}

impl ShownState {
    /// The state that served answers show; `failure` is why another one is missing.
    pub(crate) fn of(shown: Vec<ShownText>, failure: Option<Finding>) -> Self {
        let mut state = Self { failure, ..Self::default() };
        for shown in shown.into_iter().filter(|shown| shown.is_served) {
            let result = shown.result();
            state.values.insert(shown.place.clone(), comparable(&result));
            let request = shown.request().cloned();
            state.answers.extend(request.map(|request| (shown.place.clone(), ShownAnswer { request, result, shown })));
        }
        state
    }

    /// The state that one answer shows.
    pub(crate) fn of_message(place: &str, message: &Value) -> Self {
        Self { values: [(place.to_owned(), result_of(message))].into(), ..Self::default() }
    }

    /// A state in which the members of an object are what its places show.
    #[cfg(test)]
    pub(crate) fn of_values(places: &Value) -> Self {
        let places = places.as_object().into_iter().flatten();
        let values = places.map(|(place, value)| (place.clone(), comparable(value))).collect();
        Self { values, ..Self::default() }
    }

    /// The parts that another reading shows alike.
    pub(crate) fn common_with(mut self, other: &Self) -> Self {
        self.values.retain(|place, value| other.values.get(place) == Some(value));
        self
    }

    /// The parts whose answers are kept.
    pub(crate) fn filter(mut self, is_kept: impl Fn(&ShownAnswer) -> bool) -> Self {
        self.values.retain(|place, _| self.answers.get(place).is_none_or(&is_kept));
        self
    }

    /// Everything that is compared: an object with a member for each place.
    pub(crate) fn to_value(&self) -> Value {
        self.values.iter().map(|(place, value)| (place.clone(), value.clone())).collect::<Map<_, _>>().into()
    }

    /// The answer at a place.
    pub(crate) fn answer(&self, place: &str) -> Option<&ShownAnswer> {
        self.answers.get(place)
    }

    /// The reason why a request got no answer, the first time.
    pub(crate) fn failure(&self) -> Option<&Finding> {
        self.failure.as_ref()
    }

    /// The places where the state was read.
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
    comparable(&result)
}

/// A value without the times and versions that say when something was changed; texts with JSON are read.
fn comparable(value: &Value) -> Value {
    match value {
        Value::String(text) if is_timestamp(text) => Value::Null,
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => comparable(&inner),
            Ok(_) | Err(_) => value.clone(),
        },
        Value::Array(items) => items.iter().map(comparable).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !varies(name));
            Value::Object(kept.map(|(name, member)| (name.clone(), comparable(member))).collect::<Map<_, _>>())
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

    fn state(shown: &Value) -> ShownState {
        ShownState::of_values(shown)
    }

    fn text(text: &str) -> Value {
        json!({"content": [{"type": "text", "text": text}]})
    }

    #[test]
    fn times_and_versions_are_no_state() {
        for (before, after, is_change) in [
            (
                text(r#"{"name":"Ann","updatedAt":1,"etag":"a"}"#),
                text(r#"{"etag":"b","name":"Ann","updatedAt":2}"#),
                false,
            ),
            (text(r#"{"name":"Ann","updatedAt":1}"#), text(r#"{"name":"Anna","updatedAt":1}"#), true),
            (json!({"at": "2026-01-01T00:00:00Z"}), json!({"at": "2026-01-01T00:00:01Z"}), false),
            (json!({"_meta": {"seen": 1}, "users": []}), json!({"_meta": {"seen": 2}, "users": []}), false),
            (json!({"last_modified": 1, "count": 1}), json!({"last_modified": 2, "count": 1}), false),
            (json!({"count": 1}), json!({"count": 2}), true),
            (json!({"users": ["a", "b"]}), json!({"users": ["b", "a"]}), true),
            (text("7"), text("8"), true),
        ] {
            let [before, after] = [&before, &after].map(|value| state(&json!({"list": value})));
            assert_eq!(before.first_change(&after).is_some(), is_change, "{before:?} {after:?}");
        }
    }

    #[test]
    fn the_first_change_is_one_of_both_readings() {
        let before = state(&json!({"a": 1, "b": [1], "c": "x"}));
        for (after, expected) in [
            (json!({"a": 1, "b": [1], "c": "x"}), None),
            (json!({"a": 2, "b": [2], "c": "x"}), Some(("a", "1", "2"))),
            (json!({"b": [], "c": "y"}), Some(("b", "[1]", "[]"))),
            (json!({"d": "new"}), None),
            (json!({}), None),
        ] {
            let change = before.first_change(&state(&after));
            let change = change.as_ref().map(|change| (&*change.place, &*change.before, &*change.after));
            assert_eq!(change, expected, "{after}");
        }
    }

    #[test]
    fn parts_that_change_by_themselves_are_left_out() {
        let first = state(&json!({"clock": 1, "users": ["a"], "gone": true}));
        let second = state(&json!({"clock": 2, "users": ["a"], "new": true}));
        assert_eq!(second.common_with(&first).to_value(), json!({"users": ["a"]}));
    }

    #[test]
    fn errors_are_compared_like_results() {
        let check = |message: Value, expected: Value| assert_eq!(result_of(&message), expected);
        check(json!({"id": 1, "result": {"a": 1, "_meta": {}}}), json!({"a": 1}));
        check(json!({"id": 1, "error": {"code": -1, "message": "no"}}), json!({"code": -1, "message": "no"}));
        check(json!({"id": 1}), json!(null));
    }

    #[test]
    fn only_served_answers_show_a_state() {
        let answer = |tool: &str, message: &Value, is_served| ShownText::of_test(tool, &message.to_string(), is_served);
        let shown = vec![
            answer("list", &json!({"result": {"users": ["ann"], "updated_at": 1}}), true),
            answer("get", &json!({"error": {"code": 1, "message": "no"}}), false),
        ];
        let state = ShownState::of(shown, None);
        let place = "the call of `list`";
        assert_eq!(
            (state.to_value(), state.places().collect::<Vec<_>>()),
            (json!({place: {"users": ["ann"]}}), vec![place])
        );
        assert_eq!(state.answer(place).map(|answer| &answer.result["updated_at"]), Some(&json!(1)), "kept as it came");
        assert_eq!(state.clone().filter(|answer| answer.shown.tool.as_deref() != Some("list")).to_value(), json!({}));
        assert_eq!(state.filter(|answer| answer.shown.is_served).to_value(), json!({place: {"users": ["ann"]}}));
    }

    #[test]
    fn a_tool_that_is_asked_twice_has_a_place_for_each_call() {
        let reader = |tool: &str, arguments: Value| ShownStateReader::new(tool, arguments);
        let readers = [reader("get", json!({"id": 1})), reader("get", json!({"id": 2})), reader("list", json!({}))];
        for (at, expected) in
            [(0, r#"the answer of `get {"id":1}`"#), (1, r#"the answer of `get {"id":2}`"#), (2, "the call of `list`")]
        {
            let shown = ShownText::of_test(&readers[at].tool, "{}", true);
            assert_eq!(readers[at].place(&shown, &readers), expected);
        }
        assert!(readers[0].is_same(&reader("get", json!({"id": 1}))) && !readers[0].is_same(&readers[1]));
    }
}
