//! `format`: a text, or a schema, has the form that a standard gives it.

use super::super::{mismatch::Mismatch, show};
use super::{LOST, ValueCheck, ValueMatcher};
use crate::source::{grammar::Shape, grammar::key};
use crate::wire::format::StringFormat;

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "format",
        Shape::Either(&[Shape::Template, Shape::Choice(&StringFormat::NAMES)]),
        "The form that the value has: `base64` with padding (RFC 4648), `date-time` (RFC 3339), `json-schema`, \
         `media-type` (RFC 9110), `uri` (RFC 3986), `uri-template` (RFC 6570) or `visible-ascii`.",
    ),
    judges: |_| LOST,
    build: |_, node, _| {
        let (format, span) = (StringFormat::parse(node.text()?)?, node.span);
        Some(ValueCheck::one(move |value, place| {
            let noun = format.noun();
            let label = || format!("found {}", show::inline(value));
            let mismatch = || Mismatch::new("format", span, format!("{place} is not {noun}"), label());
            match format.fits(value) {
                Ok(true) => None,
                Ok(false) => Some(mismatch().with_expected(noun).at(place, value)),
                Err(reason) => {
                    let message = format!("cannot tell whether {place} is {noun}");
                    Some(Mismatch::inconclusive(span, message, reason).with_path(place.path()))
                }
            }
        }))
    },
};
