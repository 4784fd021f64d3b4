//! Faults on a made-up recording.

mod draws;
mod effects;
mod matches;
mod player;

use serde_json::{Value, json};

use super::*;
use crate::source::{Diagnostic, SourceFile, Sources, Style, parse, render};
use crate::wire::{Catalog, Tool};

/// A server and its exchanges.
struct Scene {
    catalog: Catalog,
    capabilities: Value,
    exchanges: Vec<MessageExchange>,
}

impl Scene {
    fn known(&self) -> ExchangeHistory<'_> {
        ExchangeHistory { catalog: &self.catalog, capabilities: &self.capabilities, exchanges: &self.exchanges }
    }
}

/// A server with a few tools, and what was asked of it: `asked` and what came, each in short.
fn scene(exchanges: &[(Value, Value)]) -> Scene {
    let tools = [
        json!({"name": "get_user", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
                "required": ["id"], "additionalProperties": false},
            "outputSchema": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
                "required": ["name"], "additionalProperties": false}}),
        json!({"name": "create_user", "inputSchema": {"type": "object"}}),
        json!({"name": "frobnicate", "annotations": {"readOnlyHint": false}, "inputSchema": {"type": "object"}}),
        json!({"name": "remove_user", "inputSchema": {"type": "object"}}),
        json!({"name": "list_users", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object",
            "properties": {"limit": {"type": "integer"}, "cursor": {"type": "string"}}}}),
    ];
    Scene {
        catalog: Catalog { tools: tools.map(Tool::new).into(), ..Catalog::default() },
        capabilities: json!({"tools": {}}),
        exchanges: exchanges.iter().enumerate().map(|(at, (asked, came))| exchange(at, asked, came)).collect(),
    }
}

/// `{"call": tool, "args": {}}`, `{"method": m, "params": {}}`, `{"notify": m}` or `{"raw": text}`, with `owner` and
/// `session`; `came` is a list of replies or one of them: `{"result"}`, `{"error"}`, `{"method"}`, or text for a line.
fn exchange(at: usize, asked: &Value, came: &Value) -> MessageExchange {
    let id = json!(at + 1);
    let asked_what = if let Some(raw) = asked["raw"].as_str() {
        ClientMessage::Raw(raw.as_bytes().to_vec())
    } else if let Some(tool) = asked["call"].as_str() {
        let mut params = json!({"name": tool, "arguments": asked["args"]});
        if let Some(token) = asked.get("token") {
            params["_meta"] = json!({"progressToken": token});
        }
        ClientMessage::Message { id: Some(id.clone()), method: "tools/call".to_owned(), params }
    } else if let Some(method) = asked["notify"].as_str() {
        ClientMessage::Message { id: None, method: method.to_owned(), params: asked["params"].clone() }
    } else {
        let method = asked["method"].as_str().unwrap().to_owned();
        ClientMessage::Message { id: Some(id.clone()), method, params: asked["params"].clone() }
    };
    let id = asked.get("id").cloned().unwrap_or(id);
    let several = came.as_array().cloned().unwrap_or_else(|| vec![came.clone()]);
    MessageExchange {
        owner: asked["owner"].as_str().unwrap_or("case").to_owned().into(),
        session: u32::try_from(asked["session"].as_u64().unwrap_or(0)).unwrap(),
        occurrence: u32::try_from(asked["occurrence"].as_u64().unwrap_or(0)).unwrap(),
        sent: asked_what,
        replies: several.iter().filter(|reply| !reply.is_null()).map(|reply| answered(&id, reply)).collect(),
    }
}

fn answered(id: &Value, came: &Value) -> ServerReply {
    let head = came["status"].as_u64().map(|status| crate::wire::HttpHead {
        status: u16::try_from(status).unwrap(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
    });
    let member = ["result", "error"].into_iter().find(|member| came.get(*member).is_some());
    let content = if let Some(line) = came.as_str() {
        ReplyContent::Bytes(line.as_bytes().to_vec())
    } else if came.get("method").is_some() {
        ReplyContent::Message(json!({"jsonrpc": "2.0", "method": came["method"], "params": came["params"]}))
    } else if let Some(member) = member {
        ReplyContent::Message(json!({"jsonrpc": "2.0", "id": id, member: came[member]}))
    } else {
        ReplyContent::Bytes(Vec::new())
    };
    ServerReply { after: std::time::Duration::from_millis(3), content, http: head.map(std::sync::Arc::new) }
}

/// The result of a call that worked.
fn text(text: &str) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}]}})
}

/// The result of a call that did not.
fn failed(text: &str) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}], "isError": true}})
}

/// Reads a fault, or shows its mistakes.
fn fault(yaml: &str) -> Result<Fault, String> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("fault.yml", yaml));
    let node = parse(&sources, source).unwrap();
    let mut found: Vec<Diagnostic> =
        crate::source::grammar::check(&node, &crate::source::grammar::Shape::Object(&WHOLE));
    let fault = decode("fault", &node, &mut found);
    if found.is_empty() {
        return Ok(fault.unwrap());
    }
    Err(found.iter().map(|mistake| render(mistake, &sources, Style::PLAIN)).collect())
}

#[test]
fn every_mistake_is_reported_at_once() {
    let mistakes = fault(include_str!("mistakes.yml")).unwrap_err();
    insta::assert_snapshot!(mistakes);
}
