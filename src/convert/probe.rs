//! Tests of mcp-probe: a server, and requests with what their results hold.

use serde_json::{Map, Value, json};

use crate::source::template::literal_text;
use crate::source::{Diagnostic, Node, Sources};

use super::document::{Document, item_ranges};
use super::left_out::{LeftOut, unknown_members};
use super::references::{literal_value, path_within};
use super::suite_parts::{ConvertedTest, SuiteParts};
use super::{ConvertOptions, Format};

pub(crate) const FORMAT: Format = Format { tool: "mcp-probe", recognises, convert };

/// The methods of lists, and what a suite calls them.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resource_templates"),
    ("prompts/list", "prompts"),
];

fn recognises(document: &Document) -> bool {
    let tests = document.root.get("tests").map(Node::items).unwrap_or_default();
    let is_method = |test: &Node| test.get("call").and_then(Node::text).is_some_and(|method| method.contains('/'));
    document.root.get("suite").is_none() && document.root.get("server").is_some() && tests.iter().any(is_method)
}

fn convert(documents: &[Document], sources: &Sources, options: &ConvertOptions) -> Result<SuiteParts, Vec<Diagnostic>> {
    let mut parts = SuiteParts::default();
    parts.head.insert("suite".to_owned(), options.name.clone().into());
    for document in documents {
        let root = &document.root;
        parts.left_out.extend(unknown_members(root, &["server", "tests"], "mcp-probe"));
        let server = root.get("server").map(|node| server(node, &mut parts.left_out)).unwrap_or_default();
        match parts.head.get("server") {
            None => drop(parts.head.insert("server".to_owned(), server)),
            Some(first) if *first == server => {}
            Some(_) => {
                let mistake = Diagnostic::error("several-servers", "these files have different servers", root.span);
                return Err(vec![mistake.with_help("convert each file by itself".to_owned())]);
            }
        }
        let list = root.entries().iter().find(|(key, _)| key.value == "tests");
        let Some((key, tests)) = list else { continue };
        let ranges = item_ranges(sources, key.span, tests.items());
        parts.comments.extend(document.comments.outside(&ranges));
        for (node, (from, to)) in tests.items().iter().zip(ranges) {
            let made = test(node);
            parts.tests.push(ConvertedTest { comments: document.comments.between(from, to), ..made });
        }
    }
    Ok(parts)
}

fn server(node: &Node, left_out: &mut Vec<LeftOut>) -> Value {
    left_out.extend(unknown_members(node, &["command", "args", "env"], "a server of mcp-probe"));
    let words = node.get("args").map(Node::items).unwrap_or_default().iter();
    let command: Vec<Value> =
        node.get("command").into_iter().chain(words).map(|word| literal_text(&word.to_text()).into()).collect();
    // The server inherits everything there, and the tests rely on it.
    let mut server = json!({ "command": command });
    let env = node.get("env").map(Node::entries).unwrap_or_default();
    if !env.is_empty() {
        let values = env.iter().map(|(name, value)| (name.value.clone(), Value::from(literal_text(&value.to_text()))));
        server["env"] = values.collect::<Map<_, _>>().into();
    }
    server
}

fn test(node: &Node) -> ConvertedTest {
    let mut left_out = unknown_members(node, &["name", "call", "params", "expect"], "a test of mcp-probe");
    let name = node.get("name").map_or_else(|| "without a name".to_owned(), |name| literal_text(&name.to_text()));
    let method = node.get("call").map(Node::to_text).unwrap_or_default();
    let params = node.get("params").map(Node::to_json).map(literal_value).unwrap_or_default();
    let mut test = Map::new();
    test.insert("name".to_owned(), name.into());
    let list = LISTS.iter().find(|(known, _)| *known == method);
    let tool = params["name"].as_str().filter(|_| method == "tools/call").map(str::to_owned);
    match (tool, list) {
        (Some(tool), _) => {
            test.insert("call".to_owned(), tool.into());
            if params["arguments"].as_object().is_some_and(|arguments| !arguments.is_empty()) {
                test.insert("args".to_owned(), params["arguments"].clone());
            }
        }
        (None, Some((_, list))) if params.as_object().is_none_or(Map::is_empty) => {
            test.insert("list".to_owned(), (*list).into());
        }
        (None, _) => {
            test.insert("request".to_owned(), literal_text(&method).into());
            if !params.is_null() {
                test.insert("params".to_owned(), params);
            }
        }
    }
    let mut expect = Vec::new();
    for (key, value) in node.get("expect").map(Node::entries).unwrap_or_default() {
        match expectation(&key.value, value, method == "tools/call") {
            Ok(items) => expect.extend(items),
            Err(why) => left_out.push(LeftOut::new(key.value.clone(), key.span, why)),
        }
    }
    // A JSON-RPC error fails every test there.
    let is_negative = |item: &Value| item["assert"].as_str().is_some_and(|expression| expression.starts_with("not "));
    if expect.iter().all(is_negative) {
        expect.insert(0, json!({ "at": "result", "exists": true }));
    }
    test.insert("expect".to_owned(), expect.into());
    ConvertedTest { test, left_out, ..ConvertedTest::default() }
}

fn expectation(key: &str, value: &Node, is_call: bool) -> Result<Vec<Value>, String> {
    let text = value.to_text();
    Ok(match key {
        "tool_count" => {
            let count = value.whole().ok_or("a whole number is expected")?;
            vec![json!({ "at": "result.tools", "length": count })]
        }
        "contains" if is_call => vec![json!({ "any": [
            { "text": { "contains": literal_text(&text) } },
            { "assert": in_result(&text) },
        ] })],
        "contains" => vec![json!({ "assert": in_result(&text) })],
        "not_contains" => vec![json!({ "assert": format!("not ({})", in_result(&text)) })],
        "status" => match text.as_str() {
            "ok" => vec![json!({ "is_error": false })],
            "error" => vec![json!({ "is_error": true })],
            _ => return Err("`ok` or `error` is expected".to_owned()),
        },
        "result_equals" => vec![json!({ "at": "result", "equals": literal_value(value.to_json()) })],
        "field" => {
            let path = value.get("path").map(Node::to_text).unwrap_or_default();
            let at = path_within("result", &path).ok_or_else(|| format!("`{path}` is more than names and indexes"))?;
            match value.get("equals").map(Node::to_json) {
                None | Some(Value::Null) => vec![json!({ "any": [
                    { "at": at, "exists": false },
                    { "at": at, "equals": null },
                ] })],
                Some(wanted) => vec![json!({ "at": at, "equals": literal_value(wanted) })],
            }
        }
        _ => return Err("mcp-probe has no such expectation".to_owned()),
    })
}

/// An expression for a part of any text of the result.
fn in_result(text: &str) -> String {
    let escaped = Value::from(text).to_string();
    // Within the quotes stands what the text is within JSON.
    let inner = escaped[1..escaped.len() - 1].replace('\'', "\\u0027");
    format!("{} in (result | tojson)", Value::from(inner))
}
