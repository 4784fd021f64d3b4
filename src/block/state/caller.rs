//! Tools that are called, with arguments that hold canaries and arguments that look for them.

use serde_json::Value;

use super::StateSettings;
use crate::check::CheckEnd;
use crate::check::answer_data::value_for;
use crate::check::canary::Canaries;
use crate::check::tool_arguments::{TextPlace, ToolArguments};
use crate::check::visit::{ShownText, VisitRound};
use crate::plan::CheckContext;
use crate::plan::arguments::{ConfigSource, NotCallable};
use crate::session::Session;
use crate::wire::Tool;

/// The numbers of calls of one tool that have canaries, and that look for them by a value of an answer.
const MOST_WRITES: usize = 4;
const MOST_LOOKUPS: usize = 4;

/// The number of calls of one tool that have invalid arguments.
const MOST_INVALID: usize = 4;

/// A tool that may be called.
pub(crate) struct CanaryCaller {
    pub(crate) name: String,
    /// It declares with `readOnlyHint` that it changes nothing.
    pub(crate) declares_reading: bool,
    /// It changes nothing, as far as its hints and words tell.
    pub(crate) only_reads: bool,
    /// Its data is meant to be shared.
    pub(crate) is_shared: bool,
    pub(crate) arguments: ToolArguments,
}

/// A call that carries a canary.
pub(crate) struct CanaryCall {
    pub(crate) canary: String,
    pub(crate) arguments: Value,
}

/// A tool that is left alone, and why.
pub(crate) struct LeftAlone {
    pub(crate) tool: String,
    pub(crate) reason: NotCallable,
    pub(crate) only_reads: bool,
}

/// The tools of a server, by whether they may be called.
#[derive(Default)]
pub(crate) struct Callers {
    pub(crate) called: Vec<CanaryCaller>,
    pub(crate) left_alone: Vec<LeftAlone>,
}

impl Callers {
    /// Those that the block selects.
    pub(crate) fn of(context: &CheckContext<'_>, settings: &StateSettings) -> Self {
        let mut callers = Self::default();
        for tool in context.catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name)) {
            match CanaryCaller::new(context, settings, tool) {
                Ok(caller) => callers.called.push(caller),
                Err(reason) => callers.left_alone.push(LeftAlone {
                    tool: tool.name.clone(),
                    reason,
                    only_reads: tool.only_reads(),
                }),
            }
        }
        callers
    }

    /// Tools that may store a text of their own.
    pub(crate) fn writers(&self) -> impl Iterator<Item = &CanaryCaller> {
        self.called.iter().filter(|caller| !caller.only_reads && !caller.is_shared)
    }

    /// The end of a check that calls tools which change data, where none may be called.
    pub(crate) fn end_without_writers(&self, config_source: ConfigSource) -> CheckEnd {
        match self.left_alone.iter().find(|left| !left.only_reads) {
            Some(left) => CheckEnd::Skipped(left.reason.skip_reason(&left.tool, config_source)),
            None => CheckEnd::not_applicable("no tool of the server changes data"),
        }
    }
}

impl LeftAlone {
    /// The reason for which it is left alone, with what to type next.
    pub(crate) fn sentence(&self, config_source: ConfigSource) -> String {
        self.reason.sentence(&self.tool, config_source)
    }
}

impl CanaryCaller {
    /// A caller of a tool without a schema.
    #[cfg(test)]
    pub(crate) fn of_test(name: &str, only_reads: bool) -> Self {
        let arguments = ToolArguments::of_test(None, Value::Object(serde_json::Map::new()));
        Self { name: name.to_owned(), declares_reading: only_reads, only_reads, is_shared: false, arguments }
    }

    fn new(context: &CheckContext<'_>, settings: &StateSettings, tool: &Tool) -> Result<Self, NotCallable> {
        Ok(Self {
            name: tool.name.clone(),
            declares_reading: tool.raw["annotations"]["readOnlyHint"] == true,
            only_reads: tool.only_reads(),
            is_shared: settings.is_shared(&tool.name),
            arguments: ToolArguments::of(context, tool)?,
        })
    }

