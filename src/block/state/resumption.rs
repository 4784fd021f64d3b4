//! Streams over HTTP that are taken up again with `Last-Event-ID`, in the revisions with sessions: an event id of one session
//! must bring its messages to no other one.
//!
//! Requests have canaries as ids and progress tokens, so that every message shows whose request it belongs to. A server need
//! not replay anything: one that replays nothing to the session itself is not judged, unless it does to another one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::caller::{Callers, CanaryCaller};
use super::foreign::{UNKNOWN_ID, UserSession};
use super::places::{SECOND_SESSION_REFUSED, open_users, user_names, without_sessions};
use super::{IsolationKind, StateSettings};
use crate::check::canary::Canaries;
use crate::check::evidence::finding_with_help;
use crate::check::hang::find_silence;
use crate::check::raw_http::{HttpProbe, SESSION_ID};
use crate::check::{CheckEnd, CheckLimits, Confirmation};
use crate::event::{
    CheckResult, Exchange, Finding, Outcome, Phase, Reason, ReproductionCall, RequirementLevel, Severity,
};
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer};
use crate::session::{RawExchange, Session};
use crate::source::{beginning, beginning_of_json};
use crate::transport::http::{ExchangeEnd, ReadUntil};
use crate::wire::Era;
use crate::wire::sse::SseEvent;

/// The header that names the last event that came.
const LAST_EVENT_ID: &str = "last-event-id";

/// The number of requests in the search for a stream that can be resumed.
const MOST_REQUESTS: usize = 16;

/// The time that a resumed stream may be silent before nothing is expected of it any more.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(2);

/// The number of characters of a message that are shown.
const SHOWN: usize = 600;

/// Resumes the streams of one session in another one.
#[derive(Debug)]
pub(crate) struct ResumedStreamsCheck {
    pub(crate) settings: Arc<StateSettings>,
}

impl Check for ResumedStreamsCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(&self.settings, &context).await })
    }
}

async fn run(settings: &StateSettings, context: &CheckContext<'_>) -> CheckResult {
    let callers = Callers::of(context, settings);
    let mut search = ReplaySearch {
        context,
        settings,
        callers: &callers.called,
        limits: settings.limits(),
        canaries: Canaries::random(),
        frames: Vec::new(),
        silent_request: None,
        exit: None,
        protocol_revision: String::new(),
    };
    let first = search.round().await;
    match first {
        // A finding that new sessions confirm is no accident.
        Ok(StreamReplay::Foreign(_)) if search.exit.is_none() => match search.round().await {
            Ok(StreamReplay::Foreign(again)) => {
                search.result(Ok(StreamReplay::Foreign(again)), &Confirmation::of(1, 1))
            }
            again => search.result(first, &Confirmation::of_try(again.map(|_| false))),
        },
        Ok(_) | Err(_) => {
            let hang = search.find_hang().await;
            search.exit = search.exit.take().or(hang);
            search.result(first, &Confirmation::of(0, 0))
        }
    }
}

/// A stream of a session with an event id before its last message.
struct ResumableStream {
    /// The id of its request, and of the progress of that.
    canary: String,
    event_id: String,
    exchange: Exchange,
}

/// A stream that was resumed where it does not belong.
struct ForeignReplay {
    stream: ResumableStream,
    place: ResumePlace,
    exchange: Exchange,
}

/// A place where a stream is resumed, apart from its own session.
struct ResumePlace {
    isolation: IsolationKind,
    /// The place in words, such as `in another session`.
    words: String,
}

/// The outcome of one search.
enum StreamReplay {
    /// A message came where it does not belong.
    Foreign(Box<ForeignReplay>),
    /// A message of this request came to the session that it belongs to, and nowhere else.
    Own(String),
    /// No message came anywhere.
    Nothing,
}

/// The search for a stream that another session can resume.
struct ReplaySearch<'a> {
    context: &'a CheckContext<'a>,
    settings: &'a StateSettings,
    callers: &'a [CanaryCaller],
    limits: CheckLimits,
    canaries: Canaries,
    frames: Vec<u32>,
    /// The first request to which nothing came back.
    silent_request: Option<ReproductionCall>,
    /// The server ended, or answers nothing after that request.
    exit: Option<Finding>,
    protocol_revision: String,
}

