//! Servers that other files describe: the configuration of a client (`mcp.json`), `server.json` of the MCP registry, and
//! other suites.
//!
//! A description becomes what a suite would say under `server:`, so that one grammar checks all of them. Nothing is
//! started, and no variable is read: `${env:NAME}` becomes a template. Start reading in [`ServerFile::parse`].

mod client;
mod env_file;
mod registry;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::files::Files;
use crate::source::grammar::{self, Shape};
use crate::source::{Diagnostic, Located, MistakeKind, Node, SourceId, Sources, Span, Value, did_you_mean};

/// A file that describes servers.
#[derive(Debug, Clone)]
pub struct ServerFile {
    /// Its name as messages mention it.
    name: String,
    /// The folder to which its paths are relative.
    folder: PathBuf,
    format: ServerFileFormat,
    servers: Vec<(Located<String>, Node)>,
    inputs: Vec<Node>,
    /// The entry of the registry.
    registered: Option<Json>,
}

/// The one who wrote a file of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerFileFormat {
    Suite,
    Client,
    Registry,
}

/// A server as a suite would describe it.
#[derive(Debug, Clone)]
pub struct DescribedServer {
    /// Its name in the file.
    pub span: Span,
    /// The mapping under `server:`.
    pub node: Node,
    /// The folder to which its paths are relative.
    pub folder: PathBuf,
    /// What its client would ask the user for.
    pub inputs: Inputs,
    /// The whole `server.json` of the registry, if that describes it.
    pub registered: Option<Json>,
}

impl DescribedServer {
    /// The description with what a suite says of the server beside `config`, which has the last word.
    pub(crate) fn node_under(&self, own: &Node) -> Node {
        let mut entries = self.node.entries().to_vec();
        for (key, value) in own.entries().iter().filter(|(key, _)| key.value != "config" && key.value != "name") {
            let described = entries.iter_mut().find(|(known, _)| known.value == key.value);
            match described.map(|(_, described)| described) {
                None => entries.push((key.clone(), value.clone())),
                Some(described) => match (&mut described.value, &value.value) {
                    (Value::Map(described), Value::Map(own)) => {
                        described.retain(|(name, _)| own.iter().all(|(replaced, _)| replaced.value != name.value));
                        described.extend(own.iter().cloned());
                    }
                    (Value::List(described), Value::List(own)) => described.extend(own.iter().cloned()),
                    (whole, own) => *whole = own.clone(),
                },
            }
        }
        Node { value: Value::Map(entries), span: own.span }
    }
}

/// Values that a client asks its user for: the variable of the environment that stands for each, and a sentence about it.
pub type Inputs = BTreeMap<String, String>;

/// The surroundings of a described server.
struct Surroundings<'a> {
    /// The folder to which its paths are relative.
    folder: &'a Path,
    /// The files that it names.
    files: &'a dyn Files,
    /// The inputs that the file declares.
    declared: &'a [Node],
}

impl ServerFile {
    /// Reads a file that describes servers.
    ///
    /// # Errors
    ///
    /// Fails with every mistake that concerns all of its servers.
    pub fn parse(path: &Path, sources: &Sources, source: SourceId) -> Result<Self, Vec<Diagnostic>> {
        let name = path.display().to_string();
        let is_suite = path.extension().is_some_and(|end| end == "yml" || end == "yaml");
        let parse = if is_suite { crate::source::parse } else { crate::source::parse_jsonc };
        let root = parse(sources, source).map_err(|mistake| vec![mistake])?;
        let parent = path.parent().map(Path::to_owned).unwrap_or_default();
        let (format, servers, folder) = if is_suite {
            (ServerFileFormat::Suite, suite_servers(&root), parent)
        } else if let Some(servers) = client_servers(&root) {
            (ServerFileFormat::Client, Some(servers.clone()), workspace(&parent))
        } else {
            (ServerFileFormat::Registry, registry::servers(&root), parent)
        };
        let Some(servers) = servers else { return Err(vec![without_servers(&name, &root, is_suite)]) };
        let found = grammar::check(&servers, &Shape::Map(&Shape::Any));
        if !found.is_empty() {
            let example = if is_suite { None } else { Some(EXAMPLE_OF_FILE) };
            return Err(found.into_iter().map(|mistake| with_example(mistake, servers.span, example)).collect());
        }
        let inputs = root.get("inputs").map(Node::items).unwrap_or_default().to_vec();
        let registered = (format == ServerFileFormat::Registry).then(|| root.to_json());
        Ok(Self { name, folder, format, servers: servers.entries().to_vec(), inputs, registered })
    }

    /// The name of a server among those of many files: in a file of the registry, each way to reach it has a name, and those
    /// are the same in most files.
    pub fn name_among_files(&self, name: &str) -> String {
        match self.registered.as_ref().and_then(|entry| entry["name"].as_str()) {
            Some(registered) if self.servers.len() == 1 => registered.to_owned(),
            Some(registered) => format!("{registered} {name}"),
            None => name.to_owned(),
        }
    }

    /// The names of its servers in written order, and whether the client leaves each out.
    pub fn names(&self) -> impl Iterator<Item = (&str, bool)> {
        self.servers.iter().map(|(name, node)| (name.value.as_str(), client::is_disabled(node)))
    }

