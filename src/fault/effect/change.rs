//! Other plausible values: of the same type, and within what the schema declares.
//!
//! What a value becomes is drawn from a seed, the field and the value: no sign tells a mutant from a wrong value, and
//! the same fault changes the same value alike in the structured content and in the text.

use chrono::NaiveDate;
use serde_json::{Number, Value, json};

use crate::fault::draw::seeded_draw;
use crate::fault::schema_check::is_limited;
use crate::schema::{Formats, Judge, compile};

/// The direction in which a value becomes wrong: a test that guards one may be blind to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeWay {
    /// As it is drawn: a number is more or less, a digit or a letter of a text is another one.
    There,
    /// The other way: a number that would be more is less, and a text changes at another place.
    Back,
}

/// A change of the values of a field.
#[derive(Debug)]
pub(crate) struct ValueChange {
    pub(crate) way: ChangeWay,
    pub(crate) seed: u64,
    pub(crate) field: String,
    pub(crate) rules: FieldRules,
    /// What null becomes.
    pub(crate) filled: Option<Value>,
}

/// What the schema of a field lets it have.
#[derive(Debug, Default)]
pub(crate) struct FieldRules {
    schema: Value,
    judge: Option<Judge>,
}

/// The greatest distance of a wrong number from the right one, in units of its last digit.
const MOST_DISTANCE: u64 = 9;

/// The most digits after the point in which a wrong fraction differs.
const MOST_DECIMALS: usize = 2;

/// The digits and letters among which another one is taken.
const DIGITS: &[u8] = b"0123456789";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl FieldRules {
    pub(crate) fn new(schema: Value) -> Self {
        let judge = || Judge::new(compile(&schema, Formats::Held).ok()?, &schema).ok();
        let judge = is_limited(&schema).then(judge).flatten();
        Self { schema, judge }
    }

    /// The field may have another value instead of one; also where that one breaks the schema already.
    pub(crate) fn allow(&self, value: &Value, other: &Value) -> bool {
        let is_valid = |judge: &Judge, value| judge.is_valid(value) != Some(false);
        self.judge.as_ref().is_none_or(|judge| is_valid(judge, other) || !is_valid(judge, value))
    }
}

impl ValueChange {
    /// Another value; `None` where the schema of the field leaves none. Of lists and objects the first value that can be
    /// changed is another one.
    pub(crate) fn of(&self, value: &Value) -> Option<Value> {
        if value.is_null() { self.filled.clone() } else { self.other(value, &self.rules) }
    }

    fn other(&self, value: &Value, rules: &FieldRules) -> Option<Value> {
        let others = match value {
            Value::Null => Vec::new(),
            Value::Bool(flag) => vec![json!(!flag)],
            _ if rules.schema["enum"].is_array() => self.members(value, &rules.schema),
            Value::Number(number) => self.numbers(number, &rules.schema),
            Value::String(text) => self.texts(text).into_iter().map(Value::from).collect(),
            Value::Array(items) => {
                let (at, other) = self.first_changed(items.iter())?;
                let mut items = items.clone();
                items[at] = other;
                vec![items.into()]
            }
            Value::Object(members) => {
                let (at, other) = self.first_changed(members.values())?;
                let mut members = members.clone();
                *members.values_mut().nth(at)? = other;
                vec![members.into()]
            }
        };
        others.into_iter().find(|other| other != value && rules.allow(value, other))
    }

