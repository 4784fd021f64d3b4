//! The places of an answer at which a fault can be planted alone.
//!
//! A fault that names several places, or that changes whatever value it finds below a place, is as many faults as there
//! are places: a suite that guards one of them may be blind to the others.

use std::collections::BTreeSet;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::Fault;
use super::draw::text_draw;
use super::effect::{ChangeWay, FaultEffect, breakable};
use super::exchange::{ClientMessage, ExchangeHistory, MessageExchange, ReplyContent, ServerReply};
use super::parsed_message::ParsedMessage;
use super::words::{AnswerSource, SchemaBreach, ValueEdit};
use crate::path::DottedPath;
use crate::transport::Owner;
use crate::wire::{Catalog, ListKind, Tool};

/// The most places of one entry or of one answer; of more, the outer ones are taken, and of equals those that their
/// names draw.
const MOST_PLACES: usize = 24;

/// The share of a request's timeout after which a slow answer comes at the latest.
const SLOWEST: f64 = 0.8;

/// A place of an answer, and the effect of a fault on this place alone.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPlace {
    /// The entry of a list of the server that holds the place, such as a tool; `None` in other answers.
    pub entry: Option<(ListKind, String)>,
    /// The place below its entry, its structured content, or the result: `price`, `rooms[*].name`, `content[0].text`; the
    /// argument that has no effect; empty for a fault that changes an answer as a whole.
    pub field: String,
    /// The value there, if the fault changes a value into another one.
    pub value: Option<Value>,
    effects: Option<FaultEffect>,
}

/// An entry of a list of a server: the list, and the name or the address of the entry.
pub(crate) type EntryName = (ListKind, String);

impl Fault {
    /// The places of the answer of an exchange, each of which the fault can change alone.
    pub fn places(&self, at: usize, history: &ExchangeHistory<'_>) -> Vec<FaultPlace> {
        let whole = FaultPlace { entry: None, field: String::new(), value: None, effects: None };
        let (Some(exchange), [effect]) = (history.exchanges.get(at), self.answers.as_slice()) else {
            return vec![whole];
        };
        let answer = ParsedMessage::of(exchange).answer(&exchange.replies);
        let Some(message) = answer.and_then(|at| exchange.replies[at].message()) else { return vec![whole] };
        let tool = exchange.tool().and_then(|name| history.catalog.tool(name));
        let places = if *effect == FaultEffect::Give(AnswerSource::Other) {
            Some(argument_places(exchange))
        } else if let FaultEffect::Misshape(breach, _) = effect {
            breakable(*breach, tool, message).map(|paths| breach_places(*breach, paths))
        } else {
            effect.places(message)
        };
        places.map_or_else(|| vec![whole], sample)
    }

    /// The places of the fullest answer of a tool: it has this structured content.
    pub fn fields_of(&self, tool: &Tool, content: &Value, catalog: &Catalog) -> Vec<FaultPlace> {
        let params = json!({"name": tool.name, "arguments": {}});
        let sent = ClientMessage::Message { id: Some(json!(1)), method: "tools/call".to_owned(), params };
        let result = json!({"content": [], "structuredContent": content});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        let replies = vec![ServerReply::now(ReplyContent::Message(answer), None)];
        let exchange = MessageExchange { owner: Owner::of_case(""), replies, ..MessageExchange::new(sent) };
        let history = ExchangeHistory { catalog, capabilities: &Value::Null, exchanges: &[exchange] };
        if !self.strikes(0, &history) {
            return Vec::new();
        }
        self.places(0, &history).into_iter().filter(|place| !place.field.is_empty()).collect()
    }

    /// The fields of an answer that may have places of this fault in other answers: its lists that are empty.
    pub fn hidden_fields(&self, exchange: &MessageExchange) -> BTreeSet<String> {
        let [FaultEffect::Edit(edit, paths)] = self.answers.as_slice() else { return BTreeSet::new() };
        let items = match edit {
            ValueEdit::Change | ValueEdit::ChangeBack => "[*]",
            ValueEdit::Cut | ValueEdit::Double => "",
            ValueEdit::Remove
            | ValueEdit::Null
            | ValueEdit::Retype
            | ValueEdit::Empty
            | ValueEdit::Wrap
            | ValueEdit::Reverse
            | ValueEdit::Ascii
            | ValueEdit::Misdeclare => return BTreeSet::new(),
        };
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        let Some(message) = exchange.answer() else { return BTreeSet::new() };
        let found = paths.iter().flat_map(|path| path.places(message));
        let found = found.flat_map(|path| path.below(message, true, &is_empty));
        found.map(|(path, _)| path.field() + items).collect()
    }

    /// The fault at one place only.
    #[must_use]
    pub fn at(&self, place: &FaultPlace) -> Self {
        let answers = place.effects.as_ref().map_or_else(|| self.answers.clone(), |effect| vec![effect.clone()]);
        Self { answers, ..self.clone() }
    }

