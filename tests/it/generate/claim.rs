//! Whether a value breaks what it is said to break: without that keyword, its schema takes it.
//!
//! Knows nothing of how blame is found in the program.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use mcprove::generate::InvalidValue;
use serde_json::{Value, json};

pub(super) fn check(name: &str, schema: &Value, violation: &InvalidValue) {
    let errors_of = |schema: &Value| {
        let judge = jsonschema::options().should_validate_formats(false).build(schema).unwrap();
        let errors = judge.iter_errors(&violation.value);
        errors.map(|error| format!("{}: {error}", error.schema_path())).collect::<Vec<_>>()
    };
    let before = errors_of(schema);
    assert!(!before.is_empty(), "{name}: {violation:?} is valid");
    let judge = jsonschema::options().should_validate_formats(false).build(schema).unwrap();
    let mut claimed = BTreeSet::new();
    judge.iter_errors(&violation.value).for_each(|error| claimed_paths(&error, violation, &mut claimed));
    // Errors tell places within their own resource of the schema.
    let mut resources = Vec::new();
    resource_roots(schema, "", &mut resources);
    let whole = |path: &String| resources.iter().map(|root| format!("{root}{path}")).collect::<Vec<_>>();
    let claimed = claimed.iter().flat_map(whole).filter(|path| schema.pointer(path).is_some());
    // An alternative that is loosened is enough: all of them at once may be too many for `oneOf`.
    let claimed: Vec<String> = claimed.take(10).collect();
    let chosen = |mask: usize| (0..claimed.len()).filter(move |at| mask & (1 << at) != 0).map(|at| &claimed[at]);
    let mut without =
        (0..1 << claimed.len()).map(|mask| chosen(mask).fold(schema.clone(), |schema, path| loosened(schema, path)));
    assert!(without.any(|schema| errors_of(&schema).is_empty()), "{name}: {violation:?} has the errors {before:#?}");
    assert!(!violation.says.is_empty(), "{name}: {violation:?}");
}

/// The pointers to the claimed keyword in the schema, as far as errors about the claimed place lead there.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of another crate, of which only compositions hold other errors"
)]
fn claimed_paths(error: &ValidationError<'_>, violation: &InvalidValue, found: &mut BTreeSet<String>) {
    // Whatever has the wrong type is in no enumeration either.
    let keywords = if violation.keyword == "type" { &["type", "enum", "const"][..] } else { &[&*violation.keyword] };
    let path = error.schema_path().as_str();
    if error.instance_path().as_str() == violation.at {
        if violation.keyword == "false" {
            found.insert(path.to_owned());
        }
        let steps: Vec<&str> = path.split('/').collect();
        let last = steps.iter().rposition(|step| keywords.contains(step));
        found.extend(last.map(|last| steps[..=last].join("/")));
    }
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            context.iter().flatten().for_each(|error| claimed_paths(error, violation, found));
        }
        _ => {}
    }
}

/// Pointers to the document, and to everything inside that is a resource of its own.
fn resource_roots(schema: &Value, at: &str, found: &mut Vec<String>) {
    if at.is_empty() || schema["$id"].is_string() {
        found.push(at.to_owned());
    }
    for (name, inner) in schema.as_object().into_iter().flatten() {
        resource_roots(inner, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
    }
}

/// A schema without the keyword that a pointer leads to, or with `true` where it leads to a subschema `false`.
fn loosened(mut schema: Value, path: &str) -> Value {
    if schema.pointer(path) == Some(&json!(false)) {
        *schema.pointer_mut(path).unwrap() = json!(true);
    } else if let Some((owner, keyword)) = path.rsplit_once('/') {
        let owner = schema.pointer_mut(owner).and_then(Value::as_object_mut);
        owner.map(|owner| match keyword {
            // Without it, one item would have to be there all the same.
            "minContains" => owner.insert(keyword.to_owned(), json!(0)),
            _ => owner.shift_remove(keyword),
        });
    }
    schema
}
