//! The servers that a command names where others have suites, and the suite that is made of them.
//!
//! Knows nothing about what is done with a server: a command adds its own members, and its own flags.
//! Start reading in [`ServerArgs::target`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::console::Console;
use super::exit::Exit;
use super::suites::{AdHocSuite, HiddenWord};
use crate::files::real_path;
use crate::redact::{is_secret, option_secrets, query_secrets, reads_drawn, user_of};
use crate::source::file::WRITTEN;
use crate::source::{PathStyle, legible_json, nearest, visible_line};
use crate::suite::{AdHocCommand, CommandLine, ServerFile};
use crate::transport::http::LoginFile;
use crate::wire::{Revision, address};

/// Stands for a secret in what is printed; the user fills it in.
pub(crate) const TO_FILL_IN: &str = "…";

/// The way to a server that is named on the command line.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The server's URL.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    url: Option<String>,
    /// A file that describes servers: the configuration of a client (`mcp.json`, `claude_desktop_config.json`), `server.json` of the MCP registry, or a suite; or a folder of such files; may be given several times.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// A server of these files; may be given several times, and all of them are meant without it.
    #[arg(long = "server", id = "server-of-file", value_name = "NAME")]
    name: Vec<String>,
    /// The revisions to speak: a date, or `all`; by default the newest one that the server speaks.
    #[arg(long, alias = "protocol", value_name = "REVISION")]
    pub(crate) revision: Vec<String>,
    /// A header for every request: `Authorization: Bearer {{ env.TOKEN }}`.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// An environment variable for the server: `NAME` passes yours on, `NAME=VALUE` sets one.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// The folder in which the server starts; the current one by default.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// The file or folder in which the server keeps its data: every process gets a copy in its place, and tools that write may be called.
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
}

/// A command that takes a server, as messages name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verb {
    pub(crate) command: AdHocCommand,
    /// Completes "name the server to …".
    pub(crate) does: &'static str,
}

/// The servers of a command, and how they were asked for.
#[derive(Debug, Clone)]
pub(crate) struct AdHocServer {
    command: AdHocCommand,
    /// As a suite has them: a single one, or several by name.
    servers: Vec<(Option<String>, Value)>,
    /// As they were typed, without secrets.
    shown: String,
    /// True if a file describes them, which a flag names.
    is_described: bool,
    hidden: Vec<HiddenWord>,
    /// The flags without which the same server would be asked something else, without secrets.
    flags: Vec<String>,
}

/// The positional words of a command, which are a server where other commands have suites.
pub(crate) fn positional(arg: clap::Arg) -> clap::Arg {
    arg.value_name("SERVER")
        .help("The server: a URL, a file that describes servers (`mcp.json`, `mcp.json:NAME`, `suite.yml:NAME`), or after `--` the command that starts it; `demo` is the built-in demo server")
}

impl ServerArgs {
    /// Returns true if a flag names a server.
    pub(crate) fn names_server(&self) -> bool {
        self.url.is_some() || !self.config.is_empty() || !self.name.is_empty()
    }

    /// The servers that the flags or the words name.
    pub(crate) fn target(&self, verb: Verb, words: &[String], console: &Console) -> Result<AdHocServer, Exit> {
        let url = self.url.as_slice();
        let words = if url.is_empty() { words } else { self.only_way(url, words, console)? };
        let mut described = described_target(words);
        if !self.config.is_empty() {
            self.only_way(&[], words, console)?;
            described = Some(DescribedTarget { paths: self.config.clone(), names: IndexSet::new() });
        }
        self.require_filled_in(words, console)?;
        let mut flags = self.flags();
        let (servers, shown) = match &mut described {
            Some(described) => {
                described.names.extend(self.name.iter().cloned());
                flags.extend(described.flags());
                (described.servers(verb, console)?, described.to_string())
            }
            None if !self.name.is_empty() => {
                let help = "write `--config mcp.json --server NAME`";
                return Err(console.fail(Exit::Usage, "`--server` names a server of a file", Some(help)));
            }
            None => {
                let shown = shell_words::join(words.iter().map(|word| public(word)));
                (vec![(None, self.with_login(named_server(verb, words, console)?, console))], shown)
            }
        };
        let servers = servers.into_iter().map(|(name, server)| Ok((name, self.with_flags(server, console)?)));
        let servers = servers.collect::<Result<_, Exit>>()?;
        let hidden = words.iter().map(|word| HiddenWord { typed: word.clone(), shown: public(word) });
        let hidden = hidden.filter(|word| word.typed != word.shown).collect();
        Ok(AdHocServer { command: verb.command, servers, shown, is_described: described.is_some(), hidden, flags })
    }

