use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::client::Era;
use super::peer::{ERAS, Peer};

fn export(delay: u64, token: Option<Value>) -> Value {
    let arguments = json!({ "format": "json", "delay_ms": delay, "steps": 4 });
    let mut params = json!({ "name": "export_users", "arguments": arguments });
    if let Some(token) = token {
        params["_meta"] = json!({ "progressToken": token });
    }
    params
}

#[tokio::test(start_paused = true)]
async fn progress_goes_to_those_who_ask() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for (delay, token) in [(1000, json!("t")), (1000, json!(7)), (0, json!("t"))] {
            let start = Instant::now();
            let id = peer.start("tools/call", export(delay, Some(token.clone()))).await;
            for step in 1..=4 {
                let progress = peer.receive().await;
                assert_eq!(progress["method"], "notifications/progress");
                assert_eq!(progress.get("id"), None);
                assert_eq!(
                    progress["params"],
                    json!({ "progressToken": token, "progress": f64::from(step), "total": 4.0 })
                );
            }
            let answer = peer.receive().await;
            assert_eq!(answer["id"], id);
            peer.check_output("export_users", &answer["result"]).await;
            assert_eq!(start.elapsed().as_millis(), u128::from(delay));
        }
        assert_eq!(peer.result("tools/call", export(1000, None)).await["isError"], false);
        assert_eq!(peer.close().await, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_not_answered_and_stops() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let id = peer.start("tools/call", export(8000, Some(json!("t")))).await;
        assert_eq!(peer.receive().await["params"]["progress"], 1.0);
        peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
            .await;
        for other in [json!(id), json!(999), json!("x"), json!(null), json!({})] {
            peer.send(
                &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": other } }),
            )
            .await;
        }
        assert_eq!(peer.call("add", json!({ "a": 1, "b": 1 })).await["sum"], 2);
        advance(Duration::from_secs(20)).await;
        assert_eq!(peer.call("add", json!({ "a": 1, "b": 2 })).await["sum"], 3);
        assert_eq!(peer.close().await, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_holds_nothing_up() {
    let mut peer = Peer::open(Era::Legacy).await;
    let start = Instant::now();
    let slow = peer.start("tools/call", export(5000, None)).await;
    peer.result("ping", json!({})).await;
    assert_eq!(peer.call("add", json!({ "a": 1, "b": 1 })).await["sum"], 2);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(peer.receive().await["id"], slow);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_ends_slow_work() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let start = Instant::now();
        let id = peer.start("tools/call", export(10_000, None)).await;
        let fast = peer.start("tools/call", json!({ "name": "echo", "arguments": { "message": "x" } })).await;
        let answers = peer.close().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        let ids: BTreeSet<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, BTreeSet::from([id, fast]));
    }
}

#[tokio::test(start_paused = true)]
async fn pipelined_calls_are_answered_once_each() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for number in 0..200 {
            let arguments = json!({ "name": format!("N{number}"), "email": "a@b" });
            let params = json!({ "name": "create_user", "arguments": arguments });
            peer.start_as(&json!(format!("c{number}")), "tools/call", params).await;
        }
        let mut names = BTreeSet::new();
        for _ in 0..200 {
            let answer = peer.receive().await;
            let user = &answer["result"]["structuredContent"];
            let number: u64 = user["name"].as_str().unwrap()[1..].parse().unwrap();
            assert_eq!(answer["id"], format!("c{number}"));
            assert_eq!(user["id"], format!("u{}", number + 1));
            names.insert(number);
        }
        assert_eq!(names.len(), 200);
        assert_eq!(peer.call("list_users", json!({})).await["total"], 200);
        assert_eq!(peer.close().await, Vec::<Value>::new());
    }
}
