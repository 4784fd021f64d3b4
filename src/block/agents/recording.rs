//! `recording:`, turns of a model that were written down once, and are played back where nobody wants to ask it.
//!
//! A turn is played back only if the model is told exactly what it was told then: another answer of a tool, or another
//! description, might have led elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::ApiProvider;
use super::host::ModelTool;
use super::provider::{
    Model, ModelArguments, ModelFailure, ModelInput, ModelProvider, ModelTurn, RecordedRuns, Tokens, ToolUse,
};
use crate::event::Finding;
use crate::plan::{BoxFuture, CheckContext};
use crate::source::{beginning, difference};

/// The most lines of a difference that are printed, and the longest part of each, in characters.
const MOST_LINES: usize = 12;
const SHOWN: usize = 160;

/// A model whose turns are played back, or written down by a run with `--update`.
#[derive(Debug)]
pub(crate) struct RecordedProvider {
    inner: ApiProvider,
    file: PathBuf,
    /// The turns of each run; `None` where nothing was recorded.
    known: Option<Arc<Vec<Value>>>,
}

impl RecordedProvider {
    /// Takes the text of the recording; the sentence says what is wrong with it.
    pub(crate) fn new(inner: ApiProvider, file: PathBuf, text: Option<&str>) -> Result<Self, String> {
        let known = match text {
            None => None,
            Some(text) => {
                let json: Value = serde_json::from_str(text).map_err(|why| why.to_string())?;
                let models = json["models"].as_object().ok_or("it has no `models`")?;
                let read = |runs: &Value| runs.as_array().cloned().ok_or("the runs of a model are no list");
                // Of another model than the suite names now, nothing is known, and `--update` replaces it.
                models.get(inner.model()).map(read).transpose()?.map(Arc::new)
            }
        };
        Ok(Self { inner, file, known })
    }
}

impl ModelProvider for RecordedProvider {
    fn start(&self, context: &CheckContext<'_>, number: usize) -> Box<dyn Model> {
        if context.record.is_some() {
            let inner = self.inner.start(context, number);
            return Box::new(WrittenModel { inner, turns: Vec::new() });
        }
        let run = self.known.as_ref().and_then(|runs| runs.get(number - 1));
        let turns = run.and_then(Value::as_array).cloned();
        Box::new(PlayedModel {
            file: self.file.display().to_string(),
            model: self.inner.model().to_owned(),
            turns,
            at: 0,
        })
    }

    fn is_deterministic(&self) -> bool {
        self.known.is_some()
    }

    fn recorded_runs(&self) -> Option<RecordedRuns> {
        let runs = self.known.as_ref()?.len();
        Some(RecordedRuns { file: self.file.clone(), runs })
    }

    fn recording_file(&self) -> Option<&Path> {
        Some(&self.file)
    }

    fn recording(&self, runs: Vec<Value>) -> Option<(PathBuf, Value)> {
        Some((self.file.clone(), json!({ "models": { self.inner.model(): runs } })))
    }
}

/// A model that is asked, and whose turns are written down.
struct WrittenModel {
    inner: Box<dyn Model>,
    turns: Vec<Value>,
}

impl Model for WrittenModel {
    fn reply<'a>(&'a mut self, told: &'a ModelInput<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelFailure>> {
        Box::pin(async move {
            let turn = self.inner.reply(told).await?;
            self.turns.push(json!({ "told": told_since(told), "turn": turn_to_json(&turn) }));
            Ok(turn)
        })
    }

    fn turns(&self) -> Vec<Value> {
        self.turns.clone()
    }
}

/// A model that says what it said before.
struct PlayedModel {
    file: String,
    model: String,
    /// Its turns; `None` without a recording.
    turns: Option<Vec<Value>>,
    at: usize,
}

impl Model for PlayedModel {
    fn reply<'a>(&'a mut self, told: &'a ModelInput<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelFailure>> {
        Box::pin(async move { self.next(told) })
    }
}

impl PlayedModel {
    fn next(&mut self, told: &ModelInput<'_>) -> Result<ModelTurn, ModelFailure> {
        let Some(turns) = &self.turns else {
            let message = format!("nothing of the model `{}` is recorded in `{}`", self.model, self.file);
            let help = "record it with `mcprove run --update`, which asks the model".to_owned();
            let found = Finding { help: Some(help), ..Finding::new("no-recording", message) };
            return Err(ModelFailure::Unavailable(Box::new(found)));
        };
        let (told, turn) = (told_since(told), turns.get(self.at));
        self.at += 1;
        let recorded = turn.map_or(Value::Null, |turn| turn["told"].clone());
        match turn.and_then(|turn| turn_of(&turn["turn"])) {
            Some(turn) if recorded == told => Ok(turn),
            _ => Err(ModelFailure::Diverged(Box::new(self.differs(&recorded, &told)))),
        }
    }

    fn differs(&self, recorded: &Value, told: &Value) -> Finding {
        let message = format!("the model's input in turn {} differs from the recording `{}`", self.at, self.file);
        let [before, after] = [recorded, told].map(|value| serde_json::to_string_pretty(value).unwrap_or_default());
        let [before, after] = [&before, &after].map(|text| text.lines().collect::<Vec<_>>());
        let lines = difference(&before, &after, 1).into_iter().flatten();
        let lines = lines.map(|(side, line)| format!("{} {}", side.sign(), beginning(line.trim_start(), SHOWN)));
        let help = "if this is right, record it again with `mcprove run --update`, which asks the model".to_owned();
        Finding {
            diff: Some(lines.take(MOST_LINES).collect::<Vec<_>>().join("\n")),
            help: Some(help),
            ..Finding::new("recording-differs", message)
        }
    }
}

