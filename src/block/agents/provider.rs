//! What answers in the place of a model: it is told the prompt, the tools and what happened, and says what to do next.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::host::ModelTool;
use crate::event::Finding;
use crate::plan::{BoxFuture, CheckContext};

/// A way to a model.
pub(crate) trait ModelProvider: Debug + Send + Sync {
    /// A model that has not been told anything yet, for the run with that number.
    fn start(&self, context: &CheckContext<'_>, number: usize) -> Box<dyn Model>;

    /// The same input always gets the same reply.
    fn is_deterministic(&self) -> bool;

    /// It is a model, or what one said, rather than a script that somebody wrote for the occasion.
    fn is_model(&self) -> bool {
        true
    }

    /// The tokens that it takes depend on its input.
    fn counts_what_it_reads(&self) -> bool {
        true
    }

    /// The number of recorded runs, where turns are played back from a recording.
    fn recorded_runs(&self) -> Option<RecordedRuns> {
        None
    }

    /// The file of its recording, where there is to be one.
    fn recording_file(&self) -> Option<&Path> {
        None
    }

    /// The recording of these runs and its file, where there is to be one.
    fn recording(&self, _runs: Vec<Value>) -> Option<(PathBuf, Value)> {
        None
    }
}

/// The runs of a recording.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRuns {
    pub(crate) file: PathBuf,
    pub(crate) runs: usize,
}

/// A model in the middle of a run.
pub(crate) trait Model: Send {
    /// Its next turn.
    fn reply<'a>(&'a mut self, told: &'a ModelInput<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelFailure>>;

    /// Its turns so far, where they are written down.
    fn turns(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// Everything that a model is told.
pub(crate) struct ModelInput<'a> {
    /// The goal.
    pub(crate) prompt: &'a str,
    /// Who the model is to be.
    pub(crate) system: Option<&'a str>,
    /// The tools that it may call.
    pub(crate) tools: &'a [ModelTool],
    /// Its turns so far, each with the results of its calls.
    pub(crate) past: &'a [PastTurn],
    /// When the time of the run is over.
    pub(crate) deadline: Instant,
}

/// A turn that is over.
#[derive(Debug, Clone)]
pub(crate) struct PastTurn {
    pub(crate) turn: ModelTurn,
    /// A result for each call.
    pub(crate) results: Vec<ToolResult>,
}

/// The reply of a model: calls to make, or else its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelTurn {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolUse>,
    /// The tokens that it took, where anybody counts them.
    pub(crate) tokens: Option<Tokens>,
    /// Why it ends early, in the provider's word for it: the answer is too long, or withheld.
    pub(crate) cut: Option<String>,
    /// The same in the format of its provider, in which it is told to the model again.
    pub(crate) raw: Value,
}

/// A call that a model wants to make.
#[derive(Debug, Clone)]
pub(crate) struct ToolUse {
    /// The provider's id of the call; empty where it has none.
    pub(crate) id: String,
    /// The tool, as it was offered.
    pub(crate) name: String,
    pub(crate) arguments: ModelArguments,
}

/// The arguments of a call, as a model wrote them.
#[derive(Debug, Clone)]
pub(crate) enum ModelArguments {
    /// An object.
    Object(Map<String, Value>),
    /// A text that is no JSON object.
    Malformed(String),
}

impl ModelArguments {
    /// Arguments that are written as JSON; nothing at all are no arguments.
    pub(crate) fn parse(text: &str) -> Self {
        match serde_json::from_str(if text.trim().is_empty() { "{}" } else { text }) {
            Ok(value) => Self::of(&value),
            Err(_) => Self::Malformed(text.to_owned()),
        }
    }

    /// Arguments as a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value.as_object() {
            Some(members) => Self::Object(members.clone()),
            None => Self::Malformed(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
        }
    }

    /// As a value, whatever it is.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Object(members) => Value::Object(members.clone()),
            Self::Malformed(text) => text.clone().into(),
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone)]
pub(crate) struct ToolResult {
    /// The text that the model reads.
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// The whole answer; made up where no server was asked.
    pub(crate) message: Arc<Value>,
}

/// Numbers of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) read: u64,
    /// Those of `read` that the provider had in its cache.
    pub(crate) cached: u64,
    pub(crate) written: u64,
}

impl Tokens {
    /// The tokens that a provider counted; nothing where it counts none.
    pub(crate) fn if_counted(self) -> Option<Self> {
        Some(self).filter(|tokens| *tokens != Self::default())
    }

    pub(crate) fn all(self) -> u64 {
        self.read.saturating_add(self.written)
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.read = self.read.saturating_add(more.read);
        self.cached = self.cached.saturating_add(more.cached);
        self.written = self.written.saturating_add(more.written);
    }
}

/// Why a model has no next turn.
#[derive(Debug)]
pub(crate) enum ModelFailure {
    /// It cannot go on with what the servers answered, which counts against the run.
    Stuck(Box<Finding>),
    /// It is told something else than when its turns were recorded, so nobody knows what it would say.
    Diverged(Box<Finding>),
    /// Its provider cannot be used, which says nothing about the run.
    Unavailable(Box<Finding>),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_an_object_or_malformed() {
        for (written, expected) in [
            ("{\"id\": 1}", Ok(json!({ "id": 1 }))),
            // Nothing at all are no arguments.
            ("", Ok(json!({}))),
            ("  ", Ok(json!({}))),
            ("[1]", Err("[1]")),
            ("\"id\"", Err("id")),
            ("{\"id\": 1", Err("{\"id\": 1")),
        ] {
            match (ModelArguments::parse(written), expected) {
                (ModelArguments::Object(members), Ok(expected)) => assert_eq!(Value::Object(members), expected),
                (ModelArguments::Malformed(text), Err(expected)) => assert_eq!(text, expected),
                (other, _) => panic!("{written}: {other:?}"),
            }
        }
    }
}
