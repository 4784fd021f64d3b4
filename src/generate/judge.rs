//! What satisfies a schema, in the words of the `jsonschema` crate.

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::Unusable;
use super::schema::Schemas;

/// How often a pattern may start anew within a text before it does not match.
const BACKTRACKS: usize = 100_000;

/// Whether texts are held to the `format` of their schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formats {
    /// A format says what a text is for; whether it is one does not matter.
    Ignored,
    /// A text that is not of its format is refused.
    Held,
}

/// Makes a schema ready for judging values, without any network.
///
/// `Err` where it is no JSON Schema of its dialect, which is 2020-12 unless it says otherwise.
pub fn compile(schema: &Value, formats: Formats) -> Result<Validator, Unusable> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
    let options = jsonschema::options().offline().with_pattern_options(patterns);
    let options = options.should_validate_formats(formats == Formats::Held);
    options.build(schema).map_err(|error| Unusable::NotASchema(error.to_string()))
}

/// Judges values, but none that would take too long: such are neither valid nor blamed for anything.
#[derive(Debug)]
pub(super) struct Judge {
    validator: Validator,
    strict: Validator,
    schemas: Schemas,
    is_heavy: bool,
}

impl Judge {
    pub(super) fn new(schema: &Value, schemas: &Schemas) -> Result<Self, Unusable> {
        if let Some(endless) = schemas.endless() {
            let place = if endless.at.is_empty() { "the top" } else { &endless.at };
            return Err(Unusable::NotFound(format!("what is at `{place}` refers to too much to be judged")));
        }
        let (validator, strict) = (compile(schema, Formats::Ignored)?, compile(schema, Formats::Held)?);
        Ok(Self { validator, strict, schemas: schemas.clone(), is_heavy: schemas.is_heavy() })
    }

    /// Whether a value satisfies the schema.
    pub(super) fn takes(&self, value: &Value, formats: Formats) -> bool {
        let validator = match formats {
            Formats::Ignored => &self.validator,
            Formats::Held => &self.strict,
        };
        self.is_quick(value) && validator.is_valid(value)
    }

    /// What is wrong with a value in one sentence; `None` where it is valid.
    pub(super) fn refusal(&self, value: &Value) -> Option<String> {
        if !self.is_quick(value) {
            return Some("judging what was tried takes too long".to_owned());
        }
        let error = self.validator.validate(value).err()?;
        Some(format!("{} at `{}` refuses what was tried", error.masked_with("the value"), error.schema_path()))
    }

    /// Everything that is wrong with a value.
    pub(super) fn errors<'v>(&'v self, value: &'v Value) -> Vec<ValidationError<'v>> {
        let few = !self.is_heavy || (self.schemas.is_quick(value) && self.schemas.errors_are_few(value));
        if few { self.validator.iter_errors(value).collect() } else { Vec::new() }
    }

    fn is_quick(&self, value: &Value) -> bool {
        !self.is_heavy || self.schemas.is_quick(value)
    }
}
