//! The tools of servers and the arguments that they served, remembered in the folder for state for the next run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::state;
use crate::files::{Access, Folder, FolderPlace};
use crate::report::sink::SinkError;
use crate::runner::{ListedNames, ToolArguments};
use crate::source::file::{WRITTEN, read_text};

const FILE: &str = "arguments.json";
const FORMAT: u32 = 1;
/// The most servers; the one that was tested longest ago is forgotten first.
const SERVERS: usize = 50;

/// The servers, the one that was tested last at the end.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptArguments {
    format: u32,
    servers: Vec<KeptServer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KeptServer {
    /// Its command or address.
    server: String,
    tools: ToolArguments,
    /// The names of its tools.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    listed: BTreeSet<String>,
}

/// What is known; nothing where no file can be read.
pub(crate) fn read(state: &Path) -> KeptArguments {
    parse(&read_text(&state.join(FILE), WRITTEN).unwrap_or_default())
}

/// Adds what a run learned and listed to what was `known` before it.
pub(crate) fn keep(
    state: &FolderPlace,
    known: &KeptArguments,
    learned: BTreeMap<String, ToolArguments>,
    listed: ListedNames,
) -> Result<(), SinkError> {
    if learned.is_empty() && known.has(&listed) {
        return Ok(());
    }
    let write = || -> io::Result<()> {
        let folder = state::prepare(state)?;
        let kept = parse(&read_kept(&folder)).with(learned, listed);
        let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
        // Arguments of calls may hold secrets that no suite names, so only their owner reads them.
        folder.replace(FILE, format!("{text}\n").as_bytes(), Access::Private)
    };
    write().map_err(|reason| SinkError { path: state.join(FILE), reason, option: state::STATE_OPTION })
}

fn read_kept(folder: &Folder) -> String {
    folder.read(FILE, WRITTEN).ok().and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
}

fn parse(text: &str) -> KeptArguments {
    serde_json::from_str(text).ok().filter(|kept: &KeptArguments| kept.format == FORMAT).unwrap_or_default()
}

impl KeptArguments {
    /// The arguments that were served, by server.
    pub(crate) fn arguments(&self) -> BTreeMap<String, ToolArguments> {
        self.servers.iter().map(|kept| (kept.server.clone(), kept.tools.clone())).collect()
    }

    /// The names of all tools.
    pub(crate) fn tools(&self) -> BTreeSet<&str> {
        self.servers.iter().flat_map(|kept| &kept.listed).map(String::as_str).collect()
    }

    /// Returns true if it is known that the servers list these tools.
    fn has(&self, listed: &ListedNames) -> bool {
        let known = |server: &String| self.servers.iter().find(|kept| kept.server == *server);
        listed.iter().all(|(server, tools)| known(server).is_some_and(|kept| kept.listed == *tools))
    }

    fn with(mut self, mut learned: BTreeMap<String, ToolArguments>, mut listed: ListedNames) -> Self {
        self.format = FORMAT;
        let servers: BTreeSet<String> = learned.keys().chain(listed.keys()).cloned().collect();
        let (mut old, others): (Vec<_>, Vec<_>) =
            self.servers.into_iter().partition(|kept| servers.contains(&kept.server));
        self.servers = others;
        for server in servers {
            let at = old.iter().position(|kept| kept.server == server);
            let old = at.map(|at| old.swap_remove(at));
            let (known, names) = old.map(|kept| (kept.tools, kept.listed)).unwrap_or_default();
            let tools = learned.remove(&server).unwrap_or(known);
            let listed = listed.remove(&server).unwrap_or(names);
            if !tools.is_empty() || !listed.is_empty() {
                self.servers.push(KeptServer { server, tools, listed });
            }
        }
        let old = self.servers.len().saturating_sub(SERVERS);
        self.servers.drain(..old);
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learned(servers: &[&str]) -> BTreeMap<String, ToolArguments> {
        let tools = |server: &str| [("get".to_owned(), json!({"of": server}))].into();
        servers.iter().map(|server| ((*server).to_owned(), tools(server))).collect()
    }

    #[test]
    fn the_server_that_was_tested_longest_ago_is_forgotten() {
        let many: Vec<String> = (0..SERVERS).map(|number| format!("server {number:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let keep = |kept: KeptArguments, servers: &[&str]| kept.with(learned(servers), ListedNames::new());
        let kept = keep(keep(keep(KeptArguments::default(), &many), &["server 00"]), &["new"]);
        let names: Vec<&str> = kept.servers.iter().map(|kept| kept.server.as_str()).collect();
        assert_eq!((names.len(), names[0], &names[SERVERS - 2..]), (SERVERS, "server 02", &["server 00", "new"][..]));
        let none = [("new".to_owned(), ToolArguments::new())].into();
        assert!(kept.with(none, ListedNames::new()).servers.iter().all(|kept| kept.server != "new"));
    }

    #[test]
    fn tools_are_known_from_the_last_run() {
        let listed = |tools: &[&str]| -> ListedNames {
            [("one".to_owned(), tools.iter().map(|tool| (*tool).to_owned()).collect())].into()
        };
        let kept = KeptArguments::default().with(learned(&["one", "two"]), ListedNames::new());
        assert!(kept.has(&ListedNames::new()) && !kept.has(&listed(&["a"])));
        let kept = kept.with(BTreeMap::new(), listed(&["b", "a"]));
        assert!(kept.has(&listed(&["a", "b"])) && !kept.has(&listed(&["a"])));
        assert_eq!(kept.arguments(), learned(&["one", "two"]));
        let kept = kept.with(learned(&["one"]), listed(&["c"]));
        assert_eq!(kept.tools().into_iter().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn a_file_of_another_kind_holds_nothing() {
        for text in ["", "{}", "[1]", r#"{"format": 2, "servers": []}"#] {
            assert_eq!(parse(text), KeptArguments::default(), "{text}");
        }
        let kept = KeptArguments::default().with(learned(&["one"]), ListedNames::new());
        assert_eq!(parse(&serde_json::to_string(&kept).unwrap()), kept);
    }
}
