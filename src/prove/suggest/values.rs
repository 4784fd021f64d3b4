//! Expectations of the values of an answer.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::ExchangeAnswerKind;
use super::answer_path::{Difference, differences, scalars, short};
use super::candidate::{CandidateExpectation, SuggestionContext};
use super::prelude::may_write;
use crate::fault::requested_limit;
use crate::path::{DottedPath, PathStep, json_of_text};
use crate::reproduce::{CallEffect, Confidence, confidence, is_fleeting, json_type, likenesses};

/// The most characters of a text that stands in a suite as a whole.
const SHORT: usize = 60;

/// The mistake of a server that changes a value.
const DIFFERENTLY: &str = "answer with another";

/// The order of expectations: firm before state-dependent, precise before vague.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Preference {
    Exact,
    Structural,
    Pattern,
    StateDependent,
}

/// Expectations where two answers differ.
pub(crate) fn candidates(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    if context.healthy.kind() == ExchangeAnswerKind::Odd {
        return Vec::new();
    }
    let mut found: Vec<(Preference, usize, CandidateExpectation)> = Vec::new();
    for difference in differences(&context.healthy.content(), &context.changed.content()) {
        let rank = rank(&difference.path);
        found.extend(at(context, &difference).into_iter().map(|(preference, candidate)| (preference, rank, candidate)));
    }
    found.sort_by_key(|(preference, rank, _)| (*preference, *rank));
    found.into_iter().map(|(_, _, candidate)| candidate).collect()
}

/// The values that a reader cares about come first.
fn rank(path: &DottedPath) -> usize {
    let names: Vec<&str> = path.names().take(2).collect();
    match names.as_slice() {
        ["result", "structuredContent"] => 0,
        ["result", "content" | "contents" | "messages" | "completion"] | ["error", _] => 1,
        ["result", "_meta" | "resultType"] => 3,
        _ => 2,
    }
}

fn at(context: &SuggestionContext<'_>, difference: &Difference) -> Vec<(Preference, CandidateExpectation)> {
    let Difference { path, healthy, changed } = difference;
    let (written, short) = (path.to_string(), short(path));
    let expected = |matchers: Value, could: &str| {
        let mut item = json!({"at": written});
        if let (Some(item), Value::Object(matchers)) = (item.as_object_mut(), matchers) {
            item.extend(matchers);
        }
        let could = match could {
            DIFFERENTLY if is_content(path) => "answer with other blocks in `content`".to_owned(),
            _ => format!("{could} `{short}`"),
        };
        CandidateExpectation::new(item, short.clone(), could)
    };
    match (healthy, changed) {
        (None, _) => vec![(Preference::Structural, expected(json!({"exists": false}), "answer with an additional"))],
        (Some(value), changed) => {
            let could = if changed.is_none() { "answer without" } else { DIFFERENTLY };
            let confidence = confidence_at(context, path, value);
            if let (Value::String(one), Some(Value::String(other))) = (value, changed)
                && is_block_text(path)
            {
                let json = json_of_text(one).map(|whole| {
                    let inside = path.then(PathStep::Json).to_string();
                    let item = json!({"at": inside, "type": json_type(&whole)});
                    (
                        Preference::Exact,
                        CandidateExpectation::new(item, "the text", "answer with a text that is no JSON"),
                    )
                });
                return texts(context, one, other, if json.is_some() { Confidence::Stateful } else { confidence })
                    .into_iter()
                    .chain(json)
                    .collect();
            }
            let other = changed.as_ref().unwrap_or(&Value::Null);
            let mut found: Vec<(Preference, CandidateExpectation)> = exact(context, value, other)
                .into_iter()
                .map(|matchers| match confidence {
                    Confidence::High if !counts(&matchers) || is_content(path) => {
                        (Preference::Exact, expected(matchers, could))
                    }
                    Confidence::High | Confidence::Stateful | Confidence::Volatile => (
                        Preference::StateDependent,
                        CandidateExpectation { may_depend_on_state: true, ..expected(matchers, could) },
                    ),
                })
                .filter(|(preference, _)| {
                    confidence != Confidence::Volatile || *preference != Preference::StateDependent
                })
                .collect();
            if let Some(limit) = exceeded_limit(context, value, other) {
                let bound = expected(json!({"length": {"max": limit}}), "answer with more than was asked for in");
                found.push((Preference::Exact, bound));
            }
            let preference = if confidence == Confidence::High { Preference::Structural } else { Preference::Pattern };
            found.extend(
                likenesses(value)
                    .into_iter()
                    // Of a value that comes back, its digits need no pattern.
                    .filter(|(matcher, _)| confidence != Confidence::High || !["matches", "at_least"].contains(matcher))
                    .map(|(matcher, like)| (preference, expected(json!({ matcher: like }), could))),
            );
            found
        }
    }
}

