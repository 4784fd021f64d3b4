//! `greater_than`, `at_least`, `less_than`, `at_most`: where a number lies.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{ValueCheck, ValueMatcher, WRONG};
use crate::schema::compare;
use crate::source::{Node, Value, grammar::key};

pub(crate) static GREATER_THAN: ValueMatcher = ValueMatcher {
    key: key("greater_than", read::NUMBER, "The number is greater than this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &GREATER),
};

pub(crate) static AT_LEAST: ValueMatcher = ValueMatcher {
    key: key("at_least", read::NUMBER, "The number is greater than or equal to this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &GREATER_OR_EQUAL),
};

pub(crate) static LESS_THAN: ValueMatcher = ValueMatcher {
    key: key("less_than", read::NUMBER, "The number is less than this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &LESS),
};

pub(crate) static AT_MOST: ValueMatcher = ValueMatcher {
    key: key("at_most", read::NUMBER, "The number is less than or equal to this one."),
    judges: |_| WRONG,
    build: |_, node, _| build(node, &LESS_OR_EQUAL),
};

/// One of the four ways to compare.
struct Relation {
    code: &'static str,
    words: &'static str,
    sign: &'static str,
    holds: fn(Ordering) -> bool,
}

static GREATER: Relation = Relation { code: "greater-than", words: "greater than", sign: ">", holds: Ordering::is_gt };
static GREATER_OR_EQUAL: Relation =
    Relation { code: "at-least", words: "at least", sign: ">=", holds: Ordering::is_ge };
static LESS: Relation = Relation { code: "less-than", words: "less than", sign: "<", holds: Ordering::is_lt };
static LESS_OR_EQUAL: Relation = Relation { code: "at-most", words: "at most", sign: "<=", holds: Ordering::is_le };

fn build(node: &Node, relation: &'static Relation) -> Option<ValueCheck> {
    let Relation { code, words, sign, holds } = relation;
    let Value::Number(limit) = &node.value else { return None };
    let (limit, span) = (limit.clone(), node.span);
    Some(ValueCheck::one(move |value, place| {
        let message = match value {
            Json::Number(number) if holds(compare(number, &limit)) => return None,
            Json::Number(number) => format!("{place} is {number}, not {words} {limit}"),
            Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                format!("{place} is {}, so it cannot be {words} {limit}", show::kind(value))
            }
        };
        let mismatch = Mismatch::new(code, span, message, format!("found {}", show::inline(value)));
        Some(mismatch.with_expected(format!("{sign} {limit}")).at(place, value))
    }))
}
