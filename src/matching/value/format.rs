//! `format`: a text, or a schema, has the form that a standard gives it.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, show};
use super::{LOST, ValueCheck, ValueMatcher, ValuePlace};
use crate::source::{Located, Node, Span, grammar::Shape, grammar::key};
use crate::wire::format::StringFormat;

pub(super) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "format",
        Shape::Either(&[Shape::Template, Shape::Choice(&StringFormat::NAMES)]),
        "The form that the value has: `base64` with padding (RFC 4648), `date-time` (RFC 3339), `json-schema`, \
         `media-type` (RFC 9110), `uri` (RFC 3986), `uri-template` (RFC 6570) or `visible-ascii`.",
    ),
    judges: |_| LOST,
    build: |_: &Located<String>, node: &Node, _| {
        Some(Box::new(Formed { format: StringFormat::parse(node.text()?)?, span: node.span }))
    },
};

#[derive(Debug)]
struct Formed {
    format: StringFormat,
    span: Span,
}

impl ValueCheck for Formed {
    fn check(&self, value: &Json, place: ValuePlace<'_>, found: &mut Vec<Mismatch>) {
        let noun = self.format.noun();
        match self.format.fits(value) {
            Ok(true) => return,
            Ok(false) => {}
            Err(reason) => {
                let message = format!("cannot tell whether {place} is {noun}");
                return found.push(Mismatch::unjudged(self.span, message, reason).with_path(place.path()));
            }
        }
        found.push(
            Mismatch::new(
                "format",
                self.span,
                format!("{place} is not {noun}"),
                format!("found {}", show::inline(value)),
            )
            .with_path(place.path())
            .with_expected(noun)
            .with_actual(show::compact(value)),
        );
    }
}
