//! The tools of servers and the arguments that they served, so that nobody searches for them again.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde_json::Value;

use super::resolve::Reachable;
use crate::redact::Redactor;

/// The arguments of tools, by name.
pub type ToolArguments = BTreeMap<String, Value>;

/// The names of tools, by server.
pub type ListedNames = BTreeMap<String, BTreeSet<String>>;

/// What earlier runs found, and what this one finds.
#[derive(Debug, Default)]
pub struct ArgumentMemory {
    known: BTreeMap<String, ToolArguments>,
    found: Mutex<BTreeMap<String, BTreeMap<String, Option<Value>>>>,
    listed: Mutex<ListedNames>,
}

impl ArgumentMemory {
    /// A memory of what is known, by server and tool.
    pub fn new(known: BTreeMap<String, ToolArguments>) -> Self {
        Self { known, found: Mutex::default(), listed: Mutex::default() }
    }

    /// What was found of a server.
    pub(crate) fn recall(&self, server: &str) -> ToolArguments {
        self.known.get(server).cloned().unwrap_or_default()
    }

    /// Keeps the arguments that a tool served; `None` where those that were known are served no more.
    pub(crate) fn note(&self, server: &str, tool: &str, arguments: Option<Value>) {
        self.found.lock().entry(server.to_owned()).or_default().insert(tool.to_owned(), arguments);
    }

    /// Keeps the names of the tools that a server lists.
    pub(crate) fn note_tools(&self, server: String, tools: BTreeSet<String>) {
        self.listed.lock().entry(server).or_default().extend(tools);
    }

    /// The tools that the servers of this run list.
    pub fn listed(&self) -> ListedNames {
        std::mem::take(&mut self.listed.lock())
    }

    /// Everything that is known of the servers of this run; nothing where it found nothing new.
    pub fn learned(&self) -> BTreeMap<String, ToolArguments> {
        let mut learned = BTreeMap::new();
        for (server, tools) in &*self.found.lock() {
            let mut known = self.recall(server);
            for (tool, arguments) in tools {
                match arguments {
                    Some(arguments) => drop(known.insert(tool.clone(), arguments.clone())),
                    None => drop(known.remove(tool)),
                }
            }
            if known != self.recall(server) {
                learned.insert(server.clone(), known);
            }
        }
        learned
    }
}

/// The command or the address of a server, by which it is known again; `None` for one in this process.
pub(crate) fn server_key(server: &Reachable, redactor: &Redactor) -> Option<String> {
    let key = match server {
        Reachable::Command(command) => {
            let words = std::iter::once(&command.program).chain(&command.args);
            let cwd = Some(command.cwd.display().to_string()).filter(|cwd| !cwd.is_empty());
            shell_words::join(words) + &cwd.map(|cwd| format!(" in {cwd}")).unwrap_or_default()
        }
        Reachable::Http(address) => address.url.clone(),
        // The port is another one in each run.
        Reachable::Demo | Reachable::InProcess(_) | Reachable::Served(_) => return None,
    };
    Some(redactor.text(&key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_new_is_kept() {
        let known = |arguments: Value| -> BTreeMap<String, ToolArguments> {
            [("server".to_owned(), [("get".to_owned(), arguments)].into())].into()
        };
        let learned = |notes: &[(&str, &str, Option<Value>)]| {
            let memory = ArgumentMemory::new(known(json!({"id": 1})));
            for (server, tool, arguments) in notes {
                memory.note(server, tool, arguments.clone());
            }
            memory.learned()
        };
        assert_eq!(learned(&[]), BTreeMap::new());
        assert_eq!(learned(&[("server", "get", Some(json!({"id": 1})))]), BTreeMap::new());
        assert_eq!(learned(&[("server", "get", Some(json!({"id": 2})))]), known(json!({"id": 2})));
        assert_eq!(learned(&[("server", "get", None)]), [("server".to_owned(), BTreeMap::new())].into());
        let other: BTreeMap<String, ToolArguments> =
            [("other".to_owned(), [("get".to_owned(), json!({}))].into())].into();
        assert_eq!(learned(&[("other", "get", Some(json!({})))]), other);
    }
}
