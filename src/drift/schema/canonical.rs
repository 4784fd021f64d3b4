//! One spelling for schemas that mean the same: references inlined, `allOf` flattened, older drafts translated.

use serde_json::{Map, Value, json};

use super::document::SchemaDocument;
use super::merge::merge;
use super::simplify::{normalize_numbers, settle, simplify, translate_drafts};
use crate::schema::{KeywordValue, token};

/// The number of schemas that one schema may become when references are written out: they can multiply without end.
const MOST: usize = 4_000;

/// The numbers of references that are followed one after the other: the greatest that is possible, and the same in both
/// schemas, so that the same places are not written out.
const FOLLOWED: [usize; 7] = [64, 16, 8, 4, 2, 1, 0];

/// The depth of schemas within each other where references lead further down.
const DEEPEST: usize = 120;

/// The part of a schema that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormalizeMode {
    /// Words for people as well.
    WithAnnotations,
    /// Only what decides which values are valid.
    ValidationOnly,
}

/// Stands for the schema that is so many steps further out.
pub(crate) const RECURSIVE: &str = "$recursive";

/// A schema in one spelling that stands for itself: it refers to nothing, or was spelt before.
pub(crate) fn canonical(schema: &Value, keep: NormalizeMode) -> Value {
    Normalizer::new(schema, keep, 0).normalize(schema, &SchemaLocation::root())
}

/// Two schemas in one spelling.
pub(crate) fn canonical_both(schemas: [&Value; 2], keep: NormalizeMode) -> [Value; 2] {
    let followed = |most: usize| {
        let [old, new] = schemas.map(|schema| {
            let mut normalizer = Normalizer::new(schema, keep, most);
            let spelt = normalizer.normalize(schema, &SchemaLocation::root());
            (normalizer.left > 0).then_some(spelt)
        });
        Some([old?, new?])
    };
    FOLLOWED.into_iter().find_map(followed).unwrap_or_else(|| schemas.map(|schema| canonical(schema, keep)))
}

struct Normalizer<'a> {
    document: SchemaDocument<'a>,
    keep: NormalizeMode,
    /// The number of references that are followed one after the other.
    most: usize,
    /// The schemas that lead here: the whole document, then what references lead to.
    open: Vec<SchemaLocation>,
    left: usize,
}

/// The position of a schema.
#[derive(Debug, Clone)]
struct SchemaLocation {
    /// The position in the document.
    pointer: String,
    /// The number of schemas around it, with all references written out.
    depth: usize,
    /// It says all that is said there.
    is_whole: bool,
}

impl SchemaLocation {
    fn root() -> Self {
        Self { pointer: String::new(), depth: 0, is_whole: true }
    }

    fn inside(&self, steps: &[&str]) -> Self {
        let steps: Vec<String> = steps.iter().map(|step| token(step)).collect();
        let pointer = format!("{}/{}", self.pointer, steps.join("/"));
        Self { pointer, depth: self.depth + 1, is_whole: true }
    }
}

impl<'a> Normalizer<'a> {
    fn new(schema: &'a Value, keep: NormalizeMode, most: usize) -> Self {
        Self { document: SchemaDocument::new(schema), keep, most, open: vec![SchemaLocation::root()], left: MOST }
    }

    fn normalize(&mut self, schema: &Value, place: &SchemaLocation) -> Value {
        let fields = match schema {
            Value::Bool(false) => return Value::Bool(false),
            Value::Object(fields) => translate_drafts(fields),
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        if self.open.len() > 1 {
            self.left = self.left.saturating_sub(1);
        }
        if self.left == 0 {
            return Value::Null;
        }
        let is_whole = place.is_whole && says_one_thing(&fields);
        let mut spelt = Map::new();
        let mut parts = Vec::new();
        for (key, value) in &fields {
            match KeywordValue::of(key) {
                KeywordValue::Location | KeywordValue::Definitions => {}
                KeywordValue::Annotation if self.keep == NormalizeMode::ValidationOnly => {}
                KeywordValue::Reference => {
                    parts.push(self.resolve(key, value, &SchemaLocation { is_whole, ..place.clone() }));
                }
                KeywordValue::List if key == "allOf" => {
                    for (number, part) in value.as_array().into_iter().flatten().enumerate() {
                        let pointer = format!("{}/allOf/{number}", place.pointer);
                        parts.push(self.normalize(part, &SchemaLocation { pointer, is_whole, ..place.clone() }));
                    }
                }
                KeywordValue::Schema => {
                    spelt.insert(key.to_owned(), self.normalize(value, &place.inside(&[key])));
                }
                KeywordValue::List => {
                    let listed = value.as_array().into_iter().flatten().enumerate();
                    let listed = listed.map(|(at, part)| self.normalize(part, &place.inside(&[key, &at.to_string()])));
                    spelt.insert(key.to_owned(), listed.collect());
                }
                KeywordValue::Named => {
                    let named = value.as_object().into_iter().flatten();
                    let named =
                        named.map(|(name, part)| (name.clone(), self.normalize(part, &place.inside(&[key, name]))));
                    spelt.insert(key.to_owned(), Value::Object(named.collect()));
                }
                KeywordValue::Annotation | KeywordValue::Plain => {
                    drop(spelt.insert(key.clone(), normalize_numbers(value)));
                }
            }
        }
        settle(parts.into_iter().fold(simplify(spelt), merge))
    }

    /// The target of a reference, or its placeholder.
    fn resolve(&mut self, keyword: &str, reference: &Value, place: &SchemaLocation) -> Value {
        let Some((pointer, target)) = self.document.target(keyword, reference, &place.pointer) else {
            return self.document.unknown(reference);
        };
        match self.open.iter().rfind(|open| open.pointer == pointer) {
            Some(open) if open.is_whole => return json!({RECURSIVE: place.depth.saturating_sub(open.depth)}),
            Some(_) => return self.document.far(&pointer),
            None if self.open.len() > self.most || place.depth > DEEPEST => return self.document.far(&pointer),
            None => {}
        }
        let there = SchemaLocation { pointer, ..place.clone() };
        self.open.push(there.clone());
        let spelt = self.normalize(target, &there);
        self.open.pop();
        spelt
    }
}

/// Nothing but a type stands beside a reference, or beside the only part of `allOf`.
fn says_one_thing(fields: &Map<String, Value>) -> bool {
    let tells = |key: &str| {
        key != "type"
            && !matches!(
                KeywordValue::of(key),
                KeywordValue::Location | KeywordValue::Definitions | KeywordValue::Annotation
            )
    };
    let mut telling = fields.iter().filter(|(key, _)| tells(key));
    match (telling.next(), telling.next()) {
        (Some((key, Value::Array(parts))), None) if key == "allOf" => parts.len() == 1,
        (Some((key, _)), None) => KeywordValue::of(key) == KeywordValue::Reference,
        _ => false,
    }
}

/// A keyword decides nothing about values.
pub(crate) fn says_nothing(key: &str) -> bool {
    KeywordValue::of(key) == KeywordValue::Annotation
}
