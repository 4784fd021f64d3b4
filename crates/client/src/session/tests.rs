//! Conversations over streams in memory, in virtual time: every server is a function.

use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use super::answered::PlainRequest;
use super::plain_request;
use super::{
    AwaitedAnswers, ClientAnswers, Disturbance, NotOpened, RawMessage, Session, SessionRequest, SessionSettings,
};
use crate::transport::large::LargeTurn;
use crate::transport::{ConnectError, Link, Owner, memory};
use crate::wire::LARGE_MESSAGE;
use crate::wire::Revision;

/// The server's end of a connection.
struct ServerSide {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl ServerSide {
    /// The next message; `None` at the end of the input.
    async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }

    /// The next message with that method; the others are passed over.
    async fn next_of(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await.expect("the client hung up");
            if message["method"] == method {
                return message;
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        // A client that is gone shows in what it asserts.
        let _ = self.writer.write_all(bytes).await;
    }

    async fn send(&mut self, message: Value) {
        self.write((message.to_string() + "\n").as_bytes()).await;
    }

    async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    async fn refuse(&mut self, request: &Value, error: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).await;
    }

    async fn initialize(&mut self) {
        let request = self.next_of("initialize").await;
        let revision = request["params"]["protocolVersion"].clone();
        self.answer(
            &request,
            json!({"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "test", "version": "1"}}),
        )
        .await;
    }
}

/// A link to a server, which runs until its function returns.
fn link<S, F>(serve: S) -> Link
where
    S: FnOnce(ServerSide) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(serve(ServerSide { lines: BufReader::new(reader).lines(), writer }));
    let (reader, writer) = tokio::io::split(ours);
    memory::connect(reader, writer)
}

fn settings() -> SessionSettings {
    SessionSettings {
        performs_handshake: true,
        revision: None,
        known: None,
        start_timeout: Duration::from_secs(30),
        request_timeout: Duration::from_secs(10),
        answers: ClientAnswers::default(),
        keeps_frames: false,
        disturbance: Disturbance::None,
        answered: None,
    }
}

/// Opens a session; every connection takes the next of `links`.
async fn open(settings: SessionSettings, links: Vec<Link>) -> Result<Session, Box<NotOpened>> {
    let links = Mutex::new(links.into_iter());
    let connect = || {
        let next = links.lock().next();
        let none = || ConnectError::NotFound { program: "one more".to_owned(), path: None };
        Box::pin(std::future::ready(next.ok_or_else(none))) as _
    };
    Session::open(&connect, settings).await
}

/// Shakes hands in the older era, then serves.
async fn session<S, F>(serve: S) -> Session
where
    S: FnOnce(ServerSide) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let link = link(async |mut end: ServerSide| {
        end.initialize().await;
        serve(end).await;
    });
    let settings = SessionSettings { revision: Some(Revision::V2025_11_25), ..settings() };
    open(settings, vec![link]).await.expect("the handshake is right")
}