    /// The same for requests that time out after so long: what is slow is answered before.
    #[must_use]
    pub fn within(&self, request_timeout: Duration) -> Self {
        let latest = request_timeout.mul_f64(SLOWEST);
        let answers = self.answers.iter().map(|effect| {
            if let FaultEffect::Slow(by) = effect { FaultEffect::Slow(latest.min(*by)) } else { effect.clone() }
        });
        Self { answers: answers.collect(), ..self.clone() }
    }

    /// It changes nothing but lists in the results of tools.
    pub(crate) fn is_of_lists(&self) -> bool {
        matches!(self.answers.as_slice(), [FaultEffect::Page(_) | FaultEffect::Edit(ValueEdit::Reverse, _)])
    }

    /// The fault shows in every answer that it matches, whatever values the answer has.
    pub fn is_certain(&self) -> bool {
        self.on.is_certain() && self.answers.iter().all(FaultEffect::is_certain)
    }
}

impl FaultPlace {
    pub(crate) fn effects<'a>(&'a self, fault: &'a Fault) -> &'a [FaultEffect] {
        self.effects.as_ref().map_or(fault.answers.as_slice(), std::slice::from_ref)
    }
}

impl FaultEffect {
    /// The effect at each place alone; `None` if it changes the answer as a whole.
    fn places(&self, message: &Value) -> Option<Vec<FaultPlace>> {
        if let Self::Set(pairs) = self {
            pair_places(pairs, message, Self::Set)
        } else if let Self::Append(pairs) = self {
            pair_places(pairs, message, Self::Append)
        } else if let Self::Pad(pairs) = self {
            pair_places(pairs, message, Self::Pad)
        } else if let Self::Plant(pairs) = self {
            Some(plant_places(pairs, message))
        } else if let Self::Rename(pairs) = self {
            pair_places(pairs, message, Self::Rename)
        } else if let Self::Edit(edit, paths) = self {
            edit_places(*edit, paths, message)
        } else {
            None
        }
    }

    /// It shows in every answer, whatever values the answer has.
    fn is_certain(&self) -> bool {
        if let Self::Set(pairs) = self {
            return !pairs.iter().any(|(path, written)| path.is_plural() || written.is_template());
        }
        if let Self::Plant(pairs) = self {
            return !pairs.iter().any(|(path, _)| path.is_plural());
        }
        if let Self::Edit(edit, paths) = self {
            return !edit.looks_below() && !paths.iter().any(DottedPath::is_plural);
        }
        let is_about_whole = matches!(
            self,
            Self::Plain(_) | Self::Add(_) | Self::Clone(_) | Self::Stderr(_) | Self::Status(_) | Self::Headers(_)
        );
        let makes_answer = matches!(
            self,
            Self::Result(_) | Self::Error(_) | Self::Failure(_) | Self::Message(_) | Self::Text(_) | Self::End(_)
        );
        is_about_whole || makes_answer || self.is_delay()
    }

    /// It changes nothing but the time of the answer.
    pub(crate) fn is_delay(&self) -> bool {
        matches!(self, Self::Delay(_) | Self::Jitter(_) | Self::Bandwidth(_) | Self::Slow(_))
    }
}

impl ValueEdit {
    /// The way in which it makes values wrong, if it does.
    pub(crate) fn way(self) -> Option<ChangeWay> {
        [(Self::Change, ChangeWay::There), (Self::ChangeBack, ChangeWay::Back)]
            .into_iter()
            .find_map(|(edit, way)| (edit == self).then_some(way))
    }

    /// The edit changes single values below a place, rather than the value at the place.
    fn looks_below(self) -> bool {
        self.predicate().is_some()
    }

    /// The values that the edit changes one by one.
    fn predicate(self) -> Option<fn(&Value) -> bool> {
        let is_value = |value: &Value| match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => !text.is_empty(),
            Value::Array(_) | Value::Object(_) => false,
        };
        let is_long = |value: &Value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        };
        // There is only one other truth value, and null says nothing about a direction.
        let has_directions = |value: &Value| value.is_number() || value.as_str().is_some_and(|text| !text.is_empty());
        match self {
            Self::Change => Some(is_value),
            Self::ChangeBack => Some(has_directions),
            Self::Cut => Some(is_long),
            Self::Double => Some(|value| value.as_array().is_some_and(|items| !items.is_empty())),
            Self::Ascii => Some(|value| value.as_str().is_some_and(|text| !text.is_ascii())),
            Self::Reverse => Some(|value| value.as_array().is_some_and(|items| has_order(items))),
            Self::Remove | Self::Null | Self::Retype | Self::Empty | Self::Wrap | Self::Misdeclare => None,
        }
    }
}

/// A list has another order when it is turned around.
fn has_order(items: &[Value]) -> bool {
    items.iter().ne(items.iter().rev())
}

