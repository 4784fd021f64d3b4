//! The identifier that the answer to a write gives to what was written.

use serde_json::Value;

use super::clients::NumberedAnswer;
use crate::check::answer_data::{AnswerData, outermost_first};
use crate::check::canary::Canaries;
use crate::source::{singular, words};

/// The identifier in the answer to a write.
pub(crate) fn identifier_of_write(write: &NumberedAnswer, tool: &str, canaries: &Canaries) -> Option<String> {
    identifier_of(&write.reply.whole().message, tool, &canaries.of(write.number))
}

/// The identifier: `id` of the outermost object that has one and shows the text of the call, or is all there is; or a
/// member such as `user_id`, where the tool's name has that noun. Any other number may well be the same in two answers:
/// how many records there are, when they were written, in which batch.
fn identifier_of(answer: &Value, tool: &str, canary: &str) -> Option<String> {
    AnswerData::of(answer).values().find_map(|whole| {
        let mut values = outermost_first(whole).into_iter();
        values.find_map(|value| own_identifier(value, tool, canary, value == whole))
    })
}

fn own_identifier(value: &Value, tool: &str, canary: &str, is_whole: bool) -> Option<String> {
    let members = value.as_object()?;
    let is_record = is_whole || value.to_string().contains(canary);
    let found = members.iter().find(|(name, _)| is_identifier(name, tool)).filter(|_| is_record)?;
    match found.1 {
        Value::String(text) if !text.contains(canary) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A member is called `id`, or has a noun of the tool before it: `user_id` and `userId` of `create_users`.
fn is_identifier(member: &str, tool: &str) -> bool {
    let name = words(member);
    let Some((last, noun)) = name.split_last() else { return false };
    let is_of_tool = |noun: &String| words(tool).iter().any(|word| word == noun || singular(word) == *noun);
    last == "id" && (noun.is_empty() || noun.len() == 1 && is_of_tool(&noun[0]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_names_the_record_is_an_identifier() {
        let check = |result: Value, expected: Option<&str>| {
            let answer = json!({"result": {"structuredContent": result}});
            assert_eq!(identifier_of(&answer, "create_user", "zq1").as_deref(), expected, "{answer}");
        };
        check(json!({"id": "u1"}), Some("u1"));
        check(json!({"user": {"id": 7, "name": "zq1"}, "total": 3}), Some("7"));
        check(json!({"batch": {"id": 3}, "user": {"id": "u2", "name": "zq1"}}), Some("u2"));
        check(json!({"user_id": "u3", "transaction_id": 9}), Some("u3"));
        check(json!({"userId": 4}), Some("4"));
        check(json!({"batch": {"id": 3}, "ok": true}), None);
        check(json!({"total": 3, "created_at": 1_700_000_000}), None);
        check(json!({"transaction_id": 9}), None);
        check(json!({"id": "zq1"}), None);
    }

    #[test]
    fn a_member_is_an_identifier_by_its_name_and_that_of_the_tool() {
        for (member, tool, expected) in [
            ("id", "create_user", true),
            ("ID", "create_user", true),
            ("user_id", "create_users", true),
            ("userId", "createUser", true),
            ("entryId", "add_entries", true),
            ("address_id", "add_addresses", true),
            ("batch_id", "create_user", false),
            ("user_name", "create_user", false),
            ("user_order_id", "create_user_order", false),
            ("ids", "create_user", false),
            ("userid", "create_user", false),
            ("", "create_user", false),
        ] {
            assert_eq!(is_identifier(member, tool), expected, "{member} {tool}");
        }
    }

    #[test]
    fn text_that_is_json_counts_and_other_text_does_not() {
        let answer = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        assert_eq!(identifier_of(&answer("{\"id\": 5}"), "add_task", "zq1").as_deref(), Some("5"));
        assert_eq!(identifier_of(&answer("task 5 of 5"), "add_task", "zq1"), None);
    }
}
