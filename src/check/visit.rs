//! The requests in a session, and everything that it shows.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::hang::find_silence;
use super::raw_http::{HttpProbe, SESSION_ID};
use super::{CheckLimits, call_params};
use crate::event::{Exchange, Finding, Phase, ReproductionCall};
use crate::plan::{CheckContext, CloseServer};
use crate::session::{CallFailure, Cancelled, FailureReason, Session, SessionReply, SessionRequest};
use crate::source::{beginning, beginning_of_json};
use crate::transport::http::ReadUntil;
use crate::wire::{Channel, Direction, Frame, ListKind};

/// The number of resources and prompts that are looked at.
const MOST_READ: usize = 32;

/// The number of characters of a message that are shown.
const SHOWN: usize = 600;

/// The limits of a round, and what happened in its sessions so far.
pub(crate) struct VisitRound<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) limits: CheckLimits,
    failures: RoundFailures,
    frames: Vec<u32>,
}

/// The requests of a round that got no answer.
#[derive(Debug, Default)]
struct RoundFailures {
    /// Tools that did not answer in time, which are not called again.
    silent: BTreeSet<String>,
    /// The first request that got no answer in time.
    silent_request: Option<ReproductionCall>,
    /// The exit of a server that ended by itself.
    exit: Option<Finding>,
    /// The reason why a request got no answer, the first time.
    first: Option<Finding>,
}

impl RoundFailures {
    /// Takes in why a request got no answer.
    fn note(&mut self, failure: &CallFailure, tool: Option<&str>, request: Option<ReproductionCall>) {
        self.first.get_or_insert_with(|| Finding::from(failure));
        match failure.reason {
            FailureReason::Timeout(_) => {
                self.silent.extend(tool.map(str::to_owned));
                self.silent_request = self.silent_request.take().or(request);
            }
            FailureReason::Exited(_) => drop(self.exit.get_or_insert_with(|| Finding::from(failure))),
            FailureReason::Protocol(_)
            | FailureReason::NotRead(_)
            | FailureReason::RefusedWhole(_)
            | FailureReason::Http(_) => {}
        }
    }
}

/// Something that a session showed.
#[derive(Debug, Clone)]
pub(crate) struct ShownText {
    /// The place, in words.
    pub(crate) place: String,
    /// The text in which canaries are looked for.
    pub(crate) text: String,
    /// The tool that showed it.
    pub(crate) tool: Option<String>,
    /// The request that it answers; `None` where nobody asked.
    pub(crate) request: Option<ReproductionCall>,
    pub(crate) exchange: Exchange,
    /// It is the answer that was asked for, and no error.
    pub(crate) is_served: bool,
}

impl ShownText {
    /// The tool or request that showed it, in short.
    pub(crate) fn subject(&self) -> &str {
        self.tool.as_deref().unwrap_or(&self.exchange.title)
    }

    /// The result of an answer, without the id that differs from answer to answer.
    pub(crate) fn result(&self) -> Value {
        serde_json::from_str::<Value>(&self.text).map(|mut message| message["result"].take()).unwrap_or_default()
    }

    /// The request that it answers.
    pub(crate) fn request(&self) -> Option<&ReproductionCall> {
        self.request.as_ref()
    }

    /// An answer of a tool with this text.
    #[cfg(test)]
    pub(crate) fn of_test(tool: &str, text: &str, is_served: bool) -> Self {
        let (frame, params, late, elapsed) = (0, Value::Null, Vec::new(), std::time::Duration::ZERO);
        let cancelled = Cancelled { frame, params, is_cancelled: false, late, progress_after: 0, elapsed };
        let cancelled = Self::of_cancelled_call(tool, &json!({}), &cancelled);
        let request = ReproductionCall::new("tools/call", json!({"name": tool}));
        Self { text: text.to_owned(), request: Some(request), is_served, ..cancelled }
    }

