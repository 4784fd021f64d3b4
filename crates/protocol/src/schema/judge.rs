//! Validates values against a schema with the `jsonschema` crate.
//!
//! There are schemas, and values for others, with which that crate is never done. What a value costs is found out first
//! where a schema may be one of those.

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::{STEPS, Schemas};
use crate::wire::format;

/// Why nothing can be made from a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableSchema {
    /// It is no JSON Schema.
    #[error("it is not a valid JSON Schema: {0}")]
    NotASchema(String),
    /// No value satisfies it.
    #[error("no value can satisfy it: {0}")]
    Unsatisfiable(String),
    /// Values may exist, but none was found.
    #[error("no value that satisfies it was found: {0}")]
    NotFound(String),
    /// Validating a value would take too long.
    #[error("validating any value takes too long: {0}")]
    Endless(String),
}

/// The treatment of `format` in validation.
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
pub fn compile(schema: &Value, formats: Formats) -> Result<Validator, UnusableSchema> {
    refuse_large(schema)?;
    let options = format::options(schema).should_validate_formats(formats == Formats::Held);
    options.build(schema).map_err(|error| UnusableSchema::NotASchema(error.to_string()))
}

fn refuse_large(schema: &Value) -> Result<(), UnusableSchema> {
    format::is_too_large(schema).map_or(Ok(()), |why| Err(UnusableSchema::Endless(why)))
}

/// Judges values, but none that would take too long.
#[derive(Debug)]
pub struct Judge {
    validator: Validator,
    schemas: Schemas,
    /// The number of steps that a place of a value takes at most; `None` where that depends on the value.
    weight: Option<usize>,
}

impl Judge {
    /// Makes a schema ready, with formats as its dialect has them.
    ///
    /// # Errors
    ///
    /// It is no JSON Schema, or judging takes too long whatever the value is.
    pub fn of(schema: &Value) -> Result<Self, UnusableSchema> {
        refuse_large(schema)?;
        let validator = format::compile(schema).map_err(|error| UnusableSchema::NotASchema(error.to_string()))?;
        Self::new(validator, schema)
    }

    /// Guards what a schema was compiled to.
    ///
    /// # Errors
    ///
    /// Judging takes too long whatever the value is.
    pub fn new(validator: Validator, schema: &Value) -> Result<Self, UnusableSchema> {
        Self::with_schemas(validator, Schemas::parse(schema))
    }

    fn with_schemas(validator: Validator, schemas: Schemas) -> Result<Self, UnusableSchema> {
        if let Some(endless) = schemas.endless() {
            let what = if endless.at.is_empty() { "it".to_owned() } else { format!("the schema at `{}`", endless.at) };
            return Err(UnusableSchema::Endless(format!("{what} leads to too many subschemas")));
        }
        let weight = schemas.weight();
        Ok(Self { validator, schemas, weight })
    }

    /// A value satisfies the schema; `None` where finding out takes too long.
    pub fn is_valid(&self, value: &Value) -> Option<bool> {
        self.is_quick(value).then(|| self.validator.is_valid(value))
    }

    /// The errors of a value; `None` where collecting them takes too long, even if the value is known to be invalid: an
    /// alternative may fail for many reasons.
    pub fn errors<'v>(&'v self, value: &'v Value) -> Option<impl Iterator<Item = ValidationError<'v>>> {
        self.counted_errors(value).map(|(errors, _)| errors)
    }

    /// The same, with how many steps it takes to find all of them.
    fn counted_errors<'v>(&'v self, value: &'v Value) -> Option<(impl Iterator<Item = ValidationError<'v>>, usize)> {
        let steps = if self.is_quick(value) { self.schemas.errors(value) } else { None };
        steps.map(|steps| (self.validator.iter_errors(value), steps))
    }

    fn is_quick(&self, value: &Value) -> bool {
        Schemas::is_light(self.weight, value) || self.schemas.is_quick(value)
    }
}

/// Judges with formats and without them: a value that takes too long is neither valid nor blamed for anything.
#[derive(Debug)]
pub(crate) struct Judges {
    plain: Judge,
    strict: Validator,
}

