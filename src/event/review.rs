//! What is to be said of the tools of a server as it lists them, beside the verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tools of one server in one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// The suite's file.
    pub file: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that was spoken.
    pub revision: String,
    /// The tools in listed order, with an estimate of what each costs a model.
    pub tools: Vec<ToolCost>,
    /// The sum of what they cost, in tokens.
    pub tokens: usize,
    /// Whether model providers take them.
    pub providers: Vec<ProviderVerdict>,
    /// What could be better and is no case.
    pub advice: Vec<Remark>,
}

/// What a tool costs a model before it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCost {
    /// The tool.
    pub tool: String,
    /// An estimate.
    pub tokens: usize,
}

/// Whether a model provider takes the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderVerdict {
    /// The provider.
    pub provider: String,
    /// When it refuses what it refuses; empty where that is always.
    pub when: String,
    /// What it refuses; nothing where it takes all tools.
    pub refuses: Vec<Remark>,
}

/// What a lint found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// The lint.
    pub lint: String,
    /// The tool; empty where it is about the whole list.
    pub tool: String,
    /// The place in the tool; empty for the tool as a whole.
    pub at: String,
    /// What was found.
    pub says: String,
}

impl Review {
    /// Changes every text that may hold a secret.
    pub(super) fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        self.tools.iter_mut().for_each(|cost| cost.tool = change(&cost.tool));
        let refused = self.providers.iter_mut().flat_map(|verdict| &mut verdict.refuses);
        for Remark { tool, at, says, .. } in refused.chain(&mut self.advice) {
            for text in [tool, at, says] {
                *text = change(text);
            }
        }
    }
}
