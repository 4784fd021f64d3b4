//! The common part of two clean runs: everything that differs between them, such as clocks and identifiers, may be
//! anything.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::check::evidence::items_text;
use crate::path::{DottedPath, PathStep};
use crate::source::beginning_of_json;

/// The members that hold the items which came into a list, and those which left it.
pub(crate) const ADDED: &str = "+";
pub(crate) const REMOVED: &str = "-";

/// A value as far as two runs agree on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StatePattern {
    /// It differs from run to run, or is not always there.
    Varies,
    /// It is always the same.
    Same(Value),
    /// A list that always has so many items.
    Items(Vec<Self>),
    /// An object with these members, and no others.
    Members(BTreeMap<String, Self>),
}

/// A part of a value that a pattern does not allow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PatternDifference {
    /// The way to it: names of members, and numbers of items.
    pub(crate) path: Vec<PathStep>,
    pub(crate) expected: ExpectedPart,
    /// The value there; `None` where there is none.
    pub(crate) actual: Option<Value>,
}

/// The expectation of a pattern for a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExpectedPart {
    /// This value.
    Value(Value),
    /// A list with so many items.
    Length(usize),
    /// Anything, but something.
    Something,
    /// Nothing.
    Nothing,
}

impl PatternDifference {
    /// The measure of how little it says: least where a path leads to it that suites can write, and it is a number of items or a number.
    pub(crate) fn obscurity(&self) -> (bool, usize) {
        let is_structured = self.path.get(1) == Some(&PathStep::Member("structuredContent".to_owned()));
        let kind = match &self.expected {
            ExpectedPart::Length(_) => 0,
            ExpectedPart::Value(Value::Number(_) | Value::Bool(_)) => 1,
            ExpectedPart::Something | ExpectedPart::Nothing => 2,
            ExpectedPart::Value(_) => 3,
        };
        (!is_structured, kind)
    }

    /// The value that is there, in words, of at most so many characters.
    pub(crate) fn actual_text(&self, most: usize) -> String {
        match (&self.expected, &self.actual) {
            (_, None) => "nothing".to_owned(),
            (ExpectedPart::Length(_), Some(Value::Array(values))) => items_text(values.len() as u64),
            (_, Some(value)) => beginning_of_json(value, most),
        }
    }

    /// The place of it, in words.
    pub(crate) fn place(&self) -> String {
        let [PathStep::Member(place), inner @ ..] = self.path.as_slice() else {
            return DottedPath { steps: self.path.clone() }.to_string();
        };
        for (name, moved) in [(ADDED, "the items that came into"), (REMOVED, "the items that left")] {
            if let Some(at) = inner.iter().position(|step| step.name() == Some(name)) {
                return format!("{moved} {} in {place}", of_result(&inner[..at]));
            }
        }
        format!("{} in {place}", of_result(inner))
    }
}

/// A path in an answer, from one in its result.
pub(crate) fn of_result(inner: &[PathStep]) -> DottedPath {
    DottedPath { steps: [&[PathStep::Member("result".to_owned())], inner].concat() }
}

impl ExpectedPart {
    /// In words, of at most so many characters.
    pub(crate) fn text(&self, most: usize) -> String {
        match self {
            Self::Value(value) => beginning_of_json(value, most),
            Self::Length(length) => items_text(*length as u64),
            Self::Something => "something".to_owned(),
            Self::Nothing => "nothing".to_owned(),
        }
    }
}

impl StatePattern {
    /// The common part of two values.
    pub(crate) fn common(one: &Value, other: &Value) -> Self {
        match (one, other) {
            (Value::Array(some), Value::Array(others)) if some.len() == others.len() => {
                Self::Items(some.iter().zip(others).map(|(one, other)| Self::common(one, other)).collect())
            }
            (Value::Object(some), Value::Object(others)) => {
                let names = some.keys().chain(others.keys().filter(|name| !some.contains_key(*name)));
                Self::Members(names.map(|name| (name.clone(), Self::common_member(some, others, name))).collect())
            }
            _ if one == other => Self::Same(one.clone()),
            _ => Self::Varies,
        }
    }

