//! `input_schema`: what the declared input schema of a tool includes.

use super::super::compare::{MatchExtent, differences, fits, spoken_of};
use super::super::{mismatch::Mismatch, unknown_tool};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::{Diagnostic, Located, Node};
use crate::wire::ListKind;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key("input_schema", Shape::Object(&INPUT_SCHEMA), "Parts of a tool's declared input schema."),
    judges: |_| &["SCHEMA-DRIFT"],
    build,
};

static INPUT_SCHEMA: Object = Object {
    name: "an input schema check",
    doc: "Parts of a tool's declared input schema.",
    keys: &[&[
        key("tool", Shape::Text, "The tool; by default the one that the step calls."),
        required("includes", Shape::Map(&Shape::Any), "The parts that the schema must have."),
    ]],
};

fn build(key: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let tool = node.get("tool").and_then(Node::text).map(str::to_owned);
    let (expected, span) = (node.get("includes")?.to_json(), key.span);
    Some(AnswerCheck::one(move |answer| {
        let fail = |message: String, label: &str| Mismatch::new("input-schema", span, message, label);
        let Some(name) = tool.as_deref().or(answer.tool()) else {
            let message = format!("{} does not call a tool, so the tool must be named", answer.describe_request());
            return Some(fail(message, "needs `tool:`"));
        };
        let tools = answer.list(ListKind::Tools);
        let Some(tool) = tools.into_iter().find(|tool| tool["name"] == name) else {
            return Some(fail(unknown_tool(name, answer.catalog), "an unknown tool has no schema"));
        };
        let schema = &tool["inputSchema"];
        if fits(&expected, schema, MatchExtent::Part) {
            return None;
        }
        let label = differences(&expected, schema, MatchExtent::Part);
        let message = format!("the input schema of `{name}` does not include every listed part");
        let mismatch = fail(message, &label).with_path("inputSchema");
        Some(mismatch.with_values(&expected, &spoken_of(&expected, schema)))
    }))
}