    /// The server of this name, or its only one; `None` after a mistake. `asked` is the place that names it.
    pub fn server(
        &self,
        name: Option<&Located<String>>,
        asked: Span,
        files: &dyn Files,
        found: &mut Vec<Diagnostic>,
    ) -> Option<DescribedServer> {
        let listed = || self.servers.iter().map(|(name, _)| name.value.as_str());
        let all =
            || format!("it describes {}", listed().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "));
        let (named, node) = match (name, self.servers.as_slice()) {
            (None, [(named, only)]) => (named, only),
            (None, _) => {
                let message = format!("`{}` describes several servers; name one of them", self.name);
                found.push(Diagnostic::error("unknown-name", message, asked).with_help(all()));
                return None;
            }
            (Some(name), servers) => {
                let Some((named, node)) = servers.iter().find(|(known, _)| known.value == name.value) else {
                    let message = format!("`{}` describes no server `{}`", self.name, name.value);
                    let help = did_you_mean(&name.value, listed()).unwrap_or_else(all);
                    let unknown = Diagnostic::error("unknown-name", message, name.span);
                    found.push(unknown.of_kind(MistakeKind::UnknownName).with_help(help));
                    return None;
                };
                (named, node)
            }
        };
        let around = Surroundings { folder: &self.folder, files, declared: &self.inputs };
        let mut inputs = Inputs::new();
        let node = match self.format {
            ServerFileFormat::Suite => {
                if let Some(config) = node.get("config") {
                    let message = format!("`{}` takes this server from another file", self.name);
                    let help = format!("name `{}` instead", config.to_text());
                    found.push(Diagnostic::error("two-ways", message, asked).with_help(help));
                    return None;
                }
                node.clone()
            }
            ServerFileFormat::Client => client::server(node, &around, &mut inputs, found)?,
            ServerFileFormat::Registry => registry::server(node, &mut inputs, found)?,
        };
        let (folder, registered) = (self.folder.clone(), self.registered.clone());
        Some(DescribedServer { span: named.span, node, folder, inputs, registered })
    }
}

/// The servers of a client's configuration.
fn client_servers(root: &Node) -> Option<&Node> {
    let in_settings = || root.get("mcp")?.get("servers");
    root.get("mcpServers").or_else(|| root.get("servers")).or_else(in_settings)
}

/// The servers of a suite by name.
fn suite_servers(root: &Node) -> Option<Node> {
    let single = root.entries().iter().find(|(key, _)| key.value == "server");
    let single = single.map(|entry| Node { value: Value::Map(vec![entry.clone()]), span: entry.1.span });
    single.or_else(|| root.get("servers").cloned())
}

/// The folder of a project, whose clients keep their configuration in folders such as `.vscode`.
fn workspace(folder: &Path) -> PathBuf {
    let is_hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    folder.parent().filter(|_| is_hidden).unwrap_or(folder).to_owned()
}

/// The help for a file of which nothing shows what was meant.
const EXAMPLE_OF_FILE: &str =
    "write for example `{\"mcpServers\": {\"users\": {\"command\": \"node\", \"args\": [\"server.js\"]}}}`";

/// A mistake with an example for help, where all that stands at a place is wrong.
fn with_example(mistake: Diagnostic, place: Span, example: Option<&str>) -> Diagnostic {
    let is_whole = mistake.label.as_ref().is_some_and(|label| label.span == place);
    let is_wanted = is_whole && mistake.help.is_none();
    if is_wanted { mistake.with_help(example.map(str::to_owned)) } else { mistake }
}

fn without_servers(name: &str, root: &Node, is_suite: bool) -> Diagnostic {
    if root.value == Value::Null {
        let message = format!("`{name}` is empty");
        return Diagnostic::without_place("no-servers", message).with_help(EXAMPLE_OF_FILE.to_owned());
    }
    let message = format!("`{name}` describes no servers");
    let help = if is_suite {
        "add `server:` or `servers:`"
    } else {
        "a client's configuration has `mcpServers` or `servers`, and `server.json` of the registry `packages` or `remotes`"
    };
    Diagnostic::without_place("no-servers", message).with_help(help.to_owned())
}

/// A text at a place.
fn text(value: impl Into<String>, span: Span) -> Node {
    Node { value: Value::Text(value.into()), span }
}

/// A mapping at a place, without the entries that have no value.
fn mapping<const N: usize>(entries: [(&str, Option<Node>); N], span: Span) -> Node {
    let entry = |(key, node): (&str, Option<Node>)| Some((Located::new(key.to_owned(), span), node?));
    Node { value: Value::Map(entries.into_iter().filter_map(entry).collect()), span }
}

/// A list at a place; `None` for an empty one.
fn list(items: Vec<Node>, span: Span) -> Option<Node> {
    (!items.is_empty()).then_some(Node { value: Value::List(items), span })
}

/// A mapping of named values; `None` for an empty one.
fn nonempty_mapping(entries: Vec<(Located<String>, Node)>, span: Span) -> Option<Node> {
    (!entries.is_empty()).then_some(Node { value: Value::Map(entries), span })
}

#[cfg(test)]
mod tests;
