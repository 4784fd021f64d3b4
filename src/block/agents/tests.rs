//! Agents, their settings and their runs, as the tests of judgements write them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::host::ListedTool;
use super::judge::{EqualTools, JudgedView};
use super::provider::{Tokens, ToolResult};
use super::run::{AgentCall, AgentEnd, AgentRun, CallTarget};
use super::{Agent, AgentKeys, read_providers, report_missing_price};
use crate::check::tests::read_settings;
use crate::event::Finding;
use crate::source::settings::Setting;
use crate::source::template::Names;
use crate::source::{Diagnostic, Located, Node, SourceFile, Sources, parse};
use crate::suite::{BlockReader, NamedFaults, Test, injected};
use crate::wire::{Catalog, Tool};

/// Settings of a suite, and everything else that a judgement looks at beside the run.
pub(crate) struct Scene {
    sources: Sources,
    pub(crate) node: Node,
    catalog: Catalog,
    names: Names,
    pub(crate) equal: EqualTools,
    pub(crate) is_replayed: bool,
}

impl Scene {
    pub(crate) fn new(settings: &str) -> Self {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", settings));
        let node = parse(&sources, source).unwrap();
        let (catalog, names) = (Catalog::default(), Names::default());
        Self { sources, node, catalog, names, equal: EqualTools::default(), is_replayed: false }
    }

    pub(crate) fn view(&self) -> JudgedView<'_> {
        let Self { sources, catalog, names, equal, is_replayed, .. } = self;
        JudgedView { sources, catalog, names, equal, is_replayed: *is_replayed }
    }

    /// The agent that the settings describe, and the mistakes in them.
    pub(crate) fn agent(&self) -> (Agent, Vec<Diagnostic>) {
        let mut reader = AgentReader::default();
        let keys = AgentKeys::decode(&self.node, &mut reader.found).unwrap();
        let provider = read_providers(&keys.provider.value, &mut reader).remove(0);
        report_missing_price(&keys, &provider, &mut reader.found);
        let faults = injected(keys.inject.as_ref(), &reader.faults, &mut reader.found);
        (super::agent(&keys, provider, faults).unwrap(), reader.found)
    }

    /// The settings, as their type reads them; they have no mistakes.
    pub(crate) fn read<T: Setting>(&self) -> T {
        read_settings(&self.node)
    }
}

/// A call of a tool of the server `app`, which answered `ok`.
pub(crate) fn call(tool: &str, arguments: Value) -> AgentCall {
    answered(tool, arguments, json!({ "result": { "content": [{ "type": "text", "text": "ok" }] } }))
}

/// A call of a tool of the server `app`, which answered with this message.
pub(crate) fn answered(tool: &str, arguments: Value, message: Value) -> AgentCall {
    let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    AgentCall {
        name: tool.to_owned(),
        target: CallTarget::Tool { server: "app".to_owned(), tool: tool.to_owned() },
        arguments,
        served_text: text.clone(),
        result: ToolResult {
            text,
            is_error: message.get("error").is_some() || message["result"]["isError"] == true,
            message: Arc::new(message),
        },
        failure: None,
        exchange: None,
        passed: None,
        is_struck: false,
    }
}

/// A call that was not made, since its tool is not offered.
pub(crate) fn unknown(tool: &str) -> AgentCall {
    AgentCall { target: CallTarget::Unknown, ..call(tool, json!({})) }
}

/// A call that was not made, since its arguments are no JSON object.
pub(crate) fn malformed(tool: &str) -> AgentCall {
    AgentCall { target: CallTarget::Malformed { tool: tool.to_owned() }, ..call(tool, json!("{")) }
}

/// A call of a tool that is offered to be left alone.
pub(crate) fn decoy(tool: &str) -> AgentCall {
    AgentCall { target: CallTarget::Decoy, ..call(tool, json!({})) }
}

/// Calls of these tools without arguments.
pub(crate) fn calls(tools: &[&str]) -> Vec<AgentCall> {
    tools.iter().map(|tool| call(tool, json!({}))).collect()
}

/// A run that ended with the answer `done`; the server `app` has the tools `search`, `find`, `get` and `delete`.
pub(crate) fn run_of(calls: Vec<AgentCall>) -> AgentRun {
    let tools =
        ["search", "find", "get", "delete"].map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
    AgentRun {
        number: 1,
        calls,
        end: AgentEnd::Answered("done".to_owned()),
        tokens: Tokens { read: 30, cached: 0, written: 10 },
        faults: None,
        exits: Vec::new(),
        protocol_revision: "2025-11-25".to_owned(),
        listed: tools.map(|raw| ListedTool { server: "app".to_owned(), tool: Tool::new(raw) }).into(),
        clashes: Vec::new(),
        loose: Vec::new(),
        planted: None,
        turns: Vec::new(),
    }
}

pub(crate) fn messages(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.message.as_str()).collect()
}

/// Reads agents that need no file.
#[derive(Default)]
struct AgentReader {
    found: Vec<Diagnostic>,
    faults: NamedFaults,
}

impl BlockReader for AgentReader {
    fn report(&mut self, mistake: Diagnostic) {
        self.found.push(mistake);
    }

    fn mistakes(&mut self) -> &mut Vec<Diagnostic> {
        &mut self.found
    }

    fn suite_file(&self) -> String {
        "suite.yml".to_owned()
    }

    fn folder(&self) -> &Path {
        Path::new("")
    }

    fn file(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn document(&mut self, _: &Located<String>) -> Option<Node> {
        None
    }

    fn faults(&self) -> &NamedFaults {
        &self.faults
    }

    fn tests_of(&mut self, _: &Located<String>) -> Vec<Test> {
        Vec::new()
    }

    fn rule_books(&mut self) -> Vec<Test> {
        Vec::new()
    }

    fn add_suite(&mut self, _: &Located<String>, _: &'static [&'static str]) {}

    fn add_test(&mut self, _: Test, _: &Node) {}
}
