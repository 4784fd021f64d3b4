//! Calls that go on as tasks, in the revisions that know them. `task_scripts.txt` runs over memory here and over HTTP in
//! `tasks_http`.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::client::Era;
use super::peer::{ERAS, Peer};
use crate::Settings;

/// A server with tasks, and nothing said.
fn told(era: Era) -> Peer {
    Peer::connect_to(era, with_tasks())
}

pub(crate) fn with_tasks() -> Settings {
    Settings { tasks: true, ..Settings::default() }
}

async fn opened(era: Era) -> Peer {
    told(era).opened("2025-11-25").await
}

/// Whoever answers a script.
pub(crate) trait Answering {
    /// The answer to a request, without what came before it.
    async fn answer(&mut self, method: &str, params: Value) -> Value;
}

impl Answering for Peer {
    async fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
        }
    }
}

/// The word before the scripts of an era.
pub(crate) fn word_of(era: Era) -> &'static str {
    if era == Era::Legacy { "legacy: " } else { "modern: " }
}

/// Runs the scripts that begin with a word, each with a client of its own.
pub(crate) async fn run<A: Answering>(word: &str, open: impl AsyncFn() -> A) {
    for script in include_str!("task_scripts.txt").split("\n\n").filter_map(|script| script.strip_prefix(word)) {
        let (mut client, mut id) = (open().await, String::new());
        let lines: Vec<_> = script.lines().skip(1).collect();
        for pair in lines.chunks(2) {
            let [asked, expected] = pair else { panic!("{script}") };
            let (method, params) = asked.split_once(' ').unwrap_or((asked, "{}"));
            let answer = match method {
                "settle" => settled(&mut client, &id).await,
                _ => client.answer(method, filled(params, &id)).await,
            };
            let created = answer.pointer("/result/task/taskId").or(answer.pointer("/result/taskId"));
            if let Some(created) = created.and_then(Value::as_str) {
                created.clone_into(&mut id);
            }
            let expected = serde_json::from_str(&expected.replace("ID", &id)).unwrap();
            assert!(includes(&answer, &expected), "{script}\n\n{asked}\n{answer}");
        }
    }
}

