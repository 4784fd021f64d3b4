//! The server over HTTP, asked with requests as they are written to the socket.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::peer::{Era, meta};
use crate::demo::ServeError;
use crate::demo::http::BoundServer;

/// Where a server listens that ends with the test.
pub(crate) async fn start() -> String {
    serve(bound().await).0
}

/// A server that has its port.
pub(crate) async fn bound() -> BoundServer {
    BoundServer::new("127.0.0.1:0".parse().unwrap()).await.unwrap()
}

/// Where it listens, and how it ends.
pub(crate) fn serve(bound: BoundServer) -> (String, JoinHandle<Result<(), ServeError>>) {
    let address = bound.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    (address, tokio::spawn(bound.serve()))
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.headers.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The messages of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Writes the head of a request in HTTP/1.0, whose answers are not chunked; the connection is for what follows.
pub(crate) async fn open(
    address: &str,
    method: &str,
    headers: &[(&str, &str)],
    length: Option<usize>,
) -> BufReader<TcpStream> {
    open_at(address, &format!("{method} /mcp"), headers, length).await
}

/// The same for another path: `asked` is the method and the path.
async fn open_at(address: &str, asked: &str, headers: &[(&str, &str)], length: Option<usize>) -> BufReader<TcpStream> {
    let mut fields: Vec<_> =
        headers.iter().filter(|(_, value)| *value != "-").map(|(n, v)| format!("{n}: {v}\r\n")).collect();
    if !headers.iter().any(|(name, _)| *name == "Host") {
        fields.push(format!("Host: {address}\r\n"));
    }
    fields.extend(length.map(|length| format!("Content-Length: {length}\r\n")));
    let head = format!("{asked} HTTP/1.0\r\n{}", fields.concat());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
    BufReader::new(stream)
}

/// Sends a request and reads its answer to the end.
pub(crate) async fn send(address: &str, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    send_at(address, &format!("{method} /mcp"), headers, body).await
}

/// The same for another path: `asked` is the method and the path.
pub(crate) async fn send_at(address: &str, asked: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let length = asked.starts_with("POST").then_some(body.len());
    let mut stream = open_at(address, asked, headers, length).await;
    stream.write_all(body).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let (status, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = status.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, headers: headers.to_owned(), body: body.to_owned() }
}

/// What every POST carries.
pub(crate) const TYPES: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// A client of one era.
pub(crate) struct Client {
    pub(crate) address: String,
    era: Era,
    pub(crate) session: String,
    /// The header `Authorization`; `-` for none.
    authorization: String,
}

impl Client {
    pub(crate) async fn open(era: Era) -> Self {
        Self::at(start().await, era, "2025-11-25").await
    }

    pub(crate) async fn at(address: String, era: Era, revision: &str) -> Self {
        Self::authorized(address, era, revision, "-").await
    }

    /// A client that sends the header `Authorization`.
    pub(crate) async fn authorized(address: String, era: Era, revision: &str, authorization: &str) -> Self {
        let mut client = Self { address, era, session: String::new(), authorization: authorization.to_owned() };
        if era == Era::Legacy {
            let asked = json!({
                "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" },
            });
            let open = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": asked });
            let headers = [TYPES.as_slice(), &[("Authorization", authorization)]].concat();
            let answer = send(&client.address, "POST", &headers, open.to_string().as_bytes()).await;
            assert_eq!(answer.json()["result"]["protocolVersion"], revision);
            answer.header("mcp-session-id").unwrap().clone_into(&mut client.session);
        }
        client
    }

    /// The headers and the body of a request.
    fn request(&self, id: &Value, method: &str, mut params: Value) -> (Vec<(String, String)>, String) {
        let mut headers: Vec<_> = TYPES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        headers.push(("Authorization".to_owned(), self.authorization.clone()));
        if self.era == Era::Legacy {
            headers.push(("Mcp-Session-Id".to_owned(), self.session.clone()));
            headers.push(("MCP-Protocol-Version".to_owned(), "2025-11-25".to_owned()));
        } else {
            let mut whole = meta();
            if let Some(given) = params.get("_meta").and_then(Value::as_object) {
                whole.as_object_mut().unwrap().extend(given.clone());
            }
            params["_meta"] = whole;
            headers.push(("MCP-Protocol-Version".to_owned(), "2026-07-28".to_owned()));
            headers.push(("Mcp-Method".to_owned(), method.to_owned()));
            if let Some(name) =
                params.get("name").or(params.get("uri")).or(params.get("taskId")).and_then(Value::as_str)
            {
                headers.push(("Mcp-Name".to_owned(), name.to_owned()));
            }
        }
        (headers, json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
    }

    pub(crate) async fn ask(&self, id: &Value, method: &str, params: Value) -> Answer {
        let (headers, body) = self.request(id, method, params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        send(&self.address, "POST", &headers, body.as_bytes()).await
    }

    /// Sends a request and reads the first lines of its answer, up to one that contains `until`.
    pub(crate) async fn begin(&self, id: &Value, method: &str, params: Value, until: &str) -> BufReader<TcpStream> {
        let (headers, body) = self.request(id, method, params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut stream = open(&self.address, "POST", &headers, Some(body.len())).await;
        stream.write_all(body.as_bytes()).await.unwrap();
        read_until(&mut stream, until).await;
        stream
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

    pub(crate) async fn notify(&self, method: &str, params: Value) -> Answer {
        let headers = [("Mcp-Session-Id", self.session.as_str())];
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        send(&self.address, "POST", &[TYPES.as_slice(), &headers].concat(), body.as_bytes()).await
    }
}

pub(crate) async fn read_until(stream: &mut BufReader<TcpStream>, until: &str) -> String {
    let mut line = String::new();
    while !line.contains(until) {
        line.clear();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "the stream ended before `{until}`");
    }
    line
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

pub(crate) const SLOW: &str =
    r#"{"name":"export_users","arguments":{"format":"csv","delay_ms":10000,"steps":20},"_meta":{"progressToken":1}}"#;

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
