//! The server with tokens: what is refused and how, and what two users see of each other.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, Era, TYPES, bound, send, send_at, serve};
use super::http::start;
use super::peer::ERAS;
use crate::faulty::ServerFault;
use crate::{ServeError, Settings};

const ONE: &str = "Bearer one.token==";
const TWO: &str = "Bearer two-token";
const LOW: &str = "Bearer low~token";

/// A request: method and path, headers beside the usual ones, and its body.
type Asked = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}"#;
const READ: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_users",META}}"#;
const CHANGE: &str =
    r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"delete_user","arguments":{"id":"u1"},META}}"#;
const LISTS: (&str, &str) = ("Mcp-Method", "tools/list");
const CALLS: (&str, &str) = ("Mcp-Method", "tools/call");

#[rustfmt::skip]
const ASKED: &[Asked] = &[
    ("GET /.well-known/oauth-protected-resource/mcp", &[], ""),
    ("GET /.well-known/oauth-protected-resource", &[], ""),
    ("GET /.well-known/oauth-protected-resource", &[("Host", "127.0.0.1:3000")], ""),
    ("GET /.well-known/oauth-protected-resource/mcp", &[("Origin", "http://evil.example")], ""),
    ("POST /.well-known/oauth-protected-resource/mcp", &[], ""),
    ("GET /.well-known/oauth-protected-resource/other", &[("Authorization", ONE)], ""),
    ("POST /mcp", &[LISTS], LIST),
    ("GET /mcp", &[], ""),
    ("DELETE /mcp", &[], ""),
    ("POST /elsewhere", &[LISTS], LIST),
    ("POST /mcp?access_token=one.token==", &[LISTS], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", ONE)], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "bearer  two-token")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "Bearer one.token")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL290aGVyLmV4YW1wbGUifQ.")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "Basic b25lOnRva2Vu")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "one.token==")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "Bearer")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "Bearer one.token== two-token")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", "Bearer \"one.token==\"")], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", ONE), ("Authorization", TWO)], LIST),
    ("POST /mcp", &[LISTS, ("Authorization", LOW)], LIST),
    ("POST /mcp", &[CALLS, ("Mcp-Name", "list_users"), ("Authorization", LOW)], READ),
    ("POST /mcp", &[CALLS, ("Mcp-Name", "delete_user"), ("Authorization", LOW)], CHANGE),
    ("POST /mcp", &[CALLS, ("Mcp-Name", "delete_user"), ("Authorization", ONE)], CHANGE),
];

#[tokio::test]
async fn tokens_are_asked_for_and_told_apart() {
    let address = guarded().await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let mut table = String::new();
    for (asked, headers, body) in ASKED {
        let modern: &[_] = if body.is_empty() { &[] } else { &[("MCP-Protocol-Version", "2026-07-28")] };
        let host: &[_] = if headers.iter().any(|(name, _)| *name == "Host") { &[] } else { &[("Host", "localhost")] };
        let sent = [&TYPES, modern, host, headers].concat();
        let answer = send_at(&address, asked, &sent, body.replace("META", meta).as_bytes()).await;
        let shown: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let challenge = answer.header("www-authenticate").map(|value| format!("\n{value}")).unwrap_or_default();
        let said = if answer.status == 200 && asked.starts_with("POST") { "…" } else { &answer.body };
        writeln!(table, "{asked} {}\n{}{challenge}\n{said}\n", shown.join(", "), answer.status).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn without_tokens_there_are_no_metadata() {
    let address = start().await;
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        assert_eq!(send_at(&address, &format!("GET {path}"), &[], b"").await.status, 404);
    }
}

#[tokio::test]
async fn users_do_not_see_each_others() {
    let address = guarded().await;
    let ann = json!({ "name": "create_user", "arguments": { "name": "Ann", "email": "ann@example.com" } });
    for era in ERAS {
        let mut ids = Vec::new();
        for token in [ONE, TWO] {
            let client = Client::authorized(address.clone(), era, "2025-11-25", token).await;
            let answer = client.ask(&json!(1), "tools/call", ann.clone()).await.json();
            ids.push(answer["result"]["structuredContent"]["id"].as_str().unwrap().to_owned());
        }
        assert_eq!(ids, ["u1", "u1"], "{era:?}");
    }
}

#[tokio::test]
async fn a_session_is_unknown_to_all_but_its_user() {
    let address = guarded().await;
    let client = Client::authorized(address.clone(), Era::Legacy, "2025-11-25", ONE).await;
    let session = ("Mcp-Session-Id", client.session.as_str());
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (token, status) in [(TWO, 404), ("Bearer another", 401), ("-", 401), (LOW, 200), (ONE, 200)] {
        let headers = [&TYPES, [session, ("Authorization", token)].as_slice()].concat();
        assert_eq!(send(&address, "POST", &headers, ping).await.status, status, "{token}");
        if status != 200 {
            for method in ["GET", "DELETE"] {
                assert_eq!(send(&address, method, &headers, b"").await.status, status, "{token}");
            }
        }
    }
}

#[tokio::test]
async fn a_batch_with_a_change_in_it_takes_the_scope_of_the_change() {
    let client = Client::authorized(guarded().await, Era::Legacy, "2025-03-26", LOW).await;
    let call = |tool: &str| json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": { "name": tool } });
    for (tools, status) in [(&["list_users", "echo"][..], 200), (&["list_users", "delete_user"], 403)] {
        let batch: Value = tools.iter().map(|tool| call(tool)).collect();
        let headers = [("Mcp-Session-Id", client.session.as_str()), ("Authorization", LOW)];
        let headers = [&TYPES, headers.as_slice()].concat();
        let answer = send(&client.address, "POST", &headers, batch.to_string().as_bytes()).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

#[tokio::test]
async fn tokens_that_no_header_can_carry_or_nobody_could_tell_apart_are_refused() {
    for (first, second) in [("", None), ("a b", None), ("a=b", None), ("ü", None), ("same", Some("same"))] {
        let settings = Settings { second_token: second.map(str::to_owned), ..told(first) };
        let refused = bound().await.with(settings, &Arc::new(ServerFault::none()));
        assert!(matches!(refused, Err(ServeError::Setting(_))), "{first}");
    }
}

fn told(token: &str) -> Settings {
    Settings { token: Some(token.to_owned()), ..Settings::default() }
}

/// A server with all three tokens, and where it listens.
async fn guarded() -> String {
    let of = |header: &str| header.strip_prefix("Bearer ").map(str::to_owned);
    let settings = Settings { second_token: of(TWO), low_scope_token: of(LOW), ..told("one.token==") };
    serve(bound().await.with(settings, &Arc::new(ServerFault::none())).unwrap()).0
}