fn call(owner: &Owner) -> SessionRequest<'_> {
    SessionRequest { owner, method: "tools/call", params: None, timeout: None, progress: false }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_on_the_newer_question_is_started_again() {
    let first = link(async |mut end: ServerSide| drop(end.next_of("server/discover").await));
    let second = link(async |mut end: ServerSide| {
        end.initialize().await;
        while end.next().await.is_some() {}
    });
    let session = open(settings(), vec![first, second]).await.expect("the second start succeeds");
    assert_eq!(session.server.revision, Revision::V2025_11_25);
    let earlier: Vec<String> = session.earlier.iter().map(|closed| closed.frames[0].text()).collect();
    assert!(earlier.len() == 1 && earlier[0].contains("server/discover"), "{earlier:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_a_broken_text_ends_the_wait() {
    let session = session(async |mut end: ServerSide| {
        for broken in [&b"\xff\xfe"[..], br"\ud800"] {
            let request = end.next_of("tools/call").await;
            // What is no answer leaves the request alone.
            end.write(b"still \xff working\n").await;
            let [before, after] = ["{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"", "\"}}\n"]
                .map(|part| part.replace("ID", &request["id"].to_string()));
            end.write(&[before.as_bytes(), broken, after.as_bytes()].concat()).await;
        }
        while end.next().await.is_some() {}
    })
    .await;
    for owner in ["first", "second"].map(Owner::of_case) {
        let failure = session.request(call(&owner)).await.expect_err("the answer is broken");
        let super::FailureReason::Protocol(reason) = &failure.reason else { panic!("{failure:?}") };
        let violations = session.take_violations(&owner);
        assert_eq!(violations.len(), 1);
        assert_eq!((violations[0].violation.code, &violations[0].violation.message), ("stray-output", reason));
    }
}

/// A server that answers the notification before a request has answered the request only if nothing else comes.
#[tokio::test(start_paused = true)]
async fn an_answer_to_a_notification_leaves_the_next_request_alone() {
    let strays = [
        (json!({"jsonrpc": "2.0", "result": null}), true, "served"),
        (json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no"}}), true, "served"),
        (json!({"jsonrpc": "2.0", "result": null}), false, "no usable `id`"),
        // The request could not be read, or this is its answer.
        (json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}), true, "no usable `id`"),
        (json!({"jsonrpc": "2.0", "result": {"content": []}}), true, "no usable `id`"),
    ];
    for (stray, is_answered, expected) in strays {
        let sent = stray.clone();
        let session = session(async move |mut end: ServerSide| {
            let request = end.next_of("tools/call").await;
            end.send(sent).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            if is_answered {
                end.answer(&request, json!({"content": []})).await;
            }
            // The second one without an id has no notification before it.
            end.next_of("tools/call").await;
            end.send(json!({"jsonrpc": "2.0", "result": null})).await;
            while end.next().await.is_some() {}
        })
        .await;
        let ended = match session.request(call(&Owner::of_case("first"))).await {
            Ok(_) => "served".to_owned(),
            Err(failure) => format!("{:?}", failure.reason),
        };
        assert!(ended.contains(expected), "{stray}: {ended}");
        let failure = session.request(call(&Owner::of_case("second"))).await.expect_err("its answer names no request");
        assert!(matches!(failure.reason, super::FailureReason::Protocol(_)), "{stray}: {failure:?}");
    }
}

