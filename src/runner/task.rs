//! A call that goes on as a task: it is created, asked after at the interval that the server names, given the input that it
//! wants, and ends with what the call would have been answered with.
//!
//! Two forms exist. In 2025-11-25 the client asks for a task and fetches its result (basic/utilities/tasks); since
//! 2026-07-28 the client declares an extension, the server decides, and the result comes with the state (SEP-2663). The
//! scans of the session judge every message; this module follows the task, and looks at it once more after its end where a step
//! says so.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::event::Finding;
use crate::session::{CallFailure, Session, SessionReply, SessionRequest};
use crate::source::{duration_text, visible_line};
use crate::suite::TaskCall;
use crate::transport::Owner;
use crate::wire::Era;

/// The interval where the server names none.
const USUAL_INTERVAL: Duration = Duration::from_millis(500);

/// The bounds of an interval that a server names.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// The most times that a task is given input.
const MOST_INPUTS: usize = 16;

/// A task of a step.
pub(crate) struct TaskRun<'a> {
    pub(crate) session: &'a Session,
    pub(crate) owner: &'a Owner,
    pub(crate) wanted: &'a TaskCall,
    /// The time from the call to the end of its task.
    pub(crate) limit: Duration,
}

/// The state of a task, as an answer has it.
#[derive(Debug, Clone, PartialEq)]
struct TaskState {
    id: String,
    status: String,
    interval: Duration,
    ttl: TaskTtl,
    /// The requests for input (2026-07-28).
    inputs: Value,
}

/// The time for which a server keeps a task, from its creation on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskTtl {
    For(Duration),
    Unlimited,
    /// The server does not say.
    Unknown,
}

/// The answer that a call has in the end.
struct TaskEnd {
    reply: SessionReply,
    /// The last state of the task; `None` where it is not at its end.
    state: Option<TaskState>,
}

/// What is to be done with a task next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Wait,
    GiveInput,
    FetchResult,
    TakeResult,
    TakeState,
}