    /// A server to which somebody has logged in gets the token of that login, unless a header has another.
    fn with_login(&self, mut server: Value, console: &Console) -> Value {
        let is_named =
            |text: &String| pair(text, ':').is_some_and(|pair| pair.name.eq_ignore_ascii_case("authorization"));
        let url = server["url"].as_str().filter(|_| !self.header.iter().any(is_named));
        let Some(url) = url.and_then(|url| address(url).ok()) else { return server };
        match LoginFile::of(&console.environment.variables).find(url.as_str(), None) {
            Ok(Some(_)) => server["auth"] = json!({"authorization_code": {}}),
            Ok(None) => {}
            Err(why) => console.note(&format!("{}, so that no login is used: {}", why.reason, why.cure)),
        }
        server
    }

    /// The only server that the flags or the words name, as a suite would write it: secrets come from the environment.
    pub(crate) fn suite_entry(&self, verb: Verb, words: &[String], console: &Console) -> Result<Value, Exit> {
        let AdHocServer { servers, hidden, .. } = self.target(verb, words, console)?;
        if !hidden.is_empty() || has_secret_word(words) {
            let help = "put the secret into a variable, and write `{{ env.NAME }}` in its place";
            return Err(console.fail(Exit::Usage, "a secret of the command line cannot be saved", Some(help)));
        }
        let mut server = servers.into_iter().next().map(|(_, server)| server).unwrap_or_default();
        for (part, texts, mark) in [("headers", &self.header, ':'), ("env", &self.env, '=')] {
            for NamedValue { name, .. } in
                texts.iter().filter_map(|text| pair(text, mark)).filter(NamedValue::is_hidden)
            {
                let variable: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
                    .collect();
                server[part][name.as_str()] = format!("{{{{ env.{variable} }}}}").into();
            }
        }
        if let Some(members) = server.as_object_mut() {
            members.retain(|name, value| name != "secrets" && !(name == "protocol" && value == "auto"));
        }
        Ok(server)
    }