/// The number of items that a call asks for, if the list keeps to it and the changed one does not.
fn exceeded_limit(context: &SuggestionContext<'_>, value: &Value, other: &Value) -> Option<usize> {
    let limit = requested_limit(&context.survivor.exchange.params()["arguments"])?;
    (value.as_array()?.len() <= limit && limit < other.as_array()?.len()).then_some(limit)
}

/// The list of blocks, whose length no state changes.
fn is_content(path: &DottedPath) -> bool {
    path.to_string() == "result.content"
}

/// Matchers that expect a number of items or characters.
fn counts(matchers: &Value) -> bool {
    matchers.get("length").is_some_and(Value::is_number)
}

pub(crate) fn confidence_at(context: &SuggestionContext<'_>, path: &DottedPath, value: &Value) -> Confidence {
    let is_like = |other: &super::answer::ExchangeAnswer| path.find(&other.content()).as_ref() == Some(value);
    if !context.others.iter().all(is_like) {
        return Confidence::Volatile;
    }
    let is_known = context.known.iter().any(|(_, known)| known == value);
    let sent = scalars(context.survivor.exchange.params());
    let is_echo = value.as_str().is_some_and(|text| text.len() > 1) && sent.iter().any(|(_, sent)| sent == value);
    if is_known || is_echo {
        return Confidence::High;
    }
    let writes = may_write(context.survivor.exchange, context.survivor.catalog);
    let effect = if writes { CallEffect::MayWrite } else { CallEffect::Reads };
    let Some(inner) = value.as_str().and_then(json_of_text) else { return confidence(path, value, effect) };
    // A text that spells an object is no better than what is in it.
    let inside =
        scalars(&inner).into_iter().filter(|(_, value)| !context.known.iter().any(|(_, known)| known == value));
    inside.map(|(path, value)| confidence(&path, &value, effect)).max().unwrap_or(Confidence::High)
}

/// The text of a block, which `text:` looks at.
fn is_block_text(path: &DottedPath) -> bool {
    let [PathStep::Member(result), PathStep::Member(list), PathStep::Index(_), rest @ ..] = path.steps.as_slice()
    else {
        return false;
    };
    let ends_with = |name: &str, rest: &[PathStep]| matches!(rest, [PathStep::Member(end)] if end == name);
    result == "result"
        && match list.as_str() {
            "content" | "contents" => ends_with("text", rest),
            "messages" => {
                matches!(rest, [PathStep::Member(content), PathStep::Member(text)] if content == "content" && text == "text")
            }
            _ => false,
        }
}

fn texts(
    context: &SuggestionContext<'_>,
    one: &str,
    other: &str,
    confidence: Confidence,
) -> Vec<(Preference, CandidateExpectation)> {
    let preference = if confidence == Confidence::High { Preference::Exact } else { Preference::Structural };
    let matchers = text_matchers(context, one, other);
    let is_fit = |matchers: &Value| confidence != Confidence::Volatile || matchers.get("contains").is_some();
    let mut found: Vec<(Preference, CandidateExpectation)> = matchers
        .into_iter()
        .filter(is_fit)
        .map(|matchers| {
            let may_depend_on_state = confidence == Confidence::Stateful || counts(&matchers);
            let item = json!({"text": matchers});
            let preference = if may_depend_on_state { Preference::StateDependent } else { preference };
            (
                preference,
                CandidateExpectation {
                    may_depend_on_state,
                    ..CandidateExpectation::new(item, "the text", "answer with another text")
                },
            )
        })
        .collect();
    if other.trim().is_empty() {
        let some = json!({"text": {"matches": "\\S"}});
        found.push((Preference::Structural, CandidateExpectation::new(some, "the text", "answer with no text")));
    }
    found
}

