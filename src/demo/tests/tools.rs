use serde_json::json;

use super::peer::{ERAS, Era, Peer};

#[tokio::test(start_paused = true)]
async fn users_live_through_all_tools() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let ann = peer
            .call(
                "create_user",
                json!({ "name": "Ann", "email": "ann@example.com", "age": 36.0 }),
            )
            .await;
        assert_eq!(
            ann,
            json!({ "id": "u1", "name": "Ann", "email": "ann@example.com", "age": 36 })
        );
        let bob = peer
            .call(
                "create_user",
                json!({ "name": "Bo\"b, ü\n", "email": "bob@example.com" }),
            )
            .await;
        assert_eq!(bob["id"], "u2");
        assert_eq!(peer.call("get_user", json!({ "id": "u1" })).await, ann);
        assert_eq!(
            peer.call("list_users", json!({})).await,
            json!({ "users": [ann, bob], "total": 2 })
        );
        assert_eq!(
            peer.call("list_users", json!({ "limit": 1 })).await,
            json!({ "users": [ann], "total": 2 })
        );
        assert_eq!(
            peer.call("search_users", json!({ "query": "ANN@" })).await,
            json!({ "users": [ann], "total": 1 })
        );
        assert_eq!(
            peer.call("search_users", json!({ "query": "zz" })).await["total"],
            0
        );
        let csv = peer.call("export_users", json!({ "format": "csv" })).await;
        let expected =
            "id,name,email,age\nu1,Ann,ann@example.com,36\nu2,\"Bo\"\"b, ü\n\",bob@example.com,\n";
        assert_eq!(
            csv,
            json!({ "format": "csv", "total": 2, "data": expected })
        );
        let export = peer.call("export_users", json!({ "format": "json" })).await;
        assert_eq!(export["data"], json!([ann, bob]).to_string());
        for _ in 0..2 {
            let changed = peer
                .call("update_user", json!({ "id": "u1", "email": "a@b" }))
                .await;
            assert_eq!(
                changed,
                json!({ "id": "u1", "name": "Ann", "email": "a@b", "age": 36 })
            );
        }
        assert_eq!(
            peer.call("delete_user", json!({ "id": "u1" })).await,
            json!({ "id": "u1", "deleted": true })
        );
        assert_eq!(peer.call("list_users", json!({})).await["total"], 1);
        let carl = peer
            .call("create_user", json!({ "name": "Carl", "email": "c@d" }))
            .await;
        assert_eq!(carl["id"], "u3");
    }
}

#[tokio::test(start_paused = true)]
async fn plain_tools_compute() {
    let mut peer = Peer::open(Era::Legacy).await;
    assert_eq!(
        peer.call("add", json!({ "a": 2, "b": 3 }))
            .await
            .to_string(),
        r#"{"sum":5}"#
    );
    assert_eq!(
        peer.call("add", json!({ "a": 0.5, "b": -3 })).await,
        json!({ "sum": -2.5 })
    );
    for message in ["", "hello", "ü😀\u{0}\u{1b}[31m{{x}}", &"x".repeat(100_000)] {
        assert_eq!(
            peer.call("echo", json!({ "message": message })).await,
            json!({ "message": message })
        );
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_explained() {
    let ann = |name: &str, email: &str| json!({ "name": name, "email": email });
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for (tool, arguments, named) in [
            (
                "create_user",
                json!({}),
                vec!["`name` is missing", "`email` is missing", "ann@example.com"],
            ),
            (
                "create_user",
                ann("", "a@b"),
                vec!["`name` is `\"\"`", "1 to 80 characters"],
            ),
            (
                "create_user",
                ann(&"x".repeat(81), "a@b"),
                vec!["`name` is `\"xxx", "…"],
            ),
            (
                "create_user",
                ann("Ann", "ann"),
                vec!["`email` is `\"ann\"`", "@"],
            ),
            ("create_user", ann("Ann", "a b@c"), vec!["`email`"]),
            (
                "create_user",
                json!({ "name": 5, "email": "a@b" }),
                vec!["`name` is `5`", "a string"],
            ),
            (
                "create_user",
                json!({ "name": "A", "email": "a@b", "age": 151 }),
                vec!["`age` is `151`", "0 to 150"],
            ),
            (
                "create_user",
                json!({ "name": "A", "email": "a@b", "age": 1.5 }),
                vec!["`age` is `1.5`", "an integer"],
            ),
            (
                "create_user",
                json!({ "name": "A", "email": "a@b", "age": null }),
                vec!["`age` is `null`", "left out"],
            ),
            (
                "create_user",
                json!({ "name": "A", "email": "a@b", "zz": 1 }),
                vec!["`zz`", "`1`", "`age`"],
            ),
            (
                "get_user",
                json!({ "id": "nope" }),
                vec!["`nope`", "`list_users`"],
            ),
            (
                "get_user",
                json!({ "id": 5 }),
                vec!["`id` is `5`", "a string"],
            ),
            (
                "delete_user",
                json!({ "id": "u9" }),
                vec!["`u9`", "`list_users`"],
            ),
            (
                "update_user",
                json!({ "id": "u9", "name": "A" }),
                vec!["`u9`", "`list_users`"],
            ),
            (
                "update_user",
                json!({ "id": "u9" }),
                vec!["`name`", "`email`"],
            ),
            (
                "list_users",
                json!({ "limit": 0 }),
                vec!["`limit` is `0`", "1 to 100"],
            ),
            (
                "list_users",
                json!({ "limit": 101 }),
                vec!["`limit` is `101`", "1 to 100"],
            ),
            (
                "add",
                json!({ "a": "2", "b": 3 }),
                vec!["`a` is `\"2\"`", "a number", "`2`"],
            ),
            (
                "add",
                json!({ "a": 1e300, "b": 3 }),
                vec!["`a` is `1e+300`"],
            ),
            ("echo", json!({}), vec!["`message` is missing"]),
            (
                "export_users",
                json!({ "format": "xml" }),
                vec!["`format` is `\"xml\"`", "`\"csv\"`"],
            ),
            (
                "export_users",
                json!({ "format": "csv", "delay_ms": 10001 }),
                vec!["`delay_ms` is `10001`"],
            ),
            (
                "export_users",
                json!({ "format": "csv", "steps": 0 }),
                vec!["`steps` is `0`", "1 to 20"],
            ),
            (
                "search_users",
                json!({ "query": "" }),
                vec!["`query`", "1 to 100"],
            ),
        ] {
            let message = peer.refusal(tool, arguments).await;
            assert!(
                named.iter().all(|name| message.contains(name)),
                "{named:?}: {message}"
            );
        }
        assert_eq!(peer.call("list_users", json!({})).await["total"], 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for tool in ["nope", "", "Get_user", "get_user "] {
            let (code, message) = peer
                .error("tools/call", json!({ "name": tool, "arguments": {} }))
                .await;
            assert_eq!(code, -32602);
            assert!(message.contains(&format!("`{tool}`")), "{message}");
        }
    }
}