    /// The first of some values that can be changed, with another one for it. Numbers come first: a wrong one is the
    /// least conspicuous.
    fn first_changed<'v>(&self, values: impl Iterator<Item = &'v Value>) -> Option<(usize, Value)> {
        let mut order: Vec<(usize, &Value)> = values.enumerate().collect();
        order.sort_by_key(|(_, value)| !value.is_number());
        order.into_iter().find_map(|(at, value)| Some((at, self.other(value, &FieldRules::default())?)))
    }

    fn draw(&self, value: &Value) -> u64 {
        seeded_draw(self.seed, &[&self.field, &value.to_string()])
    }

    /// The other members of an enum.
    fn members(&self, value: &Value, schema: &Value) -> Vec<Value> {
        let all = schema["enum"].as_array().into_iter().flatten();
        let mut others: Vec<Value> = all.filter(|other| *other != value && !other.is_null()).cloned().collect();
        let count = others.len();
        if count > 0 {
            others.rotate_left(picked(self.draw(value) + u64::from(self.way == ChangeWay::Back), count));
        }
        others
    }

    /// Near numbers: those in the drawn direction before the others. What is not negative stays so.
    fn numbers(&self, number: &Number, schema: &Value) -> Vec<Value> {
        let draw = self.draw(&Value::Number(number.clone()));
        let is_up = draw.is_multiple_of(2) == (self.way == ChangeWay::There);
        let distance = i64::try_from(draw / 2 % MOST_DISTANCE).unwrap_or_default() + 1;
        let up_and_down = [distance, 1, -distance, -1];
        let steps = if is_up { up_and_down } else { up_and_down.map(|step| -step) };
        let beside = |step: i64| {
            if let Some(whole) = number.as_i64() {
                let unit = schema["multipleOf"].as_i64().unwrap_or(1).max(1);
                return Some(json!(whole.checked_add(step.checked_mul(unit)?)?));
            }
            beside_fraction(number.as_f64()?, step)
        };
        let is_negative = |value: &Value| value.as_f64().is_some_and(f64::is_sign_negative);
        let was_negative = is_negative(&Value::Number(number.clone()));
        steps.into_iter().filter_map(beside).filter(|other| was_negative || !is_negative(other)).collect()
    }

    /// Texts with another day, digit or letter; those of the drawn place before the others.
    fn texts(&self, text: &str) -> Vec<String> {
        let draw = self.draw(&json!(text));
        if let Some(days) = beside_day(text, draw.is_multiple_of(2) == (self.way == ChangeWay::There)) {
            return days;
        }
        let after_scheme = text.find("://").map_or(0, |at| at + 3);
        let letters: Vec<usize> = text
            .char_indices()
            .filter(|(at, letter)| *at >= after_scheme && letter.is_ascii_alphanumeric())
            .map(|(at, _)| at)
            .collect();
        let (Some(first), Some(end)) = (letters.first(), letters.last()) else {
            // Other scripts and signs have no neighbour that we know of.
            return text.chars().next_back().map(|end| format!("{text}{end}")).into_iter().collect();
        };
        let mut places = vec![*first, letters[letters.len() / 2], *end];
        places.rotate_left(picked(draw, 3));
        let digits: Vec<usize> = letters.iter().copied().filter(|at| text.as_bytes()[*at].is_ascii_digit()).collect();
        if self.way == ChangeWay::Back {
            places.rotate_left(1);
        } else if !digits.is_empty() {
            // A wrong number is the least conspicuous.
            places.insert(0, digits[picked(draw / 3, digits.len())]);
        }
        places.into_iter().map(|at| with_other_letter(text, at, draw / 11)).collect()
    }
}

/// A place among so many.
fn picked(draw: u64, count: usize) -> usize {
    usize::try_from(draw % count.max(1) as u64).unwrap_or_default()
}

/// A fraction that is so many units of its last digit more.
fn beside_fraction(fraction: f64, step: i64) -> Option<Value> {
    let written = fraction.to_string();
    let decimals = written.split_once('.').map_or(1, |(_, decimals)| decimals.len().clamp(1, MOST_DECIMALS));
    #[expect(clippy::cast_precision_loss, reason = "steps have one digit")]
    let moved = fraction + step as f64 / 10_f64.powi(i32::try_from(decimals).ok()?);
    // Without what binary fractions add.
    let moved: f64 = format!("{moved:.decimals$}").parse().ok()?;
    Number::from_f64(moved).map(Value::Number)
}

/// The text with the days beside the one that it begins with: the next one first, or the one before.
fn beside_day(text: &str, is_next_first: bool) -> Option<Vec<String>> {
    let (day, rest) = text.split_at_checked("2026-07-28".len())?;
    let date = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    let (next, before) = (date.succ_opt()?, date.pred_opt()?);
    let days = if is_next_first { [next, before] } else { [before, next] };
    Some(days.map(|day| format!("{day}{rest}")).to_vec())
}

