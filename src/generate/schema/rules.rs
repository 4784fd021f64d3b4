//! The rules of one subschema, keyword by keyword.

use indexmap::IndexMap;
use serde_json::{Number, Value};

use super::Kinds;

/// A line of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::generate) struct SchemaId(pub(super) usize);

/// The end of a range of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::generate) struct NumberLimit {
    pub(in crate::generate) number: Number,
    pub(in crate::generate) exclusive: bool,
}

/// `contains` with its counts.
#[derive(Clone, Debug)]
pub(in crate::generate) struct ContainsRule {
    pub(in crate::generate) schema: SchemaId,
    pub(in crate::generate) min: usize,
    pub(in crate::generate) max: Option<usize>,
}

/// `if`, `then` and `else`.
#[derive(Clone, Debug)]
pub(in crate::generate) struct ConditionRule {
    pub(in crate::generate) when: SchemaId,
    pub(in crate::generate) then: Option<SchemaId>,
    pub(in crate::generate) otherwise: Option<SchemaId>,
}

/// The rules of one subschema; an empty field restricts nothing.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of its own")]
pub(in crate::generate) struct SchemaRules {
    /// JSON pointer to it in the document.
    pub(in crate::generate) at: String,
    /// The schema `false`.
    pub(in crate::generate) never: bool,
    pub(in crate::generate) kinds: Option<Kinds>,
    /// How many names `type` lists.
    pub(in crate::generate) named: Vec<Kinds>,
    pub(in crate::generate) values: Option<Vec<Value>>,
    /// `const` in contrast to `enum`.
    pub(in crate::generate) constant: bool,
    pub(in crate::generate) forbidden: Vec<Value>,
    /// The examples of the schema: `examples`, then `default`; where it has neither, what its description names.
    pub(in crate::generate) shown: Vec<Value>,

    pub(in crate::generate) low: Vec<NumberLimit>,
    pub(in crate::generate) high: Vec<NumberLimit>,
    pub(in crate::generate) step: Option<Number>,

    pub(in crate::generate) min_length: Option<usize>,
    pub(in crate::generate) max_length: Option<usize>,
    pub(in crate::generate) pattern: Option<String>,
    pub(in crate::generate) format: Option<String>,

    pub(in crate::generate) prefix: Vec<SchemaId>,
    pub(in crate::generate) items: Option<SchemaId>,
    pub(in crate::generate) contains: Option<ContainsRule>,
    pub(in crate::generate) min_items: Option<usize>,
    pub(in crate::generate) max_items: Option<usize>,
    pub(in crate::generate) unique: bool,
    pub(in crate::generate) unevaluated_items: Option<SchemaId>,

    pub(in crate::generate) properties: IndexMap<String, SchemaId>,
    /// Whether `properties` is written, be it empty.
    pub(in crate::generate) lists_properties: bool,
    pub(in crate::generate) pattern_properties: Vec<(String, SchemaId)>,
    pub(in crate::generate) additional: Option<SchemaId>,
    pub(in crate::generate) names: Option<SchemaId>,
    pub(in crate::generate) min_properties: Option<usize>,
    pub(in crate::generate) max_properties: Option<usize>,
    pub(in crate::generate) required: Vec<String>,
    pub(in crate::generate) dependent: Vec<(String, Vec<String>)>,
    pub(in crate::generate) dependent_schemas: Vec<(String, SchemaId)>,
    pub(in crate::generate) unevaluated_properties: Option<SchemaId>,

    /// Whether references are among what follows.
    pub(in crate::generate) refers: bool,
    /// `allOf` and references.
    pub(in crate::generate) all: Vec<SchemaId>,
    pub(in crate::generate) any: Vec<SchemaId>,
    /// Alternatives of which one is as good as another: nobody wrote them.
    pub(in crate::generate) whichever: Vec<SchemaId>,
    pub(in crate::generate) one: Vec<SchemaId>,
    pub(in crate::generate) not: Option<SchemaId>,
    pub(in crate::generate) condition: Option<ConditionRule>,
    /// Subschemas that must not match, for what cannot be said in other keywords.
    pub(in crate::generate) reject: Option<SchemaId>,
}

impl SchemaRules {
    /// A schema that takes only certain kinds.
    pub(in crate::generate) fn of_kinds(at: &str, kinds: Kinds) -> Self {
        Self { at: at.to_owned(), kinds: Some(kinds), ..Self::default() }
    }

    /// The kinds that its keywords talk about.
    pub(in crate::generate) fn talks_of(&self) -> Kinds {
        let mut kinds = Kinds::ALL.but(Kinds::ALL);
        if self.says_of_objects() {
            kinds = kinds.or(Kinds::OBJECT);
        }
        if self.says_of_arrays() {
            kinds = kinds.or(Kinds::ARRAY);
        }
        if self.says_of_texts() {
            kinds = kinds.or(Kinds::TEXT);
        }
        if !self.low.is_empty() || !self.high.is_empty() || self.step.is_some() {
            kinds = kinds.or(Kinds::NUMBER);
        }
        kinds
    }

    fn says_of_texts(&self) -> bool {
        self.min_length.is_some() || self.max_length.is_some() || self.pattern.is_some() || self.format.is_some()
    }

    fn says_of_arrays(&self) -> bool {
        !self.prefix.is_empty()
            || self.items.is_some()
            || self.contains.is_some()
            || self.min_items.is_some()
            || self.max_items.is_some()
            || self.unique
    }

    fn says_of_objects(&self) -> bool {
        self.lists_properties
            || !self.properties.is_empty()
            || !self.pattern_properties.is_empty()
            || self.additional.is_some()
            || self.names.is_some()
            || self.min_properties.is_some()
            || self.max_properties.is_some()
            || !self.required.is_empty()
            || !self.dependent.is_empty()
            || !self.dependent_schemas.is_empty()
    }
}
