//! Assertions of an invariant as expectations of a suite.

use serde_json::{Value, json};

use crate::schema::satisfies;
use crate::source::Node;

use super::context_path::{ContextPath, PathRoot};
use super::input::CallInput;
use super::parameters::{check_pattern, literal};
use super::{Unconverted, cannot_convert, item_schema};

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// A value of the answer.
    Answer(ContextPath),
    /// A value that is known before the call, as a suite writes it.
    Known(Value),
}

impl Operand {
    /// Reads `{ path: … }`, `{ value: … }`, a text that begins with `$`, or a value.
    pub(crate) fn decode(node: &Node, input: &CallInput) -> Result<Self, Unconverted> {
        let path = node.get("path").filter(|_| node.entries().len() == 1);
        let value = node.get("value").filter(|_| node.entries().len() == 1);
        match (path, value) {
            (Some(path), _) => Self::at(path, input),
            (None, Some(value)) => Ok(Self::Known(literal(value))),
            (None, None) if node.text().is_some_and(|text| text.starts_with('$')) => Self::at(node, input),
            (None, None) => Ok(Self::Known(literal(node))),
        }
    }

    /// The value at a path.
    pub(crate) fn at(node: &Node, input: &CallInput) -> Result<Self, Unconverted> {
        let path = ContextPath::parse(node.text().unwrap_or_default()).map_err(|why| cannot_convert(node, why))?;
        match path.root {
            PathRoot::Response => Ok(Self::Answer(path)),
            PathRoot::Input => {
                let known = input.value(&path).map(Self::Known);
                known.ok_or_else(|| cannot_convert(node, "the arguments have no value at this path"))
            }
            PathRoot::Tool => {
                let expression = path.expression("tool").map(|name| Self::Known(format!("{{{{ {name} }}}}").into()));
                expression.ok_or_else(|| cannot_convert(node, "the path stands for several values of the tool"))
            }
            PathRoot::Item => Err(cannot_convert(node, "`$.item` means nothing outside of a `for_each`")),
        }
    }
}

/// The expectation that says the same as an assertion.
pub(crate) fn expectation(node: &Node, input: &CallInput) -> Result<Value, Unconverted> {
    let member = |key: &str| node.get(key).ok_or_else(|| cannot_convert(node, format!("the assertion has no `{key}`")));
    let kind = member("kind")?;
    let all = |key: &str| -> Result<Vec<Value>, Unconverted> {
        member(key)?.items().iter().map(|item| expectation(item, input)).collect()
    };
    match kind.text().unwrap_or_default() {
        "equals" => comparison(node, member("lhs")?, member("rhs")?, Comparison::Equal, input),
        "not_equals" => comparison(node, member("lhs")?, member("rhs")?, Comparison::Different, input),
        "at_most" => at_path(node, input, "at_most", "<="),
        "at_least" => at_path(node, input, "at_least", ">="),
        "length_eq" => length(node, input, |length| length),
        "length_at_most" => length(node, input, |length| json!({ "max": length })),
        "length_at_least" => length(node, input, |length| json!({ "min": length })),
        "is_type" => {
            let (path, kind) = (member("path")?, literal(member("type")?));
            let (path, at) = place(path, input)?;
            Ok(or_refused(json!({ "at": at, "type": kind }), &path, &json!({ "type": kind })))
        }
        "matches_regex" => {
            check_pattern(member("pattern")?)?;
            let (path, pattern) = (member("path")?, member("pattern")?);
            match of_tool(path) {
                Some(value) => Ok(tool_matches(&value, &pattern.to_text())),
                None => Ok(json!({ "at": place(path, input)?.1, "matches": literal(pattern) })),
            }
        }
        "matches_schema" => {
            let (path, schema) = (member("path")?, literal(member("schema")?));
            let (path, at) = place(path, input)?;
            Ok(or_refused(json!({ "at": at, "schema": schema }), &path, &schema))
        }
        "all_of" => Ok(json!({ "all": all("assert")? })),
        "any_of" => Ok(json!({ "any": all("assert")? })),
        "not" => Ok(json!({ "not": expectation(member("assertion")?, input)? })),
        "for_each" => item_schema::for_each(node, input),
        other => Err(cannot_convert(kind, format!("there is no assertion of the kind `{other}`"))),
    }
}

/// The expression for a path that leads into the tool.
fn of_tool(path: &Node) -> Option<String> {
    let path = ContextPath::parse(path.text()?).ok()?;
    path.expression("tool").filter(|_| path.root == PathRoot::Tool)
}

/// An expectation of a text of the tool; one that is missing matches nothing.
fn tool_matches(value: &str, pattern: &str) -> Value {
    json!({ "assert": format!("{value} is defined and {value} is matching({})", Value::from(pattern)) })
}

