//! Which tools of a server a run called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tools that a server lists, and which of them cases called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The tools that a case called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
    /// The tools that no case called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncalled: Vec<String>,
}

impl ToolUse {
    /// Changes every name of a tool.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for tool in self.called.iter_mut().chain(&mut self.uncalled) {
            *tool = change(tool);
        }
    }
}
