//! Numbers within bounds, multiples of steps.

use serde_json::{Number, Value, json};

use crate::generate::rng::Rng;
use crate::schema::{MergedRules, above, beneath, is_multiple, whole_bounds};

use super::Variety;

/// The largest whole number that other languages hold without rounding.
pub(crate) const SAFE: i128 = (1 << 53) - 1;

/// The number of times that a fraction is drawn anew until it is within its bounds.
const TRIES: usize = 16;

/// A whole number.
pub(crate) fn whole(plain: &MergedRules, variety: Variety, rng: &mut Rng) -> Value {
    let (low, high) = bounds(plain);
    let step = whole_step(plain);
    let wanted = match variety {
        Variety::Plain if low <= 1 && high >= 1 => 1,
        Variety::Plain if low > 1 => low,
        Variety::Plain => high.min(0).max(low),
        Variety::Small => small(low, high, rng),
        Variety::Wide => wide(low, high, rng),
    };
    whole_value(multiple_near(wanted, step, low, high))
}

/// The bounds of whole numbers, closer where the format says so.
fn bounds(plain: &MergedRules) -> (i128, i128) {
    let (low, high) = whole_bounds(plain);
    let (least, most) = match plain.format.as_deref() {
        Some("int32") => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Some("uint32") => (0, i128::from(u32::MAX)),
        Some("uint64" | "uint") => (0, SAFE),
        Some("uint8") => (0, 255),
        Some("uint16") => (0, 65_535),
        _ => return (low, high),
    };
    if low.max(least) <= high.min(most) { (low.max(least), high.min(most)) } else { (low, high) }
}

fn small(low: i128, high: i128, rng: &mut Rng) -> i128 {
    let near = if low <= 0 && high >= 0 {
        0
    } else if low > 0 {
        low
    } else {
        high
    };
    let by = rng.below(100) as i128;
    let number = if near + by <= high { near + by } else { near - by };
    number.clamp(low, high)
}

fn wide(low: i128, high: i128, rng: &mut Rng) -> i128 {
    // Without a bound, numbers stay within what every language holds.
    let near_low = if high < -SAFE { low.max(high - SAFE) } else { low.max(-SAFE) };
    let near_high = if low > SAFE { high.min(low + SAFE) } else { high.min(SAFE) };
    let within = |number: i128| number.clamp(near_low, near_high.max(near_low));
    match rng.below(20) {
        0..=8 => within(rng.between(0, 120) as i128 - 20 + if near_low > 100 { near_low } else { 0 }),
        9..=10 => within(near_low),
        11..=12 => within(near_high),
        13 => within(0),
        14..=15 => {
            let power = 1_i128 << rng.between(1, 52);
            within(if rng.chance(50) { power } else { -power } + rng.below(3) as i128 - 1)
        }
        _ => {
            let span = u128::try_from(near_high - near_low).unwrap_or(0).saturating_add(1);
            near_low + i128::try_from(u128::from(rng.bits()) % span).unwrap_or(0)
        }
    }
}

/// The smallest number that all steps divide, as far as they are whole.
fn whole_step(plain: &MergedRules) -> i128 {
    let mut step: i128 = 1;
    for next in plain.steps.iter().map(smallest_whole_multiple) {
        let (mut one, mut other) = (step, next);
        while other != 0 {
            (one, other) = (other, one % other);
        }
        step = step.checked_mul(next / one.max(1)).unwrap_or(step);
    }
    // Steps beyond this leave no room to add to them.
    if (1..1 << 100).contains(&step) { step } else { 1 }
}

/// The smallest whole number that a step divides.
fn smallest_whole_multiple(step: &Number) -> i128 {
    step.as_i128().unwrap_or_else(|| {
        let whole = |times: i128| {
            let product = format!("{:.9}", step.as_f64().unwrap_or(1.0) * f64_of(times));
            product.strip_suffix(".000000000").and_then(|digits| digits.parse().ok())
        };
        (1..=1_000).find_map(whole).unwrap_or(1)
    })
}

