//! The transport against servers that are scripts of bytes: what they write, and what comes of it.

mod login;
mod tls;
mod token;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::transport::large::LargeTurn;
use crate::transport::{HttpDelivery, Owner};
use crate::wire::LARGE_MESSAGE;

/// A server that answers every connection with the next script, and hangs up; it keeps what it was sent.
struct Server {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn new(scripts: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&heard);
        let root = url.trim_end_matches("/mcp").to_owned();
        tokio::spawn(async move {
            // `STATE` stands for the state of the last login.
            let mut state = String::new();
            for script in scripts {
                let Ok((mut socket, _)) = listener.accept().await else { return };
                let request = request(&mut socket).await;
                let sent =
                    request.split_once("&state=").map(|(_, rest)| rest.split(['&', ' ']).next().unwrap_or_default());
                state = sent.map_or(state, str::to_owned);
                keep.lock().push(request);
                // `…` stands for a server that says nothing more and does not hang up.
                let (text, stays) = script.strip_suffix('…').map_or((script.as_str(), false), |text| (text, true));
                let _ = socket.write_all(text.replace("ROOT", &root).replace("STATE", &state).as_bytes()).await;
                if stays {
                    tokio::spawn(async move {
                        let _ = socket.read(&mut [0; 16]).await;
                    });
                }
            }
        });
        Self { url, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().clone()
    }
}

/// Reads a request with its body.
async fn request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let length = socket.read(&mut piece).await.unwrap_or(0);
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if length == 0 || body.len() >= wanted.unwrap_or(0) {
            return text;
        }
    }
}

fn address(url: &str) -> HttpAddress {
    HttpAddress {
        url: url.to_owned(),
        headers: Vec::new(),
        tokens: None,
        flavour: HttpTransport::Auto,
        tls: TrustedRoots::System,
        exit: None,
    }
}

fn message(frame: u32, kind: MessageRole, era: Era) -> Outgoing {
    Outgoing::Message(OutgoingMessage {
        bytes: b"{}".to_vec(),
        owner: Owner::Session,
        frame,
        headers: Vec::new(),
        role: kind,
        era,
        form: MessageForm::Whole,
    })
}

fn answer(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn refusal(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// An incoming item as a line.
#[expect(clippy::wildcard_enum_match_arm, reason = "no test expects anything else")]
fn shown(incoming: Incoming) -> String {
    match incoming {
        Incoming::Message { bytes, delivery: origin, .. } => {
            let origin = match origin {
                HttpDelivery::Body(frame) => format!("body {frame}"),
                HttpDelivery::Event(frame) => format!("event {frame}"),
                HttpDelivery::Stream => "stream".to_owned(),
            };
            format!("{origin}: {}", String::from_utf8_lossy(&bytes))
        }
        Incoming::Refused { frame, http, .. } => format!("refused {frame:?}: {}", http.status),
        Incoming::Undelivered { frame, failure, .. } => format!("failed {frame}: {}", failure.message("ping")),
        other => format!("{other:?}"),
    }
}

/// Sends one request to a server that plays `scripts`; what comes first is `expected`.
async fn check(scripts: &[String], expected: &str) {
    let server = Server::new(scripts.to_vec()).await;
    let mut link = connect(&address(&server.url)).unwrap();
    link.outgoing.send(message(1, MessageRole::Request, Era::Session)).unwrap();
    let came = shown(link.incoming.recv().await.unwrap());
    assert_eq!(came.replace(&server.url, "URL"), expected, "{scripts:?}");
}

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#;

#[tokio::test]
async fn answers_come_as_json_and_as_events() {
    check(&[answer("application/json; charset=utf-8", RESULT)], &format!("body 1: {RESULT}")).await;
    check(&[answer("application/json", "<html>")], "body 1: <html>").await;
    check(&[answer("text/event-stream", &format!("data: {RESULT}\n\n"))], &format!("event 1: {RESULT}")).await;
    let torn = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hi\n\ndata: {RESULT}\n\n…");
    check(&[torn], &format!("event 1: {RESULT}")).await;
    // An error in a message is an answer, whatever the status.
    check(&[refusal("400 Bad Request", "", ERROR)], &format!("body 1: {ERROR}")).await;
    check(&[refusal("500 Oh No", "", ERROR)], &format!("body 1: {ERROR}")).await;
}

/// Reads a stream of `event` and of `then`, which does not end; returns true if the turn of large messages is free afterwards.
async fn leaves_the_turn(event: &str, then: &str) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let script = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{event}{}",
        then.repeat(LARGE_MESSAGE * 4 / then.len())
    );
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        request(&mut socket).await;
        socket.write_all(script.as_bytes()).await.unwrap();
        socket
    });
    let mut link = connect(&address(&url)).unwrap();
    link.outgoing.send(message(1, MessageRole::Request, Era::Session)).unwrap();
    let (open, turn) = tokio::join!(serving, async {
        link.incoming.recv().await.unwrap();
        while let Ok(Some(_)) = tokio::time::timeout(Duration::from_millis(300), link.incoming.recv()).await {}
        let mut turn = LargeTurn::default();
        turn.take(LARGE_MESSAGE).await;
        turn
    });
    drop(open);
    turn.is_taken()
}

