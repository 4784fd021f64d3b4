//! Instructions to a model in the texts of a server, and text that people do not see.
//!
//! [`find`] reads one text. A word alone accuses nobody: `directive` wants signals that only make sense together, such as
//! an order to drop earlier instructions beside an order to call a tool, and it reads no quotations and no texts about
//! attacks. `invisible` finds characters in which a message can be hidden, and leaves alone those that scripts and emoji
//! need. `lookalike` compares names as people see them. The orders are those of English texts. Knows nothing about
//! messages, tools or suites.

mod directive;
mod invisible;
mod lookalike;

pub use self::lookalike::{NameLikeness, likeness};

/// The origin of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOrigin {
    /// In a description, a schema or the instructions: the server's own words.
    Declared,
    /// In a result, which may hold the output of a program.
    Answered,
}

/// A text that instructs the model, or hides something from people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// Its effect, as the end of a sentence that begins with its place.
    pub says: String,
    /// The part of the text that does it, legible.
    pub quote: String,
}

/// The first thing in a text that instructs a model behind the back of its user.
pub fn find(text: &str, origin: TextOrigin) -> Option<Injection> {
    if let Some(json) = embedded_json(text) {
        return find_in_json(&json, origin);
    }
    invisible::find(text, origin).or_else(|| directive::find(&invisible::without(text)))
}

/// An order to the model about the use of one of these tools, which are not those of its server.
pub fn find_about<'a>(text: &str, tools: impl IntoIterator<Item = &'a str>) -> Option<Injection> {
    directive::find_about(&invisible::without(text), tools)
}

/// The value of a text that is JSON: its quotation marks quote nobody.
fn embedded_json(text: &str) -> Option<serde_json::Value> {
    let text = text.trim();
    text.starts_with(['{', '[']).then(|| crate::wire::read_json(text)).flatten()
}

fn find_in_json(value: &serde_json::Value, origin: TextOrigin) -> Option<Injection> {
    use serde_json::Value;
    match value {
        Value::String(text) => find(text, origin),
        Value::Array(items) => items.iter().find_map(|item| find_in_json(item, origin)),
        Value::Object(members) => members.values().find_map(|member| find_in_json(member, origin)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
