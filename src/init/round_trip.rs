//! Tools that pair up: what one makes, another shows, and a third removes.

use serde_json::{Map, Value, json};

use super::expectation::content;
use super::questions::{Answered, members_of};
use crate::check::answer_data::texts_of;
use crate::path::DottedPath;
use crate::plan::CheckContext;
use crate::plan::arguments::{safe_arguments, server_folder};
use crate::reproduce::{literal, literal_text};
use crate::source::{visible_line, words};
use crate::wire::{Tool, is_served};

/// Words of tools that remove what they are given, and of those that change it.
const REMOVERS: [&str; 4] = ["delete", "remove", "drop", "destroy"];
const UPDATERS: [&str; 7] = ["update", "edit", "change", "modify", "patch", "rename", "set"];

/// The text that an update puts in the place of another.
const UPDATED: &str = "changed";

/// A text that careless servers break their statements, files or pages with. In JSON, quotation marks look otherwise.
const QUOTED: &str = "it isn't \"plain\"";

/// The fewest characters of a text by which a thing is known again.
const SHORTEST_MARK: usize = 3;

/// The round trips that are tried with one creator.
const MOST_TAKERS: usize = 8;

/// Words that are no names of things.
const VERBS: [&str; 8] = ["create", "add", "new", "make", "register", "insert", "save", "write"];

/// A call that makes something, and one of a tool that takes its id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoundTrip {
    pub(crate) made: MadeThing,
    /// The tool that takes the id, and its arguments, of which `parameter` takes it.
    pub(crate) taker: String,
    pub(crate) taker_arguments: Value,
    pub(crate) parameter: String,
    /// The tool that lists such things without any argument.
    pub(crate) lister: Option<String>,
    pub(crate) updater: Option<ThingUpdater>,
    /// The tool that removes the thing by its id alone.
    pub(crate) remover: Option<String>,
    /// It makes a thing with quotation marks in a text.
    pub(crate) is_quoted: bool,
}

/// A tool that changes a text of a thing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThingUpdater {
    pub(crate) tool: String,
    /// Its arguments without the id.
    pub(crate) arguments: Value,
}

/// A part of a round trip that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TripPart {
    List,
    Update,
    Removal,
}

/// Something that a tool makes, and other tools take.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeThing {
    pub(crate) creator: String,
    pub(crate) arguments: Value,
    pub(crate) id: IdPlace,
    /// The name under which a suite captures the id.
    pub(crate) name: String,
}

/// The place of an id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IdPlace {
    /// A path into the creator's response.
    Answer(String),
    /// An argument of the creator.
    Argument(Value),
}

/// What two servers did on a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TripEnd {
    /// The taker refused the id.
    Refused,
    /// It served the id.
    Served,
    /// It showed what was made.
    Shown,
}

/// A tool that made something, with its answer.
pub(crate) struct Creator<'a> {
    tool: &'a Tool,
    arguments: &'a Value,
    answer: &'a Value,
}

/// The tools that served a call and may have made something.
pub(crate) fn creators<'a>(writing: &'a [(&'a Tool, Value)], answered: &'a [Answered]) -> Vec<Creator<'a>> {
    let answer_of = |tool: &Tool| {
        let mut of_tool = answered.iter().filter(|one| one.question.tool() == Some(&tool.name));
        of_tool.next().map(|one| &one.answers[0]).filter(|answer| is_served(answer))
    };
    let creating = writing.iter().filter(|(tool, _)| !is_remover(&tool.name));
    creating.filter_map(|(tool, arguments)| Some(Creator { tool, arguments, answer: answer_of(tool)? })).collect()
}