    /// The words of the only way to a server; `Err` where two are given.
    fn only_way<'a>(&self, way: &'a [String], words: &[String], console: &Console) -> Result<&'a [String], Exit> {
        if words.is_empty() {
            return Ok(way);
        }
        let flag = if self.url.is_some() { "--url" } else { "--config" };
        let message = format!("`{flag}` names the server, and so does `{}`", shell_words::join(words));
        Err(console.fail(Exit::Usage, message, Some("leave out one of them")))
    }

    /// A server with what flags say of it.
    fn with_flags(&self, mut server: Value, console: &Console) -> Result<Value, Exit> {
        if !self.header.is_empty() {
            let read = self.header.iter().map(|text| {
                let help = "write `--header 'Authorization: Bearer {{ env.TOKEN }}'`";
                let no_header = || console.fail(Exit::Usage, format!("`{text}` is not a header"), Some(help));
                pair(text, ':').ok_or_else(no_header)
            });
            server["headers"] =
                read.map(|pair| pair.map(NamedValue::into_member)).collect::<Result<Map<_, _>, _>>()?.into();
        }
        if !self.env.is_empty() {
            let passed = |name: &String| NamedValue { name: name.clone(), value: format!("{{{{ env.{name} }}}}") };
            let set: Vec<_> = self.env.iter().map(|text| pair(text, '=').unwrap_or_else(|| passed(text))).collect();
            let secrets: Vec<&String> = set.iter().filter(|pair| pair.is_hidden()).map(|pair| &pair.name).collect();
            if !secrets.is_empty() {
                server["secrets"] = json!(secrets);
            }
            server["env"] = set.into_iter().map(NamedValue::into_member).collect::<Map<_, _>>().into();
        }
        if let Some(folder) = &self.cwd {
            server["cwd"] = folder.display().to_string().into();
        }
        if let Some(store) = &self.store {
            server["store"] = store.display().to_string().into();
        }
        server["protocol"] = match self.revision.as_slice() {
            [] => "auto".into(),
            [word] if word == "all" => json!(Revision::ALL.map(Revision::as_str).into_iter().rev().collect::<Vec<_>>()),
            revisions => json!(revisions),
        };
        Ok(server)
    }

    /// Refuses the marks that an earlier run printed in the place of secrets.
    fn require_filled_in(&self, words: &[String], console: &Console) -> Result<(), Exit> {
        let is_open = |text: &String, mark: char| pair(text, mark).is_some_and(|pair| pair.value == TO_FILL_IN);
        let header = self.header.iter().find(|text| is_open(text, ':')).map(|text| format!("--header '{text}'"));
        let env = self.env.iter().find(|text| is_open(text, '=')).map(|text| format!("--env {text}"));
        let word = words.iter().find(|word| word.contains("://") && word.contains(TO_FILL_IN)).cloned();
        header.or(env).or(word).map_or(Ok(()), |open| Err(to_fill_in(&open, console)))
    }

    /// Returns true if a flag names the store of the server.
    pub(crate) fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// The flags that say more of a server than where it is, as they are typed, without secrets.
    pub(crate) fn flags(&self) -> Vec<String> {
        let hide = |texts: &[String], mark: char, separator: &str| {
            let public = |text: &String| match pair(text, mark).filter(NamedValue::is_hidden) {
                Some(NamedValue { name, .. }) => format!("{name}{separator}{TO_FILL_IN}"),
                None => text.clone(),
            };
            texts.iter().map(public).collect()
        };
        flags([
            ("--revision", self.revision.clone()),
            ("--header", hide(&self.header, ':', ": ")),
            ("--env", hide(&self.env, '=', "=")),
            ("--cwd", self.cwd.iter().map(|folder| folder.display().to_string()).collect()),
            ("--store", self.store.iter().map(|store| store.display().to_string()).collect()),
        ])
    }
}

/// Servers that files describe.
#[derive(Debug, PartialEq)]
struct DescribedTarget {
    /// Files, and folders of files, as they were typed.
    paths: Vec<PathBuf>,
    /// Those that are meant; none for all of them.
    names: IndexSet<String>,
}

impl fmt::Display for DescribedTarget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.names.is_empty() {
            write!(to, "{} of ", self.names.iter().map(|name| visible_line(name)).collect::<Vec<_>>().join(", "))?;
        }
        let (first, others) = self.paths.split_first().map_or((None, 0), |(first, rest)| (Some(first), rest.len()));
        write!(to, "{}", first.map(|path| path.display().to_string()).unwrap_or_default())?;
        if others > 0 { write!(to, " and {others} more") } else { Ok(()) }
    }
}

impl DescribedTarget {
    fn flags(&self) -> Vec<String> {
        let paths = self.paths.iter().map(|path| path.display().to_string()).collect();
        flags([("--config", paths), ("--server", self.names.iter().cloned().collect())])
    }

