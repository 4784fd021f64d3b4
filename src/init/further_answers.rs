//! What more than two answers to one question tell: of values that other tools change, and of orders that each process draws
//! anew.

use serde_json::{Map, Value};

use super::expectation::{content, drawn_pattern};
use crate::reproduce::json_type;
use crate::wire::{is_served, read_json};

/// The most texts of a list whose order two processes may well share by chance.
const MOST_BY_CHANCE: usize = 4;

/// An answer that agrees with `first` only where `second` and `third` both do.
pub(crate) fn least_like(first: &Value, second: &Value, third: &Value) -> Value {
    match [second, third].into_iter().find(|other| is_served(other) != is_served(first)) {
        Some(other) => other.clone(),
        None => least_like_value(first, second, third),
    }
}

fn least_like_value(first: &Value, second: &Value, third: &Value) -> Value {
    if second == first {
        return third.clone();
    }
    if third == first {
        return second.clone();
    }
    match (first, second, third) {
        (Value::Object(known), Value::Object(one), Value::Object(other)) => {
            let common = known.iter().filter_map(|(name, value)| {
                Some((name.clone(), least_like_value(value, one.get(name)?, other.get(name)?)))
            });
            let new = one.iter().chain(other).filter(|(name, _)| !known.contains_key(*name));
            common.chain(new.map(|(name, value)| (name.clone(), value.clone()))).collect::<Map<_, _>>().into()
        }
        (Value::Array(known), Value::Array(one), Value::Array(other)) => {
            if one.len() != known.len() {
                return second.clone();
            }
            if other.len() != known.len() {
                return third.clone();
            }
            known
                .iter()
                .zip(one.iter().zip(other))
                .map(|(known, (one, other))| least_like_value(known, one, other))
                .collect()
        }
        (Value::String(known), Value::String(one), Value::String(other)) => {
            let text = match [known, one, other].map(|text| read_whole(text)) {
                [Some(known), Some(one), Some(other)] => least_like_value(&known, &one, &other).to_string(),
                _ => least_like_text(known, one, other),
            };
            if text == *known { second.clone() } else { text.into() }
        }
        _ if json_type(second) != json_type(first) => second.clone(),
        _ => third.clone(),
    }
}

/// The object or list that a text is in JSON.
fn read_whole(text: &str) -> Option<Value> {
    read_json(text).filter(|value| value.is_object() || value.is_array())
}

/// The same of texts, line by line, up to the shortest of them.
fn least_like_text(first: &str, second: &str, third: &str) -> String {
    let (mut known, mut one, mut other) = (first.lines(), second.lines(), third.lines());
    let mut lines = Vec::new();
    loop {
        let (known, one, other) = (known.next(), one.next(), other.next());
        let chosen = if one == known {
            other
        } else if other == known {
            one
        } else if let (Some(known), Some(one), Some(other)) = (known, one, other) {
            Some(least_like_line(known, one, other))
        } else {
            one.or(other).filter(|_| known.is_none())
        };
        lines.extend(chosen);
        if known.is_none() || chosen.is_none() {
            return lines.join("\n");
        }
    }
}

fn least_like_line<'a>(first: &str, second: &'a str, third: &'a str) -> &'a str {
    let is_of_another_form = |line: &str| drawn_pattern(line) != drawn_pattern(first);
    let beginning = |line: &str| line.chars().zip(first.chars()).take_while(|(one, other)| one == other).count();
    let is_third = !is_of_another_form(second) && (is_of_another_form(third) || beginning(third) < beginning(second));
    if is_third { third } else { second }
}

/// True if an answer has other lists, members or lines than an earlier one, and not only other values.
pub(crate) fn has_other_parts(earlier: &Value, later: &Value) -> bool {
    is_served(earlier) != is_served(later) || differs_in_parts(&earlier["result"], &later["result"])
}