/// The multiple of a step that is nearest to a number, within bounds where there is one.
fn multiple_near(wanted: i128, step: i128, low: i128, high: i128) -> i128 {
    let down = wanted - wanted.rem_euclid(step);
    if down >= low {
        down
    } else if down + step <= high {
        down + step
    } else {
        wanted
    }
}

/// A whole number as JSON.
pub(crate) fn whole_value(number: i128) -> Value {
    let small = i64::try_from(number).map(Value::from).ok().or_else(|| u64::try_from(number).map(Value::from).ok());
    small.unwrap_or_else(|| json!(f64_of(number)))
}

/// A fraction.
pub(crate) fn fraction(plain: &MergedRules, variety: Variety, rng: &mut Rng) -> Value {
    let step = plain.steps.iter().find(|step| step.as_i128().is_none());
    let mut last = json!(0.5);
    for attempt in 0..TRIES {
        let number = match (step, variety) {
            (Some(step), _) => multiple_between(plain, step, rng),
            (None, Variety::Plain) if attempt == 0 => plain_fraction(plain),
            (None, _) => between(plain, rng),
        };
        if number.is_finite() {
            last = json_number(number);
        }
        if last.as_number().is_some_and(|number| is_allowed(plain, number)) {
            break;
        }
    }
    last
}

fn is_allowed(plain: &MergedRules, number: &Number) -> bool {
    plain.low.as_ref().is_none_or(|bound| above(number, bound))
        && plain.high.as_ref().is_none_or(|bound| beneath(number, bound))
        && plain.steps.iter().all(|step| is_multiple(number, step))
}

fn ends(plain: &MergedRules) -> (f64, f64) {
    let low = plain.low.as_ref().and_then(|bound| bound.number.as_f64());
    let high = plain.high.as_ref().and_then(|bound| bound.number.as_f64());
    match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low + low.abs().max(1_000.0)),
        (None, Some(high)) => (high - high.abs().max(1_000.0), high),
        (None, None) => (-1_000.0, 1_000.0),
    }
}

fn plain_fraction(plain: &MergedRules) -> f64 {
    let (low, high) = ends(plain);
    if (low..high).contains(&1.5) { 1.5 } else { low.midpoint(high) }
}

fn between(plain: &MergedRules, rng: &mut Rng) -> f64 {
    let (low, high) = ends(plain);
    let unbounded = plain.low.is_none() && plain.high.is_none();
    match rng.below(12) {
        0 => low,
        1 => high,
        2 => low.next_up(),
        3 => high.next_down(),
        4 => low.midpoint(high),
        5 if unbounded => 10_f64.powi(i32::try_from(rng.below(30)).unwrap_or(0) - 10) * 1.25,
        6..=8 => {
            let number = low + (high - low) * rng.fraction();
            let rounded = (number * 100.0).round() / 100.0;
            if (low..=high).contains(&rounded) { rounded } else { number }
        }
        _ => low + (high - low) * rng.fraction(),
    }
}

fn multiple_between(plain: &MergedRules, step: &Number, rng: &mut Rng) -> f64 {
    let (low, high) = ends(plain);
    let width = step.as_f64().unwrap_or(1.0);
    let (first, last) = ((low / width).ceil(), (high / width).floor());
    let times = first + ((last - first + 1.0).max(1.0) * rng.fraction()).floor();
    number_near(times * width, step)
}

/// A number with no more decimal places than a step has.
pub(crate) fn number_near(number: f64, step: &Number) -> f64 {
    let written = step.to_string();
    let (digits, exponent) = written.split_once(['e', 'E']).unwrap_or((&written, "0"));
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let places = usize::try_from(i32::try_from(places).unwrap_or(0) - exponent).unwrap_or(0).min(300);
    format!("{number:.places$}").parse().unwrap_or(number)
}

/// A number as JSON, written without a fraction where it has none.
fn json_number(number: f64) -> Value {
    let whole = (number.fract() == 0.0).then(|| format!("{number:.0}").parse::<i64>().ok()).flatten();
    whole.map_or_else(|| json!(number), Value::from)
}

#[expect(clippy::cast_precision_loss, reason = "numbers this large are approximate")]
fn f64_of(number: i128) -> f64 {
    number as f64
}
