use serde_json::{Value, json};

use super::client::{Era, meta};
use super::peer::{ERAS, Peer};

#[tokio::test(start_paused = true)]
async fn initialize_echoes_every_legacy_revision_and_offers_the_newest_otherwise() {
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let result = Peer::connect(Era::Legacy).initialize(asked).await["result"].take();
        assert_eq!(result["protocolVersion"], given);
        assert_eq!(result["serverInfo"]["name"], "mcprove-demo");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["instructions"].is_string());
        let capabilities = json!({ "completions": {}, "prompts": {}, "resources": {}, "tools": {} });
        assert_eq!(result["capabilities"], capabilities);
    }
}

#[tokio::test(start_paused = true)]
async fn discover_tells_what_initialize_tells() {
    let mut peer = Peer::open(Era::Modern).await;
    let result = peer.result("server/discover", json!({})).await;
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["cacheScope"], "public");
    assert!(result["ttlMs"].as_u64().unwrap() > 0);
    let opened = Peer::connect(Era::Legacy).initialize("2025-11-25").await["result"].take();
    assert_eq!(result["capabilities"], opened["capabilities"]);
    assert_eq!(result["instructions"], opened["instructions"]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_revision_in_a_request_is_refused_with_the_known_ones() {
    for version in ["1999-01-01", "2025-11-25", "2099-01-01"] {
        let mut peer = Peer::open(Era::Modern).await;
        let named = json!({ "io.modelcontextprotocol/protocolVersion": version });
        let error = peer.request("tools/list", json!({ "_meta": named })).await["error"].take();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"], json!({ "requested": version, "supported": ["2026-07-28"] }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_no_era_is_refused_until_a_session_is_open() {
    let mut peer = Peer::connect(Era::Legacy);
    peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    peer.line(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await;
    assert_eq!(peer.result("ping", json!({})).await, json!({}));
    let (code, message) = peer.error("tools/list", json!({})).await;
    assert_eq!(code, -32602);
    assert!(message.contains("`initialize`"), "{message}");
    assert_eq!(peer.error("server/discover", json!({})).await.0, -32602);
    peer.initialize("2025-11-25").await;
    peer.result("tools/list", json!({})).await;
    let again = peer.initialize("2025-11-25").await;
    assert_eq!(again["error"]["code"], -32600);
    peer.result("tools/list", json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn every_field_of_the_metadata_is_asked_for() {
    for missing in ["protocolVersion", "clientCapabilities"] {
        let mut peer = Peer::connect(Era::Legacy);
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{missing}"));
        let (code, message) = peer.error("tools/list", json!({ "_meta": meta })).await;
        assert_eq!(code, -32602);
        assert!(message.contains(missing), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn both_eras_share_one_connection() {
    let mut peer = Peer::connect(Era::Legacy);
    peer.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } })).await;
    assert_eq!(peer.receive().await["result"]["resultType"], "complete");
    peer.initialize("2025-06-18").await;
    peer.result("tools/list", json!({})).await;
    peer.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping", "params": { "_meta": meta() } })).await;
    assert_eq!(peer.receive().await["error"]["code"], -32601);
    peer.result("ping", json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_behind_initialize_without_waiting_is_served_in_order() {
    let mut peer = Peer::connect(Era::Legacy);
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    peer.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    peer.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })).await;
    let answers = peer.close().await;
    assert_eq!(answers.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [1, 2]);
    assert!(answers[1]["result"]["tools"].is_array());
}

#[tokio::test(start_paused = true)]
async fn methods_that_are_not_offered_are_unknown() {
    let gone = ["ping", "initialize", "resources/subscribe", "resources/unsubscribe"];
    let never = ["nope", "logging/setLevel", "tasks/list", "tasks/get", "skills/list", "tools/Call"];
    let client = json!({ "name": "raw", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client, "uri": "users://all",
    });
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let unknown = if era == Era::Modern { gone.iter().chain(&never) } else { never.iter().chain(&[]) };
        for method in unknown {
            let (code, message) = peer.error(method, params.clone()).await;
            assert_eq!(code, -32601, "{method}");
            assert!(message.contains(&format!("`{method}`")), "{message}");
        }
    }
    let mut peer = Peer::open(Era::Legacy).await;
    assert_eq!(peer.error("resources/subscribe", json!({ "uri": "users://all" })).await.0, -32601);
    assert_eq!(peer.error("subscriptions/listen", json!({ "notifications": {} })).await.0, -32601);
}

#[tokio::test(start_paused = true)]
async fn ids_come_back_as_they_were_sent() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let uuid = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d";
        for id in [json!(0), json!(-7), json!(i64::MAX), json!("7"), json!(""), json!(uuid), json!("ü\n")] {
            peer.start_as(&id, "tools/list", json!({})).await;
            assert_eq!(peer.receive().await["id"], id);
            peer.start_as(&id, "nope", json!({})).await;
            assert_eq!(peer.receive().await["id"], id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_acknowledged_and_stays_open_until_it_is_cancelled() {
    let mut peer = Peer::open(Era::Modern).await;
    peer.start_as(&json!("sub"), "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }))
        .await;
    let acknowledged = peer.receive().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
    peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com" })).await;
    peer.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}"#).await;
    assert_eq!(peer.close().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn every_conversation_starts_without_users() {
    for _ in 0..2 {
        let mut peer = Peer::open(Era::Legacy).await;
        let user = peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com" })).await;
        assert_eq!(user["id"], "u1");
    }
}
