//! `some`: the matchers hold for at least one element.

use serde_json::Value as Json;

use super::super::mismatch::{Mismatch, Verdict};
use super::super::show;
use super::each::no_elements;
use super::{Check, Checks, Matcher, Place, VALUE, WRONG};
use crate::source::{Span, shape::Shape, shape::key};

pub(super) static MATCHER: Matcher = Matcher {
    key: key("some", Shape::Object(&VALUE), "The matchers hold for at least one element."),
    judges: |_| WRONG,
    build: |key, node, found| Some(Box::new(AtLeastOne { checks: Checks::build(key, node, found)?, span: key.span })),
};

#[derive(Debug)]
struct AtLeastOne {
    checks: Checks,
    span: Span,
}

impl Check for AtLeastOne {
    fn check(&self, value: &Json, place: Place<'_>, found: &mut Vec<Mismatch>) {
        let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
            found.push(no_elements("some", self.span, value, place));
            return;
        };
        let (mut first, mut unjudged) = (None, None);
        for (at, item) in items.iter().enumerate() {
            match self.checks.verdict(item, Place::Element(&place, at)) {
                Verdict::Holds => return,
                Verdict::Fails(mismatch) => first = first.or(Some(mismatch.message)),
                Verdict::Unjudged(mismatch) => unjudged = unjudged.or(Some(mismatch)),
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
