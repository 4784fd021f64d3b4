//! Arguments that tools serve, found out once for each server before generated cases are made.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::argument_memory::server_key;
use super::check::TargetServers;
use super::sessions::TargetSessions;
use super::target::RunTarget;
use super::{Options, RunMessage};
use crate::check::learning::{LEARNING_TIME, LearnedArguments, Learning, LearningTask, learn_arguments};
use crate::event::{Section, SectionPart};
use crate::plan::{Case, is_called_by_generated};
use crate::reproduce::with_store_named;
use crate::transport::Owner;
use crate::wire::{Catalog, MAX_COMPARED_MEMORY, Tool};

/// The catalog with the arguments that tools serve, where generated calls of the target need them; `case` is any of it.
pub(crate) async fn learned_catalog(
    sessions: &Arc<TargetSessions>,
    case: &Case,
    options: &Options,
    listed: Arc<Catalog>,
) -> Arc<Catalog> {
    let target = sessions.target.as_ref();
    // A recording answers only what was asked when it was made, and the plan of a proof is made already.
    if target.history.is_none() || target.is_replayed || target.tamper.is_some() {
        return listed;
    }
    let learned = target.learned.get_or_init(|| async {
        let learning = Box::pin(learn(sessions, case, options, &listed)).await;
        remember(target, options, &learning);
        let Learning { found: learned, ends, .. } = learning;
        target.untold_ends.add(ends.into_values());
        if learned.is_empty() {
            return listed;
        }
        target.emitter.send(RunMessage::Section(section(target, &learned)));
        let with_served = |tool: &Tool| {
            let served = learned.get(&tool.name).map(|found| found.arguments.clone());
            Tool { served, ..tool.clone() }
        };
        let tools = listed.tools.iter().map(with_served).collect();
        Arc::new(Catalog { tools, ..Catalog::clone(&listed) })
    });
    Arc::clone(learned.await)
}

async fn learn(sessions: &Arc<TargetSessions>, case: &Case, options: &Options, catalog: &Catalog) -> Learning {
    let target = sessions.target.as_ref();
    let servers =
        TargetServers::new(sessions, case, options).reading_at_most(Some(MAX_COMPARED_MEMORY)).searching_arguments();
    let names = servers.names().await;
    let context = servers.context(&Owner::Session, catalog, &names);
    let needed = |tool: &Tool| is_called_by_generated(target.suite_plan(), target.index, &tool.name);
    let remembered = key_of(target).map(|server| options.arguments.recall(&server)).unwrap_or_default();
    let task = LearningTask { needed: &needed, remembered: &remembered, time: LEARNING_TIME };
    let learning = tokio::select! {
        learning = learn_arguments(&context, task) => learning,
        () = options.stop.wait() => Learning::default(),
    };
    target.retire_stores(&case.id);
    learning
}

fn key_of(target: &RunTarget) -> Option<String> {
    server_key(target.server.as_ref().ok()?, target.redactor())
}

/// Keeps the names of the tools that the server of a target lists.
pub(crate) fn remember_tools(target: &RunTarget, options: &Options) {
    let Some(catalog) = target.listed_catalog().filter(|_| !target.is_replayed) else { return };
    let server = key_of(target).unwrap_or_else(|| target.server_name().to_owned());
    let names = catalog.tools.iter().map(|tool| target.redactor().text(&tool.name));
    options.arguments.note_tools(server, names.collect());
}

/// Keeps what a later run may begin with; secrets are not kept.
fn remember(target: &RunTarget, options: &Options, learning: &Learning) {
    let Some(server) = key_of(target) else { return };
    for tool in &learning.outdated {
        options.arguments.note(&server, tool, None);
    }
    for (tool, LearnedArguments { arguments, .. }) in &learning.found {
        if target.redactor().value(arguments.clone()) == *arguments {
            options.arguments.note(&server, tool, Some(arguments.clone()));
        }
    }
}

/// The arguments that were found, to be copied into a suite.
fn section(target: &RunTarget, learned: &BTreeMap<String, LearnedArguments>) -> Section {
    let store = target.stores.as_ref().map(|stores| stores.store());
    let shown =
        |found: &LearnedArguments| with_store_named(target.redactor().value(found.arguments.clone()), store.as_deref());
    let line = |(tool, found): (&String, &LearnedArguments)| {
        let is_plain = tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let name = if is_plain { tool.clone() } else { Value::from(tool.as_str()).to_string() };
        format!("  {name}: {}  # from {}", shown(found), found.origin)
    };
    let lines: Vec<String> = ["arguments:".to_owned()].into_iter().chain(learned.iter().map(line)).collect();
    let data = |(tool, found): (&String, &LearnedArguments)| {
        (tool.clone(), json!({"arguments": shown(found), "origin": found.origin}))
    };
    let tools = if learned.len() == 1 { "a tool" } else { "tools" };
    Section {
        block: "arguments".to_owned(),
        file: target.suite().file.clone(),
        server: target.server_name().to_owned(),
        revision: target.known_revision().map(|revision| revision.to_string()).unwrap_or_default(),
        heading: format!(
            "arguments that {tools} served, found by calling; in a suite, they are the same in every run:"
        ),
        parts: vec![SectionPart::Code(lines.join("\n"))],
        data: learned.iter().map(data).collect::<Map<_, _>>().into(),
    }
}
