//! Calls whose arguments are no object, or hold the same name twice, and prompts with values that name nothing.
//!
//! The specification leaves much of it open: a refusal is right if it blames the request, and so is `null` as if it were
//! absent. What counts is the code, and that the server goes on.

use serde_json::{Map, Value as Json, json};

use super::cases::sign_of_life;
use crate::plan::generated::{bare, expectation, text_node};
use crate::reproduce::literal_text;
use crate::source::Span;
use crate::source::template::from_json;
use crate::suite::{Action, Cuts, Payload, RawSend, Step, Wanted};
use crate::wire::{Era, Revision, Tool};

/// Two values of one argument.
const TWICE: [&str; 2] = ["mcprove-first-value", "mcprove-second-value"];

/// A value that names nothing on any server.
const UNKNOWN: &str = "mcprove-no-such-value";

/// The id of the call whose bytes are written here.
const ID: &str = "twice";

/// Calls of a tool with a list, a text and `null` in place of its arguments.
pub(crate) fn no_objects(tool: &str, span: Span) -> Vec<Step> {
    let shapes = [(json!(["text"]), "advised"), (json!("text"), "advised"), (Json::Null, "may")];
    let steps = shapes.into_iter().flat_map(|(arguments, binding)| {
        let params = from_json(&json!({ "name": tool, "arguments": arguments }), span);
        let action = Action::Request { method: text_node("tools/call", span), params: Some(params) };
        [judged_step(action, &json!({ "refused": binding }), span), sign_of_life(span)]
    });
    steps.collect()
}

/// A call with one of its texts twice, with other values: parsers take the first, the last, or refuse. `None` for a tool
/// without a free text among these arguments.
pub(crate) fn twice(tool: &Tool, arguments: &Json, revision: Option<Revision>, span: Span) -> Option<Vec<Step>> {
    let arguments = arguments.as_object()?;
    let name = arguments.iter().find(|(name, value)| value.is_string() && is_free_text(tool, name))?.0;
    let written = literal_text(&call_with_repeated(tool, arguments, name, revision));
    let raw = RawSend {
        lines: vec![Payload::Text(text_node(&written, span))],
        newline: "\n".to_owned(),
        cuts: Cuts::None,
        answers: Wanted::Any,
        watch: std::time::Duration::ZERO,
    };
    let step = judged_step(Action::Send(Box::new(raw)), &json!({ "at_most_one_of": TWICE }), span);
    Some(vec![step, sign_of_life(span)])
}

/// The bytes of a call whose argument `name` has two values.
fn call_with_repeated(tool: &Tool, arguments: &Map<String, Json>, name: &str, revision: Option<Revision>) -> String {
    let members = arguments.iter().flat_map(|(member, value)| {
        let values: Vec<Json> = if member == name { TWICE.map(Json::from).into() } else { vec![value.clone()] };
        values.into_iter().map(|value| format!("{}:{value}", Json::from(member.as_str())))
    });
    let members = members.collect::<Vec<_>>().join(",");
    let meta = revision.filter(|revision| revision.era() != Era::Session).map_or_else(String::new, |revision| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        format!(",\"_meta\":{meta}")
    });
    let tool = Json::from(tool.name.as_str());
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"{ID}\",\"method\":\"tools/call\",\
         \"params\":{{ \"name\":{tool},\"arguments\":{{ {members} }}{meta} }} }}"
    )
}

/// Any text is a value of an argument.
fn is_free_text(tool: &Tool, name: &str) -> bool {
    let schema = &tool.input_schema()["properties"][name];
    let is_bound =
        ["enum", "const", "pattern", "format", "maxLength"].iter().any(|keyword| !schema[*keyword].is_null());
    schema["type"] == "string" && !is_bound
}

/// A prompt with values that name nothing; `None` for one that requires no arguments.
pub(crate) fn unknown_values(prompt: &Json, span: Span) -> Option<Vec<Step>> {
    let required = prompt["arguments"].as_array()?.iter().filter(|argument| argument["required"] == true);
    let arguments: Map<String, Json> =
        required.filter_map(|argument| Some((argument["name"].as_str()?.to_owned(), UNKNOWN.into()))).collect();
    if arguments.is_empty() {
        return None;
    }
    let params = from_json(&json!({ "name": prompt["name"], "arguments": arguments }), span);
    let action = Action::Request { method: text_node("prompts/get", span), params: Some(params) };
    let either = json!({ "any": [{ "error": true }, { "at": "result.messages", "type": "array" }] });
    Some(vec![judged_step(action, &either, span), sign_of_life(span)])
}

fn judged_step(action: Action, expected: &Json, span: Span) -> Step {
    Step { expect: vec![expectation(expected, span)], expects: true, ..bare(action, span) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;

    fn tool(schema: &Json) -> Tool {
        let properties = json!({ "name": schema, "count": { "type": "integer" } });
        Tool::new(json!({ "name": "get", "inputSchema": { "type": "object", "properties": properties } }))
    }

    #[test]
    fn a_free_text_is_sent_twice() {
        let arguments = json!({ "count": 1, "name": "x" });
        let free = tool(&json!({ "type": "string" }));
        let written = call_with_repeated(&free, arguments.as_object().unwrap(), "name", Some(Revision::V2025_11_25));
        assert_eq!(written.matches("\"name\":\"mcprove-").count(), 2, "{written}");
        let read: Json = serde_json::from_str(&written).unwrap();
        assert_eq!(read["params"]["arguments"], json!({ "count": 1, "name": "mcprove-second-value" }));
        let newest = call_with_repeated(&free, arguments.as_object().unwrap(), "name", Some(Revision::V2026_07_28));
        assert!(newest.contains("_meta") && serde_json::from_str::<Json>(&newest).is_ok(), "{newest}");
    }

    #[test]
    fn values_that_the_schema_binds_are_not_sent_twice() {
        let span = node("x").span;
        for (schema, arguments, is_sent) in [
            (json!({ "type": "string" }), json!({ "name": "x" }), true),
            (json!({ "type": "string", "enum": ["x"] }), json!({ "name": "x" }), false),
            (json!({ "type": "string", "pattern": "^x" }), json!({ "name": "x" }), false),
            (json!({ "type": "string" }), json!({ "count": 1 }), false),
            (json!({ "type": "integer" }), json!({ "name": 1 }), false),
        ] {
            let steps = twice(&tool(&schema), &arguments, None, span);
            assert_eq!(steps.is_some(), is_sent, "{schema} {arguments}");
        }
    }

    #[test]
    fn prompts_get_values_for_what_they_require() {
        let span = node("x").span;
        for (arguments, is_asked) in [
            (json!([{ "name": "id", "required": true }]), true),
            (json!([{ "name": "id" }]), false),
            (json!([]), false),
            (Json::Null, false),
        ] {
            let steps = unknown_values(&json!({ "name": "show", "arguments": arguments }), span);
            assert_eq!(steps.is_some(), is_asked, "{arguments}");
        }
    }

    #[test]
    fn only_what_the_specification_rules_out_is_advised() {
        let steps = no_objects("get", node("x").span);
        let expected: Vec<Json> = steps.iter().flat_map(|step| &step.expect).map(|one| one.node().to_json()).collect();
        let refused = |binding: &str| json!({ "refused": binding });
        // `null` may stand for arguments that are left out.
        assert_eq!(expected, [refused("advised"), refused("advised"), refused("may")]);
        assert_eq!(steps.iter().filter(|step| matches!(step.action, Action::Alive)).count(), 3);
    }
}
