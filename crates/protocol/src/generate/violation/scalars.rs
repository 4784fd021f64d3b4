//! Broken numbers and texts, and values that are not listed.

use serde_json::{Number, Value, json};

use crate::generate::GeneratorLimits;
use crate::generate::make::{number_near, text_of_length, whole_value};
use crate::schema::{NumberLimit, SchemaRules, same};

use super::candidate::{InvalidCandidate, group};
use super::{Breach, BreakableValue};

/// Texts grow up to this many times their default limit: transports have limits of their own.
const LONGER: usize = 16;

pub(crate) fn broken(
    rules: &SchemaRules,
    spot: &BreakableValue,
    limits: GeneratorLimits,
) -> Vec<Vec<InvalidCandidate>> {
    let (value, place) = (&spot.value, spot.name.as_str());
    let mut groups = Vec::new();
    if let Some(values) = &rules.values {
        groups.push(outside_enum(rules, values, spot));
    }
    if value.is_number() {
        groups.extend(rules.low.iter().map(|bound| beyond(bound, rules, -1, place)));
        groups.extend(rules.low.iter().filter_map(|bound| below_zero(bound, rules, place)));
        groups.extend(rules.high.iter().map(|bound| beyond(bound, rules, 1, place)));
        groups.extend(rules.step.as_ref().map(|step| between_steps(step, value, place)));
    }
    if let Value::String(text) = value {
        groups.extend(lengths(rules, text, place, limits));
        groups.extend(rules.pattern.as_ref().map(|pattern| outside_pattern(pattern, text, place)));
    }
    groups
}

fn outside_enum(rules: &SchemaRules, values: &[Value], spot: &BreakableValue) -> Vec<InvalidCandidate> {
    let place = &spot.name;
    let keyword = if rules.constant { "const" } else { "enum" };
    let mut other: Vec<Value> = match &spot.value {
        Value::String(text) => vec![json!("not-listed"), json!(format!("{text}-x")), json!("x")],
        Value::Number(_) => (0..40).map(|at| json!(987_654 - at * 7_919)).chain([json!(0.25)]).collect(),
        Value::Bool(known) => vec![json!(!known)],
        Value::Array(items) => vec![json!(["not-listed"]), json!([items])],
        Value::Object(_) => vec![json!({"not": "listed"}), json!({})],
        Value::Null => Vec::new(),
    };
    other.extend([json!("not-listed"), json!(987_654), json!({"not": "listed"}), json!(["not-listed"]), json!(true)]);
    other.retain(|other| !values.iter().any(|value| same(value, other)));
    let says = |other: &Value| match other {
        Value::String(text) => format!("{place} is `{text}`, which is not listed"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{place} is {other}, which is not listed")
        }
    };
    other.into_iter().map(|other| InvalidCandidate::new(Breach::Enum, keyword, &says(&other), other.clone())).collect()
}

/// Small negative numbers where the nearest wrong one is 0, which many programs take for a number that was not given.
fn below_zero(bound: &NumberLimit, rules: &SchemaRules, place: &str) -> Option<Vec<InvalidCandidate>> {
    let leads_to_zero = bound.number.as_i128() == Some(i128::from(!bound.exclusive));
    if !leads_to_zero {
        return None;
    }
    let keyword = low_keyword(bound);
    let width = rules.step.as_ref().and_then(Number::as_i128).unwrap_or(1);
    let of = |number: i128| {
        let says = format!("{place} is {number}, below `{keyword}` {}", bound.number);
        InvalidCandidate::new(Breach::OutOfRange, keyword, &says, whole_value(number)).of("below zero")
    };
    Some([-1, -width].map(of).into())
}

fn low_keyword(bound: &NumberLimit) -> &'static str {
    if bound.exclusive { "exclusiveMinimum" } else { "minimum" }
}

