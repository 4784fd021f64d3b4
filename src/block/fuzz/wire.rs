//! Several calls under way at a time, over whatever the session speaks.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;
use tokio::time::Instant;

use super::calls::{CallGenerator, GeneratedCall};
use crate::check::{CheckRequest, CheckSession, SessionCaller};
use crate::session::{CallFailure, OwnedViolation, Pipeline, PipelineEvent, PreparedCall, ReceivedLine, SessionReply};

/// An answer, or the end of the wait for it.
pub(crate) enum CallEvent {
    /// A call was answered; without a message where the answer cannot be read.
    Answer(u64, Option<Arc<Value>>, ReceivedLine),
    /// A call failed.
    Failed(u64, Box<CallFailure>),
    /// Something broke the protocol that answers no call.
    Broken(ReceivedLine),
    /// Nobody will answer any more.
    Over(Box<CallFailure>),
}

/// The calls under way.
pub(crate) enum Wire<'a> {
    /// Over a stream of lines.
    Lines { pipeline: Pipeline<'a>, prepared: Vec<PreparedCall>, text: Vec<u8> },
    /// Over HTTP, request by request.
    Requests(Requests),
}

impl<'a> Wire<'a> {
    pub(crate) async fn new(session: &'a CheckSession<'_>, calls: &CallGenerator) -> Self {
        match session.session().pipeline(session.owner()).await {
            Some(pipeline) => {
                let prepare = |tool: &str| session.session().prepare_call(tool);
                let prepared = calls.callees.iter().map(|callee| prepare(&callee.name)).collect();
                Self::Lines { pipeline, prepared, text: Vec::new() }
            }
            None => Self::Requests(Requests { caller: session.caller(), open: Vec::new(), unasked: Vec::new() }),
        }
    }

    /// Sends a call, at the latest with the next flush; returns its arguments as JSON.
    pub(crate) fn send(
        &mut self,
        number: u64,
        calls: &CallGenerator,
        made: &GeneratedCall,
        sent: &mut dyn FnMut(&[u8]),
    ) {
        match self {
            Self::Lines { pipeline, prepared, text } => {
                text.clear();
                // Memory takes everything, and arguments are JSON.
                let _ = serde_json::to_writer(&mut *text, &made.arguments);
                sent(text);
                pipeline.call(number, &prepared[made.tool], text);
            }
            Self::Requests(requests) => {
                sent(made.arguments.to_string().as_bytes());
                requests.send(number, calls.reproduction(made).params);
            }
        }
    }

    pub(crate) fn flush(&mut self) {
        if let Self::Lines { pipeline, .. } = self {
            pipeline.flush();
        }
    }

    pub(crate) fn under_way(&self) -> usize {
        match self {
            Self::Lines { pipeline, .. } => pipeline.pending(),
            Self::Requests(requests) => requests.open.len(),
        }
    }

    /// The call that has waited longest.
    pub(crate) fn oldest(&self) -> Option<(u64, Instant)> {
        match self {
            Self::Lines { pipeline, .. } => pipeline.oldest(),
            // Requests have their own time.
            Self::Requests(requests) => requests.open.first().map(|open| (open.number, Instant::now())),
        }
    }

    /// The calls that wait for nothing, since what came for them could not be told apart.
    pub(crate) fn unanswerable_calls(&mut self) -> Vec<u64> {
        if let Self::Lines { pipeline, .. } = self { pipeline.unanswerable_calls() } else { Vec::new() }
    }

    /// Stops waiting for one call.
    pub(crate) fn forget(&mut self, number: u64) {
        match self {
            Self::Lines { pipeline, .. } => pipeline.forget(number),
            Self::Requests(requests) => requests.open.retain(|open| open.number != number),
        }
    }

    /// Stops waiting.
    pub(crate) fn give_up(&mut self) -> Vec<u64> {
        match self {
            Self::Lines { pipeline, .. } => pipeline.give_up(),
            Self::Requests(requests) => {
                std::mem::take(&mut requests.open).into_iter().map(|open| open.number).collect()
            }
        }
    }

    /// The events that have arrived.
    pub(crate) fn ready(&mut self) -> Option<CallEvent> {
        let Self::Lines { pipeline, .. } = self else { return None };
        let heard = pipeline.next_ready()?;
        Some(event(heard, pipeline))
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> CallEvent {
        match self {
            Self::Lines { pipeline, .. } => {
                let heard = pipeline.next_event().await;
                event(heard, pipeline)
            }
            Self::Requests(requests) => requests.next().await,
        }
    }
}

fn event(heard: PipelineEvent, pipeline: &Pipeline<'_>) -> CallEvent {
    match heard {
        PipelineEvent::Answer { tag, message, line: told } => CallEvent::Answer(tag, message, told),
        PipelineEvent::Violations(told) => CallEvent::Broken(told),
        PipelineEvent::Over => CallEvent::Over(Box::new(pipeline.failure())),
    }
}

/// Requests of a session.
pub(crate) struct Requests {
    caller: SessionCaller,
    open: Vec<OpenRequest>,
    /// Violations outside of the answers.
    unasked: Vec<OwnedViolation>,
}

struct OpenRequest {
    number: u64,
    answered: Pin<Box<dyn Future<Output = Result<SessionReply, CallFailure>> + Send>>,
}

impl Requests {
    fn send(&mut self, number: u64, params: Value) {
        let caller = self.caller.clone();
        let answered = Box::pin(async move { caller.send(CheckRequest::new("tools/call", params)).await });
        self.open.push(OpenRequest { number, answered });
    }

    async fn next(&mut self) -> CallEvent {
        if let Some(owned) = self.unasked.pop() {
            let line = self.caller.session().frames().into_iter().find(|frame| frame.seq == owned.violation.frame);
            let line = line.map(|frame| frame.bytes).unwrap_or_default();
            return CallEvent::Broken(ReceivedLine {
                line,
                frame: owned.violation.frame,
                violations: vec![owned.violation],
                beyond: None,
            });
        }
        let (at, answered) = poll_fn(|context| {
            for (at, open) in self.open.iter_mut().enumerate() {
                if let Poll::Ready(answered) = open.answered.as_mut().poll(context) {
                    return Poll::Ready((at, answered));
                }
            }
            Poll::Pending
        })
        .await;
        let number = self.open.remove(at).number;
        match answered {
            Ok(reply) => {
                let (of_answer, others) = self.violations(reply.answer_frame);
                self.unasked.extend(others);
                let told = ReceivedLine {
                    line: Arc::default(),
                    frame: reply.answer_frame,
                    violations: of_answer,
                    beyond: None,
                };
                CallEvent::Answer(number, Some(reply.message), told)
            }
            Err(failure) => {
                self.unasked.extend(self.caller.session().take_all_violations());
                if self.caller.session().is_open() {
                    CallEvent::Failed(number, Box::new(failure))
                } else {
                    CallEvent::Over(Box::new(failure))
                }
            }
        }
    }

    fn violations(&self, frame: u32) -> (Vec<crate::wire::ProtocolViolation>, Vec<OwnedViolation>) {
        let all = self.caller.session().take_all_violations();
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|owned| owned.violation.frame == frame);
        (own.into_iter().map(|owned| owned.violation).collect(), others)
    }
}