impl TaskRun<'_> {
    /// The parameters of the call, which ask for a task.
    pub(crate) fn asking(&self, mut params: Value) -> Value {
        match self.session.server.revision.era() {
            Era::Session => {
                let ttl = self.wanted.ttl.map(|ttl| json!({ "ttl": millis(ttl) }));
                params["task"] = ttl.unwrap_or_else(|| json!({}));
                params
            }
            Era::Stateless => self.session.declaring_tasks(params),
        }
    }

    /// Follows the task that an answer created, to the answer that the call has in the end. An error is that answer.
    pub(crate) async fn follow(&self, created: SessionReply, begun: Instant) -> Result<SessionReply, Finding> {
        let TaskEnd { reply, state } = self.follow_to_end(created, begun).await?;
        let reply = SessionReply { elapsed: begun.elapsed(), ..reply };
        if let Some(state) = state.filter(|_| self.wanted.again) {
            self.ask_again(&state, &reply.message, begun).await?;
        }
        Ok(reply)
    }

    async fn follow_to_end(&self, created: SessionReply, begun: Instant) -> Result<TaskEnd, Finding> {
        let era = self.session.server.revision.era();
        let over = |reply, state| Ok(TaskEnd { reply, state });
        if created.message.get("error").is_some() {
            return over(created, None);
        }
        let Some(mut state) = TaskState::created(&created.message["result"], era) else { return Err(no_task(era)) };
        if self.wanted.cancel {
            let reply = self.ask("tasks/cancel", json!({ "taskId": state.id }), begun, &state).await?;
            if era == Era::Session || reply.message.get("error").is_some() {
                let cancelled = TaskState::of(&reply.message["result"], &state);
                return over(reply, cancelled);
            }
        }
        let (mut reply, mut inputs) = (created, 0);
        loop {
            match state.next_step(era, self.wanted.cancel) {
                NextStep::Wait => {}
                NextStep::TakeState => return over(reply, Some(state)),
                NextStep::TakeResult => {
                    let result = result_of(&reply).ok_or_else(|| without_result(&state))?;
                    return over(result, Some(state));
                }
                NextStep::FetchResult => {
                    let result = self.ask("tasks/result", json!({ "taskId": state.id }), begun, &state).await?;
                    let is_known = state.is_over() || result.message.get("result").is_some();
                    return over(result, is_known.then_some(state));
                }
                NextStep::GiveInput if inputs < MOST_INPUTS => {
                    inputs += 1;
                    let answers = self.session.answers_to(&state.inputs).ok_or_else(|| no_answers(&state))?;
                    let params = json!({ "taskId": state.id, "inputResponses": answers });
                    let answered = self.ask("tasks/update", params, begun, &state).await?;
                    if answered.message.get("error").is_some() {
                        return over(answered, None);
                    }
                }
                NextStep::GiveInput => return Err(too_many_inputs(&state)),
            }
            let left = self.limit.saturating_sub(begun.elapsed());
            sleep(state.interval.min(left)).await;
            reply = self.ask("tasks/get", json!({ "taskId": state.id }), begun, &state).await?;
            match TaskState::of(&reply.message["result"], &state) {
                Some(next) if next.id != state.id => return Err(other_task(&state, &next)),
                Some(next) => state = next,
                // An error, or an answer about no task, which the scans judge.
                None => return over(reply, None),
            }
        }
    }

    /// Asks for a task once more after its end, and for its result where that has a request of its own.
    async fn ask_again(&self, end: &TaskState, answer: &Value, begun: Instant) -> Result<(), Finding> {
        let era = self.session.server.revision.era();
        sleep(end.interval).await;
        let params = || json!({ "taskId": end.id });
        let look = SecondLook { end, answer, era };
        let state = self.send("tasks/get", params(), self.limit).await.map_err(|failure| Finding::from(&failure))?;
        if let Some(found) = look.judge_state(&state.message, begun.elapsed()) {
            return Err(found);
        }
        // A task that may be gone has no result any more, and a cancelled one has none.
        if state.message.get("error").is_some() || self.wanted.cancel || end.status == "cancelled" {
            return Ok(());
        }
        let result = match era {
            Era::Session => {
                Some(self.send("tasks/result", params(), self.limit).await.map_err(|failure| Finding::from(&failure))?)
            }
            Era::Stateless => result_of(&state),
        };
        let found = result.and_then(|result| look.judge_result(&result.message, begun.elapsed()));
        found.map_or(Ok(()), Err)
    }

    /// Makes a request about the task within what is left of its time.
    async fn ask(
        &self,
        method: &str,
        params: Value,
        begun: Instant,
        state: &TaskState,
    ) -> Result<SessionReply, Finding> {
        let left = self.limit.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(not_over(state, self.limit));
        }
        let sent = self.send(method, params, left).await;
        sent.map_err(|failure| if failure.is_timeout() { not_over(state, self.limit) } else { Finding::from(&failure) })
    }

    async fn send(&self, method: &str, params: Value, timeout: Duration) -> Result<SessionReply, CallFailure> {
        let (params, timeout) = (Some(self.session.declaring_tasks(params)), Some(timeout));
        self.session.request(SessionRequest { owner: self.owner, method, params, timeout, progress: false }).await
    }
}

/// A task that is asked for once more after its end.
struct SecondLook<'a> {
    end: &'a TaskState,
    /// The answer of its call.
    answer: &'a Value,
    era: Era,
}

impl SecondLook<'_> {
    /// Judges the answer to `tasks/get`. The time is that since the call, which is at least the age of the task.
    fn judge_state(&self, message: &Value, elapsed: Duration) -> Option<Finding> {
        if message.get("error").is_some() {
            return self.judge_loss("tasks/get", message, elapsed);
        }
        let status = message["result"]["status"].as_str()?;
        // The scans judge it in 2025-11-25. After its time, a server may give a task up.
        let is_judged = self.era == Era::Stateless && self.end.is_over() && !self.end.ttl.may_be_over(elapsed);
        (is_judged && status != self.end.status).then(|| reopened(self.end, status))
    }

    /// Judges the result that comes the second time.
    fn judge_result(&self, message: &Value, elapsed: Duration) -> Option<Finding> {
        let had_result = self.answer.get("result").is_some();
        match (message.get("error"), message.get("result")) {
            (Some(_), _) if had_result => self.judge_loss("tasks/result", message, elapsed),
            (Some(error), _) => {
                let is_other = error["code"] != self.answer["error"]["code"];
                (is_other && !self.may_be_gone(elapsed)).then(|| changed_result(self.end))
            }
            (None, Some(result)) if had_result && content(result) == content(&self.answer["result"]) => None,
            (None, Some(_)) => Some(changed_result(self.end)),
            (None, None) => None,
        }
    }

    fn judge_loss(&self, method: &str, message: &Value, elapsed: Duration) -> Option<Finding> {
        (!self.may_be_gone(elapsed)).then(|| gone(self.end, method, message))
    }

    /// A task may be gone once its time is over, and at any time once it is cancelled.
    fn may_be_gone(&self, elapsed: Duration) -> bool {
        self.end.status == "cancelled" || self.end.ttl.may_be_over(elapsed)
    }
}

