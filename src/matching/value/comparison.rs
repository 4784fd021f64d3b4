//! `greater_than`, `at_least`, `less_than`, `at_most`: where a number lies.

use std::cmp::Ordering;

use serde_json::{Number, Value as Json};

use super::super::{mismatch::Mismatch, read, show};
use super::{ValueCheck, ValueMatcher, ValuePlace, WRONG};
use crate::schema::compare;
use crate::source::{Node, Span, Value, grammar::key};

pub(super) static GREATER_THAN: ValueMatcher = ValueMatcher {
    key: key("greater_than", read::NUMBER, "The number is greater than this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &GREATER),
};

pub(super) static AT_LEAST: ValueMatcher = ValueMatcher {
    key: key("at_least", read::NUMBER, "The number is greater than or equal to this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &GREATER_OR_EQUAL),
};

pub(super) static LESS_THAN: ValueMatcher = ValueMatcher {
    key: key("less_than", read::NUMBER, "The number is less than this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &LESS),
};

pub(super) static AT_MOST: ValueMatcher = ValueMatcher {
    key: key("at_most", read::NUMBER, "The number is less than or equal to this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &LESS_OR_EQUAL),
};

/// One of the four ways to compare.
#[derive(Debug)]
struct Relation {
    code: &'static str,
    words: &'static str,
    sign: &'static str,
    holds: fn(Ordering) -> bool,
}

static GREATER: Relation =
    Relation { code: "greater-than", words: "greater than", sign: ">", holds: |order| order == Ordering::Greater };
static GREATER_OR_EQUAL: Relation =
    Relation { code: "at-least", words: "at least", sign: ">=", holds: |order| order != Ordering::Less };
static LESS: Relation =
    Relation { code: "less-than", words: "less than", sign: "<", holds: |order| order == Ordering::Less };
static LESS_OR_EQUAL: Relation =
    Relation { code: "at-most", words: "at most", sign: "<=", holds: |order| order != Ordering::Greater };

#[derive(Debug)]
struct NumberComparison {
    relation: &'static Relation,
    limit: Number,
    span: Span,
}

fn build(node: &Node, relation: &'static Relation) -> Option<Box<dyn ValueCheck>> {
    let Value::Number(limit) = &node.value else { return None };
    Some(Box::new(NumberComparison { relation, limit: limit.clone(), span: node.span }))
}

impl ValueCheck for NumberComparison {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let Relation { code, words, sign, holds } = self.relation;
        let message = if let Json::Number(number) = value {
            if holds(compare(number, &self.limit)) {
                return;
            }
            format!("{place} is {number}, not {words} {}", self.limit)
        } else {
            format!("{place} is {}, so it cannot be {words} {}", show::kind(value), self.limit)
        };
        found.push(
            Mismatch::new(code, self.span, message, format!("found {}", show::inline(value)))
                .with_path(place.path())
                .with_expected(format!("{sign} {}", self.limit))
                .with_actual(show::compact(value)),
        );
    }
}
