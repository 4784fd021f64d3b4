//! `each` and `some`: matchers of the elements of an array; an empty one fails, since it proves nothing.

use serde_json::Value as Json;

use super::super::mismatch::{GroupVerdict, Mismatch, MismatchWeight};
use super::super::show;
use super::{Checks, VALUE, ValueCheck, ValueMatcher, ValuePlace, WRONG};
use crate::source::{Span, grammar::Shape, grammar::key};

/// The number of elements that are reported one by one.
const REPORTED: usize = 3;

pub(crate) static EACH: ValueMatcher = ValueMatcher {
    key: key("each", Shape::Object(&VALUE), "The matchers hold for every element; an empty array fails."),
    judges: |_| WRONG,
    build: |key, node, found| {
        let (checks, span) = (Checks::build(node, found)?, key.span);
        Some(ValueCheck::all(move |value, place, found| match elements(value) {
            Some(items) => each(&checks, items, span, place, found),
            None => found.push(no_elements("each", span, value, place)),
        }))
    },
};

pub(crate) static SOME: ValueMatcher = ValueMatcher {
    key: key("some", Shape::Object(&VALUE), "The matchers hold for at least one element."),
    judges: |_| WRONG,
    build: |key, node, found| {
        let (checks, span) = (Checks::build(node, found)?, key.span);
        Some(ValueCheck::one(move |value, place| {
            let Some(items) = elements(value) else { return Some(no_elements("some", span, value, place)) };
            let verdict = |(at, item)| checks.verdict(item, ValuePlace::Element(&place, at));
            GroupVerdict::none_of(items.iter().enumerate().map(verdict), |mismatches| {
                let message = format!("none of the {} of {place} matches", show::count(items.len(), "element"));
                let first = mismatches.into_iter().next().map(|first| first.message).unwrap_or_default();
                Mismatch::new("some", span, message, first).at(place, value)
            })
        }))
    },
};

fn elements(value: &Json) -> Option<&[Json]> {
    value.as_array().map(Vec::as_slice).filter(|items| !items.is_empty())
}

fn each(checks: &Checks, items: &[Json], span: Span, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
    let (mut failed, mut unjudged) = (0, None);
    for (at, item) in items.iter().enumerate() {
        let mut mismatches = Vec::new();
        checks.check(item, ValuePlace::Element(&place, at), &mut mismatches);
        let (broken, unknown): (Vec<_>, Vec<_>) =
            mismatches.into_iter().partition(|mismatch| mismatch.weight == MismatchWeight::Fails);
        unjudged = unjudged.or_else(|| unknown.into_iter().next());
        if broken.is_empty() {
            continue;
        }
        failed += 1;
        if failed <= REPORTED {
            found.extend(broken);
        }
    }
    found.extend(unjudged);
    if failed > REPORTED {
        let message = format!("{failed} of {} of {place} fail", show::count(items.len(), "element"));
        let label = format!("the first {REPORTED} are shown");
        found.push(Mismatch::new("each", span, message, label).with_path(place.path()));
    }
}

/// Says that there are no elements to look at.
fn no_elements(code: &'static str, span: Span, value: &Json, place: ValuePlace<'_>) -> Mismatch {
    let (message, label) = if value.is_array() {
        (format!("{place} is an empty array"), "there is no element to check".to_owned())
    } else {
        (format!("{place} is {}, not an array", show::kind(value)), format!("found {}", show::inline(value)))
    };
    Mismatch::new(code, span, message, label).at(place, value)
}
