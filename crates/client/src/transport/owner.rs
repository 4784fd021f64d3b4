//! Who a message belongs to.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Who a message belongs to, or what else is kept apart from case to case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Owner {
    /// No case: handshakes, listings, and what a suite does for all of its cases.
    #[default]
    Session,
    /// The case of that id.
    Case(Arc<str>),
}

impl Owner {
    /// The case of that id.
    pub fn of_case(id: &str) -> Self {
        Self::Case(id.into())
    }

    /// The id of the case; `None` where it is no case.
    pub fn case(&self) -> Option<&str> {
        match self {
            Self::Session => None,
            Self::Case(id) => Some(id),
        }
    }

    /// Returns true if it is the case of that id.
    pub fn is_case(&self, id: &str) -> bool {
        self.case() == Some(id)
    }
}

/// The text in recordings: the id of the case, or nothing.
impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.case().unwrap_or_default())
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> Self {
        owner.to_string()
    }
}

/// Reads the text in recordings.
impl From<String> for Owner {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::Session } else { Self::of_case(&text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_name_the_case_or_nobody() {
        for (owner, text) in [(Owner::Session, r#""""#), (Owner::of_case("a.yml::t@s/auto"), r#""a.yml::t@s/auto""#)] {
            assert_eq!(serde_json::to_string(&owner).unwrap(), text);
            assert_eq!(serde_json::from_str::<Owner>(text).unwrap(), owner);
        }
    }
}
