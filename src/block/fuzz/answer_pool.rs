//! Values that earlier answers hold, for later calls: an id that one tool hands out is what another one wants.

use serde_json::Value;

use crate::check::answer_data::AnswerData;
use crate::source::{singular, words};

/// The least number of calls between an answer and the calls that use it: as many are never under way, so that what a
/// call uses does not depend on which of them was quicker.
pub(crate) const DISTANCE: u64 = 32;

/// For how many calls of a session answers are looked at.
const LEARNING: u64 = 1_000;

/// The number of values of one answer that are kept for one argument.
const MOST_OF_ONE: usize = 4;

/// The longest text that is kept.
const LONGEST: usize = 256;

/// An argument of some tool that takes what answers may hold.
#[derive(Debug, Clone)]
pub(crate) struct ConsumedArgument {
    /// The words of its name.
    words: Vec<String>,
    /// True if it takes numbers rather than texts.
    is_number: bool,
}

impl ConsumedArgument {
    /// An argument by name and schema, where it is a text or a whole number.
    pub(crate) fn new(name: &str, schema: &Value) -> Option<Self> {
        let is_number = match schema["type"].as_str() {
            Some("string") => false,
            Some("integer" | "number") => true,
            _ => return None,
        };
        // A choice is written in the schema.
        let is_open = schema.get("enum").is_none() && schema.get("const").is_none();
        is_open.then(|| Self { words: words(name), is_number })
    }

    /// A value found under these names, the innermost last, is what the argument asks for.
    fn takes(&self, names: &[String], value: &Value) -> bool {
        let is_kind = if self.is_number { value.is_number() } else { value.is_string() };
        let Some((last, before)) = names.split_last() else { return false };
        if !is_kind {
            return false;
        }
        let own = words(last);
        if own == self.words {
            return true;
        }
        let Some((kind, owner)) = self.words.split_last() else { return false };
        let names_thing = ["id", "key", "name", "uuid", "path", "uri", "slug", "sku", "code"].contains(&kind.as_str());
        let is_same_kind = own.last() == Some(kind);
        let is_of_owner = owner.is_empty()
            || own[..own.len().saturating_sub(1)] == *owner
            || before.last().is_some_and(|parent| with_last_singular(words(parent)) == *owner);
        names_thing && is_same_kind && (is_of_owner || own.len() == 1)
    }
}

/// `users` are things of which each is a `user`.
fn with_last_singular(mut words: Vec<String>) -> Vec<String> {
    if let Some(last) = words.last_mut() {
        *last = singular(last);
    }
    words
}

/// The values in the answers of one session, by argument.
#[derive(Debug, Clone)]
pub(crate) struct AnswerPool {
    /// The first call of the session.
    begin: u64,
    /// By argument: the calls whose answers held something for it, in order, and what.
    held: Vec<Vec<(u64, Value)>>,
}

impl AnswerPool {
    /// Nothing yet, for so many arguments.
    pub(crate) fn new(begin: u64, arguments: usize) -> Self {
        Self { begin, held: vec![Vec::new(); arguments] }
    }

    /// The answer to a call is still looked at.
    pub(crate) fn learns_from(&self, call: u64) -> bool {
        call < self.begin + LEARNING
    }

    /// The call whose answer must have come before that one is made.
    pub(crate) fn needs(&self, call: u64) -> Option<u64> {
        call.checked_sub(DISTANCE).filter(|needed| *needed >= self.begin && self.learns_from(*needed))
    }

    /// Looks at the answer to a call.
    pub(crate) fn learn(
        &mut self,
        call: u64,
        result: &Value,
        wanted: &[ConsumedArgument],
        is_own: &dyn Fn(&str) -> bool,
    ) {
        if !self.learns_from(call) {
            return;
        }
        let mut found: Vec<(usize, Value)> = Vec::new();
        let mut see = |names: &[String], value: &Value| {
            let is_good = value.as_str().is_none_or(|text| !text.is_empty() && text.len() <= LONGEST && !is_own(text));
            let fits = wanted.iter().enumerate().filter(|(_, wanted)| is_good && wanted.takes(names, value));
            for (at, _) in fits {
                if found.iter().filter(|(known, _)| *known == at).count() < MOST_OF_ONE {
                    found.push((at, value.clone()));
                }
            }
        };
        AnswerData::of_result(result).visit_leaves(&mut |leaf| see(leaf.names, leaf.value));
        for (at, value) in found {
            let held = &mut self.held[at];
            // Answers come in any order; what was learned has the order of the calls.
            let place = held.partition_point(|(known, _)| *known <= call);
            held.insert(place, (call, value));
        }
    }