/// The text with another character of the same kind at a place.
fn with_other_letter(text: &str, at: usize, draw: u64) -> String {
    let old = text.as_bytes()[at];
    // Letters of hashes and uuids are digits, too.
    let is_hex = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    let is_hash = text.len() >= 8 && text.chars().all(is_hex) && text.contains(|letter: char| letter.is_ascii_digit());
    let kind = match old {
        b'0'..=b'9' => DIGITS,
        b'a'..=b'z' => &LOWER[..if is_hash { 6 } else { LOWER.len() }],
        _ => &UPPER[..if is_hash { 6 } else { UPPER.len() }],
    };
    let others: Vec<u8> = kind.iter().copied().filter(|other| *other != old).collect();
    let new = char::from(others[picked(draw, others.len())]);
    format!("{}{new}{}", &text[..at], &text[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(field: &str, way: ChangeWay, seed: u64, schema: &Value) -> ValueChange {
        let rules = FieldRules::new(schema.clone());
        ValueChange { way, seed, field: field.to_owned(), rules, filled: None }
    }

    /// The other values that seeds give in both directions.
    fn others(value: &Value, schema: &Value) -> [Vec<Value>; 2] {
        [ChangeWay::There, ChangeWay::Back]
            .map(|way| (0..40).filter_map(|seed| change("price", way, seed, schema).of(value)).collect())
    }

    #[test]
    fn what_is_drawn_keeps_to_the_schema_and_goes_both_ways() {
        for (value, schema) in [
            (json!(5), json!({})),
            (json!(5), json!({"minimum": 5, "maximum": 6})),
            (json!(0), json!({"type": "integer"})),
            (json!(-3), json!({})),
            (json!(50), json!({"multipleOf": 5})),
            (json!(12.5), json!({"exclusiveMaximum": 12.7})),
            (json!("open"), json!({"enum": ["open", "closed", null, "lost"]})),
            (json!("A-17"), json!({"pattern": "^[A-Z]-\\d\\d$"})),
            (json!("2026-03-01T10:00:00Z"), json!({"format": "date-time"})),
            (json!("550e8400-e29b-41d4-a716-446655440000"), json!({"format": "uuid"})),
            (json!("23:59:59Z"), json!({"format": "time"})),
            (json!("ann@a.example"), json!({"format": "email"})),
            (json!("https://a.example/x"), json!({"format": "uri"})),
            (json!("日本"), json!({})),
            (json!("Grüße"), json!({})),
            (json!([{"a": "x"}, 7]), json!({})),
        ] {
            let ways = others(&value, &schema);
            for other in ways.iter().flatten() {
                assert_ne!(*other, value);
                assert!(FieldRules::new(schema.clone()).allow(&value, other), "{other} {schema}");
            }
            assert!(ways.iter().all(|way| way.len() == 40), "{value}: {ways:?}");
        }
    }

    #[test]
    fn the_two_ways_are_opposite() {
        let other = |way, seed| change("count", way, seed, &json!({})).of(&json!(50)).unwrap();
        for seed in 0..20 {
            let (there, back) = (other(ChangeWay::There, seed), other(ChangeWay::Back, seed));
            assert_ne!(there.as_i64() > Some(50), back.as_i64() > Some(50), "{there} {back}");
        }
        let [there, back] = others(&json!("a nice day"), &json!({}));
        assert!(there.iter().zip(&back).all(|(one, other)| one != other), "{there:?} {back:?}");
    }

    #[test]
    fn what_the_schema_leaves_no_room_for_stays() {
        for (value, schema) in [
            (json!("one"), json!({"enum": ["one", null]})),
            (json!(3), json!({"const": 3})),
            (json!(3), json!({"minimum": 3, "maximum": 3})),
            (json!(""), json!({})),
            (Value::Null, json!({})),
        ] {
            assert!(others(&value, &schema).iter().all(Vec::is_empty), "{value} {schema}");
        }
    }

    #[test]
    fn equal_values_become_equal_ones() {
        let other = |value: &Value, schema: &Value| change("name", ChangeWay::There, 7, schema).of(value);
        assert_eq!(other(&json!("Ann"), &json!({})), other(&json!("Ann"), &Value::Null));
        let text = other(&json!("12 users in 3 rooms"), &json!({})).unwrap();
        assert!(text.as_str().is_some_and(|text| text.ends_with("rooms")), "a number is wrong first: {text}");
    }
}
