//! Sequences of calls, of which later ones use the answers to earlier ones, as properties with several steps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::matching::PROVIDED;
use crate::source::Node;

use super::super::left_out::LeftOut;
use super::assertion::error_flag;
use super::context_path::ContextPath;
use super::input::CallInput;
use super::invariant::{ConvertedProperty, expectations};
use super::parameters::{literal, literal_text};
use super::{Unconverted, cannot_convert, unknown_members};

const OF_SEQUENCE: [&str; 4] = ["name", "description", "steps", "test_fixtures"];
const OF_STEP: [&str; 5] = ["call", "with", "bind", "expect", "assert"];

/// Names that templates of a property have already.
const TAKEN: [&str; 9] = ["session", "server", "offer", "hints", "env", "round", "tool", "payload", "parameter"];

/// The arguments of earlier steps, by the name to which they are bound.
type Bound = BTreeMap<String, Value>;

/// An entry of `sequences`.
pub(crate) fn sequence(node: &Node) -> Result<ConvertedProperty, Unconverted> {
    let name = node.get("name").ok_or_else(|| cannot_convert(node, "the sequence has no `name`"))?;
    let mut left_out = unknown_members(node, &OF_SEQUENCE, "a sequence");
    let mut bound = Bound::new();
    let mut steps = Vec::new();
    for written in node.get("steps").map(Node::items).unwrap_or_default() {
        left_out.extend(unknown_members(written, &OF_STEP, "a step"));
        steps.push(step(written, &mut bound, &mut left_out)?);
    }
    if steps.is_empty() {
        return Err(cannot_convert(node, "the sequence has no steps"));
    }
    let members = [("name".to_owned(), literal(name)), ("steps".to_owned(), steps.into())];
    Ok(ConvertedProperty { property: members.into_iter().collect(), left_out })
}

fn step(node: &Node, bound: &mut Bound, left_out: &mut Vec<Unconverted>) -> Result<Value, Unconverted> {
    let tool = node.get("call").ok_or_else(|| cannot_convert(node, "the step has no `call`"))?;
    let arguments = match node.get("with") {
        Some(with) => with_references(&with.to_json(), bound).map_err(|why| LeftOut::new("with", with.span, why))?,
        None => json!({}),
    };
    let mut step = json!({ "call": literal(tool) });
    if arguments != json!({}) {
        step["args"] = arguments.clone();
    }
    let is_error = match node.get("expect") {
        None => false,
        Some(word) if word.text() == Some("ok") => false,
        Some(word) if word.text() == Some("error") => true,
        Some(word) => return Err(cannot_convert(word, "a step expects `ok` or `error`")),
    };
    let (expect, unknown) = expectations(node, &CallInput::Fixed(arguments.clone()));
    left_out.extend(unknown);
    step["expect"] = std::iter::once(error_flag(is_error)).chain(expect).collect();
    if let Some(name) = node.get("bind").and_then(Node::text) {
        step["capture"] = json!({ template_name(name): "result" });
        bound.insert(name.to_owned(), arguments);
    }
    Ok(step)
}

/// A value whose references to earlier steps are templates of a suite.
fn with_references(value: &Value, bound: &Bound) -> Result<Value, String> {
    match value {
        Value::String(text) => text_with_references(text, bound),
        Value::Array(items) => items.iter().map(|item| with_references(item, bound)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((literal_text(name), with_references(value, bound)?)));
            Ok(members.collect::<Result<Map<_, _>, String>>()?.into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

fn text_with_references(text: &str, bound: &Bound) -> Result<Value, String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((inner, after)) = after.split_once("}}") else { break };
        whole += &literal_text(before);
        if !inner.trim().starts_with("steps.") {
            whole += &literal_text(&format!("{{{{{inner}}}}}"));
            rest = after;
            continue;
        }
        match find_reference(inner.trim(), bound)? {
            ReferencedValue::Answer(expression) => {
                let _ = write!(whole, "{{{{ {expression} }}}}");
            }
            // A text that is one reference and nothing else keeps the type of what it names.
            ReferencedValue::Argument(value) if before.is_empty() && after.is_empty() && whole.is_empty() => {
                return Ok(value);
            }
            ReferencedValue::Argument(Value::String(text)) => whole += &text,
            ReferencedValue::Argument(value) => whole += &value.to_string(),
        }
        rest = after;
    }
    Ok((whole + &literal_text(rest)).into())
}

/// The value to which a reference leads.
enum ReferencedValue {
    /// An expression of what a step captured.
    Answer(String),
    /// An argument of an earlier step, as the suite writes it.
    Argument(Value),
}

/// Reads `steps.NAME.response.PATH` or `steps.NAME.input.PATH`.
fn find_reference(text: &str, bound: &Bound) -> Result<ReferencedValue, String> {
    let rest = text.strip_prefix("steps.").unwrap_or(text);
    let (name, path) =
        rest.split_once('.').ok_or_else(|| format!("`{text}` is a whole step, with arguments and answer"))?;
    let arguments = bound.get(name).ok_or_else(|| format!("no earlier step is bound to `{name}`"))?;
    let path = ContextPath::parse(&format!("$.{path}"))?;
    match path.root {
        super::context_path::PathRoot::Response => {
            let expression = path.expression(&template_name(name));
            expression.map(ReferencedValue::Answer).ok_or_else(|| format!("`{text}` stands for several values"))
        }
        super::context_path::PathRoot::Input => {
            let value = path.value(arguments).cloned().map(ReferencedValue::Argument);
            value.ok_or_else(|| format!("the step `{name}` has no argument at `{text}`"))
        }
        super::context_path::PathRoot::Item | super::context_path::PathRoot::Tool => {
            Err(format!("`{text}` is neither of the arguments nor of the answer"))
        }
    }
}

/// The name under which a suite knows the answer to a step.
fn template_name(name: &str) -> String {
    let plain: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let begins_well = plain.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins_well && !TAKEN.contains(&name) && !PROVIDED.contains(&name) { plain } else { format!("step_{plain}") }
}
