//! Tasks over HTTP: the same scripts, and whose a task is.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, Era, bound, serve};
use super::peer::ERAS;
use super::tasks::{Answering, run, with_tasks, word_of};
use crate::Settings;
use crate::faulty::ServerFault;

impl Answering for Client {
    async fn answer(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(&json!(1), method, params).await;
        match answer.header("content-type") {
            Some("text/event-stream") => answer.events().pop().unwrap(),
            _ => answer.json(),
        }
    }
}

async fn told(settings: Settings) -> String {
    serve(bound().await.with(settings, &Arc::new(ServerFault::none())).unwrap()).0
}

#[tokio::test]
async fn scripts() {
    for era in ERAS {
        run(word_of(era), async || Client::at(told(with_tasks()).await, era, "2025-11-25").await).await;
    }
}

#[tokio::test]
async fn refusals_have_the_status_of_their_errors() {
    let client = Client::at(told(with_tasks()).await, Era::Modern, "").await;
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": {
        "extensions": { "io.modelcontextprotocol/tasks": {} } } });
    for (method, params, status) in [
        ("tasks/get", json!({ "taskId": "nope" }), 400),
        ("tools/call", json!({ "name": "rehearse" }), 400),
        ("tasks/get", json!({ "taskId": "nope", "_meta": meta }), 200),
        ("tasks/list", json!({ "_meta": meta }), 404),
        // Its header `Mcp-Name` is `other`.
        ("tasks/get", json!({ "taskId": "nope", "name": "other", "_meta": meta }), 400),
    ] {
        let answer = client.ask(&json!(1), method, params).await;
        assert_eq!(answer.status, status, "{method}: {answer:?}");
    }
}

#[tokio::test]
async fn progress_goes_to_whoever_waits_for_the_result() {
    let mut client = Client::at(told(with_tasks()).await, Era::Legacy, "2025-11-25").await;
    let params = json!({
        "name": "rehearse", "arguments": { "delay_ms": 200, "steps": 2 }, "task": {}, "_meta": { "progressToken": 7 },
    });
    let created = client.answer("tools/call", params).await;
    let id = &created["result"]["task"]["taskId"];
    let events = client.ask(&json!(2), "tasks/result", json!({ "taskId": id })).await.events();
    let (answer, progress) = events.split_last().unwrap();
    assert_eq!(answer["result"]["structuredContent"], json!({ "steps": 2 }), "{events:?}");
    assert!(!progress.is_empty());
    for event in progress {
        assert_eq!(event["params"]["progressToken"], 7, "{events:?}");
        assert_eq!(&event["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    }
}

/// With tokens a task is its user's, in whatever session; without them its session's.
#[tokio::test]
async fn a_task_is_unknown_to_all_but_its_owner() {
    let tokens = Settings { token: Some("one".to_owned()), second_token: Some("two".to_owned()), ..with_tasks() };
    let (guarded, open) = (told(tokens).await, told(with_tasks()).await);
    for (address, other, sees) in [(&guarded, "Bearer one", true), (&guarded, "Bearer two", false), (&open, "-", false)]
    {
        let own = if other == "-" { "-" } else { "Bearer one" };
        let mut owner = Client::authorized(address.clone(), Era::Legacy, "2025-11-25", own).await;
        let mut other = Client::authorized(address.clone(), Era::Legacy, "2025-11-25", other).await;
        let call = json!({ "name": "rehearse", "arguments": { "delay_ms": 10000 }, "task": {} });
        let created = owner.answer("tools/call", call).await;
        let named = json!({ "taskId": created["result"]["task"]["taskId"] });
        let listed = other.answer("tasks/list", json!({})).await["result"]["tasks"].as_array().unwrap().len();
        assert_eq!(listed > 0, sees);
        assert_eq!(other.answer("tasks/get", named.clone()).await.get("result").is_some(), sees);
        if !sees {
            for method in ["tasks/result", "tasks/cancel"] {
                assert_eq!(other.answer(method, named.clone()).await["error"]["code"], -32602, "{method}");
            }
        }
        assert_eq!(owner.answer("tasks/cancel", named).await["result"]["status"], "cancelled");
    }
}

#[tokio::test]
async fn a_user_of_the_extension_sees_no_tasks_of_others() {
    let tokens = Settings { token: Some("one".to_owned()), second_token: Some("two".to_owned()), ..with_tasks() };
    let address = told(tokens).await;
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": {
        "extensions": { "io.modelcontextprotocol/tasks": {} } } });
    let mut owner = Client::authorized(address.clone(), Era::Modern, "", "Bearer one").await;
    let mut other = Client::authorized(address, Era::Modern, "", "Bearer two").await;
    let call = json!({ "name": "rehearse", "arguments": { "delay_ms": 10000 }, "_meta": meta });
    let id = owner.answer("tools/call", call).await["result"]["taskId"].take();
    let named = json!({ "taskId": id, "inputResponses": {}, "_meta": meta });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(other.answer(method, named.clone()).await["error"]["code"], -32602, "{method}");
    }
    assert_eq!(owner.answer("tasks/get", named).await["result"]["status"], "working");
}