    /// Calls with a canary in each text of the arguments at once, and in one at a time: an identifier with a canary would
    /// hide what is stored under it.
    pub(crate) fn canary_calls(&self, canaries: &mut Canaries) -> Vec<CanaryCall> {
        let arguments = self.arguments.with_room_for(&canaries.of(0));
        let places = arguments.text_places();
        let mut call = |places: &[TextPlace]| {
            let canary = canaries.make();
            let arguments = arguments.with_texts(places.iter().map(|place| (place, canary.as_str())));
            let times = arguments.to_string().matches(&canary).count();
            (times > 0).then_some((CanaryCall { canary, arguments }, times))
        };
        let Some((first, times)) = call(&places) else { return Vec::new() };
        let one_by_one = places.iter().filter(|_| times > 1).filter_map(|place| call(std::slice::from_ref(place)));
        std::iter::once(first).chain(one_by_one.map(|(call, _)| call)).take(MOST_WRITES).collect()
    }

    /// Arguments that the schema does not take, each with a canary where it has room for one: first lists of a valid item
    /// and a broken one, of which a server may store the first before it refuses the second.
    pub(crate) fn invalid_calls(&self, canaries: &mut Canaries) -> Vec<Value> {
        let base = self.arguments_with_canary(canaries);
        let mut broken = self.arguments.violations(&base);
        let has_canary = |value: &Value| !canaries.find(&value.to_string()).is_empty();
        broken.sort_by_key(|value| (value.to_string().len() <= base.to_string().len(), !has_canary(value)));
        broken.truncate(MOST_INVALID);
        broken
    }

    /// Arguments that may show a canary without naming one: valid ones, a search for its beginning, and those with values
    /// of earlier answers, by the name of the argument. Never a canary.
    pub(crate) fn lookups(&self, canaries: &Canaries, answers: &[Value]) -> Vec<Value> {
        let places = self.arguments.text_places();
        let beginning = canaries.beginning();
        let mut lookups = vec![self.arguments.base().clone()];
        lookups.push(self.arguments.with_texts(places.iter().map(|place| (place, beginning))));
        for answer in answers {
            let held = places.iter().filter_map(|place| Some((place, value_for(&place.name(), answer)?)));
            let arguments = self.arguments.with_values(held);
            if lookups.len() < MOST_LOOKUPS + 2 && !lookups.contains(&arguments) {
                lookups.push(arguments);
            }
        }
        lookups.dedup();
        lookups.retain(|arguments| canaries.find(&arguments.to_string()).is_empty());
        lookups
    }

    pub(crate) fn texts(&self) -> usize {
        self.arguments.text_places().len()
    }

    /// Valid arguments with a canary in each text.
    pub(crate) fn arguments_with_canary(&self, canaries: &mut Canaries) -> Value {
        let calls = self.canary_calls(canaries);
        calls.into_iter().next().map_or_else(|| self.arguments.base().clone(), |call| call.arguments)
    }
}