    /// The same with one more value that it describes.
    pub(crate) fn widen(self, value: &Value) -> Self {
        match (self, value) {
            (Self::Same(same), value) => Self::common(&same, value),
            (Self::Items(items), Value::Array(values)) if items.len() == values.len() => {
                Self::Items(items.into_iter().zip(values).map(|(item, value)| item.widen(value)).collect())
            }
            (Self::Members(mut members), Value::Object(values)) => {
                for (name, member) in &mut members {
                    let known = std::mem::replace(member, Self::Varies);
                    *member = values.get(name).map_or(Self::Varies, |value| known.widen(value));
                }
                let new = values.keys().filter(|name| !members.contains_key(*name)).cloned().collect::<Vec<_>>();
                members.extend(new.into_iter().map(|name| (name, Self::Varies)));
                Self::Members(members)
            }
            (Self::Varies | Self::Items(_) | Self::Members(_), _) => Self::Varies,
        }
    }

    fn common_member(some: &Map<String, Value>, others: &Map<String, Value>, name: &str) -> Self {
        match (some.get(name), others.get(name)) {
            (Some(one), Some(other)) => Self::common(one, other),
            _ => Self::Varies,
        }
    }

    /// A value is one of those that it describes.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        self.differences(value).is_empty()
    }

    /// The parts of a value that it does not allow, in order.
    pub(crate) fn differences(&self, value: &Value) -> Vec<PatternDifference> {
        let mut found = Vec::new();
        self.compare(value, &mut Vec::new(), &mut found);
        found
    }

    fn compare(&self, value: &Value, path: &mut Vec<PathStep>, found: &mut Vec<PatternDifference>) {
        let mut differs = |path: &[PathStep], expected: ExpectedPart, actual: Option<&Value>| {
            found.push(PatternDifference { path: path.to_vec(), expected, actual: actual.cloned() });
        };
        match (self, value) {
            (Self::Varies, _) => {}
            (Self::Same(same), _) if same == value => {}
            (Self::Items(items), Value::Array(values)) if items.len() == values.len() => {
                for (at, (item, value)) in items.iter().zip(values).enumerate() {
                    item.compare_below(PathStep::item(at), value, path, found);
                }
            }
            (Self::Items(items), Value::Array(_)) => differs(path, ExpectedPart::Length(items.len()), Some(value)),
            (Self::Members(members), Value::Object(values)) => {
                let below = |name: &String| [path.as_slice(), &[PathStep::Member(name.clone())]].concat();
                let missing = members.iter().filter(|(name, one)| **one != Self::Varies && !values.contains_key(*name));
                missing.for_each(|(name, _)| differs(&below(name), ExpectedPart::Something, None));
                let added = values.iter().filter(|(name, _)| !members.contains_key(*name));
                added.for_each(|(name, value)| differs(&below(name), ExpectedPart::Nothing, Some(value)));
                for (name, member) in members {
                    if let Some(value) = values.get(name) {
                        member.compare_below(PathStep::Member(name.clone()), value, path, found);
                    }
                }
            }
            (Self::Same(_) | Self::Items(_) | Self::Members(_), _) => {
                differs(path, self.whole().map_or(ExpectedPart::Something, ExpectedPart::Value), Some(value));
            }
        }
    }

    fn compare_below(
        &self,
        part: PathStep,
        value: &Value,
        path: &mut Vec<PathStep>,
        found: &mut Vec<PatternDifference>,
    ) {
        path.push(part);
        self.compare(value, path, found);
        path.pop();
    }

    /// The pattern of a part.
    pub(crate) fn at(&self, path: &[PathStep]) -> Option<&Self> {
        path.iter().try_fold(self, |pattern, part| match (pattern, part) {
            (Self::Members(members), PathStep::Member(name)) => members.get(name),
            (Self::Items(items), PathStep::Index(at)) => items.get(usize::try_from(*at).ok()?),
            _ => None,
        })
    }

    /// The number, or the number of items.
    pub(crate) fn size(&self) -> Option<i64> {
        match self {
            Self::Items(items) => i64::try_from(items.len()).ok(),
            Self::Same(value) => value.as_i64(),
            Self::Varies | Self::Members(_) => None,
        }
    }

    /// The only value that it describes; `None` where it describes several.
    pub(crate) fn whole(&self) -> Option<Value> {
        match self {
            Self::Varies => None,
            Self::Same(value) => Some(value.clone()),
            Self::Items(items) => items.iter().map(Self::whole).collect::<Option<Vec<_>>>().map(Value::Array),
            Self::Members(members) => {
                let members = members.iter().map(|(name, member)| Some((name.clone(), member.whole()?)));
                members.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pattern() -> StatePattern {
        StatePattern::common(
            &json!({"users": [{"id": "a", "name": "Ann"}], "at": 1}),
            &json!({"users": [{"id": "b", "name": "Ann"}], "at": 2}),
        )
    }

    #[test]
    fn what_differs_between_runs_may_be_anything() {
        assert!(pattern().matches(&json!({"users": [{"id": "c", "name": "Ann"}], "at": "noon"})));
        assert!(pattern().matches(&json!({"users": [{"id": "c", "name": "Ann"}]})));
        assert!(!pattern().matches(&json!({"users": [], "at": 1})));
        assert!(!pattern().matches(&json!({"users": [{"id": "a", "name": "Ann"}], "more": 1})));
    }

    #[test]
    fn a_pattern_grows_with_what_it_describes() {
        let wider = pattern().widen(&json!({"users": [{"id": "a", "name": "Bob"}], "at": 1, "more": true}));
        assert!(wider.matches(&json!({"users": [{"id": "c", "name": "Carl"}]})));
        assert!(!wider.matches(&json!({"users": [], "at": 1})));
        assert!(pattern().widen(&json!([])).matches(&json!(1)));
    }

    #[test]
    fn differences_say_where_and_what() {
        let check = |value: Value, path: &[PathStep], expected: ExpectedPart| {
            let found = pattern().differences(&value).remove(0);
            assert_eq!((found.path.as_slice(), found.expected), (path, expected), "{value}");
        };
        let member = |name: &str| PathStep::Member(name.to_owned());
        let ann = json!({"id": "c", "name": "Ann"});
        check(json!({"users": [ann, ann]}), &[member("users")], ExpectedPart::Length(1));
        check(
            json!({"users": [{"id": "c", "name": "Bob"}]}),
            &[member("users"), PathStep::item(0), member("name")],
            ExpectedPart::Value(json!("Ann")),
        );
        check(
            json!({"users": [{"id": "c"}]}),
            &[member("users"), PathStep::item(0), member("name")],
            ExpectedPart::Something,
        );
        check(json!({"users": [ann], "more": 1}), &[member("more")], ExpectedPart::Nothing);
    }

    #[test]
    fn values_without_differences_are_whole() {
        assert_eq!(
            StatePattern::common(&json!([1, {"a": 2}]), &json!([1, {"a": 2}])).whole(),
            Some(json!([1, {"a": 2}]))
        );
        assert_eq!(pattern().whole(), None);
    }

    fn member(name: &str) -> PathStep {
        PathStep::Member(name.to_owned())
    }

    #[test]
    fn a_value_of_another_kind_is_a_difference() {
        let whole =
            StatePattern::common(&json!({"users": ["ann"], "count": 1}), &json!({"users": ["ann"], "count": 1}));
        for (value, path, expected) in [
            (json!({"users": "none", "count": 1}), vec![member("users")], ExpectedPart::Value(json!(["ann"]))),
            (json!({"users": ["ann"], "count": "1"}), vec![member("count")], ExpectedPart::Value(json!(1))),
            (json!({"users": null, "count": 1}), vec![member("users")], ExpectedPart::Value(json!(["ann"]))),
            (json!([]), vec![], ExpectedPart::Value(json!({"users": ["ann"], "count": 1}))),
        ] {
            let found = whole.differences(&value);
            let [found] = found.as_slice() else { panic!("{value}: {found:?}") };
            assert_eq!((&found.path, &found.expected), (&path, &expected), "{value}");
        }
        // What is no list any more says only that there was one, where its items vary.
        let varies = StatePattern::common(&json!([1]), &json!([2]));
        assert_eq!(varies.differences(&json!("none"))[0].expected, ExpectedPart::Something);
    }

    #[test]
    fn runs_agree_on_less_the_more_of_them_there_are() {
        let first = json!({"users": [{"id": 1, "name": "Ann"}], "tags": ["a"]});
        for (other, then, is_allowed) in [
            (first.clone(), first.clone(), true),
            (first.clone(), json!({"users": [{"id": 2, "name": "Ann"}], "tags": ["a"]}), false),
            // An id that was drawn.
            (
                json!({"users": [{"id": 2, "name": "Ann"}], "tags": ["a"]}),
                json!({"users": [{"id": 3, "name": "Ann"}], "tags": ["a"]}),
                true,
            ),
            (
                json!({"users": [{"id": 2, "name": "Ann"}], "tags": ["a"]}),
                json!({"users": [{"id": 3, "name": "Bob"}], "tags": ["a"]}),
                false,
            ),
            // A list whose length differs may be anything, and so may a member that is not always there.
            (json!({"users": [], "tags": ["a"]}), json!({"users": "none", "tags": ["a"]}), true),
            (json!({"users": [], "tags": ["a"]}), json!({"users": [], "tags": ["b"]}), false),
            (json!({"tags": ["a"]}), json!({"users": [7], "tags": ["a"]}), true),
        ] {
            let pattern = StatePattern::Same(first.clone()).widen(&other);
            assert!(pattern.matches(&first) && pattern.matches(&other), "{other}");
            assert_eq!(pattern.matches(&then), is_allowed, "{other} {then}");
        }
    }

    #[test]
    fn the_difference_that_says_most_is_one_that_suites_can_write() {
        let difference = |answer: &str, expected: ExpectedPart| PatternDifference {
            path: vec![member("the answer of `list`"), member(answer), member("users")],
            expected,
            actual: None,
        };
        let (data, text) = ("structuredContent", "content");
        let best_first = [
            difference(data, ExpectedPart::Length(1)),
            difference(data, ExpectedPart::Value(json!(3))),
            difference(data, ExpectedPart::Nothing),
            difference(data, ExpectedPart::Value(json!("Ann"))),
            difference(text, ExpectedPart::Length(1)),
            difference(text, ExpectedPart::Something),
        ];
        assert!(best_first.is_sorted_by_key(PatternDifference::obscurity));
        let all: std::collections::BTreeSet<_> = best_first.iter().map(PatternDifference::obscurity).collect();
        assert_eq!(all.len(), best_first.len());
    }

    #[test]
    fn a_difference_is_told_in_words() {
        let list = || member("the answer of `list`");
        let (users, result) = (member("users"), "result.structuredContent");
        let path = |steps: &[PathStep]| [&[list(), member("structuredContent")], steps].concat();
        for (path, expected, actual, place, words) in [
            (
                path(std::slice::from_ref(&users)),
                ExpectedPart::Length(1),
                Some(json!(["ann", "ann"])),
                format!("{result}.users in the answer of `list`"),
                ["1 item", "2 items"],
            ),
            (
                path(&[users.clone(), PathStep::item(0), member("name")]),
                ExpectedPart::Value(json!("Ann")),
                None,
                format!("{result}.users[0].name in the answer of `list`"),
                ["\"Ann\"", "nothing"],
            ),
            (
                path(&[users.clone(), member(ADDED)]),
                ExpectedPart::Length(1),
                Some(json!([])),
                format!("the items that came into {result}.users in the answer of `list`"),
                ["1 item", "0 items"],
            ),
            (
                path(&[users, member(REMOVED), PathStep::item(0)]),
                ExpectedPart::Nothing,
                Some(json!("bob")),
                format!("the items that left {result}.users in the answer of `list`"),
                ["nothing", "\"bob\""],
            ),
            (
                vec![list()],
                ExpectedPart::Something,
                None,
                "result in the answer of `list`".to_owned(),
                ["something", "nothing"],
            ),
        ] {
            let difference = PatternDifference { path, expected, actual };
            assert_eq!(difference.place(), place);
            assert_eq!([difference.expected.text(99), difference.actual_text(99)], words, "{place}");
        }
    }

    #[test]
    fn sizes_are_those_of_lists_and_whole_numbers() {
        let pattern = StatePattern::common(
            &json!({"list": [1, 2], "count": 4, "half": 0.5, "name": "Ann", "at": 1}),
            &json!({"list": [1, 3], "count": 4, "half": 0.5, "name": "Ann", "at": 2}),
        );
        for (name, expected) in
            [("list", Some(2)), ("count", Some(4)), ("half", None), ("name", None), ("at", None), ("none", None)]
        {
            assert_eq!(pattern.at(&[member(name)]).and_then(StatePattern::size), expected, "{name}");
        }
    }
}