/// Ten lines for each call are stray output, not a flood, however many calls there are.
#[tokio::test(start_paused = true)]
async fn lines_beside_answers_are_no_flood() {
    let session = session(async |mut end: ServerSide| {
        let mut line = 0;
        loop {
            let request = end.next_of("tools/call").await;
            for _ in 0..10 {
                line += 1;
                end.write(format!("requested {line}\n").as_bytes()).await;
            }
            end.answer(&request, json!({"content": []})).await;
        }
    })
    .await;
    for number in 0..300 {
        let served = session.request(call(&Owner::of_case("chatty"))).await;
        assert!(served.is_ok(), "call {number}: {served:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_handshake_is_a_violation() {
    let link = link(async |mut end: ServerSide| {
        end.next_of("initialize").await;
        end.send(json!({"jsonrpc": "2.0", "id": 99, "result": {}})).await;
        while end.next().await.is_some() {}
    });
    let settings = SessionSettings { revision: Some(Revision::V2025_11_25), ..settings() };
    let failed = open(settings, vec![link]).await.expect_err("the answer has a wrong id");
    let codes: Vec<&str> = failed.connections[0].violations.iter().map(|owned| owned.violation.code).collect();
    assert_eq!(codes, ["wrong-id"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_start_of_the_newer_era_is_waited_for() {
    let slow = link(async |mut end: ServerSide| {
        tokio::time::sleep(Duration::from_secs(6)).await;
        let question = end.next_of("server/discover").await;
        end.answer(&question, json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
        let handshake = end.next_of("initialize").await;
        end.refuse(&handshake, json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}})).await;
        while end.next().await.is_some() {}
    });
    let session = open(settings(), vec![slow]).await.expect("the late answer counts");
    assert_eq!(session.server.revision, Revision::V2026_07_28);
}

#[tokio::test(start_paused = true)]
async fn a_slow_start_of_the_older_era_gets_its_handshake() {
    let slow = link(async |mut end: ServerSide| {
        tokio::time::sleep(Duration::from_secs(6)).await;
        let question = end.next_of("server/discover").await;
        end.refuse(&question, json!({"code": -32601, "message": "Method not found"})).await;
        end.initialize().await;
        while end.next().await.is_some() {}
    });
    let session = open(settings(), vec![slow]).await.expect("the handshake is right");
    assert_eq!(session.server.revision, Revision::V2025_11_25);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_names_the_newer_era_leads_back_to_it() {
    let link = link(async |mut end: ServerSide| {
        let lost = end.next_of("server/discover").await;
        end.refuse(&lost, json!({"code": -32603, "message": "still loading"})).await;
        let handshake = end.next_of("initialize").await;
        end.refuse(&handshake, json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}})).await;
        let question = end.next_of("server/discover").await;
        end.answer(&question, json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
        while end.next().await.is_some() {}
    });
    let session = open(settings(), vec![link]).await.expect("the second answer counts");
    assert_eq!(session.server.revision, Revision::V2026_07_28);
}

#[tokio::test(start_paused = true)]
async fn an_early_refusal_waits_for_the_pending_question() {
    let link = link(async |mut end: ServerSide| {
        let question = end.next_of("server/discover").await;
        let handshake = end.next_of("initialize").await;
        end.refuse(&handshake, json!({"code": -32600, "message": "no such method"})).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        end.answer(&question, json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
        while end.next().await.is_some() {}
    });
    let session = open(settings(), vec![link]).await.expect("the late answer counts");
    assert_eq!(session.server.revision, Revision::V2026_07_28);
}

#[tokio::test(start_paused = true)]
async fn a_message_torn_by_the_stop_is_no_violation() {
    let (torn, is_torn) = tokio::sync::oneshot::channel();
    let (stopped, is_stopped) = tokio::sync::oneshot::channel::<()>();
    let session = session(move |mut end: ServerSide| async move {
        end.write(br#"{"jsonrpc":"2.0","method":"notifications/mess"#).await;
        let _ = torn.send(());
        let _ = is_stopped.await;
    })
    .await;
    is_torn.await.expect("the server writes");
    session.peer.lock().is_end_requested = true;
    drop(stopped);
    while session.is_open() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let closed = session.close(Duration::ZERO).await;
    assert_eq!(closed.violations, []);
    assert_eq!(closed.frames.last().map(|frame| frame.json().is_err()), Some(true), "the torn line is kept");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_is_cancelled_and_forgotten() {
    let (told, is_told) = tokio::sync::oneshot::channel();
    let session = session(move |mut end: ServerSide| async move {
        let first = end.next_of("tools/call").await;
        let cancelled = end.next_of("notifications/cancelled").await;
        let _ = told.send(cancelled["params"]["requestId"] == first["id"]);
        end.next_of("tools/call").await;
        end.send(json!({"jsonrpc": "2.0", "id": 99, "result": {}})).await;
        while end.next().await.is_some() {}
    })
    .await;
    let given_up = tokio::time::timeout(Duration::from_secs(1), session.request(call(&Owner::of_case("first")))).await;
    assert!(given_up.is_err());
    assert_eq!(is_told.await, Ok(true), "the request and the cancellation name different ids");
    let failure = session.request(call(&Owner::of_case("second"))).await.expect_err("the answer has a wrong id");
    assert!(matches!(failure.reason, super::FailureReason::Protocol(_)), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_refused_as_a_whole_was_answered() {
    let session = session(async |mut end: ServerSide| {
        while let Some(message) = end.next().await {
            if message.is_array() {
                let error = json!({"code": -32600, "message": "no batches here"});
                end.send(json!({"jsonrpc": "2.0", "id": null, "error": error})).await;
            }
        }
    })
    .await;
    let failure = session.send_raw(batch()).await.expect_err("the batch is refused");
    let expected = "the server refused the whole message with error -32600 \"no batches here\", without an id";
    assert_eq!(failure.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn what_was_spoilt_before_refuses_no_later_message() {
    let session = session(async |mut end: ServerSide| {
        let error = json!({"code": -32700, "message": "no JSON"});
        while let Ok(Some(line)) = end.lines.next_line().await {
            if line.starts_with('[') {
                end.send(json!({"jsonrpc": "2.0", "id": null, "error": error})).await;
                end.send(
                    json!([{"jsonrpc": "2.0", "id": "a", "result": {}}, {"jsonrpc": "2.0", "id": "b", "result": {}}]),
                )
                .await;
            }
        }
    })
    .await;
    let junk = RawMessage { awaited: AwaitedAnswers::Nothing, ..raw(b"{ no json") };
    session.send_raw(junk).await.expect("nothing is awaited");
    let reply = session.send_raw(batch()).await.expect("the batch is answered");
    assert_eq!(reply.answers.len(), 2);
}

fn batch() -> RawMessage<'static> {
    let line = br#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#;
    RawMessage { awaited: AwaitedAnswers::Ids(vec!["a".into(), "b".into()]), ..raw(line) }
}

fn raw(line: &[u8]) -> RawMessage<'static> {
    RawMessage {
        owner: &Owner::Session,
        lines: vec![line.to_vec()],
        pieces: vec![[line, b"\n"].concat()],
        awaited: AwaitedAnswers::Next,
        timeout: None,
        watch: Duration::from_millis(100),
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_name_the_limits_that_were_set() {
    let session = session(async |mut end: ServerSide| while end.next().await.is_some() {}).await;
    let failure = session.request(call(&Owner::Session)).await.expect_err("nobody answers");
    assert_eq!(failure.to_string(), "`tools/call` got no answer within 10 s");
    let silent = link(async |mut end: ServerSide| while end.next().await.is_some() {});
    let failure = open(settings(), vec![silent]).await.expect_err("nobody answers");
    assert_eq!(failure.failure.to_string(), "the server did not get ready within 30 s");
}

#[tokio::test(start_paused = true)]
async fn progress_gives_a_request_the_whole_time_again() {
    let answering = async |mut end: ServerSide| {
        while let Some(asked) = end.next().await {
            if asked["method"] != "tools/call" {
                continue;
            }
            let token = asked["params"]["_meta"]["progressToken"].clone();
            for progress in 1..=2 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                let params = json!({"progressToken": token, "progress": progress});
                end.send(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
            }
            tokio::time::sleep(Duration::from_secs(9)).await;
            end.answer(&asked, json!({})).await;
        }
    };
    let session = session(answering).await;
    let patient = SessionRequest { progress: true, ..call(&Owner::Session) };
    let reply = session.request(patient).await.expect("it reports progress");
    assert_eq!(reply.elapsed, Duration::from_secs(27));
    for impatient in [
        SessionRequest { progress: false, ..call(&Owner::Session) },
        SessionRequest { progress: true, timeout: Some(Duration::from_secs(10)), ..call(&Owner::Session) },
    ] {
        let failure = session.request(impatient).await.expect_err("nobody waits so long");
        assert_eq!(failure.to_string(), "`tools/call` got no answer within 10 s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_another_large_message_is_not_the_server_s_time() {
    let answering = async |mut end: ServerSide| {
        while let Some(asked) = end.next().await {
            if asked["method"] == "tools/call" {
                tokio::time::sleep(Duration::from_secs(11)).await;
                end.answer(&asked, json!({})).await;
            }
        }
    };
    let session = session(answering).await;
    let mut held = LargeTurn::default();
    held.take(LARGE_MESSAGE).await;
    let mut waiting = LargeTurn::default();
    // It waits for two seconds, and goes on without.
    let (reply, ()) = tokio::join!(session.request(call(&Owner::Session)), waiting.take(LARGE_MESSAGE));
    assert_eq!(reply.expect("the time is longer by the wait").elapsed, Duration::from_secs(11));
    drop(held);
    let failure = session.request(call(&Owner::Session)).await.expect_err("nobody waits for a turn meanwhile");
    assert_eq!(failure.to_string(), "`tools/call` got no answer within 10 s");
}

/// Everything that carries the id of a subscription comes to it, and it is cancelled when nobody listens any more.
#[tokio::test(start_paused = true)]
async fn a_subscription_lasts_until_it_is_dropped() {
    let (cancelled, mut cancellations) = tokio::sync::mpsc::unbounded_channel();
    let server = link(async move |mut end: ServerSide| {
        let question = end.next_of("server/discover").await;
        end.answer(&question, json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
        for _ in 0..2 {
            let request = end.next_of("subscriptions/listen").await;
            if request["params"]["notifications"] == json!({}) {
                end.refuse(&request, json!({"code": -32602, "message": "nothing to listen to"})).await;
                continue;
            }
            let tag = json!({"io.modelcontextprotocol/subscriptionId": request["id"]});
            for (method, params) in [
                (
                    "notifications/subscriptions/acknowledged",
                    json!({"_meta": tag, "notifications": {"toolsListChanged": true}}),
                ),
                ("notifications/tools/list_changed", json!({"_meta": tag})),
            ] {
                end.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
            }
            let cancellation = end.next_of("notifications/cancelled").await;
            cancelled.send(cancellation["params"]["requestId"] == request["id"]).expect("the test still runs");
        }
        while end.next().await.is_some() {}
    });
    let session = open(settings(), vec![server]).await.expect("the server answers");
    let owner = Owner::of_case("a");
    let mut notifications = session.notifications();
    let subscription = session.listen(&owner, &json!({"toolsListChanged": true}));
    let acknowledgement = notifications.next().await.expect("the server acknowledges");
    assert_eq!(acknowledgement.acknowledged(), Some(&json!({"toolsListChanged": true})));
    let change = notifications.next().await.expect("the server announces");
    assert_eq!((change.acknowledged(), change.subscription()), (None, Some(&subscription.id)));
    drop(subscription);
    assert_eq!(cancellations.recv().await, Some(true));
    let refused = session.listen(&owner, &json!({})).answer().await.expect("an error is an answer");
    assert_eq!(refused.message["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_hands_out_what_travelled() {
    let first = link(async |mut end: ServerSide| drop(end.next_of("server/discover").await));
    let second = link(async |mut end: ServerSide| drop(end.next_of("initialize").await));
    let failed = open(settings(), vec![first, second]).await.expect_err("nobody answers");
    let methods: Vec<String> = failed.connections.iter().map(|closed| closed.frames[0].text()).collect();
    assert!(methods[0].contains("server/discover"), "{methods:?}");
    assert!(methods[1].contains("initialize"), "{methods:?}");
}

#[test]
fn requests_that_any_server_answers_at_once() {
    use PlainRequest::{SignOfLife, Undeclared};
    let capabilities = json!({"tools": {}, "completions": {}, "logging": null});
    for (method, expected) in [
        ("tools/call", None),
        ("tools/list", None),
        ("resources/templates/list", Some(Undeclared)),
        ("completion/complete", None),
        ("logging/setLevel", Some(Undeclared)),
        ("ping", Some(SignOfLife)),
        // Newer clients ask older servers, which may leave that unanswered.
        ("server/discover", None),
        ("initialize", None),
        ("mcprove/no_such_method", Some(Undeclared)),
        ("nothing", Some(Undeclared)),
    ] {
        assert_eq!(plain_request(method, &capabilities), expected, "{method}");
    }
}
