//! The part that two answers to equal calls have in common, so that process ids, times and counters make no difference.

use std::iter::zip;

use serde_json::{Map, Value};

use super::shown_state::result_of;

/// The answers that a call may have: like one, but for what differed when the call was made again.
#[derive(Debug, Clone)]
pub(crate) enum AnswerPattern {
    /// Anything.
    Any,
    Same(Value),
    Text(TextPattern),
    List(Vec<AnswerPattern>),
    Members(Vec<(String, AnswerPattern)>),
}

/// A text in which some parts may be any.
#[derive(Debug, Clone)]
pub(crate) enum TextPattern {
    /// Its words, and `None` for any word.
    Words(Vec<Option<String>>),
    /// The words at its ends.
    Ends(Vec<String>, Vec<String>),
}

impl AnswerPattern {
    /// The pattern of two answers to the same call.
    pub(crate) fn of(first: &Value, second: &Value) -> Self {
        Self::of_values(&result_of(first), &result_of(second))
    }

    fn of_values(first: &Value, second: &Value) -> Self {
        match (first, second) {
            _ if first == second => Self::Same(first.clone()),
            (Value::String(first), Value::String(second)) => Self::Text(TextPattern::of(first, second)),
            (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
                Self::List(zip(items, others).map(|(item, other)| Self::of_values(item, other)).collect())
            }
            (Value::Object(members), Value::Object(others)) if have_same_names(members, others) => {
                let of_member =
                    |(name, value): (&String, &Value)| (name.clone(), Self::of_values(value, &others[name]));
                Self::Members(members.iter().map(of_member).collect())
            }
            _ => Self::Any,
        }
    }

    /// Returns true if an answer is like this.
    pub(crate) fn matches(&self, message: &Value) -> bool {
        self.matches_value(&result_of(message))
    }

    /// The same for an answer that may repeat what was sent: `sent` counts as `reference` in its texts.
    pub(crate) fn matches_echo(&self, message: &Value, sent: &str, reference: &str) -> bool {
        self.matches_value(&replace_text(&result_of(message), sent, reference))
    }

    fn matches_value(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _) => true,
            (Self::Same(same), _) => same == value,
            (Self::Text(pattern), Value::String(text)) => pattern.matches(text),
            (Self::List(patterns), Value::Array(items)) => {
                patterns.len() == items.len() && zip(patterns, items).all(|(pattern, item)| pattern.matches_value(item))
            }
            (Self::Members(patterns), Value::Object(members)) => {
                let matches = |(name, pattern): &(String, Self)| {
                    members.get(name).is_some_and(|member| pattern.matches_value(member))
                };
                patterns.len() == members.len() && patterns.iter().all(matches)
            }
            (Self::Text(_) | Self::List(_) | Self::Members(_), _) => false,
        }
    }
}

impl TextPattern {
    fn of(first: &str, second: &str) -> Self {
        let (words, others) = (words_of(first), words_of(second));
        if words.len() == others.len() {
            return Self::Words(
                zip(words, others).map(|(one, other)| (one == other).then(|| one.to_owned())).collect(),
            );
        }
        let shorter = words.len().min(others.len());
        let count_equal =
            |one: &mut dyn Iterator<Item = (&&str, &&str)>| one.take_while(|(one, other)| one == other).count();
        let begin = count_equal(&mut zip(&words, &others));
        let end = count_equal(&mut zip(words.iter().rev(), others.iter().rev())).min(shorter - begin);
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self::Ends(owned(&words[..begin]), owned(&words[words.len() - end..]))
    }

    fn matches(&self, text: &str) -> bool {
        let words = words_of(text);
        match self {
            Self::Words(pattern) => {
                let fits = |(known, word): (&Option<String>, &str)| known.as_deref().is_none_or(|known| known == word);
                pattern.len() == words.len() && zip(pattern, words.iter().copied()).all(fits)
            }
            Self::Ends(begin, end) => {
                words.len() >= begin.len() + end.len()
                    && zip(begin, &words).all(|(known, word)| known == word)
                    && zip(end.iter().rev(), words.iter().rev()).all(|(known, word)| known == word)
            }
        }
    }
}

