//! Records a server: its lists, and its answers to one call of every tool that may be called.

use serde_json::Value;

use super::compare::{filled_arguments, record_without_calls};
use super::stability::{PlannedCall, call_twice};
use crate::drift::Recorded;
use crate::event::Finding;
use crate::plan::CheckContext;
use crate::plan::arguments::{self, ConfigSource, NotCallable};
use crate::source::template::{Names, fill};
use crate::suite::ToolSelection;
use crate::wire::Tool;

/// The beginning of the sentence about a call that nothing answered.
pub const UNANSWERED: &str = "no answer of ";

/// The parts of a server to record.
#[derive(Debug, Clone)]
pub struct RecordingSelection {
    /// True if tools are called.
    pub call_tools: bool,
    /// Which tools.
    pub tools: ToolSelection,
    /// Calls of an earlier recording, to be made again; the suite and the schemas say what to call where there is none.
    pub calls: Vec<(String, Value)>,
}

/// Recorded servers, and in sentences what could not be recorded of them.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The servers, each once for every revision.
    pub servers: Vec<Recorded>,
    /// The calls that could not be recorded.
    pub notes: Vec<String>,
}

/// Records a server; `protocol` is the revision that was asked for, and `calling` is told which tool is called next.
///
/// # Errors
///
/// Fails where the server says nothing of itself.
pub async fn record(
    wanted: &RecordingSelection,
    protocol: &str,
    context: &CheckContext<'_>,
    calling: &(dyn Fn(&str) + Sync),
) -> Result<Recording, Finding> {
    let mut recorded = record_without_calls(context, context.server_name, protocol)
        .ok_or_else(|| Finding::new("nothing-said", "the server said nothing that could be recorded"))?;
    recorded.tools.retain(|tool| wanted.tools.selects(tool["name"].as_str().unwrap_or_default()));
    let mut notes = Vec::new();
    if wanted.call_tools {
        let mut made: Vec<PlannedCall<'_>> = Vec::new();
        for tool in context.catalog.tools.iter().filter(|tool| wanted.tools.selects(&tool.name)) {
            match calls(tool, wanted, context) {
                Ok(calls) => made.extend(calls.into_iter().map(|arguments| PlannedCall { tool, arguments })),
                Err(reason) => notes.push(format!("not called: {reason}")),
            }
        }
        for (answer, call) in call_twice(context, &made, calling).await.into_iter().zip(&made) {
            match answer {
                Ok(answer) => recorded.answers.push(answer),
                Err(reason) => notes.push(format!("{UNANSWERED}`{}` is recorded: {reason}", call.tool.name)),
            }
        }
    }
    let neutral = |note: String| context.machine.neutral(note.into()).as_str().unwrap_or_default().to_owned();
    Ok(Recording {
        servers: vec![recorded.neutral(&|value| context.machine.neutral(value))],
        notes: notes.into_iter().map(neutral).collect(),
    })
}

/// The arguments with which a tool is called; `Err` says why it is not.
fn calls(tool: &Tool, wanted: &RecordingSelection, context: &CheckContext<'_>) -> Result<Vec<Value>, String> {
    let name = &tool.name;
    let told = |why: NotCallable| why.sentence(name, ConfigSource::of(context.suite));
    if let Some(hazard) = context.suite.hazard(context.server_name, tool) {
        return Err(told(NotCallable::Hazard(hazard)));
    }
    let earlier = wanted.calls.iter().filter(|(tool, _)| tool == name);
    let earlier: Vec<Value> = earlier.map(|(_, arguments)| filled_arguments(context, name, arguments)).collect();
    if !earlier.is_empty() {
        return Ok(earlier);
    }
    let arguments = arguments::valid_arguments(context.suite, context.server_name, tool).map_err(told)?;
    let filled = fill(&arguments, &Names::new()).map_err(|unfilled| unfilled.reason.to_string())?;
    Ok(vec![filled.to_json()])
}