/// The state of a task once nothing happens in it without the client.
async fn settled(client: &mut impl Answering, id: &str) -> Value {
    loop {
        let answer = client.answer("tasks/get", filled(r#"{"taskId":"ID","_meta":DECLARED}"#, id)).await;
        if answer["result"]["status"] != "working" {
            return answer;
        }
    }
}

fn filled(params: &str, id: &str) -> Value {
    let declared = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut askable = declared.clone();
    askable["elicitation"] = json!({});
    let meta = |capabilities: Value| json!({ "io.modelcontextprotocol/clientCapabilities": capabilities }).to_string();
    let params = params.replace("DECLARED", &meta(declared)).replace("ASKABLE", &meta(askable)).replace("ID", id);
    serde_json::from_str(&params).unwrap_or_else(|error| panic!("{error}: {params}"))
}

/// Is everything of `expected` in `actual`?
fn includes(actual: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(expected) => expected.iter().all(|(key, expected)| includes(&actual[key], expected)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => actual == expected,
    }
}

#[tokio::test(start_paused = true)]
async fn scripts() {
    for era in ERAS {
        run(word_of(era), async || opened(era).await).await;
    }
    let with_fixtures = Settings { conformance_fixtures: true, ..with_tasks() };
    run("fixtures: ", async || Peer::connect_to(Era::Modern, with_fixtures.clone())).await;
}

/// What a call that is to be a task is answered with: the name of the task.
async fn create(peer: &mut Peer, params: Value) -> String {
    let answer = peer.answer("tools/call", params).await;
    assert_eq!(answer["result"]["task"]["status"], "working", "{answer}");
    answer["result"]["task"]["taskId"].as_str().unwrap().to_owned()
}

fn rehearsal(delay: u64) -> Value {
    json!({ "name": "rehearse", "arguments": { "delay_ms": delay, "steps": 4 }, "task": {} })
}

#[tokio::test(start_paused = true)]
async fn tasks_are_declared_where_a_revision_has_them() {
    let capability = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    for revision in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let mut peer = told(Era::Legacy);
        let opened = peer.initialize(revision).await["result"].take();
        let has_tasks = revision == "2025-11-25";
        assert_eq!(opened["capabilities"].get("tasks"), has_tasks.then_some(&capability), "{revision}");
        assert_eq!(opened["capabilities"].get("extensions"), None);
        assert_eq!(opened.get("tools"), None);
        let tools = peer.result("tools/list", json!({})).await["tools"].take();
        let supports: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["execution"]["taskSupport"]).collect();
        assert_eq!(tools.as_array().unwrap().len(), 10);
        let declared: Vec<_> = supports.into_iter().filter_map(Value::as_str).collect();
        assert_eq!(declared, if has_tasks { vec!["forbidden", "optional", "required"] } else { vec![] }, "{revision}");
        if !has_tasks {
            let called = peer.result("tools/call", rehearsal(0)).await;
            assert_eq!(called["structuredContent"], json!({ "steps": 4 }), "{revision}");
            assert_eq!(peer.error("tasks/list", json!({})).await.0, -32601);
        }
    }
    let mut peer = opened(Era::Modern).await;
    let discovered = peer.result("server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"]["extensions"], json!({ "io.modelcontextprotocol/tasks": {} }));
    let tools = peer.result("tools/list", json!({})).await;
    assert!(tools["tools"].as_array().unwrap().iter().all(|tool| tool.get("execution").is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tasks_ignores_them() {
    let mut peer = Peer::open(Era::Legacy).await;
    let params = json!({ "name": "export_users", "arguments": { "format": "csv" }, "task": { "ttl": "?" } });
    assert_eq!(peer.result("tools/call", params).await["structuredContent"]["format"], "csv");
}

#[tokio::test(start_paused = true)]
async fn a_task_gives_what_the_plain_call_gives() {
    let mut peer = opened(Era::Legacy).await;
    peer.call("create_user", json!({ "name": "Ann", "email": "ann@example.com" })).await;
    let mut params = json!({ "name": "export_users", "arguments": { "format": "json", "delay_ms": 500 } });
    let plain = peer.result("tools/call", params.clone()).await;
    params["task"] = json!({});
    let id = create(&mut peer, params).await;
    let start = Instant::now();
    let mut result = peer.result("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(start.elapsed(), Duration::from_millis(500));
    let meta = result.as_object_mut().unwrap().remove("_meta").unwrap();
    assert_eq!(meta, json!({ "io.modelcontextprotocol/related-task": { "taskId": id } }));
    assert_eq!(result, plain);
}

#[tokio::test(start_paused = true)]
async fn progress_is_said_until_the_end_of_a_task() {
    let mut peer = opened(Era::Legacy).await;
    let mut params = rehearsal(1000);
    params["_meta"] = json!({ "progressToken": "t" });
    let id = create(&mut peer, params.clone()).await;
    let waiting = peer.start("tasks/result", json!({ "taskId": id })).await;
    for step in 1..=4 {
        let progress = peer.receive().await;
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        let meta = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
        let expected = json!({ "progressToken": "t", "progress": f64::from(step), "total": 4.0, "_meta": meta });
        assert_eq!(progress["params"], expected);
    }
    assert_eq!(peer.receive().await["id"], waiting);

    let id = create(&mut peer, params).await;
    assert_eq!(peer.receive().await["params"]["progress"], 1.0);
    peer.result("tasks/cancel", json!({ "taskId": id })).await;
    advance(Duration::from_secs(20)).await;
    assert_eq!(peer.close().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn the_extension_reports_no_progress() {
    let mut peer = opened(Era::Modern).await;
    let mut params = filled(r#"{"name":"rehearse","arguments":{"delay_ms":100},"_meta":DECLARED}"#, "");
    params["_meta"]["progressToken"] = json!(1);
    let answer = peer.answer("tools/call", params).await;
    let id = answer["result"]["taskId"].as_str().unwrap();
    advance(Duration::from_secs(1)).await;
    settled(&mut peer, id).await;
    assert_eq!(peer.close().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_result_hears_of_a_cancellation() {
    let mut peer = opened(Era::Legacy).await;
    let id = create(&mut peer, rehearsal(8000)).await;
    let waiting = peer.start("tasks/result", json!({ "taskId": id })).await;
    let given_up = peer.start("tasks/result", json!({ "taskId": id })).await;
    let params = json!({ "requestId": given_up });
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    let cancel = peer.start("tasks/cancel", json!({ "taskId": id })).await;
    let mut answers = [peer.receive().await, peer.receive().await];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["id"], waiting);
    assert_eq!(answers[0]["error"]["code"], -32602);
    assert_eq!((&answers[1]["id"], &answers[1]["result"]["status"]), (&json!(cancel), &json!("cancelled")));
    assert_eq!(peer.close().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn all_tasks_are_listed_page_by_page() {
    let mut peer = opened(Era::Legacy).await;
    let mut created = Vec::new();
    for _ in 0..23 {
        created.push(create(&mut peer, rehearsal(0)).await);
    }
    let (mut listed, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let page = peer.result("tasks/list", params).await;
        listed.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(cursor) = page.get("nextCursor") else { break };
        params = json!({ "cursor": cursor });
    }
    assert_eq!((listed, pages), (created.clone(), 3));
    created.sort();
    created.dedup();
    assert_eq!(created.len(), 23);
    assert!(created.iter().all(|id| id.len() >= 32));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_gone_when_its_time_is_over() {
    let mut peer = opened(Era::Legacy).await;
    let mut params = rehearsal(10_000);
    params["task"]["ttl"] = json!(2000);
    let id = create(&mut peer, params).await;
    let start = Instant::now();
    assert_eq!(peer.error("tasks/result", json!({ "taskId": id })).await.0, -32602);
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(peer.error("tasks/get", json!({ "taskId": id })).await.0, -32602);
    assert_eq!(peer.result("tasks/list", json!({})).await["tasks"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn too_many_tasks_are_refused_until_one_has_ended() {
    let mut peer = opened(Era::Legacy).await;
    let mut ids = Vec::new();
    for _ in 0..256 {
        ids.push(create(&mut peer, rehearsal(10_000)).await);
    }
    assert_eq!(peer.error("tools/call", rehearsal(0)).await.0, -32603);
    peer.result("tasks/cancel", json!({ "taskId": ids[7] })).await;
    create(&mut peer, rehearsal(0)).await;
    assert_eq!(peer.error("tasks/get", json!({ "taskId": ids[7] })).await.0, -32602);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_ends_tasks_and_those_who_wait() {
    let mut peer = opened(Era::Legacy).await;
    let start = Instant::now();
    let id = create(&mut peer, rehearsal(10_000)).await;
    let waiting = peer.start("tasks/result", json!({ "taskId": id })).await;
    let rest = peer.close().await;
    assert_eq!(rest.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [&json!(waiting)]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}