    /// The servers by name, as a suite has them; without a name where the command takes one server.
    fn servers(&self, verb: Verb, console: &Console) -> Result<Vec<(Option<String>, Value)>, Exit> {
        let of_file = |file: &Path, name: &str| {
            (Some(name.to_owned()), json!({"config": file.display().to_string(), "name": name}))
        };
        if let [file] = self.paths.as_slice()
            && !file.is_dir()
        {
            if !self.names.is_empty() {
                return Ok(self.names.iter().map(|name| of_file(file, name)).collect());
            }
            if verb.command.takes_one_server() {
                return Ok(vec![(None, json!({"config": file.display().to_string()}))]);
            }
        }
        let mut found: IndexMap<String, FleetServer> = IndexMap::new();
        for file in files(&self.paths, console)? {
            let (sources, source) = console.read("configuration", &file, WRITTEN, None)?;
            let known = ServerFile::parse(&file, &sources, source).map_err(|found| console.refuse(&found, &sources))?;
            for (name, is_disabled) in known.names() {
                let server = FleetServer { file: file.clone(), name: name.to_owned(), is_disabled };
                let name = known.name_among_files(name);
                if let Some(other) = found.get(&name) {
                    return Err(twice(&name, &other.file, &file, console));
                }
                found.insert(name, server);
            }
        }
        if let Some(unknown) = self.names.iter().find(|name| !found.contains_key(*name)) {
            let help = nearest(unknown, found.keys().map(String::as_str)).map(|name| format!("did you mean `{name}`?"));
            let message = format!("`{self}` describes no server `{}`", visible_line(unknown));
            return Err(console.fail(Exit::Usage, message, help.as_deref()));
        }
        // Who names a server that its client leaves out means it.
        let (disabled, mut meant): (IndexMap<_, _>, IndexMap<_, _>) =
            found.into_iter().partition(|(_, server)| server.is_disabled && self.names.is_empty());
        for (name, server) in &disabled {
            console.note(&format!("`{}` is skipped: `{}` disables it", visible_line(name), server.file.display()));
        }
        meant.retain(|name, _| self.names.is_empty() || self.names.contains(name));
        if meant.is_empty() {
            let help = if disabled.is_empty() { "add one" } else { "name one of them with `--server`" };
            return Err(console.fail(Exit::Nothing, format!("`{self}` describes no server to use"), Some(help)));
        }
        if verb.command.takes_one_server() && meant.len() > 1 {
            let message =
                format!("`{self}` describes {} servers, and `{}` takes one", meant.len(), verb.command.as_str());
            return Err(console.fail(Exit::Usage, message, Some("name it with `--server`")));
        }
        let described =
            |server: &FleetServer| json!({"config": server.file.display().to_string(), "name": server.name});
        Ok(meant.into_iter().map(|(name, server)| (Some(name), described(&server))).collect())
    }
}

/// One server of the files.
struct FleetServer {
    file: PathBuf,
    /// Its name in the file.
    name: String,
    is_disabled: bool,
}

fn twice(name: &str, first: &Path, second: &Path, console: &Console) -> Exit {
    let (name, first_shown, second_shown) = (visible_line(name), first.display(), second.display());
    let is_same = real_path(first).is_ok_and(|first| real_path(second).is_ok_and(|second| first == second));
    let (message, help) = if is_same {
        (format!("`{first_shown}` is named twice"), "name each file once; a folder names all files in it")
    } else {
        let help = "rename one of them, or leave one file out: results are told apart by these names";
        (format!("`{first_shown}` and `{second_shown}` both describe a server `{name}`"), help)
    };
    console.fail(Exit::Usage, message, Some(help))
}

/// The files that paths name: those of a folder in the order of their names.
fn files(paths: &[PathBuf], console: &Console) -> Result<Vec<PathBuf>, Exit> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let unreadable = |error: std::io::Error| {
            console.fail(Exit::Usage, format!("`{}` cannot be read: {error}", path.display()), None)
        };
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let within = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path());
        let mut within: Vec<PathBuf> = within.filter(|path| path.is_file() && is_server_file(path)).collect();
        within.sort();
        if within.is_empty() {
            let message = format!("`{}` has no file that describes servers", path.display());
            return Err(console.fail(Exit::Nothing, message, Some("such files end in `.json`, `.yml` or `.yaml`")));
        }
        files.append(&mut within);
    }
    Ok(files)
}

/// Returns true if the name is that of a file of servers.
fn is_server_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["json", "yml", "yaml"].iter().any(|known| end == *known))
}

/// The file that a word names, and the server behind a colon: `mcp.json`, `mcp.json:users`, `users.yml:here`.
fn described_target(words: &[String]) -> Option<DescribedTarget> {
    let [word] = words else { return None };
    if word.contains("://") {
        return None;
    }
    let is_file = |word: &str| [".json", ".yml", ".yaml"].iter().any(|end| word.ends_with(end));
    if is_file(word) {
        return Some(DescribedTarget { paths: vec![PathBuf::from(word)], names: IndexSet::new() });
    }
    let mut colons = word.match_indices(':').map(|(at, _)| word.split_at(at));
    let (file, name) = colons.find(|(file, _)| is_file(file))?;
    Some(DescribedTarget { paths: vec![PathBuf::from(file)], names: IndexSet::from([name[1..].to_owned()]) })
}

impl AdHocServer {
    /// Declares that the servers' data may be changed.
    pub(crate) fn set_scratch(&mut self) {
        self.servers.iter_mut().for_each(|(_, server)| server["scratch"] = true.into());
    }

