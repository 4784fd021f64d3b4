//! `each`: the matchers hold for every element; an empty array fails, since it proves nothing.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, show};
use super::{Check, Checks, Matcher, Place, VALUE, WRONG};
use crate::source::{Span, shape::Shape, shape::key};

/// How many elements are reported one by one.
const REPORTED: usize = 3;

pub(super) static MATCHER: Matcher = Matcher {
    key: key("each", Shape::Object(&VALUE), "The matchers hold for every element; an empty array fails."),
    judges: |_| WRONG,
    build: |key, node, found| Some(Box::new(Each { checks: Checks::build(key, node, found)?, span: key.span })),
};

#[derive(Debug)]
struct Each {
    checks: Checks,
    span: Span,
}

impl Check for Each {
    fn check(&self, value: &Json, place: Place<'_>, found: &mut Vec<Mismatch>) {
        let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
            found.push(no_elements("each", self.span, value, place));
            return;
        };
        let mut failed = 0;
        for (at, item) in items.iter().enumerate() {
            let mismatches = self.checks.mismatches(item, Place::Element(&place, at));
            if mismatches.is_empty() {
                continue;
            }
            failed += 1;
            if failed <= REPORTED {
                found.extend(mismatches);
            }
        }
        if failed > REPORTED {
            let message = format!("{failed} of {} of {place} fail", show::count(items.len(), "element"));
            let label = format!("the first {REPORTED} are shown");
            found.push(Mismatch::new("each", self.span, message, label).with_path(place.path()));
        }
    }
}

/// Says that there are no elements to look at.
pub(super) fn no_elements(code: &'static str, span: Span, value: &Json, place: Place<'_>) -> Mismatch {
    let (message, label) = if value.is_array() {
        (format!("{place} is an empty array"), "there is no element to check".to_owned())
    } else {
        (format!("{place} is {}, not an array", show::kind(value)), format!("found {}", show::inline(value)))
    };
    Mismatch::new(code, span, message, label).with_path(place.path()).with_actual(show::compact(value))
}
