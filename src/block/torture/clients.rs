//! The sessions of a case, and their calls: one after another, or many at a time. Every call ends within the time of the
//! case, whatever the server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Torture;
use super::template::ArgumentTemplate;
use crate::check::canary::Canaries;
use crate::check::evidence::exchange;
use crate::check::{CheckEnd, CheckLimits, CheckRequest, CheckSession, SessionCaller, goes_on, with_exit};
use crate::event::{CheckResult, Exchange, Finding};
use crate::plan::CheckContext;
use crate::plan::arguments::ConfigSource;
use crate::session::{CallFailure, FailureReason, RawMessage, RawReply, Session, SessionReply};
use crate::transport::{Owner, TransportKind};
use crate::wire::{ListKind, is_served};

/// The number of calls under way at a time, in all sessions together: over HTTP each has a connection of its own, which takes
/// memory here and a file descriptor on both sides.
const MOST_IN_FLIGHT: usize = 512;

/// The time for which a POST is awaited once the same one was answered.
const TWIN_TIME: Duration = Duration::from_secs(1);

/// The sessions of a case.
pub(crate) struct Clients<'a> {
    sessions: Vec<CheckSession<'a>>,
    in_flight: usize,
    limits: CheckLimits,
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// The number in its canary.
    pub(crate) number: u64,
    /// The session, as an index.
    pub(crate) session: usize,
}

/// Calls of a tool that differ in their canaries only.
#[derive(Debug, Clone)]
pub(crate) struct NumberedCalls {
    pub(crate) tool: String,
    pub(crate) template: ArgumentTemplate,
    pub(crate) canaries: Canaries,
    pub(crate) calls: Vec<Call>,
}

/// A request that follows a call in the same session at once.
pub(crate) type FollowUp = dyn Fn(&NumberedAnswer) -> Option<ToolRequest> + Send + Sync;

/// A method and its parameters.
#[derive(Debug, Clone)]
pub(crate) struct ToolRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// The way in which a call reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Once,
    /// As two requests at once that differ in their ids only.
    Twice,
    /// As two POSTs of the same bytes at once, as a proxy sends one again that it takes for lost.
    PostedTwice,
}

/// Calls at a time, and what is asked after each of them.
pub(crate) struct Concurrent<'a> {
    pub(crate) calls: &'a NumberedCalls,
    pub(crate) delivery: Delivery,
    /// The time of the slowest call that was made alone.
    pub(crate) slowest: Duration,
    pub(crate) follow_up: Option<Arc<FollowUp>>,
}

/// The answers of a round, as far as some came.
pub(crate) struct ConcurrentAnswers<T> {
    pub(crate) judged: Vec<T>,
    /// The end of the round, where some calls got no answer.
    pub(crate) end: Option<CheckEnd>,
}

/// A call that was answered.
#[derive(Debug, Clone)]
pub(crate) struct NumberedAnswer {
    pub(crate) number: u64,
    pub(crate) session: usize,
    pub(crate) reply: KeptReply,
    /// The read that followed; `None` where none did, or none was served.
    pub(crate) followed: Option<Followed>,
}

/// The read that followed a call.
#[derive(Debug, Clone)]
pub(crate) enum Followed {
    /// The text of the call.
    Own,
    /// Anything else.
    Else(KeptReply),
}

/// An answer as text, of which there may be very many.
#[derive(Debug, Clone)]
pub(crate) struct KeptReply {
    params: Box<str>,
    message: Box<str>,
    frame: u32,
    answer_frame: u32,
    pub(crate) elapsed: Duration,
    is_served: bool,
}

impl KeptReply {
    fn of(reply: &SessionReply) -> Self {
        Self {
            params: reply.params.to_string().into(),
            message: reply.message.to_string().into(),
            frame: reply.frame,
            answer_frame: reply.answer_frame,
            elapsed: reply.elapsed,
            is_served: reply.is_served(),
        }
    }

