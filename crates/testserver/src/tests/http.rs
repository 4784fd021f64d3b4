//! The server over HTTP, asked with requests as they are written to the socket.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client::{Answer, Client, Era, SLOW, TYPES, bound, open, read_until, send, serve};

/// Where a server listens that ends with the test.
pub(crate) async fn start() -> String {
    serve(bound().await).0
}

impl Client {
    pub(crate) async fn open(era: Era) -> Self {
        Self::at(start().await, era, "2025-11-25").await
    }

    /// Sends an answer to a question of the server.
    pub(crate) async fn reply(&self, answer: &Value) -> Answer {
        let headers = [("Mcp-Session-Id", self.session.as_str())];
        send(&self.address, "POST", &[TYPES.as_slice(), &headers].concat(), answer.to_string().as_bytes()).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask(&json!(1), "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer.json()["result"]["structuredContent"].take()
    }
}

const BOTH: [Era; 2] = [Era::Legacy, Era::Modern];

#[tokio::test]
async fn results_are_complete_in_both_eras() {
    for era in BOTH {
        let client = Client::open(era).await;
        for (method, params) in [
            ("tools/list", json!({})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({ "uri": "users://all" })),
            ("prompts/list", json!({})),
            ("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })),
        ] {
            let answer = client.ask(&json!("x"), method, params).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{answer:?}");
            let message = answer.json();
            assert_eq!(message["id"], "x");
            let result = &message["result"];
            let server = result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].as_str();
            let is_modern = era == Era::Modern;
            assert_eq!(server, is_modern.then_some("mcprove-demo"), "{method}");
            assert_eq!(result["resultType"].as_str(), is_modern.then_some("complete"), "{method}");
            assert_eq!(result.get("ttlMs").is_some(), is_modern && method != "tools/call", "{method}");
        }
    }
}

#[tokio::test]
async fn sessions_have_their_own_users_and_other_requests_share_theirs() {
    let ann = json!({ "name": "Ann", "email": "ann@example.com" });
    let first = Client::open(Era::Legacy).await;
    let second = Client::at(first.address.clone(), Era::Legacy, "2025-06-18").await;
    assert_ne!(first.session, second.session);
    let modern = Client::at(first.address.clone(), Era::Modern, "").await;
    let again = Client::at(first.address.clone(), Era::Modern, "").await;
    for (client, id) in [(&first, "u1"), (&second, "u1"), (&modern, "u1"), (&again, "u2"), (&first, "u2")] {
        assert_eq!(client.call("create_user", ann.clone()).await["id"], id);
    }
}

#[tokio::test]
async fn progress_comes_as_events_before_the_answer() {
    for era in BOTH {
        let client = Client::open(era).await;
        for token in [json!(7), json!("seven")] {
            let params = json!({
                "name": "export_users", "arguments": { "format": "csv", "steps": 3 }, "_meta": { "progressToken": token },
            });
            let answer = client.ask(&json!(1), "tools/call", params).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
            let events = answer.events();
            assert_eq!(events.len(), 4, "{answer:?}");
            for (event, step) in events.iter().zip(1..=3) {
                assert_eq!(event["params"]["progressToken"], token);
                assert_eq!(event["params"]["progress"].as_f64(), Some(f64::from(step)));
            }
            assert_eq!(events[3]["id"], 1);
            assert_eq!(answer.body.contains("id: "), era == Era::Legacy);
        }
    }
}

#[tokio::test]
async fn a_cancelled_request_ends_without_an_answer() {
    let client = Client::open(Era::Legacy).await;
    let mut stream = client.begin(&json!(5), "tools/call", serde_json::from_str(SLOW).unwrap(), "progress").await;
    assert_eq!(client.notify("notifications/cancelled", json!({ "requestId": 5 })).await.status, 202);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(!rest.contains("result"), "{rest}");
}

#[tokio::test]
async fn a_broken_stream_can_be_taken_up_again() {
    let client = Client::open(Era::Legacy).await;
    let params = json!({
        "name": "export_users", "arguments": { "format": "csv", "delay_ms": 100, "steps": 2 },
        "_meta": { "progressToken": 1 },
    });
    let mut stream = client.begin(&json!(5), "tools/call", params, "id: ").await;
    let id = read_until(&mut stream, "id: ").await.trim().trim_start_matches("id: ").to_owned();
    drop(stream);
    let headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", &client.session), ("Last-Event-ID", &id)];
    let rest = send(&client.address, "GET", &headers, b"").await.events();
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(rest[1]["id"], 5);
}

#[tokio::test]
async fn an_ended_session_closes_its_streams_and_is_unknown() {
    let client = Client::open(Era::Legacy).await;
    let session = ("Mcp-Session-Id", client.session.as_str());
    let mut stream = open(&client.address, "GET", &[session, ("Accept", "text/event-stream")], None).await;
    read_until(&mut stream, "retry: ").await;
    let slow = client.begin(&json!(5), "tools/call", serde_json::from_str(SLOW).unwrap(), "progress").await;
    assert_eq!(send(&client.address, "DELETE", &[session], b"").await.status, 204);
    for mut stream in [stream, slow] {
        stream.read_to_string(&mut String::new()).await.unwrap();
    }
    assert_eq!(client.ask(&json!(6), "tools/list", json!({})).await.status, 404);
    assert_eq!(send(&client.address, "DELETE", &[session], b"").await.status, 404);
}

#[tokio::test]
async fn one_revision_has_batches_over_http_too() {
    let mut client = Client::at(start().await, Era::Legacy, "2025-03-26").await;
    let slow = json!({ "name": "export_users", "arguments": { "format": "csv", "delay_ms": 10000 } });
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "id": "2", "method": "nope" },
        { "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": slow },
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } },
        5,
    ]);
    let session = client.session.clone();
    let headers = [TYPES.as_slice(), &[("Mcp-Session-Id", session.as_str())]].concat();
    let answers = send(&client.address, "POST", &headers, batch.to_string().as_bytes()).await.json();
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&Value::Null, &json!(1), &json!("2")]);
    let quiet = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]).to_string();
    assert_eq!(send(&client.address, "POST", &headers, quiet.as_bytes()).await.status, 202);
    client.session.clear();
    assert_eq!(client.ask(&json!(1), "ping", json!({})).await.status, 404);
}

#[tokio::test]
async fn a_body_that_is_too_long_or_never_ends_harms_nobody() {
    let client = Client::open(Era::Modern).await;
    let mut slow = open(&client.address, "POST", &TYPES, Some(100)).await;
    slow.write_all(b"{").await.unwrap();
    let long = vec![b' '; 32 * 1024 * 1024 + 1];
    assert_eq!(send(&client.address, "POST", &TYPES, &long).await.status, 413);
    let message = "x".repeat(16 * 1024 * 1024);
    assert_eq!(client.call("echo", json!({ "message": message })).await["message"], message);
    drop(slow);
    assert_eq!(client.ask(&json!(1), "tools/list", json!({})).await.status, 200);
}
