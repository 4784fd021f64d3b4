//! `export_users`, the slow tool: it reports progress to whoever asks for it, and stops when nobody waits any more.

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::pace::{self, Pace};
use super::{ToolArguments, ToolEffect, ToolEntry, ToolRun};
use crate::demo::faulty::ServerFault;
use crate::demo::store::{Store, User};
use crate::demo::transport::Input;

pub(super) const EXPORT: ToolEntry = ToolEntry {
    name: "export_users",
    title: "Export all users",
    description: "Returns all users as one text in the format `format`, `csv` (with a header line) or `json`. It takes \
        `delay_ms` milliseconds (0 to 10000, 0 if left out) in `steps` equal steps (1 to 20, 5 if left out), and \
        reports progress after each step if the request carries a progress token.",
    effect: ToolEffect::Reads,
    input: || {
        json!({
            "type": "object",
            "properties": {
                "format": {
                    "type": "string",
                    "description": "The format of the text",
                    "enum": ["csv", "json"],
                },
                "delay_ms": pace::delay("How long the export takes, in milliseconds"),
                "steps": pace::steps(),
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
    run: ToolRun::Export,
};

/// One export.
pub(in crate::demo) struct Export {
    format: ExportFormat,
    pace: Pace,
}

#[derive(Clone, Copy)]
enum ExportFormat {
    Csv,
    Json,
}

impl Export {
    pub(super) fn new(arguments: &ToolArguments) -> Self {
        let format = if arguments.text("format") == "csv" { ExportFormat::Csv } else { ExportFormat::Json };
        Self { format, pace: Pace::new(arguments, "export") }
    }

    /// Takes the time, step by step; an error is why it stopped.
    pub(in crate::demo) async fn work(
        &self,
        context: &RequestContext<RoleServer>,
        fault: &ServerFault,
        input: watch::Receiver<Input>,
    ) -> Result<(), String> {
        self.pace.work(context, fault, input).await
    }

    /// What the export gives.
    pub(in crate::demo) fn result(&self, store: &Store) -> Value {
        let (format, data) = match self.format {
            ExportFormat::Csv => ("csv", csv(store.all())),
            ExportFormat::Json => ("json", store.all().map(User::to_json).collect::<Value>().to_string()),
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
