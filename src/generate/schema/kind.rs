//! The kinds of JSON values, as a set.

use serde_json::Value;

/// A set of kinds; whole numbers and fractions are two, since `integer` tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::generate) struct Kinds(u8);

impl Kinds {
    pub(in crate::generate) const NULL: Self = Self(1);
    pub(in crate::generate) const BOOLEAN: Self = Self(2);
    pub(in crate::generate) const INTEGER: Self = Self(4);
    pub(in crate::generate) const FRACTION: Self = Self(8);
    pub(in crate::generate) const TEXT: Self = Self(16);
    pub(in crate::generate) const ARRAY: Self = Self(32);
    pub(in crate::generate) const OBJECT: Self = Self(64);
    pub(in crate::generate) const NUMBER: Self = Self(12);
    pub(in crate::generate) const ALL: Self = Self(127);

    /// Each kind alone, the most telling first.
    pub(in crate::generate) const EACH: [Self; 7] =
        [Self::TEXT, Self::INTEGER, Self::FRACTION, Self::BOOLEAN, Self::OBJECT, Self::ARRAY, Self::NULL];

    /// The kinds that a name of `type` stands for.
    pub(in crate::generate) fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::TEXT,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self(0),
        }
    }

    /// The kind of a value.
    pub(in crate::generate) fn of(value: &Value) -> Self {
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

    pub(in crate::generate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(in crate::generate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::generate) fn but(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(in crate::generate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(in crate::generate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}
