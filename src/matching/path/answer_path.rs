//! Paths that this program writes: the way to a part of an answer, as `at:` takes it.

use std::fmt::Write as _;

use serde_json::Value;

/// A step from a value to one within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPathStep {
    /// Of an object.
    Member(String),
    /// Of a list.
    Index(usize),
    /// Into the JSON that a text holds.
    Json,
}

/// A path within an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnswerPath(pub Vec<AnswerPathStep>);

impl AnswerPath {
    /// The same with one more step.
    #[must_use]
    pub fn then(&self, step: AnswerPathStep) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// What is there.
    pub fn of(&self, value: &Value) -> Option<Value> {
        self.0.iter().try_fold(value.clone(), |value, step| match step {
            AnswerPathStep::Member(name) => value.get(name).cloned(),
            AnswerPathStep::Index(at) => value.get(at).cloned(),
            AnswerPathStep::Json => value.as_str().and_then(json_of_text),
        })
    }

    /// The path as `at:` takes it.
    pub fn text(&self) -> String {
        let mut path = String::new();
        for step in &self.0 {
            match step {
                AnswerPathStep::Index(index) => {
                    let _ = write!(path, "[{index}]");
                }
                AnswerPathStep::Json => path += ".json()",
                AnswerPathStep::Member(name) if is_plain(name) => {
                    let dot = if path.is_empty() { "" } else { "." };
                    let _ = write!(path, "{dot}{name}");
                }
                AnswerPathStep::Member(name) => {
                    let _ = write!(path, "[{}]", Value::from(name.as_str()));
                }
            }
        }
        path
    }

    /// The path in the fewest words that a person needs.
    pub fn short(&self) -> String {
        let known = ["result", "structuredContent"];
        let skipped = self
            .0
            .iter()
            .zip(known)
            .take_while(|(step, known)| matches!(step, AnswerPathStep::Member(n) if n == known));
        let skipped = skipped.count().min(self.0.len().saturating_sub(1));
        Self(self.0[skipped..].to_vec()).text()
    }

    /// The names on the way, innermost last.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0
            .iter()
            .filter_map(|step| if let AnswerPathStep::Member(name) = step { Some(name.as_str()) } else { None })
    }
}

fn is_plain(name: &str) -> bool {
    let is_odd = |c: char| ".[]()\"'$*".contains(c) || c.is_whitespace() || c.is_control();
    !name.is_empty() && !name.contains(is_odd)
}

/// The object or list that a text spells.
pub fn json_of_text(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}
