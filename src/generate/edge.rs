//! The edges of one shape, as far as they are no matter of items or members.

use serde_json::{Number, Value, json};

use super::GeneratorLimits;
use super::boundary::Boundary;
use super::make::{self, SAFE, text_of_length, whole_value};
use super::rng::Rng;
use super::shape::{MergedRules, Shape, whole_bounds};
use crate::schema::{NumberLimit, TypeSet};

/// How many values of an enumeration are edges.
const MOST_VALUES: usize = 400;

const TEXTS: [(&str, &str); 6] = [
    ("a text with spaces", " a  b "),
    ("a text with quotes", "\"a\" 'b' \\ /"),
    ("a text of two lines", "a\nb"),
    ("a text in other scripts", "Ünï日本语 ключ"),
    ("a text with emoji", "👩\u{200d}👧 e\u{301}"),
    ("a text like a number", "007"),
];

/// Listed values, or the edges of each kind that the shape talks about.
pub(super) fn scalars(shape: &Shape, limits: GeneratorLimits) -> Vec<Boundary> {
    let plain = &shape.plain;
    if let Some(values) = &plain.values {
        let shown = values.iter().take(MOST_VALUES);
        return shown.map(|value| Boundary::here(&format!("the value {value}"), value.clone())).collect();
    }
    let meant = shape.meant_kinds();
    let mut found = Vec::new();
    if meant.has(TypeSet::NULL) {
        found.push(Boundary::here("null", Value::Null));
    }
    if meant.has(TypeSet::BOOLEAN) {
        found.extend([true, false].map(|value| Boundary::here(&value.to_string(), Value::Bool(value))));
    }
    if meant.has(TypeSet::INTEGER) {
        found.extend(whole(plain));
    }
    if meant.has(TypeSet::FRACTION) {
        found.extend(fractions(plain));
    }
    if meant.has(TypeSet::TEXT) {
        found.extend(texts(plain, limits));
    }
    found
}

fn texts(plain: &MergedRules, limits: GeneratorLimits) -> Vec<Boundary> {
    let (min, max) = (plain.min_length, plain.max_length.unwrap_or(usize::MAX));
    if !plain.patterns.is_empty() || plain.format.is_some() {
        let mut rng = Rng::new(11);
        let mut one = || Boundary::here("a text of its pattern or format", json!(make::text(plain, &mut rng, limits)));
        return (0..8).map(|_| one()).collect();
    }
    if min > limits.longest_text {
        return Vec::new();
    }
    let mut found = vec![Boundary::here("the shortest text", json!(text_of_length("", min, max)))];
    if max <= limits.text {
        found.push(Boundary::here("the longest text", json!(text_of_length("", max, max))));
    }
    found.extend(TEXTS.map(|(what, word)| Boundary::here(what, json!(text_of_length(word, min, max)))));
    found
}

fn whole(plain: &MergedRules) -> Vec<Boundary> {
    let (low, high) = whole_bounds(plain);
    let step = plain.steps.iter().filter_map(Number::as_i128).max().unwrap_or(1);
    let first = low + (-low).rem_euclid(step);
    let last = high - high.rem_euclid(step);
    let candidates = [
        ("the least number", first),
        ("the greatest number", last),
        ("one above the least number", first + step),
        ("one below the greatest number", last - step),
        ("zero", 0),
        ("minus one", -step),
        ("the greatest number of 32 bits", i128::from(i32::MAX)),
        ("one more than 32 bits hold", i128::from(i32::MAX) + 1),
        ("the greatest number that is safe everywhere", SAFE),
        ("the least number that is safe everywhere", -SAFE),
    ];
    let sensible = |number: i128| (low..=high).contains(&number) && number.unsigned_abs() < (1 << 90);
    let inside = candidates.into_iter().filter(|(_, number)| sensible(*number));
    inside.map(|(what, number)| Boundary::here(what, whole_value(number))).collect()
}

fn fractions(plain: &MergedRules) -> Vec<Boundary> {
    let number = |bound: Option<&NumberLimit>| bound.and_then(|bound| bound.number.as_f64());
    let (low, high) = (number(plain.low.as_ref()), number(plain.high.as_ref()));
    let candidates = [
        ("the least number", low),
        ("just above the least number", low.map(f64::next_up)),
        ("the greatest number", high),
        ("just below the greatest number", high.map(f64::next_down)),
        ("a half", Some(0.5)),
        ("a small fraction", Some(1e-7)),
        ("a negative fraction", Some(-2.5)),
    ];
    let known =
        candidates.into_iter().filter_map(|(what, number)| Some((what, number.filter(|number| number.is_finite())?)));
    let mut found: Vec<Boundary> = known.map(|(what, number)| Boundary::here(what, json!(number))).collect();
    found.extend(plain.steps.iter().map(|step| Boundary::here("the step itself", Value::Number(step.clone()))));
    found
}
