//! `schema`: the value is valid against a JSON Schema (2020-12 unless it says otherwise), without any network.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, show};
use super::{LOST, ValueCheck, ValueMatcher};
use crate::schema::{Judge, name_of};
use crate::source::{Diagnostic, Located, Node, Span, grammar::Shape, grammar::key, template::has_template};
use crate::wire::format::compile;

pub(crate) static MATCHER: ValueMatcher = ValueMatcher {
    key: key(
        "schema",
        Shape::Either(&[Shape::NonEmpty(&Shape::Map(&Shape::Any)), Shape::Template]),
        "The value is valid against this JSON Schema (2020-12); remote references are refused.",
    )
    .cure("write for example `{ type: object }`"),
    judges: |_| LOST,
    build,
};

/// Why a value takes too long.
pub(crate) const TOO_LONG: &str = "its patterns, references and alternatives multiply without bound";

/// The label of a value that breaks a schema in too many ways to list.
const TOO_MANY: &str = "no alternative accepts it, for too many reasons to list";

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<ValueCheck> {
    if has_template(node) {
        return None;
    }
    let schema = node.to_json();
    let validator = match compile(&schema) {
        Ok(validator) => validator,
        Err(error) => {
            let place = node_at(node, error.instance_path().as_str()).map_or(key.span, |node| node.span);
            let problem = if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
                "a `$ref` points to nothing in this schema".to_owned()
            } else {
                sentence(&error)
            };
            found.push(wrong(&problem, place));
            return None;
        }
    };
    let judge = Judge::new(validator, &schema).map_err(|error| found.push(wrong(&error.to_string(), key.span)));
    let (judge, span) = (judge.ok()?, key.span);
    Some(ValueCheck::one(move |value, place| {
        let mismatch = match complaint(&judge, value)? {
            Complaint::Broken { first, label } => {
                Mismatch::new("schema", span, format!("{place} violates the schema{first}"), label)
            }
            Complaint::TooLong => {
                Mismatch::inconclusive(span, format!("validating {place} against the schema takes too long"), TOO_LONG)
            }
        };
        Some(mismatch.at(place, value))
    }))
}

fn wrong(problem: &str, place: Span) -> Diagnostic {
    Diagnostic::error("bad-schema", format!("invalid schema: {problem}"), place)
}

/// The way in which a value fails validation against a schema.
pub(crate) enum Complaint {
    /// The value breaks it.
    Broken {
        /// The position and the first violation: what follows "breaks the schema".
        first: String,
        /// The first few ways, and how many more there are.
        label: String,
    },
    /// Finding out takes too long.
    TooLong,
}

/// Validates a value against a schema; `None` where it is valid.
pub(crate) fn complaint(judge: &Judge, value: &Json) -> Option<Complaint> {
    // Nearly every answer is valid, and only the others need the costlier walk.
    match judge.is_valid(value) {
        Some(true) => return None,
        Some(false) => {}
        None => return Some(Complaint::TooLong),
    }
    let Some(errors) = judge.errors(value) else {
        return Some(Complaint::Broken { first: format!(": {TOO_MANY}"), label: TOO_MANY.to_owned() });
    };
    let errors: Vec<ValidationError<'_>> = errors.take(100).collect();
    let shown: Vec<String> = errors.iter().take(3).map(describe_error).collect();
    let more = errors.len().saturating_sub(shown.len());
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(Complaint::Broken { first: first_place(&errors), label: format!("{}{tail}", shown.join("; ")) })
}

/// ` at `a.0`: 1 is not of type "string"`, or ` in 3 places, first at …`.
fn first_place(errors: &[ValidationError<'_>]) -> String {
    let Some(first) = errors.first() else { return String::new() };
    let at = if first.instance_path().as_str().is_empty() { ": " } else { " at " };
    match errors.len() {
        1 => format!("{at}{}", describe_error(first)),
        number => format!(" in {number} places, first{at}{}", describe_error(first)),
    }
}

fn describe_error(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => sentence(error),
        path => format!("`{}`: {}", path.trim_start_matches('/').replace('/', "."), sentence(error)),
    }
}

fn sentence(error: &ValidationError<'_>) -> String {
    if matches!(error.kind(), ValidationErrorKind::FalseSchema) {
        return show::shorten(&format!("{} is not allowed here", error.instance()), 100);
    }
    show::shorten(error.to_string().trim_end_matches('.'), 100)
}

/// The node at a JSON pointer.
fn node_at<'a>(node: &'a Node, pointer: &str) -> Option<&'a Node> {
    pointer.split('/').skip(1).try_fold(node, |node, step| {
        let name = name_of(step);
        node.get(&name).or_else(|| node.items().get(name.parse::<usize>().ok()?))
    })
}
