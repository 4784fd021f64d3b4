//! Suites inside Rust tests, as those who write servers in Rust run them.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcprove::testing::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use mcprove::testing::rmcp::service::RequestContext;
use mcprove::testing::rmcp::{RoleServer, ServerHandler};
use mcprove::testing::{Error, Outcome, Run, Suite};
use serde_json::Map;

use crate::harness::Scene;

/// Counts its calls; `sleep` answers after an hour.
#[derive(Default)]
struct Counter {
    calls: AtomicUsize,
    _alive: Option<Arc<()>>,
}

impl ServerHandler for Counter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Map::from_iter([("type".to_owned(), "object".into())]);
        let tools = ["count", "sleep"].map(|name| Tool::new(name, "Does as it is called.", schema.clone()));
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "count" => {}
            "sleep" => tokio::time::sleep(Duration::from_secs(3600)).await,
            other => return Err(ErrorData::invalid_params(format!("no tool `{other}`, try `count`"), None)),
        }
        let count = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(CallToolResult::success(vec![ContentBlock::text(format!("call {count}"))]).into())
    }
}

const COUNTS: &str = "
suite: Counts
server: { command: [never, started] }
tests:
  - name: first
    call: count
    expect: [{ text: { contains: call 1 } }]
  - name: second
    call: count
    expect: [{ text: { contains: call 2 } }]
";

async fn run(yaml: &str) -> Run {
    Suite::parse(yaml).unwrap().server(Counter::default).run().await.unwrap()
}

