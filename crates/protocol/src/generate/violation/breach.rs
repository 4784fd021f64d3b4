//! The ways in which a value can break a schema, one at a time.

use serde_json::Value;

/// The way in which a value breaks its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breach {
    /// A required member is absent.
    MissingRequired,
    /// A value of a type that is not allowed.
    WrongType,
    /// `null` where it is not allowed.
    Null,
    /// A value inside an array, or an array's item without its array.
    WrongNesting,
    /// A number beyond its bounds.
    OutOfRange,
    /// A number that is no multiple of what it has to be one of.
    NotMultiple,
    /// A text that its pattern does not match.
    Pattern,
    /// A value that the enumeration does not list, or that is not the constant.
    Enum,
    /// A member that is forbidden.
    ExtraProperty,
    /// A member whose name is forbidden.
    PropertyName,
    /// A text that is too long.
    TooLong,
    /// A text that is too short.
    TooShort,
    /// Too many items or members.
    TooMany,
    /// Too few items or members.
    TooFew,
    /// Two items that are the same.
    NotUnique,
    /// Too few or too many items of the kind that has to be there.
    Contains,
    /// A value that `not` or `false` forbids.
    Forbidden,
    /// A value that fits no alternative.
    NoAlternative,
    /// A value that fits more than one of alternatives that exclude each other.
    SeveralAlternatives,
}

impl Breach {
    /// The breach as one word, as suites and reports name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingRequired => "missing_required",
            Self::WrongType => "wrong_type",
            Self::Null => "null",
            Self::WrongNesting => "wrong_nesting",
            Self::OutOfRange => "out_of_range",
            Self::NotMultiple => "not_multiple",
            Self::Pattern => "pattern",
            Self::Enum => "enum",
            Self::ExtraProperty => "extra_property",
            Self::PropertyName => "property_name",
            Self::TooLong => "too_long",
            Self::TooShort => "too_short",
            Self::TooMany => "too_many",
            Self::TooFew => "too_few",
            Self::NotUnique => "not_unique",
            Self::Contains => "contains",
            Self::Forbidden => "forbidden",
            Self::NoAlternative => "no_alternative",
            Self::SeveralAlternatives => "several_alternatives",
        }
    }
}

/// A whole value that breaks exactly one keyword at one place.
///
/// A value of the wrong type is in no enumeration either: `enum` and `const` at the same place count as the same breach.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidValue {
    /// In which way it is broken.
    pub breach: Breach,
    /// The keyword of the schema that refuses it.
    pub keyword: String,
    /// JSON pointer to the place in the value.
    pub at: String,
    /// The fault, as in "`id` is missing".
    pub says: String,
    /// The whole value.
    pub value: Value,
}
