//! `output_schema`: the structured content is what the tool's declared `outputSchema` promises, and what the text says.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value as Json;

use super::super::mismatch::{Mismatch, MismatchWeight};
use super::super::value::{Complaint, TOO_LONG, schema_complaint};
use super::super::{Answer, reply::ResponseKind, show, unknown_tool};
use super::{AnswerCheck, AnswerMatcher};
use crate::schema::{Judge, UnusableSchema, same};
use crate::source::{Span, grammar::Shape, grammar::key};
use crate::wire::format::{SchemaError, flaw};
use crate::wire::read_json;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "output_schema",
        Shape::True,
        "The structured content of a success is present and valid against the tool's output schema; a text block \
         whose JSON differs is a warning.",
    )
    .cure("leave it out where the schema does not matter"),
    judges: |_| &["SCHEMA-OUTPUT-MISMATCH", "SCHEMA-MISSING-STRUCTURED", "SCHEMA-TEXT-DIVERGENCE"],
    build: |key, _, _| {
        let check = OutputSchemaCheck { span: key.span, last: Mutex::default() };
        Some(AnswerCheck::all(move |answer, found| check.check(answer, found)))
    },
};

struct OutputSchemaCheck {
    span: Span,
    /// The schema of the last answer and what was made of it: the next one mostly has the same.
    last: Mutex<Option<(Json, Arc<Judge>)>>,
}

impl OutputSchemaCheck {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        found.extend(self.mismatch(answer));
        found.extend(self.divergence(answer));
    }

    fn judge(&self, schema: &Json) -> Result<Arc<Judge>, UnusableSchema> {
        let mut last = self.last.lock();
        if let Some((_, known)) = last.as_ref().filter(|(known, _)| known == schema) {
            return Ok(Arc::clone(known));
        }
        let judge = Arc::new(Judge::of(schema)?);
        *last = Some((schema.clone(), Arc::clone(&judge)));
        Ok(judge)
    }

    fn mismatch(&self, answer: &Answer<'_>) -> Option<Mismatch> {
        let fail = |message: String, label: &str| Some(Mismatch::new("output-schema", self.span, message, label));
        let Some(name) = answer.tool() else {
            return fail(
                format!("{} does not call a tool, so it has no output schema", answer.describe_request()),
                "needs a `call:`",
            );
        };
        let Some(tool) = answer.catalog.tool(name) else {
            return fail(unknown_tool(name, answer.catalog), "an unknown tool declares no schema");
        };
        let Some(schema) = tool.output_schema() else {
            return fail(
                format!("the tool `{name}` declares no `outputSchema`"),
                "there is no schema to check the answer against",
            );
        };
        let ResponseKind::Success(result) = ResponseKind::of(answer.message) else { return None };
        let Some(content) = result.get("structuredContent") else {
            let message =
                format!("the tool `{name}` declares an `outputSchema` and answers without `structuredContent`");
            return Some(
                Mismatch::new("missing-structured-content", self.span, message, "`structuredContent` is missing")
                    .with_path("result.structuredContent")
                    .with_actual(show::compact(result)),
            );
        };
        let unjudged = |reason: &str| {
            let message = format!("cannot tell whether the answer of `{name}` matches its output schema");
            Some(Mismatch::inconclusive(self.span, message, reason))
        };
        let judge = match self.judge(schema) {
            Ok(judge) => judge,
            Err(UnusableSchema::Endless(reason)) => return unjudged(&format!("validation takes too long: {reason}")),
            Err(
                UnusableSchema::NotASchema(reason)
                | UnusableSchema::NotFound(reason)
                | UnusableSchema::Unsatisfiable(reason),
            ) => {
                // It may lead to other documents, or be written for another engine, and be right.
                return match flaw(schema) {
                    Some(SchemaError::Unjudged(reason)) => unjudged(&reason),
                    Some(SchemaError::Broken(_)) | None => {
                        fail(format!("the `outputSchema` of `{name}` is not a valid schema"), &reason)
                    }
                };
            }
        };
        let (first, label) = match schema_complaint(&judge, content)? {
            Complaint::Broken { first, label } => (first, label),
            Complaint::TooLong => return unjudged(&format!("validating the answer takes too long: {TOO_LONG}")),
        };
        let message = format!("the structured content violates the output schema of `{name}`{first}");
        Some(
            Mismatch::new("output-schema", self.span, message, label)
                .with_path("result.structuredContent")
                .with_expected(show::compact(schema))
                .with_actual(show::compact(content)),
        )
    }

    /// A text for older clients that tells another story; a text that is no JSON may say anything.
    fn divergence(&self, answer: &Answer<'_>) -> Option<Mismatch> {
        let ResponseKind::Success(result) = ResponseKind::of(answer.message) else { return None };
        let content = result.get("structuredContent")?;
        let candidates: Vec<(usize, Json)> = values_in_texts(result);
        if candidates.iter().any(|(_, value)| same(content, value)) {
            return None;
        }
        let (at, other) = candidates.iter().find(|(_, value)| !holds(content, value))?;
        let message = format!("the text of `{}` differs from its structured content", answer.tool()?);
        let label = "clients without support for structured content read the text";
        Some(
            Mismatch::new("text-divergence", self.span, message, label)
                .with_weight(MismatchWeight::Warns)
                .with_path(format!("result.content[{at}].text"))
                .with_values(content, other),
        )
    }
}

/// One value is part of another: SDKs wrap lists in an object, and write their items one by one.
pub(crate) fn holds(whole: &Json, part: &Json) -> bool {
    same(whole, part)
        || match whole {
            Json::Object(fields) => fields.values().any(|value| holds(value, part)),
            Json::Array(items) => items.iter().any(|item| holds(item, part)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        }
}

/// The objects and lists that stand as JSON in blocks of text, with the places of the blocks; a text that is as it is
/// part of the structured content is none.
pub(crate) fn values_in_texts(result: &Json) -> Vec<(usize, Json)> {
    let blocks = result["content"].as_array().into_iter().flatten().enumerate();
    let texts = blocks
        .filter(|(_, block)| block["type"] == "text")
        .filter_map(|(at, block)| Some((at, block["text"].as_str()?)));
    let content = &result["structuredContent"];
    texts
        .filter(|(_, text)| !holds(content, &Json::from(*text)))
        .filter_map(|(at, text)| Some((at, read_json(text)?)))
        .filter(|(_, value)| value.is_object() || value.is_array())
        .collect()
}