/// The round trips that may work with a creator: each tool that needs an id of the thing.
pub(crate) fn trips_of(creator: &Creator<'_>, context: &CheckContext<'_>) -> Vec<RoundTrip> {
    let folder = server_folder(context.suite, context.server_name);
    let is_open = |tool: &&Tool| context.suite.hazard(context.server_name, tool).is_none() && !tool.is_task_only();
    let remover_by = |parameter: &str| {
        let removes = |tool: &&Tool| {
            let takes_it = required_arguments(tool) == [parameter];
            is_remover(&tool.name) && takes_it && shares_noun(&tool.name, &creator.tool.name)
        };
        context.catalog.tools.iter().filter(is_open).find(removes).map(|tool| tool.name.clone())
    };
    let lister = context.catalog.tools.iter().filter(is_open).find(|tool| {
        tool.only_reads() && required_arguments(tool).is_empty() && shares_noun(&tool.name, &creator.tool.name)
    });
    let trip_to = |taker: &Tool| {
        let needed = required_arguments(taker);
        let (parameter, id) = needed.into_iter().find_map(|name| id_place(&name, creator).map(|id| (name, id)))?;
        let arguments = safe_arguments(taker, folder.clone()).ok()?.smallest().clone();
        let made = creator.made_thing(id);
        let mut trip = RoundTrip {
            made,
            taker: taker.name.clone(),
            taker_arguments: arguments,
            parameter,
            lister: None,
            updater: None,
            remover: None,
            is_quoted: false,
        };
        if taker.only_reads() {
            let mut updaters = context
                .catalog
                .tools
                .iter()
                .filter(is_open)
                .filter(|tool| is_updater(&tool.name) && shares_noun(&tool.name, &creator.tool.name));
            trip.lister = lister.map(|tool| tool.name.clone()).filter(|lister| *lister != trip.taker);
            trip.updater = updaters.find_map(|tool| updater_of(tool, &trip));
            trip.remover = remover_by(&trip.parameter).filter(|remover| *remover != trip.taker);
        }
        Some(trip)
    };
    let takers = context.catalog.tools.iter().filter(is_open).filter(|tool| tool.name != creator.tool.name);
    takers.filter_map(trip_to).take(MOST_TAKERS).collect()
}

/// The arguments that a tool needs.
fn required_arguments(tool: &Tool) -> Vec<String> {
    let schema = tool.arguments_schema();
    let required = schema["required"].as_array().into_iter().flatten();
    required.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The place of the value that a parameter takes: the creator's argument of that name, or a member of its answer.
fn id_place(parameter: &str, creator: &Creator<'_>) -> Option<IdPlace> {
    let (root, content) = content(&creator.answer["result"]).unzip();
    let of_answer = content.and_then(|content| place_of(parameter, &content));
    let given = || creator.arguments.get(parameter).filter(|given| is_plain(given)).cloned();
    match (root, of_answer) {
        (Some(root), Some(path)) => Some(IdPlace::Answer(root + &path)),
        _ => given().map(IdPlace::Argument),
    }
}

fn is_plain(value: &Value) -> bool {
    value.is_string() || value.is_i64()
}

/// The path to the member that a parameter takes, at most one object deep.
fn place_of(parameter: &str, content: &Value) -> Option<String> {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let fits = |name: &str, value: &Value| {
        let (parameter, name) = (parameter.to_lowercase(), name.to_lowercase());
        is_plain(value) && is_name(&name) && (parameter == name || name == "id" && parameter.ends_with("id"))
    };
    let members = content.as_object()?;
    let own = members.iter().find(|(name, value)| fits(name, value)).map(|(name, _)| format!(".{name}"));
    own.or_else(|| {
        let nested = members.iter().filter(|(name, _)| is_name(name));
        nested.filter_map(|(name, value)| Some((name, value.as_object()?))).find_map(|(name, inner)| {
            let found = inner.iter().find(|(member, value)| fits(member, value))?;
            Some(format!(".{name}.{}", found.0))
        })
    })
}

pub(crate) fn is_remover(tool: &str) -> bool {
    words(tool).iter().any(|word| REMOVERS.contains(&word.as_str()))
}

pub(crate) fn is_updater(tool: &str) -> bool {
    words(tool).iter().any(|word| UPDATERS.contains(&word.as_str()))
}

/// The tool as one that changes the text by which a thing is known, where it takes nothing else that it needs.
fn updater_of(tool: &Tool, trip: &RoundTrip) -> Option<ThingUpdater> {
    let (name, _) = trip.made.marked_argument()?;
    let schema = tool.arguments_schema();
    let is_closed =
        |schema: &Value| ["enum", "const", "format", "pattern"].iter().any(|word| schema.get(word).is_some());
    let declared = schema["properties"].get(name).filter(|declared| !is_closed(declared))?;
    let needed = required_arguments(tool);
    if name == trip.parameter || !declared.is_object() || !needed.contains(&trip.parameter) {
        return None;
    }
    let mut arguments = Map::new();
    for needed in needed.iter().filter(|needed| **needed != trip.parameter) {
        arguments.insert(needed.clone(), trip.made.arguments.get(needed)?.clone());
    }
    arguments.insert(name.to_owned(), UPDATED.into());
    Some(ThingUpdater { tool: tool.name.clone(), arguments: arguments.into() })
}

/// Both names speak of the same thing.
fn shares_noun(one: &str, other: &str) -> bool {
    let singular = |word: &String| word.trim_end_matches('s').to_owned();
    let of_other: Vec<String> = words(other).iter().map(singular).collect();
    words(one).iter().map(singular).any(|word| of_other.contains(&word))
}

/// The call of a creator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CreatingCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Value,
}