/// A result without what belongs to its message.
fn content(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    result
}

impl TaskTtl {
    fn of(written: &Value) -> Self {
        match written.get("ttlMs").or(written.get("ttl")) {
            Some(Value::Null) => Self::Unlimited,
            Some(ttl) => ttl.as_u64().map_or(Self::Unknown, |ttl| Self::For(Duration::from_millis(ttl))),
            None => Self::Unknown,
        }
    }

    /// A task that is not older than this may have outlived its time.
    fn may_be_over(self, age: Duration) -> bool {
        match self {
            Self::For(ttl) => ttl <= age,
            Self::Unlimited => false,
            Self::Unknown => true,
        }
    }
}

impl TaskState {
    /// The task that the answer to a call creates; `None` where it creates none.
    fn created(result: &Value, era: Era) -> Option<Self> {
        match era {
            Era::Session => Self::read(&result["task"], USUAL_INTERVAL),
            Era::Stateless => Self::read(result, USUAL_INTERVAL).filter(|_| result["resultType"] == "task"),
        }
    }

    /// The state that follows on an earlier one.
    fn of(written: &Value, earlier: &Self) -> Option<Self> {
        Self::read(written, earlier.interval)
    }

    fn read(written: &Value, usual: Duration) -> Option<Self> {
        let named = written["pollIntervalMs"].as_u64().or(written["pollInterval"].as_u64());
        let interval = named.map_or(usual, |named| Duration::from_millis(named).clamp(INTERVALS.0, INTERVALS.1));
        let text = |member: &str| written[member].as_str().map(str::to_owned);
        Some(Self {
            id: text("taskId")?,
            status: text("status")?,
            interval,
            ttl: TaskTtl::of(written),
            inputs: written["inputRequests"].clone(),
        })
    }

    fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }

    fn next_step(&self, era: Era, is_cancelled: bool) -> NextStep {
        match (self.status.as_str(), era) {
            ("completed" | "failed" | "cancelled", _) if is_cancelled => NextStep::TakeState,
            // Questions come to whoever waits for the result.
            ("completed" | "failed" | "cancelled" | "input_required", Era::Session) => NextStep::FetchResult,
            ("completed" | "failed", Era::Stateless) => NextStep::TakeResult,
            ("cancelled", Era::Stateless) => NextStep::TakeState,
            ("input_required", Era::Stateless) => NextStep::GiveInput,
            _ => NextStep::Wait,
        }
    }
}

