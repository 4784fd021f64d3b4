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

/// Words of tools that remove what they are given.
const REMOVERS: [&str; 4] = ["delete", "remove", "drop", "destroy"];

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
    /// The tool that removes the thing by its id alone.
    pub(crate) remover: Option<String>,
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
    /// It showed what was made, and no longer after it was removed.
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
    let trip_to = |taker: &Tool| {
        let needed = required_arguments(taker);
        let (parameter, id) = needed.into_iter().find_map(|name| id_place(&name, creator).map(|id| (name, id)))?;
        let arguments = safe_arguments(taker, folder.clone()).ok()?.smallest().clone();
        let remover = remover_by(&parameter).filter(|remover| taker.only_reads() && *remover != taker.name);
        let (made, taker) = (creator.made_thing(id), taker.name.clone());
        Some(RoundTrip { made, taker, taker_arguments: arguments, parameter, remover })
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

fn is_remover(tool: &str) -> bool {
    words(tool).iter().any(|word| REMOVERS.contains(&word.as_str()))
}

/// Both names speak of the same thing.
fn shares_noun(one: &str, other: &str) -> bool {
    let singular = |word: &String| word.trim_end_matches('s').to_owned();
    let of_other: Vec<String> = words(other).iter().map(singular).collect();
    words(one).iter().map(singular).any(|word| of_other.contains(&word))
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
        let is_id = |mark: &str| matches!(&self.id, IdPlace::Argument(Value::String(id)) if id.contains(mark));
        let texts = self.arguments.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
        texts.filter(|text| text.chars().count() >= SHORTEST_MARK).find(|mark| !is_id(mark))
    }

    /// True if a response shows a text that the creator was given.
    pub(crate) fn is_shown(&self, shown: &Value) -> bool {
        self.mark().is_some_and(|mark| texts_of(&shown["result"]).any(|text| text.contains(mark)))
    }
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

    /// The calls as a test.
    pub(crate) fn test(&self) -> Value {
        let id = self.made.written_id();
        let by_id = || Value::from(Map::from_iter([(self.parameter.clone(), id.clone())]));
        let mut arguments = literal(&self.taker_arguments);
        arguments[&self.parameter] = id.clone();
        let call = |tool: &str, arguments: Value, expected: Vec<Value>| json!({"call": literal_text(tool), "args": arguments, "expect": expected});
        let mut shown = vec![json!({"is_error": false})];
        shown.extend(self.made.mark().map(|mark| json!({"text": {"contains": literal(&mark.into())}})));
        let mut name = format!("`{}` shows what `{}` makes", self.taker, self.made.creator);
        let mut steps = vec![self.made.step(), call(&self.taker, arguments.clone(), shown)];
        if let Some(remover) = &self.remover {
            name = format!("{name}, until `{remover}` removes it");
            steps.push(call(remover, by_id(), vec![json!({"is_error": false})]));
            steps.push(call(&self.taker, arguments, vec![json!({"refused": true})]));
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
            remover: remover.map(str::to_owned),
        }
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
}
