//! Attributes the errors of a value to keywords.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::schema::Judges;

/// Whether a value breaks one keyword at one place and nothing else, and how many steps it took to find out.
pub(super) fn breaks_only(judge: &Judges, value: &Value, keyword: &str, at: &str) -> (bool, usize) {
    let (errors, steps) = judge.errors(value);
    (all_blame(&errors, keyword, at), steps)
}

/// Whether there are errors, and all of them blame what is claimed.
fn all_blame(errors: &[ValidationError<'_>], keyword: &str, at: &str) -> bool {
    let mut claimed = false;
    errors.iter().all(|error| {
        let blames = blames(error, keyword, at);
        claimed |= blames && !is_consequence(error, keyword, at);
        blames
    }) && claimed
}

fn blames(error: &ValidationError<'_>, keyword: &str, at: &str) -> bool {
    let here = error.instance_path().as_str() == at;
    if (here && keyword_of(error) == keyword) || is_consequence(error, keyword, at) {
        return true;
    }
    // Composition wraps what went wrong inside: the alternative that was meant has to blame the claimed keyword alone.
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
        return context.iter().any(|errors| all_blame(errors, keyword, at));
    }
    false
}

/// A value of the wrong type is in no enumeration either.
fn is_consequence(error: &ValidationError<'_>, keyword: &str, at: &str) -> bool {
    keyword == "type" && error.instance_path().as_str() == at && ["enum", "const"].contains(&keyword_of(error))
}

/// The keyword that an error is about.
fn keyword_of<'a>(error: &'a ValidationError<'_>) -> &'a str {
    let path = error.schema_path().as_str();
    if matches!(error.kind(), ValidationErrorKind::FalseSchema) {
        // An object that has no properties at all is closed in this way.
        let closed = path.strip_suffix("/additionalProperties").is_some_and(|of| !of.ends_with("/properties"));
        return if closed { "additionalProperties" } else { "false" };
    }
    if matches!(error.kind(), ValidationErrorKind::Required { .. }) && !path.ends_with("/required") {
        let known = ["dependentRequired", "dependencies"];
        return known.into_iter().find(|known| path.contains(known)).unwrap_or("required");
    }
    if matches!(error.kind(), ValidationErrorKind::Contains) {
        return path.rsplit('/').next().unwrap_or("contains");
    }
    error.kind().keyword()
}
