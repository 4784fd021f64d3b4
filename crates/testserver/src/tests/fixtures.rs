//! What `--conformance-fixtures` adds: one story in both eras, states that are held to, and news of changes.

use serde_json::{Map, Value, json};

use super::client::Era;
use super::peer::{ERAS, Peer};
use crate::Settings;

/// What a client declares that answers everything.
fn capabilities() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

/// A client of the server with its fixtures.
async fn open(era: Era) -> Peer {
    let mut peer = Peer::connect_to(era, Settings { conformance_fixtures: true, ..Settings::default() });
    if era == Era::Legacy {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities(), "clientInfo": { "name": "raw", "version": "1" },
        });
        peer.send(&json!({ "jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params })).await;
        assert_eq!(peer.receive().await["result"]["protocolVersion"], "2025-11-25");
    }
    peer
}

/// What this client answers.
pub(crate) fn reply(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "elicitation/create" => {
            let fields = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
            let content: Map<String, Value> = fields.iter().map(|(name, field)| (name.clone(), fill(field))).collect();
            json!({ "action": "accept", "content": content })
        }
        "sampling/createMessage" => json!({
            "role": "assistant", "content": { "type": "text", "text": "Paris" }, "model": "m", "stopReason": "endTurn",
        }),
        "roots/list" => json!({ "roots": [{ "uri": "file:///r", "name": "r" }] }),
        method => panic!("no server may ask for {method}"),
    }
}

fn fill(field: &Value) -> Value {
    match field["type"].as_str().unwrap() {
        _ if field.get("default").is_some() => field["default"].clone(),
        "string" => [&field["enum"][0], &field["oneOf"][0]["const"]]
            .into_iter()
            .find(|value| value.is_string())
            .cloned()
            .unwrap_or(json!("Ann")),
        "array" => {
            let items = &field["items"];
            json!([items["enum"].get(0).unwrap_or(&items["anyOf"][0]["const"])])
        }
        "boolean" => json!(true),
        kind => panic!("no form has a field of the type {kind}"),
    }
}

