//! Assertions about every element of a list, as the JSON Schema of the list.

use serde_json::{Map, Value, json};

use crate::source::Node;

use super::assertion::{Operand, or_refused, path_and_value};
use super::context_path::{ContextPath, ContextStep, PathRoot};
use super::input::CallInput;
use super::parameters::literal;
use super::{Unconverted, cannot_convert};

/// The expectation of a `for_each`: the list up to the first `[*]` fits a schema.
pub(crate) fn for_each(node: &Node, input: &CallInput) -> Result<Value, Unconverted> {
    let (path, schema) = loop_schema(node, input)?;
    if path.root != PathRoot::Response {
        return Err(cannot_convert(node, "the loop looks at nothing of the answer"));
    }
    let every = path.steps.iter().position(|step| *step == ContextStep::Every).unwrap_or(path.steps.len());
    let (list, rest) = path.steps.split_at(every);
    let list = ContextPath { root: path.root, steps: list.to_vec() };
    let schema = wrap_in_path(rest, schema);
    Ok(or_refused(json!({ "at": list.in_answer(), "schema": schema }), &list, &schema))
}

/// The path of a loop, and the schema of what it leads to.
fn loop_schema(node: &Node, input: &CallInput) -> Result<(ContextPath, Value), Unconverted> {
    let path = node.get("path").ok_or_else(|| cannot_convert(node, "the loop has no `path`"))?;
    let path = ContextPath::parse(path.text().unwrap_or_default()).map_err(|why| cannot_convert(path, why))?;
    let assertions = node.get("assert").map(Node::items).unwrap_or_default();
    let schemas: Vec<Value> = assertions.iter().map(|item| schema(item, input)).collect::<Result<_, _>>()?;
    Ok((path, all_of(schemas)))
}

/// The schema of an element for which an assertion holds.
fn schema(node: &Node, input: &CallInput) -> Result<Value, Unconverted> {
    let member = |key: &str| node.get(key).ok_or_else(|| cannot_convert(node, format!("the assertion has no `{key}`")));
    let each = |key: &str| -> Result<Vec<Value>, Unconverted> {
        member(key)?.items().iter().map(|item| schema(item, input)).collect()
    };
    let kind = member("kind")?;
    let at = |keywords: Value| Ok(wrap_in_path(&item_path(member("path")?)?.steps, keywords));
    let bound = || known_value(path_and_value(node)?.1, input);
    match kind.text().unwrap_or_default() {
        "equals" => equality(node, input, |value| json!({ "const": value })),
        "not_equals" => equality(node, input, |value| json!({ "not": { "const": value } })),
        "at_most" => at(json!({ "type": "number", "maximum": bound()? })),
        "at_least" => at(json!({ "type": "number", "minimum": bound()? })),
        "length_eq" => at(length_schema(&["min", "max"], &bound()?)),
        "length_at_most" => at(length_schema(&["max"], &bound()?)),
        "length_at_least" => at(length_schema(&["min"], &bound()?)),
        "is_type" => at(json!({ "type": literal(member("type")?) })),
        "matches_regex" => at(json!({ "type": "string", "pattern": literal(member("pattern")?) })),
        "matches_schema" => at(literal(member("schema")?)),
        "all_of" => Ok(all_of(each("assert")?)),
        "any_of" => Ok(json!({ "anyOf": each("assert")? })),
        "not" => Ok(json!({ "not": schema(member("assertion")?, input)? })),
        "for_each" => {
            let (path, schema) = loop_schema(node, input)?;
            if path.root != PathRoot::Item {
                return Err(cannot_convert(node, "a loop within a loop looks at something else than its element"));
            }
            Ok(wrap_in_path(&path.steps, schema))
        }
        other => Err(cannot_convert(kind, format!("there is no assertion of the kind `{other}`"))),
    }
}

/// The schema for a comparison of the element with a value that is known before the call.
fn equality(node: &Node, input: &CallInput, keywords: impl Fn(Value) -> Value) -> Result<Value, Unconverted> {
    let sides = node.get("lhs").zip(node.get("rhs"));
    let (lhs, rhs) = sides.ok_or_else(|| cannot_convert(node, "the assertion has no `lhs` or no `rhs`"))?;
    let path_of = |side: &Node| item_path(side.get("path").unwrap_or(side));
    let (path, value) = match (path_of(lhs), path_of(rhs)) {
        (Ok(path), _) => (path, known_value(rhs, input)?),
        (_, Ok(path)) => (path, known_value(lhs, input)?),
        (Err(why), Err(_)) => return Err(why),
    };
    Ok(wrap_in_path(&path.steps, keywords(value)))
}

fn item_path(node: &Node) -> Result<ContextPath, Unconverted> {
    let path = ContextPath::parse(node.text().unwrap_or_default()).map_err(|why| cannot_convert(node, why))?;
    if path.root == PathRoot::Item {
        Ok(path)
    } else {
        Err(cannot_convert(node, "an assertion in a loop looks at something else than its element"))
    }
}

fn known_value(node: &Node, input: &CallInput) -> Result<Value, Unconverted> {
    match Operand::decode(node, input)? {
        Operand::Known(value) => Ok(value),
        Operand::Answer(_) => Err(cannot_convert(node, "an element is compared with another part of the answer")),
    }
}

/// A schema at the end of a path.
fn wrap_in_path(steps: &[ContextStep], schema: Value) -> Value {
    steps.iter().rev().fold(schema, |schema, step| match step {
        ContextStep::Name(name) => {
            let properties: Map<String, Value> = [(name.clone(), schema)].into_iter().collect();
            json!({ "type": "object", "required": [name], "properties": properties })
        }
        ContextStep::Index(index) => {
            let before = std::iter::repeat_n(json!(true), *index).chain([schema]);
            json!({ "type": "array", "minItems": index + 1, "prefixItems": before.collect::<Vec<_>>() })
        }
        ContextStep::Every => json!({ "type": "array", "items": schema }),
    })
}

/// A text or a list of a length.
fn length_schema(bounds: &[&str], length: &Value) -> Value {
    let of = |kind: &str, noun: &str| {
        let mut schema = json!({ "type": kind });
        for bound in bounds {
            schema[format!("{bound}{noun}")] = length.clone();
        }
        schema
    };
    json!({ "anyOf": [of("string", "Length"), of("array", "Items")] })
}

fn all_of(mut schemas: Vec<Value>) -> Value {
    if schemas.len() == 1 { schemas.remove(0) } else { json!({ "allOf": schemas }) }
}