    /// The answer to a raw message; `None` where there is none.
    fn of_raw(params: &Value, reply: &RawReply) -> Option<Self> {
        let message = reply.answers.first()?;
        Some(Self {
            params: params.to_string().into(),
            message: message.to_string().into(),
            frame: reply.frame,
            answer_frame: reply.answer_frame.unwrap_or_default(),
            elapsed: reply.elapsed,
            is_served: is_served(message),
        })
    }

    /// The answer as it came, without the notifications in between.
    pub(crate) fn whole(&self) -> SessionReply {
        let parsed = |text: &str| serde_json::from_str(text).unwrap_or_default();
        SessionReply {
            message: Arc::new(parsed(&self.message)),
            params: parsed(&self.params),
            frame: self.frame,
            answer_frame: self.answer_frame,
            elapsed: self.elapsed,
            notifications: Vec::new(),
        }
    }
}

impl From<ToolRequest> for CheckRequest<'_> {
    fn from(request: ToolRequest) -> Self {
        Self::new(request.method, request.params)
    }
}

impl NumberedCalls {
    fn request(&self, call: Call) -> ToolRequest {
        let arguments = self.arguments(call);
        ToolRequest { method: "tools/call", params: json!({"name": self.tool, "arguments": arguments}) }
    }

    pub(crate) fn arguments(&self, call: Call) -> Value {
        self.template.with(&self.canaries.of(call.number))
    }
}

#[cfg(test)]
impl NumberedCalls {
    /// Calls of a tool, of which none is made.
    pub(crate) fn of_test(tool: &str, canaries: Canaries) -> Self {
        Self { tool: tool.to_owned(), template: ArgumentTemplate::of_test(), canaries, calls: Vec::new() }
    }
}

impl NumberedAnswer {
    /// A call that was answered with this message.
    #[cfg(test)]
    pub(crate) fn of_test(number: u64, message: &Value) -> Self {
        let reply = KeptReply {
            params: "{}".into(),
            message: message.to_string().into(),
            frame: 1,
            answer_frame: 2,
            elapsed: Duration::from_millis(number),
            is_served: is_served(message),
        };
        Self { number, session: 0, reply, followed: None }
    }

    fn of(call: Call, reply: KeptReply) -> Self {
        Self { number: call.number, session: call.session, reply, followed: None }
    }

    /// The tool did what it was asked to.
    pub(crate) fn is_served(&self) -> bool {
        self.reply.is_served
    }

    /// The message as text.
    pub(crate) fn text(&self) -> &str {
        &self.reply.message
    }

    /// The call of a tool and this answer, as they are shown.
    pub(crate) fn exchange(&self, tool: &str) -> Exchange {
        exchange(&format!("tools/call {tool}"), &self.reply.whole())
    }
}

impl<'a> Clients<'a> {
    /// A server with one session.
    pub(crate) async fn single(context: &'a CheckContext<'a>, limits: CheckLimits) -> Result<Self, CheckEnd> {
        let sessions = vec![CheckSession::open(context, limits.clone()).await?];
        Ok(Self { sessions, in_flight: 1, limits })
    }

    /// Opens as many sessions with one server as it has, up to those that are asked for.
    pub(crate) async fn open(context: &'a CheckContext<'a>, settings: &Torture) -> Result<Self, CheckEnd> {
        let limits = settings.limits();
        let mut sessions = vec![CheckSession::open(context, limits.clone()).await?];
        while sessions.len() < settings.sessions && !limits.is_over() {
            let Some(session) = sessions[0].open_beside().await else { break };
            sessions.push(session);
        }
        for session in &sessions {
            session.session().keep_last_frames(sessions.len());
        }
        // Where there is one session, it has the calls of all.
        let of_each = if sessions.len() == 1 { settings.in_flight * settings.sessions } else { settings.in_flight };
        let in_flight = of_each.min(MOST_IN_FLIGHT / sessions.len()).max(1);
        Ok(Self { sessions, in_flight, limits })
    }