/// The answer of the call, from the last state of its task (2026-07-28).
fn result_of(reply: &SessionReply) -> Option<SessionReply> {
    let state = &reply.message["result"];
    let member = if state["status"] == "failed" { "error" } else { "result" };
    let mut message = json!({ "jsonrpc": "2.0", "id": reply.message["id"] });
    message[member] = state.get(member)?.clone();
    Some(SessionReply { message: Arc::new(message), ..reply.clone() })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn found(code: &'static str, message: String, help: &str) -> Finding {
    Finding { help: Some(help.to_owned()), ..Finding::new(code, message) }
}

fn no_task(era: Era) -> Finding {
    let help = match era {
        Era::Session => {
            "declare `tasks.requests.tools.call` and `execution.taskSupport`, or take `task` out of the step"
        }
        Era::Stateless => "let the server answer such calls with `resultType: task`, or take `task` out of the step",
    };
    found("no-task", "the call was answered at once, and no task was made".to_owned(), help)
}

fn not_over(state: &TaskState, limit: Duration) -> Finding {
    let message = format!("the task was not over within {}: its status is `{}`", duration_text(limit), state.status);
    found("task-not-over", message, "raise the `timeout` of the step, or let the task end sooner")
}

fn without_result(state: &TaskState) -> Finding {
    let member = if state.status == "failed" { "error" } else { "result" };
    let message = format!("the task is `{}`, and its state has no `{member}`", state.status);
    found(
        "task-without-result",
        message,
        "answer `tasks/get` with the result or the error of the call once the task is over",
    )
}

fn no_answers(state: &TaskState) -> Finding {
    let methods: Vec<&str> =
        state.inputs.as_object().into_iter().flatten().filter_map(|(_, asked)| asked["method"].as_str()).collect();
    let message =
        format!("the task asks its client for input (`{}`), and the suite has no answer", methods.join("`, `"));
    found(
        "task-without-input",
        message,
        "add `answers:` to the test, such as `answers: { elicitation: { action: accept } }`",
    )
}

fn other_task(state: &TaskState, next: &TaskState) -> Finding {
    let message = format!("the answer to `tasks/get` for the task `{}` is about `{}`", state.id, next.id);
    found("other-task", visible_line(&message).into_owned(), "answer with the state of the task that `taskId` names")
}

fn gone(end: &TaskState, method: &str, message: &Value) -> Finding {
    let ttl = match end.ttl {
        TaskTtl::For(ttl) => format!("its `ttl` is {}", duration_text(ttl)),
        TaskTtl::Unlimited | TaskTtl::Unknown => "its `ttl` has no limit".to_owned(),
    };
    let error = &message["error"];
    let said = error["message"].as_str().unwrap_or_default();
    let message = format!(
        "the task was `{}`, and when it was asked for again, `{method}` failed with the error {}: {said}; {ttl}",
        end.status, error["code"]
    );
    let help = "keep a task and its result until its `ttl` is over, however often a client asks";
    found("task-gone", visible_line(&message).into_owned(), help)
}

fn reopened(end: &TaskState, status: &str) -> Finding {
    let message = format!("the task was `{}`, and is `{status}` when it is asked for again", end.status);
    found("task-reopened", visible_line(&message).into_owned(), "let the status of a task that is over stay as it is")
}

fn changed_result(end: &TaskState) -> Finding {
    let message = format!("the task is `{}`, and its result is another one when it is asked for again", end.status);
    found("task-result-changed", message, "keep the result of a task, and answer with the same one each time")
}

fn too_many_inputs(state: &TaskState) -> Finding {
    let message = format!("the task asked for input {MOST_INPUTS} times, and is still `{}`", state.status);
    found("task-without-input", message, "let the task go on once it has what it asked for")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_where_its_era_writes_it() {
        let task = json!({ "taskId": "t1", "status": "working" });
        let newer = json!({ "resultType": "task", "taskId": "t1", "status": "working" });
        for (result, era, expected) in [
            (json!({ "task": task }), Era::Session, true),
            (newer.clone(), Era::Session, false),
            (newer, Era::Stateless, true),
            (json!({ "task": task }), Era::Stateless, false),
            (task, Era::Stateless, false),
            (json!({ "content": [] }), Era::Session, false),
            (json!({ "task": { "status": "working" } }), Era::Session, false),
            (Value::Null, Era::Stateless, false),
        ] {
            assert_eq!(TaskState::created(&result, era).is_some(), expected, "{result} {era:?}");
        }
    }

    #[test]
    fn a_task_is_asked_after_at_its_own_interval() {
        let task = |interval: Value| json!({ "taskId": "t1", "status": "working", "pollInterval": interval });
        let newer = json!({ "taskId": "t1", "status": "working", "pollIntervalMs": 100 });
        for (written, expected) in [
            (task(json!(100)), 100),
            (newer, 100),
            (task(Value::Null), 500),
            (task(json!("soon")), 500),
            (task(json!(0)), 20),
            (task(json!(u64::MAX)), 5000),
        ] {
            let interval = TaskState::read(&written, USUAL_INTERVAL).map(|state| state.interval);
            assert_eq!(interval, Some(Duration::from_millis(expected)), "{written}");
        }
    }

    #[test]
    fn the_state_of_another_task_is_told_by_both_ids() {
        let state = |id: &str| TaskState::read(&json!({ "taskId": id, "status": "working" }), USUAL_INTERVAL).unwrap();
        let found = other_task(&state("t1"), &state("t2"));
        assert!(found.message.contains("`t1`") && found.message.contains("`t2`"), "{}", found.message);
    }

    #[test]
    fn what_follows_depends_on_status_and_era() {
        use NextStep::{FetchResult, GiveInput, TakeResult, TakeState, Wait};
        for (status, older, newer, cancelled) in [
            ("working", Wait, Wait, Wait),
            ("input_required", FetchResult, GiveInput, GiveInput),
            ("completed", FetchResult, TakeResult, TakeState),
            ("failed", FetchResult, TakeResult, TakeState),
            ("cancelled", FetchResult, TakeState, TakeState),
            ("odd", Wait, Wait, Wait),
        ] {
            let state = TaskState::read(&json!({ "taskId": "t1", "status": status }), USUAL_INTERVAL).unwrap();
            let steps = [(Era::Session, false), (Era::Stateless, false), (Era::Stateless, true)];
            let steps = steps.map(|(era, is_cancelled)| state.next_step(era, is_cancelled));
            assert_eq!(steps, [older, newer, cancelled], "{status}");
        }
    }

    #[test]
    fn the_last_state_has_the_answer_of_the_call() {
        let reply = |state: Value| SessionReply {
            message: Arc::new(json!({ "jsonrpc": "2.0", "id": 7, "result": state })),
            params: Value::Null,
            frame: 1,
            answer_frame: 2,
            elapsed: Duration::ZERO,
            notifications: Vec::new(),
        };
        let (result, error) = (json!({ "content": [] }), json!({ "code": -32603, "message": "it broke" }));
        for (state, expected) in [
            (
                json!({ "status": "completed", "result": result }),
                Some(json!({ "jsonrpc": "2.0", "id": 7, "result": result })),
            ),
            (json!({ "status": "failed", "error": error }), Some(json!({ "jsonrpc": "2.0", "id": 7, "error": error }))),
            (json!({ "status": "completed", "error": error }), None),
            (json!({ "status": "failed" }), None),
        ] {
            let answer = result_of(&reply(state.clone())).map(|reply| (*reply.message).clone());
            assert_eq!(answer, expected, "{state}");
        }
    }

    #[test]
    fn a_task_is_kept_as_long_as_its_ttl_says() {
        let gone = json!({ "error": { "code": -32602, "message": "there is no such task" } });
        let answer = json!({ "result": { "content": [] } });
        let failure = json!({ "error": { "code": -32603, "message": "it broke" } });
        for (status, ttl, age, expected) in [
            ("completed", json!({ "ttlMs": null }), 60, Some("task-gone")),
            ("completed", json!({ "ttl": 60_000 }), 59, Some("task-gone")),
            ("failed", json!({ "ttlMs": 60_000 }), 59, Some("task-gone")),
            ("completed", json!({ "ttl": 60_000 }), 60, None),
            ("completed", json!({}), 0, None),
            ("completed", json!({ "ttl": "long" }), 0, None),
            ("cancelled", json!({ "ttl": null }), 0, None),
        ] {
            let end = TaskState { ttl: TaskTtl::of(&ttl), ..state_of(status) };
            let look = SecondLook { end: &end, answer: &answer, era: Era::Session };
            let age = Duration::from_secs(age);
            assert_eq!(
                look.judge_state(&gone, age).map(|found| found.code),
                expected.map(Into::into),
                "{status} {ttl}"
            );
            assert_eq!(
                look.judge_result(&gone, age).map(|found| found.code),
                expected.map(Into::into),
                "{status} {ttl}"
            );
            let look = SecondLook { answer: &failure, ..look };
            let expected = expected.map(|_| "task-result-changed".into());
            assert_eq!(look.judge_result(&gone, age).map(|found| found.code), expected, "{status} {ttl}");
        }
    }

    #[test]
    fn an_ended_task_has_the_same_status_and_result_again() {
        let (end, is) = (state_of("completed"), |status: &str| json!({ "result": { "status": status } }));
        let result = |text: &str, meta: u64| json!({ "result": { "content": [text], "_meta": { "x": meta } } });
        let error = |code: i64| json!({ "error": { "code": code, "message": "it broke" } });
        let answer = result("a", 1);
        for (era, status, expected) in [
            (Era::Stateless, "completed", None),
            (Era::Stateless, "working", Some("task-reopened")),
            (Era::Stateless, "failed", Some("task-reopened")),
            // A scan says so.
            (Era::Session, "working", None),
        ] {
            let look = SecondLook { end: &end, answer: &answer, era };
            let code = look.judge_state(&is(status), Duration::ZERO).map(|found| found.code);
            assert_eq!(code, expected.map(Into::into), "{era:?} {status}");
        }
        for (answer, again, expected) in [
            (result("a", 1), result("a", 2), None),
            (result("a", 1), result("b", 1), Some("task-result-changed")),
            (error(-32603), error(-32603), None),
            (error(-32603), error(-32000), Some("task-result-changed")),
            (error(-32603), result("a", 1), Some("task-result-changed")),
        ] {
            let look = SecondLook { end: &end, answer: &answer, era: Era::Session };
            let code = look.judge_result(&again, Duration::ZERO).map(|found| found.code);
            assert_eq!(code, expected.map(Into::into), "{answer} {again}");
        }
    }

    fn state_of(status: &str) -> TaskState {
        let written = json!({ "taskId": "t1", "status": status, "ttl": null });
        TaskState::read(&written, USUAL_INTERVAL).unwrap()
    }
}
