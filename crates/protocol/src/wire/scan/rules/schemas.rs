//! The schemas that tools declare, and the parameters that travel as headers of HTTP too (`x-mcp-header`).

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{AnsweredRequest, items, quote};
use crate::wire::Members;
use crate::wire::format::{SchemaError, flaw, is_token};

/// Judges the tools of a list.
pub(crate) fn judge(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    if asked.method != "tools/list" {
        return;
    }
    for tool in items(result, "tools") {
        let name = tool["name"].as_str().unwrap_or_default();
        let input = tool.member("inputSchema");
        for member in ["inputSchema", "outputSchema"] {
            if let Some(schema) = tool.get(member).filter(|schema| schema.is_object()) {
                judge_schema(look, name, member, schema);
            }
        }
        if let Some(input) = input {
            judge_headers(look, name, input);
        }
    }
}

fn judge_schema(look: &mut MessageCheck<'_>, tool: &str, member: &str, schema: &Value) {
    let place = format!("result.tools[*].{member}");
    let is_reported = look.found.iter().any(|one| one.place.as_deref().is_some_and(|at| at.starts_with(&place)));
    if is_reported || !look.holds(ScanRule::InvalidSchema) {
        return;
    }
    match flaw(schema) {
        None => look.require(ScanRule::InvalidSchema, true, String::new),
        Some(SchemaError::Broken(reason)) => look.require(ScanRule::InvalidSchema, false, || {
            format!("the `{member}` of the tool `{tool}` is not a valid JSON Schema: {reason}")
        }),
        Some(SchemaError::Unjudged(_)) => {}
    }
}

const ANNOTATION: &str = "x-mcp-header";

/// Keywords whose values are data and not schemas.
const DATA: [&str; 5] = ["const", "default", "enum", "examples", "example"];

/// Keywords whose values are schemas by names that anybody may choose.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Judges every annotation in the input schema of a tool.
fn judge_headers(look: &mut MessageCheck<'_>, tool: &str, schema: &Value) {
    if !look.holds(ScanRule::BadHeaderAnnotation) {
        return;
    }
    let mut names = Vec::new();
    walk(schema, SchemaStep::Root, &mut |property, way| {
        let problem = annotation_problem(property, way).or_else(|| find_repeat(&mut names, property));
        look.require(ScanRule::BadHeaderAnnotation, problem.is_none(), || {
            let name = quote(property.get(ANNOTATION));
            format!("the `{ANNOTATION}` {name} in the tool `{tool}` {}", problem.unwrap_or_default())
        });
    });
}

/// One step from a schema to a subschema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaStep {
    /// It is the whole schema, and no parameter.
    Root,
    /// By `properties` alone.
    Properties,
    Detour,
}

fn annotation_problem(property: &Value, way: SchemaStep) -> Option<&'static str> {
    let is_named = property[ANNOTATION].as_str().is_some_and(is_token);
    let is_primitive = match property.member("type") {
        Some(Value::String(kind)) => matches!(kind.as_str(), "integer" | "string" | "boolean"),
        Some(Value::Array(kinds)) => {
            kinds.iter().all(|kind| *kind != "number" && *kind != "object" && *kind != "array")
        }
        _ => true,
    };
    if !is_named {
        Some("is no name of a header")
    } else if way != SchemaStep::Properties {
        Some("stands where `properties` alone do not lead")
    } else if is_primitive {
        None
    } else {
        Some("stands at a parameter that is no integer, text or boolean")
    }
}

fn find_repeat(names: &mut Vec<String>, property: &Value) -> Option<&'static str> {
    let name = property[ANNOTATION].as_str().unwrap_or_default().to_ascii_lowercase();
    if names.contains(&name) {
        return Some("is there twice");
    }
    names.push(name);
    None
}

/// Shows every annotated subschema.
fn walk(schema: &Value, way: SchemaStep, show: &mut impl FnMut(&Value, SchemaStep)) {
    if let Some(list) = schema.as_array() {
        for one in list {
            walk(one, SchemaStep::Detour, show);
        }
    }
    let Some(keywords) = schema.as_object() else { return };
    if keywords.contains_key(ANNOTATION) {
        show(schema, way);
    }
    for (keyword, value) in keywords {
        if DATA.contains(&keyword.as_str()) {
            continue;
        }
        let Some(named) = value.as_object().filter(|_| NAMED.contains(&keyword.as_str())) else {
            walk(value, SchemaStep::Detour, show);
            continue;
        };
        let is_straight = keyword == "properties" && way != SchemaStep::Detour;
        let next = if is_straight { SchemaStep::Properties } else { SchemaStep::Detour };
        named.values().for_each(|one| walk(one, next, show));
    }
}
