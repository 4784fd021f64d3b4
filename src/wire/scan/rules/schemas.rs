//! The schemas that tools declare.

use serde_json::Value;

use super::super::super::format::{SchemaError, flaw};
use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{AnsweredRequest, headers, items, shown};
use crate::wire::Members;

/// Judges the tools of a list.
pub(super) fn judge(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    if asked.method != "tools/list" {
        return;
    }
    for tool in items(result, "tools") {
        let name = tool["name"].as_str().unwrap_or_default();
        let input = tool.member("inputSchema");
        look.require(ScanRule::NoInputSchema, input.is_some_and(Value::is_object), || {
            format!("the `inputSchema` of the tool `{name}` must be an object, it is {}", shown(input))
        });
        for member in ["inputSchema", "outputSchema"] {
            if let Some(schema) = tool.get(member).filter(|schema| schema.is_object()) {
                judge_schema(look, name, member, schema);
            }
        }
        if let Some(input) = input {
            headers::judge(look, name, input);
        }
    }
}

fn judge_schema(look: &mut MessageCheck<'_>, tool: &str, member: &str, schema: &Value) {
    if !look.holds(ScanRule::InvalidSchema) {
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
