//! Requests of cases: what the era demands is added, rounds of questions are answered, the answer comes back whole.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::answered::CallAnswer;
use super::plain_request;
use super::state::OutgoingRequest;
use super::{CallFailure, Disturbance, FailureReason, Session};
use crate::transport::Owner;
use crate::wire::{self, Era, is_served};

/// The number of rounds of questions of one request (2026-07-28, multi round-trip requests).
const MAX_ROUNDS: usize = 16;

/// A request of a case.
#[derive(Debug)]
pub struct SessionRequest<'a> {
    /// To whom frames and violations of the exchange belong.
    pub owner: &'a Owner,
    /// The method.
    pub method: &'a str,
    /// The parameters.
    pub params: Option<Value>,
    /// The time that it may take; the session's default without one.
    pub timeout: Option<Duration>,
    /// Progress is asked for.
    pub progress: bool,
}

/// An answer, well or badly formed.
#[derive(Debug, Clone)]
pub struct SessionReply {
    /// The whole message.
    pub message: Arc<Value>,
    /// The parameters as they were sent.
    pub params: Value,
    /// The frame of the request.
    pub frame: u32,
    /// The frame of the answer.
    pub answer_frame: u32,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// The notifications in between.
    pub notifications: Vec<Arc<Value>>,
}

impl SessionReply {
    /// It is a result, and no error.
    pub fn is_served(&self) -> bool {
        is_served(&self.message)
    }
}

impl Session {
    /// Sends a request and waits for its answer; questions of the server on the way are answered.
    pub async fn request(&self, request: SessionRequest<'_>) -> Result<SessionReply, CallFailure> {
        let params = self.with_era(request.params);
        let request = SessionRequest { params: None, ..request };
        let tool = params.as_ref().and_then(|params| params["name"].as_str());
        let Some(tool) = tool.filter(|_| request.method == "tools/call") else {
            let answered = self.answer(&request, params.as_ref()).await;
            self.note_plain(&request, answered.as_ref().err());
            return answered;
        };
        let call = self.calls.begin();
        let answered = self.answer(&request, params.as_ref()).await;
        if let Some(known) = &self.settings.answered {
            match &answered {
                Ok(reply) if reply.is_served() => {
                    known.note_answer(tool, CallAnswer::Served);
                    known.note_time(tool, reply.elapsed);
                }
                Ok(_) => known.note_answer(tool, CallAnswer::Refused),
                Err(CallFailure { reason: FailureReason::Timeout(after), .. }) => {
                    let wait = call.wait(tool);
                    known.note_late(tool);
                    // Who waits for less looks for something else.
                    if *after >= self.settings.request_timeout {
                        known.note_wait(tool, request.owner, wait);
                    }
                }
                Err(CallFailure { reason: FailureReason::Exited(_), .. }) if call.is_only_reason() => {
                    known.note_end(tool, request.owner);
                }
                Err(_) => {}
            }
        }
        answered
    }

    /// Takes note of what became of a request that any server answers at once.
    fn note_plain(&self, request: &SessionRequest<'_>, failure: Option<&CallFailure>) {
        let kind = plain_request(request.method, &self.server.capabilities);
        let Some((known, kind)) = self.settings.answered.as_ref().zip(kind) else { return };
        match failure {
            None => known.note_plain_answer(kind),
            Some(CallFailure { reason: FailureReason::Timeout(after), .. })
                if *after >= self.settings.request_timeout =>
            {
                known.note_plain_wait(kind, request.owner);
            }
            Some(_) => {}
        }
    }

