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

/// A text in which some parts may be any. The words are looked up in it: a list of them takes many times its size.
#[derive(Debug, Clone)]
pub(crate) enum TextPattern {
    /// This one, but for the words with these numbers, in order.
    Words(String, Vec<usize>),
    /// The words at its ends.
    Ends(String, String),
}

/// The most words that may be any.
const MOST_FREE: usize = 10_000;

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
        let counts = (words_of(first).count(), words_of(second).count());
        let differing = zip(words_of(first), words_of(second)).enumerate().filter(|(_, (one, other))| one != other);
        let free: Vec<usize> = differing.map(|(at, _)| at).take(MOST_FREE + 1).collect();
        if counts.0 == counts.1 && free.len() <= MOST_FREE {
            return Self::Words(first.to_owned(), free);
        }
        let shorter = counts.0.min(counts.1);
        let equal = free.first().copied().unwrap_or(shorter);
        let begin: usize = words_of(first).take(equal).map(str::len).sum();
        let pairs = zip(words_of(first).rev(), words_of(second).rev()).take(shorter - equal);
        let end: usize = pairs.take_while(|(one, other)| one == other).map(|(one, _)| one.len()).sum();
        Self::Ends(first[..begin].to_owned(), first[first.len() - end..].to_owned())
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Words(pattern, free) => {
                let (mut words, mut free) = (words_of(text), free.iter().peekable());
                let fits = |(at, known): (usize, &str)| {
                    let is_free = free.next_if_eq(&&at).is_some();
                    words.next().is_some_and(|word| is_free || word == known)
                };
                words_of(pattern).enumerate().all(fits) && words.next().is_none()
            }
            Self::Ends(begin, end) => {
                words_of(text).count() >= words_of(begin).count() + words_of(end).count()
                    && zip(words_of(begin), words_of(text)).all(|(known, word)| known == word)
                    && zip(words_of(end).rev(), words_of(text).rev()).all(|(known, word)| known == word)
            }
        }
    }
}

/// Letters and digits that follow one another are a word, and any other character is one.
fn words_of(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_separator = |letter: char| !letter.is_alphanumeric();
    text.split_inclusive(is_separator).flat_map(move |piece| {
        let (word, separator) = piece.split_at(piece.rfind(is_separator).unwrap_or(piece.len()));
        [word, separator].into_iter().filter(|part| !part.is_empty())
    })
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
            assert_eq!(words_of(text).collect::<Vec<_>>(), expected);
            let reversed: Vec<&str> = words_of(text).rev().collect();
            assert!(reversed.iter().rev().eq(expected), "{text}");
        }
    }
}