/// Makes a request and answers what the server asks for, as the era has it; the result, and how often it asked.
async fn talk(peer: &mut Peer, era: Era, method: &str, params: &Value) -> (Value, usize) {
    let mut asked = 0;
    let mut round = params.clone();
    if era == Era::Modern {
        round["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities() });
    }
    let id = peer.start(method, round.clone()).await;
    loop {
        let message = peer.receive().await;
        if message.get("method").is_some() {
            asked += 1;
            peer.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": reply(&message) })).await;
        } else if message["result"]["resultType"] == "input_required" {
            let questions = message["result"]["inputRequests"].as_object().unwrap();
            asked += questions.len();
            round["inputResponses"] =
                questions.iter().map(|(name, question)| (name.clone(), reply(question))).collect();
            round["requestState"] = message["result"]["requestState"].clone();
            peer.start(method, round.clone()).await;
        } else {
            assert!(era == Era::Modern || message["id"] == id, "{message}");
            return (message["result"].clone(), asked);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_story_is_the_same_in_both_eras() {
    let enums = "Elicitation completed: action=accept, content={\"untitledSingle\":\"option1\",\"titledSingle\":\"value1\",\
        \"legacyEnum\":\"opt1\",\"untitledMulti\":[\"option1\"],\"titledMulti\":[\"value1\"]}";
    let cases = [
        ("test_sampling", json!({ "prompt": "?" }), 1, "LLM response: Paris"),
        (
            "test_elicitation",
            json!({ "message": "!" }),
            1,
            "User response: action=accept, content={\"username\":\"Ann\",\"email\":\"Ann\"}",
        ),
        (
            "test_elicitation_sep1034_defaults",
            json!({}),
            1,
            "Elicitation completed: action=accept, content={\"name\":\"John Doe\",\"age\":30,\"score\":95.5,\
                \"status\":\"active\",\"verified\":true}",
        ),
        ("test_elicitation_sep1330_enums", json!({}), 1, enums),
        ("test_streaming_elicitation", json!({}), 1, "state-ok: the user confirms"),
        ("test_missing_capability", json!({}), 1, "Paris"),
        ("test_input_required_result_elicitation", json!({}), 1, "Hello, Ann!"),
        ("test_input_required_result_sampling", json!({}), 1, "Paris"),
        ("test_input_required_result_list_roots", json!({}), 1, "The client's roots: file:///r"),
        ("test_input_required_result_request_state", json!({}), 1, "state-ok: the user confirms"),
        ("test_input_required_result_tampered_state", json!({}), 1, "state-ok: the user confirms"),
        ("test_input_required_result_multiple_inputs", json!({}), 3, "For Ann: Paris (file:///r)"),
        ("test_input_required_result_multi_round", json!({}), 2, "Ann likes Ann"),
        ("test_input_required_result_capabilities", json!({}), 3, "Nothing more can be asked."),
    ];
    for era in ERAS {
        let mut peer = open(era).await;
        for (tool, arguments, questions, text) in &cases {
            let params = json!({ "name": tool, "arguments": arguments });
            let (result, asked) = talk(&mut peer, era, "tools/call", &params).await;
            let seen = (result["content"][0]["text"].as_str(), result["isError"].as_bool(), asked);
            assert_eq!(seen, (Some(*text), Some(false), *questions), "{tool} in {era:?}: {result}");
        }
        let params = json!({ "name": "test_input_required_result_prompt" });
        let (result, asked) = talk(&mut peer, era, "prompts/get", &params).await;
        assert_eq!((result["messages"][0]["content"]["text"].as_str(), asked), (Some("Use this context: Ann"), 1));
        assert_eq!(peer.close().await, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_taken_back() {
    let mut peer = open(Era::Legacy).await;
    let call = peer.start("tools/call", json!({ "name": "test_sampling", "arguments": { "prompt": "?" } })).await;
    let question = peer.receive().await;
    let taken_back = peer.receive().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    let answer = peer.receive().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(call), &json!(true)));
}

/// The result or the error of a call in 2026-07-28.
async fn call(peer: &mut Peer, tool: &str, more: Value) -> Value {
    let mut params = json!({ "name": tool, "_meta": { "io.modelcontextprotocol/clientCapabilities": capabilities() } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    peer.start("tools/call", params).await;
    let answer = peer.receive().await;
    answer.get("result").unwrap_or(&answer["error"]).clone()
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_for_the_request_that_was_given_it() {
    let mut peer = open(Era::Modern).await;
    let tool = "test_input_required_result_request_state";
    let asked = call(&mut peer, tool, json!({})).await;
    let state = asked["requestState"].as_str().unwrap();
    let answers = json!({ "confirm": { "action": "accept", "content": { "ok": true } } });
    let whole = json!({ "inputResponses": answers, "requestState": state });
    assert_eq!(call(&mut peer, tool, whole.clone()).await["resultType"], "complete");
    assert_eq!(call(&mut peer, "test_input_required_result_tampered_state", whole).await["code"], -32602);
    let changed = json!({ "inputResponses": answers, "requestState": format!("{state}x") });
    assert_eq!(call(&mut peer, tool, changed).await["code"], -32602);
    let alone = json!({ "inputResponses": answers });
    assert_eq!(call(&mut peer, tool, alone).await["resultType"], "input_required");
    for wrong in [json!({ "action": "accept", "content": { "ok": "yes" } }), json!({ "action": "maybe" }), json!(5)] {
        let wrong = json!({ "inputResponses": { "confirm": wrong }, "requestState": state });
        assert_eq!(call(&mut peer, tool, wrong).await["resultType"], "input_required");
    }
    let refused = json!({ "inputResponses": { "confirm": { "action": "decline" } }, "requestState": state });
    assert_eq!(call(&mut peer, tool, refused).await["content"][0]["text"], "state-ok: the user does not confirm");
}

#[tokio::test(start_paused = true)]
async fn a_client_is_asked_only_for_what_it_declares() {
    let mut peer = open(Era::Modern).await;
    let none = json!({ "_meta": {} });
    let error = call(&mut peer, "test_input_required_result_multiple_inputs", none.clone()).await;
    assert_eq!(error["code"], -32021);
    let required = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    assert_eq!(error["data"]["requiredCapabilities"], required);
    let whatever = call(&mut peer, "test_input_required_result_capabilities", none).await;
    assert_eq!(whatever["content"][0]["text"], "Nothing more can be asked.");
    let mut bare = Peer::connect_to(Era::Legacy, Settings { conformance_fixtures: true, ..Settings::default() });
    bare.initialize("2025-11-25").await;
    let why = bare.refusal("test_sampling", json!({ "prompt": "?" })).await;
    assert_eq!(why, "the client does not declare `sampling`, which this needs");
}

#[tokio::test(start_paused = true)]
async fn whoever_listens_hears_of_what_it_asked_for() {
    let mut peer = open(Era::Modern).await;
    let wanted =
        json!({ "promptsListChanged": true, "resourceSubscriptions": ["users://all", "test://watched-resource"] });
    let id = peer.start("subscriptions/listen", json!({ "notifications": wanted })).await;
    let accepted = json!({ "promptsListChanged": true, "resourceSubscriptions": ["test://watched-resource"] });
    assert_eq!(peer.receive().await["params"]["notifications"], accepted);
    for (thing, method) in [
        ("tool", None),
        ("prompt", Some("notifications/prompts/list_changed")),
        ("resource", Some("notifications/resources/updated")),
    ] {
        let call = peer.start("tools/call", json!({ "name": format!("test_trigger_{thing}_change") })).await;
        let mut messages = vec![peer.receive().await];
        if method.is_some() {
            messages.push(peer.receive().await);
        }
        let (told, answers): (Vec<_>, Vec<_>) = messages.iter().partition(|message| message.get("method").is_some());
        assert_eq!(answers[0]["id"], call);
        assert_eq!(told.first().map(|told| told["method"].as_str().unwrap()), method, "{told:?}");
        let tags = told.iter().map(|told| &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]);
        assert!(tags.into_iter().all(|tag| *tag == id), "{told:?}");
    }
    let names = |list: &Value| list.to_string().matches(r#""name":"test_dynamic_"#).count();
    let lists = [peer.result("tools/list", json!({})).await, peer.result("prompts/list", json!({})).await];
    assert_eq!(lists.each_ref().map(names), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_session_hears_of_what_it_changes_and_watches() {
    let mut peer = open(Era::Legacy).await;
    let watched = json!({ "uri": "test://watched-resource" });
    for (before, tool, told) in [
        (None, "test_trigger_tool_change", Some("notifications/tools/list_changed")),
        (None, "test_trigger_prompt_change", Some("notifications/prompts/list_changed")),
        (None, "test_trigger_resource_change", None),
        (Some("resources/subscribe"), "test_trigger_resource_change", Some("notifications/resources/updated")),
        (Some("resources/unsubscribe"), "test_trigger_resource_change", None),
    ] {
        if let Some(method) = before {
            assert_eq!(peer.result(method, watched.clone()).await, json!({}));
        }
        let id = peer.start("tools/call", json!({ "name": tool })).await;
        if told.is_some() {
            assert_eq!(peer.receive().await["method"].as_str(), told);
        }
        assert_eq!(peer.receive().await["id"], id);
    }
    let (code, message) = peer.error("resources/subscribe", json!({ "uri": "users://all" })).await;
    assert_eq!(
        (code, message.as_str()),
        (-32602, "`\"users://all\"` cannot be watched; only `test://watched-resource` can")
    );
    let text = peer.result("resources/read", watched).await["contents"][0]["text"].take();
    assert_eq!(text, "This text changed 3 times.");
}

#[tokio::test(start_paused = true)]
async fn logs_come_to_whoever_wants_them() {
    let mut session = open(Era::Legacy).await;
    for (level, logs) in [(None, 3), (Some("warning"), 0), (Some("debug"), 3)] {
        if let Some(level) = level {
            assert_eq!(session.result("logging/setLevel", json!({ "level": level })).await, json!({}));
        }
        assert_eq!(count_logs(&mut session, json!({})).await, logs, "{level:?}");
    }
    assert_eq!(session.error("logging/setLevel", json!({ "level": "loud" })).await.0, -32602);
    let mut peer = open(Era::Modern).await;
    for (level, logs) in [(None, 0), (Some("info"), 3), (Some("notice"), 0)] {
        let meta = level.map_or(json!({}), |level| json!({ "io.modelcontextprotocol/logLevel": level }));
        assert_eq!(count_logs(&mut peer, meta).await, logs, "{level:?}");
    }
    let meta = json!({ "io.modelcontextprotocol/logLevel": "loud" });
    let (code, _) = peer.error("tools/call", json!({ "name": "test_logging_tool", "_meta": meta })).await;
    assert_eq!(code, -32602);
    assert_eq!(peer.error("logging/setLevel", json!({ "level": "info" })).await.0, -32601);
}

async fn count_logs(peer: &mut Peer, meta: Value) -> usize {
    let id = peer.start("tools/call", json!({ "name": "test_tool_with_logging", "_meta": meta })).await;
    let mut logs = 0;
    loop {
        let message = peer.receive().await;
        if message["id"] == id {
            return logs;
        }
        assert_eq!(
            (message["method"].as_str(), message["params"]["level"].as_str()),
            (Some("notifications/message"), Some("info"))
        );
        logs += 1;
    }
}