#[tokio::test]
async fn a_stream_that_is_kept_alive_leaves_the_turn_to_large_messages() {
    let event = format!("data: {RESULT}\n\n");
    assert!(leaves_the_turn(&event, ": this stream is kept alive\n\n").await, "comments");
    assert!(leaves_the_turn(&event, "event: ping\ndata: {}\n\n").await, "pings");
    assert!(leaves_the_turn(&event, "id: 7\nretry: 1000\n").await, "fields");
    assert!(!leaves_the_turn(&event, "data: a message without an end").await, "a large message");
}

#[tokio::test]
async fn refusals_are_named() {
    for (status, headers, body, expected) in [
        (
            "401 Unauthorized",
            "www-authenticate: Bearer\r\n",
            "",
            "the server requires credentials: it answered `ping` with HTTP 401 Unauthorized",
        ),
        ("403 Forbidden", "", "", "the server answered `ping` with HTTP 403 Forbidden"),
        ("404 Not Found", "", "<h1>", "the server answered `ping` with HTTP 404 Not Found"),
        (
            "429 Slow Down",
            "retry-after: 7\r\n",
            r#"{"error":"rate"}"#,
            "the server answered `ping` with HTTP 429 Too Many Requests",
        ),
        ("502 Bad Gateway", "", "<html>", "the server answered `ping` with HTTP 502 Bad Gateway"),
        ("599 Whatever", "", "", "the server answered `ping` with HTTP 599"),
        (
            "302 Found",
            "location: /other\r\n",
            "",
            "the server redirects `POST` with HTTP 302 Found to `ROOT/other`, which would drop the message; it is not followed",
        ),
        (
            "307 Temporary Redirect",
            "location: http://evil.example/\r\n",
            "",
            "the server redirects `POST` with HTTP 307 Temporary Redirect to another origin, `http://evil.example/`; it is not followed",
        ),
    ] {
        let server = Server::new(vec![refusal(status, headers, body)]).await;
        let mut link = connect(&address(&server.url)).unwrap();
        link.outgoing.send(message(1, MessageRole::Request, Era::Session)).unwrap();
        let came = shown(link.incoming.recv().await.unwrap());
        let root = server.url.trim_end_matches("/mcp");
        assert_eq!(came.replace(root, "ROOT"), format!("failed 1: {expected}"));
    }
}

#[tokio::test]
async fn broken_answers_are_named() {
    let stream = |text: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    for (script, expected) in [
        (String::new(), "the server closed the connection before it answered `ping`".to_owned()),
        ("HTTP/1.1 200 OK\r\ncont".to_owned(), "the server closed the connection before it answered `ping`".to_owned()),
        ("SSH-2.0-OpenSSH\r\n\r\n".to_owned(), "the response to `ping` is not HTTP: invalid HTTP version parsed".to_owned()),
        (format!("{head}{{"), "the connection broke during the answer to `ping`: the headers arrived, the body is incomplete".to_owned()),
        (stream("data: {"), "the connection broke in the middle of an event, before the answer to `ping` was complete".to_owned()),
        (stream(": only a comment\n\n"), "the response to `ping` (HTTP 200 OK) ended without an answer in it".to_owned()),
        (answer("application/json", ""), "the response to `ping` (HTTP 200 OK) ended without an answer in it".to_owned()),
        ("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(), "the response to `ping` (HTTP 202 Accepted) ended without an answer in it".to_owned()),
        (answer("text/html", "<html>"), "the server answered `ping` with HTTP 200 OK and the content type `text/html`; MCP allows `application/json` and `text/event-stream`".to_owned()),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_owned(), "the server answered `ping` with HTTP 200 OK and no content type; MCP allows `application/json` and `text/event-stream`".to_owned()),
        (refusal("200 OK", "content-type: application/json\r\ncontent-encoding: gzip\r\n", "bomb"), "the server compressed its answer to `ping` with `gzip`, which the request did not allow; it was not decompressed".to_owned()),
        (format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20)), "the answer to `ping` is not read: its headers are too long".to_owned()),
    ] {
        check(&[script], &format!("failed 1: {expected}")).await;
    }
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    drop(listener);
    let long = "x".repeat(64);
    for (url, expected) in [
        (format!("http://{place}/mcp"), format!("nothing listens at `{place}`")),
        // Too long for a name, so nobody is asked for it.
        (format!("http://{long}.invalid/"), format!("the host name `{long}.invalid` could not be resolved")),
    ] {
        let mut link = connect(&address(&url)).unwrap();
        link.outgoing.send(message(1, MessageRole::Request, Era::Session)).unwrap();
        assert_eq!(shown(link.incoming.recv().await.unwrap()), format!("failed 1: {expected}"));
    }
    for url in ["nonsense", "ftp://host/", "/mcp"] {
        assert!(connect(&address(url)).is_err(), "{url}");
    }
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_limit() {
    let again = refusal("307 Temporary Redirect", "location: /mcp\r\n", "");
    check(&[again.clone(), answer("application/json", RESULT)], &format!("body 1: {RESULT}")).await;
    let expected = "failed 1: the server keeps redirecting `POST`; 5 redirects were followed, the last to `URL`";
    check(&vec![again; 6], expected).await;
}

