//! What is sent over HTTP and how it is refused, as a table.

use std::fmt::Write;

use serde_json::json;

use super::client::{Client, Era, TYPES, send};
use super::http::start;

/// A request: its method, headers beside (or, with `-`, instead of) the usual ones, and its body.
type Abuse = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const MODERN_LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}"#;
const MODERN_CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_users",META}}"#;
const MODERN: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const SESSION: (&str, &str) = ("Mcp-Session-Id", "SESSION");

#[rustfmt::skip]
const ABUSES: &[Abuse] = &[
    ("POST", &[("Host", "evil.example")], LIST),
    ("POST", &[("Host", "-")], LIST),
    ("POST", &[("Origin", "http://evil.example")], LIST),
    ("POST", &[("Origin", "null")], LIST),
    ("GET", &[("Origin", "http://localhost.evil.example")], ""),
    ("DELETE", &[("Origin", "https://evil.example")], ""),
    ("PUT", &[], ""),
    ("OPTIONS", &[], ""),
    ("POST", &[("Accept", "application/json")], LIST),
    ("POST", &[("Accept", "text/event-stream, application/json;q=0")], LIST),
    ("POST", &[("Accept", "*/*")], LIST),
    ("POST", &[("Content-Type", "text/plain")], LIST),
    ("POST", &[("Content-Type", "-")], LIST),
    ("POST", &[], ""),
    ("POST", &[], "{"),
    ("POST", &[SESSION], "{\"jsonrpc\":\"2.0\","),
    ("POST", &[SESSION], "5"),
    ("POST", &[SESSION], "[]"),
    ("POST", &[SESSION], r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
    ("POST", &[], r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":1}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":"a","method":"nope"}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[1]}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"nope"}}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","method":"notifications/nope"}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[1]}"#),
    ("POST", &[SESSION], r#"{"jsonrpc":"2.0","id":77,"result":{}}"#),
    ("POST", &[], LIST),
    ("POST", &[], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
    ("POST", &[("Mcp-Session-Id", "nope")], LIST),
    ("POST", &[SESSION, ("MCP-Protocol-Version", "1999-01-01")], LIST),
    ("POST", &[("MCP-Protocol-Version", "1999-01-01")], LIST),
    ("GET", &[], ""),
    ("GET", &[("Mcp-Session-Id", "nope")], ""),
    ("GET", &[SESSION, ("Accept", "application/json")], ""),
    ("GET", &[SESSION, ("Last-Event-ID", "nope")], ""),
    ("GET", &[SESSION, ("MCP-Protocol-Version", "garbage")], ""),
    ("GET", &[MODERN], ""),
    ("DELETE", &[], ""),
    ("DELETE", &[("Mcp-Session-Id", "nope")], ""),
    ("DELETE", &[MODERN], ""),
    ("POST", &[("Mcp-Method", "tools/list")], MODERN_LIST),
    ("POST", &[("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/list")], MODERN_LIST),
    ("POST", &[MODERN], MODERN_LIST),
    ("POST", &[MODERN, ("Mcp-Method", "tools/call")], MODERN_LIST),
    ("POST", &[MODERN, ("Mcp-Method", "Tools/list")], MODERN_LIST),
    ("POST", &[MODERN, ("Mcp-Method", "tools/list"), ("Mcp-Method", "tools/list")], MODERN_LIST),
    ("POST", &[MODERN, ("mcp-method", "tools/call")], MODERN_CALL),
    ("POST", &[MODERN, ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")], MODERN_CALL),
    ("POST", &[MODERN, ("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?bGlzdF91c2Vycw==?=")], MODERN_CALL),
    ("POST", &[MODERN, ("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?***?=")], MODERN_CALL),
    ("POST", &[MODERN, ("Mcp-Method", "tools/list")], LIST),
    ("POST", &[MODERN, ("Mcp-Method", "tools/list")],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#),
    ("POST", &[("MCP-Protocol-Version", "2099-01-01"), ("Mcp-Method", "tools/list")],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#),
    ("POST", &[MODERN, ("Mcp-Method", "nope")], r#"{"jsonrpc":"2.0","id":1,"method":"nope","params":{META}}"#),
    ("POST", &[MODERN, ("Mcp-Method", "ping")], r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{META}}"#),
    ("POST", &[MODERN, ("Mcp-Method", "initialize")], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{META}}"#),
    ("POST", &[MODERN, ("Mcp-Method", "tools/call"), ("Mcp-Name", "nope")],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope",META}}"#),
    ("POST", &[MODERN], r#"{"jsonrpc":"1.0","id":1,"method":"tools/list","params":{META}}"#),
    ("POST", &[MODERN], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
    ("POST", &[MODERN, ("Mcp-Method", "notifications/nope")], r#"{"jsonrpc":"2.0","method":"notifications/nope"}"#),
    ("POST", &[], r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#),
];

#[tokio::test]
async fn abuse_is_refused_in_words() {
    let client = Client::at(start().await, Era::Legacy, "2025-11-25").await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let mut table = String::new();
    for (method, headers, body) in ABUSES {
        let shown: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let usual: &[_] = match *method {
            "POST" => &TYPES,
            "GET" => &TYPES[1..],
            _ => &[],
        };
        let kept = usual.iter().filter(|(name, _)| headers.iter().all(|(other, _)| name != other));
        let sent: Vec<_> = kept
            .chain(*headers)
            .map(|(name, value)| (*name, if *value == "SESSION" { client.session.as_str() } else { *value }))
            .collect();
        let answer = send(&client.address, method, &sent, body.replace("META", meta).as_bytes()).await;
        writeln!(table, "{method} {}\n{body}\n{} {}\n", shown.join(", "), answer.status, answer.body).unwrap();
        if answer.status >= 400 {
            assert_eq!(answer.json()["jsonrpc"], "2.0", "{table}");
        }
    }
    assert_eq!(client.ask(&json!(1), "ping", json!({})).await.status, 200);
    insta::assert_snapshot!(table);
}
