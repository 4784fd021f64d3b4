//! Records a server: what it offers, and what it answers to one call of every tool that may be called.

use serde_json::Value;

use super::{ask, offered, sent};
use crate::drift::{Answer, Outcome as Came, Recorded, masked};
use crate::event::{Finding, Outcome};
use crate::plan::made::{self, Cure, Why};
use crate::probe::{Ground, Probed};
use crate::source::template::{Names, fill};
use crate::suite::{Recalling, ToolSelection};
use crate::wire::Tool;

/// How the sentence about a call begins that nothing answered.
pub const UNANSWERED: &str = "no answer of ";

/// What to record.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Whether tools are called.
    pub answers: Recalling,
    /// Which tools.
    pub tools: ToolSelection,
    /// Calls of an earlier recording, to be made again; the suite and the schemas say what to call where there is none.
    pub calls: Vec<(String, Value)>,
}

/// Records the server under these names: its own, and the revision that was asked for. What could not be recorded is
/// told beside it, in sentences; `calling` is told which tool is called next.
///
/// # Errors
///
/// Fails where the server says nothing of itself.
pub async fn record(
    names: (&str, &str),
    wanted: &Wanted,
    ground: &Ground<'_>,
    calling: &(dyn Fn(&str) + Sync),
) -> Result<(Recorded, Vec<String>), Finding> {
    let mut recorded = offered(ground, names)
        .ok_or_else(|| Finding::new("nothing-said", "the server said nothing that could be recorded"))?;
    recorded.tools.retain(|tool| wanted.tools.selects(tool["name"].as_str().unwrap_or_default()));
    let mut notes = Vec::new();
    if wanted.answers == Recalling::Made {
        let tools = ground.catalog.tools.iter().filter(|tool| wanted.tools.selects(&tool.name));
        for tool in tools {
            match calls(tool, wanted, ground) {
                Ok(calls) => {
                    calling(&tool.name);
                    for arguments in calls {
                        match twice(ground, (&tool.name, &arguments)).await {
                            Ok(answer) => recorded.answers.push(answer),
                            Err(reason) => notes.push(format!("{UNANSWERED}`{}` is recorded: {reason}", tool.name)),
                        }
                    }
                }
                Err(reason) => notes.push(format!("not called: {reason}")),
            }
        }
    }
    let neutral = |note: String| (ground.neutral)(note.into()).as_str().unwrap_or_default().to_owned();
    Ok((recorded.neutral(ground.neutral), notes.into_iter().map(neutral).collect()))
}

/// The arguments with which a tool is called; `Err` says why it is not.
fn calls(tool: &Tool, wanted: &Wanted, ground: &Ground<'_>) -> Result<Vec<Value>, String> {
    let name = &tool.name;
    let told = |why: Why| why.told(name, Cure::of(ground.suite));
    if let Some(hazard) = ground.suite.hazard(ground.server_name, tool) {
        return Err(told(Why::Hazard(hazard)));
    }
    let earlier = wanted.calls.iter().filter(|(tool, _)| tool == name);
    let earlier: Vec<Value> = earlier.map(|(_, arguments)| sent(ground, name, arguments)).collect();
    if !earlier.is_empty() {
        return Ok(earlier);
    }
    let arguments = made::arguments(ground.suite, ground.server_name, tool).map_err(told)?;
    Ok(vec![fill(&arguments, &Names::new())?.to_json()])
}

/// Makes a call twice, each time on a fresh server, and keeps what was the same; `Err` says why that is nothing.
async fn twice(ground: &Ground<'_>, call: (&str, &Value)) -> Result<Answer, String> {
    let first = once(ground, call).await?;
    let second = once(ground, call).await?;
    masked(call, first, &second).ok_or_else(|| "it was served once and failed once".to_owned())
}

async fn once(ground: &Ground<'_>, call: (&str, &Value)) -> Result<(Came, Value), String> {
    let session = ground.servers.open().await.map_err(|found| found.message)?;
    let answered = ask(ground, &session, call, &mut Probed::because(Outcome::Passed, "")).await;
    let ended = ground.servers.close(session).await;
    match (answered, ended) {
        (Err(found), _) | (Ok(_), Some(found)) => Err(found.message),
        (Ok(answer), None) => Ok(answer),
    }
}
