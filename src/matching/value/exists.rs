//! `exists`: whether there is anything at the path, `null` included.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{Absence, LOST, ValueCheck, ValueMatcher, ValuePlace};
use crate::source::{Span, grammar::key};

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("exists", read::FLAG, "Whether the path exists; a `null` value exists."),
    judges: |_| LOST,
    build: |_, node, _| Some(Box::new(Exists { expected: node.flag()?, span: node.span })),
};

#[derive(Debug)]
struct Exists {
    expected: bool,
    span: Span,
}

impl ValueCheck for Exists {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        if self.expected {
            return;
        }
        let label = format!("found {}", show::inline(value));
        found.push(
            Mismatch::new("exists", self.span, format!("{place} exists, but must not"), label)
                .with_path(place.path())
                .with_actual(show::compact(value)),
        );
    }

    fn absent(&self) -> Absence {
        if self.expected { Absence::Wrong } else { Absence::Right }
    }
}
