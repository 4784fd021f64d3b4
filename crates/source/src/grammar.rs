//! The grammar of a YAML file as data: one table checks files, becomes the JSON Schema and the reference manual.
//!
//! Because the three come from one table, they cannot disagree.
//! [`check`] finds every unknown, repeated, missing or wrongly typed thing at once; whoever builds a model from a
//! checked tree may take its shape for granted.

use std::collections::BTreeMap;

use serde_json::json;

use super::synonyms::synonym;
use super::{Diagnostic, Located, Node, Value, did_you_mean, parse_duration};

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Anything; only repeated keys are mistakes.
    Any,
    /// Nothing: `null`, `~`, or no value at all.
    Null,
    /// Text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number, not negative.
    Whole,
    /// A number.
    Number,
    /// A duration such as `250ms` or `10s`, or a template of one.
    Duration,
    /// A duration as it is written.
    Time,
    /// A duration as it is written that leaves time for something.
    Timeout,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text that holds a template; beside another shape, for values that may be filled in later.
    Template,
    /// A list of one shape.
    List(&'static Shape),
    /// A mapping from names of the user's choosing to one shape.
    Map(&'static Shape),
    /// A mapping with known keys.
    Object(&'static Object),
    /// The first of these whose kind of value fits.
    Either(&'static [Shape]),
}

/// A mapping with known keys.
#[derive(Debug)]
pub struct Object {
    /// Its name in messages, in the JSON Schema and in the manual.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// The keys, in groups, since a test with a single step has the keys of both.
    pub keys: &'static [&'static [Key]],
}

impl Object {
    /// Every key.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|group| group.iter())
    }
}

/// One key of an [`Object`].
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// One sentence.
    pub doc: &'static str,
    /// Whether the key must be there.
    pub need: Need,
}

/// Whether a key must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It may be left out.
    Optional,
    /// It must be there.
    Required,
}

/// A key that may be left out.
pub const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, need: Need::Optional }
}

/// A key that must be there.
pub const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, need: Need::Required }
}

/// Every way in which `node` departs from `shape`, in the order of the file.
pub fn check(node: &Node, shape: &Shape) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    visit(node, shape, &mut found);
    found
}

fn visit(node: &Node, shape: &Shape, found: &mut Vec<Diagnostic>) {
    match (shape, &node.value) {
        (Shape::Object(object), Value::Map(_)) => visit_object(node, object, found),
        (Shape::Map(inner), Value::Map(entries)) => {
            report_repeated(node, found);
            for (_, value) in entries {
                visit(value, inner, found);
            }
        }
        (Shape::Any, Value::Map(entries)) => {
            report_repeated(node, found);
            for (_, value) in entries {
                visit(value, &Shape::Any, found);
            }
        }
        (Shape::Any, Value::List(items)) => {
            for item in items {
                visit(item, &Shape::Any, found);
            }
        }
        (Shape::List(inner), Value::List(items)) => {
            for item in items {
                visit(item, inner, found);
            }
        }
        (Shape::Either(shapes), _) => match shapes.iter().find(|shape| shape.fits(node)) {
            Some(shape) => visit(node, shape, found),
            None => found.push(wrong_type(node, shape)),
        },
        (Shape::Duration, Value::Text(text))
            if !super::template::is_template(text) && parse_duration(text).is_none() =>
        {
            found.push(bad_duration(node, text));
        }
        (Shape::Time | Shape::Timeout, Value::Text(text)) => match parse_duration(text) {
            Some(time) if time.is_zero() && matches!(shape, Shape::Timeout) => found.push(
                Diagnostic::error("bad-duration", "a timeout must be greater than zero", node.span)
                    .with_help("write for example `10s`, or remove the key to use the default".to_owned()),
            ),
            Some(_) => {}
            None if super::template::is_template(text) => found.push(unfilled(node)),
            None => found.push(bad_duration(node, text)),
        },
        (Shape::Duration | Shape::Time | Shape::Timeout, Value::Number(number)) => {
            found.push(bad_duration(node, &number.to_string()));
        }
        (Shape::Choice(words), Value::Text(text)) if !words.contains(&text.as_str()) => found.push(
            Diagnostic::error("unknown-choice", format!("invalid value `{text}`"), node.span)
                .with_help(did_you_mean(text, words.iter().copied())),
        ),
        _ if shape.fits(node) => {}
        _ => found.push(wrong_type(node, shape)),
    }
}

