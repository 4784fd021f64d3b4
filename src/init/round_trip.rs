//! Tools that pair up: what one makes, another shows, and a third removes.

use serde_json::{Map, Value, json};

use super::expectation::content;
use super::questions::{Answered, MADE_UP, members_of};
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

/// The fewest characters of an id that is part of no other text.
const SHORTEST_GONE_ID: usize = 8;

/// The fewest characters of a text by which a thing is known again, and the most of such texts that a test expects.
const SHORTEST_MARK: usize = 3;
const MOST_MARKS: usize = 6;

/// Names of arguments that take the text which is looked for.
const QUERIES: [&str; 7] = ["query", "q", "text", "search", "term", "keyword", "keywords"];

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
    /// The texts of the thing that the taker shows, and those that it still shows after the update.
    pub(crate) marks: Vec<String>,
    pub(crate) kept: Vec<String>,
    /// The tool that lists such things without any argument.
    pub(crate) lister: Option<String>,
    /// The tool that looks for a text, and its argument.
    pub(crate) searcher: Option<ThingSearcher>,
    pub(crate) updater: Option<ThingUpdater>,
    /// The parts that are left out.
    pub(crate) left_out: Vec<TripPart>,
    /// The tool that removes the thing by its id alone.
    pub(crate) remover: Option<String>,
    /// It makes a thing with quotation marks in a text.
    pub(crate) is_quoted: bool,
    /// The text by which a list shows that the thing is gone.
    pub(crate) gone: GoneMark,
}

/// The text that a list shows no more of a thing that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoneMark {
    /// One that it was given: each server has its own store, so nothing else has that text.
    Given,
    /// Its id: a thing that an earlier run left may have the same texts.
    Id,
    /// There is none: the id is short, or given, and may be part of something else.
    Unknown,
}

/// A tool that changes a text of a thing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThingUpdater {
    pub(crate) tool: String,
    /// Its arguments without the id.
    pub(crate) arguments: Value,
}

/// A tool that finds things by a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThingSearcher {
    pub(crate) tool: String,
    pub(crate) parameter: String,
}

/// A part of a round trip that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TripPart {
    List,
    Search,
    Update,
    /// The list after the update.
    UpdatedList,
    Removal,
    /// The list and the search after the removal.
    RemovedList,
    RemovedSearch,
}

impl TripPart {
    const ALL: [Self; 7] = [
        Self::List,
        Self::Search,
        Self::Update,
        Self::UpdatedList,
        Self::Removal,
        Self::RemovedList,
        Self::RemovedSearch,
    ];

    /// The part without which it makes no sense.
    fn needs(self) -> Option<Self> {
        match self {
            Self::List | Self::Search | Self::Update | Self::Removal => None,
            Self::UpdatedList => Some(Self::Update),
            Self::RemovedList | Self::RemovedSearch => Some(Self::Removal),
        }
    }

