//! Servers with faults at their edge, as clients see them: over streams every line, over HTTP every response.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, duplex, split};

use super::client::{Answer, Client, Era, TYPES, bound, open, send, serve};
use crate::demo::faulty::DemoFault;
use crate::demo::{ServeError, Settings, serve_with};
use crate::fault::{self, Fault};
use crate::source::{SourceFile, Sources};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const PING_2: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
const PONG_2: &str = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
const NOPE: &str = r#"{"jsonrpc":"2.0","id":"a","method":"nope"}"#;
const DONE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const EXPORT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export_users","arguments":{"format":"csv","steps":2},"_meta":{"progressToken":"t"}}}"#;

/// Faults, the lines that a client sends, and those that it gets.
type OverStream = (&'static str, &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const OVER_STREAMS: &[OverStream] = &[
    ("on: { method: nothing/at-all }\nhears: nothing\nanswers: end", &[PING], &[PONG]),
    ("answers: { remove: jsonrpc }", &[PING], &[r#"{"id":1,"result":{}}"#]),
    ("answers: { set: { id: '{{ id | string }}', jsonrpc: '1.0' } }", &[PING], &[r#"{"jsonrpc":"1.0","id":"1","result":{}}"#]),
    ("answers: { set: { error.code: '-1', error.data: { n: '{{ count }}' } }, remove: [error.message] }", &[NOPE, PING],
        &[r#"{"jsonrpc":"2.0","id":"a","error":{"code":"-1","data":{"n":1}}}"#, PONG]),
    ("answers: { result: [] }", &[PING], &[r#"{"jsonrpc":"2.0","id":1,"result":[]}"#]),
    ("answers: { error: { code: 1.5 } }", &[PING], &[r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5}}"#]),
    ("answers: { text: 'not JSON {{ id }}' }", &[PING], &["not JSON 1"]),
    ("answers: garbage", &[PING], &["\u{fffd}\u{fffd}\0garbled\u{fffd}"]),
    ("answers: indent", &[PING], &["{", "  \"jsonrpc\": \"2.0\",", "  \"id\": 1,", "  \"result\": {}", "}"]),
    ("answers: { replace: { '\"id\":1': '\"id\":1.0' } }", &[PING], &[r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#]),
    ("answers: [{ delay: 1ms }, duplicate]", &[PING], &[PONG, PONG]),
    ("{ on: { with: { id: 1 } }, answers: nothing }", &[PING, PING_2], &[PONG_2]),
    ("{ on: { nth: 1 }, answers: never }", &[PING, PING_2], &[PONG_2]),
    ("{ on: { from: 2 }, answers: { set: { result.n: '{{ count }}' } } }", &[PING, PING_2], &[PONG, r#"{"jsonrpc":"2.0","id":2,"result":{"n":2}}"#]),
    ("{ on: { kind: notification }, answers: { result: {} } }", &[DONE, PING], &[r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, PONG]),
    ("{ on: { method: notifications/cancelled }, hears: nothing, after: [{ id: '{{ params.requestId }}' }] }", &[CANCEL], &[r#"{"id":9}"#]),
    ("{ on: { kind: unparsable }, answers: { set: { id: 0 }, remove: error.message } }", &["{"], &[r#"{"jsonrpc":"2.0","error":{"code":-32700},"id":0}"#]),
    ("{ on: { kind: [start, end] }, before: [hello] }", &[PING], &["hello", "hello", PONG]),
    ("{ on: { method: 'p*', unless: { with: { id: /a/ } } }, before: [{ id: '{{ id }}', method: roots/list }, '{{ params.absent }}'] }", &[PING],
        &[r#"{"id":1,"method":"roots/list"}"#, PONG]),
    ("{ on: { method: nope }, hears: { set: { method: ping } } }", &[NOPE], &[r#"{"jsonrpc":"2.0","id":"a","result":{}}"#]),
    ("{ on: { method: nope }, hears: { set: { id: 5, method: ping } }, answers: { set: { id: '{{ id }}' } } }", &[NOPE], &[r#"{"jsonrpc":"2.0","id":"a","result":{}}"#]),
    ("[{ on: { has: { error.code: -32602 } }, answers: { result: {} } }]", &[NOPE, PING], &[r#"{"jsonrpc":"2.0","id":"a","result":{}}"#, PONG]),
    ("[{ on: { nth: 2 }, answers: { message: '{{ earlier.ping.answer }}' } }]", &[PING, PING_2], &[PONG, PONG]),
    ("{ on: { over: http }, answers: never }", &[PING], &[PONG]),
];

#[tokio::test]
async fn faults_show_on_streams() {
    for (yaml, sent, expected) in OVER_STREAMS {
        assert_eq!(converse(yaml, sent).await, *expected, "{yaml}");
    }
}

/// Faults, a request without its session, and the response: status, type and body.
type OverHttp = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

const EVIL: (&str, &str) = ("Origin", "http://evil.example");
const BAD_VERSION: (&str, &str) = ("MCP-Protocol-Version", "garbage");
const EVENTS: (&str, &str) = ("Accept", "text/event-stream");

#[rustfmt::skip]
const OVER_HTTP: &[OverHttp] = &[
    ("{ on: { method: x }, hears: nothing, answers: end }", "POST", &[], PING, "200 application/json {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
    ("{ on: { header: Origin }, hears: { headers: { Origin: } } }", "POST", &[EVIL], PING, "200 application/json {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
    ("{ on: { header: { origin: /evil/ }, status: 403 }, answers: { status: 400, text: '' } }", "POST", &[EVIL], PING, "400 - "),
    ("{ on: { kind: notification }, answers: { message: {} } }", "POST", &[], DONE, "202 application/json {}"),
    ("{ on: { kind: notification }, answers: { status: 200 } }", "POST", &[], DONE, "200 - "),
    ("{ on: { method: ping }, answers: { headers: { Content-Type: text/plain } } }", "POST", &[], PING, "200 text/plain {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
    ("{ on: { method: ping }, answers: nothing }", "POST", &[], PING, "200 - "),
    ("{ on: { method: ping }, hears: nothing }", "POST", &[], PING, "200 - "),
    ("{ on: { method: ping }, answers: [{ event_id: 'e{{ event }}', remove: result }, duplicate] }", "POST", &[], PING,
        "200 text/event-stream id: e0\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1}\n\nid: e1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1}\n\n"),
    ("{ on: { kind: notification }, before: [noise] }", "POST", &[], DONE, "200 text/event-stream event: message\ndata: noise\n\n"),
    ("{ on: { header: { MCP-Protocol-Version: garbage } }, hears: { headers: { MCP-Protocol-Version: 2025-11-25 } } }", "POST", &[BAD_VERSION], PING,
        "200 application/json {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
    ("{ on: { verb: get }, hears: nothing, answers: { status: 404, text: gone } }", "GET", &[EVENTS], "", "404 text/plain gone"),
    ("{ on: { verb: DELETE }, hears: nothing, answers: { status: 204 } }", "DELETE", &[], "", "204 - "),
    ("{ on: { method: tools/call, sends: notifications/progress }, answers: { set: { params.progress: 1 } } }", "POST", &[], EXPORT, "progress 1 1"),
    ("{ on: { sends: '*', has: { params.progress: 1.0 } }, answers: nothing }", "POST", &[], EXPORT, "progress 2"),
    ("{ on: { sends: '*', nth: 2 }, answers: duplicate }", "POST", &[], EXPORT, "progress 1 2 2"),
    ("{ on: { method: tools/call }, after: [{ params: { progress: 3 } }], answers: { event_id: same } }", "POST", &[], EXPORT, "progress 1 2 3"),
    ("{ on: { sends: notifications/progress }, answers: nothing }", "POST", &[], EXPORT, "progress"),
];

/// A plan with the eight types of mcp-chaos: what each says is what comes.
#[tokio::test]
async fn plans_of_mcp_chaos_do_what_they_say() {
    let call = |tool: &str, args: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{args}}}}}"#)
    };
    let (add, list) = (call("add", r#"{"a":1,"b":2}"#), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let add: &'static str = add.leak();
    let refused =
        |message: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32000,"message":"{message}"}}}}"#);
    for (fault, sent, expected) in [
        ("{ type: latency, added_ms: 1, jitter_ms: 1.5 }", add, r#""structuredContent":{"sum":3}"#.to_owned()),
        ("{ type: drop_tool, tools: [add] }", add, refused("tool 'add' unavailable")),
        (
            "{ type: schema_drift, tools: [add], probability: 1.0 }",
            add,
            r#""structuredContent":{"sum":"3"}"#.to_owned(),
        ),
        ("{ type: partial_result }", add, r#""text":"{\"su""#.to_owned()),
        ("{ type: registry_inconsistency, tools: [add] }", add, "Unknown tool: add".to_owned()),
        ("{ type: error_injection, rate: 1 }", add, refused("injected error")),
        ("{ type: error_injection, rate: 0 }", add, r#""sum":3"#.to_owned()),
        ("{ type: burst_error, rate: 1, burst_len: 8.0 }", add, refused("injected burst error")),
        ("{ type: server_degradation, episode_rate: 1.0, episode_len: 20.0 }", add, refused("the server is degraded")),
    ] {
        let plan: &'static str = format!("{{ seed: 1, faults: [{fault}] }}").leak();
        let seen = converse(plan, &[HELLO, DONE, sent]).await;
        assert!(seen.len() == 2 && seen.iter().any(|line| line.contains(&expected)), "{fault}: {seen:?}");
    }
    let seen = converse("{ faults: [{ type: drop_tool, tools: [add] }] }", &[HELLO, DONE, list]).await;
    assert!(!seen[1].contains("\"name\":\"add\"") && seen[1].contains("\"name\":\"echo\""), "{seen:?}");
}

#[tokio::test]
async fn faults_show_over_http() {
    for (yaml, verb, headers, body, expected) in OVER_HTTP {
        let client = opened(yaml).await;
        let session = [("Mcp-Session-Id", client.session.as_str())];
        let types = TYPES.into_iter().filter(|(name, _)| headers.iter().all(|(given, _)| given != name));
        let headers: Vec<_> = types.chain(session).chain(headers.iter().copied()).collect();
        let answer = send(&client.address, verb, &headers, body.as_bytes()).await;
        let seen = if expected.starts_with("progress") { progress(&answer) } else { shown(&answer) };
        assert_eq!(seen, *expected, "{yaml}");
    }
}

#[tokio::test]
async fn listening_streams_get_what_is_not_theirs() {
    let client = opened(
        "[{ on: { verb: GET }, before: [first] }, { on: { method: ping }, answers: { also_on: listening } }, \
         { on: { verb: GET }, answers: { event_id: 1-0 } }]",
    )
    .await;
    let session = ("Mcp-Session-Id", client.session.as_str());
    let mut stream = open(&client.address, "GET", &[session, EVENTS], None).await;
    let mut seen = String::new();
    while !seen.contains("retry: ") {
        stream.read_line(&mut seen).await.unwrap();
    }
    assert!(seen.contains("data: first"), "{seen}");
    assert_eq!(client.ask(&json!(1), "ping", json!({})).await.body, PONG);
    while !seen.contains(PONG) {
        assert_ne!(stream.read_line(&mut seen).await.unwrap(), 0);
    }
    assert_eq!(seen.matches("id: 1-0\n").count(), 3, "{seen}");
}

#[tokio::test]
async fn session_ids_can_have_another_face() {
    let client = opened(
        "[{ on: { method: initialize }, answers: { headers: { Mcp-Session-Id: 'my {{ answer_headers[\"mcp-session-id\"] }}' } } }, \
         { on: { header: Mcp-Session-Id }, hears: { headers: { Mcp-Session-Id: '{{ headers[\"mcp-session-id\"][3:] }}' } } }]",
    )
    .await;
    assert!(client.session.starts_with("my "));
    assert_eq!(client.ask(&json!(1), "ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_fault_can_end_the_server() {
    let fatal = || DemoFault::at_edge(faults("{ on: { method: ping }, hears: nothing, answers: end }"));
    let (client, server) = duplex(1024);
    let (reader, writer) = split(server);
    let serving = tokio::spawn(serve_with(Settings::default(), fatal(), reader, writer));
    let (_reader, mut writer) = split(client);
    writer.write_all(format!("{PING}\n").as_bytes()).await.unwrap();
    assert!(matches!(serving.await.unwrap(), Err(ServeError::FellOver)));
    let (address, serving) = serve(bound().await.with(Settings::default(), &fatal()).unwrap());
    let mut stream = open(&address, "POST", &TYPES, Some(PING.len())).await;
    stream.write_all(PING.as_bytes()).await.unwrap();
    assert!(matches!(serving.await.unwrap(), Err(ServeError::FellOver)));
}

#[test]
fn mistakes_are_told_together() {
    let check = |yaml: &str, expected: &[&str]| {
        let codes: Vec<_> = read(yaml).unwrap_err().iter().map(|mistake| mistake.code).collect();
        assert_eq!(codes, expected, "{yaml}");
    };
    check("[]", &["empty-list"]);
    check("- on: { method: ping }", &["missing-key"]);
    check("- answer: {}\n- hear: nothing", &["unknown-key", "unknown-key"]);
    check("answers: { set: { a..b: 1 }, status: 99 }", &["bad-path", "bad-number"]);
    check("answers: { result: {}, error: {} }", &["two-ways"]);
    check("{ on: { status: 200 }, hears: nothing, answers: end }", &["useless-key"]);
    check(
        "{ on: { with: { id: '/(/' }, nth: 0 }, before: ['{{ nope }} {{ id', '{{ idd }}'] }",
        &["bad-number", "bad-regex", "bad-template", "unknown-name"],
    );
    check("{ on: { kind: reply, verb: 1 }, answers: gone }", &["unknown-choice", "wrong-type", "unknown-choice"]);
}

fn read(yaml: &str) -> Result<Vec<Fault>, Vec<crate::source::Diagnostic>> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("faults.yml", yaml));
    fault::load(&sources, source)
}

fn faults(yaml: &str) -> Vec<Fault> {
    read(yaml).unwrap_or_else(|mistakes| panic!("{yaml}: {mistakes:?}"))
}

/// Every line that comes from a server with faults, until its end.
async fn converse(yaml: &str, sent: &[&str]) -> Vec<String> {
    let (client, server) = duplex(64 * 1024);
    let (reader, writer) = split(server);
    let fault = DemoFault::at_edge(faults(yaml));
    let serving = tokio::spawn(serve_with(Settings::default(), fault, reader, writer));
    let (mut reader, mut writer) = split(client);
    for line in sent {
        writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    writer.shutdown().await.unwrap();
    let mut seen = Vec::new();
    reader.read_to_end(&mut seen).await.unwrap();
    serving.await.unwrap().unwrap();
    String::from_utf8_lossy(&seen).lines().map(str::to_owned).collect()
}

/// A session with a server that has faults.
async fn opened(yaml: &str) -> Client {
    let fault = DemoFault::at_edge(faults(yaml));
    let bound = bound().await.with(Settings::default(), &fault).unwrap();
    Client::at(serve(bound).0, Era::Legacy, "2025-11-25").await
}

fn shown(answer: &Answer) -> String {
    format!("{} {} {}", answer.status, answer.header("content-type").unwrap_or("-"), answer.body)
}

/// How far the events of a stream say that the work is.
fn progress(answer: &Answer) -> String {
    let steps = answer.events().into_iter().filter_map(|event| event["params"]["progress"].as_f64());
    steps.fold("progress".to_owned(), |seen, step| format!("{seen} {step}"))
}