impl ReplaySearch<'_> {
    /// Opens new sessions, and resumes a stream of the first one in each of the others.
    async fn round(&mut self) -> Result<StreamReplay, CheckEnd> {
        let host = self.context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
        self.protocol_revision = host.server.revision.to_string();
        let mut sessions = Vec::new();
        let seen = match self.open_sessions(&host, &mut sessions).await {
            Ok(()) => self.resume(&sessions).await,
            Err(why) => Err(why),
        };
        for session in sessions.into_iter().map(|user| user.session).chain([host]) {
            let exit = self.context.servers.close(&session, CloseServer::AfterTeardown).await.exit;
            self.exit = self.exit.take().or(exit);
        }
        seen
    }

    /// Opens a session for each user, and two sessions beside one another where sessions are kept apart.
    async fn open_sessions(&self, host: &Session, sessions: &mut Vec<UserSession>) -> Result<(), CheckEnd> {
        let revision = host.server.revision;
        if revision.era() == Era::Stateless {
            let why = format!("revision {revision} has no streams that can be resumed");
            return Err(CheckEnd::not_applicable(why));
        }
        if self.settings.isolation.contains(&IsolationKind::Users) && user_names(self.context).len() > 1 {
            open_users(self.context, host, sessions).await?;
        }
        if !self.settings.isolation.contains(&IsolationKind::Sessions) {
            return Ok(());
        }
        let has_id = host.endpoint().is_some_and(|endpoint| endpoint.session_id().is_some());
        if let Some(why) = without_sessions(revision, has_id) {
            let is_alone = sessions.is_empty();
            return if is_alone { Err(CheckEnd::not_applicable(why)) } else { Ok(()) };
        }
        let missing = if sessions.is_empty() { 2 } else { 1 };
        for _ in 0..missing {
            let session = self.context.servers.open(OpenServer::of(host)).await;
            let session = session.map_err(|_| CheckEnd::inconclusive(SECOND_SESSION_REFUSED))?;
            sessions.push(UserSession { name: String::new(), session });
        }
        Ok(())
    }

    async fn resume(&mut self, sessions: &[UserSession]) -> Result<StreamReplay, CheckEnd> {
        let [owner, others @ ..] = sessions else { return Ok(StreamReplay::Nothing) };
        let stream = self.resumable_stream(&owner.session).await?;
        let in_session = |words: &str| ResumePlace { isolation: IsolationKind::Sessions, words: words.to_owned() };
        let mut attempts: Vec<(ResumePlace, &Session, Option<&str>)> = Vec::new();
        for other in others {
            if other.name.is_empty() {
                attempts.push((in_session("in another session"), &other.session, None));
                attempts.push((in_session("under an unknown session id"), &other.session, Some(UNKNOWN_ID)));
            } else {
                let words = format!("by the user `{}`", other.name);
                attempts.push((ResumePlace { isolation: IsolationKind::Users, words }, &other.session, None));
            }
        }
        for (place, session, session_id) in attempts {
            if let Some(exchange) = self.replay(session, session_id, &stream).await {
                return Ok(StreamReplay::Foreign(Box::new(ForeignReplay { stream, place, exchange })));
            }
        }
        // Last, since a server may keep an event only until it was replayed.
        let own = self.replay(&owner.session, None, &stream).await;
        if own.is_none() && self.limits.is_over() {
            return Err(self.limits.out_of_time());
        }
        Ok(if own.is_some() { StreamReplay::Own(stream.exchange.title) } else { StreamReplay::Nothing })
    }

    /// Makes requests until one is answered with a stream that can be resumed.
    async fn resumable_stream(&mut self, owner: &Session) -> Result<ResumableStream, CheckEnd> {
        let (mut is_answered, mut has_ids) = (false, false);
        for (title, mut body) in self.requests().into_iter().take(MOST_REQUESTS) {
            if self.limits.is_over() {
                return Err(self.limits.out_of_time());
            }
            let canary = self.canaries.make();
            body["id"] = json!(canary);
            body["params"]["_meta"] = json!({"progressToken": canary});
            let sent = body["params"].to_string();
            let probe = HttpProbe {
                method: "POST",
                body: Some(&body),
                headers: &[],
                until: ReadUntil::Answer,
                deadline: self.limits.deadline().min(Instant::now() + self.context.request_timeout),
            };
            let answered = self.send(owner, &probe).await;
            if answered
                .as_ref()
                .is_none_or(|exchange| exchange.messages().is_empty() && exchange.ended != ExchangeEnd::Complete)
            {
                let (method, params) = (body["method"].as_str().unwrap_or_default().to_owned(), body["params"].clone());
                self.silent_request.get_or_insert(ReproductionCall::new(method, params));
            }
            let Some(exchange) = answered else { continue };
            is_answered |= exchange.messages().iter().any(|message| belongs_to(message, &canary));
            has_ids |= exchange.response.events.iter().any(|event| event.id.is_some());
            if let Some(event_id) = event_id_before_end(&exchange.response.events, &canary) {
                let tool = Exchange::tool_of(&title, &body["params"]);
                let exchange = Exchange { tool, ..exchange_of(&title, &sent, &exchange, &canary) };
                return Ok(ResumableStream { canary, event_id, exchange });
            }
        }
        if self.limits.is_over() {
            return Err(self.limits.out_of_time());
        }
        Err(if !is_answered {
            CheckEnd::inconclusive("no request was answered, so there was no stream to resume")
        } else if has_ids {
            CheckEnd::not_applicable("no stream had an event id before its last message, so there is nothing to resume")
        } else {
            CheckEnd::not_applicable("the server sends no event ids, so no stream can be resumed")
        })
    }

    /// Requests that may be answered with a stream, without their ids, those that change data last.
    fn requests(&self) -> Vec<(String, Value)> {
        let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        let mut callers: Vec<&CanaryCaller> = self.callers.iter().collect();
        callers.sort_by_key(|caller| !caller.only_reads);
        let calls = callers.into_iter().map(|caller| {
            let params = json!({"name": caller.name, "arguments": caller.arguments.base()});
            (format!("tools/call {}", caller.name), request("tools/call", params))
        });
        [("tools/list".to_owned(), request("tools/list", json!({})))].into_iter().chain(calls).collect()
    }

    /// Resumes a stream, in its own session or elsewhere; `None` where no message of it comes.
    async fn replay(
        &mut self,
        session: &Session,
        session_id: Option<&str>,
        stream: &ResumableStream,
    ) -> Option<Exchange> {
        let last = (LAST_EVENT_ID, stream.event_id.as_str());
        let headers: Vec<(&str, &str)> = [last].into_iter().chain(session_id.map(|id| (SESSION_ID, id))).collect();
        let probe = HttpProbe {
            method: "GET",
            body: None,
            headers: &headers,
            until: ReadUntil::Answer,
            deadline: self.limits.deadline().min(Instant::now() + REPLAY_TIMEOUT.min(self.context.request_timeout)),
        };
        let exchange = self.send(session, &probe).await?;
        let sent = format!("Last-Event-ID: {}", stream.event_id);
        replays(&exchange, &stream.canary).then(|| exchange_of("GET", &sent, &exchange, &stream.canary))
    }

    /// The finding where the first request without an answer silences a fresh server.
    async fn find_hang(&self) -> Option<Finding> {
        find_silence(self.context, self.limits.clone(), self.silent_request.as_ref()?).await
    }

    async fn send(&mut self, session: &Session, probe: &HttpProbe<'_>) -> Option<RawExchange> {
        let exchange = probe.send(session, self.context.owner).await?;
        self.frames.extend([exchange.frame].into_iter().chain(exchange.answer_frame));
        Some(exchange)
    }

    fn result(self, seen: Result<StreamReplay, CheckEnd>, confirmation: &Confirmation) -> CheckResult {
        let Self { settings, frames, exit, protocol_revision, .. } = self;
        let result = judge(seen, exit, confirmation, |isolation| settings.promises(isolation));
        CheckResult { protocol_revision, frames, ..result }
    }
}