/// Numbers beyond a bound, nearest first.
fn beyond(bound: &NumberLimit, rules: &SchemaRules, direction: i32, place: &str) -> Vec<InvalidCandidate> {
    let keyword = match (direction < 0, bound.exclusive) {
        (true, _) => low_keyword(bound),
        (false, false) => "maximum",
        (false, true) => "exclusiveMaximum",
    };
    let number = bound.number.as_f64().unwrap_or(0.0);
    let side = if direction < 0 { "below" } else { "above" };
    let says = |value: &Value| {
        let relation = if bound.exclusive && value.as_f64() == Some(number) { "not within" } else { side };
        format!("{place} is {value}, {relation} `{keyword}` {}", bound.number)
    };
    let finite = outside(bound, rules.step.as_ref(), direction).into_iter().filter(|number| !number.is_null());
    finite.map(|value| InvalidCandidate::new(Breach::OutOfRange, keyword, &says(&value), value)).collect()
}

fn outside(bound: &NumberLimit, step: Option<&Number>, direction: i32) -> Vec<Value> {
    let mut numbers = Vec::new();
    if bound.exclusive {
        numbers.push(Value::Number(bound.number.clone()));
    }
    if let Some(whole) = bound.number.as_i128() {
        let width = step.and_then(Number::as_i128).unwrap_or(1);
        let first = whole.div_euclid(width) * width;
        let near = [first, first - width, first + width, whole + i128::from(direction)];
        numbers.extend(near.into_iter().filter(|near| (near - whole) * i128::from(direction) > 0).map(whole_value));
    }
    let number = bound.number.as_f64().unwrap_or(0.0);
    let far = f64::from(direction) * (number.abs() * 0.5 + 1.0);
    let rounded = if direction < 0 { (number + far).floor() } else { (number + far).ceil() };
    numbers.extend(format!("{rounded:.0}").parse::<i64>().ok().map(Value::from));
    if let Some(step) = step.filter(|step| step.as_i128().is_none()) {
        let width = step.as_f64().unwrap_or(1.0) * f64::from(direction);
        numbers.push(json!(number_near(number + width, step)));
    }
    numbers.push(json!(number + far));
    numbers
}

fn between_steps(step: &Number, value: &Value, place: &str) -> Vec<InvalidCandidate> {
    let mut numbers = Vec::new();
    if let (Some(value), Some(_)) = (value.as_i64(), step.as_i128()) {
        numbers.extend([1, -1].map(|by| Value::from(value.saturating_add(by))));
    }
    let (value, width) = (value.as_f64().unwrap_or(0.0), step.as_f64().unwrap_or(1.0));
    numbers.extend([0.5, -0.5, 0.3].map(|part| json!(value + width * part)));
    let says = |value: &Value| format!("{place} is {value}, no multiple of {step}");
    let finite = numbers.into_iter().filter(|number| !number.is_null());
    finite.map(|value| InvalidCandidate::new(Breach::NotMultiple, "multipleOf", &says(&value), value)).collect()
}

fn lengths(rules: &SchemaRules, text: &str, place: &str, limits: GeneratorLimits) -> Vec<Vec<InvalidCandidate>> {
    let mut groups = Vec::new();
    if let Some(min) = rules.min_length.filter(|min| *min > 0) {
        let says = format!("{place} is shorter than `minLength` {min}");
        let short = [text_of_length(text, 0, min - 1), text_of_length("a", min - 1, min - 1), String::new()];
        groups.push(group(Breach::TooShort, "minLength", &says, short.map(Value::from)));
    }
    if let Some(max) = rules.max_length.filter(|max| *max < limits.text * LONGER) {
        let says = format!("{place} is longer than `maxLength` {max}");
        let last = text.chars().last().unwrap_or('x').to_string();
        let count = (max + 1).saturating_sub(text.chars().count());
        let long = [format!("{text}{}", last.repeat(count)), text_of_length(text, max + 1, usize::MAX)];
        groups.push(group(Breach::TooLong, "maxLength", &says, long.map(Value::from)));
    }
    groups
}

fn outside_pattern(pattern: &str, text: &str, place: &str) -> Vec<InvalidCandidate> {
    let says = format!("{place} does not match `{pattern}`");
    let count = text.chars().count().max(1);
    let same_length = ['!', 'a', '0', ' ', '\n', 'Z', '🙂'].map(|letter| letter.to_string().repeat(count));
    let spoiled = [format!("!{text}"), format!("{text}!"), format!("{text}\n")];
    let short = ["", "/", "a"].map(ToOwned::to_owned);
    let all = same_length.into_iter().chain(spoiled).chain(short);
    group(Breach::Pattern, "pattern", &says, all.map(Value::from))
}
