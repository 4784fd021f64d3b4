//! Conversations with recorded servers.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::fault::{ClientMessage, ReplyContent, ServerReply};
use crate::prove::TargetRecording;
use crate::transport::Owner;

/// An exchange of a case in its n-th session, with the messages that came.
fn exchange(case: &str, session: u32, sent: (&str, Value), replies: &[Value]) -> MessageExchange {
    let (method, params) = sent;
    let sent = ClientMessage::Message { id: Some(json!(7)), method: method.to_owned(), params };
    let owner = if case.is_empty() { Owner::Session } else { Owner::of_case(case) };
    let reply = |message: &Value| ServerReply {
        after: Duration::from_secs(9),
        content: ReplyContent::Message(message.clone()),
        http: None,
    };
    MessageExchange { owner, session, occurrence: 0, sent, replies: replies.iter().map(reply).collect() }
}

fn answer(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "result": text})
}

fn call(tool: &str, arguments: Value) -> (&str, Value) {
    let mut params = json!({"name": tool, "_meta": {"progressToken": 7}});
    params["arguments"] = arguments;
    ("tools/call", params)
}

fn started(version: &str) -> (&'static str, Value) {
    ("initialize", json!({"protocolVersion": version, "clientInfo": {"name": "recorded"}}))
}

fn recording(of: &[(&str, &str, Vec<MessageExchange>)]) -> RunRecording {
    let targets = of.iter().map(|(file, server, exchanges)| {
        let (file, server) = ((*file).to_owned(), (*server).to_owned());
        let name = format!("{file}@{server}/auto");
        (name, TargetRecording { file, server, exchanges: exchanges.clone(), ..TargetRecording::default() })
    });
    RunRecording { targets: targets.collect(), ..RunRecording::default() }
}

fn server(exchanges: Vec<MessageExchange>) -> Arc<MockServer> {
    MockServer::new(recording(&[("a.yml", "s", exchanges)]), None).unwrap()
}

/// What is said to a request with the id 40.
fn said(conversation: &mut Conversation<()>, (method, params): (&str, Value)) -> Vec<Value> {
    let message = json!({"jsonrpc": "2.0", "id": 40, "method": method, "params": params});
    let replies = conversation.on_message(message.to_string().as_bytes(), ());
    replies.iter().filter_map(|said| said.reply.message().cloned()).collect()
}

fn result(conversation: &mut Conversation<()>, sent: (&str, Value)) -> String {
    let said = said(conversation, sent);
    let last = said.last().cloned().unwrap_or_default();
    let text = last["result"].as_str().or(last["error"]["message"].as_str());
    text.unwrap_or_default().to_owned()
}

#[test]
fn each_connection_tells_its_own_story() {
    // Two cases on servers of their own: in one of them, a user was made first.
    let (list, make, get) = (call("list", json!({})), call("make", json!({})), call("get", json!({"id": "u1"})));
    let story = || {
        server(vec![
            exchange("", 0, started("2025-11-25"), &[answer("2025-11-25")]),
            exchange("a", 0, list.clone(), &[answer("nobody")]),
            exchange("a", 0, make.clone(), &[answer("u1")]),
            exchange("a", 0, list.clone(), &[answer("u1")]),
            exchange("a", 0, get.clone(), &[answer("Ann")]),
            exchange("", 1, started("2025-11-25"), &[answer("2025-11-25")]),
            exchange("b", 0, get.clone(), &[answer("no such user")]),
            exchange("b", 0, list.clone(), &[answer("still nobody")]),
            exchange("", 2, started("2024-11-05"), &[answer("2024-11-05")]),
            exchange("c", 0, get.clone(), &[answer("an older answer")]),
        ])
    };
    let server = story();
    let newer = || started("2025-11-25");
    for (requests, expected) in [
        (
            vec![newer(), list.clone(), make.clone(), list.clone(), list.clone(), get.clone()],
            vec!["2025-11-25", "nobody", "u1", "u1", "u1", "Ann"],
        ),
        (vec![newer(), get.clone(), list.clone()], vec!["2025-11-25", "no such user", "still nobody"]),
        (vec![newer(), make.clone(), get.clone()], vec!["2025-11-25", "u1", "Ann"]),
        (vec![started("2024-11-05"), get.clone()], vec!["2024-11-05", "an older answer"]),
        // No other revision than those that were recorded.
        (vec![started("1999-01-01"), get.clone()], vec!["2025-11-25", "no such user"]),
    ] {
        let mut conversation = Conversation::new(Arc::clone(&server));
        let answers: Vec<String> = requests.into_iter().map(|sent| result(&mut conversation, sent)).collect();
        assert_eq!(answers, expected);
    }
    let mut conversation = Conversation::without_session(story());
    let answers: Vec<String> = (0..4).map(|_| result(&mut conversation, list.clone())).collect();
    assert_eq!(answers, ["nobody", "u1", "u1", "u1"]);
    // The next client begins as another connection did.
    let answers: Vec<String> = (0..3).map(|_| result(&mut conversation, get.clone())).collect();
    assert_eq!(answers, ["Ann", "no such user", "an older answer"]);
}

