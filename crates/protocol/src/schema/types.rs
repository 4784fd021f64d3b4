//! The kinds of JSON values, as a set.

use serde_json::Value;

/// A set of kinds; whole numbers and fractions are two, since `integer` tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSet(u8);

impl Default for TypeSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl TypeSet {
    pub const NONE: Self = Self(0);
    pub const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub const INTEGER: Self = Self(4);
    pub const FRACTION: Self = Self(8);
    pub(crate) const TEXT: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub const NUMBER: Self = Self(12);
    pub const ALL: Self = Self(127);

    /// Each kind alone, the most telling first.
    pub const EACH: [Self; 7] =
        [Self::TEXT, Self::INTEGER, Self::FRACTION, Self::BOOLEAN, Self::OBJECT, Self::ARRAY, Self::NULL];

    /// The kinds that a name of `type` stands for.
    pub fn from_name(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::TEXT,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    /// The kinds that a name or a list of names in `type` stands for.
    pub fn from_names(names: &Value) -> Self {
        let name = |name: &Value| name.as_str().map_or(Self::NONE, Self::from_name);
        names.as_array().map_or_else(|| name(names), |names| names.iter().map(name).fold(Self::NONE, Self::or))
    }

    /// The kinds that a schema names; all where it has no `type`.
    pub fn of_schema(schema: &Value) -> Self {
        schema.get("type").map_or(Self::ALL, Self::from_names)
    }

    /// The fewest names that stand for these kinds, in the order of the alphabet.
    pub fn names(self) -> Vec<&'static str> {
        let number = if self.has(Self::FRACTION) { "number" } else { "integer" };
        let names = ["array", "boolean", number, "null", "object", "string"];
        names.into_iter().filter(|name| Self::from_name(name).has(self)).collect()
    }

    /// The kind of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => {
                let whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
                if whole || !number.is_f64() { Self::INTEGER } else { Self::FRACTION }
            }
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn but(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