    /// The revision that is spoken.
    fn revision(&self) -> String {
        self.sessions.first().map(|session| session.revision()).unwrap_or_default()
    }

    /// Calls with the next canaries, in turn in every session.
    pub(crate) fn calls(
        &self,
        tool: &str,
        template: &ArgumentTemplate,
        canaries: &mut Canaries,
        count: usize,
    ) -> NumberedCalls {
        let numbers = canaries.take(count);
        let calls =
            numbers.zip((0..self.sessions()).cycle()).map(|(number, session)| Call { number, session }).collect();
        NumberedCalls { tool: tool.to_owned(), template: template.clone(), canaries: canaries.clone(), calls }
    }

    /// The first session, and to whom its frames belong.
    pub(crate) fn first(&self) -> (&Session, &Owner) {
        (self.sessions[0].session(), self.sessions[0].owner())
    }

    /// Messages travel as lines of a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.sessions.iter().all(|session| !session.session().server.transport.is_over_http())
    }

    /// The server says that it has a list.
    pub(crate) fn offers(&self, kind: ListKind) -> bool {
        self.sessions[0].offers(kind)
    }

    /// Walks a list to its end.
    pub(crate) async fn list(&self, session: usize, kind: ListKind) -> Result<SessionReply, CallFailure> {
        self.sessions[session].session().list(self.sessions[session].owner(), kind).await
    }

    /// The same for a task of its own.
    pub(crate) fn list_apart(
        &self,
        session: usize,
        kind: ListKind,
    ) -> impl Future<Output = Result<SessionReply, CallFailure>> + Send + 'static {
        let caller = self.sessions[session].caller();
        async move { caller.session().list(caller.owner(), kind).await }
    }

    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The number of calls under way at a time.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight * self.sessions.len()
    }

    /// The ways in which a call can be repeated at once.
    pub(crate) fn repeated_deliveries(&self) -> &'static [Delivery] {
        // Over HTTP+SSE the answers to all POSTs come on one stream.
        let is_posted = self.sessions.iter().all(|session| session.session().server.transport == TransportKind::Http);
        if is_posted { &[Delivery::Twice, Delivery::PostedTwice] } else { &[Delivery::Twice] }
    }

    pub(crate) fn limits(&self) -> &CheckLimits {
        &self.limits
    }

    /// Waits for so long, or until the time of the case is over.
    pub(crate) async fn wait(&self, time: Duration) {
        self.limits.wait(time).await;
    }

    /// Makes a request and waits for its answer; `None` if it cannot be read and the server goes on.
    pub(crate) async fn request(&self, session: usize, request: ToolRequest) -> Result<Option<SessionReply>, CheckEnd> {
        self.sessions[session].try_request(request.into()).await
    }

    /// Makes one of the calls, and returns why it gets no answer.
    pub(crate) async fn failure_of(&self, calls: &NumberedCalls, call: Call) -> Option<CallFailure> {
        self.sessions[call.session].send(calls.request(call).into()).await.err()
    }

    /// Makes one of the calls.
    pub(crate) async fn call(&self, calls: &NumberedCalls, call: Call) -> Result<Option<NumberedAnswer>, CheckEnd> {
        self.call_with(call, calls.request(call)).await
    }

    /// Makes a call that has other arguments than its canary alone.
    pub(crate) async fn call_with(&self, call: Call, request: ToolRequest) -> Result<Option<NumberedAnswer>, CheckEnd> {
        let reply = self.request(call.session, request).await?;
        Ok(reply.map(|reply| NumberedAnswer::of(call, KeptReply::of(&reply))))
    }

    /// Makes the calls, each after the answer of the one before.
    pub(crate) async fn one_after_another(&self, calls: &NumberedCalls) -> Result<Vec<NumberedAnswer>, CheckEnd> {
        let mut answered = Vec::new();
        for call in &calls.calls {
            answered.extend(self.call(calls, *call).await?);
        }
        Ok(answered)
    }

    /// Makes the calls, several at a time in every session, and keeps what `judge` makes of the answers.
    pub(crate) async fn at_a_time<T: Send + 'static>(
        &self,
        concurrent: &Concurrent<'_>,
        judge: impl Fn(NumberedAnswer) -> Option<T> + Send + Sync + 'static,
    ) -> ConcurrentAnswers<T> {
        let Concurrent { calls, delivery, follow_up, .. } = concurrent;
        let halted = Arc::new(AtomicBool::new(false));
        let judge: Arc<AnswerJudge<T>> = Arc::new(judge);
        let shared = Arc::new((*calls).clone());
        let mut workers = JoinSet::new();
        for (at, session) in self.sessions.iter().enumerate() {
            let own: Arc<Vec<Call>> = Arc::new(calls.calls.iter().filter(|call| call.session == at).copied().collect());
            let next = Arc::new(AtomicUsize::new(0));
            for _ in 0..self.in_flight.min(own.len()) {
                let worker = Worker {
                    caller: session.caller(),
                    numbered: Arc::clone(&shared),
                    delivery: *delivery,
                    follow_up: follow_up.clone(),
                    calls: Arc::clone(&own),
                    next: Arc::clone(&next),
                    halted: Arc::clone(&halted),
                    judge: Arc::clone(&judge),
                };
                workers.spawn(worker.run());
            }
        }
        let mut judged = Vec::new();
        let mut failures = Vec::new();
        for worked in workers.join_all().await {
            judged.extend(worked.judged);
            failures.extend(worked.failure);
        }
        let end = self.end_of_unanswered(concurrent, failures).await;
        ConcurrentAnswers { judged, end }
    }

    /// The end of a round in which these calls got no answer; `None` where each got one.
    async fn end_of_unanswered(&self, concurrent: &Concurrent<'_>, failures: Vec<CallFailure>) -> Option<CheckEnd> {
        let Concurrent { calls, slowest, .. } = concurrent;
        let silent = match RoundFailure::of(failures, self.limits.is_over())? {
            RoundFailure::Gone(failure) => return Some(CheckEnd::Unanswered(failure)),
            RoundFailure::OutOfTime => return Some(self.limits.out_of_time()),
            RoundFailure::Silence(failure) => failure,
        };
        if may_be_slow(*slowest, self.in_flight(), self.sessions[0].context.request_timeout) {
            // A server that works on one call at a time answers when it is done with all of them.
            let busy = slowest.saturating_mul(u32::try_from(2 * self.in_flight()).unwrap_or(u32::MAX));
            let timeout = busy.max(self.sessions[0].context.request_timeout).min(self.limits.remaining());
            return Some(match self.sessions[0].ping(timeout).await {
                Err(CheckEnd::Unanswered(_)) if !self.limits.is_over() => CheckEnd::Unanswered(silent),
                _ => too_slow(&calls.tool),
            });
        }
        // One answer that is missing among many may be lost on the way; a server that hangs answers nothing afterwards.
        match self.call(calls, *calls.calls.first()?).await {
            Ok(Some(_)) => Some(some_unanswered(&calls.tool)),
            Ok(None) | Err(_) => Some(CheckEnd::Unanswered(silent)),
        }
    }

    /// Kills the server.
    pub(crate) async fn kill(&self) {
        for session in &self.sessions {
            session.session().kill().await;
        }
    }

    /// The server is gone.
    pub(crate) fn is_over(&self) -> bool {
        !self.sessions.iter().any(|session| session.session().is_open())
    }

    /// Ends all sessions; the finding tells of a server that had ended by itself.
    pub(crate) async fn end(self) -> Option<Finding> {
        let mut found = None;
        for session in self.sessions.into_iter().rev() {
            let exit = session.close().await;
            found = found.or(exit);
        }
        found
    }

    /// Ends all sessions; a server that had ended by itself fails the case.
    pub(crate) async fn close(self, result: CheckResult) -> CheckResult {
        let protocol_revision = self.revision();
        CheckResult { protocol_revision, ..with_exit(result, self.end().await) }
    }
}

