//! `export_users`, the slow tool: it reports progress to whoever asks for it, and stops when nobody waits any more.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::{Arguments, Effect, Entry, Run};
use crate::demo::faulty::Fault;
use crate::demo::store::{Store, User};
use crate::demo::transport::Input;

const DEFAULT_STEPS: u32 = 5;

pub(super) const EXPORT: Entry = Entry {
    name: "export_users",
    title: "Export all users",
    description: "Returns all users as one text in the format `format`, `csv` (with a header line) or `json`. It takes \
        `delay_ms` milliseconds (0 to 10000, 0 if left out) in `steps` equal steps (1 to 20, 5 if left out), and \
        reports progress after each step if the request carries a progress token.",
    effect: Effect::Reads,
    input: || {
        json!({
            "type": "object",
            "properties": {
                "format": {
                    "type": "string",
                    "description": "The format of the text",
                    "enum": ["csv", "json"],
                },
                "delay_ms": {
                    "type": "integer",
                    "description": "How long the export takes, in milliseconds",
                    "minimum": 0,
                    "maximum": 10000,
                    "default": 0,
                    "examples": [100],
                },
                "steps": {
                    "type": "integer",
                    "description": "In how many steps it is done",
                    "minimum": 1,
                    "maximum": 20,
                    "default": DEFAULT_STEPS,
                    "examples": [4],
                },
            },
            "required": ["format"],
            "additionalProperties": false,
        })
    },
    output: || {
        json!({
            "type": "object",
            "properties": {
                "format": { "type": "string", "description": "The format of `data`", "enum": ["csv", "json"] },
                "total": { "type": "integer", "description": "How many users `data` holds", "minimum": 0 },
                "data": { "type": "string", "description": "The users, oldest first" },
            },
            "required": ["format", "total", "data"],
            "additionalProperties": false,
        })
    },
    run: Run::Export,
};

/// One export.
pub(in crate::demo) struct Export {
    format: Format,
    delay: Duration,
    steps: u32,
}

#[derive(Clone, Copy)]
enum Format {
    Csv,
    Json,
}

impl Export {
    pub(super) fn new(arguments: &Arguments) -> Self {
        let delay = arguments.integer("delay_ms").and_then(|delay| u64::try_from(delay).ok());
        let steps = arguments.integer("steps").and_then(|steps| u32::try_from(steps).ok());
        Self {
            format: if arguments.text("format") == "csv" { Format::Csv } else { Format::Json },
            delay: Duration::from_millis(delay.unwrap_or_default()),
            steps: steps.unwrap_or(DEFAULT_STEPS),
        }
    }

    /// Takes the time, step by step; an error is why it stopped.
    pub(in crate::demo) async fn work(
        &self,
        context: &RequestContext<RoleServer>,
        fault: &Fault,
        mut input: watch::Receiver<Input>,
    ) -> Result<(), String> {
        let start = Instant::now();
        for step in 1..=self.steps {
            tokio::select! {
                biased;
                // rmcp sends no answer to a cancelled request, so nobody reads this.
                () = fault.cancelled(context.ct.cancelled()) => return Err("the export is cancelled".to_owned()),
                _ = input.wait_for(Input::is_over) => return Err("the input ended before the export was done".to_owned()),
                () = sleep_until(start + self.delay * step / self.steps) => {}
            }
            self.report(context, fault, step).await;
        }
        Ok(())
    }

    async fn report(&self, context: &RequestContext<RoleServer>, fault: &Fault, step: u32) {
        let Some(token) = context.meta.get_progress_token() else {
            return;
        };
        let mut progress = ProgressNotificationParam::new(token, step.into()).with_total(self.steps.into());
        fault.progress(&mut progress);
        // It fails when the client is gone, which ends the export by itself.
        let _ = context.peer.notify_progress(progress).await;
    }

    /// What the export gives.
    pub(in crate::demo) fn result(&self, store: &Store) -> Value {
        let (format, data) = match self.format {
            Format::Csv => ("csv", csv(store.all())),
            Format::Json => ("json", store.all().map(User::to_json).collect::<Value>().to_string()),
        };
        json!({ "format": format, "total": store.all().len(), "data": data })
    }
}

fn csv<'a>(users: impl Iterator<Item = &'a User>) -> String {
    let rows = users.map(|user| {
        let age = user.age.map(|age| age.to_string()).unwrap_or_default();
        let (name, email) = (field(&user.name), field(&user.email));
        format!("{},{name},{email},{age}\n", user.id)
    });
    std::iter::once("id,name,email,age\n".to_owned()).chain(rows).collect()
}

/// A field as RFC 4180 quotes it.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
