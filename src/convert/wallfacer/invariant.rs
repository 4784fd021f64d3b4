//! Invariants of one call, and those of each tool, as properties.

use serde_json::{Map, Value, json};

use crate::source::{Located, Node};

use super::assertion::expectation;
use super::input::CallInput;
use super::parameters::{check_pattern, literal, literal_text};
use super::{Unconverted, cannot_convert, unknown_members};

/// A property, and the assertions that it lacks.
pub(crate) struct ConvertedProperty {
    pub(crate) property: Map<String, Value>,
    pub(crate) left_out: Vec<Unconverted>,
}

const OF_INVARIANT: [&str; 8] = ["name", "tool", "input", "generate", "fixed", "cases", "assert", "test_fixtures"];
const OF_LOOP: [&str; 3] = ["name", "where", "apply"];
const OF_TEMPLATE: [&str; 6] = ["input", "generate", "fixed", "cases", "assert", "test_fixtures"];

/// An entry of `invariants`.
pub(crate) fn invariant(node: &Node) -> Result<ConvertedProperty, Unconverted> {
    let tool = node.get("tool").ok_or_else(|| cannot_convert(node, "the invariant names no `tool`"))?;
    let mut property = name_of(node)?;
    property.insert("call".to_owned(), literal(tool));
    let mut made = with_input_and_assertions(node, property)?;
    made.left_out.extend(unknown_members(node, &OF_INVARIANT, "an invariant"));
    Ok(made)
}

/// An entry of `for_each_tool`.
pub(crate) fn for_each_tool(node: &Node) -> Result<ConvertedProperty, Unconverted> {
    let apply = node.get("apply").ok_or_else(|| cannot_convert(node, "the loop has no `apply`"))?;
    let mut property = name_of(node)?;
    property.insert("for_each".to_owned(), "tools".into());
    let conditions = node.get("where").map(conditions).transpose()?.unwrap_or_default();
    if !conditions.is_empty() {
        property.insert("where".to_owned(), conditions.join(" and ").into());
    }
    property.insert("call".to_owned(), "{{ tool.name }}".into());
    let mut made = with_input_and_assertions(apply, property)?;
    made.left_out.extend(unknown_members(node, &OF_LOOP, "a loop over tools"));
    made.left_out.extend(unknown_members(apply, &OF_TEMPLATE, "an invariant"));
    Ok(made)
}

/// The name of an entry in a suite outside of a loop over tools.
pub(crate) fn plain_name(node: &Node) -> String {
    let name = node.get("name").and_then(Node::text).map_or_else(|| "without a name".to_owned(), literal_text);
    name.replace("{{ tool.name }}", "TOOL")
}

fn name_of(node: &Node) -> Result<Map<String, Value>, Unconverted> {
    let name = node.get("name").ok_or_else(|| cannot_convert(node, "it has no `name`"))?;
    Ok([("name".to_owned(), literal(name))].into_iter().collect())
}

fn with_input_and_assertions(node: &Node, mut property: Map<String, Value>) -> Result<ConvertedProperty, Unconverted> {
    let input = CallInput::decode(node)?;
    input.add_to(&mut property);
    if let (Some(cases), CallInput::Generated(_)) = (node.get("cases"), &input) {
        property.insert("cases".to_owned(), literal(cases));
    }
    let (expect, left_out) = expectations(node, &input);
    if expect.is_empty() && !left_out.is_empty() {
        return left_out.into_iter().next().map_or_else(|| Err(cannot_convert(node, "it asserts nothing")), Err);
    }
    property.insert("expect".to_owned(), expect.into());
    Ok(ConvertedProperty { property, left_out })
}

/// The expectations of all assertions, and those that have no counterpart.
pub(crate) fn expectations(node: &Node, input: &CallInput) -> (Vec<Value>, Vec<Unconverted>) {
    let (mut expect, mut left_out) = (Vec::new(), Vec::new());
    for assertion in node.get("assert").map(Node::items).unwrap_or_default() {
        match expectation(assertion, input) {
            Ok(item) => expect.push(item),
            Err(why) => left_out.push(why),
        }
    }
    (expect, left_out)
}

/// The conditions under which a loop takes a tool, as expressions.
fn conditions(node: &Node) -> Result<Vec<String>, Unconverted> {
    let mut conditions = Vec::new();
    for (key, value) in node.entries() {
        match key.value.as_str() {
            "annotations" => {
                for (hint, wanted) in value.entries() {
                    let Located { value: hint, .. } = hint;
                    let is = if wanted.flag() == Some(true) { "" } else { "not " };
                    conditions.push(format!(
                        "tool.annotations is defined and tool.annotations.{hint} is defined and {is}tool.annotations.{hint}"
                    ));
                }
            }
            "name_matches" => conditions.push(pattern_condition("tool.name", value)?),
            "description_matches" => {
                conditions
                    .push(format!("tool.description is defined and {}", pattern_condition("tool.description", value)?));
            }
            other => return Err(cannot_convert(value, format!("`{other}` is no condition of a loop over tools"))),
        }
    }
    Ok(conditions)
}

/// A regular expression as a condition: that of a beginning, end or part in words that are read at once.
fn pattern_condition(name: &str, node: &Node) -> Result<String, Unconverted> {
    let pattern = node.text().unwrap_or_default();
    let (begins, rest) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
    let (ends, rest) = rest.strip_suffix('$').map_or((false, rest), |rest| (true, rest));
    let (ends, rest) = rest.strip_suffix(".*").map_or((ends, rest), |rest| (false, rest));
    let (begins, rest) = rest.strip_prefix(".*").map_or((begins, rest), |rest| (false, rest));
    let rest = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    let rest = rest.strip_prefix("?:").unwrap_or(rest);
    let words: Vec<&str> = rest.split('|').collect();
    let is_word = |word: &&str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || "_- /:".contains(letter))
    };
    // Without parentheses, `^a|b$` has other alternatives.
    let is_grouped = pattern.contains('(') || words.len() == 1 || !begins && !ends;
    if !words.iter().all(is_word) || !is_grouped {
        check_pattern(node)?;
        return Ok(format!("{name} is matching({})", json!(pattern)));
    }
    let each = words.iter().map(|word| {
        let word = json!(word);
        match (begins, ends) {
            (true, true) => format!("{name} == {word}"),
            (true, false) => format!("{name} is startingwith({word})"),
            (false, true) => format!("{name} is endingwith({word})"),
            (false, false) => format!("{word} in {name}"),
        }
    });
    let each: Vec<String> = each.collect();
    Ok(if each.len() == 1 { each.concat() } else { format!("({})", each.join(" or ")) })
}