fn judge(
    seen: Result<StreamReplay, CheckEnd>,
    exit: Option<Finding>,
    confirmation: &Confirmation,
    is_promised: impl Fn(IsolationKind) -> bool,
) -> CheckResult {
    match (seen, exit) {
        (Ok(StreamReplay::Foreign(replay)), _) => {
            let level =
                if is_promised(replay.place.isolation) { RequirementLevel::Must } else { RequirementLevel::Should };
            let found = CheckEnd::failed(finding(&replay, level, confirmation)).into_result();
            CheckResult { exchanges: vec![replay.stream.exchange, replay.exchange], ..found }
        }
        (Err(end @ CheckEnd::Unavailable(_)), _) | (Err(end), None) => end.into_result(),
        (Ok(_) | Err(_), Some(exit)) => CheckEnd::failed(exit).into_result(),
        (Ok(StreamReplay::Own(title)), None) => {
            let note = format!("the stream of `{title}` was resumed in its own session, and nowhere else");
            CheckResult::because(Outcome::Passed, Reason::Measured(note))
        }
        (Ok(StreamReplay::Nothing), None) => CheckResult::not_applicable(
            "the server sends event ids but replays nothing, not even to the session that they belong to",
        ),
    }
}

/// A response is a stream with a message of the request of this id.
fn replays(exchange: &RawExchange, canary: &str) -> bool {
    exchange.response.is_stream() && exchange.messages().iter().any(|message| belongs_to(message, canary))
}

