use serde_json::json;

use super::client::Era;
use super::peer::{ERAS, Peer};

#[tokio::test(start_paused = true)]
async fn users_live_through_all_tools() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let ann = peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com", "age": 36.0 })).await;
        assert_eq!(ann, json!({ "id": "u1", "name": "Ann", "email": "ann@example.com", "age": 36 }));
        let bob = peer.call("create_user", json!({ "name": "Bo\"b, ü\n", "email": "bob@example.com" })).await;
        assert_eq!(bob["id"], "u2");
        assert_eq!(peer.call("get_user", json!({ "id": "u1" })).await, ann);
        assert_eq!(peer.call("list_users", json!({})).await, json!({ "users": [ann, bob], "total": 2 }));
        assert_eq!(peer.call("list_users", json!({ "limit": 1 })).await, json!({ "users": [ann], "total": 2 }));
        assert_eq!(peer.call("search_users", json!({ "query": "ANN@" })).await, json!({ "users": [ann], "total": 1 }));
        assert_eq!(peer.call("search_users", json!({ "query": "zz" })).await["total"], 0);
        let csv = peer.call("export_users", json!({ "format": "csv" })).await;
        let expected = "id,name,email,age\nu1,Ann,ann@example.com,36\nu2,\"Bo\"\"b, ü\n\",bob@example.com,\n";
        assert_eq!(csv, json!({ "format": "csv", "total": 2, "data": expected }));
        let export = peer.call("export_users", json!({ "format": "json" })).await;
        assert_eq!(export["data"], json!([ann, bob]).to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn users_can_be_changed_and_deleted() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com", "age": 36 })).await;
        for _ in 0..2 {
            let changed = peer.call("update_user", json!({ "id": "u1", "email": "a@b" })).await;
            assert_eq!(changed, json!({ "id": "u1", "name": "Ann", "email": "a@b", "age": 36 }));
        }
        assert_eq!(peer.call("delete_user", json!({ "id": "u1" })).await, json!({ "id": "u1", "deleted": true }));
        assert_eq!(peer.call("list_users", json!({})).await["total"], 0);
        let carl = peer.call("create_user", json!({ "name": "Carl", "email": "c@d" })).await;
        assert_eq!(carl["id"], "u2");
    }
}

#[tokio::test(start_paused = true)]
async fn plain_tools_compute() {
    let mut peer = Peer::open(Era::Legacy).await;
    assert_eq!(peer.call("add", json!({ "a": 2, "b": 3 })).await.to_string(), r#"{"sum":5}"#);
    assert_eq!(peer.call("add", json!({ "a": 0.5, "b": -3 })).await, json!({ "sum": -2.5 }));
    for message in ["", "hello", "ü😀\u{0}\u{1b}[31m{{x}}", &"x".repeat(100_000)] {
        assert_eq!(peer.call("echo", json!({ "message": message })).await, json!({ "message": message }));
    }
}

/// Holds every call in `refusals.txt` to the message below it.
#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_explained() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for block in include_str!("refusals.txt").split("\n\n") {
            let (call, expected) = block.split_once('\n').unwrap();
            let (tool, arguments) = call.split_once(' ').unwrap();
            let message = peer.refusal(tool, serde_json::from_str(arguments).unwrap()).await;
            assert_eq!(message, expected.trim_end(), "{call}");
        }
        assert_eq!(peer.call("list_users", json!({})).await["total"], 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for tool in ["nope", "", "Get_user", "get_user "] {
            let (code, message) = peer.error("tools/call", json!({ "name": tool, "arguments": {} })).await;
            assert_eq!(code, -32602);
            assert!(message.contains(&format!("`{tool}`")), "{message}");
        }
    }
}
