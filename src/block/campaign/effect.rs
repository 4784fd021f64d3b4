//! The effect of calls: the hints of a tool about it, and the number of times that it shows.

use crate::wire::Tool;

/// The hint of a tool about repeated calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolNature {
    /// It changes nothing.
    Reads,
    /// A repeated call changes nothing more.
    Idempotent,
    /// A repeated call may rightly have its effect again.
    Plain,
}

impl ToolNature {
    pub(crate) fn of(tool: &Tool) -> Self {
        if tool.only_reads() {
            Self::Reads
        } else if tool.raw["annotations"]["idempotentHint"] == true {
            Self::Idempotent
        } else {
            Self::Plain
        }
    }

    /// A client may repeat a call of which it does not know the outcome.
    pub(crate) fn may_be_repeated(self) -> bool {
        self != Self::Plain
    }
}

/// The number of times that an effect shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffectCount {
    Times(u64),
    /// Something else than the effect shows, or a part of it.
    Other,
}

/// The number of times that the effect of a call may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedEffect {
    Never,
    Once,
    AtMostOnce,
}

impl ExpectedEffect {
    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Never => "no effect",
            Self::Once => "its effect once",
            Self::AtMostOnce => "its effect once or not at all",
        }
    }
}

impl EffectCount {
    /// In words, for a table.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Times(0) => "none".to_owned(),
            Self::Times(1) => "once".to_owned(),
            Self::Times(2) => "twice".to_owned(),
            Self::Times(times) => format!("{times} times"),
            Self::Other => "in part".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hints_and_names_say_what_a_repeated_call_does() {
        use ToolNature::{Idempotent, Plain, Reads};
        for (name, annotations, expected) in [
            ("get_user", json!({}), Reads),
            ("add_user", json!({}), Plain),
            ("add_user", json!({"readOnlyHint": true}), Reads),
            ("get_user", json!({"readOnlyHint": false}), Plain),
            ("set_user", json!({"idempotentHint": true}), Idempotent),
            ("set_user", json!({"idempotentHint": false}), Plain),
            // A hint of another type is none.
            ("set_user", json!({"idempotentHint": "true"}), Plain),
            // What changes nothing changes nothing the second time either.
            ("add_user", json!({"readOnlyHint": true, "idempotentHint": true}), Reads),
        ] {
            let tool = Tool::new(json!({"name": name, "annotations": annotations, "inputSchema": {"type": "object"}}));
            assert_eq!(ToolNature::of(&tool), expected, "{name} {annotations}");
            assert_eq!(ToolNature::of(&tool).may_be_repeated(), expected != Plain, "{name} {annotations}");
        }
    }
}
