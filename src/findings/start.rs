//! The start of a finding's server: as the suite writes it, templates unfilled.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::block::load;
use crate::plan::{Plan, Selection, SuitePlan, build};
use crate::redact::Redactor;
use crate::runner::variables_in;
use crate::source::{Node, Sources, legible_json, map_texts, parse};
use crate::suite::Files;
use crate::taxonomy::Registry;

/// The start of a server, and the client's answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Start")]
pub struct ServerStart {
    /// The suite's name.
    pub suite: String,
    /// The server's name in it.
    pub name: String,
    /// The folder to which paths are relative, seen from the folder that holds `.mcprove`.
    pub folder: PathBuf,
    /// The server as the suite writes it.
    pub server: Value,
    /// The suite's variables as it writes them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// The client's answers, as the suite writes them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub answers: Map<String, Value>,
    /// The suite's timeouts, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts_ms: BTreeMap<String, u64>,
}

impl ServerStart {
    /// The start of one of a suite's servers; `None` where the suite itself does not contain it.
    pub fn of(plan: &Plan, planned: &SuitePlan, target: usize) -> Option<Self> {
        let (suite, target) = (&planned.suite, planned.targets.get(target)?);
        let mut server = read_declaration(&plan.sources, planned, &target.server)?;
        if let Some(members) = server.as_object_mut() {
            members.insert("protocol".to_owned(), target.protocol.as_str().into());
        }
        let answers = &suite.answers;
        let answers =
            [("sampling", &answers.sampling), ("elicitation", &answers.elicitation), ("roots", &answers.roots)];
        let answers = answers.into_iter().filter_map(|(name, node)| Some((name.to_owned(), node.as_ref()?.to_json())));
        let timeouts =
            [("request_timeout", suite.options.request_timeout), ("start_timeout", suite.options.start_timeout)];
        let timeouts = timeouts.into_iter().filter_map(|(name, time)| {
            Some((name.to_owned(), u64::try_from(time?.as_millis()).unwrap_or(u64::MAX).max(1)))
        });
        Some(Self {
            suite: suite.name.value.clone(),
            name: target.server.clone(),
            folder: suite.folder.clone(),
            server,
            variables: suite.variables.iter().map(|(name, node)| (name.value.clone(), node.to_json())).collect(),
            answers: answers.collect(),
            timeouts_ms: timeouts.collect(),
        })
    }

    /// The same without secrets; those that have a name are read from the environment instead. What a suite writes is
    /// templates, and no server has a say in it.
    #[must_use]
    pub fn without_secrets(self, redactor: &Redactor) -> Self {
        let in_templates = |value: Value| map_texts(value, &|text| redactor.in_templates(text));
        let map = |map: Map<String, Value>| -> Map<String, Value> {
            map.into_iter().map(|(name, value)| (name, in_templates(value))).collect()
        };
        Self {
            server: in_templates(self.server),
            variables: map(self.variables),
            answers: map(self.answers),
            suite: redactor.text(&self.suite),
            ..self
        }
    }

    /// The variables of the environment from which it is filled.
    pub(crate) fn variables_read(&self) -> BTreeSet<String> {
        let read = RefCell::new(BTreeSet::new());
        let note = |text: &str| {
            read.borrow_mut().extend(variables_in(text));
            String::new()
        };
        for value in self.variables.values().chain(self.answers.values()).chain([&self.server]) {
            map_texts(value.clone(), &note);
        }
        read.into_inner()
    }

    /// A plan with this server, and with these members of a suite or with nothing to do; `base` is where its folder is
    /// seen from.
    pub fn plan(&self, base: &Path, members: Option<&Value>) -> Result<Arc<Plan>, String> {
        let durations = self.timeouts_ms.iter().map(|(name, time)| (name.clone(), format!("{time}ms").into()));
        let suite = json!({
            "suite": self.suite,
            "variables": self.variables,
            "server": self.server,
            "answers": self.answers,
            "run_options": durations.collect::<Map<_, _>>(),
        });
        let nothing = json!({"tests": [{"name": "nothing", "request": "ping", "expect": []}]});
        let mut suite = suite;
        if let Some(whole) = suite.as_object_mut() {
            whole.extend(members.unwrap_or(&nothing).as_object().cloned().unwrap_or_default());
        }
        if let Some(members) = suite.as_object_mut() {
            members.retain(|_, value| value.as_object().is_none_or(|members| !members.is_empty()));
        }
        let name = base.join(&self.folder).join("finding.yml");
        let files = InMemoryFile { name: name.clone(), text: legible_json(&suite) };
        let mut sources = Sources::default();
        let first = |found: Vec<crate::source::Diagnostic>| {
            found.into_iter().next().map(|mistake| mistake.message).unwrap_or_default()
        };
        let suite = load(&name, &files, &mut sources, &mut Vec::new()).map_err(first)?;
        let plan = build(vec![suite], Selection::default(), Registry::builtin(), Arc::new(sources));
        plan.map(Arc::new).map_err(first)
    }
}

/// The server as it stands in its file.
fn read_declaration(sources: &Sources, planned: &SuitePlan, name: &str) -> Option<Value> {
    let server = planned.suite.servers.get(name)?;
    let root = parse(sources, server.span.source).ok()?;
    let one = root.get("server").filter(|_| name == "server");
    let node: &Node = one.or_else(|| root.get("servers")?.get(name))?;
    Some(node.to_json())
}

/// One file in memory.
struct InMemoryFile {
    name: PathBuf,
    text: String,
}

impl Files for InMemoryFile {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == self.name { Ok(self.text.clone()) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}
