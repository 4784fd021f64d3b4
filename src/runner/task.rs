//! A call that goes on as a task: it is created, asked after at the interval that the server names, given the input that it
//! wants, and ends with what the call would have been answered with.
//!
//! Two forms exist. In 2025-11-25 the client asks for a task and fetches its result (basic/utilities/tasks); since
//! 2026-07-28 the client declares an extension, the server decides, and the result comes with the state (SEP-2663). The
//! scans of the session judge every message; this module only follows the task.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::event::Finding;
use crate::session::{Session, SessionReply, SessionRequest};
use crate::source::{duration_text, visible_line};
use crate::suite::TaskCall;
use crate::transport::Owner;
use crate::wire::Era;

/// The extension of 2026-07-28.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

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
    /// The requests for input (2026-07-28).
    inputs: Value,
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
            Era::Stateless => self.declaring(params),
        }
    }

    /// Parameters that declare the extension, which every request about a task must.
    fn declaring(&self, mut params: Value) -> Value {
        if self.session.server.revision.era() == Era::Stateless {
            let mut capabilities = self.session.client_capabilities();
            capabilities["extensions"] = json!({ EXTENSION: {} });
            params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
        }
        params
    }

    /// Follows the task that an answer created, to the answer that the call has in the end. An error is that answer.
    pub(crate) async fn follow(&self, created: SessionReply, begun: Instant) -> Result<SessionReply, Finding> {
        let era = self.session.server.revision.era();
        if created.message.get("error").is_some() {
            return Ok(created);
        }
        let Some(mut state) = TaskState::created(&created.message["result"], era) else { return Err(no_task(era)) };
        if self.wanted.cancel {
            let reply = self.ask("tasks/cancel", json!({ "taskId": state.id }), begun, &state).await?;
            if era == Era::Session || reply.message.get("error").is_some() {
                return Ok(reply);
            }
        }
        let (mut reply, mut inputs) = (created, 0);
        loop {
            match state.next_step(era, self.wanted.cancel) {
                NextStep::Wait => {}
                NextStep::TakeState => return Ok(reply),
                NextStep::TakeResult => return result_of(&reply).ok_or_else(|| without_result(&state)),
                NextStep::FetchResult => {
                    return self.ask("tasks/result", json!({ "taskId": state.id }), begun, &state).await;
                }
                NextStep::GiveInput if inputs < MOST_INPUTS => {
                    inputs += 1;
                    let answers = self.session.answers_to(&state.inputs).ok_or_else(|| no_answers(&state))?;
                    let params = json!({ "taskId": state.id, "inputResponses": answers });
                    let answered = self.ask("tasks/update", params, begun, &state).await?;
                    if answered.message.get("error").is_some() {
                        return Ok(answered);
                    }
                }
                NextStep::GiveInput => return Err(too_many_inputs(&state)),
            }
            let left = self.limit.saturating_sub(begun.elapsed());
            sleep(state.interval.min(left)).await;
            reply = self.ask("tasks/get", json!({ "taskId": state.id }), begun, &state).await?;
            match TaskState::of(&reply.message["result"], state.interval) {
                Some(next) if next.id != state.id => return Err(other_task(&state, &next)),
                Some(next) => state = next,
                // An error, or an answer about no task, which the scans judge.
                None => return Ok(reply),
            }
        }
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
        let (params, timeout) = (Some(self.declaring(params)), Some(left));
        let request = SessionRequest { owner: self.owner, method, params, timeout, progress: false };
        self.session
            .request(request)
            .await
            .map_err(|failure| if failure.is_timeout() { not_over(state, self.limit) } else { Finding::from(&failure) })
    }
}

impl TaskState {
    /// The task that the answer to a call creates; `None` where it creates none.
    fn created(result: &Value, era: Era) -> Option<Self> {
        match era {
            Era::Session => Self::of(&result["task"], USUAL_INTERVAL),
            Era::Stateless => Self::of(result, USUAL_INTERVAL).filter(|_| result["resultType"] == "task"),
        }
    }

    fn of(written: &Value, usual: Duration) -> Option<Self> {
        let named = written["pollIntervalMs"].as_u64().or(written["pollInterval"].as_u64());
        let interval = named.map_or(usual, |named| Duration::from_millis(named).clamp(INTERVALS.0, INTERVALS.1));
        let text = |member: &str| written[member].as_str().map(str::to_owned);
        Some(Self { id: text("taskId")?, status: text("status")?, interval, inputs: written["inputRequests"].clone() })
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
            let interval = TaskState::of(&written, USUAL_INTERVAL).map(|state| state.interval);
            assert_eq!(interval, Some(Duration::from_millis(expected)), "{written}");
        }
    }

    #[test]
    fn the_state_of_another_task_is_told_by_both_ids() {
        let state = |id: &str| TaskState::of(&json!({ "taskId": id, "status": "working" }), USUAL_INTERVAL).unwrap();
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
            let state = TaskState::of(&json!({ "taskId": "t1", "status": status }), USUAL_INTERVAL).unwrap();
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
}
