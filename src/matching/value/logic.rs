//! `not`, `all`, `any`: mappings of matchers that must fail, must all hold, or of which one must hold.

use super::super::mismatch::{GroupVerdict, Mismatch, reasons};
use super::super::show;
use super::{Absence, Checks, VALUE, VALUE_SHAPE, ValueCheck, ValueMatcher, conjunction};
use crate::source::{grammar::Shape, grammar::key};

pub(crate) static NOT: ValueMatcher = ValueMatcher {
    key: key("not", Shape::Object(&VALUE), "At least one of the nested matchers must fail."),
    judges: |_| &[],
    build: |key, node, found| {
        let (checks, span) = (Checks::build(node, found)?, key.span);
        let expected = format!("not {}", show::compact(&node.to_json()));
        let absent = match checks.absent() {
            Absence::Right => Absence::Wrong,
            Absence::Wrong => Absence::Right,
            Absence::Unjudged => Absence::Unjudged,
        };
        let check = ValueCheck::one(move |value, place| {
            checks.verdict(value, place).negate(|| {
                let message = format!("{place} matches an expectation under `not`");
                Mismatch::new("not", span, message, format!("found {}", show::inline(value)))
                    .with_expected(expected.clone())
                    .at(place, value)
            })
        });
        Some(check.when_absent(absent))
    },
};

pub(crate) static ALL: ValueMatcher = ValueMatcher {
    key: key("all", Shape::NonEmpty(&Shape::List(&VALUE_SHAPE)), "All of these mappings of matchers must hold."),
    judges: |_| &[],
    build: |_, node, found| {
        let groups = Checks::build_list(node, found)?;
        let absent = conjunction(groups.iter().map(Checks::absent));
        let check = move |value: &_, place: super::ValuePlace<'_>, found: &mut Vec<_>| {
            for checks in &groups {
                checks.check(value, place, found);
            }
        };
        Some(ValueCheck::all(check).when_absent(absent))
    },
};

pub(crate) static ANY: ValueMatcher = ValueMatcher {
    key: key(
        "any",
        Shape::NonEmpty(&Shape::List(&VALUE_SHAPE)),
        "At least one of these mappings of matchers must hold.",
    ),
    judges: |_| &[],
    build: |key, node, found| {
        let (groups, span) = (Checks::build_list(node, found)?, key.span);
        let has = |absence| groups.iter().any(|checks| checks.absent() == absence);
        let absent = [Absence::Right, Absence::Unjudged].into_iter().find(|absence| has(*absence));
        let check = ValueCheck::one(move |value, place| {
            GroupVerdict::none_of(groups.iter().map(|checks| checks.verdict(value, place)), |mismatches| {
                let message = format!("{place} matches none of the {}", show::count(groups.len(), "alternative"));
                Mismatch::new("any", span, message, reasons(&mismatches)).at(place, value)
            })
        });
        Some(check.when_absent(absent.unwrap_or(Absence::Wrong)))
    },
};
