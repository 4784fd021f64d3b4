//! Paths that lead out of the folder that tools may read: a canary is planted outside, and asked for in every spelling.
//!
//! Only an effect counts: the canary comes back, or something appears, changes or disappears outside. A path that an
//! error repeats is none, since no request has a canary.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::SecuritySettings;
use super::outside::OutsideFolder;
use super::probed_tool::{ProbeHalt, ProbedTool};
use super::spelling::{PathSpelling, SpelledPath};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::put::Parameter;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::SessionReply;
use crate::source::words;
use crate::wire::Tool;

/// Words of the names of parameters that take paths, first or last.
const PATH_WORDS: [&str; 27] = [
    "path",
    "paths",
    "filepath",
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "directory",
    "directories",
    "folder",
    "folders",
    "root",
    "uri",
    "uris",
    "url",
    "location",
    "source",
    "src",
    "destination",
    "dest",
    "target",
    "template",
    "document",
    "repo",
    "repository",
    "workspace",
];

/// How many entries of the root are looked at for a file that may be read.
const MOST_ENTRIES: usize = 200;

/// How many ways out are named.
const MOST_WAYS: usize = 5;

/// How many templates of resources are tried.
const MOST_TEMPLATES: usize = 8;

/// A tool, or the resources of a server, and paths out of a folder.
#[derive(Debug)]
pub(super) struct PathCheck {
    pub(super) settings: Arc<SecuritySettings>,
    /// `None` for resources.
    pub(super) tool: Option<String>,
}

impl Check for PathCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// Whether a parameter takes paths, by its name.
pub(super) fn is_path(parameter: &Parameter<'_>) -> bool {
    is_path_name(parameter.name())
}

fn is_path_name(name: &str) -> bool {
    let words = words(name);
    let ends = [words.first(), words.last()];
    ends.into_iter().flatten().any(|word| PATH_WORDS.contains(&word.as_str()))
}

/// The root as the suite names it, relative to the suite's folder.
fn root_folder(context: &CheckContext<'_>, settings: &SecuritySettings) -> Result<PathBuf, String> {
    let Some(root) = &settings.root else { return Err("the suite names no `root`".to_owned()) };
    let filled = (context.filled)(root).and_then(|root| root.as_str().map(str::to_owned));
    let Some(written) = filled else { return Err("`root` uses a name that only a step captures".to_owned()) };
    match fs::canonicalize(context.suite.folder.join(&written)) {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(format!("`root` names `{written}`, which is no folder")),
        Err(error) => Err(format!(
            "`root` names `{written}`, which cannot be read: {error}; write a path that is relative to the suite's folder"
        )),
    }
}

async fn run(check: &PathCheck, context: &CheckContext<'_>) -> CheckResult {
    let settings = &check.settings;
    let root = match root_folder(context, settings) {
        Ok(root) => root,
        Err(why) => return CheckResult::because(Outcome::Errored, Reason::NotEvaluated(why)),
    };
    let subject = check.tool.as_deref().unwrap_or("resources/read");
    let mut probed = match ProbedTool::begin(context, settings, subject).await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let is_scratch = context.suite.servers.get(context.server_name).is_some_and(|server| server.scratch);
    let parameters = probed.parameters(is_path);
    let ending = parameters.iter().find_map(|parameter| ending(parameter.text()?)).or_else(|| first_ending(&root));
    let outside = match OutsideFolder::plant(&root, ending.as_deref().unwrap_or(".txt"), is_scratch) {
        Ok(outside) => outside,
        Err(error) => {
            let why = format!("no canary could be planted beside `root`: {error}");
            let ended = probed.end(None, "").await;
            return if ended.outcome == Outcome::Failed { ended } else { CheckResult::inconclusive(why) };
        }
    };
    let mut search = PathSearch { root: &root, outside, is_root_served: false, probed: &mut probed };
    let halt = match check.tool {
        Some(_) => search.in_tool().await,
        None => search.in_resources().await,
    };
    let is_root_served = search.is_root_served;
    drop(search);
    let result = probed.end(halt.err(), "nothing from outside of `root` came back or was touched").await;
    if result.outcome == Outcome::Passed && !is_root_served {
        not_the_root(subject, check.tool.is_some(), result)
    } else {
        result
    }
}

/// The result where no attack had an effect, and nothing shows that the server works in the root at all.
fn not_the_root(subject: &str, is_tool: bool, result: CheckResult) -> CheckResult {
    let help = if is_tool { ", or give a path in it under `arguments:`" } else { "" };
    let why = format!(
        "`{subject}` served nothing below `root`, so that no attack shows anything; name the folder that the server \
         uses{help}"
    );
    CheckResult { reason: CheckResult::inconclusive(why).reason, outcome: Outcome::Inconclusive, ..result }
}

/// The ending of a file's name: `.md`.
fn ending(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next()?;
    let (before, after) = name.rsplit_once('.')?;
    let is_ending = !before.is_empty() && !after.is_empty() && after.chars().all(char::is_alphanumeric);
    is_ending.then(|| format!(".{after}"))
}

