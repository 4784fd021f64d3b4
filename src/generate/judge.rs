//! What satisfies a schema, in the words of the `jsonschema` crate.
//!
//! That crate remembers nothing on the way: there are schemas, and values for others, with which it is never done. What
//! a value costs is found out first where a schema may be one of those.

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::Unusable;
use super::schema::Schemas;
use crate::wire::format::options;

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
    let options = options(schema).should_validate_formats(formats == Formats::Held);
    options.build(schema).map_err(|error| Unusable::NotASchema(error.to_string()))
}

/// Judges values, but none that would take too long.
#[derive(Debug)]
pub struct Judge {
    validator: Validator,
    schemas: Schemas,
    is_heavy: bool,
}

impl Judge {
    /// Guards what a schema was compiled to.
    ///
    /// # Errors
    ///
    /// Judging takes too long whatever the value is.
    pub fn new(validator: Validator, schema: &Value) -> Result<Self, Unusable> {
        Self::with_schemas(validator, Schemas::read(schema))
    }

    fn with_schemas(validator: Validator, schemas: Schemas) -> Result<Self, Unusable> {
        if let Some(endless) = schemas.endless() {
            let what = if endless.at.is_empty() { "it".to_owned() } else { format!("what is at `{}`", endless.at) };
            return Err(Unusable::Endless(format!("{what} leads to too many subschemas")));
        }
        let is_heavy = schemas.is_heavy();
        Ok(Self { validator, schemas, is_heavy })
    }

    /// Whether a value satisfies the schema; `None` where finding out takes too long.
    pub fn is_valid(&self, value: &Value) -> Option<bool> {
        self.is_quick(value).then(|| self.validator.is_valid(value))
    }

    /// What is wrong with a value, found out one by one; `None` where that takes too long, which can be so although it
    /// is soon known that something is: an alternative that is not taken is refused for many reasons.
    pub fn errors<'v>(&'v self, value: &'v Value) -> Option<impl Iterator<Item = ValidationError<'v>>> {
        let are_few = !self.is_heavy || (self.schemas.is_quick(value) && self.schemas.errors_are_few(value));
        are_few.then(|| self.validator.iter_errors(value))
    }

    fn is_quick(&self, value: &Value) -> bool {
        !self.is_heavy || self.schemas.is_quick(value)
    }
}

/// Judges with formats and without them: a value that takes too long is neither valid nor blamed for anything.
#[derive(Debug)]
pub(super) struct Judges {
    plain: Judge,
    strict: Validator,
}

impl Judges {
    pub(super) fn new(schema: &Value, schemas: &Schemas) -> Result<Self, Unusable> {
        let plain = Judge::with_schemas(compile(schema, Formats::Ignored)?, schemas.clone())?;
        Ok(Self { plain, strict: compile(schema, Formats::Held)? })
    }

    /// Whether a value satisfies the schema.
    pub(super) fn takes(&self, value: &Value, formats: Formats) -> bool {
        match formats {
            Formats::Ignored => self.plain.is_valid(value).unwrap_or(false),
            Formats::Held => self.plain.is_quick(value) && self.strict.is_valid(value),
        }
    }

    /// What is wrong with a value in one sentence; `None` where it is valid.
    pub(super) fn refusal(&self, value: &Value) -> Option<String> {
        let Some(mut errors) = self.plain.errors(value) else {
            return Some("judging what was tried takes too long".to_owned());
        };
        let error = errors.next()?;
        Some(format!("{} at `{}` refuses what was tried", error.masked_with("the value"), error.schema_path()))
    }

    /// Everything that is wrong with a value.
    pub(super) fn errors<'v>(&'v self, value: &'v Value) -> Vec<ValidationError<'v>> {
        self.plain.errors(value).into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(schema: &Value) -> Result<Judge, Unusable> {
        Judge::new(compile(schema, Formats::Ignored).unwrap(), schema)
    }

    /// A value within a value within a value.
    fn nested(depth: usize, innermost: Value, outer: impl Fn(Value) -> Value) -> Value {
        (0..depth).fold(innermost, |value, _| outer(value))
    }

    #[test]
    fn what_leads_to_itself_is_judged() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        ] {
            assert_eq!(judge(&schema).unwrap().is_valid(&json!({"x": 1})), Some(true), "{schema}");
        }
        let list = judge(&json!({"properties": {"next": {"$ref": "#"}}, "additionalProperties": false})).unwrap();
        let long = |innermost| nested(120, innermost, |value| json!({"next": value}));
        assert_eq!(list.is_valid(&long(json!({}))), Some(true));
        assert_eq!(list.is_valid(&long(json!({"other": 1}))), Some(false));
    }

    #[test]
    fn what_leads_everywhere_is_not_judged() {
        let mut steps = serde_json::Map::new();
        for step in 0..40 {
            let next = json!({"$ref": format!("#/$defs/{}", step + 1)});
            steps.insert(step.to_string(), json!({"allOf": [next, next]}));
        }
        steps.insert("40".to_owned(), json!(true));
        let endless = judge(&json!({"$defs": steps, "$ref": "#/$defs/0"}));
        assert!(matches!(endless, Err(Unusable::Endless(_))), "{endless:?}");

        let again = |inner| json!({"anyOf": [inner], "unevaluatedProperties": false});
        let endless = judge(&nested(40, json!({"properties": {"x": true}}), again));
        assert!(matches!(endless, Err(Unusable::Endless(_))), "{endless:?}");
    }

    #[test]
    fn it_depends_on_the_value() {
        let twice = judge(&json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "required": ["a"]}));
        let twice = twice.unwrap();
        let deep = |depth| nested(depth, json!({}), |value| json!({"a": value}));
        assert_eq!((twice.is_valid(&deep(5)), twice.is_valid(&deep(60))), (Some(false), None));

        let kind = |at| json!({"properties": {"kind": {"const": at}, "next": {"$ref": "#"}}, "required": ["kind"]});
        let kinds: Vec<Value> = (0..30).map(kind).collect();
        let kinds = judge(&json!({"anyOf": kinds})).unwrap();
        let deep = |innermost| nested(30, innermost, |value| json!({"kind": 29, "next": value}));
        assert_eq!(kinds.is_valid(&deep(json!({"kind": 3}))), Some(true));
        let wrong = deep(json!({"kind": 30}));
        assert_eq!(kinds.is_valid(&wrong), Some(false));
        // All that the alternatives say would be as many sentences as there are ways through them.
        assert!(kinds.errors(&wrong).is_none());
    }
}
