//! Arguments that tools served, remembered in the folder for state for the next run.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::state;
use crate::files::{Access, Folder, FolderPlace};
use crate::report::sink::SinkError;
use crate::runner::ToolArguments;
use crate::source::file::{WRITTEN, read_text};

const FILE: &str = "arguments.json";
const FORMAT: u32 = 1;
/// The most servers; the one that was tested longest ago is forgotten first.
const SERVERS: usize = 50;

/// The servers, the one that was tested last at the end.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct KeptArguments {
    format: u32,
    servers: Vec<KeptServer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KeptServer {
    /// Its command or address.
    server: String,
    tools: ToolArguments,
}

/// What is known, by server; nothing where no file can be read.
pub(crate) fn read(state: &Path) -> BTreeMap<String, ToolArguments> {
    let text = read_text(&state.join(FILE), WRITTEN).unwrap_or_default();
    parse(&text).servers.into_iter().map(|kept| (kept.server, kept.tools)).collect()
}

/// Adds what a run learned.
pub(crate) fn keep(state: &FolderPlace, learned: BTreeMap<String, ToolArguments>) -> Result<(), SinkError> {
    if learned.is_empty() {
        return Ok(());
    }
    let write = || -> io::Result<()> {
        let folder = state::prepare(state)?;
        let kept = parse(&read_kept(&folder)).with(learned);
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
    fn with(mut self, learned: BTreeMap<String, ToolArguments>) -> Self {
        self.format = FORMAT;
        self.servers.retain(|kept| !learned.contains_key(&kept.server));
        let new = learned.into_iter().filter(|(_, tools)| !tools.is_empty());
        self.servers.extend(new.map(|(server, tools)| KeptServer { server, tools }));
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
        let kept = KeptArguments::default().with(learned(&many)).with(learned(&["server 00"])).with(learned(&["new"]));
        let names: Vec<&str> = kept.servers.iter().map(|kept| kept.server.as_str()).collect();
        assert_eq!((names.len(), names[0], &names[SERVERS - 2..]), (SERVERS, "server 02", &["server 00", "new"][..]));
        let none = [("new".to_owned(), ToolArguments::new())].into();
        assert!(kept.with(none).servers.iter().all(|kept| kept.server != "new"));
    }

    #[test]
    fn a_file_of_another_kind_holds_nothing() {
        for text in ["", "{}", "[1]", r#"{"format": 2, "servers": []}"#] {
            assert_eq!(parse(text), KeptArguments::default(), "{text}");
        }
        let kept = KeptArguments::default().with(learned(&["one"]));
        assert_eq!(parse(&serde_json::to_string(&kept).unwrap()), kept);
    }
}