/// The part of a model's input that is new in this turn.
fn told_since(told: &ModelInput<'_>) -> Value {
    let Some(last) = told.past.last() else {
        let tool =
            |tool: &ModelTool| json!({ "name": tool.name, "description": tool.description, "schema": tool.schema });
        let tools: Vec<Value> = told.tools.iter().map(tool).collect();
        return json!({ "system": told.system, "prompt": told.prompt, "tools": tools });
    };
    let results = last.results.iter().map(|result| json!({ "text": result.text, "is_error": result.is_error }));
    json!({ "results": results.collect::<Vec<_>>() })
}

fn turn_to_json(turn: &ModelTurn) -> Value {
    let tokens = turn.tokens.unwrap_or_default();
    let calls = turn
        .calls
        .iter()
        .map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments.to_json() }));
    let mut written = json!({
        "text": turn.text,
        "calls": calls.collect::<Vec<_>>(),
        "tokens": { "read": tokens.read, "cached": tokens.cached, "written": tokens.written },
    });
    if let Some(why) = &turn.cut {
        written["cut"] = why.clone().into();
    }
    written
}

fn turn_of(written: &Value) -> Option<ModelTurn> {
    let calls = written["calls"].as_array()?.iter().map(|call| {
        Some(ToolUse {
            id: call["id"].as_str()?.to_owned(),
            name: call["name"].as_str()?.to_owned(),
            arguments: ModelArguments::of(&call["arguments"]),
        })
    });
    let tokens = |member: &str| written["tokens"][member].as_u64().unwrap_or_default();
    Some(ModelTurn {
        text: written["text"].as_str()?.to_owned(),
        calls: calls.collect::<Option<Vec<_>>>()?,
        tokens: Tokens { read: tokens("read"), cached: tokens("cached"), written: tokens("written") }.if_counted(),
        cut: written["cut"].as_str().map(str::to_owned),
        raw: Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::provider::{PastTurn, ToolResult};
    use tokio::time::Instant;

    fn told<'a>(prompt: &'a str, past: &'a [PastTurn]) -> ModelInput<'a> {
        ModelInput { prompt, system: None, tools: &[], past, deadline: Instant::now() }
    }

    fn turn() -> ModelTurn {
        let call =
            ToolUse { id: "c1".to_owned(), name: "get".to_owned(), arguments: ModelArguments::of(&json!({ "id": 1 })) };
        ModelTurn { calls: vec![call], tokens: Some(Tokens { read: 3, cached: 2, written: 1 }), ..ModelTurn::default() }
    }

    fn past(answer: &str) -> Vec<PastTurn> {
        let result = ToolResult { text: answer.to_owned(), is_error: false, message: Arc::new(json!({})) };
        vec![PastTurn { turn: turn(), results: vec![result] }]
    }

    fn played(turns: Option<Vec<Value>>) -> PlayedModel {
        PlayedModel { file: "f.json".to_owned(), model: "m".to_owned(), turns, at: 0 }
    }

    #[test]
    fn a_turn_is_played_back_if_the_model_is_told_the_same() {
        let recorded = |told: &ModelInput<'_>| json!({ "told": told_since(told), "turn": turn_to_json(&turn()) });
        let turns = vec![recorded(&told("p", &[])), recorded(&told("p", &past("Ann")))];
        for (prompt, answer, expected) in [("p", "Ann", "played"), ("q", "Ann", "turn 1"), ("p", "Bob", "turn 2")] {
            let mut model = played(Some(turns.clone()));
            let first = model.next(&told(prompt, &[]));
            let end = first.and_then(|_| model.next(&told(prompt, &past(answer))));
            let seen = match end {
                Ok(turn) => format!("played {}", turn.calls[0].arguments.to_json()),
                Err(ModelFailure::Diverged(found)) => found.message,
                Err(other) => panic!("{other:?}"),
            };
            assert!(seen.contains(expected), "{prompt} {answer}: {seen}");
        }
    }

    #[test]
    fn beyond_its_recording_nobody_knows_what_a_model_says() {
        let mut model = played(Some(Vec::new()));
        assert!(matches!(model.next(&told("p", &[])), Err(ModelFailure::Diverged(_))));
        let mut model = played(None);
        assert!(matches!(model.next(&told("p", &[])), Err(ModelFailure::Unavailable(_))));
    }

    #[test]
    fn the_difference_shows_what_the_model_is_told_instead() {
        let model = PlayedModel { at: 2, ..played(None) };
        let found = model.differs(&json!({ "results": ["Ann"] }), &json!({ "results": ["Bob"] }));
        let diff = found.diff.unwrap_or_default();
        assert!(diff.contains("- \"Ann\"") && diff.contains("+ \"Bob\""), "{diff}");
    }

    #[test]
    fn a_turn_is_the_same_after_it_was_written_down() {
        for turn in
            [turn(), ModelTurn { text: "done".to_owned(), cut: Some("length".to_owned()), ..ModelTurn::default() }]
        {
            let written = turn_to_json(&turn);
            let read = turn_of(&written).unwrap();
            assert_eq!(turn_to_json(&read), written);
            assert_eq!((read.tokens, read.cut), (turn.tokens, turn.cut));
        }
        assert!(turn_of(&json!({ "text": "a", "calls": [{ "id": "1" }] })).is_none(), "a call without a name");
    }
}