    /// The answer to a request.
    fn of_reply(reply: &SessionReply, method: &str, params: &Value, tool: Option<&str>) -> Self {
        let subject = tool.or_else(|| params["uri"].as_str()).or_else(|| params["name"].as_str());
        let title = subject.map_or_else(|| method.to_owned(), |subject| format!("{method} {subject}"));
        let sent = if tool.is_some() { &params["arguments"] } else { params };
        Self {
            place: format!("the answer of `{}`", tool.unwrap_or(&title)),
            text: reply.message.to_string(),
            tool: tool.map(str::to_owned),
            request: Some(ReproductionCall::new(method, params.clone())),
            exchange: Exchange {
                phase: Phase::Steps,
                title,
                tool: tool.map(str::to_owned),
                sent: if sent.is_null() { String::new() } else { beginning_of_json(sent, SHOWN) },
                received: beginning_of_json(&*reply.message, SHOWN),
                frame: reply.frame,
                answer_frame: Some(reply.answer_frame),
                elapsed_us: u64::try_from(reply.elapsed.as_micros()).unwrap_or(u64::MAX),
            },
            is_served: reply.is_served(),
        }
    }

    /// A call that was cancelled, so that nothing answers it.
    pub(crate) fn of_cancelled_call(tool: &str, arguments: &Value, cancelled: &Cancelled) -> Self {
        Self {
            place: format!("the call of `{tool}`"),
            text: String::new(),
            tool: Some(tool.to_owned()),
            request: None,
            exchange: Exchange {
                phase: Phase::Steps,
                title: format!("tools/call {tool}"),
                tool: Some(tool.to_owned()),
                sent: beginning_of_json(arguments, SHOWN),
                received: String::new(),
                frame: cancelled.frame,
                answer_frame: None,
                elapsed_us: u64::try_from(cancelled.elapsed.as_micros()).unwrap_or(u64::MAX),
            },
            is_served: false,
        }
    }
}