    /// The part that shows the thing before it is gone from there.
    pub(crate) fn names_before(self) -> Option<Self> {
        match self {
            Self::List | Self::Search | Self::Update | Self::UpdatedList | Self::Removal => None,
            Self::RemovedList => Some(Self::List),
            Self::RemovedSearch => Some(Self::Search),
        }
    }
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
        let gone = if context.machine.store().is_some() { GoneMark::Given } else { made.gone_mark(creator.answer) };
        let mut trip = RoundTrip {
            made,
            taker: taker.name.clone(),
            taker_arguments: arguments,
            parameter,
            marks: Vec::new(),
            kept: Vec::new(),
            lister: None,
            searcher: None,
            updater: None,
            remover: None,
            left_out: Vec::new(),
            is_quoted: false,
            gone,
        };
        if taker.only_reads() {
            let mut searchers = context.catalog.tools.iter().filter(is_open).filter(|tool| tool.name != trip.taker);
            trip.searcher = searchers.find_map(searcher_of);
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

/// The tool as one that needs nothing but a text to look for.
fn searcher_of(tool: &Tool) -> Option<ThingSearcher> {
    let needed = required_arguments(tool);
    let parameter =
        needed.first().filter(|name| needed.len() == 1 && QUERIES.contains(&name.to_lowercase().as_str()))?;
    let is_text = tool.arguments_schema()["properties"][parameter]["type"] == "string";
    (tool.only_reads() && is_text).then(|| ThingSearcher { tool: tool.name.clone(), parameter: parameter.clone() })
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

    /// The text by which it is known to be gone, where servers share a store.
    fn gone_mark(&self, made: &Value) -> GoneMark {
        let is_long = |id: &Value| id.as_str().is_some_and(|id| id.chars().count() >= SHORTEST_GONE_ID);
        match &self.id {
            IdPlace::Answer(_) if self.id_of(made).as_ref().is_some_and(is_long) => GoneMark::Id,
            IdPlace::Answer(_) | IdPlace::Argument(_) => GoneMark::Unknown,
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

    /// The argument with the text by which the thing is known again; what its reader is given proves nothing.
    fn marked_argument(&self) -> Option<(&str, &str)> {
        let mut marks = self.marked_arguments();
        self.marked_arguments().find(|(_, text)| *text == QUOTED).or_else(|| marks.next())
    }

    fn marked_arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_id = |mark: &str| matches!(&self.id, IdPlace::Argument(Value::String(id)) if id.contains(mark));
        let arguments = self.arguments.as_object().into_iter().flatten();
        let first_text = |value: &Value| value.as_array().and_then(|items| items.first()).is_some_and(Value::is_string);
        let texts = arguments.filter_map(move |(name, value)| {
            let value = if first_text(value) { &value[0] } else { value };
            Some((name.as_str(), value.as_str()?))
        });
        texts.filter(move |(_, text)| text.chars().count() >= SHORTEST_MARK && !is_id(text))
    }

    /// The texts that the creator was given and that a response shows; none of them is part of another one.
    pub(crate) fn shown_marks(&self, shown: &Value) -> Vec<String> {
        let mut marks: Vec<String> = Vec::new();
        for (_, mark) in self.marked_arguments().filter(|(_, mark)| shows(shown, mark)) {
            if !marks.iter().any(|known| known.contains(mark) || mark.contains(known.as_str())) {
                marks.push(mark.to_owned());
            }
        }
        marks.sort_by_key(|mark| mark != QUOTED);
        marks.truncate(MOST_MARKS);
        marks
    }

    /// True if a response shows a text that the creator was given.
    pub(crate) fn is_shown(&self, shown: &Value) -> bool {
        let marks = self.shown_marks(shown);
        let is_quoted = self.marked_arguments().any(|(_, mark)| mark == QUOTED);
        !marks.is_empty() && (!is_quoted || marks.iter().any(|mark| mark == QUOTED))
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
        Some(Self { made, searcher: None, updater: None, remover: None, is_quoted: true, ..self.clone() })
    }

    /// The same with other texts, so that nothing that a suite makes before is taken for the thing.
    pub(crate) fn with_other_texts(&self) -> Self {
        let mut trip = self.clone();
        other_texts(&mut trip.made.arguments);
        if let IdPlace::Argument(id) = &mut trip.made.id {
            other_texts(id);
        }
        trip.updater = trip.updater.map(|mut updater| {
            other_texts(&mut updater.arguments);
            updater
        });
        trip
    }

    /// The parts that it has, in their order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = TripPart> {
        let has = |part: &TripPart| {
            let is_left_out =
                self.left_out.contains(part) || part.needs().is_some_and(|part| self.left_out.contains(&part));
            !is_left_out
                && match part {
                    TripPart::List => self.lister.is_some(),
                    TripPart::Search => self.searcher.is_some() && self.marks.len() > 1,
                    TripPart::Update => self.updater.is_some(),
                    TripPart::UpdatedList => {
                        self.updater.is_some() && self.lister.is_some() && !self.left_out.contains(&TripPart::List)
                    }
                    TripPart::Removal => self.remover.is_some(),
                    TripPart::RemovedList => {
                        let is_listed = self.lister.is_some() && !self.left_out.contains(&TripPart::List);
                        self.remover.is_some() && is_listed && self.gone != GoneMark::Unknown
                    }
                    TripPart::RemovedSearch => {
                        let is_searched = self.searcher.is_some() && self.marks.len() > 1;
                        let is_found = is_searched && !self.left_out.contains(&TripPart::Search);
                        self.remover.is_some() && is_found && self.gone != GoneMark::Unknown
                    }
                }
        };
        TripPart::ALL.into_iter().filter(has).collect::<Vec<_>>().into_iter()
    }

    /// The same without a part.
    pub(crate) fn without(mut self, part: TripPart) -> Self {
        self.left_out.push(part);
        self
    }

    /// The tool and the arguments of a part.
    pub(crate) fn call_of(&self, part: TripPart, id: &Value) -> (String, Value) {
        let with_id = |arguments: &Value| {
            let mut arguments = arguments.clone();
            arguments[&self.parameter] = id.clone();
            arguments
        };
        match part {
            TripPart::List | TripPart::UpdatedList | TripPart::RemovedList => {
                (self.lister.clone().unwrap_or_default(), json!({}))
            }
            TripPart::Search | TripPart::RemovedSearch => {
                let with_text = |searcher: ThingSearcher| {
                    let mark = self.searched().unwrap_or_default();
                    (searcher.tool, Value::from(Map::from_iter([(searcher.parameter, mark.into())])))
                };
                self.searcher.clone().map(with_text).unwrap_or_default()
            }
            TripPart::Update => {
                let updater = self.updater.clone();
                updater.map(|updater| (updater.tool, with_id(&updater.arguments))).unwrap_or_default()
            }
            TripPart::Removal => (self.remover.clone().unwrap_or_default(), with_id(&json!({}))),
        }
    }

    /// The text that is looked for: the last one, which no update changes; what is found shows the first one too.
    fn searched(&self) -> Option<&str> {
        self.marks.last().map(String::as_str)
    }

    /// The text by which a list shows the thing at last.
    fn last_mark(&self) -> &str {
        let is_updated = self.parts().any(|part| part == TripPart::UpdatedList);
        if is_updated { UPDATED } else { self.marks.first().map_or("", String::as_str) }
    }

    /// True if an answer shows the text by which the thing is known to be gone later.
    pub(crate) fn names(&self, answer: &Value, id: &Value) -> bool {
        let text = match self.gone {
            GoneMark::Given => self.marks.first().map(String::as_str),
            GoneMark::Id => id.as_str(),
            GoneMark::Unknown => None,
        };
        text.is_some_and(|text| shows(answer, text))
    }

    /// True if a part of it was answered as a test expects; `taken` is the taker's answer after it, and `id` that of the
    /// thing.
    pub(crate) fn went_well(&self, part: TripPart, id: &Value, answer: Option<&Value>, taken: Option<&Value>) -> bool {
        let Some(answer) = answer else { return false };
        let first = self.marks.first().map_or("", String::as_str);
        let hides = |texts: &[&str]| texts.iter().all(|text| !shows(answer, text));
        let is_gone = |texts: &[&str]| match self.gone {
            GoneMark::Given => hides(texts),
            GoneMark::Id => id.as_str().is_some_and(|id| hides(&[id])),
            GoneMark::Unknown => false,
        };
        match part {
            TripPart::List | TripPart::Search => is_served(answer) && shows(answer, first),
            TripPart::Update => {
                is_served(answer) && taken.is_some_and(|taken| is_served(taken) && shows(taken, UPDATED))
            }
            TripPart::UpdatedList => is_served(answer) && shows(answer, UPDATED),
            TripPart::Removal => is_served(answer) && taken.is_some_and(|taken| !is_served(taken)),
            TripPart::RemovedList => is_served(answer) && is_gone(&[self.last_mark()]),
            TripPart::RemovedSearch => is_gone(&[first, self.last_mark()]),
        }
    }

    /// The calls as a test.
    pub(crate) fn test(&self) -> Value {
        let id = self.made.written_id();
        let mut arguments = literal(&self.taker_arguments);
        arguments[&self.parameter] = id.clone();
        let call = |tool: &str, arguments: Value, expected: Vec<Value>| json!({"call": literal_text(tool), "args": arguments, "expect": expected});
        let is_served = || json!({"is_error": false});
        let shows_all = |texts: &[String]| {
            let parts = texts.iter().flat_map(|text| parts_of(text));
            let parts = parts.map(|part| json!({"text": {"contains": literal(&part.into())}}));
            std::iter::once(is_served()).chain(parts).collect::<Vec<_>>()
        };
        let gone = match self.gone {
            GoneMark::Given => literal(&self.last_mark().into()),
            GoneMark::Id | GoneMark::Unknown => id.clone(),
        };
        let hides = json!({"text": {"not": {"contains": gone}}});
        let quoted = if self.is_quoted { " of a quoted text" } else { "" };
        let mut name = format!("`{}` shows what `{}` makes{quoted}", self.taker, self.made.creator);
        let mut steps = vec![self.made.step(), call(&self.taker, arguments.clone(), shows_all(&self.marks))];
        let first = self.marks.get(..1).unwrap_or_default();
        let without_arguments =
            |tool: &str, expected: Vec<Value>| json!({"call": literal_text(tool), "expect": expected});
        for part in self.parts() {
            let (tool, given) = self.call_of(part, &Value::Null);
            let mut given = literal(&given);
            match part {
                TripPart::List => steps.push(without_arguments(&tool, shows_all(first))),
                TripPart::Search => steps.push(call(&tool, given, shows_all(first))),
                TripPart::Update => {
                    given[&self.parameter] = id.clone();
                    name = format!("{name}, and what `{tool}` changes");
                    let kept: Vec<String> = std::iter::once(UPDATED.to_owned()).chain(self.kept.clone()).collect();
                    steps.push(call(&tool, given, vec![is_served()]));
                    steps.push(call(&self.taker, arguments.clone(), shows_all(&kept)));
                }
                TripPart::UpdatedList => {
                    steps.push(without_arguments(&tool, shows_all(&[UPDATED.to_owned()])));
                }
                TripPart::Removal => {
                    given[&self.parameter] = id.clone();
                    name = format!("{name}, until `{tool}` removes it");
                    steps.push(call(&tool, given, vec![is_served()]));
                    steps.push(call(&self.taker, arguments.clone(), vec![json!({"refused": true})]));
                }
                TripPart::RemovedList => steps.push(without_arguments(&tool, vec![hides.clone()])),
                TripPart::RemovedSearch => steps.push(call(&tool, given, vec![hides.clone()])),
            }
        }
        json!({"name": name, "steps": steps})
    }
}

/// The word with which other texts begin.
const OTHER: &str = "another ";

/// Puts other texts in the place of those that are made up.
fn other_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(rest) = text.strip_prefix(MADE_UP) {
                *text = format!("{OTHER}{rest}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(other_texts),
        Value::Object(members) => members.values_mut().for_each(other_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
            marks: vec!["Ann".to_owned(), "ann@example.com".to_owned()],
            kept: vec!["ann@example.com".to_owned()],
            lister: None,
            searcher: None,
            updater: None,
            remover: remover.map(str::to_owned),
            left_out: Vec::new(),
            is_quoted: false,
            gone: GoneMark::Given,
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
        let made = RoundTrip { marks: vec![QUOTED.to_owned()], ..quoted }.test();
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
    fn what_is_found_is_found_no_more_after_it_is_removed() {
        let searcher = ThingSearcher { tool: "search_users".to_owned(), parameter: "query".to_owned() };
        let trip = trip(IdPlace::Answer("result.structuredContent.id".to_owned()), Some("delete_user"));
        let trip = RoundTrip { searcher: Some(searcher), ..trip };
        let made = trip.test();
        let search = |at: usize| (made["steps"][at]["args"].clone(), made["steps"][at]["expect"].clone());
        let query = json!({"query": "ann@example.com"});
        assert_eq!(search(2), (query.clone(), json!([{"is_error": false}, {"text": {"contains": "Ann"}}])));
        assert_eq!(search(5), (query, json!([{"text": {"not": {"contains": "Ann"}}}])));
        let found = json!({"result": {"content": [{"type": "text", "text": "Ann <ann@example.com>"}]}});
        let id = json!("user-0001");
        assert!(trip.went_well(TripPart::Search, &id, Some(&found), None));
        assert!(!trip.went_well(TripPart::RemovedSearch, &id, Some(&found), None));
        // Where servers share a store, an earlier run may have left such a thing.
        for (gone, expected) in [(GoneMark::Id, Some(json!("{{ user_id }}"))), (GoneMark::Unknown, None)] {
            let shared = RoundTrip { gone, ..trip.clone() };
            assert_eq!(shared.went_well(TripPart::RemovedSearch, &id, Some(&found), None), expected.is_some());
            let made = shared.test();
            assert_eq!(
                made["steps"].get(5).map(|step| &step["expect"][0]["text"]["not"]["contains"]),
                expected.as_ref()
            );
        }
        for (answer, expected) in [
            (json!({"id": "user-0001"}), GoneMark::Id),
            (json!({"id": "u1"}), GoneMark::Unknown),
            (json!({"id": 12_345_678}), GoneMark::Unknown),
        ] {
            let answer = json!({"result": {"structuredContent": answer}});
            assert_eq!(trip.made.gone_mark(&answer), expected, "{answer}");
        }
        let one = RoundTrip { marks: vec!["Ann".to_owned()], ..trip };
        assert!(one.parts().all(|part| part == TripPart::Removal));
    }

    #[test]
    fn a_suite_makes_things_with_texts_of_their_own() {
        let mut trip = trip(IdPlace::Argument("some name".into()), None);
        trip.made.arguments = json!({"name": "some name", "tags": ["some tags"], "email": "ann@example.com"});
        let made = trip.with_other_texts().made;
        assert_eq!(made.id, IdPlace::Argument("another name".into()));
        assert_eq!(
            made.arguments,
            json!({"name": "another name", "tags": ["another tags"], "email": "ann@example.com"})
        );
        let shown = json!({"result": {"content": [{"type": "text", "text": "another tags, ann@example.com"}]}});
        assert_eq!(made.shown_marks(&shown), ["another tags", "ann@example.com"]);
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
            [
                "create_user",
                "get_user",
                "list_users",
                "update_user",
                "get_user",
                "list_users",
                "delete_user",
                "get_user",
                "list_users",
            ]
        );
        assert_eq!(
            made["steps"][4]["expect"],
            json!([{"is_error": false}, {"text": {"contains": "changed"}}, {"text": {"contains": "ann@example.com"}}])
        );
        assert_eq!(made["steps"][8]["expect"], json!([{"text": {"not": {"contains": "changed"}}}]));
        assert_eq!(made["steps"][3]["args"], json!({"age": 3, "name": UPDATED, "id": "{{ user_id }}"}));
        let left = trip.without(TripPart::Update).test();
        assert_eq!(left["name"], "`get_user` shows what `create_user` makes, until `delete_user` removes it");
    }
}
