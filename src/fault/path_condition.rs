//! Conditions on values within messages, and on headers.

use regex::Regex;
use serde_json::{Map, Value};

use super::parsed_message::ParsedMessage;
use crate::path::DottedPath;

/// A value that is wanted.
#[derive(Debug, Clone)]
pub(crate) enum WantedValue {
    /// This one.
    Is(Value),
    /// A text that matches.
    Matches(Regex),
}

impl WantedValue {
    pub(crate) fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Is(wanted) => wanted == value,
            Self::Matches(regex) => value.as_str().is_some_and(|text| regex.is_match(text)),
        }
    }
}

impl PartialEq for WantedValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Is(one), Self::Is(other)) => one == other,
            (Self::Matches(one), Self::Matches(other)) => one.as_str() == other.as_str(),
            (Self::Is(_), Self::Matches(_)) | (Self::Matches(_), Self::Is(_)) => false,
        }
    }
}

/// Something at a path, with that value where one is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathCondition {
    pub(crate) place: DottedPath,
    pub(crate) wanted: Option<WantedValue>,
}

impl PathCondition {
    pub(crate) fn is_wanted(&self, found: &Value) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.fits(found))
    }
}

/// Paths at which something is, and paths at which nothing is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PathConditions {
    pub(crate) with: Vec<PathCondition>,
    pub(crate) without: Vec<DottedPath>,
}

impl PathConditions {
    pub(crate) fn hold(&self, value: &Value) -> bool {
        self.with.iter().all(|wanted| wanted.place.any(value, &mut |found| wanted.is_wanted(found)))
            && !self.without.iter().any(|place| place.any(value, &mut |_| true))
    }

    /// The same for a message of the client.
    pub(crate) fn hold_of(&self, parsed: &ParsedMessage<'_>) -> bool {
        let member = |name: &str| parsed.member(name);
        self.with.iter().all(|wanted| wanted.place.any_of(member, &mut |found| wanted.is_wanted(found)))
            && !self.without.iter().any(|place| place.any_of(member, &mut |_| true))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.with.is_empty() && self.without.is_empty()
    }
}

/// A header or a parameter by name, and what it must be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedCondition {
    pub(crate) name: String,
    pub(crate) wanted: Option<WantedValue>,
}

impl NamedCondition {
    pub(crate) fn holds(&self, values: &Map<String, Value>) -> bool {
        values.get(&self.name).is_some_and(|value| self.wanted.as_ref().is_none_or(|wanted| wanted.fits(value)))
    }
}

/// Matches a name against a pattern; `*` stands for any letters.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(before)
        .is_some_and(|tail| (0..=tail.len()).any(|at| tail.is_char_boundary(at) && fits(rest, &tail[at..])))
}
