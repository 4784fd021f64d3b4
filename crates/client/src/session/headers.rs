//! The headers that an era demands of a message over HTTP (2025-11-25 and 2026-07-28, transports).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::redact::base64;
use crate::wire::{Catalog, Era, Revision};

/// A parameter that travels in a header as well: the path to it, and the header's name.
type Mirrored = (Vec<String>, String);

/// The state on which headers depend beyond the message itself.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// The revision, once it is settled.
    revision: Option<Revision>,
    /// The arguments that each tool wants in headers.
    mirrored: BTreeMap<String, Vec<Mirrored>>,
}

impl Headers {
    pub(crate) fn speak(&mut self, revision: Revision) {
        self.revision = Some(revision);
    }

    /// Remembers which arguments of which tools travel in headers.
    pub(crate) fn learn(&mut self, catalog: &Catalog) {
        for tool in &catalog.tools {
            let mut mirrored = Vec::new();
            collect(tool.input_schema(), &mut Vec::new(), &mut mirrored);
            if !mirrored.is_empty() {
                self.mirrored.insert(tool.name.clone(), mirrored);
            }
        }
    }

    /// The era of a message, and the headers that it needs.
    pub(crate) fn of(&self, method: &str, params: Option<&Value>) -> (Era, Vec<(String, String)>) {
        let own = params.and_then(|params| params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str());
        let settled = self.revision.map_or(Era::Session, Revision::era);
        let era = if own.is_some() { Era::Stateless } else { settled };
        let mut headers = Vec::new();
        // The message's own version is kept, so that both say the same.
        if let Some(version) = own.or(self.revision.map(Revision::as_str)) {
            headers.push(("mcp-protocol-version".to_owned(), encode_value(version)));
        }
        if era == Era::Stateless && !method.is_empty() {
            headers.push(("mcp-method".to_owned(), encode_value(method)));
            headers.extend(subject(method, params).map(|name| ("mcp-name".to_owned(), encode_value(name))));
            headers.extend(self.arguments(method, params));
        }
        (era, headers)
    }

    fn arguments(&self, method: &str, params: Option<&Value>) -> Vec<(String, String)> {
        let tool = subject(method, params).filter(|_| method == "tools/call");
        let mirrored = tool.and_then(|tool| self.mirrored.get(tool));
        let arguments = params.map(|params| &params["arguments"]);
        let (Some(mirrored), Some(arguments)) = (mirrored, arguments) else { return Vec::new() };
        let header = |(path, name): &Mirrored| {
            let value = path.iter().fold(arguments, |value, key| &value[key.as_str()]);
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((format!("mcp-param-{}", name.to_ascii_lowercase()), encode_value(&text)))
        };
        mirrored.iter().filter_map(header).collect()
    }
}

/// The subject of a request that the specification requires in a header.
fn subject<'a>(method: &str, params: Option<&'a Value>) -> Option<&'a str> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        // The extension for tasks (SEP-2663).
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params?[member].as_str()
}

/// Finds `x-mcp-header` below `properties`; anywhere else it means nothing.
fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        path.push(key.clone());
        if let Some(name) = property["x-mcp-header"].as_str() {
            found.push((path.clone(), name.to_owned()));
        }
        collect(property, path, found);
        path.pop();
    }
}

/// A header's value: as it is where a header can carry it, in base64 otherwise.
fn encode_value(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && value.trim() == value;
    if is_plain && !value.starts_with("=?base64?") {
        return value.to_owned();
    }
    format!("=?base64?{}?=", base64(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::Tool;

    fn check(method: &str, params: &Value, expected: &[(&str, &str)]) {
        let mut headers = Headers::default();
        headers.speak(Revision::V2026_07_28);
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"size": {"x-mcp-header": "Size"}}},
            "plain": {"type": "string"},
        }});
        let tools = vec![Tool::new(json!({"name": "find", "inputSchema": schema}))];
        headers.learn(&Catalog { tools, ..Catalog::default() });
        let (era, found) = headers.of(method, Some(params));
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let version = ("mcp-protocol-version", "2026-07-28");
        assert_eq!(found, [&[version, ("mcp-method", method)], expected].concat(), "{params}");
        assert_eq!(era, Era::Stateless);
    }

    #[test]
    fn headers_say_what_the_message_says() {
        check("tools/list", &json!({}), &[]);
        check("tools/call", &json!({"name": "other", "arguments": {"region": "x"}}), &[("mcp-name", "other")]);
        check(
            "tools/call",
            &json!({"name": "find", "arguments": {"region": "größer", "deep": {"size": 7}, "plain": "x"}}),
            &[("mcp-name", "find"), ("mcp-param-region", "=?base64?Z3LDtsOfZXI=?="), ("mcp-param-size", "7")],
        );
        check("resources/read", &json!({"uri": " a "}), &[("mcp-name", "=?base64?IGEg?=")]);
        check("prompts/get", &json!({"name": "=?base64?eA==?="}), &[("mcp-name", "=?base64?PT9iYXNlNjQ/ZUE9PT89?=")]);
    }

    #[test]
    fn a_session_says_its_revision_once_it_is_settled() {
        let mut headers = Headers::default();
        assert_eq!(headers.of("initialize", None), (Era::Session, Vec::new()));
        headers.speak(Revision::V2025_06_18);
        let version = ("mcp-protocol-version".to_owned(), "2025-06-18".to_owned());
        assert_eq!(headers.of("tools/list", None), (Era::Session, vec![version]));
    }
}
