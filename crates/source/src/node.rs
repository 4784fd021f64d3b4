//! A tree of values that remember where they were written.

use serde_json::{Map, Number};

use super::{Located, Span};

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The place.
    pub span: Span,
}

/// The value of a node; YAML types are kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole or fractional number.
    Number(Number),
    /// Text.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in written order; repeated keys are kept, so that they can be reported.
    Map(Vec<(Located<String>, Node)>),
}

impl Node {
    /// The value under a key of a mapping; `None` for other nodes and absent keys.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name.value == key).map(|(_, node)| node)
    }

    /// The entries of a mapping; empty for other nodes.
    pub fn entries(&self) -> &[(Located<String>, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => &[],
        }
    }

    /// The items of a sequence; empty for other nodes.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => &[],
        }
    }

    /// The text of a text node.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The text of a text node with its place.
    pub fn located_text(&self) -> Option<Located<String>> {
        self.text().map(|text| Located::new(text.to_owned(), self.span))
    }

    /// The value of a truth node.
    pub fn flag(&self) -> Option<bool> {
        if let Value::Bool(flag) = self.value { Some(flag) } else { None }
    }

    /// The value of a number node that is whole and not negative.
    pub fn whole(&self) -> Option<u64> {
        let Value::Number(number) = &self.value else { return None };
        // `1.0` is one, too.
        let whole = |number: f64| if number.fract() == 0.0 { format!("{number}").parse().ok() } else { None };
        number.as_u64().or_else(|| number.as_f64().and_then(whole))
    }

    /// The number of bytes of text in it, each value counted as one at least.
    pub(crate) fn bytes(&self) -> usize {
        let within = match &self.value {
            Value::Text(text) => text.len(),
            Value::List(items) => items.iter().map(Self::bytes).sum(),
            Value::Map(entries) => entries.iter().map(|(key, value)| key.value.len() + value.bytes()).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        1 + within
    }

    /// The kind of value, in the words of messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// A text as it is, any other value as JSON.
    pub fn to_text(&self) -> String {
        self.text().map_or_else(|| self.to_json().to_string(), str::to_owned)
    }

    /// The same value without places, keys in written order.
    pub fn to_json(&self) -> serde_json::Value {
        self.value.to_json()
    }
}

impl Value {
    /// The same value without places, keys in written order.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(flag) => (*flag).into(),
            Value::Number(number) => number.clone().into(),
            Value::Text(text) => text.clone().into(),
            Value::List(items) => items.iter().map(Node::to_json).collect::<Vec<_>>().into(),
            Value::Map(entries) => {
                entries.iter().map(|(key, node)| (key.value.clone(), node.to_json())).collect::<Map<_, _>>().into()
            }
        }
    }
}
