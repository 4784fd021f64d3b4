//! `assert`: an expression over the answer and every name that the suite provides.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::super::{Answer, mismatch::Mismatch, mismatch::MismatchWeight, read, reply::ResponseKind, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key, template};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "assert",
        Shape::Text,
        "An expression that must be true, such as `result.structuredContent.total == price * 2`; it can use the names \
         of the suite and `result`, `error`, `message`, `notifications`, `elapsed_ms`; with `http`, `send` and \
         `cancel` the members \
         of their answers too, such as `status`.",
    ),
    judges: |_| &[],
    build,
};

/// The names that the answer itself provides.
pub const PROVIDED: [&str; 5] = ["result", "error", "message", "notifications", "elapsed_ms"];

struct Assert {
    expression: String,
    /// The names that the expression uses, with their fields, such as `result.count`.
    used: BTreeSet<String>,
    span: Span,
}

fn build(_: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let expression = read::text(node)?.to_owned();
    if let Some(problem) = template::expression_problem(&expression) {
        let message = format!("invalid expression: {}", problem.trim_end_matches('.'));
        found.push(Diagnostic::error("bad-expression", message, node.span));
        return None;
    }
    let used = template::names_in(&expression);
    if used.is_empty() {
        let message = "the expression uses nothing of the answer, so it is always the same";
        let help = "use a part of the answer, as in `result.total > 1`".to_owned();
        found.push(Diagnostic::error("empty-expectation", message, node.span).with_help(help));
        return None;
    }
    let check = Assert { expression, used, span: node.span };
    Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
}

/// The names that an expression needs from the suite.
pub(crate) fn free_names(expression: &str) -> BTreeSet<String> {
    let names = template::names_in(expression).into_iter().filter_map(|used| used.split('.').next().map(str::to_owned));
    names.filter(|name| !PROVIDED.contains(&name.as_str())).collect()
}

impl Assert {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let names = self.names(answer);
        let (message, label) = match template::evaluate(&self.expression, &names) {
            Ok(value) if is_true(&value) => return,
            Ok(value) => (
                format!("the expression does not hold{}", self.because(answer)),
                format!("is {}", show::inline(&value)),
            ),
            Err(template::TemplateError::GivenUp(reason)) => {
                let message = "the expression could not be evaluated within the limits";
                found.push(Mismatch::new("assert", self.span, message, reason).with_weight(MismatchWeight::Unjudged));
                return;
            }
            Err(reason) => {
                let message = format!("the expression cannot be evaluated{}", self.because(answer));
                // The expression itself stands above.
                let reason = reason.to_string();
                let reason = reason.rsplit_once("` ").map_or(reason.as_str(), |(_, reason)| reason);
                (message, self.unknown(&names).unwrap_or_else(|| reason.to_owned()))
            }
        };
        found.push(
            Mismatch::new("assert", self.span, message, label)
                .with_expected(show::evidence(&self.expression))
                .with_actual(self.values(&names)),
        );
    }

    /// The suite's names and those of the answer; what the expression does not use is not copied.
    fn names(&self, answer: &Answer<'_>) -> template::Names {
        // A name within brackets is not found.
        let has_brackets = self.expression.contains('[');
        let is_used = |name: &str| {
            self.used.iter().any(|used| used.split('.').next() == Some(name))
                || has_brackets && has_word(&self.expression, name)
        };
        let mut names: template::Names = answer
            .names
            .iter()
            .filter(|(name, _)| is_used(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for name in PROVIDED.into_iter().filter(|name| is_used(name)) {
            let value = match name {
                "message" => answer.message.clone(),
                "notifications" => answer.notifications.iter().map(|notification| (**notification).clone()).collect(),
                "elapsed_ms" => u64::try_from(answer.elapsed.as_millis()).unwrap_or(u64::MAX).into(),
                member => answer.message.get(member).cloned().unwrap_or_default(),
            };
            names.insert(name.to_owned(), value);
        }
        // Answers that are no messages have members of their own, such as `status`; a name of the suite hides them.
        for (name, value) in answer.message.as_object().into_iter().flatten() {
            if is_used(name) && !names.contains_key(name) {
                names.insert(name.clone(), value.clone());
            }
        }
        names
    }

    /// Says of an error that it is why there is no result to look at.
    fn because(&self, answer: &Answer<'_>) -> String {
        let is_about = |name: &str| self.used.iter().any(|used| used.split('.').next() == Some(name));
        match ResponseKind::of(answer.message) {
            reply @ ResponseKind::Error(_) if is_about("result") => format!(": the answer is the {}", reply.describe()),
            ResponseKind::Error(_) | ResponseKind::Success(_) | ResponseKind::ToolError(_) | ResponseKind::Neither => {
                String::new()
            }
        }
    }

    /// Names a name that nothing provides.
    fn unknown(&self, names: &template::Names) -> Option<String> {
        let unknown =
            self.used.iter().filter_map(|used| used.split('.').next()).find(|name| !names.contains_key(*name))?;
        let known = names.keys().map(String::as_str).chain(PROVIDED);
        let hint = show::did_you_mean(unknown, known);
        Some(format!("there is no name `{unknown}`{hint}"))
    }

    fn values(&self, names: &template::Names) -> String {
        let shown = self.used.iter().map(|name| match template::evaluate(name, names) {
            Ok(value) => format!("{name} = {}", show::inline(&value)),
            Err(_) => format!("{name} is undefined"),
        });
        show::evidence(&shown.collect::<Vec<_>>().join(", "))
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).any(|found| found == word)
}

/// Empty and zero values are false, as in templates.
fn is_true(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(flag) => *flag,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(fields) => !fields.is_empty(),
    }
}