impl<'a> Creator<'a> {
    pub(crate) fn call(&self) -> CreatingCall<'a> {
        CreatingCall { tool: &self.tool.name, arguments: self.arguments }
    }
}

impl Creator<'_> {
    fn made_thing(&self, id: IdPlace) -> MadeThing {
        let nouns = words(&self.tool.name).into_iter().filter(|word| !VERBS.contains(&word.as_str()));
        let name: Vec<String> = nouns.filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric())).collect();
        let is_name = name.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
        let name = if is_name { format!("{}_id", name.join("_")) } else { "made_id".to_owned() };
        MadeThing { creator: self.tool.name.clone(), arguments: self.arguments.clone(), id, name }
    }
}

impl MadeThing {
    /// The id in a response of the creator.
    pub(crate) fn id_of(&self, made: &Value) -> Option<Value> {
        match &self.id {
            IdPlace::Argument(value) => Some(value.clone()),
            IdPlace::Answer(path) => DottedPath::parse(path).ok()?.find(made),
        }
    }

    /// The id as a suite writes it.
    pub(crate) fn written_id(&self) -> Value {
        match &self.id {
            IdPlace::Argument(value) => literal(value),
            IdPlace::Answer(_) => format!("{{{{ {} }}}}", self.name).into(),
        }
    }

    /// The step of a suite that makes it.
    pub(crate) fn step(&self) -> Value {
        let mut step = json!({"call": literal_text(&self.creator)});
        if !members_of(&self.arguments).is_empty() {
            step["args"] = literal(&self.arguments);
        }
        step["expect"] = json!([{"is_error": false}]);
        if let IdPlace::Answer(path) = &self.id {
            step["capture"] = json!({self.name.as_str(): path});
        }
        step
    }

    /// The text by which the thing is known again; what its reader is given proves nothing.
    fn mark(&self) -> Option<&str> {
        self.marked_argument().map(|(_, mark)| mark)
    }

    /// The argument with that text.
    fn marked_argument(&self) -> Option<(&str, &str)> {
        let is_id = |mark: &str| matches!(&self.id, IdPlace::Argument(Value::String(id)) if id.contains(mark));
        let arguments = self.arguments.as_object().into_iter().flatten();
        let texts = arguments.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let mut marks = texts.filter(|(_, text)| text.chars().count() >= SHORTEST_MARK && !is_id(text));
        marks.clone().find(|(_, text)| *text == QUOTED).or_else(|| marks.next())
    }

    /// True if a response shows a text that the creator was given.
    pub(crate) fn is_shown(&self, shown: &Value) -> bool {
        self.mark().is_some_and(|mark| shows(shown, mark))
    }
}

fn shows(shown: &Value, text: &str) -> bool {
    parts_of(text).all(|part| texts_of(&shown["result"]).any(|shown| shown.contains(part)))
}

/// What an answer shows of a text: JSON has quotation marks of its own.
fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').map(str::trim).filter(|part| !part.is_empty())
}

impl RoundTrip {
    /// For those who wait.
    pub(crate) fn sentence(&self) -> String {
        format!("calling `{}` with what `{}` makes", visible_line(&self.taker), visible_line(&self.made.creator))
    }

    /// The taker's arguments with this id.
    pub(crate) fn arguments_with(&self, id: &Value) -> Value {
        let mut arguments = self.taker_arguments.clone();
        arguments[&self.parameter] = id.clone();
        arguments
    }

    /// The same with a quoted text in the first place of the creator's arguments that may hold it; it is only shown and
    /// listed.
    pub(crate) fn quoted(&self, is_valid: impl Fn(&Value) -> bool) -> Option<Self> {
        let names =
            self.made.arguments.as_object()?.iter().filter(|(_, value)| value.is_string()).map(|(name, _)| name);
        let with_quotes = names.filter(|name| **name != self.parameter).map(|name| {
            let mut arguments = self.made.arguments.clone();
            arguments[name] = QUOTED.into();
            arguments
        });
        let arguments = with_quotes.into_iter().find(is_valid)?;
        let made = MadeThing { arguments, ..self.made.clone() };
        Some(Self { made, updater: None, remover: None, is_quoted: true, ..self.clone() })
    }

