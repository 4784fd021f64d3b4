//! `not`: the matchers within must not all hold.

use serde_json::Value as Json;

use super::super::mismatch::{GroupVerdict, Mismatch};
use super::super::show;
use super::{Absence, Checks, VALUE, ValueCheck, ValueMatcher, ValuePlace};
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("not", Shape::Object(&VALUE), "At least one of the nested matchers must fail."),
    judges: |_| &[],
    build,
};

#[derive(Debug)]
struct Not {
    checks: Checks,
    expected: String,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn ValueCheck>> {
    let checks = Checks::build(key, node, found)?;
    Some(Box::new(Not { checks, expected: format!("not {}", show::compact(&node.to_json())), span: key.span }))
}

impl ValueCheck for Not {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        match self.checks.verdict(value, place) {
            GroupVerdict::Holds => {}
            GroupVerdict::Fails(_) => return,
            GroupVerdict::Unjudged(unjudged) => return found.push(unjudged),
        }
        let label = format!("found {}", show::inline(value));
        found.push(
            Mismatch::new("not", self.span, format!("{place} matches an expectation under `not`"), label)
                .with_path(place.path())
                .with_expected(self.expected.clone())
                .with_actual(show::compact(value)),
        );
    }

    fn absent(&self) -> Absence {
        match self.checks.absent() {
            Absence::Right => Absence::Wrong,
            Absence::Wrong => Absence::Right,
            Absence::Unjudged => Absence::Unjudged,
        }
    }
}
