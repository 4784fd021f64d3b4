//! A client that writes lines as they are given and reads lines as they come.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;

use super::client::{Era, meta};
use crate::faulty::ServerFault;
use crate::{ServeError, Settings, serve_with};

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// One conversation.
pub(crate) struct Peer {
    era: Era,
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    server: JoinHandle<Result<(), ServeError>>,
    sent: u64,
    output_schemas: BTreeMap<String, jsonschema::Validator>,
}

impl Peer {
    /// A server to which nothing was said.
    pub(crate) fn connect(era: Era) -> Self {
        Self::connect_to(era, Settings::default())
    }

    /// The same under settings.
    pub(crate) fn connect_to(era: Era, settings: Settings) -> Self {
        let fault = ServerFault::none().into();
        let (client, server) = duplex(64 * 1024);
        let (server_reader, server_writer) = split(server);
        let (reader, writer) = split(client);
        Self {
            era,
            reader: BufReader::new(reader),
            writer,
            server: tokio::spawn(serve_with(settings, fault, server_reader, server_writer)),
            sent: 0,
            output_schemas: BTreeMap::new(),
        }
    }

    /// A server that is ready for requests of the era.
    pub(crate) async fn open(era: Era) -> Self {
        Self::open_revision(era, "2025-11-25").await
    }

    /// The same, with the revision that a legacy client asks for.
    pub(crate) async fn open_revision(era: Era, revision: &str) -> Self {
        Self::connect(era).opened(revision).await
    }

    /// The same client, once it is ready for requests of the era.
    pub(crate) async fn opened(mut self, revision: &str) -> Self {
        if self.era == Era::Legacy {
            let answer = self.initialize(revision).await;
            assert_eq!(answer["result"]["protocolVersion"], revision);
            self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        self
    }

    pub(crate) async fn initialize(&mut self, revision: &str) -> Value {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": { "name": "raw", "version": "1" },
        });
        self.send(&json!({ "jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params })).await;
        self.receive().await
    }

    /// Sends a line as it is.
    pub(crate) async fn line(&mut self, line: impl AsRef<[u8]>) {
        self.writer.write_all(line.as_ref()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.line(message.to_string()).await;
    }

    /// Sends a request under an id of ours and gives that id.
    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        self.start_as(&json!(self.sent), method, params).await;
        self.sent
    }

    /// Sends a request under the id `id`.
    pub(crate) async fn start_as(&mut self, id: &Value, method: &str, mut params: Value) {
        if self.era == Era::Modern {
            let mut whole = meta();
            if let Some(given) = params.get("_meta").and_then(Value::as_object) {
                whole.as_object_mut().unwrap().extend(given.clone());
            }
            params["_meta"] = whole;
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    /// The next message, which must be sound.
    pub(crate) async fn receive(&mut self) -> Value {
        self.next().await.expect("the server said nothing more")
    }

    /// The next message, or nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.reader.read_line(&mut line).await.unwrap() == 0 {
            return None;
        }
        let message: Value = serde_json::from_str(&line).unwrap();
        assert!(message.is_array() || message["jsonrpc"] == "2.0", "{message}");
        Some(message)
    }

    /// Sends a request and gives its answer.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        if self.era == Era::Modern && answer.get("result").is_some() {
            assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
            let server = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(server["name"], "mcprove-demo", "{answer}");
        } else {
            assert_eq!(answer["result"].get("resultType"), None, "{answer}");
        }
        answer
    }

    /// The result of a request that must succeed.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert_eq!(answer.get("error"), None);
        answer["result"].take()
    }

    /// The code and the message of a request that must fail.
    pub(crate) async fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.request(method, params).await;
        let error = &answer["error"];
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// Calls a tool that must succeed, holds the result to its output schema, and gives the structured content.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        self.check_output(tool, &result).await;
        result["structuredContent"].clone()
    }

    /// Calls a tool that must refuse, and gives its message.
    pub(crate) async fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result.get("structuredContent"), None, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn check_output(&mut self, tool: &str, result: &Value) {
        if self.output_schemas.is_empty() {
            let list = self.result("tools/list", json!({})).await;
            for tool in list["tools"].as_array().unwrap() {
                let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
                self.output_schemas.insert(tool["name"].as_str().unwrap().to_owned(), schema);
            }
        }
        assert_eq!(result["isError"], false, "{result}");
        let content = &result["structuredContent"];
        assert!(self.output_schemas[tool].is_valid(content), "{content}");
        assert_eq!(result["content"][0]["type"], "text");
        assert_eq!(result["content"][0]["text"], content.to_string());
    }

    /// Closes the input and gives everything that was said until the end.
    pub(crate) async fn close(mut self) -> Vec<Value> {
        self.writer.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        self.server.await.unwrap().unwrap();
        rest
    }
}
