//! Conditions on values within messages, for faults and for flaws of the demo server.

use regex::Regex;
use serde_json::Value;

use super::message_path::MessagePath;

/// A value that is wanted.
#[derive(Debug, Clone)]
pub enum WantedValue {
    /// This one.
    Is(Value),
    /// A text that matches.
    Matches(Regex),
}

impl WantedValue {
    /// Whether a value is the wanted one.
    pub fn fits(&self, value: &Value) -> bool {
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
pub struct PathCondition {
    pub(super) place: MessagePath,
    pub(super) wanted: Option<WantedValue>,
}

impl PathCondition {
    pub(super) fn is_wanted(&self, found: &Value) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.fits(found))
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        self.place.any(value, &mut |found| self.is_wanted(found))
    }
}

/// Paths at which something is, and paths at which nothing is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PathConditions {
    pub(super) with: Vec<PathCondition>,
    pub(super) without: Vec<MessagePath>,
}

impl PathConditions {
    /// Whether a value is such.
    pub fn hold(&self, value: &Value) -> bool {
        self.with.iter().all(|wanted| wanted.holds(value))
            && !self.without.iter().any(|place| place.any(value, &mut |_| true))
    }

    /// Whether every value is such.
    pub fn is_empty(&self) -> bool {
        self.with.is_empty() && self.without.is_empty()
    }
}

/// Whether a name is one that a pattern means; `*` stands for any letters.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(before)
        .is_some_and(|tail| (0..=tail.len()).any(|at| tail.is_char_boundary(at) && fits(rest, &tail[at..])))
}