    /// Says how servers with an address get their tokens, unless a file says it.
    pub(crate) fn set_auth(&mut self, auth: &Value) {
        let with_address = self.servers.iter_mut().filter(|(_, server)| server.get("url").is_some());
        for (_, server) in with_address {
            server["auth"] = auth.clone();
        }
    }

    /// Returns true if it is one server, and not several of a file.
    pub(crate) fn is_single(&self) -> bool {
        self.servers.len() == 1
    }

    /// The name of the suite.
    pub(crate) fn title(&self) -> String {
        format!("{} of {}", self.command.as_str(), self.shown)
    }

    /// The suite, as somebody might have written it: the servers and `members`; `flags` are those of the command alone.
    pub(crate) fn suite(self, members: Map<String, Value>, flags: &[String]) -> AdHocSuite {
        let title = self.title();
        let Self { command, servers, shown, is_described, hidden, flags: own } = self;
        let name = command.as_str();
        let is_program = servers.iter().any(|(_, server)| server.get("command").is_some());
        let mut suite = json!({"suite": title});
        for (name, server) in servers {
            match name {
                Some(name) => suite["servers"][name] = server,
                None => suite["server"] = server,
            }
        }
        if let Some(suite) = suite.as_object_mut() {
            suite.extend(members);
        }
        let flags = shell_words::join(own.iter().chain(flags));
        let target = if is_described { String::new() } else { shown };
        let asked = CommandLine { command, flags, target, is_program };
        // JSON is YAML, and a member a line can be quoted.
        AdHocSuite {
            name: PathBuf::from(name),
            text: legible_json(&suite),
            asked,
            tools: Vec::new(),
            found_arguments: BTreeSet::new(),
            silent_tools: BTreeSet::new(),
            hidden,
        }
    }
}

/// Flags with values, one after the other, as they are typed.
pub(crate) fn flags<const N: usize>(named: [(&str, Vec<String>); N]) -> Vec<String> {
    let each = named.into_iter();
    each.flat_map(|(flag, values)| values.into_iter().flat_map(move |value| [flag.to_owned(), value])).collect()
}

/// A header or a variable.
struct NamedValue {
    name: String,
    value: String,
}

fn pair(text: &str, mark: char) -> Option<NamedValue> {
    let (name, value) = text.split_once(mark)?;
    Some(NamedValue { name: name.trim().to_owned(), value: value.trim().to_owned() })
}

impl NamedValue {
    fn into_member(self) -> (String, Value) {
        (self.name, self.value.into())
    }

    /// True if the value must not be printed; one that is read from the environment is only named.
    fn is_hidden(&self) -> bool {
        !self.value.contains("{{") && is_secret(&self.name, &self.value)
    }
}

/// A word of a command is the value of a flag whose name is that of a secret, or looks drawn.
fn has_secret_word(words: &[String]) -> bool {
    let written: Vec<&str> = words.iter().map(String::as_str).collect();
    !option_secrets(&written).is_empty() || words.iter().any(|word| !word.contains('/') && reads_drawn(word))
}

/// A word as it may be printed: without credentials that are part of a URL.
fn public(word: &str) -> String {
    let bare = query_secrets(word).fold(word.to_owned(), |text, secret| text.replace(secret, TO_FILL_IN));
    match user_of(word) {
        Some(user) => bare.replacen(&format!("://{user}@"), &format!("://{TO_FILL_IN}@"), 1),
        None => bare,
    }
}

/// Refuses a mark in the place of a secret.
pub(crate) fn to_fill_in(typed: &str, console: &Console) -> Exit {
    let help = format!("replace `{TO_FILL_IN}` by the value; mcprove prints no secrets");
    console.fail(Exit::Usage, format!("`{typed}` is incomplete"), Some(&help))
}

/// Returns true if a word behind suites can only be a server: a URL, the demo, or a file of servers.
pub(crate) fn is_server(word: &str) -> bool {
    let is_url = || word.starts_with("http://") || word.starts_with("https://");
    // A file of servers may have a name behind a colon.
    word == "demo"
        || is_url()
        || word.split_once(".json").is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(':'))
}

/// Returns true if a word names a suite file.
pub(crate) fn is_suite(word: &str) -> bool {
    [".yml", ".yaml"].iter().any(|end| word.ends_with(end))
}