impl Judges {
    pub(crate) fn new(schema: &Value, schemas: &Schemas) -> Result<Self, UnusableSchema> {
        let plain = Judge::with_schemas(compile(schema, Formats::Ignored)?, schemas.clone())?;
        Ok(Self { plain, strict: compile(schema, Formats::Held)? })
    }

    /// A value satisfies the schema.
    pub(crate) fn takes(&self, value: &Value, formats: Formats) -> bool {
        match formats {
            Formats::Ignored => self.plain.is_valid(value).unwrap_or(false),
            Formats::Held => self.plain.is_quick(value) && self.strict.is_valid(value),
        }
    }

    /// A value is known to break the schema, whatever its formats say.
    pub(crate) fn refuses(&self, value: &Value) -> bool {
        self.plain.is_valid(value) == Some(false)
    }

    /// The first error of a value in one sentence; `None` where it is valid.
    pub(crate) fn refusal(&self, value: &Value) -> Option<String> {
        let Some(mut errors) = self.plain.errors(value) else {
            return Some("validating the values that were tried takes too long".to_owned());
        };
        let error = errors.next()?;
        Some(format!(
            "{} at `{}` refuses the values that were tried",
            error.masked_with("the value"),
            error.schema_path()
        ))
    }

    /// Everything that is wrong with a value, and how many steps it took to find out; nothing where that takes too long.
    pub(crate) fn errors<'v>(&'v self, value: &'v Value) -> (Vec<ValidationError<'v>>, usize) {
        match self.plain.counted_errors(value) {
            Some((errors, steps)) => (errors.collect(), steps),
            None => (Vec::new(), STEPS),
        }
    }
}

/// The longest objection in characters.
const LONGEST: usize = 160;

/// A value satisfies the schema, whatever its formats say; an unusable schema is satisfied by nothing.
pub fn satisfies(schema: &Value, value: &Value) -> bool {
    once(schema).is_some_and(|judge| judge.takes(value, Formats::Ignored))
}

/// A value is known to break the schema.
pub fn refuses(schema: &Value, value: &Value) -> bool {
    once(schema).is_some_and(|judge| judge.refuses(value))
}

/// The first thing that a schema has against a value, in words; `None` where it has nothing, or is unusable.
pub fn objection(schema: &Value, value: &Value) -> Option<String> {
    let judge = once(schema)?;
    let (errors, _) = judge.errors(value);
    let error = errors.first()?;
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let at = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
    let says: String = error.to_string().trim_end_matches('.').chars().take(LONGEST).collect();
    Some(format!("{at}{says}"))
}

