//! `rehearse`, a long job that touches nothing and ends as it is told to: the tool that works as a task only.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, InputRequest};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::pace::{self, Pace};
use super::{ToolArguments, ToolEffect, ToolEntry, ToolRun};
use crate::demo::faulty::ServerFault;
use crate::demo::tasks::Task;
use crate::demo::transport::Input;

pub(super) const REHEARSE: ToolEntry = ToolEntry {
    name: "rehearse",
    title: "Rehearse a long job",
    description: "Does nothing for `delay_ms` milliseconds (0 to 10000, 0 if left out) in `steps` equal steps (1 to 20, \
        5 if left out), and then ends as `ending` says: with a `result` (if left out), with an `error` of the tool, or \
        with a `protocol_error`. With `ask` it asks first whether to go on, where a task can ask (2026-07-28) and the \
        client can answer.",
    effect: ToolEffect::Reads,
    input: || {
        json!({
            "type": "object",
            "properties": {
                "ending": {
                    "type": "string",
                    "description": "How the job ends",
                    "enum": ["result", "error", "protocol_error"],
                    "default": "result",
                },
                "delay_ms": pace::delay("How long the job takes, in milliseconds"),
                "steps": pace::steps(),
                "ask": {
                    "type": "boolean",
                    "description": "Whether the job asks if it is to go on",
                    "default": false,
                },
            },
            "additionalProperties": false,
        })
    },
    output: || {
        json!({
            "type": "object",
            "properties": { "steps": { "type": "integer", "description": "How many steps were done", "minimum": 0 } },
            "required": ["steps"],
            "additionalProperties": false,
        })
    },
    run: ToolRun::Rehearse,
};

/// One job.
pub(in crate::demo) struct Rehearsal {
    ending: RehearsalEnd,
    pace: Pace,
    asks: bool,
}

#[derive(Clone, Copy)]
enum RehearsalEnd {
    Result,
    Error,
    ProtocolError,
}

impl Rehearsal {
    pub(super) fn new(arguments: &ToolArguments) -> Self {
        let ending = match arguments.text("ending") {
            "error" => RehearsalEnd::Error,
            "protocol_error" => RehearsalEnd::ProtocolError,
            _ => RehearsalEnd::Result,
        };
        Self { ending, pace: Pace::new(arguments, "job"), asks: arguments.0["ask"] == true }
    }

    /// Does the job; the inner error is the tool's own.
    pub(in crate::demo) async fn run(
        &self,
        context: &RequestContext<RoleServer>,
        fault: &ServerFault,
        input: watch::Receiver<Input>,
    ) -> Result<Result<Value, String>, ErrorData> {
        if self.asks && !goes_on(context).await {
            return Ok(Err("the client does not want the job to go on".to_owned()));
        }
        if let Err(reason) = self.pace.work(context, fault, input).await {
            return Ok(Err(reason));
        }
        match self.ending {
            RehearsalEnd::Result => Ok(Ok(json!({ "steps": self.pace.steps }))),
            RehearsalEnd::Error => Ok(Err("the job failed, as `ending` has it".to_owned())),
            RehearsalEnd::ProtocolError => Err(ErrorData::internal_error(
                "the job broke off, as `ending` has it",
                Some(json!({ "job": "rehearse" })),
            )),
        }
    }
}

/// The client's decision; without one that could be asked, the job goes on.
async fn goes_on(context: &RequestContext<RoleServer>) -> bool {
    let declared = context.client_capabilities().and_then(|declared| declared.elicitation);
    let shows_forms = declared.is_some_and(|declared| declared.form.is_some() || declared.url.is_none());
    let Some(task) = context.extensions.get::<std::sync::Arc<Task>>().filter(|_| shows_forms) else { return true };
    let question = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Shall the job go on?",
            "requestedSchema": {
                "type": "object",
                "properties": { "go_on": { "type": "boolean", "description": "Whether the job goes on" } },
                "required": ["go_on"],
            },
        },
    });
    let Ok(question) = serde_json::from_value::<InputRequest>(question) else { return true };
    match task.ask("go-on", question).await {
        Some(answer) => answer["action"] == "accept" && answer["content"]["go_on"] == true,
        None => true,
    }
}
