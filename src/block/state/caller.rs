//! Tools that are called, with arguments that hold canaries and arguments that look for them.

use serde_json::Value;

use super::StateSettings;
use crate::check::CheckEnd;
use crate::check::answer_data::value_for;
use crate::check::canary::Canaries;
use crate::check::visit::{ShownText, VisitRound};
use crate::generate::Rng;
use crate::plan::CheckContext;
use crate::plan::arguments::{ConfigSource, NotCallable, SafeArguments, safe_arguments, server_folder};
use crate::plan::witness::filled_arguments;
use crate::schema::{below, name_of};
use crate::session::Session;
use crate::wire::Tool;

/// The numbers of calls of one tool that have canaries, and that look for them by a value of an answer.
const MOST_WRITES: usize = 4;
const MOST_LOOKUPS: usize = 4;

/// The number of calls of one tool that have invalid arguments.
const MOST_INVALID: usize = 4;

/// The number of arguments that are drawn in the search for some that have a text.
const DRAWS: u64 = 24;

/// The largest arguments, in bytes of JSON.
const LARGEST: usize = 4096;

/// A tool that may be called.
pub(crate) struct CanaryCaller {
    pub(crate) name: String,
    /// It declares with `readOnlyHint` that it changes nothing.
    pub(crate) declares_reading: bool,
    /// It changes nothing, as far as its hints and words tell.
    pub(crate) only_reads: bool,
    /// Its data is meant to be shared.
    pub(crate) is_shared: bool,
    /// Valid arguments: the suite's own, or small ones.
    pub(crate) arguments: Value,
    safe_arguments: Option<SafeArguments>,
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
        let arguments = Value::Object(serde_json::Map::new());
        let (name, declares_reading) = (name.to_owned(), only_reads);
        Self { name, declares_reading, only_reads, is_shared: false, arguments, safe_arguments: None }
    }

    fn new(context: &CheckContext<'_>, settings: &StateSettings, tool: &Tool) -> Result<Self, NotCallable> {
        let suite = context.suite;
        Ok(Self {
            name: tool.name.clone(),
            declares_reading: tool.raw["annotations"]["readOnlyHint"] == true,
            only_reads: tool.only_reads(),
            is_shared: settings.is_shared(&tool.name),
            arguments: filled_arguments(context, tool)?,
            safe_arguments: safe_arguments(tool, server_folder(suite, context.server_name)).ok(),
        })
    }

    /// Calls with a canary in each text of the arguments at once, and in one at a time: an identifier with a canary would
    /// hide what is stored under it.
    pub(crate) fn canary_calls(&self, canaries: &mut Canaries) -> Vec<CanaryCall> {
        let base = self.base();
        let places = self.places(&base);
        let mut call = |places: &[String]| {
            let canary = canaries.make();
            let arguments = self.with_text(&base, places, &canary);
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
        let Some(safe) = &self.safe_arguments else { return Vec::new() };
        let base = self.arguments_with_canary(canaries);
        // Arguments that are no object break the request itself.
        let violations = safe.violations(&base).into_iter().filter(|invalid| invalid.value.is_object());
        let mut broken: Vec<Value> =
            violations.map(|invalid| behind_valid_item(&base, &invalid.at, invalid.value)).collect();
        let has_canary = |value: &Value| !canaries.find(&value.to_string()).is_empty();
        broken.sort_by_key(|value| (value.to_string().len() <= base.to_string().len(), !has_canary(value)));
        broken.truncate(MOST_INVALID);
        broken
    }

    /// Arguments that may show a canary without naming one: valid ones, a search for its beginning, and those with values
    /// of earlier answers, by the name of the argument. Never a canary.
    pub(crate) fn lookups(&self, canaries: &Canaries, answers: &[Value]) -> Vec<Value> {
        let places = self.places(&self.arguments);
        let mut lookups = vec![self.arguments.clone()];
        lookups.push(self.with_text(&self.arguments, &places, canaries.beginning()));
        for answer in answers {
            let arguments = self.with_values(&places, answer);
            if lookups.len() < MOST_LOOKUPS + 2 && !lookups.contains(&arguments) {
                lookups.push(arguments);
            }
        }
        lookups.dedup();
        lookups.retain(|arguments| canaries.find(&arguments.to_string()).is_empty());
        lookups
    }

    pub(crate) fn texts(&self) -> usize {
        self.places(&self.arguments).len()
    }

    /// Valid arguments with a canary in each text.
    pub(crate) fn arguments_with_canary(&self, canaries: &mut Canaries) -> Value {
        let calls = self.canary_calls(canaries);
        calls.into_iter().next().map_or_else(|| self.arguments.clone(), |call| call.arguments)
    }

    /// The arguments into which canaries are put: such with a text, if the tool takes any.
    fn base(&self) -> Value {
        let given = || self.arguments.clone();
        let Some(safe_arguments) = self.safe_arguments.as_ref().filter(|_| self.places(&self.arguments).is_empty())
        else {
            return given();
        };
        let drawn = (0..DRAWS).map(|seed| safe_arguments.random(&mut Rng::new(seed)));
        let fitting = drawn.filter(|value| value.to_string().len() <= LARGEST);
        fitting.max_by_key(|value| self.places(value).len()).unwrap_or_else(given)
    }

    /// JSON pointers to texts of arguments, and to optional texts that the arguments leave out.
    fn places(&self, arguments: &Value) -> Vec<String> {
        let mut places = Vec::new();
        text_places("", arguments, &mut places);
        let optional = self.safe_arguments.iter().flat_map(SafeArguments::optional_texts);
        let absent = optional.filter(|name| arguments.get(name.as_str()).is_none());
        places.extend(absent.map(|name| below("", &name)));
        places
    }

    /// The arguments with a text at these places, as far as the schema takes it there.
    fn with_text(&self, arguments: &Value, places: &[String], text: &str) -> Value {
        let mut made = arguments.clone();
        for place in places {
            let present = made.pointer(place).and_then(Value::as_str).unwrap_or_default();
            let tried = spellings(present, text).into_iter().filter_map(|text| replace_at(&made, place, text.into()));
            if let Some(fitting) = tried.into_iter().find(|value| self.is_valid(value)) {
                made = fitting;
            }
        }
        made
    }

    /// The arguments with values that an answer has under the names of these arguments, or under the end of one:
    /// `user_id` takes an `id`.
    fn with_values(&self, places: &[String], answer: &Value) -> Value {
        let mut made = self.arguments.clone();
        for place in places {
            let name = place.rsplit('/').next().unwrap_or_default();
            let tried = value_for(name, answer).and_then(|value| replace_at(&made, place, value));
            if let Some(fitting) = tried.filter(|value| self.is_valid(value)) {
                made = fitting;
            }
        }
        made
    }

    /// The schema takes the arguments; those of a schema that cannot be used are sent as they are.
    fn is_valid(&self, arguments: &Value) -> bool {
        self.safe_arguments.as_ref().is_none_or(|safe| safe.generator().is_valid(arguments))
    }
}

