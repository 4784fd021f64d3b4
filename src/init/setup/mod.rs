//! The calls that a server needs first, found by trying: what they make is there when other tools are called.
//!
//! One server serves many calls one after another; asked in the reverse order, another refuses those that need what earlier
//! ones made. For these, writing calls become the setup of a suite, as few as suffice. The calls are found in [`trial`],
//! the values that they share in [`links`].

mod links;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};

use self::links::{LinkedCall, link_calls};
use self::trial::{SetupTrial, TriedSetup};
use crate::check::learning::{LearningTask, learn_arguments};
use crate::plan::CheckContext;
use crate::redact::{Redactor, hold_a_secret};
use crate::reproduce::{literal, literal_text, with_store_named};
use crate::source::words;

/// The setup of a suite, and arguments that are served after it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FoundSetup {
    /// Steps as a suite writes them.
    pub(crate) steps: Vec<Value>,
    /// Arguments by tool as a suite writes them, which are served after the setup only.
    pub(crate) arguments: BTreeMap<String, Value>,
    /// Arguments by tool as a suite writes them, which are served without the setup too.
    pub(crate) other_arguments: BTreeMap<String, Value>,
    /// The tools that did not answer a call in its time.
    pub(crate) silent_tools: BTreeSet<String>,
}

/// Finds the setup of a server within some time; `doing` is told what comes next.
pub(crate) async fn find_setup(
    context: &CheckContext<'_>,
    redactor: &Redactor,
    time: Duration,
    doing: &(dyn Fn(String) + Sync),
) -> FoundSetup {
    doing("looking for arguments that its tools serve".to_owned());
    let begun = tokio::time::Instant::now();
    let task = LearningTask::all();
    let task = LearningTask { time: task.time.min(time * 3 / 5), ..task };
    let learning = learn_arguments(context, task).await;
    doing("looking for what has to be made first".to_owned());
    let is_public = |arguments: &Value| !hold_a_secret(arguments) && redactor.value(arguments.clone()) == *arguments;
    let served: Vec<_> = learning.served.into_iter().filter(|call| is_public(&call.arguments)).collect();
    let trial = SetupTrial::new(context, link_calls(&served), time.saturating_sub(begun.elapsed()));
    let silent_tools = learning.silent;
    let Some(tried) = trial.find().await else { return FoundSetup { silent_tools, ..FoundSetup::default() } };
    let store = context.machine.store();
    let named = |value: Value| with_store_named(value, store.as_deref());
    let others =
        learning.found.into_iter().filter(|(tool, found)| is_public(&found.arguments) && !tried.is_about(tool));
    let others = others.map(|(tool, found)| (tool, named(literal(&found.arguments)))).collect();
    let FoundSetup { steps, arguments, .. } = written(&tried);
    FoundSetup {
        steps: steps.into_iter().map(named).collect(),
        arguments: arguments.into_iter().map(|(tool, value)| (tool, named(value))).collect(),
        other_arguments: others,
        silent_tools,
    }
}

/// The setup as a suite writes it. Values that differ from server to server are captured.
fn written(tried: &TriedSetup) -> FoundSetup {
    let calls = &tried.calls;
    let mut names = CaptureNames::default();
    let used = tried.setup.iter().chain(&tried.served).flat_map(|at| &calls[*at].links);
    for link in used.filter(|link| tried.is_drawn(link)) {
        names.add(link.source, &calls[link.source].tool, &link.path);
    }
    let arguments = |call: &LinkedCall| {
        call.written_arguments(|link| names.of(link.source, &link.path).filter(|_| tried.is_drawn(link)))
    };
    let steps = tried.setup.iter().map(|at| {
        let mut step = json!({"call": literal_text(&calls[*at].tool)});
        let arguments = arguments(&calls[*at]);
        if arguments.as_object().is_some_and(|members| !members.is_empty()) {
            step["args"] = arguments;
        }
        step["expect"] = json!([{"is_error": false}]);
        let captured: Map<String, Value> = names.of_call(*at).map(|(path, name)| (name, path.into())).collect();
        if !captured.is_empty() {
            step["capture"] = captured.into();
        }
        step
    });
    FoundSetup {
        steps: steps.collect(),
        arguments: tried.served.iter().map(|at| (calls[*at].tool.clone(), arguments(&calls[*at]))).collect(),
        ..FoundSetup::default()
    }
}

/// The names under which a suite captures values: by call and path.
#[derive(Debug, Default)]
struct CaptureNames {
    known: BTreeMap<(usize, String), String>,
    taken: BTreeSet<String>,
}

impl CaptureNames {
    /// Gives a value a name that is made from its tool and its member: `user_id` for the `id` that `create_user` shows.
    fn add(&mut self, call: usize, tool: &str, path: &str) {
        let key = (call, path.to_owned());
        if self.known.contains_key(&key) {
            return;
        }
        let is_plain = |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric());
        let member = path.rsplit('.').find(|part| !part.ends_with(']') && !part.ends_with(')')).unwrap_or_default();
        let nouns = words(tool).into_iter().skip(1).chain(words(member)).filter(is_plain);
        let mut parts: Vec<String> = nouns.collect();
        parts.dedup();
        let name = parts.join("_");
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let name = if is_name { name } else { "made_id".to_owned() };
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.taken.contains(name));
        if let Some(name) = free {
            self.taken.insert(name.clone());
            self.known.insert(key, name);
        }
    }

    fn of(&self, call: usize, path: &str) -> Option<&str> {
        self.known.get(&(call, path.to_owned())).map(String::as_str)
    }

    /// The paths of a call with their names.
    fn of_call(&self, call: usize) -> impl Iterator<Item = (String, String)> {
        let own = self.known.iter().filter(move |((of, _), _)| *of == call);
        own.map(|((_, path), name)| (path.clone(), name.clone()))
    }
}