    /// The parts that it has, in their order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = TripPart> {
        let list = self.lister.as_ref().map(|_| TripPart::List);
        let update = self.updater.as_ref().map(|_| TripPart::Update);
        [list, update, self.remover.as_ref().map(|_| TripPart::Removal)].into_iter().flatten()
    }

    /// The same without a part.
    pub(crate) fn without(self, part: TripPart) -> Self {
        match part {
            TripPart::List => Self { lister: None, ..self },
            TripPart::Update => Self { updater: None, ..self },
            TripPart::Removal => Self { remover: None, ..self },
        }
    }

    /// The tool and the arguments of a part.
    pub(crate) fn call_of(&self, part: TripPart, id: &Value) -> (String, Value) {
        let with_id = |arguments: &Value| {
            let mut arguments = arguments.clone();
            arguments[&self.parameter] = id.clone();
            arguments
        };
        match part {
            TripPart::List => (self.lister.clone().unwrap_or_default(), json!({})),
            TripPart::Update => {
                let updater = self.updater.clone();
                updater.map(|updater| (updater.tool, with_id(&updater.arguments))).unwrap_or_default()
            }
            TripPart::Removal => (self.remover.clone().unwrap_or_default(), with_id(&json!({}))),
        }
    }

    /// True if a part of it was answered as a test expects; `taken` is the taker's answer after it.
    pub(crate) fn went_well(&self, part: TripPart, answer: Option<&Value>, taken: Option<&Value>) -> bool {
        let Some(answer) = answer.filter(|answer| is_served(answer)) else { return false };
        match part {
            TripPart::List => self.made.is_shown(answer),
            TripPart::Update => taken.is_some_and(|taken| is_served(taken) && shows(taken, UPDATED)),
            TripPart::Removal => taken.is_some_and(|taken| !is_served(taken)),
        }
    }

    /// The calls as a test.
    pub(crate) fn test(&self) -> Value {
        let id = self.made.written_id();
        let mut arguments = literal(&self.taker_arguments);
        arguments[&self.parameter] = id.clone();
        let call = |tool: &str, arguments: Value, expected: Vec<Value>| json!({"call": literal_text(tool), "args": arguments, "expect": expected});
        let is_served = || json!({"is_error": false});
        let shows = |text: &str| {
            let parts = parts_of(text).map(|part| json!({"text": {"contains": literal(&part.into())}}));
            std::iter::once(is_served()).chain(parts).collect::<Vec<_>>()
        };
        let of_made = self.made.mark().map_or_else(|| vec![is_served()], shows);
        let quoted = if self.is_quoted { " of a quoted text" } else { "" };
        let mut name = format!("`{}` shows what `{}` makes{quoted}", self.taker, self.made.creator);
        let mut steps = vec![self.made.step(), call(&self.taker, arguments.clone(), of_made.clone())];
        for part in self.parts() {
            let (tool, given) = self.call_of(part, &Value::Null);
            let mut given = literal(&given);
            given[&self.parameter] = id.clone();
            match part {
                TripPart::List => steps.push(json!({"call": literal_text(&tool), "expect": of_made})),
                TripPart::Update => {
                    name = format!("{name}, and what `{tool}` changes");
                    steps.push(call(&tool, given, vec![is_served()]));
                    steps.push(call(&self.taker, arguments.clone(), shows(UPDATED)));
                }
                TripPart::Removal => {
                    name = format!("{name}, until `{tool}` removes it");
                    steps.push(call(&tool, given, vec![is_served()]));
                    steps.push(call(&self.taker, arguments.clone(), vec![json!({"refused": true})]));
                }
            }
        }
        json!({"name": name, "steps": steps})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(id: IdPlace, remover: Option<&str>) -> RoundTrip {
        RoundTrip {
            made: MadeThing {
                creator: "create_user".to_owned(),
                arguments: json!({"age": 3, "tag": "a", "name": "Ann", "email": "ann@example.com"}),
                id,
                name: "user_id".to_owned(),
            },
            taker: "get_user".to_owned(),
            taker_arguments: json!({"id": "a", "full": true}),
            parameter: "id".to_owned(),
            lister: None,
            updater: None,
            remover: remover.map(str::to_owned),
            is_quoted: false,
        }
    }

    #[test]
    fn a_text_with_quotation_marks_is_made_where_the_schema_takes_one() {
        let trip = trip(IdPlace::Answer("result.structuredContent.id".to_owned()), Some("delete_user"));
        assert_eq!(trip.quoted(|_| false), None);
        let quoted = trip.quoted(|arguments| arguments["tag"] == "a").unwrap();
        assert_eq!(quoted.made.arguments["name"], QUOTED);
        for (text, expected) in
            [(QUOTED, true), (r#"{"name": "it isn't \"plain\""}"#, true), ("it isn", false), ("Ann", false)]
        {
            let shown = json!({"result": {"content": [{"type": "text", "text": text}]}});
            assert_eq!(quoted.made.is_shown(&shown), expected, "{text}");
        }
        let made = quoted.test();
        assert_eq!(made["name"], "`get_user` shows what `create_user` makes of a quoted text");
        assert_eq!(made["steps"][1]["expect"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn ids_are_found_in_answers() {
        for (parameter, content, expected) in [
            ("id", json!({"id": 7}), Some(".id")),
            ("user_id", json!({"id": "u1", "name": "Ann"}), Some(".id")),
            ("user_id", json!({"user": {"id": "u1"}}), Some(".user.id")),
            ("name", json!({"name": "Ann"}), Some(".name")),
            ("user_id", json!({"users": [{"id": "u1"}]}), None),
            ("path", json!({"id": "u1"}), None),
            ("id", json!({"id": {"of": 1}}), None),
        ] {
            assert_eq!(place_of(parameter, &content).as_deref(), expected, "{parameter} in {content}");
        }
    }

    #[test]
    fn names_tell_which_tools_speak_of_one_thing() {
        for (one, other, expected) in [
            ("delete_user", "create_user", true),
            ("removeUsers", "create_user", true),
            ("delete_order", "create_user", false),
        ] {
            assert_eq!(shares_noun(one, other), expected, "{one}, {other}");
        }
        assert!(is_remover("delete_user") && !is_remover("deleted") && !is_remover("create_user"));
    }

    #[test]
    fn a_thing_is_known_by_what_its_reader_was_not_given() {
        let shown = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        let by_answer = trip(IdPlace::Answer("result.structuredContent.id".to_owned()), None);
        let by_name = trip(IdPlace::Argument("Ann".into()), None);
        for (trip, text, expected) in [
            (&by_answer, "Ann is here", true),
            (&by_answer, "nobody", false),
            (&by_name, "Ann is not known", false),
            (&by_name, "Ann <ann@example.com>", true),
        ] {
            assert_eq!(trip.made.is_shown(&shown(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_round_trip_is_a_test_of_its_steps() {
        let made = trip(IdPlace::Answer("result.structuredContent.id".to_owned()), Some("delete_user")).test();
        assert_eq!(made["name"], "`get_user` shows what `create_user` makes, until `delete_user` removes it");
        let calls: Vec<&str> =
            made["steps"].as_array().unwrap().iter().filter_map(|step| step["call"].as_str()).collect();
        assert_eq!(calls, ["create_user", "get_user", "delete_user", "get_user"]);
        assert_eq!(made["steps"][1]["args"], json!({"id": "{{ user_id }}", "full": true}));
        assert_eq!(made["steps"][2]["args"], json!({"id": "{{ user_id }}"}));
        assert_eq!(made["steps"][3]["expect"], json!([{"refused": true}]));
    }

    #[test]
    fn a_thing_is_listed_and_changed_before_it_is_removed() {
        let mut trip = trip(IdPlace::Answer("result.structuredContent.id".to_owned()), Some("delete_user"));
        let update = |required: &Value, name: &Value| {
            let properties = json!({"id": {}, "name": name, "age": {}});
            let schema = json!({"type": "object", "properties": properties, "required": required});
            updater_of(&Tool::new(json!({"name": "update_user", "inputSchema": schema})), &trip)
        };
        let updater = update(&json!(["id", "age"]), &json!({"type": "string"}));
        assert_eq!(updater.as_ref().map(|updater| &updater.arguments), Some(&json!({"age": 3, "name": UPDATED})));
        assert_eq!(update(&json!(["id"]), &json!({"enum": ["Ann"]})), None);
        assert_eq!(update(&json!(["id", "reason"]), &json!({})), None);
        assert_eq!(update(&json!(["name"]), &json!({})), None);
        trip = RoundTrip { lister: Some("list_users".to_owned()), updater, ..trip };
        let made = trip.test();
        assert_eq!(
            made["name"],
            "`get_user` shows what `create_user` makes, and what `update_user` changes, until `delete_user` removes it"
        );
        let calls: Vec<&str> =
            made["steps"].as_array().unwrap().iter().filter_map(|step| step["call"].as_str()).collect();
        assert_eq!(
            calls,
            ["create_user", "get_user", "list_users", "update_user", "get_user", "delete_user", "get_user"]
        );
        assert_eq!(made["steps"][3]["args"], json!({"age": 3, "name": UPDATED, "id": "{{ user_id }}"}));
        let left = trip.without(TripPart::Update).test();
        assert_eq!(left["name"], "`get_user` shows what `create_user` makes, until `delete_user` removes it");
    }
}
