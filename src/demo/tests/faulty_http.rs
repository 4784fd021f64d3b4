//! Faults that HTTP alone has, and those that need care over HTTP, each beside the correct server.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client::{Client, Era, SLOW, TYPES, bound, open, send, serve};
use crate::demo::faulty::{DemoFault, FaultEnvironment, find};
use crate::demo::http::BoundServer;
use crate::demo::{ServeError, Settings};

/// A request, the status from the correct server, and the one from the faulty server.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, u16, u16);

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const MODERN_LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const MODERN: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const LISTS: (&str, &str) = ("Mcp-Method", "tools/list");
const KNOWN: (&str, &str) = ("Authorization", "Bearer the-token");

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("PROTO-REQUEST-BEFORE-INIT", &[], LIST, 400, 200),
    ("PROTO-REQUEST-BEFORE-INIT", &[], r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, 400, 400),
    ("PROTO-HTTP-CONTRACT", &[MODERN, LISTS], MODERN_LIST, 200, 200),
    ("PROTO-HTTP-CONTRACT", &[MODERN, LISTS, ("Accept", "text/plain")], MODERN_LIST, 406, 200),
    ("PROTO-HTTP-CONTRACT", &[MODERN, ("Mcp-Method", "tools/call")], MODERN_LIST, 400, 200),
    ("PROTO-HTTP-CONTRACT", &[MODERN], MODERN_LIST, 400, 200),
    ("PROTO-HTTP-CONTRACT", &[MODERN, LISTS, ("Content-Type", "text/plain")], MODERN_LIST, 415, 415),
    ("SECURITY-DNS-REBINDING", &[MODERN, LISTS, ("Origin", "http://evil.example")], MODERN_LIST, 403, 200),
    ("SECURITY-DNS-REBINDING", &[MODERN, LISTS, ("Host", "evil.example")], MODERN_LIST, 403, 200),
    ("SECURITY-DNS-REBINDING", &[MODERN, LISTS, ("Origin", "http://localhost:80")], MODERN_LIST, 200, 200),
    ("SECURITY-AUTH-BYPASS", &[MODERN, LISTS], MODERN_LIST, 401, 200),
    ("SECURITY-AUTH-BYPASS", &[MODERN, LISTS, ("Authorization", "Bearer another")], MODERN_LIST, 401, 200),
    ("SECURITY-AUTH-BYPASS", &[MODERN, LISTS, ("Authorization", "Basic the-token")], MODERN_LIST, 401, 200),
    ("SECURITY-AUTH-BYPASS", &[MODERN, LISTS, KNOWN, ("Authorization", "Bearer another")], MODERN_LIST, 400, 200),
    ("SECURITY-AUTH-BYPASS", &[MODERN, LISTS, KNOWN], MODERN_LIST, 200, 200),
];

#[tokio::test]
async fn a_faulty_server_answers_what_the_correct_one_refuses() {
    for (variant, headers, body, sound, faulty) in CASES {
        let kept = TYPES.iter().filter(|(name, _)| headers.iter().all(|(other, _)| name != other));
        let sent: Vec<_> = kept.chain(*headers).copied().collect();
        for (fault, status) in [(DemoFault::none(), sound), (named(variant), faulty)] {
            let (address, _) = serve(with(fault, told(variant)).await);
            let answer = send(&address, "POST", &sent, body.as_bytes()).await;
            assert_eq!(answer.status, *status, "{variant}: {headers:?} {answer:?}");
            let is_challenged = answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer "));
            let is_about_token = *variant == "SECURITY-AUTH-BYPASS" && *status >= 400;
            assert_eq!(is_challenged, is_about_token, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn an_ended_session_is_served() {
    for (fault, status) in [(DemoFault::none(), 404), (named("STATE-STALE-SESSION"), 200)] {
        let client = opened(fault).await;
        let session = ("Mcp-Session-Id", client.session.as_str());
        assert_eq!(send(&client.address, "DELETE", &[session], b"").await.status, 204);
        assert_eq!(client.ask(&json!(6), "tools/list", json!({})).await.status, status);
    }
}

#[tokio::test]
async fn sessions_share_a_directory() {
    for (fault, id) in [(DemoFault::none(), "u1"), (named("STATE-CROSS-SESSION-LEAK"), "u2")] {
        let first = opened(fault).await;
        let second = Client::at(first.address.clone(), Era::Legacy, "2025-11-25").await;
        let ann = json!({ "name": "create_user", "arguments": { "name": "Ann", "email": "ann@example.com" } });
        first.ask(&json!(1), "tools/call", ann.clone()).await;
        let answer = second.ask(&json!(1), "tools/call", ann).await.json();
        assert_eq!(answer["result"]["structuredContent"]["id"], id);
    }
}

#[tokio::test]
async fn cancellations_go_wrong() {
    let short = json!({
        "name": "export_users", "arguments": { "format": "csv", "delay_ms": 1000, "steps": 4 },
        "_meta": { "progressToken": 1 },
    });
    for (variant, params, expected) in [
        ("TIMEOUT-CANCEL-REPLY", serde_json::from_str(SLOW).unwrap(), "the request was cancelled"),
        ("TIMEOUT-CANCEL-IGNORED", short, "structuredContent"),
    ] {
        let client = opened(named(variant)).await;
        let mut stream = client.begin(&json!(5), "tools/call", params, "progress").await;
        assert_eq!(client.notify("notifications/cancelled", json!({ "requestId": 5 })).await.status, 202);
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert!(rest.contains(expected), "{variant}: {rest}");
    }
}

#[tokio::test]
async fn a_server_that_falls_over_is_gone() {
    let (address, server) = serve(with(named("PROTO-BAD-INPUT-FATAL"), Settings::default()).await);
    let mut stream = open(&address, "POST", &TYPES, Some(1)).await;
    stream.write_all(b"{").await.unwrap();
    assert!(matches!(server.await.unwrap(), Err(ServeError::FellOver)));
}

fn named(variant: &str) -> DemoFault {
    DemoFault::of(find(variant).unwrap(), FaultEnvironment { folder: ".".into(), secret: String::new() })
}

/// What the server of a case was told.
fn told(variant: &str) -> Settings {
    let token = (variant == "SECURITY-AUTH-BYPASS").then(|| "the-token".to_owned());
    Settings { token, ..Settings::default() }
}

async fn with(fault: DemoFault, settings: Settings) -> BoundServer {
    bound().await.with(settings, &fault).unwrap()
}

/// A session with a server that ends with the test.
async fn opened(fault: DemoFault) -> Client {
    Client::at(serve(with(fault, Settings::default()).await).0, Era::Legacy, "2025-11-25").await
}
