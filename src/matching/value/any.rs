//! `any`: at least one mapping of matchers holds.

use serde_json::Value as Json;

use super::super::mismatch::{GroupVerdict, Mismatch};
use super::super::show;
use super::{Absence, Checks, VALUE_SHAPE, ValueCheck, ValueMatcher, ValuePlace};
use crate::source::{Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("any", Shape::List(&VALUE_SHAPE), "At least one of these mappings of matchers must hold."),
    judges: |_| &[],
    build: |key, node, found| {
        Some(Box::new(Any { alternatives: Checks::build_list(key, node, found)?, span: key.span }))
    },
};

#[derive(Debug)]
struct Any {
    alternatives: Vec<Checks>,
    span: Span,
}

impl ValueCheck for Any {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let (mut reasons, mut unjudged) = (Vec::new(), None);
        for alternative in &self.alternatives {
            match alternative.verdict(value, place) {
                GroupVerdict::Holds => return,
                GroupVerdict::Fails(mismatch) => reasons.push(mismatch.message),
                GroupVerdict::Unjudged(mismatch) => unjudged = unjudged.or(Some(mismatch)),
            }
        }
        if let Some(unjudged) = unjudged {
            return found.push(unjudged);
        }
        let alternatives = show::count(self.alternatives.len(), "alternative");
        found.push(
            Mismatch::new("any", self.span, format!("{place} matches none of the {alternatives}"), reasons.join("; "))
                .with_path(place.path())
                .with_actual(show::compact(value)),
        );
    }

    fn absent(&self) -> Absence {
        let parts: Vec<Absence> = self.alternatives.iter().map(Checks::absent).collect();
        if parts.contains(&Absence::Right) {
            return Absence::Right;
        }
        if parts.contains(&Absence::Unjudged) { Absence::Unjudged } else { Absence::Wrong }
    }
}