    /// The values that a call may use for an argument.
    pub(crate) fn values(&self, argument: usize, call: u64) -> &[(u64, Value)] {
        let Some(last) = call.checked_sub(DISTANCE) else { return &[] };
        let held = &self.held[argument];
        &held[..held.partition_point(|(known, _)| *known <= last)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_find_their_arguments() {
        let check = |argument: &str, kind: &str, result: Value, expected: &[&str]| {
            let wanted = [ConsumedArgument::new(argument, &json!({"type": kind})).unwrap()];
            let mut pool = AnswerPool::new(0, 1);
            pool.learn(3, &result, &wanted, &|text| text == "own");
            assert!(pool.values(0, 3 + DISTANCE - 1).is_empty());
            let values: Vec<String> = pool.values(0, 3 + DISTANCE).iter().map(|(_, value)| value.to_string()).collect();
            assert_eq!(values, expected, "{argument}");
        };
        let users = json!({"structuredContent": {"users": [{"id": "u1", "name": "own"}, {"id": "u2", "name": "Ann"}]}});
        check("id", "string", users.clone(), &["\"u1\"", "\"u2\""]);
        check("user_id", "string", users.clone(), &["\"u1\"", "\"u2\""]);
        check("name", "string", users.clone(), &["\"Ann\""]);
        check("userId", "integer", users.clone(), &[]);
        check("query", "string", users, &[]);
        check("order_id", "integer", json!({"content": [{"text": "{\"order_id\": 7}"}]}), &["7"]);
    }

    #[test]
    fn arguments_take_what_is_theirs_by_name_and_kind() {
        for (argument, schema, names, value, expected) in [
            ("user_id", json!({"type": "string"}), &["users", "id"][..], json!("u1"), true),
            ("user_id", json!({"type": "string"}), &["user", "id"], json!("u1"), true),
            ("userId", json!({"type": "string"}), &["user_id"], json!("u1"), true),
            ("entry_id", json!({"type": "string"}), &["entries", "id"], json!("e1"), true),
            ("branch_key", json!({"type": "string"}), &["branches", "item_key"], json!("b1"), true),
            ("branch_key", json!({"type": "string"}), &["boxes", "item_key"], json!("b1"), false),
            ("id", json!({"type": "string"}), &["order_id"], json!("o1"), true),
            ("user_id", json!({"type": "string"}), &["order_id"], json!("o1"), false),
            ("user_id", json!({"type": "string"}), &["name"], json!("Ann"), false),
            ("user_id", json!({"type": "integer"}), &["id"], json!("u1"), false),
            ("query", json!({"type": "string"}), &["query"], json!("text"), true),
            ("country_code", json!({"type": "string"}), &["currency_code"], json!("EUR"), false),
        ] {
            let wanted = ConsumedArgument::new(argument, &schema).unwrap();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(wanted.takes(&names, &value), expected, "{argument} {names:?}");
        }
        for schema in [json!({"enum": ["a"], "type": "string"}), json!({"type": "boolean"}), json!({})] {
            assert!(ConsumedArgument::new("kind", &schema).is_none(), "{schema}");
        }
    }

    #[test]
    fn a_call_waits_for_the_answers_that_it_may_use() {
        let pool = AnswerPool::new(100, 0);
        for (call, needs) in [
            (100, None),
            (100 + DISTANCE - 1, None),
            (100 + DISTANCE, Some(100)),
            (100 + LEARNING + DISTANCE - 1, Some(100 + LEARNING - 1)),
            // Answers of later calls are not looked at.
            (100 + LEARNING + DISTANCE, None),
        ] {
            assert_eq!(pool.needs(call), needs, "{call}");
        }
    }
}