/// The argument templates of a tool, and the sessions to call it in; the result is that of a case without either.
pub(crate) async fn begin<'a>(
    context: &'a CheckContext<'a>,
    settings: &Torture,
    tool: &str,
) -> Result<(Vec<ArgumentTemplate>, Clients<'a>), Box<CheckResult>> {
    let templates = context.catalog.tool(tool).map(|tool| ArgumentTemplate::of_tool(tool, context));
    let templates = match templates {
        Some(Ok(templates)) if !templates.is_empty() => templates,
        Some(Ok(_)) | None => {
            return Err(Box::new(CheckResult::not_applicable(format!(
                "no argument of `{tool}` takes a text to look for"
            ))));
        }
        Some(Err(why)) => {
            let why = why.sentence(tool, ConfigSource::of(context.suite));
            return Err(Box::new(CheckResult::inconclusive(why)));
        }
    };
    match Clients::open(context, settings).await {
        Ok(clients) => Ok((templates, clients)),
        Err(end) => Err(Box::new(end.into_result())),
    }
}

/// The end of a case in which some of many concurrent calls got no answer, as is to be expected from calls that slow.
pub(crate) fn too_slow(tool: &str) -> CheckEnd {
    CheckEnd::inconclusive(format!(
        "`{tool}` is too slow for that many calls at a time; lower `sessions` or `in_flight`, or raise `request_timeout`"
    ))
}

