//! A client that writes requests of HTTP to the socket as they are, for the tests here and those of faults around the
//! server, which include this file.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::super::ServeError;
use super::super::http::BoundServer;

/// The era a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// The `_meta` of a stateless request.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
    })
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

pub(crate) const SLOW: &str =
    r#"{"name":"export_users","arguments":{"format":"csv","delay_ms":10000,"steps":20},"_meta":{"progressToken":1}}"#;

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