impl<'a> VisitRound<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, limits: CheckLimits) -> Self {
        Self { context, limits, failures: RoundFailures::default(), frames: Vec::new() }
    }

    /// The exit of a server that ended by itself.
    pub(crate) fn exit(&self) -> Option<Finding> {
        self.failures.exit.clone()
    }

    /// The reason why a request got no answer, the first time.
    pub(crate) fn failure(&self) -> Option<Finding> {
        self.failures.first.clone()
    }

    /// Forgets which tools were silent and how servers ended, before other servers are asked.
    pub(crate) fn forget_failures(&mut self) {
        let silent_request = self.failures.silent_request.take();
        self.failures = RoundFailures { silent_request, ..RoundFailures::default() };
    }

    /// Ends a session, and its server where that is its own.
    pub(crate) async fn close(&mut self, session: Session) {
        if self.failures.exit.is_some() {
            session.mark_exit_reported();
        }
        if let Some(found) = self.context.servers.close(&session, CloseServer::AfterTeardown).await.exit {
            self.failures.exit.get_or_insert(found);
        }
    }

    /// Tools that did not answer in time.
    pub(crate) fn silent(&self) -> Vec<String> {
        self.failures.silent.iter().cloned().collect()
    }

    pub(crate) fn take_frames(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.frames)
    }

    /// Calls a tool; `None` where no answer came, or none is to be expected: other cases tell of that.
    pub(crate) async fn call(&mut self, session: &Session, tool: &str, arguments: &Value) -> Option<ShownText> {
        if session.is_silent(tool, self.context.owner, || true) {
            self.failures.silent.insert(tool.to_owned());
        }
        if self.failures.silent.contains(tool) || session.ends_server(tool, self.context.owner) {
            return None;
        }
        self.ask(session, "tools/call", call_params(tool, arguments), Some(tool)).await
    }

    /// Makes a request again that was answered before.
    pub(crate) async fn repeat(&mut self, session: &Session, shown: &ShownText) -> Option<ShownText> {
        let request = shown.request.clone()?;
        self.ask(session, &request.method, request.params, shown.tool.as_deref()).await
    }

    pub(crate) async fn ask(
        &mut self,
        session: &Session,
        method: &str,
        params: Value,
        tool: Option<&str>,
    ) -> Option<ShownText> {
        if self.limits.is_over() || !session.is_open() {
            return None;
        }
        let request = SessionRequest {
            owner: self.context.owner,
            method,
            params: (!params.is_null()).then(|| params.clone()),
            timeout: Some(self.context.request_timeout.min(self.limits.remaining())),
            progress: false,
        };
        match session.request(request).await {
            Ok(reply) => Some(self.note_reply(&reply, method, &params, tool)),
            Err(failure) => {
                self.note(&failure, tool, Some(ReproductionCall::new(method, params)));
                None
            }
        }
    }

    /// The finding where a fresh server does not answer the first request without an answer either.
    pub(crate) async fn find_silence(&self) -> Option<Finding> {
        find_silence(self.context, self.limits.clone(), self.failures.silent_request.as_ref()?).await
    }

    /// Posts a request with the headers of a session and the id of another one; `None` where no answer came.
    pub(crate) async fn post_in(
        &mut self,
        session: &Session,
        session_id: &str,
        request: &ReproductionCall,
        tool: Option<&str>,
    ) -> Option<ShownText> {
        let mut body = json!({"jsonrpc": "2.0", "id": "mcprove-state", "method": request.method});
        if !request.params.is_null() {
            body["params"] = request.params.clone();
        }
        let begun = Instant::now();
        let probe = HttpProbe {
            method: "POST",
            body: Some(&body),
            headers: &[(SESSION_ID, session_id)],
            until: ReadUntil::Answer,
            deadline: self.limits.deadline().min(begun + self.context.request_timeout),
        };
        let exchange = probe.send(session, self.context.owner).await?;
        let message = exchange.messages().into_iter().find(|message| message["id"] == body["id"])?;
        let reply = SessionReply {
            message: message.into(),
            params: request.params.clone(),
            frame: exchange.frame,
            answer_frame: exchange.answer_frame?,
            elapsed: begun.elapsed(),
            notifications: Vec::new(),
        };
        Some(self.note_reply(&reply, &request.method, &request.params, tool))
    }

    fn note(&mut self, failure: &CallFailure, tool: Option<&str>, request: Option<ReproductionCall>) {
        self.frames.extend(failure.frame);
        self.failures.note(failure, tool, request);
    }

    fn note_reply(&mut self, reply: &SessionReply, method: &str, params: &Value, tool: Option<&str>) -> ShownText {
        self.frames.extend([reply.frame, reply.answer_frame]);
        ShownText::of_reply(reply, method, params, tool)
    }

    /// The lists of a session, and what its resources and prompts show.
    pub(crate) async fn visit_lists(&mut self, session: &Session) -> Vec<ShownText> {
        let mut shown = Vec::new();
        for kind in ListKind::ALL {
            let items = self.list(session, kind, &mut shown).await;
            for request in items.iter().filter_map(|item| request_for(kind, item)).take(MOST_READ) {
                shown.extend(self.ask(session, &request.method, request.params, None).await);
            }
        }
        shown
    }

    /// The items of a list, which is shown with all its pages.
    async fn list(&mut self, session: &Session, kind: ListKind, shown: &mut Vec<ShownText>) -> Vec<Value> {
        let is_declared = session.server.capabilities.get(kind.capability()).is_some_and(|value| !value.is_null());
        if !is_declared || self.limits.is_over() || !session.is_open() {
            return Vec::new();
        }
        match timeout(self.limits.remaining(), session.list(self.context.owner, kind)).await {
            Ok(Ok(reply)) => {
                shown.push(self.note_reply(&reply, kind.method(), &Value::Null, None));
                reply.message["result"][kind.member()].as_array().cloned().unwrap_or_default()
            }
            Ok(Err(failure)) => {
                self.note(&failure, None, None);
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Notifications, requests of the server and lines of standard error.
    pub(crate) fn unrequested_messages(session: &Session, answered: &[ShownText]) -> Vec<ShownText> {
        let answers: BTreeSet<u32> = answered.iter().filter_map(|shown| shown.exchange.answer_frame).collect();
        unrequested_in(&session.frames(), &answers)
    }
}

/// The messages among the frames of a session that answer no request, and lines of standard error.
fn unrequested_in(frames: &[Frame], answers: &BTreeSet<u32>) -> Vec<ShownText> {
    let sent = frames.iter().filter(|frame| frame.direction == Direction::Sent);
    let asked: BTreeSet<String> = sent.filter_map(|frame| Some(frame.json().ok()?.get("id")?.to_string())).collect();
    // The pages of a list are in what it shows. A request of the server may have the id of one of the client.
    let is_answer = |frame: &&Frame| {
        let message = frame.json().ok().filter(|message| message.get("method").is_none());
        let id = message.and_then(|message| Some(message.get("id")?.to_string()));
        answers.contains(&frame.seq) || id.is_some_and(|id| asked.contains(&id))
    };
    let received = frames.iter().filter(|frame| frame.direction == Direction::Received && !is_answer(frame));
    let shown = received.map(|frame| {
        let message = frame.json().unwrap_or_default();
        let method = message["method"].as_str();
        let place = match (frame.channel, method) {
            (Channel::Stderr, _) => "standard error".to_owned(),
            (Channel::Protocol | Channel::Http, Some(method)) => format!("the message `{method}`"),
            (Channel::Protocol | Channel::Http, None) => "a message that answers no request".to_owned(),
        };
        let text = frame.text();
        ShownText {
            exchange: Exchange {
                phase: Phase::Steps,
                title: method.unwrap_or(&place).to_owned(),
                tool: None,
                sent: String::new(),
                received: beginning(&text, SHOWN),
                frame: 0,
                answer_frame: Some(frame.seq),
                elapsed_us: 0,
            },
            place,
            text,
            tool: None,
            request: None,
            is_served: false,
        }
    });
    shown.collect()
}

/// The request that shows an item of a list; `None` where the list shows all there is.
fn request_for(kind: ListKind, item: &Value) -> Option<ReproductionCall> {
    let call = |method: &str, params: Value| Some(ReproductionCall::new(method, params));
    match kind {
        ListKind::Resources => call("resources/read", json!({"uri": item["uri"].as_str()?})),
        ListKind::Prompts => {
            let needed =
                item["arguments"].as_array().into_iter().flatten().filter(|argument| argument["required"] == true);
            let arguments: serde_json::Map<String, Value> =
                needed.filter_map(|argument| Some((argument["name"].as_str()?.to_owned(), "text".into()))).collect();
            call("prompts/get", json!({"name": item["name"].as_str()?, "arguments": arguments}))
        }
        ListKind::Tools | ListKind::ResourceTemplates => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::failure_of_test;
    use crate::check::tests::{frames, refused, served};
    use crate::transport::ServerExit;

    #[test]
    fn items_of_lists_are_read_as_far_as_a_request_shows_them() {
        let prompt = json!({"name": "ask", "arguments": [{"name": "topic", "required": true}, {"name": "tone"}]});
        let asked = json!({"name": "ask", "arguments": {"topic": "text"}});
        for (kind, item, expected) in [
            (ListKind::Resources, json!({"uri": "users://u1"}), Some(("resources/read", json!({"uri": "users://u1"})))),
            (ListKind::Resources, json!({"name": "no address"}), None),
            (ListKind::Prompts, prompt, Some(("prompts/get", asked))),
            (ListKind::Prompts, json!({"name": "ask"}), Some(("prompts/get", json!({"name": "ask", "arguments": {}})))),
            (ListKind::Prompts, json!(7), None),
            (ListKind::Tools, json!({"name": "add"}), None),
            (ListKind::ResourceTemplates, json!({"uriTemplate": "users://{id}"}), None),
        ] {
            let request = request_for(kind, &item).map(|call| (call.method, call.params));
            assert_eq!(request, expected.map(|(method, params)| (method.to_owned(), params)), "{item}");
        }
    }

    #[test]
    fn results_are_without_the_id_of_the_answer() {
        for (text, expected) in [
            (r#"{"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}"#, json!({"a": 1})),
            (r#"{"jsonrpc": "2.0", "id": 7, "error": {"code": 1}}"#, json!(null)),
            ("no JSON", json!(null)),
        ] {
            assert_eq!(ShownText::of_test("get", text, true).result(), expected, "{text}");
        }
    }

    #[test]
    fn everything_that_answers_no_request_is_looked_at() {
        use Channel::{Http, Protocol, Stderr};
        use Direction::{Received, Sent};
        let asked = (Sent, Protocol, r#"{"id": 7, "method": "tools/list"}"#);
        for (comes, frame, place) in [
            (
                "a notification",
                (Received, Protocol, r#"{"method": "notifications/message"}"#),
                Some("the message `notifications/message`"),
            ),
            ("the head of a response", (Received, Http, "HTTP/1.1 200 OK"), Some("a message that answers no request")),
            (
                "a request of the server",
                (Received, Protocol, r#"{"id": "s1", "method": "roots/list"}"#),
                Some("the message `roots/list`"),
            ),
            (
                "one with an id of the client",
                (Received, Protocol, r#"{"id": 7, "method": "roots/list"}"#),
                Some("the message `roots/list`"),
            ),
            ("a line of standard error", (Received, Stderr, "ready"), Some("standard error")),
            (
                "a line of standard error with JSON",
                (Received, Stderr, r#"{"level": "info", "id": 8}"#),
                Some("standard error"),
            ),
            (
                "a response to nothing",
                (Received, Protocol, r#"{"id": 9, "result": {}}"#),
                Some("a message that answers no request"),
            ),
            ("no JSON", (Received, Protocol, "{"), Some("a message that answers no request")),
            ("the response", (Received, Protocol, r#"{"id": 7, "result": {}}"#), None),
            ("an error", (Received, Protocol, r#"{"id": 7, "error": {"code": 1}}"#), None),
            ("an answer of the client", (Sent, Protocol, r#"{"id": "s1", "result": {}}"#), None),
        ] {
            let shown = unrequested_in(&frames(&[asked, frame]), &BTreeSet::new());
            let places: Vec<&str> = shown.iter().map(|shown| shown.place.as_str()).collect();
            assert_eq!(places, Vec::from_iter(place), "{comes}");
            assert!(shown.iter().all(|shown| !shown.is_served && shown.text == frame.2), "{comes}");
        }
        // An answer is known by its frame even where nobody kept its id.
        let frames = frames(&[(Received, Protocol, r#"{"id": 9, "result": {}}"#)]);
        let seq = frames[0].seq;
        assert!(unrequested_in(&frames, &[seq].into()).is_empty());
    }

    #[test]
    fn a_round_remembers_who_was_silent_and_how_the_server_ended() {
        let late = || failure_of_test(FailureReason::Timeout(std::time::Duration::from_secs(1)));
        let torn = || failure_of_test(FailureReason::Protocol("no JSON".to_owned()));
        let exited = || failure_of_test(FailureReason::Exited(ServerExit::Status(3)));
        for (fails, failures, silent, is_hang, has_exit, first) in [
            ("nothing", vec![], &[][..], false, false, None),
            ("an answer that is late", vec![(late(), Some("add"))], &["add"], true, false, Some("timeout")),
            ("a list that is late", vec![(late(), None)], &[], true, false, Some("timeout")),
            ("an answer that is torn", vec![(torn(), Some("add"))], &[], false, false, Some("protocol-error")),
            ("the server", vec![(exited(), Some("add"))], &[], false, true, Some("process-exited")),
            (
                "an answer, then the server",
                vec![(torn(), Some("add")), (late(), Some("get")), (exited(), Some("add"))],
                &["get"],
                true,
                true,
                Some("protocol-error"),
            ),
        ] {
            let mut round = RoundFailures::default();
            for (failure, tool) in &failures {
                round.note(failure, *tool, Some(ReproductionCall::new("tools/call", json!({"name": tool}))));
            }
            let seen = round.first.as_ref().map(|found| found.code.as_str());
            assert!(round.silent.iter().eq(silent) && seen == first, "{fails}: {round:?}");
            assert_eq!((round.silent_request.is_some(), round.exit.is_some()), (is_hang, has_exit), "{fails}");
        }
    }

    #[test]
    fn an_answer_is_shown_with_what_was_asked() {
        for (method, params, tool, place, title, sent) in [
            (
                "tools/call",
                json!({"name": "add", "arguments": {"a": 1}}),
                Some("add"),
                "the answer of `add`",
                "tools/call add",
                r#"{"a":1}"#,
            ),
            (
                "resources/read",
                json!({"uri": "users://u1"}),
                None,
                "the answer of `resources/read users://u1`",
                "resources/read users://u1",
                r#"{"uri":"users://u1"}"#,
            ),
            (
                "prompts/get",
                json!({"name": "ask"}),
                None,
                "the answer of `prompts/get ask`",
                "prompts/get ask",
                r#"{"name":"ask"}"#,
            ),
            ("tools/list", Value::Null, None, "the answer of `tools/list`", "tools/list", ""),
        ] {
            let shown = ShownText::of_reply(&served("yes"), method, &params, tool);
            assert_eq!(
                (shown.place.as_str(), shown.exchange.title.as_str(), shown.exchange.sent.as_str()),
                (place, title, sent)
            );
            assert!(shown.is_served && shown.subject() == tool.unwrap_or(title), "{}", shown.subject());
        }
        assert!(!ShownText::of_reply(&refused(), "tools/call", &json!({"name": "add"}), Some("add")).is_served);
    }
}