/// Arguments that are broken at a place, with a valid item before the broken one if that is an item of a list.
fn behind_valid_item(base: &Value, at: &str, mut value: Value) -> Value {
    if let Some(list) = at.find("/0").map(|end| &at[..end])
        && let Some(valid) = base.pointer(&format!("{list}/0"))
        && let Some(Value::Array(items)) = value.pointer_mut(list)
    {
        items.insert(0, valid.clone());
    }
    value
}

/// Forms of a text that an argument may take in the place of another one, the most similar to that first.
fn spellings(present: &str, text: &str) -> Vec<String> {
    let below = || format!("{}/{text}", present.trim_end_matches('/'));
    let address = || format!("{text}@example.com");
    if present.contains("://") || present.starts_with('/') {
        vec![below(), text.to_owned()]
    } else if present.contains('@') {
        vec![address(), text.to_owned()]
    } else {
        vec![text.to_owned(), address(), format!("https://nowhere.invalid/{text}")]
    }
}

/// A value with another one at a place; `None` where there is no such place.
fn replace_at(value: &Value, place: &str, new: Value) -> Option<Value> {
    let mut made = value.clone();
    let (above, name) = place.rsplit_once('/')?;
    let above = made.pointer_mut(above)?;
    match above {
        Value::Object(members) => drop(members.insert(name_of(name), new)),
        Value::Array(items) => *items.get_mut(name.parse::<usize>().ok()?)? = new,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    }
    Some(made)
}

fn text_places(at: &str, value: &Value, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(at.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| text_places(&format!("{at}/{index}"), item, places));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            text_places(&below(at, name), member, places);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
        let safe_arguments = SafeArguments::new(schema, None).ok();
        CanaryCaller { arguments, safe_arguments, ..CanaryCaller::of_test("save", false) }
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
                r#"{"name":"C","mail":"C@example.com","kind":"a","note":"C"}"#,
                r#"{"name":"C","mail":"x@y.z","kind":"a"}"#,
                r#"{"name":"x","mail":"C@example.com","kind":"a"}"#,
                r#"{"name":"x","mail":"x@y.z","kind":"a","note":"C"}"#,
            ]
        );
    }

    #[test]
    fn spellings_keep_the_kind_of_a_text() {
        for (present, first, count) in [
            ("Ann", "kw1", 3),
            ("/etc/hosts", "/etc/hosts/kw1", 2),
            ("https://a.org/", "https://a.org/kw1", 2),
            ("ann@a.org", "kw1@example.com", 2),
        ] {
            let spellings = spellings(present, "kw1");
            assert_eq!((spellings[0].as_str(), spellings.len()), (first, count), "{present}");
        }
    }

    #[test]
    fn values_are_replaced_at_pointers() {
        let value = json!({"a": {"b/c": 1}, "list": ["x"]});
        for (place, expected) in [
            ("/a/b~1c", Some(json!({"a": {"b/c": 7}, "list": ["x"]}))),
            ("/a/new", Some(json!({"a": {"b/c": 1, "new": 7}, "list": ["x"]}))),
            ("/list/0", Some(json!({"a": {"b/c": 1}, "list": [7]}))),
            ("/list/1", None),
            ("/list/x", None),
            ("/none/x", None),
            ("", None),
        ] {
            assert_eq!(replace_at(&value, place, json!(7)), expected, "{place}");
        }
        let mut places = Vec::new();
        text_places("", &json!({"a": {"b/c": "t"}, "list": ["x", 1]}), &mut places);
        assert_eq!(places, ["/a/b~1c", "/list/0"]);
    }

    #[test]
    fn broken_items_come_behind_valid_ones() {
        let base = json!({"users": [{"name": "kw1"}]});
        for (at, broken, expected) in [
            ("/users/0/name", json!({"users": [{"name": 1}]}), json!({"users": [{"name": "kw1"}, {"name": 1}]})),
            ("/users", json!({"users": 1}), json!({"users": 1})),
            ("/name", json!({"name": 1}), json!({"name": 1})),
        ] {
            assert_eq!(behind_valid_item(&base, at, broken), expected, "{at}");
        }
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
}
