//! Matchers of one JSON value: one per file and one line in a table below.

mod comparison;
mod contains;
mod elements;
mod equals;
mod exists;
mod format;
mod includes;
mod kind;
mod length;
mod logic;
mod matches;
mod one_of;
mod schema;
mod target;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

use super::mismatch::{GroupVerdict, Mismatch};
use super::table::{self, keys, names};
use super::unbreakable;
use crate::source::grammar::{Key, Need, Object, Shape};
use crate::source::{Diagnostic, Located, Node};

pub(crate) use self::length::{RANGE, Range};
pub(crate) use self::schema::{Complaint, TOO_LONG, complaint as schema_complaint};
pub(crate) use self::target::{PathChecks, at};

/// A line of the tables.
pub(crate) type ValueMatcher = table::Matcher<BuildValueCheck>;

/// Compiles the value of a matcher's key; `None` after a mistake, or where a template stands in the way.
pub(crate) type BuildValueCheck = fn(&Located<String>, &Node, &mut Vec<Diagnostic>) -> Option<ValueCheck>;

/// Matchers that look at the value itself.
static SIMPLE: &[&ValueMatcher] = &[
    &equals::MATCHER,
    &includes::MATCHER,
    &contains::MATCHER,
    &matches::MATCHER,
    &schema::MATCHER,
    &kind::MATCHER,
    &format::MATCHER,
    &length::MATCHER,
    &comparison::GREATER_THAN,
    &comparison::AT_LEAST,
    &comparison::LESS_THAN,
    &comparison::AT_MOST,
    &one_of::MATCHER,
    &exists::MATCHER,
];

/// Matchers that look at the elements of an array.
static ELEMENTS: &[&ValueMatcher] = &[&elements::EACH, &elements::SOME];

/// Matchers that combine others.
static LOGIC: &[&ValueMatcher] = &[&logic::NOT, &logic::ALL, &logic::ANY];

/// The keys of matchers that look at the value itself.
pub(crate) static SIMPLE_KEYS: [Key; SIMPLE.len()] = keys(SIMPLE, Need::Optional, &[]);

/// The same, where one matcher is needed.
pub(crate) static NEEDED_SIMPLE_KEYS: [Key; SIMPLE.len()] = keys(SIMPLE, Need::Alternative, &[]);

/// The same, where a path must be beside them.
pub(crate) static AIMED_SIMPLE_KEYS: [Key; SIMPLE.len()] = keys(SIMPLE, Need::Optional, &["at"]);

/// The keys of matchers that look at the elements of a list.
pub(crate) static ELEMENT_KEYS: [Key; ELEMENTS.len()] = keys(ELEMENTS, Need::Alternative, &[]);

/// The same, where a path must be beside them.
pub(crate) static AIMED_ELEMENT_KEYS: [Key; ELEMENTS.len()] = keys(ELEMENTS, Need::Optional, &["at"]);

/// The keys that combine matchers.
pub(crate) static LOGIC_KEYS: [Key; LOGIC.len()] = keys(LOGIC, Need::Optional, &[]);

/// The same, where one matcher is needed.
pub(crate) static NEEDED_LOGIC_KEYS: [Key; LOGIC.len()] = keys(LOGIC, Need::Alternative, &[]);

/// The names of all of them.
pub(crate) static NAMES: [&str; SIMPLE.len() + ELEMENTS.len() + LOGIC.len()] = names(&[SIMPLE, ELEMENTS, LOGIC]);

/// The names of those that do not look at elements.
pub(crate) static NAMES_WITHOUT_ELEMENTS: [&str; SIMPLE.len() + LOGIC.len()] = names(&[SIMPLE, LOGIC]);

/// The grammar of a mapping of value matchers.
pub(crate) static VALUE: Object = Object {
    name: "a value check",
    doc: "Matchers of one value; all keys must hold.",
    keys: &[&NEEDED_SIMPLE_KEYS, &ELEMENT_KEYS, &NEEDED_LOGIC_KEYS],
};

/// [`VALUE`] as the element of a list.
static VALUE_SHAPE: Shape = Shape::Object(&VALUE);