fn differs_in_parts(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() != other.len()
                || one.iter().any(|(name, value)| other.get(name).is_none_or(|again| differs_in_parts(value, again)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() != other.len() || one.iter().zip(other).any(|(one, other)| differs_in_parts(one, other))
        }
        (Value::String(one), Value::String(other)) => match (read_whole(one), read_whole(other)) {
            (Some(one), Some(other)) => differs_in_parts(&one, &other),
            _ => one.lines().count() != other.lines().count(),
        },
        _ => false,
    }
}

/// True if two answers share a short list of texts, whose order may be drawn by each process.
pub(crate) fn share_a_short_list(answers: &[Value; 2]) -> bool {
    let [first, second] = answers.each_ref().map(|answer| content(&answer["result"]));
    first.zip(second).is_some_and(|((_, first), (_, second))| have_a_short_list(&first, &second))
}

fn have_a_short_list(first: &Value, second: &Value) -> bool {
    match (first, second) {
        (Value::Array(one), Value::Array(other)) => {
            let is_short = (2..=MOST_BY_CHANCE).contains(&one.len());
            (is_short && one == other && one.iter().all(Value::is_string))
                || one.iter().zip(other).any(|(one, other)| have_a_short_list(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.iter().any(|(name, value)| other.get(name).is_some_and(|again| have_a_short_list(value, again)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn structured(content: &Value) -> Value {
        json!({"result": {"content": [], "structuredContent": content}})
    }

    #[test]
    fn a_further_answer_leaves_what_all_share() {
        for (first, second, third, expected) in [
            (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}), json!({"a": 4, "b": 2}), json!({"a": 4, "b": 3})),
            (json!({"a": 1}), json!({"a": 1}), json!({"a": 2}), json!({"a": 2})),
            (json!({"a": 1}), json!({"a": 1, "b": 1}), json!({"a": 1, "c": 1}), json!({"a": 1, "b": 1, "c": 1})),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": null}), json!({"a": null})),
            (json!([1, 2]), json!([1, 3]), json!([1]), json!([1])),
            (json!([1, 2]), json!([1, 3]), json!([4, 2]), json!([4, 3])),
            (json!("{\"a\": 1}"), json!("{\"a\": 2}"), json!("{\"a\": 3}"), json!("{\"a\":3}")),
            (json!("a\nb\nc"), json!("a\nx\nc"), json!("y\nb\nc"), json!("y\nx\nc")),
            (json!("a\nb"), json!("a\nc\nd"), json!("a"), json!("a")),
            (json!("up since 5 s"), json!("up since 7 s"), json!("up for 5 s"), json!("up for 5 s")),
        ] {
            let [first, second, third] = [first, second, third].map(|value| structured(&json!({"x": value})));
            let found = least_like(&first, &second, &third);
            assert_eq!(found["result"]["structuredContent"]["x"], expected, "{first} {second} {third}");
        }
        let refused = json!({"result": {"isError": true, "content": []}});
        let served = structured(&json!({}));
        assert_eq!(least_like(&served, &served, &refused), refused);
    }

    #[test]
    fn lists_that_grow_are_seen() {
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        for (earlier, later, expected) in [
            (structured(&json!({"notes": [1]})), structured(&json!({"notes": [1, 2]})), true),
            (structured(&json!({"uptime": 1})), structured(&json!({"uptime": 2})), false),
            (text("[1]"), text("[1, 2]"), true),
            (text("one"), text("one\ntwo"), true),
            (text("up 1 s"), text("up 2 s"), false),
        ] {
            assert_eq!(has_other_parts(&earlier, &later), expected, "{earlier} {later}");
        }
    }

    #[test]
    fn short_lists_of_texts_may_be_shared_by_chance() {
        for (value, expected) in [
            (json!({"tags": ["a", "b"]}), true),
            (json!({"users": [{"tags": ["a", "b"]}]}), true),
            (json!({"tags": ["a"]}), false),
            (json!({"tags": ["a", "b", "c", "d", "e"]}), false),
            (json!({"users": [{"id": 1}, {"id": 2}]}), false),
        ] {
            let answer = structured(&value);
            assert_eq!(share_a_short_list(&[answer.clone(), answer]), expected, "{value}");
        }
    }
}