    /// The answer to a request with these parameters.
    async fn answer(
        &self,
        request: &SessionRequest<'_>,
        original: Option<&Value>,
    ) -> Result<SessionReply, CallFailure> {
        let allowed = request.timeout.unwrap_or(self.settings.request_timeout);
        let deadline = Instant::now() + allowed;
        let mut params = original.cloned();
        let mut reply: Option<SessionReply> = None;
        let outgoing = |params| OutgoingRequest {
            owner: request.owner,
            method: request.method,
            params,
            deadline,
            limit: allowed,
            progress: request.progress,
            is_extended_by_progress: request.progress && request.timeout.is_none(),
        };
        for _ in 0..MAX_ROUNDS {
            let answered = match self.peer.exchange(outgoing(params.take())).await {
                Err(failure)
                    if failure.is_break() && self.settings.disturbance == Disturbance::None && reply.is_none() =>
                {
                    Box::pin(self.after_break(failure, outgoing(original.cloned()))).await?
                }
                Err(failure) if failure.is_of_no_listener() && self.settings.disturbance == Disturbance::None => {
                    return Err(self.after_end(failure).await);
                }
                answered => answered?,
            };
            let whole = match reply.take() {
                None => answered,
                Some(earlier) => SessionReply {
                    message: answered.message,
                    answer_frame: answered.answer_frame,
                    elapsed: earlier.elapsed + answered.elapsed,
                    notifications: [earlier.notifications, answered.notifications].concat(),
                    ..earlier
                },
            };
            match self.next_round(original, &whole.message) {
                Some(next) => params = Some(next),
                None => return Ok(whole),
            }
            reply = Some(whole);
        }
        let reason = format!("`{}` asked for more input {MAX_ROUNDS} times and never completed", request.method);
        let frame = reply.map(|reply| reply.frame);
        Err(self.peer.lock().failure(FailureReason::Protocol(reason), request.method, frame))
    }

    /// The next id and the line of a request with it, for those who send the line as raw bytes.
    pub fn request_line(&self, method: &str, params: Value) -> (Value, Vec<u8>) {
        let id = self.peer.lock().fresh_id();
        let line = wire::request(&id, method, self.with_era(Some(params))).to_string();
        (id.to_json(), line.into_bytes())
    }

    /// Sends a notification and returns its frame.
    pub fn notify(&self, owner: &Owner, method: &str, params: Option<&Value>) -> u32 {
        self.peer.notify(owner, method, params)
    }

    /// The parameters with the texts of this session. Since 2026-07-28 every request also says which revision it speaks and
    /// what the client can do.
    pub(crate) fn with_era(&self, params: Option<Value>) -> Option<Value> {
        let params = params.map(|params| self.own_values.put_into(params));
        if self.server.revision.era() == Era::Session {
            return params;
        }
        let mut params = params.unwrap_or_else(|| Value::Object(Map::new()));
        let meta = era_meta(self.server.revision.as_str(), &self.settings.answers.capabilities());
        if let Some(fields) = params.as_object_mut() {
            let own = fields.entry("_meta").or_insert_with(|| json!({}));
            if let (Some(own), Value::Object(meta)) = (own.as_object_mut(), meta) {
                // Metadata that the suite wrote itself stays.
                for (key, value) in meta {
                    own.entry(key).or_insert(value);
                }
            }
        }
        Some(params)
    }

    /// The answers to requests for input, by their keys; `None` where there is none to one of them.
    pub fn answers_to(&self, questions: &Value) -> Option<Map<String, Value>> {
        let mut responses = Map::new();
        for (key, question) in questions.as_object().into_iter().flatten() {
            let method = question["method"].as_str().unwrap_or_default();
            let answer = self.peer.lock().answer_input_request(method, &question["params"])?;
            responses.insert(key.clone(), answer);
        }
        Some(responses)
    }

    /// What the client declares that it can do.
    pub fn client_capabilities(&self) -> Value {
        self.settings.answers.capabilities()
    }

    /// Parameters that declare tasks, as every request that may become one or is about one must since 2026-07-28 (SEP-2663).
    pub fn declaring_tasks(&self, mut params: Value) -> Value {
        if self.server.revision.era() == Era::Stateless {
            let mut capabilities = self.client_capabilities();
            capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
            params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
        }
        params
    }

    /// The parameters of the next round where the server asks for input that the suite can give.
    fn next_round(&self, original: Option<&Value>, message: &Value) -> Option<Value> {
        let result = message.get("result").filter(|result| result["resultType"] == "input_required")?;
        if self.server.revision.era() == Era::Session {
            return None;
        }
        let mut params = original.cloned().unwrap_or_else(|| json!({}));
        let responses = self.answers_to(&result["inputRequests"])?;
        if !responses.is_empty() {
            params["inputResponses"] = responses.into();
        }
        if let Some(state) = result.get("requestState") {
            params["requestState"] = state.clone();
        }
        Some(params)
    }
}

/// The members of `_meta` that every request of the stateless era carries.
pub(crate) fn era_meta(revision: &str, capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// The name and version of this client.
pub(crate) fn client_info() -> Value {
    json!({"name": "mcprove", "version": env!("CARGO_PKG_VERSION")})
}