fn pair_places<T: Clone>(
    pairs: &[(DottedPath, T)],
    message: &Value,
    effect: fn(Vec<(DottedPath, T)>) -> FaultEffect,
) -> Option<Vec<FaultPlace>> {
    if !pairs.iter().any(|(path, _)| path.is_plural()) {
        return None;
    }
    let found =
        pairs.iter().flat_map(|(path, with)| path.places(message).into_iter().map(move |path| (path, with.clone())));
    Some(group(found.map(|pair| (pair, None)), |(path, _)| path, effect))
}

/// Every text below the places.
fn plant_places(pairs: &[(DottedPath, String)], message: &Value) -> Vec<FaultPlace> {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let found = pairs.iter().flat_map(|(path, more)| {
        let below = path.places(message).into_iter().flat_map(|path| path.below(message, true, &is_text));
        below.map(move |(path, value)| ((path, more.clone()), Some(value)))
    });
    group(found, |(path, _)| path, FaultEffect::Plant)
}

fn edit_places(edit: ValueEdit, paths: &[DottedPath], message: &Value) -> Option<Vec<FaultPlace>> {
    let make = |paths| FaultEffect::Edit(edit, paths);
    if let Some(is_wanted) = edit.predicate() {
        // A text is cut as a whole; values are changed in the JSON that a text may hold.
        let into_json = edit != ValueEdit::Cut;
        let found = paths.iter().flat_map(|path| path.places(message));
        let found = found.flat_map(|path| path.below(message, into_json, &is_wanted));
        // The order of lists within items is rarely promised.
        let found = found.filter(|(path, _)| edit != ValueEdit::Reverse || !path.field().contains("[*]"));
        let is_of_value = edit.way().is_some() || edit == ValueEdit::Reverse;
        let found = found.map(|(path, value)| (path, is_of_value.then_some(value)));
        return Some(group(found, |path| path, make));
    }
    if !paths.iter().any(DottedPath::is_plural) {
        return None;
    }
    let found = paths.iter().flat_map(|path| path.places(message)).filter(|path| path.find(message).is_some());
    Some(group(found.map(|path| (path, None)), |path| path, make))
}

fn breach_places(breach: SchemaBreach, paths: Vec<DottedPath>) -> Vec<FaultPlace> {
    group(paths.into_iter().map(|path| (path, None)), |path| path, |paths| FaultEffect::Misshape(breach, paths))
}

/// Each argument of a request, as one that has no effect.
fn argument_places(exchange: &MessageExchange) -> Vec<FaultPlace> {
    let arguments = exchange.params().get("arguments").and_then(Value::as_object);
    let place = |name: &String| FaultPlace {
        entry: None,
        field: name.clone(),
        value: None,
        effects: Some(FaultEffect::Ignore(name.clone())),
    };
    arguments.into_iter().flatten().map(|(name, _)| place(name)).collect()
}

/// Puts what has the same name together: a value in the structured content, the same one in the text, and that of every
/// element of a list.
fn group<T>(
    found: impl Iterator<Item = (T, Option<Value>)>,
    path: impl Fn(&T) -> &DottedPath,
    effect: impl Fn(Vec<T>) -> FaultEffect,
) -> Vec<FaultPlace> {
    type PlaceName = (Option<EntryName>, String);
    type Group<T> = (Vec<T>, Option<Value>);
    let mut groups: IndexMap<PlaceName, Group<T>> = IndexMap::new();
    for (item, value) in found {
        let entry = path(&item).entry().map(|(kind, name)| (kind, name.to_owned()));
        let group = groups.entry((entry, path(&item).field())).or_default();
        group.0.push(item);
        group.1 = group.1.take().or(value);
    }
    let places = groups.into_iter().map(|((entry, field), (items, value))| FaultPlace {
        entry,
        field,
        value,
        effects: Some(effect(items)),
    });
    places.collect()
}

/// Keeps some places of each entry, or of an answer: the outer ones first, and of equals those whose names draw the lowest
/// numbers, so that a place is chosen whatever else was recorded.
fn sample(places: Vec<FaultPlace>) -> Vec<FaultPlace> {
    if places.len() <= MOST_PLACES {
        return places;
    }
    let mut by_entry: IndexMap<Option<EntryName>, Vec<FaultPlace>> = IndexMap::new();
    for place in places {
        by_entry.entry(place.entry.clone()).or_default().push(place);
    }
    for places in by_entry.values_mut().filter(|places| places.len() > MOST_PLACES) {
        places.sort_by_cached_key(|place| (depth(&place.field), text_draw(&place.field)));
        places.truncate(MOST_PLACES);
        places.sort_by(|one, other| one.field.cmp(&other.field));
    }
    by_entry.into_values().flatten().collect()
}

/// The depth of a field: suites look at the outer values of an answer.
fn depth(field: &str) -> usize {
    field.matches(['.', '[']).count()
}
