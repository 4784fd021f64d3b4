//! Keywords that allow more or less, the higher or lower they are.

use std::cmp::Ordering;

use serde_json::Number;

use crate::drift::Versions;
use crate::schema::KeywordLimit::{High, Low, Step};
use crate::schema::{KEYWORDS, Keyword, compare};

/// From here on, every quotient of fractions is a whole number.
const LARGEST: f64 = 1e15;

/// The effect of a change on the set of valid values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaEffect {
    /// There are fewer of them.
    Narrowed,
    /// There are more of them.
    Widened,
    /// Some may have gone and others come.
    Unclear,
}

/// Keywords that are restrictions where they are there, and cannot be compared with another.
const RESTRICTIONS: [&str; 4] = ["uniqueItems", "pattern", "format", "propertyNames"];

/// The keywords that allow fewer values where they are there.
pub(crate) fn bounds() -> impl Iterator<Item = &'static Keyword> {
    KEYWORDS.iter().filter(|keyword| keyword.limit.is_some() || RESTRICTIONS.contains(&keyword.name))
}

/// The effect of a changed keyword.
pub(crate) fn effect(bound: &Keyword, Versions { old, new }: Versions<'_>) -> SchemaEffect {
    let (was, is) = match (old.get(bound.name), new.get(bound.name)) {
        (None, _) => return effect_of_exchange(bound, Versions { old, new }).unwrap_or(SchemaEffect::Narrowed),
        (_, None) => {
            return effect_of_exchange(bound, Versions { old: new, new: old }).map_or(SchemaEffect::Widened, other_way);
        }
        (Some(was), Some(is)) => (was, is),
    };
    let (Some(was), Some(is)) = (was.as_number(), is.as_number()) else { return SchemaEffect::Unclear };
    match (bound.limit, compare(is, was)) {
        // They are written differently, and too large to be distinguished.
        (Some(Low | High), Ordering::Equal) => SchemaEffect::Unclear,
        (Some(Low), Ordering::Greater) | (Some(High), Ordering::Less) => SchemaEffect::Narrowed,
        (Some(Low | High), _) => SchemaEffect::Widened,
        (Some(Step), _) if is_multiple(is, was) => SchemaEffect::Narrowed,
        (Some(Step), _) if is_multiple(was, is) => SchemaEffect::Widened,
        (Some(Step) | None, _) => SchemaEffect::Unclear,
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
fn effect_of_exchange(bound: &Keyword, Versions { old, new }: Versions<'_>) -> Option<SchemaEffect> {
    let twin = match bound.name {
        "minimum" => "exclusiveMinimum",
        "exclusiveMinimum" => "minimum",
        "maximum" => "exclusiveMaximum",
        "exclusiveMaximum" => "maximum",
        _ => return None,
    };
    // If the twin stays, this limit is one more.
    if new.get(twin).is_some() {
        return None;
    }
    let order = compare(new.get(bound.name)?.as_number()?, old.get(twin)?.as_number()?);
    let is_exclusive = bound.name.starts_with("exclusive");
    let narrows = if bound.limit == Some(Low) { order.is_gt() } else { order.is_lt() } || is_exclusive && order.is_eq();
    Some(if narrows { SchemaEffect::Narrowed } else { SchemaEffect::Widened })
}

fn other_way(effect: SchemaEffect) -> SchemaEffect {
    match effect {
        SchemaEffect::Narrowed => SchemaEffect::Widened,
        SchemaEffect::Widened => SchemaEffect::Narrowed,
        SchemaEffect::Unclear => SchemaEffect::Unclear,
    }
}