/// Matchers of a text that hold for one and not for the other, as far as is known.
pub(crate) fn text_matchers(context: &SuggestionContext<'_>, one: &str, other: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut push = |matcher: &str, value: Value| {
        found.extend(context.pin(&value).map(|value| json!({ matcher: value })));
    };
    let is_short = one.chars().count() <= SHORT && !one.contains('\n');
    if is_short && !one.trim().is_empty() && !is_fleeting(one) {
        push("equals", one.into());
    }
    for part in distinctive(one, other) {
        push("contains", part.into());
    }
    if !is_fleeting(one) {
        found.push(json!({"length": one.chars().count()}));
    }
    found
}

/// Parts of a text that the other does not have, in whole words where possible.
fn distinctive(one: &str, other: &str) -> Vec<String> {
    let common: usize = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let rest = &one[common..];
    let begin = common + (rest.len() - rest.trim_start().len());
    if begin >= one.len() {
        return Vec::new();
    }
    let line = one[..begin].rfind('\n').map_or(0, |at| at + 1);
    let line_end = one[begin..].find('\n').map_or(one.len(), |at| begin + at);
    let near = |at: usize, chars: usize| {
        one[line..at].char_indices().rev().take(chars).last().map_or(at, |(offset, _)| line + offset)
    };
    let far =
        |chars: usize| one[begin..line_end].char_indices().nth(chars).map_or(line_end, |(offset, _)| begin + offset);
    let spans = [(near(begin, 24), far(36)), (near(begin, 8), far(16)), (begin, far(8)), (begin, far(SHORT))];
    let parts = spans.into_iter().map(|(start, end)| whole_words(one, start..end, begin).to_owned());
    let mut parts: Vec<String> =
        parts.filter(|part| !part.is_empty() && !other.contains(part.as_str()) && !is_fleeting(part)).collect();
    parts.dedup();
    parts
}

/// A part of a text without the halves of words at its ends.
fn whole_words(text: &str, part: Range<usize>, middle: usize) -> &str {
    let Range { start, end } = part;
    let is_within = |at: usize| {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        is_word(text[..at].chars().next_back()) && is_word(text[at..].chars().next())
    };
    let start = if is_within(start) {
        text[start..middle].find(|c: char| !c.is_alphanumeric()).map_or(start, |offset| start + offset)
    } else {
        start
    };
    let end = if is_within(end) {
        text[middle..end].rfind(|c: char| !c.is_alphanumeric()).filter(|at| *at > 0).map_or(end, |at| middle + at)
    } else {
        end
    };
    text[start..end].trim()
}

/// Matchers that say what a value is.
fn exact(context: &SuggestionContext<'_>, value: &Value, other: &Value) -> Vec<Value> {
    let equals = || context.pin(value).map(|value| json!({"equals": value})).into_iter().collect();
    match value {
        Value::String(text) => match other.as_str() {
            Some(other) => text_matchers(context, text, other),
            None if text.chars().count() <= SHORT => equals(),
            None => Vec::new(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => equals(),
        Value::Array(items) => elements(context, items, other),
        Value::Object(members) => {
            let is_lost = other.as_object().is_some_and(serde_json::Map::is_empty);
            if is_lost && !members.is_empty() { vec![json!({"length": {"min": 1}})] } else { Vec::new() }
        }
    }
}

/// Matchers of a list that has other elements.
fn elements(context: &SuggestionContext<'_>, items: &[Value], other: &Value) -> Vec<Value> {
    let others = other.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    for item in items.iter().filter(|item| !others.contains(item)).take(3) {
        let is_short = |value: &Value| value.to_string().len() <= SHORT;
        if let Value::Object(members) = item {
            let named = members.iter().find(|(name, value)| {
                let path = DottedPath { steps: vec![PathStep::Member((*name).clone())] };
                value.is_string() && is_short(value) && confidence_at(context, &path, value) == Confidence::High
            });
            let pinned = named.and_then(|(name, value)| Some((name, context.pin(value)?)));
            found.extend(pinned.map(|(name, value)| json!({"some": {"includes": { name: value }}})));
        } else if is_short(item) && !item.is_array() {
            found.extend(context.pin(item).map(|item| json!({"contains": item})));
        }
    }
    if other.is_array() {
        found.push(json!({"length": items.len()}));
        if others.is_empty() {
            found.push(json!({"length": {"min": 1}}));
        }
    } else {
        found.push(json!({"type": json_type(&Value::Array(Vec::new()))}));
    }
    found
}
