//! Keeps generated amounts small, so that no call asks a service for millions of things.

use serde_json::Value;

use crate::source::words;

/// Words in the names of arguments that ask for an amount.
const AMOUNT_WORDS: [&str; 9] = ["limit", "lines", "count", "size", "top", "tail", "head", "results", "pages"];

/// Names of arguments that ask for an amount as a whole.
const AMOUNT_NAMES: [&str; 2] = ["n", "k"];

/// Amounts that are asked for in place of larger ones, the largest first.
const SMALL: [i32; 4] = [1_000, 100, 10, 1];

/// Returns true if an argument of that name asks for an amount.
fn is_amount(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| AMOUNT_WORDS.contains(&word.as_str()))
        || AMOUNT_NAMES.contains(&name.to_lowercase().as_str())
}

/// Smaller amounts for an argument of that name; empty where it is none, or small already.
pub(crate) fn shrink(name: &str, value: &Value) -> Vec<Value> {
    let is_large = value.as_f64().is_some_and(|number| number > f64::from(SMALL[0]));
    if is_large && is_amount(name) { SMALL.map(Value::from).into() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_small() {
        for (name, value, expected) in [
            ("limit", json!(2_147_483_648_u64), Some(json!(1000))),
            ("maxResults", json!(1e9), Some(json!(1000))),
            ("n", json!(100_000_000), Some(json!(1000))),
            ("tail_lines", json!(1001), Some(json!(1000))),
            ("limit", json!(1000), None),
            ("limit", json!(-1e9), None),
            ("limit", json!("1000000"), None),
            ("offset", json!(1e9), None),
            ("id", json!(1e9), None),
            ("name", json!(1e9), None),
        ] {
            assert_eq!(shrink(name, &value).first().cloned(), expected, "{name}: {value}");
        }
    }
}