/// The end of a case in which some of many concurrent calls got no answer, and a later one did.
pub(crate) fn some_unanswered(tool: &str) -> CheckEnd {
    CheckEnd::inconclusive(format!(
        "the server answered a later call of `{tool}`, and not all of the concurrent ones; lower `sessions` or `in_flight`"
    ))
}

/// True if so many calls may well take the time of a request: a server may work on one call at a time, and then the last of
/// them waits for all others.
fn may_be_slow(slowest: Duration, in_flight: usize, request_timeout: Duration) -> bool {
    slowest.saturating_mul(u32::try_from(2 * in_flight).unwrap_or(u32::MAX)) >= request_timeout
}

/// The failure of a round of concurrent calls.
#[derive(Debug)]
enum RoundFailure {
    /// The server is gone, or answers in a way that cannot be read.
    Gone(Box<CallFailure>),
    /// The time of the case is over.
    OutOfTime,
    /// An answer did not come, which may be an accident.
    Silence(Box<CallFailure>),
}

impl RoundFailure {
    /// That of a round in which some calls failed; `None` where each was answered.
    fn of(failures: Vec<CallFailure>, is_over: bool) -> Option<Self> {
        let is_silence = |failure: &CallFailure| failure.is_timeout() || is_broken(failure);
        match failures.iter().find(|failure| !is_silence(failure)) {
            Some(gone) => Some(Self::Gone(Box::new(gone.clone()))),
            None if is_over => Some(Self::OutOfTime),
            None => failures.into_iter().next().map(|silent| Self::Silence(Box::new(silent))),
        }
    }
}

/// The connection broke before the answer.
fn is_broken(failure: &CallFailure) -> bool {
    matches!(&failure.reason, FailureReason::Http(failure) if failure.is_break())
}

/// Makes something of an answer, so that not all answers of a case are kept.
type AnswerJudge<T> = dyn Fn(NumberedAnswer) -> Option<T> + Send + Sync;

/// Makes calls of a session that it shares with others.
struct Worker<T> {
    caller: SessionCaller,
    numbered: Arc<NumberedCalls>,
    delivery: Delivery,
    follow_up: Option<Arc<FollowUp>>,
    /// Those of this session.
    calls: Arc<Vec<Call>>,
    next: Arc<AtomicUsize>,
    /// Set by the first whose call ends the case.
    halted: Arc<AtomicBool>,
    judge: Arc<AnswerJudge<T>>,
}

/// A call as bytes.
struct PostedCall {
    call: Call,
    params: Value,
    id: Value,
    line: Vec<u8>,
}

