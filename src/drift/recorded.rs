//! A recorded server as data, and the file that holds recorded servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::source::{legible_json, schema_address};
use crate::wire::Catalog;

/// The number of the format; other programs can tell by it whether they understand a file.
pub const FORMAT: u32 = 1;

/// A file of recorded servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Snapshot")]
#[serde(deny_unknown_fields)]
pub struct ServerSnapshot {
    /// The number of the format.
    pub format: u32,
    /// The servers, each once for every revision in which it was recorded.
    pub servers: Vec<Recorded>,
}

/// A server as it was.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Its name in the suite; `server` where there is none.
    pub name: String,
    /// The revision that was asked for: a date, or `auto`.
    pub protocol: String,
    /// Its identity.
    pub server: RecordedIdentity,
    /// Its tools as it listed them.
    pub tools: Vec<Value>,
    /// Its resources as it listed them.
    pub resources: Vec<Value>,
    /// Its resource templates as it listed them.
    pub resource_templates: Vec<Value>,
    /// Its prompts as it listed them.
    pub prompts: Vec<Value>,
    /// Its answers to calls.
    pub answers: Vec<RecordedAnswer>,
}

/// The identity that a server reports.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Identity")]
#[serde(deny_unknown_fields)]
pub struct RecordedIdentity {
    /// The revision that was spoken.
    pub revision: String,
    /// Its name and version.
    pub implementation: Value,
    /// The declared capabilities.
    pub capabilities: Value,
    /// The instructions for models.
    pub instructions: Option<String>,
}

/// The recorded answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Answer")]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswer {
    /// The tool.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The outcome of the call.
    pub outcome: RecordedOutcome,
    /// The content, or the error.
    pub told: Value,
    /// JSON pointers into `told`: what differed between two calls, and is not compared.
    pub volatile: Vec<String>,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outcome")]
#[serde(rename_all = "kebab-case")]
pub enum RecordedOutcome {
    /// It was served.
    Served,
    /// The tool said that it failed.
    ToolError,
    /// The request was refused.
    Refused,
}

/// Why a file holds no recorded servers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is no such file.
    #[error("it is not a recording of a server: {0}")]
    Other(String),
    /// It was written by another version of this program.
    #[error("it has the format {0}, and this version of mcprove reads {FORMAT}")]
    Format(u64),
}

impl ServerSnapshot {
    /// A file with these servers.
    pub fn new(servers: Vec<Recorded>) -> Self {
        Self { format: FORMAT, servers }
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let value: Value = serde_json::from_str(text).map_err(|error| Unreadable::Other(error.to_string()))?;
        match value["format"].as_u64() {
            Some(format) if format != u64::from(FORMAT) => Err(Unreadable::Format(format)),
            _ => serde_json::from_value(value).map_err(|error| Unreadable::Other(error.to_string())),
        }
    }

    /// The text of the file: one thing a line, in the order in which the server listed it.
    pub fn text(&self) -> String {
        legible_json(self) + "\n"
    }

    /// The recording of a server; the only recording there is stands for every server.
    pub fn of(&self, name: &str, protocol: &str) -> Option<&Recorded> {
        let named = || self.servers.iter().filter(|recorded| recorded.name == name);
        let exact = named().find(|recorded| recorded.protocol == protocol);
        exact.or_else(|| named().next()).or(match self.servers.as_slice() {
            [only] => Some(only),
            _ => None,
        })
    }
}

impl Recorded {
    /// A server with its lists, before any call.
    pub fn without_calls(name: &str, protocol: &str, server: RecordedIdentity, catalog: &Catalog) -> Self {
        Self {
            name: name.to_owned(),
            protocol: protocol.to_owned(),
            server,
            tools: catalog.tools.iter().map(|tool| tool.raw.clone()).collect(),
            resources: catalog.resources.clone(),
            resource_templates: catalog.resource_templates.clone(),
            prompts: catalog.prompts.clone(),
            answers: Vec::new(),
        }
    }

    /// The same without what is secret or belongs to one machine; `neutral` takes it out of a value.
    #[must_use]
    pub fn neutral(mut self, neutral: &dyn Fn(Value) -> Value) -> Self {
        let all = |values: Vec<Value>| values.into_iter().map(neutral).collect();
        self.tools = all(self.tools);
        self.resources = all(self.resources);
        self.resource_templates = all(self.resource_templates);
        self.prompts = all(self.prompts);
        self.server.implementation = neutral(self.server.implementation);
        self.server.capabilities = neutral(self.server.capabilities);
        let instructions = self.server.instructions.map(|text| neutral(text.into()));
        self.server.instructions = instructions.and_then(|text| text.as_str().map(str::to_owned));
        for answer in &mut self.answers {
            if let Value::String(tool) = neutral(answer.tool.as_str().into()) {
                answer.tool = tool;
            }
            answer.arguments = neutral(answer.arguments.take());
            answer.told = neutral(answer.told.take());
        }
        self
    }
}

impl RecordedIdentity {
    /// Reads the answer to `initialize` or to `server/discover`.
    pub fn of(said: &Value, revision: &str) -> Self {
        let info = said.get("serverInfo").or_else(|| said["_meta"].get("io.modelcontextprotocol/serverInfo"));
        Self {
            revision: revision.to_owned(),
            implementation: info.cloned().unwrap_or_default(),
            capabilities: said["capabilities"].clone(),
            instructions: said["instructions"].as_str().map(str::to_owned),
        }
    }
}

/// The JSON Schema of a file of recorded servers.
pub fn json_schema() -> Value {
    let mut schema = json!(schemars::schema_for!(ServerSnapshot));
    schema["title"] = "mcprove recorded servers".into();
    schema["$id"] = schema_address("snapshot").into();
    schema
}
