//! `all`: every mapping of matchers holds.

use serde_json::Value as Json;

use super::super::mismatch::Mismatch;
use super::{Absence, Checks, VALUE_SHAPE, ValueCheck, ValueMatcher, ValuePlace, conjunction};
use crate::source::{grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("all", Shape::List(&VALUE_SHAPE), "All of these mappings of matchers must hold."),
    judges: |_| &[],
    build: |key, node, found| Some(Box::new(All(Checks::build_list(key, node, found)?))),
};

#[derive(Debug)]
struct All(Vec<Checks>);

impl ValueCheck for All {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        for checks in &self.0 {
            checks.check(value, place, found);
        }
    }

    fn absent(&self) -> Absence {
        conjunction(self.0.iter().map(Checks::absent))
    }
}