/// A file below a folder, by name, and folders before those in them.
fn first_file(root: &Path) -> Option<PathBuf> {
    let mut folders = vec![root.to_owned()];
    let mut looked_at = 0;
    let mut at = 0;
    while at < folders.len() && looked_at < MOST_ENTRIES {
        let mut entries: Vec<_> = fs::read_dir(&folders[at]).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        looked_at += entries.len();
        let is_hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
        for entry in entries.iter().filter(|entry| !is_hidden(entry)) {
            match entry.file_type() {
                Ok(kind) if kind.is_file() => return Some(entry.path()),
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
        at += 1;
    }
    None
}

fn first_ending(root: &Path) -> Option<String> {
    ending(&first_file(root)?.to_string_lossy())
}

/// Asks for what is outside.
struct PathSearch<'a, 'b> {
    root: &'a Path,
    outside: OutsideFolder,
    /// Whether the server served a path that leads to the root.
    is_root_served: bool,
    probed: &'a mut ProbedTool<'b>,
}

impl PathSearch<'_, '_> {
    async fn in_tool(&mut self) -> Result<(), ProbeHalt> {
        let base = self.probed.base.clone();
        let only_reads = self.tool_only_reads();
        let is_served = self.probed.call_validly(base).await?;
        self.is_root_served =
            is_served && self.probed.parameters(is_path).iter().any(|parameter| self.leads_to_root(parameter));
        // A tool that writes would write to a file of the user's.
        if !self.is_root_served && (only_reads || !is_served) {
            self.find_valid_call().await?;
        }
        for parameter in self.probed.parameters(is_path) {
            let mut escapes = PathEscapes::default();
            for spelling in self.spellings(parameter.text(), only_reads) {
                let Some(arguments) = parameter.with(&json!(spelling.text)) else { continue };
                let reply = self.probed.call(&arguments).await;
                let is_outside = self.judge(&mut escapes, &spelling, reply.as_ref().ok().and_then(Option::as_ref));
                if is_outside || reply.is_err() {
                    let _ = self.outside.folder.restore();
                }
                if let Err(halt) = reply {
                    self.report(escapes, Some(parameter.name()));
                    return Err(halt);
                }
            }
            self.report(escapes, Some(parameter.name()));
        }
        Ok(())
    }

    fn tool_only_reads(&self) -> bool {
        let name = self.probed.subject();
        self.probed.context.catalog.tool(&name).is_none_or(Tool::only_reads)
    }

    /// Tries a file within the root, absolute and relative, where the arguments that are known are refused.
    async fn find_valid_call(&mut self) -> Result<(), ProbeHalt> {
        let file = first_file(self.root);
        let relative = file.as_ref().and_then(|file| file.strip_prefix(self.root).ok());
        let within = [file.as_deref(), relative, Some(self.root)].into_iter().flatten();
        let within: Vec<String> = within.map(|path| path.to_string_lossy().into_owned()).collect();
        for path in within {
            let mut arguments = self.probed.base.clone();
            for parameter in self.probed.parameters(is_path) {
                if let Some(with) = parameter.with(&json!(path)) {
                    merge(&mut arguments, &with, parameter.name());
                }
            }
            if self.probed.call_validly(arguments).await? {
                self.is_root_served = true;
                break;
            }
        }
        Ok(())
    }

    /// Whether the valid value of a parameter is the root, or something in it that is there.
    fn leads_to_root(&self, parameter: &Parameter<'_>) -> bool {
        let Some(path) = parameter.text() else { return false };
        let path = path.strip_prefix("file://").unwrap_or(path);
        // A tool that takes addresses of pages has nothing to do in the root, and refuses files for good reason.
        if path.contains("://") {
            return true;
        }
        // Where relative paths begin is the server's choice.
        let server = self.probed.context.suite.servers.get(self.probed.context.server_name);
        let beginnings = [Some(self.root), self.root.parent(), server.map(|server| server.folder.as_path())];
        let mut paths = beginnings.into_iter().flatten().map(|beginning| beginning.join(path));
        paths.any(|path| fs::canonicalize(path).is_ok_and(|found| found.starts_with(self.root)))
    }

    fn spellings(&self, valid: Option<&str>, only_reads: bool) -> Vec<SpelledPath> {
        let spelled = PathSpelling { root: self.root, outside: &self.outside, valid };
        if only_reads { spelled.of_reads() } else { spelled.of_writes() }
    }

    /// Notes an escape, if the answer or the folder shows one.
    fn judge(&self, escapes: &mut PathEscapes, spelling: &SpelledPath, reply: Option<&SessionReply>) -> bool {
        let shown = reply.and_then(|reply| self.outside.shown_in(&reply.message.to_string()));
        let effect = match shown {
            Some(canary) => Some(format!("the answer shows `{canary}`, which is only there")),
            None => self.outside.folder.changes().into_iter().next(),
        };
        let Some(effect) = effect else { return false };
        if !escapes.spellings.contains(&spelling.kind) {
            escapes.spellings.push(spelling.kind);
        }
        escapes.first.get_or_insert_with(|| (spelling.text.clone(), effect, reply.cloned()));
        true
    }

    fn report(&mut self, escapes: PathEscapes, parameter: Option<&str>) {
        let Some((text, effect, reply)) = escapes.first else { return };
        let subject = self.probed.subject();
        let at = parameter.map(|name| format!(" by its argument `{name}`")).unwrap_or_default();
        let message = format!("`{subject}` leaves the folder that it may use{at}");
        let mut found = Finding::new("path-escape", message)
            .with_evidence("path", text)
            .with_evidence("effect", format!("{effect}; the canary is in a folder beside `root`"))
            .with_evidence("ways out", first_ways(&escapes.spellings));
        found.help = Some(
            "resolve the path with its links, and compare it with the folder name by name, not as the beginning of a text"
                .to_owned(),
        );
        self.probed.note(found, reply);
    }

    /// Reads addresses of resources that nobody listed.
    async fn in_resources(&mut self) -> Result<(), ProbeHalt> {
        let listed = &self.probed.context.catalog.resources;
        let listed = listed.iter().filter_map(|resource| resource["uri"].as_str().map(str::to_owned));
        let file = first_file(self.root);
        let file = file.as_ref().and_then(|file| file.strip_prefix(self.root).ok()).unwrap_or(Path::new(""));
        let filled = self.template_beginnings().into_iter().map(|beginning| format!("{beginning}{}", file.display()));
        let valid: Vec<String> = listed.take(MOST_TEMPLATES).chain(filled).collect();
        let names_paths = self.template_names_paths();
        for uri in valid {
            let reply = self.probed.request("resources/read", json!({"uri": uri})).await?;
            let is_served = reply.as_ref().is_some_and(|reply| reply.message.get("result").is_some());
            self.probed.note_valid(reply, is_served);
            self.is_root_served |= is_served && (!names_paths || self.is_in_root(&uri));
            if self.is_root_served {
                break;
            }
        }
        let mut escapes = PathEscapes::default();
        let result = self.read_all(&mut escapes).await;
        self.report(escapes, None);
        result
    }

    /// Whether a template is about files, by its scheme or the names of its variables; others say nothing about the root.
    fn template_names_paths(&self) -> bool {
        let templates = self.probed.context.catalog.resource_templates.iter();
        templates.filter_map(|template| template["uriTemplate"].as_str()).any(|template| {
            let variables = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            template.starts_with("file:") || variables.flat_map(|names| names.split(',')).any(is_path_name)
        })
    }

    /// Whether an address ends with the path of something in the root.
    fn is_in_root(&self, uri: &str) -> bool {
        let ends = uri.match_indices('/').map(|(at, _)| &uri[at + 1..]).filter(|end| !end.trim_matches('/').is_empty());
        ends.into_iter().any(|end| self.root.join(end.trim_start_matches('/')).exists())
    }

    /// The templates up to their first variable.
    fn template_beginnings(&self) -> Vec<String> {
        let templates = self.probed.context.catalog.resource_templates.iter().take(MOST_TEMPLATES);
        templates.filter_map(|template| Some(template["uriTemplate"].as_str()?.split('{').next()?.to_owned())).collect()
    }

    async fn read_all(&mut self, escapes: &mut PathEscapes) -> Result<(), ProbeHalt> {
        let beginnings = self.template_beginnings();
        let spellings = self.spellings(None, true);
        let files = spellings.iter().filter(|spelled| spelled.text.starts_with("file:"));
        let own = files.map(|spelled| (spelled.text.clone(), spelled));
        let filled = beginnings.iter().flat_map(|beginning| {
            let not_files = spellings.iter().filter(|spelled| !spelled.text.starts_with("file:"));
            not_files.map(move |spelled| (format!("{beginning}{}", spelled.text), spelled))
        });
        let requests: Vec<(String, &SpelledPath)> = own.chain(filled).collect();
        for (uri, spelling) in requests {
            let reply = self.probed.request("resources/read", json!({"uri": uri})).await?;
            let spelling = SpelledPath { kind: spelling.kind, text: uri };
            self.judge(escapes, &spelling, reply.as_ref());
        }
        Ok(())
    }
}

/// The ways out that a parameter has.
#[derive(Default)]
struct PathEscapes {
    spellings: Vec<&'static str>,
    /// The path, its effect, and the answer.
    first: Option<(String, String, Option<SessionReply>)>,
}

/// The first ways of a list, so that each is legible.
fn first_ways(ways: &[&'static str]) -> String {
    let shown = ways[..ways.len().min(MOST_WAYS)].join(", ");
    if ways.len() > MOST_WAYS { format!("{shown} and {} more", ways.len() - MOST_WAYS) } else { shown }
}

/// Takes over one parameter of other arguments.
fn merge(arguments: &mut Value, other: &Value, name: &str) {
    if let (Some(members), Some(value)) = (arguments.as_object_mut(), other.get(name)) {
        members.insert(name.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_those_of_names() {
        assert_eq!(ending("notes.d/today.md"), Some(".md".to_owned()));
        assert_eq!(ending("notes.d/today"), None);
        assert_eq!(ending(".profile"), None);
        assert_eq!(ending("a. b"), None);
    }
}