/// A schema made ready for a single question.
fn once(schema: &Value) -> Option<Judges> {
    Judges::new(schema, &Schemas::parse(schema)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(schema: &Value) -> Result<Judge, UnusableSchema> {
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
        assert!(matches!(endless, Err(UnusableSchema::Endless(_))), "{endless:?}");

        let again = |inner| json!({"anyOf": [inner], "unevaluatedProperties": false});
        let endless = judge(&nested(40, json!({"properties": {"x": true}}), again));
        assert!(matches!(endless, Err(UnusableSchema::Endless(_))), "{endless:?}");

        let below = |inner| json!({"anyOf": [{"properties": {"x": inner}}], "unevaluatedProperties": false});
        assert!(matches!(judge(&nested(30, json!({}), below)), Err(UnusableSchema::Endless(_))));
        assert_eq!(judge(&nested(8, json!({}), below)).unwrap().is_valid(&json!({"x": {"x": 1}})), Some(true));
    }

    #[test]
    fn references_that_lead_to_one_place_are_followed_once() {
        let name = |at: u32| format!("p{at}");
        let again = |at: u32| (name(at), json!({"required": [name((at + 1) % 60)], "allOf": [{"$ref": "#"}]}));
        let all: serde_json::Map<String, Value> = (0..60).map(again).collect();
        let judge = judge(&json!({"dependentSchemas": all})).unwrap();
        let members = |count: u32| Value::Object((0..count).map(|at| (name(at), json!(1))).collect());
        assert_eq!(judge.is_valid(&members(0)), Some(true));
        assert_eq!(judge.is_valid(&members(1)), Some(false));
        assert_eq!(judge.errors(&members(60)).unwrap().count(), 0);
    }

    #[test]
    fn it_depends_on_the_value() {
        let twice = judge(&json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "required": ["a"]}));
        let twice = twice.unwrap();
        let deep = |depth| nested(depth, json!({}), |value| json!({"a": value}));
        assert_eq!((twice.is_valid(&deep(5)), twice.is_valid(&deep(60))), (Some(false), Some(false)));
        assert!(twice.errors(&deep(60)).is_none());

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

    #[test]
    fn what_a_flat_schema_lists_is_counted() {
        let listed: Vec<Value> = (0..20_000).map(|at| json!({"a": at})).collect();
        let judge = judge(&json!({"items": {"enum": listed}})).unwrap();
        assert_eq!(judge.is_valid(&json!([{"a": 19_999}])), Some(true));
        assert_eq!(judge.is_valid(&Value::Array(vec![json!({"a": -1}); 20])), Some(false));
        assert_eq!(judge.is_valid(&Value::Array(vec![json!({"a": 19_999}); 20_000])), None);
    }

    #[test]
    fn patterns_that_go_back_are_not_judged_where_that_never_ends() {
        let slugs = judge(&json!({"items": {"pattern": "^(?!-)[a-z-]+$"}})).unwrap();
        assert_eq!(slugs.is_valid(&json!(vec!["a-slug"; 5_000])), Some(true));
        assert_eq!(slugs.is_valid(&json!(vec!["-slug"; 5_000])), Some(false));

        let again = judge(&json!({"items": {"pattern": "(?!x)(a+)+$"}})).unwrap();
        assert_eq!(again.is_valid(&json!(vec!["aaaa"; 100])), Some(true));
        assert!(again.errors(&json!(vec!["a".repeat(30) + "b"; 50_000])).is_none());
        let members = judge(&json!({"patternProperties": {"(?!x)(a+)+$": true}})).unwrap();
        let names = (0..50_000).map(|at| (format!("b{at}"), json!(1)));
        assert_eq!(members.is_valid(&Value::Object(names.collect())), None);
        let long = judge(&json!({"pattern": "(?!x)(.*a){20}$"})).unwrap();
        assert_eq!(long.is_valid(&json!("a".repeat(4_000_000))), None);
    }

    #[test]
    fn more_errors_than_anybody_reads_are_not_told() {
        let texts = judge(&json!({"additionalProperties": {"type": "string"}})).unwrap();
        let numbers = |count: u32| Value::Object((0..count).map(|at| (format!("k{at}"), json!(at))).collect());
        assert_eq!(texts.errors(&numbers(50)).unwrap().count(), 50);
        assert!(texts.errors(&numbers(300_000)).is_none());
        let either: Vec<Value> = (0..60).map(|at| json!({"type": "string", "minLength": at})).collect();
        let either = judge(&json!({"items": {"anyOf": either}})).unwrap();
        assert!(either.errors(&json!(vec![1; 100_000])).is_none());
    }

    #[test]
    fn items_are_told_apart_at_once() {
        let differ = judge(&json!({"uniqueItems": true})).unwrap();
        let mut items: Vec<Value> = (0..200_000).map(|at| json!([at])).collect();
        assert_eq!(differ.is_valid(&json!(items)), Some(true));
        items.push(json!([7]));
        assert_eq!(differ.is_valid(&json!(items)), Some(false));
    }

    #[test]
    fn what_is_too_large_is_not_read() {
        let mut chain: serde_json::Map<String, Value> =
            (0..100_000).map(|at| (at.to_string(), json!({"$ref": format!("#/$defs/{}", at + 1)}))).collect();
        chain.insert("100000".to_owned(), json!(true));
        let chain = json!({"$defs": chain, "$ref": "#/$defs/0"});
        assert!(matches!(Judge::of(&chain), Err(UnusableSchema::Endless(_))));
        let flaw = format::flaw(&chain);
        assert!(matches!(&flaw, Some(format::SchemaError::Unjudged(_))), "{flaw:?}");
    }

    #[test]
    fn an_objection_says_where() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "number"}}});
        assert_eq!(objection(&schema, &json!({"a": "x"})).unwrap(), "`a`: \"x\" is not of type \"number\"");
        assert_eq!(objection(&schema, &json!({"a": 1})), None);
        assert_eq!(objection(&json!({"type": "nothing"}), &json!(1)), None);
    }
}