/// Why a suite with several servers does not run.
async fn refused(give: fn(Suite) -> Suite) -> String {
    let yaml = COUNTS.replace(
        "server: { command: [never, started] }",
        "servers: { users: { command: [a] }, other: { command: [b] } }",
    );
    give(Suite::parse(&yaml).unwrap()).run().await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_session_is_shared_on_one_thread() {
    let run = run(COUNTS).await;
    run.assert_passed();
    assert_eq!((run.totals().passed, run.totals().cases()), (2, 2));
    assert_eq!(run.outcome("first"), Some(Outcome::Passed));
    assert_eq!(run.outcome("third"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_cases_at_a_time_on_many_threads() {
    let rows: Vec<String> = (0..50).map(|row| format!("{{ row: {row} }}")).collect();
    let yaml = format!(
        "suite: s\ntests: [{{ name: t, rows: [{}], call: count, expect: [{{ is_error: false }}] }}]",
        rows.join(", ")
    );
    let run = Suite::parse(&yaml).unwrap().server(Counter::default).parallel(8).run().await.unwrap();
    run.assert_passed();
    assert_eq!(run.totals().passed, 50);
}

#[tokio::test]
async fn every_session_has_a_fresh_server_and_none_survives() {
    let (alive, made) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
    let (kept, counted) = (Arc::clone(&alive), Arc::clone(&made));
    let suite = Suite::parse(&COUNTS.replace("tests:", "run_options: { restart_policy: per_test }\ntests:")).unwrap();
    let suite = suite.server(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Counter { _alive: Some(Arc::clone(&kept)), ..Counter::default() }
    });
    let run = suite.run().await.unwrap();
    assert_eq!((run.outcome("first"), run.outcome("second")), (Some(Outcome::Passed), Some(Outcome::Failed)));
    assert!(made.load(Ordering::Relaxed) > 1);
    // The factory, which held one, is gone with the run.
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[tokio::test(start_paused = true)]
async fn hours_pass_in_no_time() {
    let yaml = "
suite: Waits
run_options: { timeout: 3h, request_timeout: 2h }
tests:
  - name: answers after an hour
    call: sleep
    expect: [{ latency: { over: 59m } }]
  - name: is late
    call: sleep
    timeout: 30m
    expect: [{ is_error: false }]
";
    let run = run(yaml).await;
    assert_eq!(run.outcome("answers after an hour"), Some(Outcome::Passed), "{run:?}");
    assert_eq!(run.outcome("is late"), Some(Outcome::Failed), "{run:?}");
    assert!(run.text().contains("30 min"), "{run:?}");
}

#[tokio::test]
async fn a_failed_suite_shows_what_the_terminal_shows() {
    let run = run(&COUNTS.replace("call 2", "call 3")).await;
    let panic = catch_unwind(AssertUnwindSafe(|| run.assert_passed())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("the suite does not pass\n\n") && text.contains(run.text().trim_end()), "{text}");
    assert!(text.contains("<inline>:10") && text.contains("contains: call 3"), "{text}");
    assert!(!text.contains("mcprove run"), "no command line runs this again: {text}");
    assert!(run.junit().contains("<failure"), "{}", run.junit());
    assert!(run.render("json").is_some() && run.render("jsn").is_none());
    assert!(run.declared_score().unwrap().percent > 0.0 && run.exercised_score().unwrap().leaves.counted > 0);
    assert!(!run.events().is_empty() && run.cases().len() == 2);
}

#[tokio::test]
async fn nothing_selected_is_no_pass() {
    let suite = Suite::parse(COUNTS).unwrap().server(Counter::default).filter("name(third)");
    let run = suite.run().await.unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| run.assert_passed())).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().starts_with("no case reached a verdict"));
}

/// PATH is set wherever tests run.
#[tokio::test]
async fn variables_are_given_and_secret() {
    let yaml = COUNTS.replacen("call: count", "call: count\n    args: { x: '{{ env.PATH }}' }", 1);
    let given = Suite::parse(&yaml).unwrap().server(Counter::default).env("PATH", "a-given-path").run().await.unwrap();
    given.assert_passed();
    let events = given.render("ndjson").unwrap();
    assert!(events.contains("[redacted]") && !events.contains("a-given-path"), "{events}");
    assert_eq!(run(&yaml).await.outcome("first"), Some(Outcome::Errored));
}

#[tokio::test]
async fn a_server_that_cannot_be_made_is_named() {
    let suite = Suite::parse(COUNTS).unwrap();
    let run = suite.server(|| -> Counter { panic!("no database") }).run().await.unwrap();
    assert_eq!(run.outcome("first"), Some(Outcome::Errored));
    let text = run.text();
    assert!(text.contains("the server ended while it was starting, with a panic"), "{text}");
    assert!(text.contains("no database"), "{text}");
}

#[tokio::test]
async fn any_pair_of_streams_will_do() {
    let suite = Suite::load("examples/users.yml").unwrap().connect(|| {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(mcprove::testserver::serve(reader, writer));
        tokio::io::split(ours)
    });
    assert_eq!(suite.warnings(), "");
    suite.run().await.unwrap().assert_passed();
}

#[tokio::test]
async fn servers_have_their_places() {
    let unnamed = refused(|suite| suite.server(Counter::default)).await;
    assert!(unnamed.contains("say which of `users` and `other` it is, as in `.server_named(…)`"), "{unnamed}");
    let wrong = refused(|suite| suite.server_named("user", Counter::default)).await;
    assert!(wrong.contains("the suite has no server `user`") && wrong.contains("did you mean `users`?"), "{wrong}");
    let none = Suite::parse("suite: s\nnegative_path: { tools: '*' }").unwrap().run().await.unwrap_err();
    assert_eq!(none.codes().collect::<Vec<_>>(), ["missing-server"]);
}

const SUMS: &str = "
suite: Sums
server: { command: [no-such-program] }
tests:
  - name: two and three
    call: add
    args: { a: 2, b: 3 }
    expect: [{ at: result.structuredContent.sum, equals: 5 }]
  - name: two and two
    call: add
    args: { a: 2, b: 2 }
    expect: [{ at: result.structuredContent.sum, equals: 4 }]
";

const DEMO: [&str; 3] = [env!("CARGO_BIN_EXE_mcprove"), "serve", "demo"];

/// A plain test has no runtime; a program takes the place of the suite's server, by name or as the only one.
#[test]
fn a_program_is_started_without_a_runtime() {
    let run = Suite::parse(SUMS).unwrap().command(DEMO).run_blocking().unwrap();
    run.assert_passed();
    let named = SUMS.replace("server: {", "servers: { sums: {").replace("program] }", "program] } }");
    Suite::parse(&named).unwrap().command_named("sums", DEMO).run_blocking().unwrap().assert_passed();
    Suite::parse(&SUMS.replace("server: { command: [no-such-program] }", ""))
        .unwrap()
        .command(DEMO)
        .run_blocking()
        .unwrap()
        .assert_passed();
}

/// Without another server, the suite's own is started, with the variables that were given.
#[test]
fn the_suite_has_a_server_of_its_own() {
    let own = SUMS.replace("[no-such-program]", "['{{ env.PROGRAM }}', serve, demo]");
    let suite = || Suite::parse(&own).unwrap();
    suite().env("PROGRAM", DEMO[0]).run_blocking().unwrap().assert_passed();
    suite().envs([("PROGRAM", DEMO[0]), ("OTHER", "x")]).run_blocking().unwrap().assert_passed();
    let missing = Suite::parse(SUMS).unwrap().run_blocking().unwrap();
    assert_eq!(missing.outcome("two and two"), Some(Outcome::Errored));
    assert!(missing.text().contains("no-such-program"), "{missing:?}");
}

#[test]
fn each_case_has_its_text() {
    let run = Suite::parse(&SUMS.replace("equals: 4", "equals: 5")).unwrap().command(DEMO).run_blocking().unwrap();
    let texts: Vec<String> = run.cases().into_iter().map(|result| run.text_of(result)).collect();
    assert!(texts[1].contains("two and two") && texts[1].contains("is 4, not 5"), "{texts:?}");
    assert!(!texts[1].contains("two and three"), "{texts:?}");
}

#[test]
fn a_missed_threshold_is_no_pass() {
    let run = |threshold| Suite::parse(SUMS).unwrap().command(DEMO).threshold(threshold).run_blocking().unwrap();
    run(1.0).assert_passed();
    let panic = catch_unwind(AssertUnwindSafe(|| run(99.0).assert_passed())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("coverage is below the threshold") && text.contains("threshold 99"), "{text}");
}

#[test]
fn mistakes_are_quoted() {
    let error: Error = Suite::parse("suite: s\ntests:\n  - name: t\n    cal: count\n    expect: []").unwrap_err();
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(text.contains("<inline>:4:5") && text.contains("did you mean `call`?"), "{text}");
    }
    assert!(Suite::load("no/such.yml").unwrap_err().to_string().contains("there is no such file"));
    assert!(Suite::parse(COUNTS).is_ok_and(|suite| suite.warnings().is_empty()));
}

/// What `mcprove run --update` recorded counts here too.
#[tokio::test]
async fn snapshots_are_read_beside_the_suite() {
    let scene = Scene::new("testing/snapshots");
    let suite = scene.folder.join("suite.yml");
    scene.write(
        "suite.yml",
        "suite: Counts\ntests:\n  - name: first\n    call: count\n    snapshot: { at: result.content }\n",
    );
    let run = async || Suite::load(&suite).unwrap().server(Counter::default).run().await.unwrap();
    assert!(run().await.text().contains("snapshot-missing"));
    std::fs::create_dir_all(scene.folder.join("snapshots/suite")).unwrap();
    let record =
        |said: &str| scene.write("snapshots/suite/first.json", &format!(r#"[{{"type":"text","text":"{said}"}}]"#));
    record("call 1");
    run().await.assert_passed();
    record("call 2");
    assert!(run().await.text().contains("error[snapshot]"));
}
