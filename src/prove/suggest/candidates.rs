//! Expectations that may tell a changed answer from the recorded one, the best first.

use serde_json::{Value, json};

use super::answer::ExchangeAnswerKind;
use super::candidate::{CandidateExpectation, SuggestionContext};
use super::{lists, notifications, values};
use crate::source::duration_text;

/// Everything that could be expected, the best first; nothing is known yet of whether it tells the two apart.
pub(crate) fn candidates(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let mut found = endings(context);
    found.extend(forbidden(context));
    found.extend(errors(context));
    let schema = schema(context);
    let mut values = values::candidates(context);
    values.retain(|candidate| !(candidate.may_depend_on_state && context.writes));
    found.extend(context.list.map(|kind| lists::candidates(context, kind)).unwrap_or_default());
    if context.survivor.variant.starts_with("SCHEMA-") {
        found.extend(schema);
        found.extend(values);
    } else {
        let (stateful, firm): (Vec<_>, Vec<_>) =
            values.into_iter().partition(|candidate| candidate.may_depend_on_state);
        found.extend(firm.into_iter().chain(schema).chain(stateful));
    }
    found.extend(notifications::candidates(context));
    found.extend(latency(context));
    found
}

/// The difference in how the request ended.
fn endings(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let (was, is) = (context.healthy.kind(), context.changed.kind());
    if was == is {
        return Vec::new();
    }
    let fails = "fail where it has to answer";
    let works = "answer as if all were well where it has to refuse";
    let mut found = Vec::new();
    match was {
        ExchangeAnswerKind::Served if context.is_call() => {
            found.push(CandidateExpectation::new(json!({"is_error": false}), "it works", fails));
        }
        ExchangeAnswerKind::Served => {
            found.push(CandidateExpectation::new(json!({"at": "result", "type": "object"}), "it works", fails));
        }
        ExchangeAnswerKind::Failed => {
            found.push(CandidateExpectation::new(json!({"is_error": true}), "it is refused", works));
        }
        ExchangeAnswerKind::Refused => {
            let code = &context.healthy.message["error"]["code"];
            if code.is_i64() {
                found.push(CandidateExpectation::new(json!({"error": {"code": code}}), "it is refused", works));
            }
            found.push(CandidateExpectation::new(json!({"error": true}), "it is refused", works));
        }
        ExchangeAnswerKind::Odd => {}
    }
    found
}

/// The difference between errors.
fn errors(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let (was, is) = (&context.healthy.message, &context.changed.message);
    let mut found = Vec::new();
    if context.healthy.kind() == ExchangeAnswerKind::Served || context.healthy.kind() != context.changed.kind() {
        return found;
    }
    let code = &was["error"]["code"];
    if code.is_i64() && *code != is["error"]["code"] {
        let could = format!("refuse with another code than {code}");
        found.push(CandidateExpectation::new(json!({"error": {"code": code}}), "the code of the error", could));
    }
    let could = "give a reason that helps nobody to do better";
    let readable = |how: Value| CandidateExpectation::new(json!({"readable_error": how}), "the error helps", could);
    let text = was["error"]["message"].as_str().or(was["result"]["content"][0]["text"].as_str()).unwrap_or_default();
    let args = super::answer_path::scalars(&context.survivor.exchange.params()["arguments"]);
    let args = args.into_iter().map(|(_, value)| value).filter(|value| {
        value.as_str().is_some_and(|value| value.len() > 2 && super::step::whole_word(text, value).is_some())
    });
    found.extend(args.filter_map(|value| context.pin(&value)).map(|names| readable(json!({"names": names}))));
    found.push(readable(json!(true)));
    let message = was["error"]["message"].as_str().filter(|message| Some(*message) != is["error"]["message"].as_str());
    if let Some(message) = message {
        let other = is["error"]["message"].as_str().unwrap_or_default();
        found.extend(values::text_matchers(context, message, other).into_iter().map(|matchers| {
            let item = json!({"error": {"message": matchers}});
            CandidateExpectation::new(item, "the message of the error", "refuse with another message")
        }));
    }
    found
}

/// Forms of secrets, as a healthy server sends none.
const SECRETS: [&str; 2] =
    [r"(?i)\b(password|passwd|secret|token|api_?key)\s*[=:]\s*\S{4,}", r"[a-z]+://[^/\s:@]+:[^/\s@]+@"];

/// Texts that have no place in any answer.
fn forbidden(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let (what, item) = match context.survivor.variant {
        "SECURITY-TOOL-POISONING" | "SECURITY-RESULT-INJECTION" => {
            ("instructions to the model", json!({"no_instructions": true}))
        }
        "SECURITY-SECRET-LEAK" => ("secrets", json!({"no_text_matching": SECRETS})),
        _ => return Vec::new(),
    };
    vec![CandidateExpectation::new(item, format!("no {what}"), format!("answer with {what}"))]
}

/// The declared schema says it all.
fn schema(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let tool = context.survivor.exchange.tool().and_then(|tool| context.survivor.catalog.tool(tool));
    if tool.is_none_or(|tool| tool.output_schema().is_none()) || context.healthy.kind() != ExchangeAnswerKind::Served {
        return Vec::new();
    }
    let could = "answer with something else than its schema promises";
    let same = "answer with a text that contradicts the structured content";
    let text = CandidateExpectation::new(json!({"structured_text": true}), "the text and the structured content", same);
    let is_about_text = context.survivor.variant == "SCHEMA-TEXT-DIVERGENCE";
    let schema = CandidateExpectation::new(json!({"output_schema": true}), "the output schema", could);
    is_about_text.then_some(text).into_iter().chain([schema]).collect()
}

/// Times in milliseconds that people write.
const LIMITS: [u64; 11] = [1_000, 2_000, 3_000, 5_000, 10_000, 15_000, 20_000, 30_000, 60_000, 500, 200];

/// A time that the answer keeps and the changed one does not: at least twice what it took, and no less than a busy
/// machine needs now and then.
fn latency(context: &SuggestionContext<'_>) -> Vec<CandidateExpectation> {
    let (was, is) = (context.healthy.elapsed, context.changed.elapsed);
    let fits = |limit: &u64| {
        let limit = std::time::Duration::from_millis(*limit);
        was * 2 <= limit && limit < is
    };
    let Some(limit) = LIMITS.into_iter().find(fits) else { return Vec::new() };
    let under = if limit % 1_000 == 0 { format!("{}s", limit / 1_000) } else { format!("{limit}ms") };
    let could = format!("take {} to answer", duration_text(is));
    vec![CandidateExpectation::new(json!({"latency": {"under": under}}), "the time it takes", could)]
}