/// An expectation that a refused call meets, too, where mcp-wallfacer says so: a JSON-RPC error is a result there, with the
/// message as its text and `isError`.
pub(crate) fn or_refused(item: Value, path: &ContextPath, schema: &Value) -> Value {
    let refused = json!({ "content": [{ "type": "text", "text": "refused" }], "isError": true });
    let value = path.value(&refused).filter(|_| path.root == PathRoot::Response);
    let is_met = value.is_some_and(|value| satisfies(schema, value));
    if is_met { json!({ "any": [item, { "error": true }] }) } else { item }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
}

fn comparison(
    node: &Node,
    lhs: &Node,
    rhs: &Node,
    comparison: Comparison,
    input: &CallInput,
) -> Result<Value, Unconverted> {
    match (Operand::decode(lhs, input)?, Operand::decode(rhs, input)?) {
        (Operand::Answer(path), Operand::Known(value)) | (Operand::Known(value), Operand::Answer(path)) => {
            if let (Some("result.isError"), Some(flag)) = (path.in_answer().as_deref(), value.as_bool()) {
                return Ok(error_flag(flag == (comparison == Comparison::Equal)));
            }
            let at = path.in_answer().ok_or_else(|| cannot_convert(node, several()))?;
            Ok(match comparison {
                Comparison::Equal => json!({ "at": at, "equals": value }),
                Comparison::Different => json!({ "at": at, "not": { "equals": value } }),
            })
        }
        (Operand::Answer(one), Operand::Answer(other)) => {
            let sides = one.expression("result").zip(other.expression("result"));
            let (one, other) = sides.ok_or_else(|| cannot_convert(node, several()))?;
            let sign = if comparison == Comparison::Equal { "==" } else { "!=" };
            Ok(json!({ "assert": format!("{one} {sign} {other}") }))
        }
        (Operand::Known(_), Operand::Known(_)) => Err(cannot_convert(node, "it looks at nothing of the answer")),
    }
}

/// `isError` as a suite asks for it: servers may leave it out of a success, and refuse a call with a JSON-RPC error.
pub(crate) fn error_flag(is_error: bool) -> Value {
    if is_error { json!({ "any": [{ "is_error": true }, { "error": true }] }) } else { json!({ "is_error": false }) }
}

fn at_path(node: &Node, input: &CallInput, matcher: &str, sign: &str) -> Result<Value, Unconverted> {
    let (path, bound) = path_and_value(node)?;
    match (Operand::at(path, input)?, Operand::decode(bound, input)?) {
        (Operand::Answer(path), Operand::Known(bound)) => {
            let at = path.in_answer().ok_or_else(|| cannot_convert(node, several()))?;
            Ok(json!({ "at": at, matcher: bound }))
        }
        (Operand::Answer(path), Operand::Answer(bound)) => {
            let sides = path.expression("result").zip(bound.expression("result"));
            let (path, bound) = sides.ok_or_else(|| cannot_convert(node, several()))?;
            Ok(json!({ "assert": format!("{path} {sign} {bound}") }))
        }
        (Operand::Known(_), _) => Err(cannot_convert(node, "it looks at nothing of the answer")),
    }
}

fn length(node: &Node, input: &CallInput, range: impl Fn(Value) -> Value) -> Result<Value, Unconverted> {
    let (path, bound) = path_and_value(node)?;
    let (_, at) = place(path, input)?;
    match Operand::decode(bound, input)? {
        // Everything that has a length has at least none.
        Operand::Known(bound) if bound == json!(0) && range(json!(0)).get("min").is_some() => {
            Ok(json!({ "at": at, "exists": true }))
        }
        Operand::Known(bound) => Ok(json!({ "at": at, "length": range(bound) })),
        Operand::Answer(_) => Err(cannot_convert(bound, "a length is compared with a value of the same answer")),
    }
}

/// The path and the value of an assertion that has both.
pub(crate) fn path_and_value(node: &Node) -> Result<(&Node, &Node), Unconverted> {
    let both = node.get("path").zip(node.get("value"));
    both.ok_or_else(|| cannot_convert(node, "the assertion has no `path` or no `value`"))
}

/// The path into the answer at which an assertion looks, and how a suite writes it.
fn place(path: &Node, input: &CallInput) -> Result<(ContextPath, String), Unconverted> {
    match Operand::at(path, input)? {
        Operand::Answer(found) => {
            let at = found.in_answer().ok_or_else(|| cannot_convert(path, several()))?;
            Ok((found, at))
        }
        Operand::Known(_) => Err(cannot_convert(path, "it looks at nothing of the answer")),
    }
}

fn several() -> String {
    "a path with `[*]` stands for several values; mcprove reads it in `for_each` only".to_owned()
}
