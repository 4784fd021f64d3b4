//! A smaller value of which the same can still be said.
//!
//! Drops members and items, shortens texts, moves numbers towards zero. Knows nothing about schemas.

use serde_json::{Map, Value, json};

/// The greatest number of attempts.
const TRIES: usize = 2_000;

/// The smallest value found that `keep` still accepts; the value itself where nothing smaller is accepted.
///
/// `keep` is asked a bounded number of times, and never about the value itself.
pub fn shrink(value: &Value, keep: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut left = TRIES;
    let mut ask = |candidate: &Value| {
        if left == 0 {
            return false;
        }
        left -= 1;
        keep(candidate)
    };
    let mut found = value.clone();
    // Every round makes the value smaller, so this ends even without the bound on questions.
    while let Some(smaller) = smaller(&found, &mut ask) {
        found = smaller;
    }
    found
}

/// One round over the whole value; `None` when nothing smaller was accepted.
fn smaller(value: &Value, keep: &mut dyn FnMut(&Value) -> bool) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => first(vec![json!(false)], keep),
        Value::Number(_) => first(nearer_numbers(value), keep),
        Value::String(text) => shorter_text(text, keep),
        Value::Array(items) => fewer_items(items, keep),
        Value::Object(members) => fewer_members(members, keep),
    }
}

fn first(candidates: Vec<Value>, keep: &mut dyn FnMut(&Value) -> bool) -> Option<Value> {
    candidates.into_iter().find(|candidate| keep(candidate))
}

fn nearer_numbers(value: &Value) -> Vec<Value> {
    if let Some(number) = value.as_i64() {
        let candidates = [0, number / 2, number - number.signum()];
        return candidates
            .into_iter()
            .filter(|near| near.unsigned_abs() < number.unsigned_abs())
            .map(Value::from)
            .collect();
    }
    if let Some(number) = value.as_u64() {
        return [0, number / 2, number - 1].map(Value::from).to_vec();
    }
    let number = value.as_f64().unwrap_or(0.0);
    let candidates = [0.0, number.trunc(), (number / 2.0).trunc()];
    candidates.into_iter().filter(|near| near.abs() < number.abs()).map(whole).collect()
}

/// A number that JSON writes without a fraction where it is small enough.
fn whole(number: f64) -> Value {
    format!("{number:.0}").parse::<i64>().map_or_else(|_| json!(number), Value::from)
}

fn shorter_text(text: &str, keep: &mut dyn FnMut(&Value) -> bool) -> Option<Value> {
    let letters: Vec<char> = text.chars().collect();
    if letters.is_empty() {
        return None;
    }
    if let Some(cut) = without_spans(&letters, &mut |left| keep(&Value::String(left.iter().collect()))) {
        return Some(Value::String(cut.into_iter().collect()));
    }
    let plain = |letter: char| {
        if letter == 'a' || letter == '0' {
            letter
        } else if letter.is_ascii_digit() {
            '0'
        } else {
            'a'
        }
    };
    let all: String = letters.iter().copied().map(plain).collect();
    if all != text && keep(&Value::String(all.clone())) {
        return Some(Value::String(all));
    }
    let simpler = (0..letters.len().min(64)).filter(|at| plain(letters[*at]) != letters[*at]).map(|at| {
        let mut letters = letters.clone();
        letters[at] = plain(letters[at]);
        Value::String(letters.into_iter().collect())
    });
    first(simpler.collect(), keep)
}

fn fewer_items(items: &[Value], keep: &mut dyn FnMut(&Value) -> bool) -> Option<Value> {
    if let Some(left) = without_spans(items, &mut |left| keep(&Value::Array(left.to_vec()))) {
        return Some(Value::Array(left));
    }
    let mut items = items.to_vec();
    for at in 0..items.len() {
        let item = items[at].clone();
        let found = smaller(&item, &mut |candidate| {
            items[at] = candidate.clone();
            keep(&Value::Array(items.clone()))
        });
        items[at] = item;
        if let Some(found) = found {
            items[at] = found;
            return Some(Value::Array(items));
        }
    }
    None
}

fn fewer_members(members: &Map<String, Value>, keep: &mut dyn FnMut(&Value) -> bool) -> Option<Value> {
    let names: Vec<String> = members.keys().cloned().collect();
    let only = |names: &[String]| {
        let kept = members.iter().filter(|(name, _)| names.contains(name));
        Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    if let Some(left) = without_spans(&names, &mut |left| keep(&only(left))) {
        return Some(only(&left));
    }
    for (name, value) in members {
        let with = |inner: &Value| {
            let mut members = members.clone();
            members.insert(name.clone(), inner.clone());
            Value::Object(members)
        };
        if let Some(found) = smaller(value, &mut |candidate| keep(&with(candidate))) {
            return Some(with(&found));
        }
    }
    None
}

/// A list without one of its spans: all of it first, then halves, at last single elements.
///
/// The parts of a text are not as independent as calls: most often a whole half of it can go, which `ddmin` is slower to see.
fn without_spans<T: Clone>(list: &[T], keep: &mut dyn FnMut(&[T]) -> bool) -> Option<Vec<T>> {
    let mut length = list.len();
    while length > 0 {
        for start in (0..list.len()).step_by(length) {
            let end = (start + length).min(list.len());
            let left: Vec<T> = list[..start].iter().chain(&list[end..]).cloned().collect();
            if keep(&left) {
                return Some(left);
            }
        }
        length /= 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_is_left() {
        let long = json!({"a": "xxxx<boom>yyyy", "b": [1, 2, {"n": 700}], "c": null, "d": true});
        let found = shrink(&long, &mut |value| value["a"].as_str().is_some_and(|text| text.contains("boom")));
        assert_eq!(found, json!({"a": "boom"}));
        let found = shrink(&long, &mut |value| value["b"][2]["n"].as_i64().is_some_and(|number| number >= 300));
        assert_eq!(found["b"][2], json!({"n": 300}));
        let found = shrink(&json!(1.5e300), &mut |value| value.as_f64() > Some(1e30));
        assert!(found.as_f64() < Some(2e30), "{found}");
        assert_eq!(shrink(&json!([3, 3]), &mut |_| false), json!([3, 3]));
    }

    #[test]
    fn questions_are_bounded() {
        let mut asked = 0;
        shrink(&json!("x".repeat(10_000)), &mut |_| {
            asked += 1;
            false
        });
        assert!(asked <= TRIES);
    }
}