#[test]
fn a_request_is_the_same_whoever_makes_it() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let server = server(vec![
        exchange("a", 0, call("say", json!({"b": 1, "a": 2})), &[answer("session")]),
        exchange("a", 0, call("login", json!({"token": MASK})), &[answer("welcome")]),
        exchange("a", 0, ("tools/list", json!({})), &[answer("tools")]),
        exchange(
            "a",
            0,
            ("tools/call", json!({"name": "say", "arguments": {}, "_meta": meta})),
            &[answer("stateless")],
        ),
    ]);
    for (sent, expected) in [
        (("tools/call", json!({"arguments": {"a": 2, "b": 1}, "name": "say"})), "session"),
        (call("login", json!({"token": "s3cret"})), "welcome"),
        (("tools/list", Value::Null), "tools"),
        (
            (
                "tools/call",
                json!({"name": "say", "arguments": {}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "x": 1}}),
            ),
            "stateless",
        ),
        (
            call("say", json!({})),
            "mock: no recorded answer for tools/call say with these arguments; recorded for say: {\"b\":1,\"a\":2}, {}",
        ),
        (call("sing", json!({})), "mock: no recorded answer for tools/call sing; recorded for tools/call: say, login"),
        (("prompts/list", json!({})), "mock: no recorded answer for prompts/list; recorded: tools/call, tools/list"),
        (("ping", json!({})), ""),
        (
            call("\u{1b}[2J\n", json!({})),
            "mock: no recorded answer for tools/call \\u{1b}[2J\\u{a}; recorded for tools/call: say, login",
        ),
    ] {
        assert_eq!(result(&mut Conversation::new(Arc::clone(&server)), sent), expected);
    }
}

#[test]
fn the_ids_are_those_of_this_session() {
    let progress =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}});
    let question = json!({"jsonrpc": "2.0", "id": 3, "method": "elicitation/create", "params": {}});
    let late = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
    let server =
        server(vec![exchange("a", 0, call("ask", json!({})), &[progress, question.clone(), answer("done"), late])]);
    let mut conversation = Conversation::new(server);
    let first = said(&mut conversation, call("ask", json!({})));
    assert_eq!(first[0]["params"]["progressToken"], 40);
    // The answer waits for that of the client.
    assert_eq!(first[1..], [question]);
    assert!(conversation.on_message(br#"{"jsonrpc":"2.0","id":4,"result":{}}"#, ()).is_empty());
    let rest = conversation.on_message(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#, ());
    let ways: Vec<_> = rest.iter().map(|said| said.stream).collect();
    assert_eq!(ways, [ReplyStream::Request(()), ReplyStream::Listening]);
    assert_eq!(rest[0].reply.message().unwrap()["id"], 40);
}

#[test]
fn one_of_several_servers_is_named() {
    let of = |name: &str| vec![exchange("a", 0, call("who", json!({})), &[answer(name)])];
    let two = || recording(&[("a.yml", "s", of("s")), ("a.yml", "t", of("t"))]);
    let same = || recording(&[("a.yml", "s", of("first")), ("b.yml", "s", of("second"))]);
    for (recording, name, expected) in [
        (two(), Some("t"), Ok("t")),
        (two(), None, Err(vec!["s", "t"])),
        (two(), Some("u"), Err(vec!["s", "t"])),
        (same(), Some("b.yml@s"), Ok("second")),
        (same(), Some("s"), Err(vec!["a.yml@s", "b.yml@s"])),
        (RunRecording::default(), None, Err(vec![])),
    ] {
        let asked = |server| result(&mut Conversation::new(server), call("who", json!({})));
        let known = MockServer::new(recording, name).map(asked).map_err(|unclear| unclear.names);
        let expected = expected.map(str::to_owned).map_err(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(known, expected);
    }
}

#[test]
fn lines_are_answered_until_the_server_ends() {
    let mut dying = exchange("a", 0, call("die", json!({})), &[]);
    dying.replies = vec![
        ServerReply::now(ReplyContent::Stderr(b"oh no".to_vec()), None),
        ServerReply::now(ReplyContent::Torn(b"{\"js".to_vec()), None),
        ServerReply::now(ReplyContent::Ended(crate::fault::ServerEnd::Status(3)), None),
    ];
    let server = server(vec![exchange("a", 0, call("say", json!({})), &[answer("hello")]), dying]);
    let line = |id: u32, tool| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
    let check = |input: &str, end: LinesEnd, expected: &str, said: &str| {
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let end_seen = serve_lines(Arc::clone(&server), input.as_bytes(), &mut output, &mut errors).unwrap();
        assert_eq!((end_seen, String::from_utf8(output).unwrap().as_str()), (end, expected));
        assert_eq!(String::from_utf8(errors).unwrap(), said);
    };
    let hello = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"hello\"}\n";
    let died = LinesEnd::Ended(crate::fault::ServerEnd::Status(3));
    check(&format!("\n{}\n", line(1, "say")), LinesEnd::Closed, hello, "");
    check(&format!("{}\n{}\nmore\n", line(1, "say"), line(2, "die")), died, &format!("{hello}{{\"js"), "oh no\n");
    let refused = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"mock: no recorded answer for this message\"}}\n";
    check("{\n", LinesEnd::Closed, refused, "");
}