/// Letters and digits that follow one another are a word, and any other character is one.
fn words_of(text: &str) -> Vec<&str> {
    let (mut words, mut from) = (Vec::new(), 0);
    for (at, letter) in text.char_indices().filter(|(_, letter)| !letter.is_alphanumeric()) {
        words.extend((from < at).then(|| &text[from..at]));
        from = at + letter.len_utf8();
        words.push(&text[at..from]);
    }
    words.extend((from < text.len()).then(|| &text[from..]));
    words
}

fn have_same_names(members: &Map<String, Value>, others: &Map<String, Value>) -> bool {
    members.len() == others.len() && members.keys().all(|name| others.contains_key(name))
}

fn replace_text(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) if !from.is_empty() => text.replace(from, to).into(),
        Value::Array(items) => items.iter().map(|item| replace_text(item, from, to)).collect(),
        Value::Object(members) => {
            let replaced = members.iter().map(|(name, member)| (name.clone(), replace_text(member, from, to)));
            Value::Object(replaced.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Value {
        json!({"result": {"content": [{"type": "text", "text": text}]}})
    }

    #[test]
    fn only_what_differs_between_equal_calls_may_differ() {
        for (first, second, other, expected) in [
            (text("PID 7\nran rm"), text("PID 8\nran rm"), text("PID 99\nran rm"), true),
            (text("PID 7\nran rm"), text("PID 8\nran rm"), text("PID 9\nran ls"), false),
            (text("PID 7\nran rm"), text("PID 7\nran rm"), text("PID 9\nran rm"), false),
            (text("took 1.5 s: rm"), text("took 2 s: rm"), text("took 12 ms, then s: rm"), true),
            (text("took 1.5 s: rm"), text("took 2 s: rm"), text("took 3 s: ls"), false),
            (text("aaa"), text("aa a"), text("aa"), true),
            (text(r#"{"pid":7,"ran":"rm"}"#), text(r#"{"pid":8,"ran":"rm"}"#), text(r#"{"pid":9,"ran":"rm"}"#), true),
            (text(r#"{"pid":7,"ran":"rm"}"#), text(r#"{"pid":8,"ran":"rm"}"#), text(r#"{"pid":9,"ran":"ls"}"#), false),
            (json!({"result": {"a": [1]}}), json!({"result": {"a": [2]}}), json!({"result": {"a": [3]}}), true),
            (json!({"result": {"a": [1]}}), json!({"result": {"a": [2]}}), json!({"result": {"a": [3, 4]}}), false),
            (json!({"result": {"a": 1, "b": 1}}), json!({"result": {"a": 2}}), json!({"result": {}}), true),
        ] {
            let pattern = AnswerPattern::of(&first, &second);
            assert_eq!(pattern.matches(&other), expected, "{first} {second} {other}");
        }
    }

    #[test]
    fn what_was_sent_counts_as_the_reference() {
        let pattern = AnswerPattern::of(&text("PID 7: rm: no operand"), &text("PID 8: rm: no operand"));
        for (answer, sent, expected) in [
            ("PID 9: /bin/rm: no operand", "/bin/rm", true),
            ("PID 9: ls: no operand", "/bin/ls", false),
            ("PID 9: rm: no operand", "\"rm\"", true),
            ("PID 9: rm: no operand", "", true),
        ] {
            assert_eq!(pattern.matches_echo(&text(answer), sent, "rm"), expected, "{answer}");
        }
    }

    #[test]
    fn words_are_letters_and_digits() {
        for (text, expected) in
            [("", &[][..]), ("PID 7", &["PID", " ", "7"]), ("é.1s", &["é", ".", "1s"]), ("::a", &[":", ":", "a"])]
        {
            assert_eq!(words_of(text), expected);
        }
    }
}
