//! The arguments of a call: fixed, generated from a description of their values, or generated from the tool's schema.

use serde_json::{Map, Value, json};

use crate::source::Node;

use super::super::left_out::LeftOut;
use super::context_path::ContextPath;
use super::parameters::literal;
use super::{Unconverted, cannot_convert, unknown_members};

/// The name of the generated arguments in the suite.
const INPUT: &str = "input";

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallInput {
    /// The same in every call; texts may be templates.
    Fixed(Value),
    /// Generated; the value is what stands under `generate`.
    Generated(Value),
}

impl CallInput {
    /// Reads `fixed`, `generate` or `input: schema_valid`; without any, the arguments are empty.
    pub(crate) fn decode(node: &Node) -> Result<Self, Unconverted> {
        match (node.get("fixed"), node.get("generate"), node.get(INPUT)) {
            (None, None, None) => Ok(Self::Fixed(json!({}))),
            (_, _, Some(mode)) if mode.text() == Some("schema_valid") => {
                let tool = node.get("tool").map_or_else(|| "{{ tool.name }}".into(), literal);
                Ok(Self::Generated(json!({ "tool": tool })))
            }
            (_, _, Some(mode)) => Err(cannot_convert(mode, "`input` is known as `schema_valid` only")),
            (Some(fixed), None, None) => Ok(Self::Fixed(literal(fixed))),
            (None, Some(generate), None) => Ok(Self::Generated(object_schema(generate)?)),
            (Some(_), Some(generate), None) => {
                Err(cannot_convert(generate, "an invariant has either `generate` or `fixed`"))
            }
        }
    }

    /// Adds `generate` and `args` to a property.
    pub(crate) fn add_to(&self, property: &mut Map<String, Value>) {
        match self {
            Self::Fixed(arguments) if *arguments == json!({}) => {}
            Self::Fixed(arguments) => drop(property.insert("args".to_owned(), arguments.clone())),
            Self::Generated(values) => {
                property.insert("args".to_owned(), format!("{{{{ {INPUT} }}}}").into());
                property.insert("generate".to_owned(), json!({ INPUT: values }));
            }
        }
    }

    /// The value at a path into the arguments, as a suite writes it.
    pub(crate) fn value(&self, path: &ContextPath) -> Option<Value> {
        match self {
            Self::Fixed(arguments) => path.value(arguments).cloned(),
            Self::Generated(_) => Some(format!("{{{{ {} }}}}", path.expression(INPUT)?).into()),
        }
    }
}

/// The JSON Schema of arguments whose values are described one by one.
fn object_schema(generate: &Node) -> Result<Value, Unconverted> {
    let mut properties = Map::new();
    for (name, spec) in generate.entries() {
        properties.insert(name.value.clone(), value_schema(spec)?);
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    Ok(json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }))
}

fn value_schema(spec: &Node) -> Result<Value, Unconverted> {
    let kind = spec.get("type").and_then(Node::text).unwrap_or_default();
    let keywords: &[(&str, &str)] = match kind {
        "string" => &[("min_length", "minLength"), ("max_length", "maxLength")],
        "integer" | "number" => &[("min", "minimum"), ("max", "maximum")],
        "array" => &[("min_items", "minItems"), ("max_items", "maxItems")],
        "boolean" => &[],
        _ => return Err(LeftOut::new("type", spec.span, format!("a generated value has no type `{kind}`"))),
    };
    let known: Vec<&str> = keywords.iter().map(|(key, _)| *key).chain(["type", "items"]).collect();
    if let Some(unknown) =
        unknown_members(spec, &known, &format!("a generated {kind} of mcp-wallfacer")).into_iter().next()
    {
        return Err(unknown);
    }
    let mut schema = json!({ "type": kind });
    for (key, keyword) in keywords {
        if let Some(value) = spec.get(key) {
            schema[*keyword] = value.to_json();
        }
    }
    if let (Some(items), "array") = (spec.get("items"), kind) {
        schema["items"] = value_schema(items)?;
    }
    Ok(schema)
}