/// The results of the calls of a worker.
struct Worked<T> {
    judged: Vec<T>,
    /// The call that ended the case.
    failure: Option<CallFailure>,
}

impl<T> Worker<T> {
    async fn run(self) -> Worked<T> {
        let mut worked = Worked { judged: Vec::new(), failure: None };
        while !self.halted.load(Ordering::Relaxed)
            && let Some(call) = self.calls.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            match self.deliver(*call).await {
                // It may refuse that many; such a call confirms nothing.
                Ok(answers) => worked.judged.extend(answers.into_iter().filter_map(|answer| (self.judge)(answer))),
                Err(failure) => {
                    self.halted.store(true, Ordering::Relaxed);
                    worked.failure = failure;
                    break;
                }
            }
        }
        worked
    }

    /// Makes a call as often as it is to be made at once.
    async fn deliver(&self, call: Call) -> Result<Vec<NumberedAnswer>, Option<CallFailure>> {
        match self.delivery {
            Delivery::Once => Ok(self.answer(call).await?.into_iter().collect()),
            Delivery::Twice => {
                let (first, second) = tokio::join!(self.answer(call), self.answer(call));
                Ok(first?.into_iter().chain(second?).collect())
            }
            Delivery::PostedTwice => self.post_twice(call).await,
        }
    }

    /// Posts the same bytes twice. Since an id may be used once only, one of the two may stay without an answer.
    async fn post_twice(&self, call: Call) -> Result<Vec<NumberedAnswer>, Option<CallFailure>> {
        let ToolRequest { method, params } = self.numbered.request(call);
        let (id, line) = self.caller.session().request_line(method, params.clone());
        let request = PostedCall { call, params, id, line };
        let (mut one, mut other) = (Box::pin(self.post(&request)), Box::pin(self.post(&request)));
        let (first, other) = tokio::select! {
            first = &mut one => (first, other),
            first = &mut other => (first, one),
        };
        let Ok(Some(first)) = first else { return Ok(other.await?.into_iter().collect()) };
        let second = timeout(TWIN_TIME, other).await.unwrap_or(Ok(None))?;
        Ok(std::iter::once(first).chain(second).collect())
    }

    async fn post(&self, request: &PostedCall) -> Result<Option<NumberedAnswer>, Option<CallFailure>> {
        let PostedCall { call, params, id, line } = request;
        let message = RawMessage {
            pieces: vec![line.clone()],
            ..self.caller.raw_line(id.clone(), line.clone(), self.timeout()?)
        };
        let reply = self.unless_over(self.caller.session().send_raw(message).await)?;
        Ok(reply.and_then(|reply| KeptReply::of_raw(params, &reply)).map(|reply| NumberedAnswer::of(*call, reply)))
    }

    /// Makes a call, and what follows it; `Err` ends the work, for want of time or with a failed call.
    async fn answer(&self, call: Call) -> Result<Option<NumberedAnswer>, Option<CallFailure>> {
        let Some(reply) = self.request(self.numbered.request(call)).await? else { return Ok(None) };
        let mut answer = NumberedAnswer::of(call, KeptReply::of(&reply));
        if let Some(request) = self.follow_up.as_ref().and_then(|follow_up| follow_up(&answer)) {
            let canary = self.numbered.canaries.of(call.number);
            let followed = self.request(request).await?.filter(SessionReply::is_served);
            answer.followed = followed.map(|reply| {
                let reply = KeptReply::of(&reply);
                if reply.message.contains(&canary) { Followed::Own } else { Followed::Else(reply) }
            });
        }
        Ok(Some(answer))
    }

    async fn request(&self, request: ToolRequest) -> Result<Option<SessionReply>, Option<CallFailure>> {
        self.timeout()?;
        match self.caller.send(request.into()).await {
            // It may be an accident; what is asked when all others are done tells.
            Err(failure) if is_broken(&failure) => Err(Some(failure)),
            answered => self.unless_over(answered),
        }
    }

    /// The time for a request.
    fn timeout(&self) -> Result<Duration, Option<CallFailure>> {
        let timeout = self.caller.request_timeout();
        if timeout.is_zero() { Err(None) } else { Ok(timeout) }
    }

    /// The reply, if any; `Err` with a failure that ends the work.
    fn unless_over<R>(&self, made: Result<R, CallFailure>) -> Result<Option<R>, Option<CallFailure>> {
        match made {
            Ok(reply) => Ok(Some(reply)),
            Err(failure) if goes_on(&failure.reason, self.caller.session().is_open()) => Ok(None),
            Err(failure) => Err(Some(failure)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::failure_of_test;
    use crate::transport::HttpFailure;
    use crate::transport::ServerExit;
    use crate::transport::http::ConnectionBreak;

    #[test]
    fn silence_under_load_is_the_servers_fault_only_if_it_is_quick() {
        let second = Duration::from_secs(1);
        for (slowest, in_flight, is_slow) in [
            (Duration::from_millis(1), 16, false),
            (Duration::from_millis(10), 64, true),
            (Duration::from_millis(15), 32, false),
            (Duration::from_millis(16), 32, true),
            (second, 1, true),
            (Duration::ZERO, usize::from(u16::MAX), false),
            (Duration::MAX, 2, true),
        ] {
            assert_eq!(may_be_slow(slowest, in_flight, second), is_slow, "{slowest:?} {in_flight}");
        }
    }

    #[test]
    fn only_a_connection_that_broke_may_be_an_accident() {
        let reset = || FailureReason::Http(HttpFailure::Reset(ConnectionBreak::BeforeHeaders));
        for (reason, expected) in [
            (reset(), true),
            (FailureReason::Timeout(Duration::ZERO), false),
            (FailureReason::Protocol("torn".to_owned()), false),
        ] {
            assert_eq!(is_broken(&failure_of_test(reason.clone())), expected, "{reason:?}");
        }
    }

    #[test]
    fn kept_answers_are_given_back_whole() {
        let message = json!({"jsonrpc": "2.0", "id": 7, "result": {"content": []}});
        let answer = NumberedAnswer::of_test(4, &message);
        assert!(answer.is_served());
        assert_eq!((&*answer.reply.whole().message, answer.text()), (&message, &*message.to_string()));
        assert_eq!(answer.exchange("add").title, "tools/call add");
        let refused = json!({"result": {"content": [], "isError": true}});
        assert!(!NumberedAnswer::of_test(4, &refused).is_served());
    }

    #[test]
    fn a_round_fails_by_what_is_certain_first() {
        let late = || failure_of_test(FailureReason::Timeout(Duration::from_secs(1)));
        let reset = || failure_of_test(FailureReason::Http(HttpFailure::Reset(ConnectionBreak::BeforeHeaders)));
        let exited = || failure_of_test(FailureReason::Exited(ServerExit::Status(1)));
        let torn = || failure_of_test(FailureReason::Protocol("torn".to_owned()));
        for (round, failures, is_over, expected) in [
            ("is answered", vec![], false, None),
            ("has no time for its last calls", vec![], true, Some("out of time")),
            ("has a late answer", vec![late()], false, Some("silence")),
            // Nobody knows if the answer would have come.
            ("has a late answer at the end of its time", vec![late()], true, Some("out of time")),
            ("has a connection that broke", vec![reset(), late()], false, Some("silence")),
            ("ends the server", vec![late(), reset(), exited()], false, Some("gone")),
            ("ends the server at the end of its time", vec![late(), exited()], true, Some("gone")),
            ("has an answer that is torn", vec![torn()], false, Some("gone")),
        ] {
            let failure = RoundFailure::of(failures, is_over);
            let word = failure.as_ref().map(|failure| match failure {
                RoundFailure::Gone(_) => "gone",
                RoundFailure::OutOfTime => "out of time",
                RoundFailure::Silence(_) => "silence",
            });
            assert_eq!(word, expected, "a round that {round}: {failure:?}");
        }
    }
}
