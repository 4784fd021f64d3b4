//! `schema`: the value is valid against a JSON Schema (2020-12 unless it says otherwise), without any network.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, read, show};
use super::{Check, LOST, Matcher, Place};
use crate::source::{Diagnostic, Located, Node, Span, Value, shape::Shape, shape::key, template::has_template};
use crate::wire::format::compile;

pub(super) static MATCHER: Matcher = Matcher {
    key: key(
        "schema",
        Shape::Either(&[Shape::Map(&Shape::Any), Shape::Flag, Shape::Template]),
        "The value is valid against this JSON Schema (2020-12); remote references are refused.",
    ),
    judges: |_| LOST,
    build,
};

struct Schema {
    validator: Validator,
    span: Span,
}

// The validator's own form is pages long.
impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Schema").field("span", &self.span).finish_non_exhaustive()
    }
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn Check>> {
    if has_template(node) {
        return None;
    }
    if node.flag() == Some(true) || matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        read::nothing_expected(key, "every value is valid against it; write for example `{ type: object }`", found);
        return None;
    }
    match compile(&node.to_json()) {
        Ok(validator) => Some(Box::new(Schema { validator, span: key.span })),
        Err(error) => {
            let place = node_at(node, error.instance_path().as_str()).map_or(key.span, |node| node.span);
            let problem = if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
                "a `$ref` leads to nothing in this schema".to_owned()
            } else {
                sentence(&error)
            };
            found.push(Diagnostic::error("bad-schema", format!("the schema is wrong: {problem}"), place));
            None
        }
    }
}

/// The first few ways in which a value breaks a schema, and how many there are.
pub(in super::super) fn complaints(validator: &Validator, value: &Json) -> Option<(usize, String)> {
    // Nearly every answer is valid, and only the others need the costlier walk.
    if validator.is_valid(value) {
        return None;
    }
    let errors: Vec<ValidationError<'_>> = validator.iter_errors(value).take(100).collect();
    let shown: Vec<String> = errors.iter().take(3).map(complaint).collect();
    let more = errors.len().saturating_sub(shown.len());
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some((errors.len(), format!("{}{tail}", shown.join("; "))))
}

fn complaint(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => sentence(error),
        path => format!("`{}`: {}", path.trim_start_matches('/').replace('/', "."), sentence(error)),
    }
}

fn sentence(error: &ValidationError<'_>) -> String {
    show::cut(error.to_string().trim_end_matches('.'), 100)
}

/// The node at a JSON pointer.
fn node_at<'a>(node: &'a Node, pointer: &str) -> Option<&'a Node> {
    pointer.split('/').skip(1).try_fold(node, |node, step| {
        let name = step.replace("~1", "/").replace("~0", "~");
        node.get(&name).or_else(|| node.items().get(name.parse::<usize>().ok()?))
    })
}

impl Check for Schema {
    fn check(&self, value: &Json, place: Place<'_>, found: &mut Vec<Mismatch>) {
        let Some((number, label)) = complaints(&self.validator, value) else { return };
        let message = format!("{place} breaks the schema in {}", show::count(number, "place"));
        found.push(
            Mismatch::new("schema", self.span, message, label)
                .with_path(place.path())
                .with_actual(show::compact(value)),
        );
    }
}
