//! Work that takes time, step by step: it reports progress to whoever asks for it, and stops when nobody waits any more.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::ToolArguments;
use crate::demo::faulty::ServerFault;
use crate::demo::tasks::task_of;
use crate::demo::transport::Input;

const DEFAULT_STEPS: u32 = 5;

/// How long work takes, and in how many steps.
pub(super) struct Pace {
    /// What it is called.
    work: &'static str,
    delay: Duration,
    pub(super) steps: u32,
}

/// The schema of `delay_ms`.
pub(super) fn delay(description: &str) -> Value {
    json!({
        "type": "integer",
        "description": description,
        "minimum": 0,
        "maximum": 10000,
        "default": 0,
        "examples": [100],
    })
}

/// The schema of `steps`.
pub(super) fn steps() -> Value {
    json!({
        "type": "integer",
        "description": "In how many steps it is done",
        "minimum": 1,
        "maximum": 20,
        "default": DEFAULT_STEPS,
        "examples": [4],
    })
}

impl Pace {
    /// What `delay_ms` and `steps` say about this work.
    pub(super) fn new(arguments: &ToolArguments, work: &'static str) -> Self {
        let delay = arguments.integer("delay_ms").and_then(|delay| u64::try_from(delay).ok());
        let steps = arguments.integer("steps").and_then(|steps| u32::try_from(steps).ok());
        Self { work, delay: Duration::from_millis(delay.unwrap_or_default()), steps: steps.unwrap_or(DEFAULT_STEPS) }
    }

    /// Takes the time; an error is why it stopped.
    pub(super) async fn work(
        &self,
        context: &RequestContext<RoleServer>,
        fault: &ServerFault,
        mut input: watch::Receiver<Input>,
    ) -> Result<(), String> {
        let start = Instant::now();
        for step in 1..=self.steps {
            tokio::select! {
                biased;
                // rmcp sends no answer to a cancelled request, so nobody reads this.
                () = fault.cancelled(context.ct.cancelled()) => return Err(format!("the {} is cancelled", self.work)),
                _ = input.wait_for(Input::is_over) => {
                    return Err(format!("the input ended before the {} was done", self.work));
                }
                () = sleep_until(start + self.delay * step / self.steps) => {}
            }
            self.report(context, step).await;
        }
        Ok(())
    }

    async fn report(&self, context: &RequestContext<RoleServer>, step: u32) {
        let Some(token) = context.meta.get_progress_token() else {
            return;
        };
        let progress = ProgressNotificationParam::new(token, step.into()).with_total(self.steps.into());
        if let Some(task) = task_of(context) {
            task.report(progress).await;
            return;
        }
        // It fails when the client is gone, which ends the work by itself.
        let _ = context.peer.notify_progress(progress).await;
    }
}
