//! The cost of tools: a model reads the whole list before every answer.

use serde_json::json;

use crate::wire::Tool;

/// The most tokens that a list may cost where nobody says otherwise.
pub const MAX_TOKENS: usize = 25_000;

/// How many bytes of JSON make a token, roughly; every model counts otherwise, and none can be asked offline.
const BYTES_PER_TOKEN: usize = 4;

/// An estimate of what one tool costs: its name, description and input schema as compact JSON, four bytes a token.
pub fn tokens(tool: &Tool) -> usize {
    let sent = json!({"name": tool.name, "description": tool.raw["description"], "inputSchema": tool.input_schema()});
    sent.to_string().len().div_ceil(BYTES_PER_TOKEN)
}