/// A message answers the request of this id, or reports its progress. Other places may only repeat an event id.
fn belongs_to(message: &Value, canary: &str) -> bool {
    message["id"] == canary || message["params"]["progressToken"] == canary
}

/// The first event id of a stream after which a message of its request came.
fn event_id_before_end(events: &[SseEvent], canary: &str) -> Option<String> {
    let is_of_request =
        |event: &SseEvent| serde_json::from_slice(&event.data).is_ok_and(|message| belongs_to(&message, canary));
    let last = events.iter().rposition(is_of_request)?;
    events[..last].iter().filter_map(|event| event.id.clone()).find(|id| !id.is_empty())
}

/// A raw exchange as reports show it, with the last message of a request.
fn exchange_of(title: &str, sent: &str, exchange: &RawExchange, canary: &str) -> Exchange {
    let messages = exchange.messages();
    let last = messages.iter().rfind(|message| belongs_to(message, canary));
    Exchange {
        phase: Phase::Steps,
        title: title.to_owned(),
        tool: None,
        sent: beginning(sent, SHOWN),
        received: last.map(|message| beginning_of_json(message, SHOWN)).unwrap_or_default(),
        frame: exchange.frame,
        answer_frame: exchange.answer_frame,
        elapsed_us: 0,
    }
}

