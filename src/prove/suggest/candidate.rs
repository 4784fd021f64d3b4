//! An expectation that may tell a changed answer from the recorded one, and everything that it is made from.

use serde_json::{Map, Value};

use super::Survivor;
use super::answer::ExchangeAnswer;
use super::step::{KnownValue, fill_names, has_secret};
use crate::reproduce::lasts;
use crate::wire::ListKind;

/// An expectation, and what it is about.
#[derive(Debug, Clone)]
pub(crate) struct CandidateExpectation {
    /// The matcher that must hold.
    pub(crate) item: Value,
    /// Its subject in a few words.
    pub(crate) about: String,
    /// The thing that the server could do otherwise: `answer with another …`.
    pub(crate) could: String,
    /// It pins a recorded value that may depend on earlier requests.
    pub(crate) may_depend_on_state: bool,
}

/// Keys of matchers whose value is what was recorded.
const PINNING: [&str; 6] = ["equals", "contains", "includes", "some", "length", "message"];

/// The expectation pins the recorded answer, rather than one that any healthy server gives.
fn pins(item: &Value) -> bool {
    match item {
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_bound = name == "length" && value.is_object();
            PINNING.contains(&name.as_str()) && !is_bound || pins(value)
        }),
        Value::Array(items) => items.iter().any(pins),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The recorded values in a matcher.
fn pinned(item: &Value) -> Vec<&Value> {
    match item {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| if PINNING.contains(&name.as_str()) { vec![value] } else { pinned(value) })
            .collect(),
        Value::Array(items) => items.iter().flat_map(pinned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

impl CandidateExpectation {
    /// It pins the recorded answer, so that a person has to confirm it.
    pub(crate) fn is_pinned(&self) -> bool {
        pins(&self.item)
    }

    /// Nothing that it pins is about this machine or this time, nor how fast this machine was.
    pub(crate) fn lasts(&self) -> bool {
        if self.item.get("latency").is_some() {
            return false;
        }
        let name = self.item["at"].as_str().and_then(|path| path.rsplit('.').next()).unwrap_or_default();
        let named = |value: &Value| Map::from_iter([(name.to_owned(), value.clone())]).into();
        pinned(&self.item).into_iter().all(|value| lasts(&named(value)))
    }

    pub(crate) fn new(item: Value, about: impl Into<String>, could: impl Into<String>) -> Self {
        Self { item, about: about.into(), could: could.into(), may_depend_on_state: false }
    }
}

/// A survivor with what a test would hear.
#[derive(Debug)]
pub(crate) struct SuggestionContext<'a> {
    pub(crate) survivor: &'a Survivor<'a>,
    pub(crate) healthy: &'a ExchangeAnswer,
    pub(crate) changed: &'a ExchangeAnswer,
    /// The answers of the healthy server to the same elsewhere.
    pub(crate) others: &'a [ExchangeAnswer],
    /// Values that earlier steps find out.
    pub(crate) known: &'a [KnownValue],
    /// One of the requests may have changed the data of the server: a repetition changes them again.
    pub(crate) writes: bool,
    /// The list that a list step asks for, with all its pages.
    pub(crate) list: Option<ListKind>,
}

impl SuggestionContext<'_> {
    /// A recorded value as an expectation writes it; `None` where it holds a secret.
    pub(crate) fn pin(&self, value: &Value) -> Option<Value> {
        if has_secret(value) { None } else { fill_names(value, self.known) }
    }

    pub(crate) fn is_call(&self) -> bool {
        self.survivor.exchange.tool().is_some()
    }
}
