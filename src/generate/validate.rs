//! Answers to a single question about a schema, for callers that ask no second one.
//!
//! Whoever asks more than once keeps a [`Generator`].

use serde_json::Value;

use super::Generator;
use super::judge::{Formats, Judges};
use super::schema::Schemas;

/// The longest objection in characters.
const LONGEST: usize = 160;

/// A small value that satisfies the schema; `None` where none was found.
pub fn valid(schema: &Value) -> Option<Value> {
    Generator::new(schema).ok().map(|generator| generator.smallest().clone())
}

/// Whether a value satisfies the schema, whatever its formats say; an unusable schema is satisfied by nothing.
pub fn satisfies(schema: &Value, value: &Value) -> bool {
    judge(schema).is_some_and(|judge| judge.takes(value, Formats::Ignored))
}

/// Whether a value is known to break the schema.
pub fn refuses(schema: &Value, value: &Value) -> bool {
    judge(schema).is_some_and(|judge| judge.refuses(value))
}

/// The first thing that a schema has against a value, in words; `None` where it has nothing, or is unusable.
pub fn objection(schema: &Value, value: &Value) -> Option<String> {
    let judge = judge(schema)?;
    let (errors, _) = judge.errors(value);
    let error = errors.first()?;
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let at = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
    let says: String = error.to_string().trim_end_matches('.').chars().take(LONGEST).collect();
    Some(format!("{at}{says}"))
}

fn judge(schema: &Value) -> Option<Judges> {
    Judges::new(schema, &Schemas::read(schema)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_objection_says_where() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "number"}}});
        assert_eq!(objection(&schema, &json!({"a": "x"})).unwrap(), "`a`: \"x\" is not of type \"number\"");
        assert_eq!(objection(&schema, &json!({"a": 1})), None);
        assert_eq!(objection(&json!({"type": "nothing"}), &json!(1)), None);
    }
}
