use serde_json::{Value, json};

use super::client::Era;
use super::peer::{ERAS, Peer};

/// Sends `line`, expects an error with this code and id, and that the server lives on.
async fn refused(peer: &mut Peer, line: &[u8], code: i64, id: Option<Value>) {
    let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
    peer.line(line).await;
    let answer = peer.receive().await;
    assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    assert_eq!(answer.get("id"), id.as_ref(), "{shown}: {answer}");
    peer.result("tools/list", json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn broken_lines_are_answered_and_survived() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let deep = "[".repeat(100_000);
        for line in ["{", "hello", "{\"a\":1}{\"b\":2}", "'", deep.as_str(), "{\"jsonrpc\":\"2.0\",\"id\":1,"] {
            refused(&mut peer, line.as_bytes(), -32700, None).await;
        }
        refused(&mut peer, b"{\"jsonrpc\":\"2.0\",\"id\":\"\xFF\",\"method\":\"ping\"}", -32700, None).await;
        for line in ["5", "null", "\"x\"", "[]", "[{}]", "{}", r#"{"jsonrpc":"2.0","method":5}"#] {
            refused(&mut peer, line.as_bytes(), -32600, None).await;
        }
        for (line, id) in [
            (r#"{"id":1,"method":"tools/list"}"#, Some(json!(1))),
            (r#"{"jsonrpc":"1.0","id":"a","method":"tools/list"}"#, Some(json!("a"))),
            (r#"{"jsonrpc":"2.0","id":"a"}"#, Some(json!("a"))),
            (r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","result":{}}"#, Some(json!("a"))),
            (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, None),
            (r#"{"jsonrpc":"2.0","id":true,"method":"tools/list"}"#, None),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, Some(json!(u64::MAX))),
        ] {
            refused(&mut peer, line.as_bytes(), -32600, id).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn parameters_of_the_wrong_shape_are_named() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for (method, params, named) in [
            ("tools/call", json!({}), "name"),
            ("tools/call", json!({ "name": 5 }), "5"),
            ("tools/call", json!({ "name": "echo", "arguments": [] }), "sequence"),
            ("tools/call", json!({ "name": "echo", "arguments": "x" }), "x"),
            ("tools/list", json!({ "cursor": 5 }), "5"),
            ("resources/read", json!({}), "uri"),
            ("prompts/get", json!({}), "name"),
            ("completion/complete", json!({}), "ref"),
        ] {
            let (code, message) = peer.error(method, params).await;
            assert_eq!(code, -32602, "{method}");
            assert!(message.contains(named) && message.contains(method), "{message}");
        }
        for params in ["[1]", "5", "\"x\"", "null"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"p","method":"tools/list","params":{params}}}"#);
            refused(&mut peer, line.as_bytes(), -32602, Some(json!("p"))).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_and_answers_are_never_answered() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/nope"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}"#,
            r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
            r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}"#,
            "",
            "   ",
            "\r",
        ] {
            peer.line(line).await;
        }
        peer.result("tools/list", json!({})).await;
        assert_eq!(peer.close().await, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn lines_may_end_in_crlf_and_be_huge() {
    let mut peer = Peer::open(Era::Legacy).await;
    peer.line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r").await;
    assert_eq!(peer.receive().await["id"], 1);
    let message = "x".repeat(1024 * 1024);
    assert_eq!(peer.call("echo", json!({ "message": message })).await["message"], message);
    let id = "x".repeat(16 * 1024 * 1024);
    assert!(peer.refusal("get_user", json!({ "id": id })).await.contains("`id`"));
    peer.line("x".repeat(32 * 1024 * 1024)).await;
    assert_eq!(peer.receive().await["error"]["code"], -32600);
    peer.result("ping", json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn an_unread_id_is_null_where_json_rpc_says_so() {
    for (revision, id) in [("2024-11-05", Some(Value::Null)), ("2025-06-18", Some(Value::Null)), ("2025-11-25", None)] {
        let mut peer = Peer::open_revision(Era::Legacy, revision).await;
        refused(&mut peer, b"{", -32700, id).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_revision_has_batches() {
    let mut peer = Peer::open_revision(Era::Legacy, "2025-03-26").await;
    let slow = json!({ "name": "export_users", "arguments": { "format": "csv", "delay_ms": 1000 } });
    peer.send(&json!([
        { "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": slow },
        { "jsonrpc": "2.0", "id": "2", "method": "nope" },
        { "jsonrpc": "2.0", "id": 103, "method": "tools/call", "params": slow },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 103 } },
        5,
    ]))
    .await;
    peer.result("ping", json!({})).await;
    let answers = peer.receive().await;
    let outcome = |answer: &Value| (answer["id"].to_string(), answer["error"]["code"].as_i64());
    let mut outcomes: Vec<_> = answers.as_array().unwrap().iter().map(outcome).collect();
    outcomes.sort();
    let expected = [("\"2\"".into(), Some(-32601)), ("101".into(), None), ("null".into(), Some(-32600))];
    assert_eq!(outcomes, expected);
    peer.line(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#).await;
    refused(&mut peer, b"[]", -32600, Some(Value::Null)).await;
    refused(&mut peer, b"{", -32700, Some(Value::Null)).await;
    assert_eq!(peer.close().await, Vec::<Value>::new());
}
