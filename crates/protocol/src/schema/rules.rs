//! The rules of one subschema, keyword by keyword.

use indexmap::IndexMap;
use serde_json::{Number, Value};

use super::TypeSet;

/// A line of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaId(pub(crate) usize);

/// The end of a range of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberLimit {
    pub number: Number,
    pub exclusive: bool,
}

impl NumberLimit {
    /// The other end of the numbers that this one leaves out.
    pub(crate) fn opposite(&self) -> Self {
        Self { number: self.number.clone(), exclusive: !self.exclusive }
    }
}

/// `contains` with its counts.
#[derive(Clone, Debug)]
pub struct ContainsRule {
    pub schema: SchemaId,
    pub min: usize,
    pub max: Option<usize>,
}

/// `if`, `then` and `else`.
#[derive(Clone, Copy, Debug)]
pub struct ConditionRule {
    pub when: SchemaId,
    pub then: Option<SchemaId>,
    pub(crate) otherwise: Option<SchemaId>,
}

/// The rules of one subschema; an empty field restricts nothing.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of its own")]
pub struct SchemaRules {
    /// JSON pointer to it in the document.
    pub at: String,
    /// The schema `false`.
    pub never: bool,
    pub kinds: Option<TypeSet>,
    /// The names that `type` lists.
    pub named: Vec<TypeSet>,
    pub values: Option<Vec<Value>>,
    /// `const` in contrast to `enum`.
    pub(crate) constant: bool,
    pub forbidden: Vec<Value>,
    /// The examples of the schema: `examples`, then `default`; where it has neither, what its description names.
    pub shown: Vec<Value>,

    pub low: Vec<NumberLimit>,
    pub high: Vec<NumberLimit>,
    pub step: Option<Number>,

    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub pattern: Option<String>,
    pub format: Option<String>,

    pub prefix: Vec<SchemaId>,
    pub items: Option<SchemaId>,
    pub contains: Option<ContainsRule>,
    pub(crate) min_items: Option<usize>,
    pub(crate) max_items: Option<usize>,
    pub(crate) unique: bool,
    pub(crate) unevaluated_items: Option<SchemaId>,

    pub properties: IndexMap<String, SchemaId>,
    /// `properties` is written, be it empty.
    pub(crate) lists_properties: bool,
    pub(crate) pattern_properties: Vec<(String, SchemaId)>,
    pub(crate) additional: Option<SchemaId>,
    pub names: Option<SchemaId>,
    pub(crate) min_properties: Option<usize>,
    pub(crate) max_properties: Option<usize>,
    pub required: Vec<String>,
    pub dependent: Vec<(String, Vec<String>)>,
    pub(crate) dependent_schemas: Vec<(String, SchemaId)>,
    pub(crate) unevaluated_properties: Option<SchemaId>,

    /// `allOf` and references.
    pub all: Vec<SchemaId>,
    pub any: Vec<SchemaId>,
    /// Derived alternatives, of which one is as good as another.
    pub(crate) whichever: Vec<SchemaId>,
    pub one: Vec<SchemaId>,
    pub not: Option<SchemaId>,
    pub condition: Option<ConditionRule>,
    /// Subschemas that must not match, for what no other keyword expresses.
    pub(crate) reject: Option<SchemaId>,
}

impl SchemaRules {
    /// A schema that takes only certain kinds.
    pub(crate) fn of_kinds(at: &str, kinds: TypeSet) -> Self {
        Self { at: at.to_owned(), kinds: Some(kinds), ..Self::default() }
    }

    /// The kinds that its keywords talk about.
    pub(crate) fn talks_of(&self) -> TypeSet {
        let mut kinds = TypeSet::NONE;
        if self.says_of_objects() {
            kinds = kinds.or(TypeSet::OBJECT);
        }
        if self.says_of_arrays() {
            kinds = kinds.or(TypeSet::ARRAY);
        }
        if self.says_of_texts() {
            kinds = kinds.or(TypeSet::TEXT);
        }
        if !self.low.is_empty() || !self.high.is_empty() || self.step.is_some() {
            kinds = kinds.or(TypeSet::NUMBER);
        }
        kinds
    }

    /// The subschemas that judge the same value, or may: what it includes, and its alternatives.
    pub fn beside(&self) -> impl Iterator<Item = SchemaId> {
        let condition =
            self.condition.iter().flat_map(|condition| condition.then.into_iter().chain(condition.otherwise));
        let dependent = self.dependent_schemas.iter().map(|(_, id)| *id);
        self.all.iter().chain(&self.any).chain(&self.one).copied().chain(condition).chain(dependent)
    }

    /// The subschemas that judge items and members.
    pub fn inside(&self) -> impl Iterator<Item = SchemaId> {
        let named = self.properties.values().copied().chain(self.pattern_properties.iter().map(|(_, id)| *id));
        named.chain(self.additional).chain(self.prefix.iter().copied()).chain(self.items)
    }

    /// Unevaluated members are found by looking once more.
    pub(crate) fn looks_again(&self) -> bool {
        self.unevaluated_properties.is_some() || self.unevaluated_items.is_some()
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
