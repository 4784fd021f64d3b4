use serde_json::{Value, json};

use super::client::Era;
use super::peer::{ERAS, Peer};

#[tokio::test(start_paused = true)]
async fn lists_are_complete_sorted_and_cacheable() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for (method, key, names) in [
            (
                "tools/list",
                "tools",
                "add create_user delete_user echo export_users get_user list_users search_users update_user",
            ),
            ("prompts/list", "prompts", "welcome_user"),
            ("resources/list", "resources", "all_users"),
            ("resources/templates/list", "resourceTemplates", "user"),
        ] {
            let result = peer.result(method, json!({})).await;
            let listed: Vec<_> =
                result[key].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
            assert_eq!(listed.join(" "), names);
            assert_eq!(result.get("nextCursor"), None);
            assert_eq!(result["ttlMs"].is_u64(), era == Era::Modern, "{result}");
            assert_eq!(result["cacheScope"] == "public", era == Era::Modern, "{result}");
            assert_eq!(peer.error(method, json!({ "cursor": "x" })).await.0, -32602);
            assert_eq!(peer.result(method, json!({})).await, result);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tools_are_fully_declared() {
    let mut peer = Peer::open(Era::Modern).await;
    let list = peer.result("tools/list", json!({})).await;
    for tool in list["tools"].as_array().unwrap() {
        let description = tool["description"].as_str().unwrap();
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            jsonschema::meta::validate(schema).unwrap();
            assert_eq!(schema["type"], "object");
            assert_eq!(schema["additionalProperties"], false);
            for rule in schema["properties"].as_object().unwrap().values() {
                assert!(rule["description"].is_string(), "{rule}");
                let checker = jsonschema::validator_for(rule).unwrap();
                let examples = rule["examples"].as_array().into_iter().flatten();
                assert!(examples.chain(rule.get("default")).all(|example| checker.is_valid(example)), "{rule}");
            }
        }
        for parameter in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            assert!(description.contains(&format!("`{parameter}`")), "{parameter}: {description}");
        }
        assert!(tool["title"].is_string());
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resources_show_the_users() {
    for (era, not_found) in [(Era::Legacy, -32002), (Era::Modern, -32602)] {
        let mut peer = Peer::open(era).await;
        let ann = peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com", "age": 36 })).await;
        for (uri, expected) in [("users://all", json!([ann])), ("users://u1", ann.clone())] {
            let result = peer.result("resources/read", json!({ "uri": uri })).await;
            let contents = &result["contents"][0];
            assert_eq!(contents["uri"], uri);
            assert_eq!(contents["mimeType"], "application/json");
            assert_eq!(serde_json::from_str::<Value>(contents["text"].as_str().unwrap()).unwrap(), expected);
            assert_eq!(result["ttlMs"] == 0, era == Era::Modern);
        }
        for uri in ["users://u2", "users://", "users://u1/", "file:///etc/passwd", "", "users://../u1", "Users://all"] {
            let error = peer.request("resources/read", json!({ "uri": uri })).await["error"].take();
            assert_eq!(error["code"], not_found, "{uri}");
            assert_eq!(error["data"]["uri"], uri);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn prompts_are_filled_in() {
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        let arguments = json!({ "name": "Ann {{x}}", "tone": "formal" });
        let result = peer.result("prompts/get", json!({ "name": "welcome_user", "arguments": arguments })).await;
        assert_eq!(result["messages"][0]["role"], "user");
        let text = result["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("Ann {{x}}") && text.contains("formal"), "{text}");
        for (name, arguments, named) in [
            ("welcome_user", json!({}), "`name`"),
            ("welcome_user", json!({ "name": 5 }), "`5`"),
            ("welcome_user", json!({ "name": "Ann", "tone": "rude" }), "`rude`"),
            ("welcome_user", json!({ "name": "Ann", "zz": "1" }), "`zz`"),
            ("nope", json!({}), "`nope`"),
        ] {
            let (code, message) = peer.error("prompts/get", json!({ "name": name, "arguments": arguments })).await;
            assert_eq!(code, -32602);
            assert!(message.contains(named), "{message}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_are_completed() {
    let prompt = json!({ "type": "ref/prompt", "name": "welcome_user" });
    let template = json!({ "type": "ref/resource", "uri": "users://{id}" });
    for era in ERAS {
        let mut peer = Peer::open(era).await;
        for _ in 0..101 {
            peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com" })).await;
        }
        for (reference, argument, value, values, total) in [
            (&prompt, "tone", "f", 2, 2),
            (&prompt, "tone", "", 3, 3),
            (&prompt, "name", "A", 0, 0),
            (&template, "id", "u10", 3, 3),
            (&template, "id", "", 100, 101),
        ] {
            let params = json!({ "ref": reference, "argument": { "name": argument, "value": value } });
            let completion = peer.result("completion/complete", params).await["completion"].take();
            assert_eq!(completion["values"].as_array().unwrap().len(), values);
            assert_eq!(completion["total"], total);
            assert_eq!(completion["hasMore"], total > 100);
        }
        let other = json!({ "type": "ref/prompt", "name": "nope" });
        let file = json!({ "type": "ref/resource", "uri": "file:///{path}" });
        for (reference, argument) in [(&prompt, "zz"), (&template, "zz"), (&other, "tone"), (&file, "id")] {
            let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
            assert_eq!(peer.error("completion/complete", params).await.0, -32602);
        }
    }
}