/// Everything that a session shows of itself: its lists, resources and prompts, the answers of tools, and what it sent
/// without being asked. `lookups` are the arguments for a tool.
pub(crate) async fn visit(
    round: &mut VisitRound<'_>,
    session: &Session,
    callers: &[CanaryCaller],
    lookups: &(dyn Fn(&CanaryCaller) -> Vec<Value> + Sync),
) -> Vec<ShownText> {
    let mut shown = Vec::new();
    // Tools that may overwrite what others show come last: those that change data, and of these the ones with most texts.
    let mut ordered: Vec<&CanaryCaller> = callers.iter().collect();
    ordered.sort_by_key(|caller| (!caller.only_reads, caller.texts()));
    for caller in ordered {
        for arguments in lookups(caller) {
            shown.extend(round.call(session, &caller.name, &arguments).await);
        }
    }
    shown.extend(round.visit_lists(session).await);
    let unrequested = VisitRound::unrequested_messages(session, &shown);
    shown.extend(unrequested);
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn caller(schema: &Value, arguments: Value) -> CanaryCaller {
        let arguments = ToolArguments::of_test(Some(schema), arguments);
        CanaryCaller { arguments, ..CanaryCaller::of_test("save", false) }
    }

    #[test]
    fn canaries_go_where_the_schema_takes_texts() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "mail": {"type": "string", "format": "email"},
                "kind": {"enum": ["a", "b"]},
                "note": {"type": "string"},
            },
            "required": ["name", "mail", "kind"],
        });
        let mut canaries = Canaries::random();
        let calls = caller(&schema, json!({"name": "x", "mail": "x@y.z", "kind": "a"})).canary_calls(&mut canaries);
        let shapes: Vec<String> =
            calls.iter().map(|call| call.arguments.to_string().replace(&call.canary, "C")).collect();
        assert_eq!(
            shapes,
            [
                r#"{"name":"C","mail":"C@y.z","kind":"a","note":"C"}"#,
                r#"{"name":"C","mail":"x@y.z","kind":"a"}"#,
                r#"{"name":"x","mail":"C@y.z","kind":"a"}"#,
                r#"{"name":"x","mail":"x@y.z","kind":"a","note":"C"}"#,
            ]
        );
    }

    #[test]
    fn lookups_never_name_a_canary() {
        let schema = json!({"type": "object", "properties": {"user_id": {"type": "string"}}, "required": ["user_id"]});
        let mut canaries = Canaries::random();
        let canary = canaries.make();
        let answers = [json!({"id": "u7"}), json!({"id": canary})];
        let lookups = caller(&schema, json!({"user_id": "x"})).lookups(&canaries, &answers);
        assert_eq!(
            lookups,
            [json!({"user_id": "x"}), json!({"user_id": canaries.beginning()}), json!({"user_id": "u7"})]
        );
    }

    #[test]
    fn a_tool_is_called_with_a_canary_as_far_as_its_schema_takes_one() {
        let one = |schema: Value| json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
        for (takes, schema, arguments, calls) in [
            ("a text", one(json!({"type": "string"})), json!({"a": "x"}), 1),
            ("a number", one(json!({"type": "integer"})), json!({"a": 1}), 0),
            ("a choice", one(json!({"enum": ["a"]})), json!({"a": "a"}), 0),
            ("a text that is too short", one(json!({"type": "string", "maxLength": 4})), json!({"a": "x"}), 0),
            ("nothing", json!({"type": "object"}), json!({}), 0),
        ] {
            let mut canaries = Canaries::random();
            let caller = caller(&schema, arguments);
            assert_eq!(caller.canary_calls(&mut canaries).len(), calls, "{takes}");
            let sent = caller.arguments_with_canary(&mut canaries).to_string();
            let has_canary = !canaries.find(&sent).is_empty();
            assert_eq!(has_canary, calls > 0, "{takes}");
        }
    }

    #[test]
    fn invalid_calls_break_the_schema_and_have_a_canary_where_they_can() {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
        });
        let mut canaries = Canaries::random();
        let calls = caller(&schema, json!({"name": "x", "age": 1})).invalid_calls(&mut canaries);
        assert!(!calls.is_empty() && calls.len() <= MOST_INVALID, "{calls:?}");
        for call in &calls {
            assert!(crate::schema::objection(&schema, call).is_some(), "{call}");
        }
        assert!(!canaries.find(&calls[0].to_string()).is_empty(), "{calls:?}");
    }

    #[test]
    fn without_writers_the_end_says_whether_one_was_left_alone() {
        let left = |tool: &str, only_reads| {
            let reason = NotCallable::NothingFits("nothing fits its schema".to_owned());
            LeftAlone { tool: tool.to_owned(), reason, only_reads }
        };
        for (left_alone, says) in [
            (Vec::new(), "no tool of the server changes data"),
            (vec![left("get", true)], "no tool of the server changes data"),
            (vec![left("get", true), left("add", false)], "`add`"),
        ] {
            let callers = Callers { called: vec![CanaryCaller::of_test("get", true)], left_alone };
            let end = callers.end_without_writers(ConfigSource::Suite).sentence();
            assert!(end.contains(says), "{end}");
        }
    }
}