fn visit_object(node: &Node, object: &Object, found: &mut Vec<Diagnostic>) {
    report_repeated(node, found);
    for (name, value) in node.entries() {
        match object.all_keys().find(|key| key.name == name.value) {
            Some(key) => visit(value, &key.shape, found),
            None => found.push(
                Diagnostic::error("unknown-key", format!("{} has no key `{}`", object.name, name.value), name.span)
                    .with_help(nested(name, value, node, object).or_else(|| meant(&name.value, object))),
            ),
        }
    }
    let missing = object.all_keys().filter(|key| key.need == Need::Required && node.get(key.name).is_none());
    for key in missing.filter(|key| !is_misspelt(key, node, object)) {
        found.push(
            Diagnostic::error("missing-key", format!("{} needs the key `{}`", object.name, key.name), node.span)
                .with_help(format!("`{}`: {}", key.name, key.doc)),
        );
    }
}

/// Whether a key is there under another name, which was reported; help that lists all keys means none of them.
fn is_misspelt(key: &Key, node: &Node, object: &Object) -> bool {
    let meant_so = [format!("write `{}`", key.name), format!("did you mean `{}`?", key.name)];
    let is_known = |name: &str| object.all_keys().any(|key| key.name == name);
    let mut unknown = node.entries().iter().filter(|(name, _)| !is_known(&name.value));
    unknown.any(|(typed, _)| meant(&typed.value, object).is_some_and(|help| meant_so.contains(&help)))
}

/// How to write a key that belongs inside the mapping of another key beside it, such as `then` inside `send`.
fn nested(typed: &Located<String>, value: &Node, node: &Node, object: &Object) -> Option<String> {
    node.entries().iter().find_map(|(name, sibling)| {
        let key = object.all_keys().find(|key| key.name == name.value)?;
        let object_of = |shape: &Shape| if let Shape::Object(inner) = shape { Some(*inner) } else { None };
        let inner = if let Shape::Either(shapes) = key.shape {
            shapes.iter().find_map(object_of)?
        } else {
            object_of(&key.shape)?
        };
        inner.all_keys().find(|key| key.name == typed.value)?;
        let first = sibling.entries().first().map_or(inner.all_keys().next()?.name, |(first, _)| first.value.as_str());
        let (outer, typed, shown) = (&name.value, &typed.value, value.text().unwrap_or("…"));
        Some(format!("put it inside `{outer}`: `{outer}: {{ {first}: …, {typed}: {shown} }}`"))
    })
}

/// The key that may be meant: what another tool calls it, or what is spelt alike.
fn meant(typed: &str, object: &Object) -> Option<String> {
    let offered: Vec<&str> = object.all_keys().map(|key| key.name).collect();
    let synonym = synonym(typed, &offered).map(|write| format!("write `{write}`"));
    synonym.or_else(|| did_you_mean(typed, offered))
}

fn report_repeated(node: &Node, found: &mut Vec<Diagnostic>) {
    let mut first = BTreeMap::new();
    for (name, _) in node.entries() {
        if let Some(earlier) = first.get(name.value.as_str()) {
            found.push(
                Diagnostic::error("duplicate-key", format!("the key `{}` is written twice", name.value), name.span)
                    .with_label(name.span, "written again here")
                    .with_other(*earlier, "the first one is here"),
            );
        } else {
            first.insert(name.value.as_str(), name.span);
        }
    }
}

fn wrong_type(node: &Node, shape: &Shape) -> Diagnostic {
    let found = match (&node.value, shape) {
        (Value::Number(number), Shape::Whole) => format!("`{number}`"),
        _ => node.kind().to_owned(),
    };
    let help = match (shape, &node.value) {
        (Shape::Text, Value::Number(_) | Value::Bool(_)) => Some("put quotes around it to make it text".to_owned()),
        (Shape::List(_), Value::Map(_)) => {
            Some("begin each item of a list with `- `, or put `[ ]` around it".to_owned())
        }
        (Shape::List(Shape::Text), Value::Text(text)) => Some(format!("write `[{text}]`")),
        _ => None,
    };
    Diagnostic::error("wrong-type", format!("expected {}, found {found}", shape.words()), node.span).with_help(help)
}

/// The pattern of a duration.
const DURATION: &str = r"^[0-9.]+ *(us|µs|ms|s|m|min|h)$";

