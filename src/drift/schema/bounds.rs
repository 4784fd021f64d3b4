//! Keywords that allow more or less, the higher or lower they are.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::generate::compare;

/// From here on, every quotient of fractions is a whole number.
const LARGEST: f64 = 1e15;

/// What a change does to the values that are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// There are fewer of them.
    Narrowed,
    /// There are more of them.
    Widened,
    /// Some may have gone and others come.
    Unclear,
}

/// A keyword, and how to tell what a change of it does.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) keyword: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The higher, the fewer values.
    Low,
    /// The lower, the fewer values.
    High,
    /// A multiple of the other allows fewer values.
    Step,
    /// It is a restriction where it is there, and cannot be compared with another.
    There,
}

/// The keywords.
pub(super) static BOUNDS: &[Bound] = &[
    bound("minimum", Kind::Low),
    bound("exclusiveMinimum", Kind::Low),
    bound("minLength", Kind::Low),
    bound("minItems", Kind::Low),
    bound("minProperties", Kind::Low),
    bound("minContains", Kind::Low),
    bound("maximum", Kind::High),
    bound("exclusiveMaximum", Kind::High),
    bound("maxLength", Kind::High),
    bound("maxItems", Kind::High),
    bound("maxProperties", Kind::High),
    bound("maxContains", Kind::High),
    bound("multipleOf", Kind::Step),
    bound("uniqueItems", Kind::There),
    bound("pattern", Kind::There),
    bound("format", Kind::There),
    bound("propertyNames", Kind::There),
];

const fn bound(keyword: &'static str, kind: Kind) -> Bound {
    Bound { keyword, kind }
}

/// What the change of a keyword does.
pub(super) fn effect(bound: &Bound, (old, new): (&Value, &Value)) -> Effect {
    let (was, is) = match (old.get(bound.keyword), new.get(bound.keyword)) {
        (None, _) => return moved(bound, (old, new)).unwrap_or(Effect::Narrowed),
        (_, None) => return moved(bound, (new, old)).map_or(Effect::Widened, other_way),
        (Some(was), Some(is)) => (was, is),
    };
    let (Some(was), Some(is)) = (was.as_number(), is.as_number()) else { return Effect::Unclear };
    match (bound.kind, compare(is, was)) {
        // They are written differently, and too large to be told apart.
        (Kind::Low | Kind::High, Ordering::Equal) => Effect::Unclear,
        (Kind::Low, Ordering::Greater) | (Kind::High, Ordering::Less) => Effect::Narrowed,
        (Kind::Low | Kind::High, _) => Effect::Widened,
        (Kind::Step, _) if is_multiple(is, was) => Effect::Narrowed,
        (Kind::Step, _) if is_multiple(was, is) => Effect::Widened,
        (Kind::Step | Kind::There, _) => Effect::Unclear,
    }
}

fn is_multiple(one: &Number, of: &Number) -> bool {
    if let (Some(one), Some(of)) = (one.as_i128(), of.as_i128()) {
        return of != 0 && one % of == 0;
    }
    let times = one.as_f64().unwrap_or(f64::NAN) / of.as_f64().unwrap_or(f64::NAN);
    times.fract() == 0.0 && times.abs() < LARGEST
}

/// What a limit does that is new where its twin was: `minimum: 1` in place of `exclusiveMinimum: 0`.
fn moved(bound: &Bound, (old, new): (&Value, &Value)) -> Option<Effect> {
    let twin = match bound.keyword {
        "minimum" => "exclusiveMinimum",
        "exclusiveMinimum" => "minimum",
        "maximum" => "exclusiveMaximum",
        "exclusiveMaximum" => "maximum",
        _ => return None,
    };
    // Where the twin stays, this limit is one more.
    if new.get(twin).is_some() {
        return None;
    }
    let order = compare(new.get(bound.keyword)?.as_number()?, old.get(twin)?.as_number()?);
    let is_exclusive = bound.keyword.starts_with("exclusive");
    let narrows = match bound.kind {
        Kind::Low => order.is_gt() || is_exclusive && order.is_ge(),
        Kind::High | Kind::Step | Kind::There => order.is_lt() || is_exclusive && order.is_le(),
    };
    Some(if narrows { Effect::Narrowed } else { Effect::Widened })
}

fn other_way(effect: Effect) -> Effect {
    match effect {
        Effect::Narrowed => Effect::Widened,
        Effect::Widened => Effect::Narrowed,
        Effect::Unclear => Effect::Unclear,
    }
}
