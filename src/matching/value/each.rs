//! `each`: the matchers hold for every element; an empty array fails, since it proves nothing.

use serde_json::Value as Json;

use super::super::mismatch::{Mismatch, MismatchWeight};
use super::super::show;
use super::{Checks, VALUE, ValueCheck, ValueMatcher, ValuePlace, WRONG};
use crate::source::{Span, grammar::Shape, grammar::key};

/// How many elements are reported one by one.
const REPORTED: usize = 3;

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("each", Shape::Object(&VALUE), "The matchers hold for every element; an empty array fails."),
    judges: |_| WRONG,
    build: |key, node, found| Some(Box::new(Each { checks: Checks::build(key, node, found)?, span: key.span })),
};

#[derive(Debug)]
struct Each {
    checks: Checks,
    span: Span,
}

impl ValueCheck for Each {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
            found.push(no_elements("each", self.span, value, place));
            return;
        };
        let (mut failed, mut unjudged) = (0, None);
        for (at, item) in items.iter().enumerate() {
            let mut mismatches = Vec::new();
            self.checks.check(item, ValuePlace::Element(&place, at), &mut mismatches);
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
            found.push(Mismatch::new("each", self.span, message, label).with_path(place.path()));
        }
    }
}

/// Says that there are no elements to look at.
pub(super) fn no_elements(code: &'static str, span: Span, value: &Json, place: ValuePlace<'_>) -> Mismatch {
    let (message, label) = if value.is_array() {
        (format!("{place} is an empty array"), "there is no element to check".to_owned())
    } else {
        (format!("{place} is {}, not an array", show::kind(value)), format!("found {}", show::inline(value)))
    };
    Mismatch::new(code, span, message, label).with_path(place.path()).with_actual(show::compact(value))
}
