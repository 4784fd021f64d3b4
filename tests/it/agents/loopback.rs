//! A server on this machine that answers requests with JSON as a closure says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// A request that was made.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
    is_cut: bool,
    is_held: bool,
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, kind: "application/json", headers: Vec::new(), body: body.into(), is_cut: false, is_held: false }
    }

    pub(super) fn ok(body: impl Into<String>) -> Self {
        Self::new(200, body)
    }

    pub(super) fn events(body: String) -> Self {
        Self { kind: "text/event-stream", ..Self::ok(body) }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same, but the connection ends in the middle.
    pub(super) fn cut(self) -> Self {
        Self { is_cut: true, ..self }
    }

    /// The same with another text in the body.
    pub(super) fn replaced(self, one: &str, other: &str) -> Self {
        Self { body: self.body.replace(one, other), ..self }
    }

    /// None: the connection stays open, and nothing is sent.
    pub(super) fn never() -> Self {
        Self { is_held: true, ..Self::ok("") }
    }
}

type Behaviour = dyn Fn(&Value) -> Answer + Send;

/// The server.
pub(super) struct Loopback {
    port: u16,
    asked: Arc<Mutex<Vec<Request>>>,
    first: Arc<Mutex<Option<Answer>>>,
}

impl Loopback {
    pub(super) fn start(behaviour: impl Fn(&Value) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, first) = (Arc::default(), Arc::default());
        let server = Self { port, asked: Arc::clone(&asked), first: Arc::clone(&first) };
        std::thread::spawn(move || {
            let behaviour: Box<Behaviour> = Box::new(behaviour);
            let mut held = Vec::new();
            for stream in listener.incoming() {
                held.extend(serve(stream.unwrap(), &behaviour, &asked, &first));
            }
        });
        server
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// Answers the first request in this way.
    pub(super) fn first(&self, answer: Answer) {
        *self.first.lock().unwrap() = Some(answer);
    }
}

/// Answers a request; hands the connection back where it is to stay open.
fn serve(
    stream: TcpStream,
    behaviour: &Behaviour,
    asked: &Mutex<Vec<Request>>,
    first: &Mutex<Option<Answer>>,
) -> Option<TcpStream> {
    let mut reader = BufReader::new(stream);
    let request = read(&mut reader)?;
    let answer = first.lock().unwrap().take().unwrap_or_else(|| behaviour(&request.body));
    asked.lock().unwrap().push(request);
    let mut stream = reader.into_inner();
    if answer.is_held {
        return Some(stream);
    }
    let mut head = format!(
        "HTTP/1.1 {} Answer\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    head.extend(answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    let sent = if answer.is_cut { answer.body.len() / 2 } else { answer.body.len() };
    // Whoever asked may have gone.
    let _ = stream
        .write_all(format!("{head}\r\n").as_bytes())
        .and_then(|()| stream.write_all(&answer.body.as_bytes()[..sent]));
    None
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body: serde_json::from_slice(&body).ok()? })
}
