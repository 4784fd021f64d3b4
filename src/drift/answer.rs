//! The answers to the same calls: their shape is a promise, their values are worth a look.

use serde_json::Value;

use super::Versions;
use super::change::{ChangeLevel, ServerChange};
use super::schema::short;
use super::stable_answer::spelled_out;
use super::{Recorded, RecordedAnswer, RecordedOutcome};
use crate::schema::token;

/// Compares the answers of one tool, as far as it was called again.
pub(crate) fn compare(tool: &str, before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    let recorded = before.answers.iter().filter(|answer| answer.tool == tool);
    let pairs = recorded.filter_map(|old| {
        let is_same_call = |new: &&RecordedAnswer| new.tool == tool && new.arguments == old.arguments;
        Some((old, after.answers.iter().find(is_same_call)?))
    });
    pairs.flat_map(|(old, new)| answer(old, new)).collect()
}

fn answer(old: &RecordedAnswer, new: &RecordedAnswer) -> Vec<ServerChange> {
    let at = format!("answers/{}", old.tool);
    if old.outcome != new.outcome {
        let words = |outcome| match outcome {
            RecordedOutcome::Served => "served",
            RecordedOutcome::ToolError => "answered with a tool error",
            RecordedOutcome::Refused => "refused with a JSON-RPC error",
        };
        let (level, what) = match (old.outcome, new.outcome) {
            (RecordedOutcome::Served, _) => (ChangeLevel::Breaking, "answer-failed"),
            (_, RecordedOutcome::Served) => (ChangeLevel::Compatible, "answer-served"),
            (_, RecordedOutcome::ToolError | RecordedOutcome::Refused) => {
                (ChangeLevel::Compatible, "answer-changed-value")
            }
        };
        let says = format!("the call `{}` was {}, now it is {}", old.arguments, words(old.outcome), words(new.outcome));
        return vec![ServerChange::new(level, what, at, says).with_values(Some(&old.told), Some(&new.told))];
    }
    let (old, new) = (&spelled_out(old, new), &spelled_out(new, old));
    let mut found = Vec::new();
    let comparison =
        AnswerComparison { volatile: [&old.volatile, &new.volatile], is_error: old.outcome != RecordedOutcome::Served };
    comparison.values(&old.told, &new.told, &at, "", &mut found);
    found
}

struct AnswerComparison<'a> {
    volatile: [&'a Vec<String>; 2],
    /// The words of errors are no promise.
    is_error: bool,
}

impl AnswerComparison<'_> {
    fn values(&self, old: &Value, new: &Value, at: &str, pointer: &str, found: &mut Vec<ServerChange>) {
        if old == new {
            return;
        }
        let is_volatile = self.volatile.iter().any(|list| list.iter().any(|known| known == pointer));
        if is_volatile && (old.is_null() || new.is_null()) {
            return;
        }
        match (old, new) {
            (Value::Object(was), Value::Object(is)) => {
                for (name, value) in was {
                    let pointer = format!("{pointer}/{}", token(name));
                    match is.get(name) {
                        Some(other) => self.values(value, other, &format!("{at}/{name}"), &pointer, found),
                        None if self.volatile[0].contains(&pointer) => {}
                        None => self.shape(Versions { old, new }, &format!("{at}/{name}"), "is missing", found),
                    }
                }
                for name in is.keys().filter(|name| !was.contains_key(*name)) {
                    if !self.volatile[1].contains(&format!("{pointer}/{}", token(name))) {
                        let says = format!("`{name}` was added");
                        let change = ServerChange::compatible("answer-changed-value", format!("{at}/{name}"), says);
                        found.push(change.with_values(None, is.get(name)));
                    }
                }
            }
            (Value::Array(was), Value::Array(is)) => {
                if was.len() != is.len() {
                    let says = format!("the number of items changed from {} to {}", was.len(), is.len());
                    self.value(Versions { old, new }, at, says, found);
                }
                for (place, (was, is)) in was.iter().zip(is).enumerate() {
                    self.values(was, is, &format!("{at}/[{place}]"), &format!("{pointer}/{place}"), found);
                }
            }
            _ if kind(old) == kind(new) && is_volatile => {}
            _ if kind(old) == kind(new) && at.ends_with("/type") => {
                let says = format!("changed from {old} to {new}");
                self.shape(Versions { old, new }, at, &says, found);
            }
            _ if kind(old) == kind(new) || old.is_null() => {
                self.value(
                    Versions { old, new },
                    at,
                    format!("the value changed from {} to {}", short(old), short(new)),
                    found,
                );
            }
            _ => self.shape(Versions { old, new }, at, &format!("changed from {} to {}", kind(old), kind(new)), found),
        }
    }

    fn shape(&self, Versions { old, new }: Versions<'_>, at: &str, says: &str, found: &mut Vec<ServerChange>) {
        let name = at.rsplit('/').next().unwrap_or_default();
        let level = if self.is_error { ChangeLevel::Compatible } else { ChangeLevel::Breaking };
        let change = ServerChange::new(level, "answer-changed-shape", at, format!("`{name}` {says}"));
        found.push(change.with_values(Some(old), Some(new)));
    }

    fn value(&self, Versions { old, new }: Versions<'_>, at: &str, says: String, found: &mut Vec<ServerChange>) {
        let level = if self.is_error { ChangeLevel::Cosmetic } else { ChangeLevel::Compatible };
        found.push(ServerChange::new(level, "answer-changed-value", at, says).with_values(Some(old), Some(new)));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
