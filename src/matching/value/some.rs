//! `some`: the matchers hold for at least one element.

use serde_json::Value as Json;

use super::super::mismatch::{GroupVerdict, Mismatch};
use super::super::show;
use super::each::no_elements;
use super::{Checks, VALUE, ValueCheck, ValueMatcher, ValuePlace, WRONG};
use crate::source::{Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("some", Shape::Object(&VALUE), "The matchers hold for at least one element."),
    judges: |_| WRONG,
    build: |key, node, found| Some(Box::new(AtLeastOne { checks: Checks::build(key, node, found)?, span: key.span })),
};

#[derive(Debug)]
struct AtLeastOne {
    checks: Checks,
    span: Span,
}

impl ValueCheck for AtLeastOne {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
            found.push(no_elements("some", self.span, value, place));
            return;
        };
        let (mut first, mut unjudged) = (None, None);
        for (at, item) in items.iter().enumerate() {
            match self.checks.verdict(item, ValuePlace::Element(&place, at)) {
                GroupVerdict::Holds => return,
                GroupVerdict::Fails(mismatch) => first = first.or(Some(mismatch.message)),
                GroupVerdict::Unjudged(mismatch) => unjudged = unjudged.or(Some(mismatch)),
            }
        }
        if let Some(unjudged) = unjudged {
            return found.push(unjudged);
        }
        let message = format!("none of the {} of {place} matches", show::count(items.len(), "element"));
        found.push(
            Mismatch::new("some", self.span, message, first.unwrap_or_default())
                .with_path(place.path())
                .with_actual(show::compact(value)),
        );
    }
}