#[tokio::test]
async fn a_session_is_kept_resumed_and_ended() {
    let opened = |more: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{more}\r\n");
    let server = Server::new(vec![
        refusal("200 OK", "content-type: application/json\r\nmcp-session-id: s1\r\n", RESULT),
        "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        refusal("405 Method Not Allowed", "", ""),
        opened("") + "id: e7\nretry: 1\ndata:\n\n",
        opened("") + &format!("id: e8\ndata: {RESULT}\n\n"),
        refusal("404 Not Found", "", ""),
    ])
    .await;
    let mut link = connect(&address(&server.url)).unwrap();
    link.outgoing.send(message(1, MessageRole::Handshake, Era::Session)).unwrap();
    assert_eq!(shown(link.incoming.recv().await.unwrap()), format!("body 1: {RESULT}"));
    link.outgoing.send(message(2, MessageRole::Initialized, Era::Session)).unwrap();
    link.outgoing.send(message(3, MessageRole::Request, Era::Session)).unwrap();
    assert_eq!(shown(link.incoming.recv().await.unwrap()), format!("event 3: {RESULT}"));
    link.outgoing.send(message(4, MessageRole::Request, Era::Session)).unwrap();
    let lost = "failed 4: the server no longer knows the session: it answered `ping` with HTTP 404 Not Found";
    assert_eq!(shown(link.incoming.recv().await.unwrap()), lost);
    link.stop.stop().await;
    let heard = server.heard();
    let first_line = |at: usize| heard[at].lines().next().unwrap_or_default().to_owned();
    assert!(!heard[0].contains("mcp-session-id"), "{}", heard[0]);
    assert!(heard[1..].iter().all(|request| request.contains("mcp-session-id: s1")), "{heard:?}");
    assert_eq!(first_line(2), "GET /mcp HTTP/1.1");
    assert!(heard[4].starts_with("GET") && heard[4].contains("last-event-id: e7"), "{}", heard[4]);
    assert_eq!(heard.len(), 6, "a session that is lost is not deleted");
}

#[tokio::test]
async fn the_servers_own_stream_goes_on_where_it_broke() {
    let stream = |text: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}");
    let server = Server::new(vec![
        refusal("200 OK", "content-type: application/json\r\nmcp-session-id: s1\r\n", RESULT),
        refusal("202 Accepted", "", ""),
        stream("retry: 1\nid: e1\ndata: 1\n\nid: e2\ndata: tor"),
        stream("id: e2\ndata: 2\n\n…"),
    ])
    .await;
    let mut link = connect(&address(&server.url)).unwrap();
    link.outgoing.send(message(1, MessageRole::Handshake, Era::Session)).unwrap();
    link.outgoing.send(message(2, MessageRole::Initialized, Era::Session)).unwrap();
    for expected in [&format!("body 1: {RESULT}"), "stream: 1", "stream: 2"] {
        assert_eq!(shown(link.incoming.recv().await.unwrap()), expected);
    }
    let resumed = &server.heard()[3];
    assert!(resumed.starts_with("GET") && resumed.contains("last-event-id: e1"), "{resumed}");
}

#[tokio::test]
async fn an_older_server_is_found_behind_a_refusal() {
    let stream = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: endpoint\ndata: /to?id=1\n\ndata: {RESULT}\n\n…"
    );
    let scripts = vec![refusal("405 Method Not Allowed", "", ""), stream, refusal("202 Accepted", "", "")];
    let server = Server::new(scripts).await;
    let mut link = connect(&address(&server.url)).unwrap();
    link.outgoing.send(message(1, MessageRole::Handshake, Era::Session)).unwrap();
    assert_eq!(shown(link.incoming.recv().await.unwrap()), "Speaks(Sse)");
    assert_eq!(shown(link.incoming.recv().await.unwrap()), format!("stream: {RESULT}"));
    while server.heard().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert!(server.heard()[2].starts_with("POST /to?id=1 "), "{:?}", server.heard());
    let elsewhere =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: endpoint\ndata: http://evil.example/\n\n…";
    let server = Server::new(vec![refusal("404 Not Found", "", ""), elsewhere.to_owned()]).await;
    let mut link = connect(&address(&server.url)).unwrap();
    link.outgoing.send(message(1, MessageRole::Handshake, Era::Session)).unwrap();
    let refused =
        "failed 1: the server names an endpoint of another origin, `http://evil.example/`; nothing is sent there";
    assert_eq!(shown(link.incoming.recv().await.unwrap()), refused);
}
