//! The floor over HTTP: a bare client on kept connections, which no suite runner can be faster than.
//!
//! As many connections as calls in flight, requests that are formatted texts, responses that are read no further than
//! to their ends. Knows the handshake of 2025-11-25 and nothing of JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// `--floor HOST:PORT CALLS WINDOW PARAMS`: shakes hands and makes the calls.
pub(crate) fn run(arguments: &[String]) {
    let [address, calls, window, params] = arguments else { panic!("--floor HOST:PORT CALLS WINDOW PARAMS") };
    let (calls, window): (usize, usize) = (calls.parse().unwrap(), window.parse().unwrap());
    let mut first = Connection::new(address);
    let session = first.exchange(&request(address, "", INITIALIZE)).unwrap();
    let session = format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n");
    first.exchange(&request(address, &session, INITIALIZED));
    drop(first);
    let begun = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..window {
            scope.spawn(|| {
                let mut connection = Connection::new(address);
                loop {
                    let call = begun.fetch_add(1, Ordering::Relaxed);
                    if call >= calls {
                        return;
                    }
                    let body =
                        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{params}}}"#, call + 1);
                    connection.exchange(&request(address, &session, &body));
                }
            });
        }
    });
}

fn request(address: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn new(address: &str) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        Self(BufReader::with_capacity(1 << 14, socket))
    }

    /// Sends a request and reads its response to the end; returns the session id that came with it.
    fn exchange(&mut self, request: &[u8]) -> Option<String> {
        self.0.get_mut().write_all(request).unwrap();
        let (mut line, mut length, mut is_chunked, mut session) = (String::new(), 0, false, None);
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server closed the connection");
            let Some((name, value)) = line.split_once(':') else {
                assert!(line.trim().is_empty() || line.starts_with("HTTP/1.1 20"), "{line}");
                if line.trim().is_empty() {
                    break;
                }
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "transfer-encoding" => is_chunked = true,
                "mcp-session-id" => session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        if is_chunked {
            while self.chunk() > 0 {}
        } else {
            self.skip(length);
        }
        session
    }

    /// Reads one chunk; the last one has no bytes.
    fn chunk(&mut self) -> usize {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        self.skip(length + 2);
        length
    }

    fn skip(&mut self, length: usize) {
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
    }
}
