//! Keywords that allow more or less, the higher or lower they are.

use std::cmp::Ordering;

use serde_json::Number;

use crate::drift::Versions;
use crate::schema::compare;

/// From here on, every quotient of fractions is a whole number.
const LARGEST: f64 = 1e15;

/// The effect of a change on the set of valid values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaEffect {
    /// There are fewer of them.
    Narrowed,
    /// There are more of them.
    Widened,
    /// Some may have gone and others come.
    Unclear,
}

/// A keyword, and how to tell what a change of it does.
#[derive(Debug)]
pub(super) struct BoundKeyword {
    pub(super) keyword: &'static str,
    kind: BoundKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundKind {
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
pub(super) static BOUNDS: &[BoundKeyword] = &[
    bound("minimum", BoundKind::Low),
    bound("exclusiveMinimum", BoundKind::Low),
    bound("minLength", BoundKind::Low),
    bound("minItems", BoundKind::Low),
    bound("minProperties", BoundKind::Low),
    bound("minContains", BoundKind::Low),
    bound("maximum", BoundKind::High),
    bound("exclusiveMaximum", BoundKind::High),
    bound("maxLength", BoundKind::High),
    bound("maxItems", BoundKind::High),
    bound("maxProperties", BoundKind::High),
    bound("maxContains", BoundKind::High),
    bound("multipleOf", BoundKind::Step),
    bound("uniqueItems", BoundKind::There),
    bound("pattern", BoundKind::There),
    bound("format", BoundKind::There),
    bound("propertyNames", BoundKind::There),
];

const fn bound(keyword: &'static str, kind: BoundKind) -> BoundKeyword {
    BoundKeyword { keyword, kind }
}

/// The effect of a changed keyword.
pub(super) fn effect(bound: &BoundKeyword, Versions { old, new }: Versions<'_>) -> SchemaEffect {
    let (was, is) = match (old.get(bound.keyword), new.get(bound.keyword)) {
        (None, _) => return moved(bound, Versions { old, new }).unwrap_or(SchemaEffect::Narrowed),
        (_, None) => return moved(bound, Versions { old: new, new: old }).map_or(SchemaEffect::Widened, other_way),
        (Some(was), Some(is)) => (was, is),
    };
    let (Some(was), Some(is)) = (was.as_number(), is.as_number()) else { return SchemaEffect::Unclear };
    match (bound.kind, compare(is, was)) {
        // They are written differently, and too large to be told apart.
        (BoundKind::Low | BoundKind::High, Ordering::Equal) => SchemaEffect::Unclear,
        (BoundKind::Low, Ordering::Greater) | (BoundKind::High, Ordering::Less) => SchemaEffect::Narrowed,
        (BoundKind::Low | BoundKind::High, _) => SchemaEffect::Widened,
        (BoundKind::Step, _) if is_multiple(is, was) => SchemaEffect::Narrowed,
        (BoundKind::Step, _) if is_multiple(was, is) => SchemaEffect::Widened,
        (BoundKind::Step | BoundKind::There, _) => SchemaEffect::Unclear,
    }
}

fn is_multiple(one: &Number, of: &Number) -> bool {
    if let (Some(one), Some(of)) = (one.as_i128(), of.as_i128()) {
        return of != 0 && one % of == 0;
    }
    let times = one.as_f64().unwrap_or(f64::NAN) / of.as_f64().unwrap_or(f64::NAN);
    times.fract() == 0.0 && times.abs() < LARGEST
}

/// The effect of a limit that replaces its exclusive or inclusive counterpart: `minimum: 1` in place of `exclusiveMinimum: 0`.
fn moved(bound: &BoundKeyword, Versions { old, new }: Versions<'_>) -> Option<SchemaEffect> {
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
        BoundKind::Low => order.is_gt() || is_exclusive && order.is_ge(),
        BoundKind::High | BoundKind::Step | BoundKind::There => order.is_lt() || is_exclusive && order.is_le(),
    };
    Some(if narrows { SchemaEffect::Narrowed } else { SchemaEffect::Widened })
}

fn other_way(effect: SchemaEffect) -> SchemaEffect {
    match effect {
        SchemaEffect::Narrowed => SchemaEffect::Widened,
        SchemaEffect::Widened => SchemaEffect::Narrowed,
        SchemaEffect::Unclear => SchemaEffect::Unclear,
    }
}