fn finding(replay: &ForeignReplay, level: RequirementLevel, confirmation: &Confirmation) -> Finding {
    let is_certain = confirmation.level(level) == RequirementLevel::Must;
    let ForeignReplay { stream, place: ResumePlace { isolation, words }, exchange } = replay;
    let message =
        format!("a stream of one session was resumed {words}: a message about its `{}` came", stream.exchange.title);
    let isolation = isolation.as_str();
    let keep =
        "accept an event id only in the session and by the user whose stream it is; answer others with 400 or 404";
    let help =
        if is_certain { keep.to_owned() } else { format!("{keep}; have this fail with `isolation: [{isolation}]`") };
    let found = Finding {
        level,
        severity: Some(if is_certain { Severity::Critical } else { Severity::Low }),
        exchange: Some(1),
        frame: exchange.answer_frame,
        ..finding_with_help("resumed-stream", message, help)
    }
    .with_evidence("sent", format!("GET with `Last-Event-ID: {}`, an event id of the first session", stream.event_id))
    .with_evidence(
        "came",
        format!("a message about the request `{}`, which only the first session sent", stream.canary),
    );
    confirmation.weigh(found, "in new sessions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::response;

    fn foreign() -> StreamReplay {
        let exchange = || Exchange {
            phase: Phase::Steps,
            title: "tools/list".to_owned(),
            tool: None,
            sent: String::new(),
            received: String::new(),
            frame: 1,
            answer_frame: Some(2),
            elapsed_us: 0,
        };
        let (canary, event_id, words) = ("kw1".to_owned(), "7".to_owned(), "in another session".to_owned());
        let place = ResumePlace { isolation: IsolationKind::Sessions, words };
        let stream = ResumableStream { canary, event_id, exchange: exchange() };
        StreamReplay::Foreign(Box::new(ForeignReplay { stream, place, exchange: exchange() }))
    }

    #[test]
    fn a_foreign_replay_fails_if_it_is_promised_and_happens_twice() {
        for (is_promised, is_confirmed, outcome) in [
            (true, true, Outcome::Failed),
            (true, false, Outcome::Warned),
            (false, true, Outcome::Warned),
            (false, false, Outcome::Warned),
        ] {
            let result = judge(Ok(foreign()), None, &Confirmation::of_try(Ok(is_confirmed)), |_| is_promised);
            assert_eq!((result.outcome, result.exchanges.len()), (outcome, 2), "{is_promised} {is_confirmed}");
        }
    }

    #[test]
    fn other_rounds_pass_only_where_a_stream_was_resumed() {
        let exit = || Some(Finding::new("exit", "it ended"));
        for (seen, exit, outcome) in [
            (Ok(StreamReplay::Own("tools/list".to_owned())), None, Outcome::Passed),
            (Ok(StreamReplay::Own("tools/list".to_owned())), exit(), Outcome::Failed),
            (Ok(StreamReplay::Nothing), None, Outcome::Skipped),
            (Err(CheckEnd::inconclusive("silent")), None, Outcome::Inconclusive),
            (Err(CheckEnd::inconclusive("silent")), exit(), Outcome::Failed),
            (Err(CheckEnd::unavailable(Finding::new("start", "no"))), exit(), Outcome::Errored),
        ] {
            assert_eq!(judge(seen, exit, &Confirmation::of(0, 0), |_| true).outcome, outcome);
        }
    }

    #[test]
    fn messages_belong_to_the_request_of_their_id_or_token() {
        for (message, expected) in [
            (json!({"id": "kw1", "result": {}}), true),
            (json!({"method": "notifications/progress", "params": {"progressToken": "kw1"}}), true),
            (json!({"id": "kw2", "result": {"text": "kw1"}}), false),
            (json!({"method": "notifications/message", "params": {"data": "kw1"}}), false),
        ] {
            assert_eq!(belongs_to(&message, "kw1"), expected, "{message}");
        }
    }

    #[test]
    fn a_stream_can_be_resumed_from_an_id_before_its_last_message() {
        let event = |id: Option<&str>, data: &str| SseEvent {
            kind: String::new(),
            data: data.as_bytes().to_vec(),
            id: id.map(str::to_owned),
        };
        let progress = r#"{"method": "notifications/progress", "params": {"progressToken": "kw1"}}"#;
        let (answer, other) = (r#"{"id": "kw1", "result": {}}"#, r#"{"id": "kw2", "result": {}}"#);
        for (stream, events, expected) in [
            ("an empty event first", vec![event(Some("1"), ""), event(Some("2"), answer)], Some("1")),
            ("progress first", vec![event(Some("1"), progress), event(Some("2"), answer)], Some("1")),
            (
                "an id on the first of three",
                vec![event(Some("1"), ""), event(None, progress), event(None, answer)],
                Some("1"),
            ),
            ("an id on the answer alone", vec![event(None, progress), event(Some("2"), answer)], None),
            ("no ids", vec![event(None, progress), event(None, answer)], None),
            ("an id that was reset", vec![event(Some(""), ""), event(Some("2"), answer)], None),
            ("an id behind the answer", vec![event(None, answer), event(Some("3"), "")], None),
            ("the answer to another request", vec![event(Some("1"), ""), event(Some("2"), other)], None),
            ("no events", Vec::new(), None),
        ] {
            assert_eq!(event_id_before_end(&events, "kw1").as_deref(), expected, "{stream}");
        }
    }

    #[test]
    fn a_finding_says_how_to_have_it_fail_where_it_only_warns() {
        let StreamReplay::Foreign(replay) = foreign() else { unreachable!() };
        for (level, is_seen_again, is_advised) in [
            (RequirementLevel::Must, true, false),
            (RequirementLevel::Must, false, true),
            (RequirementLevel::Should, true, true),
        ] {
            let found = finding(&replay, level, &Confirmation::of_try(Ok(is_seen_again)));
            let help = found.help.unwrap_or_default();
            assert_eq!(help.contains("have this fail with `isolation: [sessions]`"), is_advised, "{help}");
            assert!(found.message.contains("resumed in another session"), "{}", found.message);
        }
    }

    #[test]
    fn a_stream_is_resumed_if_a_message_of_its_request_comes_again() {
        let (answer, other) = (r#"{"id": "kw1", "result": {}}"#, r#"{"id": "kw2", "result": {"text": "kw1"}}"#);
        let stream = |messages: &[&str]| {
            let events = messages.iter().map(|message| format!("data: {message}\n\n")).collect::<Vec<_>>();
            response(200, "text/event-stream", &events.concat())
        };
        for (server, exchange, expected) in [
            ("sends the answer again", stream(&[answer]), true),
            ("sends it behind another message", stream(&[other, answer]), true),
            ("opens a stream of its own", stream(&[]), false),
            ("sends what others asked for", stream(&[other]), false),
            // Whatever it is, it is no stream that is resumed.
            ("answers with JSON", response(200, "application/json", answer), false),
            ("knows no such session", response(404, "application/json", answer), false),
            ("has no streams", response(405, "text/plain", ""), false),
        ] {
            assert_eq!(replays(&exchange, "kw1"), expected, "the server {server}");
        }
    }
}