/// Refuses templates below a node where none is filled in, so that nobody takes the braces for a value.
pub fn refuse_templates(node: &Node, found: &mut Vec<Diagnostic>) {
    match &node.value {
        Value::Text(text) if super::template::is_template(text) => found.push(unfilled(node)),
        Value::List(items) => items.iter().for_each(|item| refuse_templates(item, found)),
        Value::Map(entries) => entries.iter().for_each(|(_, value)| refuse_templates(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

fn unfilled(node: &Node) -> Diagnostic {
    Diagnostic::error("template-not-filled", "templates are not allowed here", node.span)
        .with_help("write the value itself; templates work in requests and expectations".to_owned())
}

fn bad_duration(node: &Node, text: &str) -> Diagnostic {
    Diagnostic::error("bad-duration", format!("invalid duration `{text}`"), node.span)
        .with_help("write a number and a unit, such as `250ms`, `10s` or `2m`".to_owned())
}

impl Shape {
    /// Whether a value is of the kind that this shape wants, without looking inside.
    fn fits(&self, node: &Node) -> bool {
        match self {
            Self::Any => true,
            Self::Null => matches!(node.value, Value::Null),
            Self::Text | Self::Duration | Self::Time | Self::Timeout | Self::Choice(_) => {
                matches!(node.value, Value::Text(_))
            }
            Self::Template => node.text().is_some_and(super::template::is_template),
            Self::Flag => matches!(node.value, Value::Bool(_)),
            Self::Whole => node.whole().is_some(),
            Self::Number => matches!(node.value, Value::Number(_)),
            Self::List(_) => matches!(node.value, Value::List(_)),
            Self::Map(_) | Self::Object(_) => matches!(node.value, Value::Map(_)),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(node)),
        }
    }

    /// The shape in the words of messages and of the manual.
    pub fn words(&self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Null => "nothing".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Whole => "a whole number from 0".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Duration | Self::Time | Self::Timeout => "a duration such as `10s`".to_owned(),
            Self::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
            Self::Template => "a template".to_owned(),
            Self::List(Self::Any) => "a list".to_owned(),
            Self::List(Self::Map(_)) => "a list of mappings".to_owned(),
            Self::List(Self::Object(object)) => format!("a list of mappings with the keys of {}", object.name),
            Self::List(inner) => {
                format!("a list of {}", inner.words().trim_start_matches("a ").trim_start_matches("an "))
            }
            Self::Map(_) => "a mapping".to_owned(),
            Self::Object(object) => format!("a mapping with the keys of {}", object.name),
            Self::Either(shapes) => shapes.iter().map(Self::words).collect::<Vec<_>>().join(" or "),
        }
    }

    /// The JSON Schema (2020-12) of this shape; objects become references into `definitions`.
    pub fn json_schema(&self, definitions: &mut BTreeMap<&'static str, serde_json::Value>) -> serde_json::Value {
        match self {
            Self::Any => json!({}),
            Self::Null => json!({"type": "null"}),
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Whole => json!({"type": "integer", "minimum": 0}),
            Self::Number => json!({"type": "number"}),
            Self::Duration => json!({"type": "string", "pattern": format!(r"{DURATION}|\{{\{{")}),
            Self::Time => json!({"type": "string", "pattern": DURATION}),
            Self::Timeout => json!({"type": "string", "pattern": DURATION, "not": {"pattern": r"^[0.]+ *[a-zµ]+$"}}),
            Self::Choice(words) => json!({"enum": words}),
            Self::Template => json!({"type": "string", "pattern": r"\{[{%]"}),
            Self::List(inner) => json!({"type": "array", "items": inner.json_schema(definitions)}),
            Self::Map(inner) => json!({"type": "object", "additionalProperties": inner.json_schema(definitions)}),
            Self::Either(shapes) => {
                json!({"anyOf": shapes.iter().map(|shape| shape.json_schema(definitions)).collect::<Vec<_>>()})
            }
            Self::Object(object) => {
                define(object, definitions);
                json!({"$ref": format!("#/$defs/{}", definition_name(object))})
            }
        }
    }
}

/// The name of an object's definition in the JSON Schema: its name without the article.
fn definition_name(object: &Object) -> &'static str {
    object.name.trim_start_matches("a ").trim_start_matches("an ").trim_start_matches("the ")
}

fn define(object: &'static Object, definitions: &mut BTreeMap<&'static str, serde_json::Value>) {
    let name = definition_name(object);
    if definitions.contains_key(name) {
        return;
    }
    // Reserved before its keys are visited: shapes may contain themselves.
    definitions.insert(name, json!({}));
    let properties: serde_json::Map<String, serde_json::Value> = object
        .all_keys()
        .map(|key| {
            let mut schema = key.shape.json_schema(definitions);
            schema["description"] = key.doc.into();
            (key.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = object.all_keys().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": object.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    definitions.insert(name, schema);
}
