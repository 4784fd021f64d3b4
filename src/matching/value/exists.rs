//! `exists`: whether there is anything at the path, `null` included.

use super::super::{mismatch::Mismatch, read, show};
use super::{Absence, LOST, ValueCheck, ValueMatcher};
use crate::source::grammar::key;

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key("exists", read::FLAG, "Whether the path exists; a `null` value exists."),
    judges: |_| LOST,
    build: |_, node, _| {
        let (expected, span) = (node.flag()?, node.span);
        let check = ValueCheck::one(move |value, place| {
            let label = || format!("found {}", show::inline(value));
            let mismatch = || Mismatch::new("exists", span, format!("{place} exists, but should be absent"), label());
            (!expected).then(|| mismatch().at(place, value))
        });
        Some(check.when_absent(if expected { Absence::Wrong } else { Absence::Right }))
    },
};