fn named_server(Verb { command, does, .. }: Verb, words: &[String], console: &Console) -> Result<Value, Exit> {
    let name = command.as_str();
    Ok(match words {
        [] => {
            let by_address =
                format!("write `mcprove {name} https://staging.example.com/mcp`, or `mcprove {name} suite.yml`");
            let any = format!(
                "write `mcprove {name} -- node server.js`, `mcprove {name} --url http://127.0.0.1:3000/mcp`, or `mcprove {name} --config mcp.json`"
            );
            let help = if command.is_of_person() { by_address } else { any };
            return Err(console.fail(Exit::Usage, format!("name the server to {does}"), Some(&help)));
        }
        [word] if word.starts_with("http://") || word.starts_with("https://") => json!({"url": word}),
        [word] if word == "demo" => json!({"builtin": "demo"}),
        [word] if word.contains(' ') => json!({"command": word}),
        words => json!({"command": words}),
    })
}

/// A server of a suite in the current folder as one in another folder writes it.
pub(crate) fn seen_from(folder: &Path, mut server: Value) -> Value {
    if folder.as_os_str().is_empty() {
        return server;
    }
    let is_below = folder.components().all(|part| matches!(part, Component::Normal(_)));
    let back = if is_below {
        folder.components().map(|_| "..").collect::<PathBuf>()
    } else {
        std::path::absolute(".").unwrap_or_default()
    };
    let moved = |path: &str| {
        let moved: PathBuf = back.join(path).components().collect();
        PathStyle::HERE.with_slashes(&moved.display().to_string())
    };
    if let Some(store) = server["store"].as_str().map(moved) {
        server["store"] = store.into();
    }
    if let Some(config) = server["config"].as_str().map(moved) {
        server["config"] = config.into();
    } else if server.get("command").is_some() {
        server["cwd"] = moved(server["cwd"].as_str().unwrap_or("")).into();
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_name_a_file_of_servers() {
        for (word, expected) in [
            ("mcp.json", Some(("mcp.json", None))),
            (".cursor/mcp.json:users", Some((".cursor/mcp.json", Some("users")))),
            ("C:\\a\\mcp.json:my server", Some(("C:\\a\\mcp.json", Some("my server")))),
            ("users.yml:here", Some(("users.yml", Some("here")))),
            ("node server.js", None),
            ("http://127.0.0.1/a.json:b", None),
            ("https://example.com/a.json", None),
            ("demo", None),
        ] {
            let found = described_target(&[word.to_owned()]);
            let expected = expected.map(|(file, name)| DescribedTarget {
                paths: vec![PathBuf::from(file)],
                names: name.into_iter().map(str::to_owned).collect(),
            });
            assert_eq!(found, expected, "{word}");
        }
    }

    #[test]
    fn secrets_are_seen_among_the_words_of_a_command() {
        for (command, expected) in [
            ("node s.js --api-key sk-live-0f9a8b7c6d5e4f3a2b1c", true),
            ("node s.js --token=hunter2hunter2", true),
            ("node s.js --api-key {{ env.KEY }}", false),
            ("node s.js --port 3000 --verbose", false),
            ("npx -y @modelcontextprotocol/server-memory", false),
            ("uvx mcp-server-git --repository /srv/repo", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(has_secret_word(&words), expected, "{command}");
        }
    }

    #[test]
    fn paths_are_seen_from_the_suite() {
        for (folder, server, expected) in [
            ("", json!({"command": ["node", "s.js"]}), json!({"command": ["node", "s.js"]})),
            ("a/b", json!({"command": ["node", "s.js"]}), json!({"command": ["node", "s.js"], "cwd": "../.."})),
            ("a", json!({"command": "x", "cwd": "c"}), json!({"command": "x", "cwd": "../c"})),
            (
                "a",
                json!({"command": "x", "store": "d.json"}),
                json!({"command": "x", "store": "../d.json", "cwd": ".."}),
            ),
            (
                "a",
                json!({"config": ".vscode/mcp.json", "name": "n"}),
                json!({"config": "../.vscode/mcp.json", "name": "n"}),
            ),
            ("a", json!({"url": "http://h"}), json!({"url": "http://h"})),
        ] {
            assert_eq!(seen_from(Path::new(folder), server), expected, "{folder}");
        }
    }
}
