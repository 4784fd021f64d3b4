//! Questions of the server over HTTP: they travel on the stream of a call, and their answers find back.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::TcpStream;

use super::client::{Client, Era, TYPES, bound, read_until, send, serve};
use super::fixtures::reply;
use crate::Settings;
use crate::faulty::ServerFault;

/// A server with its fixtures.
async fn start() -> String {
    let settings = Settings { conformance_fixtures: true, ..Settings::default() };
    serve(bound().await.with(settings, &Arc::new(ServerFault::none())).unwrap()).0
}

/// A session whose client answers everything.
async fn open(address: &str, revision: &str) -> Client {
    let mut client = Client::at(address.to_owned(), Era::Legacy, revision).await;
    let params = json!({
        "protocolVersion": revision, "capabilities": { "elicitation": {}, "sampling": {}, "roots": {} },
        "clientInfo": { "name": "raw", "version": "1" },
    });
    let open = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let answer = send(address, "POST", &TYPES, open.to_string().as_bytes()).await;
    answer.header("mcp-session-id").unwrap().clone_into(&mut client.session);
    client
}

/// The next message of a stream.
async fn message(stream: &mut BufReader<TcpStream>) -> Value {
    let line = read_until(stream, "data: {").await;
    serde_json::from_str(line.trim_start_matches("data: ")).unwrap()
}

const GREET: &str = "test_input_required_result_elicitation";

#[tokio::test]
async fn answers_find_the_call_that_asked() {
    let address = start().await;
    let client = open(&address, "2025-11-25").await;
    let mut streams = Vec::new();
    for id in [1, 2] {
        let params = json!({ "name": GREET, "arguments": {} });
        let mut stream = client.begin(&json!(id), "tools/call", params, "retry").await;
        let question = message(&mut stream).await;
        assert_eq!(question["method"], "elicitation/create");
        streams.push((id, stream, question));
    }
    assert_ne!(streams[0].2["id"], streams[1].2["id"]);
    let stray = json!({ "jsonrpc": "2.0", "id": 77, "result": reply(&streams[0].2) });
    assert_eq!(client.reply(&stray).await.status, 202);
    for (id, mut stream, question) in streams.into_iter().rev() {
        let content = json!({ "action": "accept", "content": { "name": format!("number {id}") } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": content });
        assert_eq!(client.reply(&answer).await.status, 202);
        let result = message(&mut stream).await;
        assert_eq!(result["result"]["content"][0]["text"], format!("Hello, number {id}!"));
    }
}

#[tokio::test]
async fn a_question_ends_with_an_error_or_with_its_session() {
    let address = start().await;
    for refusal in [Some(json!({ "code": -1, "message": "no" })), None] {
        let client = open(&address, "2025-11-25").await;
        let params = json!({ "name": GREET, "arguments": {} });
        let mut stream = client.begin(&json!(1), "tools/call", params, "retry").await;
        let question = message(&mut stream).await;
        if let Some(error) = refusal {
            let refusal = json!({ "jsonrpc": "2.0", "id": question["id"], "error": error });
            assert_eq!(client.reply(&refusal).await.status, 202);
            let result = message(&mut stream).await;
            let text = "the client gives no answer: Mcp error: -1: no";
            assert_eq!(result["result"]["content"][0]["text"], text);
        } else {
            let session = ("Mcp-Session-Id", client.session.as_str());
            assert_eq!(send(&address, "DELETE", &[session], b"").await.status, 204);
            stream.read_to_string(&mut String::new()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_in_a_batch() {
    let address = start().await;
    let client = open(&address, "2025-03-26").await;
    let call = json!({ "name": GREET, "arguments": {} });
    let batch = json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }]);
    let answers = client.reply(&batch).await.json();
    let text = answers[0]["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("cannot be asked on the way that the request took"), "{text}");
}

#[tokio::test]
async fn headers_have_to_repeat_marked_arguments() {
    let address = start().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = json!({ "region": "Ålesund", "limit": 7 });
    let params = json!({ "name": "test_custom_headers", "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let standard =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "test_custom_headers")];
    let (region, limit) = (("Mcp-Param-Region", "=?base64?w4VsZXN1bmQ=?="), ("mcp-param-limit", "7.0"));
    let other = ("Mcp-Param-Region", "Oslo");
    for (marked, status, code) in [
        (vec![region, limit, ("Mcp-Param-Unknown", "x")], 200, None),
        (vec![region], 400, Some(-32020)),
        (vec![other, limit], 400, Some(-32020)),
        (vec![region, region, limit], 400, Some(-32020)),
        (vec![region, limit, ("Mcp-Param-Dry-Run", "true")], 400, Some(-32020)),
    ] {
        let headers = [TYPES.as_slice(), &standard, &marked].concat();
        let answer = send(&address, "POST", &headers, body.as_bytes()).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (status, code), "{marked:?}: {answer:?}");
    }
}