type CheckValue = dyn Fn(&Json, ValuePlace<'_>, &mut Vec<Mismatch>) + Send + Sync;

/// One compiled matcher.
pub(crate) struct ValueCheck {
    check: Box<CheckValue>,
    absent: Absence,
}

impl ValueCheck {
    /// A check that adds everything that is wrong with a value.
    fn all(check: impl Fn(&Json, ValuePlace<'_>, &mut Vec<Mismatch>) + Send + Sync + 'static) -> Self {
        Self { check: Box::new(check), absent: Absence::Unjudged }
    }

    /// A check with at most one mismatch.
    fn one(check: impl Fn(&Json, ValuePlace<'_>) -> Option<Mismatch> + Send + Sync + 'static) -> Self {
        Self::all(move |value, place, found| found.extend(check(value, place)))
    }

    fn when_absent(self, absent: Absence) -> Self {
        Self { absent, ..self }
    }
}

impl fmt::Debug for ValueCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ValueCheck").field("absent", &self.absent).finish_non_exhaustive()
    }
}

/// The result of a matcher where there is no value at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// As expected.
    Right,
    /// Not as expected.
    Wrong,
    /// It has nothing to look at, which never is a pass.
    Unjudged,
}

/// The position of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValuePlace<'a> {
    /// At a path.
    Path(&'a str),
    /// In a place that has a name rather than a path.
    Named(&'a str),
    /// In an array.
    Element(&'a ValuePlace<'a>, usize),
}

impl ValuePlace<'_> {
    /// The place without backticks.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Path(path) => (*path).to_owned(),
            Self::Named(name) => name.trim_start_matches("the ").to_owned(),
            Self::Element(array, at) => format!("{}[{at}]", array.path()),
        }
    }
}

impl fmt::Display for ValuePlace<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => formatter.write_str(name),
            Self::Path(_) | Self::Element(..) => write!(formatter, "`{}`", self.path()),
        }
    }
}

/// The compiled matchers of one mapping; all must hold.
#[derive(Debug)]
pub(crate) struct Checks(Vec<ValueCheck>);

impl Checks {
    /// Compiles the value matchers among the entries of a mapping.
    pub(crate) fn build(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let matchers = node.entries().iter().filter_map(|(name, value)| Some((find(&name.value)?, name, value)));
        let checks: Vec<_> = matchers.map(|(matcher, name, value)| (matcher.build)(name, value, found)).collect();
        checks.into_iter().collect::<Option<_>>().map(Self)
    }

    /// Compiles a list of alternatives or conjuncts.
    fn build_list(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Vec<Self>> {
        let built: Vec<Option<Self>> = node.items().iter().map(|item| Self::build(item, found)).collect();
        built.into_iter().collect()
    }

    /// Adds what is wrong with a value.
    pub(crate) fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        for check in &self.0 {
            (check.check)(value, place, found);
        }
    }

    fn verdict(&self, value: &Json, place: ValuePlace<'_>) -> GroupVerdict {
        let mut found = Vec::new();
        self.check(value, place, &mut found);
        GroupVerdict::of(found)
    }

    /// The result of the check where there is no value.
    pub(crate) fn absent(&self) -> Absence {
        conjunction(self.0.iter().map(|check| check.absent))
    }
}

fn conjunction(parts: impl Iterator<Item = Absence>) -> Absence {
    parts.fold(Absence::Right, |so_far, part| match (so_far, part) {
        (Absence::Wrong, _) | (_, Absence::Wrong) => Absence::Wrong,
        (Absence::Unjudged, _) | (_, Absence::Unjudged) => Absence::Unjudged,
        (Absence::Right, Absence::Right) => Absence::Right,
    })
}

/// The matcher of that key.
pub(crate) fn find(name: &str) -> Option<&'static ValueMatcher> {
    SIMPLE.iter().chain(ELEMENTS).chain(LOGIC).find(|matcher| matcher.key.name == name).copied()
}

/// Adds the variants that the value matchers of a mapping judge, those within others included; what always holds judges
/// nothing.
pub(crate) fn judges(node: &Node, variants: &mut BTreeSet<&'static str>) {
    for (name, value) in node.entries() {
        let Some(matcher) = find(&name.value).filter(|_| !unbreakable::value_holds(&name.value, value)) else {
            continue;
        };
        let is_of_elements = ELEMENTS.iter().any(|one| one.key.name == name.value);
        if is_of_elements && unbreakable::mapping_holds(value) {
            // Only an empty array can break it.
            variants.extend(LOST);
            continue;
        }
        variants.extend((matcher.judges)(value));
        if SIMPLE.iter().all(|simple| simple.key.name != matcher.key.name) {
            judges(value, variants);
            value.items().iter().for_each(|item| judges(item, variants));
        }
    }
}

/// Variants judged by a matcher that pins down the value itself.
pub(crate) const RESULT: &[&str] = &["TOOL-WRONG-RESULT", "TOOL-RESULT-LOST"];

/// Variants judged by a matcher that only notices a wrong value.
const WRONG: &[&str] = &["TOOL-WRONG-RESULT"];

/// Variants judged by a matcher that only notices a missing part.
const LOST: &[&str] = &["TOOL-RESULT-LOST"];
