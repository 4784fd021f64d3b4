//! The keywords of JSON Schema: what their values hold, which values they concern, and since when.

use jsonschema::Draft;

use super::TypeSet;

/// A keyword.
#[derive(Debug)]
pub struct Keyword {
    pub name: &'static str,
    pub holds: KeywordValue,
    /// The types of the values that it can refuse; `None` for values of any type.
    pub concerns: Option<TypeSet>,
    /// The first draft that knows it; `None` for keywords that every draft knows.
    pub since: Option<Draft>,
    /// The kind of its limit; `None` for keywords that are none.
    pub limit: Option<KeywordLimit>,
    /// A draft defines it, rather than a program that reads schemas.
    pub is_standard: bool,
}

/// The restriction of values by a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordLimit {
    /// The higher, the fewer values.
    Low,
    /// The lower, the fewer values.
    High,
    /// A multiple of another allows fewer values.
    Step,
}

/// The value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordValue {
    /// A schema; for `items` in older drafts also a list of schemas.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    /// Schemas by name that apply only where they are referred to.
    Definitions,
    /// An address of another schema.
    Reference,
    /// A name or an address of the schema itself.
    Location,
    /// A text or value for people, which decides nothing about validity.
    Annotation,
    /// Anything else.
    Plain,
}

/// The keywords, those first that are written most; subschemas are visited in this order.
pub static KEYWORDS: &[Keyword] = {
    use KeywordLimit::{High, Low, Step};
    use KeywordValue::{Annotation, Definitions, List, Location, Named, Plain, Reference, Schema};
    &[
        any("type", Plain),
        any("enum", Plain),
        any("const", Plain).since(Draft::Draft6),
        object("properties", Named),
        object("required", Plain),
        array("items", Schema),
        text("pattern"),
        any("format", Plain),
        text("minLength").limits(Low),
        text("maxLength").limits(High),
        number("minimum").limits(Low),
        number("maximum").limits(High),
        number("exclusiveMinimum").limits(Low),
        number("exclusiveMaximum").limits(High),
        number("multipleOf").limits(Step),
        array("minItems", Plain).limits(Low),
        array("maxItems", Plain).limits(High),
        array("uniqueItems", Plain),
        object("patternProperties", Named),
        object("dependentSchemas", Named).since(Draft::Draft201909),
        any("$defs", Definitions),
        any("definitions", Definitions),
        array("prefixItems", List).since(Draft::Draft202012),
        array("additionalItems", Schema),
        array("contains", Schema).since(Draft::Draft6),
        object("additionalProperties", Schema),
        object("propertyNames", Schema).since(Draft::Draft6),
        array("unevaluatedItems", Schema).since(Draft::Draft201909),
        object("unevaluatedProperties", Schema).since(Draft::Draft201909),
        any("not", Schema),
        any("if", Schema).since(Draft::Draft7),
        any("then", Schema),
        any("else", Schema),
        any("anyOf", List),
        any("oneOf", List),
        any("allOf", List),
        any("$ref", Reference),
        any("$dynamicRef", Reference).since(Draft::Draft202012),
        any("$recursiveRef", Reference).since(Draft::Draft201909),
        any("$schema", Location),
        any("$id", Location),
        any("id", Location),
        any("$anchor", Location),
        any("$dynamicAnchor", Location),
        any("$recursiveAnchor", Location),
        any("$comment", Location),
        any("title", Annotation),
        any("description", Annotation),
        any("default", Annotation),
        any("examples", Annotation),
        any("example", Annotation).of_programs(),
        any("deprecated", Annotation),
        any("readOnly", Annotation),
        any("writeOnly", Annotation),
        any("contentEncoding", Annotation),
        any("contentMediaType", Annotation),
        any("enumNames", Annotation).of_programs(),
        any("markdownDescription", Annotation).of_programs(),
        array("minContains", Plain).limits(Low).since(Draft::Draft201909),
        array("maxContains", Plain).limits(High).since(Draft::Draft201909),
        object("minProperties", Plain).limits(Low),
        object("maxProperties", Plain).limits(High),
        object("dependentRequired", Plain).since(Draft::Draft201909),
        any("dependencies", Plain),
        any("contentSchema", Plain),
        any("$vocabulary", Plain),
    ]
};

impl Keyword {
    /// The keyword of that name; `None` for those that need no line of their own.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYWORDS.iter().find(|keyword| keyword.name == name)
    }

    /// Its value is a schema or holds schemas.
    pub fn holds_schemas(&self) -> bool {
        use KeywordValue::{Definitions, List, Named, Schema};
        matches!(self.holds, Schema | List | Named | Definitions)
    }

    const fn since(self, draft: Draft) -> Self {
        Self { since: Some(draft), ..self }
    }

    const fn limits(self, limit: KeywordLimit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    const fn of_programs(self) -> Self {
        Self { is_standard: false, ..self }
    }
}

impl KeywordValue {
    /// The value of the keyword of that name; keywords that begin with `x-` are annotations.
    pub fn of(name: &str) -> Self {
        let other = if name.starts_with("x-") { Self::Annotation } else { Self::Plain };
        Keyword::find(name).map_or(other, |keyword| keyword.holds)
    }
}

const fn any(name: &'static str, holds: KeywordValue) -> Keyword {
    Keyword { name, holds, concerns: None, since: None, limit: None, is_standard: true }
}

const fn object(name: &'static str, holds: KeywordValue) -> Keyword {
    Keyword { concerns: Some(TypeSet::OBJECT), ..any(name, holds) }
}

const fn array(name: &'static str, holds: KeywordValue) -> Keyword {
    Keyword { concerns: Some(TypeSet::ARRAY), ..any(name, holds) }
}

const fn number(name: &'static str) -> Keyword {
    Keyword { concerns: Some(TypeSet::NUMBER), ..any(name, KeywordValue::Plain) }
}

const fn text(name: &'static str) -> Keyword {
    Keyword { concerns: Some(TypeSet::TEXT), ..any(name, KeywordValue::Plain) }
}
