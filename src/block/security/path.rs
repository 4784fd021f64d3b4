//! Paths that lead out of the folder that tools may read: a canary is planted outside, and asked for in every spelling.
//!
//! Only an effect counts: the canary comes back, or something appears, changes or disappears outside. A path that an
//! error repeats is none, since no request has a canary.
//!
//! Where the folder is one of the client's roots, a server that refuses a plain path to another folder and has a way out all
//! the same breaks its own rule, which is a failure. One that refuses none keeps to no root, which the specification only
//! advises: a warning. The same holds of the folder in the command of a server, but there one that refuses none is not
//! limited to it: no finding.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::SecuritySettings;
use super::outside::{OutsideFolder, end_of_replaced};
use super::probed_tool::ProbedTool;
use super::root::{AllowedFolder, FolderLimit, allowed_folder, not_limited};
use super::spelling::{PathSpelling, SpelledPath};
use crate::check::CheckEnd;
use crate::check::answer_pattern::AnswerPattern;
use crate::check::canary::Canaries;
use crate::check::evidence::shown_call;
use crate::event::{CheckResult, Exchange, Finding, Outcome, RequirementLevel};
use crate::files::real_path;
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

/// The most entries of the root among which a readable file is searched.
const MOST_ENTRIES: usize = 200;

/// The most ways out that are named.
const MOST_WAYS: usize = 5;

/// Repetitions of a valid call while a server may still be reading the client's roots, and the time between them.
const ROOTS_TRIES: usize = 5;
const ROOTS_WAIT: Duration = Duration::from_millis(100);

/// The subject of a check that is about no tool.
const RESOURCES: &str = "resources/read";

/// The most templates of resources that are tried.
const MOST_TEMPLATES: usize = 8;

/// A tool, or the resources of a server, and paths out of a folder.
#[derive(Debug)]
pub(crate) struct PathCheck {
    pub(crate) settings: Arc<SecuritySettings>,
    /// `None` for resources.
    pub(crate) tool: Option<String>,
}

impl Check for PathCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// A parameter takes paths if its name says so.
pub(crate) fn is_path(parameter: &Parameter<'_>) -> bool {
    is_path_name(parameter.name())
}

fn is_path_name(name: &str) -> bool {
    let words = words(name);
    let ends = [words.first(), words.last()];
    ends.into_iter().flatten().any(|word| PATH_WORDS.contains(&word.as_str()))
}

async fn run(check: &PathCheck, context: &CheckContext<'_>) -> CheckResult {
    let settings = &check.settings;
    let AllowedFolder { path: root, limit } = match allowed_folder(context, settings) {
        Ok(allowed) => allowed,
        Err(result) => return *result,
    };
    let subject = check.tool.as_deref().unwrap_or(RESOURCES);
    let mut probed = match ProbedTool::begin(context, settings, subject).await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let is_scratch = context.suite.servers.get(context.server_name).is_some_and(|server| server.scratch);
    let parameters = probed.parameters(is_path);
    let ending = parameters.iter().find_map(|parameter| ending(parameter.text()?)).or_else(|| first_ending(&root));
    let ending = ending.as_deref().unwrap_or(".txt");
    let outside = OutsideFolder::plant(&root, ending, is_scratch);
    let unrelated = (limit != FolderLimit::Suite).then(|| OutsideFolder::plant_unrelated(&root, ending)).transpose();
    let (outside, unrelated) = match (outside, unrelated) {
        (Ok(outside), Ok(unrelated)) => (outside, unrelated),
        (Err(error), _) | (_, Err(error)) => {
            let why = format!("no canary could be planted beside `{}`: {error}", root.display());
            let ended = probed.end(None, "").await;
            let unproven = CheckResult::inconclusive(why);
            return if ended.outcome == Outcome::Failed { ended } else { as_asked(unproven, limit) };
        }
    };
    let mut search = PathSearch {
        root: &root,
        limit,
        outside,
        unrelated,
        copy: None,
        no_control: None,
        attacks: 0,
        is_in_index: false,
        is_root_served: false,
        is_unlimited: false,
        probed: &mut probed,
    };
    let halt = match check.tool {
        Some(_) => search.in_tool().await,
        None => search.in_resources().await,
    };
    search.report_replacement();
    let proof = SearchProof {
        is_limited: search.is_limited(),
        is_root_served: search.is_root_served,
        unproven: search.no_control.take().or_else(|| search.no_attack()),
    };
    drop(search);
    let passed = format!("nothing from outside of {} came back or was touched", limit.as_str());
    let result = probed.end(halt.err(), &passed).await;
    as_asked(proof.weigh(result, subject, limit), limit)
}

/// A result without a verdict counts only where somebody asked for one: nobody said that the folder of a command is a limit.
fn as_asked(result: CheckResult, limit: FolderLimit) -> CheckResult {
    match (limit, result.outcome) {
        (FolderLimit::Command, Outcome::Inconclusive) => CheckResult { outcome: Outcome::Skipped, ..result },
        _ => result,
    }
}

/// The facts that decide whether a search without a finding proves anything.
struct SearchProof {
    /// The server may use some folders and no others.
    is_limited: bool,
    /// A path in the folder was served.
    is_root_served: bool,
    /// Why no attack shows anything.
    unproven: Option<String>,
}

impl SearchProof {
    /// The result, which is no pass where nothing was proven; what was found stays.
    fn weigh(self, result: CheckResult, subject: &str, limit: FolderLimit) -> CheckResult {
        let has_passed = result.outcome == Outcome::Passed;
        if !self.is_limited && (has_passed || result.outcome == Outcome::Inconclusive) {
            not_limited(limit)
        } else if has_passed && !self.is_root_served {
            not_the_root(subject, limit, result)
        } else if let Some(why) = self.unproven.filter(|_| has_passed) {
            with_doubt(result, why)
        } else {
            result
        }
    }
}

/// The result of a case that would pass, if not for this reason.
fn with_doubt(result: CheckResult, why: String) -> CheckResult {
    CheckResult { reason: CheckResult::inconclusive(why).reason, outcome: Outcome::Inconclusive, ..result }
}

/// The result where no attack had an effect, and nothing shows that the server works in the root at all.
fn not_the_root(subject: &str, limit: FolderLimit, result: CheckResult) -> CheckResult {
    let help = match (limit, subject == RESOURCES) {
        (FolderLimit::Suite, false) => "name the folder that the server uses, or give a path in it under `arguments:`",
        (FolderLimit::Suite, true) => "name the folder that the server uses",
        (FolderLimit::Client, false) => "give a path in one of them under `arguments:`",
        (FolderLimit::Client, true) | (FolderLimit::Command, _) => {
            "name the folder that the server uses under `security: { root: … }`"
        }
    };
    let why = format!("`{subject}` served nothing below {}, so that no attack shows anything; {help}", limit.as_str());
    with_doubt(result, why)
}

/// A file that is not there, in the folder and of the kind of another one.
fn missing_beside(path: &str) -> String {
    let above = path.rfind(['/', '\\']).map_or("", |at| &path[..=at]);
    format!("{above}missing-{}{}", Canaries::random().make(), ending(path).unwrap_or_default())
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
    limit: FolderLimit,
    outside: OutsideFolder,
    /// A folder that shows whether the server keeps to the limit at all; only where the suite does not say so.
    unrelated: Option<OutsideFolder>,
    /// A copy of a file inside that the tool serves.
    copy: Option<FileCopy>,
    /// The reason why answers show nothing of files outside.
    no_control: Option<String>,
    /// The attacks that were answered.
    attacks: usize,
    /// An attack was seen to put something outside into the index of the repository in the root.
    is_in_index: bool,
    /// The server served a path that leads to the root.
    is_root_served: bool,
    /// The server also served a folder that has nothing to do with the one in its command.
    is_unlimited: bool,
    probed: &'a mut ProbedTool<'b>,
}

/// A copy of a served file outside, and how the server answers the file itself.
struct FileCopy {
    /// The name of the copy.
    name: String,
    /// The path of the file as it is sent.
    path: String,
    /// The answers to that; `None` for a tool that may write.
    pattern: Option<AnswerPattern>,
}

impl FileCopy {
    /// An answer shows the file, whatever path it repeats.
    fn is_shown(&self, answer: &Value, sent: &str) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.matches_echo(answer, sent, &self.path))
    }
}

impl PathSearch<'_, '_> {
    /// The limit binds the server; the client's roots bind only servers that ask for them.
    fn is_limited(&self) -> bool {
        match self.limit {
            FolderLimit::Suite => true,
            FolderLimit::Client => self.probed.has_given_roots(),
            FolderLimit::Command => !self.is_unlimited,
        }
    }

    async fn in_tool(&mut self) -> Result<(), CheckEnd> {
        let only_reads = self.tool_only_reads();
        let mut is_served = self.call_in_root(only_reads).await?;
        // A server may still be reading the client's roots.
        for _ in 0..ROOTS_TRIES {
            if is_served || self.limit != FolderLimit::Client || !self.is_limited() {
                break;
            }
            tokio::time::sleep(ROOTS_WAIT).await;
            is_served = self.call_in_root(only_reads).await?;
        }
        if !is_served {
            self.probed.end_if_lacking()?;
        }
        if !self.is_limited() {
            return Ok(());
        }
        for parameter in self.probed.parameters(is_path) {
            if self.is_unlimited {
                break;
            }
            self.plant_copy(&parameter, only_reads).await?;
            let paths = self.spellings(parameter.text(), only_reads);
            self.attack(Some(&parameter), &paths, &self.unrelated_paths(only_reads)).await?;
        }
        Ok(())
    }

    /// Tries paths in one argument, or as addresses of resources, and reports those that led outside. `unrelated` lead to
    /// the folder that shows whether the server keeps to the client's roots at all.
    async fn attack(
        &mut self,
        argument: Option<&Parameter<'_>>,
        paths: &[SpelledPath],
        unrelated: &[SpelledPath],
    ) -> Result<(), CheckEnd> {
        let mut escapes = PathEscapes::default();
        let sent = self.send_all(argument, paths, &mut escapes).await;
        let Some(first) = escapes.first else { return sent };
        let mut level = RequirementLevel::Must;
        if self.limit != FolderLimit::Suite {
            // A server learns the roots while it works, so a first answer may come too early for them.
            if sent.is_err() || !self.leads_out(argument, &first.path).await? {
                return sent;
            }
            for path in unrelated {
                if self.leads_to_unrelated(argument, &path.text).await? {
                    level = RequirementLevel::Should;
                    break;
                }
            }
        }
        if self.limit == FolderLimit::Command && level == RequirementLevel::Should {
            self.is_unlimited = true;
            return sent;
        }
        self.report(first, &escapes.spellings, argument.map(Parameter::name), level);
        sent
    }

    async fn send_all(
        &mut self,
        argument: Option<&Parameter<'_>>,
        paths: &[SpelledPath],
        escapes: &mut PathEscapes,
    ) -> Result<(), CheckEnd> {
        for path in paths {
            let reply = self.send(argument, &path.text).await;
            let seen = reply.as_ref().ok().and_then(Option::as_ref);
            let effect = self.effect(&path.text, seen);
            self.attacks += usize::from(seen.is_some());
            self.is_in_index |= effect.is_some() && self.outside.is_in_index(self.root);
            if effect.is_some() || reply.is_err() {
                let _ = self.outside.folder.restore();
            }
            if let Some(effect) = effect {
                escapes.note(path, effect, seen);
            }
            reply?;
        }
        Ok(())
    }

    /// Sends one path; `None` where the schema has no place for it, or the answer cannot be read.
    async fn send(&mut self, argument: Option<&Parameter<'_>>, path: &str) -> Result<Option<SessionReply>, CheckEnd> {
        // The server would carry out the attack wherever the path leads by now.
        if let Some(replacement) = self.replacement() {
            return Err(end_of_replaced(replacement));
        }
        match argument {
            None => self.probed.request("resources/read", json!({"uri": path})).await,
            Some(argument) => match argument.with(&json!(path)) {
                Some(arguments) => self.probed.call(&arguments).await,
                None => Ok(None),
            },
        }
    }

    /// The reason why a case without an answered attack shows nothing.
    fn no_attack(&self) -> Option<String> {
        let subject = self.probed.subject();
        let why =
            || format!("no attack on `{subject}` was answered: the schema takes none, or the answers cannot be read");
        (self.attacks == 0 && self.is_limited()).then(why)
    }

    /// The trace of a path that led outside, in words.
    fn effect(&self, sent: &str, reply: Option<&SessionReply>) -> Option<String> {
        let answer = reply.map(|reply| &*reply.message);
        let copy = self.copy.as_ref().filter(|copy| answer.is_some_and(|answer| copy.is_shown(answer, sent)));
        let of_copy =
            |copy: &FileCopy| format!("the answer is that to `{}`, of which `{}` is a copy", copy.path, copy.name);
        let is_new = !self.is_in_index && self.outside.is_in_index(self.root);
        let of_index = || is_new.then(|| "the index of the repository has an entry of the folder outside".to_owned());
        self.outside.effect(answer).or_else(of_index).or_else(|| copy.map(of_copy))
    }

    /// Plants a copy of the file that the tool serves at the valid value of a parameter, and makes the control: a file
    /// that is not there must be answered in another way.
    async fn plant_copy(&mut self, parameter: &Parameter<'_>, only_reads: bool) -> Result<(), CheckEnd> {
        self.copy = None;
        let Some(path) = parameter.text().map(str::to_owned) else { return Ok(()) };
        let Some(file) = self.in_root(&path).filter(|file| file.is_file()) else { return Ok(()) };
        let name = match self.outside.plant_copy(&file, &ending(&path).unwrap_or_default()) {
            Ok(name) => name,
            Err(error) => {
                self.no_control = Some(format!(
                    "no copy of `{path}` could be planted outside, so a file of its kind was not tried: {error}"
                ));
                return Ok(());
            }
        };
        let mut copy = FileCopy { name, path: path.clone(), pattern: None };
        if only_reads {
            let mut answers = Vec::new();
            for _ in 0..2 {
                answers.extend(self.send(Some(parameter), &path).await?.filter(SessionReply::is_served));
            }
            let [first, second] = answers.as_slice() else { return Ok(()) };
            copy.pattern = Some(AnswerPattern::of(&first.message, &second.message));
            let missing = missing_beside(&path);
            let answer = self.send(Some(parameter), &missing).await?;
            if answer.is_some_and(|answer| copy.is_shown(&answer.message, &missing)) {
                copy.pattern = None;
                self.no_control = Some(format!(
                    "`{missing}`, which does not exist, is answered like `{path}`, so answers show nothing of files"
                ));
            }
        }
        self.copy = Some(copy);
        Ok(())
    }

    async fn leads_out(&mut self, argument: Option<&Parameter<'_>>, path: &str) -> Result<bool, CheckEnd> {
        let reply = self.send(argument, path).await?;
        let is_out = self.effect(path, reply.as_ref()).is_some();
        let _ = self.outside.folder.restore();
        Ok(is_out)
    }

    async fn leads_to_unrelated(&mut self, argument: Option<&Parameter<'_>>, path: &str) -> Result<bool, CheckEnd> {
        let reply = self.send(argument, path).await?;
        let Some(unrelated) = &mut self.unrelated else { return Ok(false) };
        let is_there = unrelated.effect(reply.as_ref().map(|reply| &*reply.message)).is_some();
        let _ = unrelated.folder.restore();
        Ok(is_there)
    }

    /// The kind of a file that is in the place of a folder with canaries.
    fn replacement(&self) -> Option<&'static str> {
        let mut folders = std::iter::once(&self.outside).chain(&self.unrelated);
        folders.find_map(|outside| outside.folder.replacement())
    }

    /// Only the server knows of the folder, whatever call had it replaced.
    fn report_replacement(&mut self) {
        let Some(replacement) = self.replacement() else { return };
        let subject = self.probed.subject();
        let message = format!("a folder outside was replaced by {replacement} while `{subject}` was attacked");
        let mut found = Finding::new("path-escape", message);
        found.help =
            Some("the replacement is left as it is, and the attack ended; look at what the server did".to_owned());
        self.probed.note(found, None);
    }

    fn tool_only_reads(&self) -> bool {
        let name = self.probed.subject();
        self.probed.context.catalog.tool(&name).is_none_or(Tool::only_reads)
    }

    /// Calls the tool validly, within the root if possible; whether it served a call.
    async fn call_in_root(&mut self, only_reads: bool) -> Result<bool, CheckEnd> {
        let base = self.probed.base.clone();
        let is_served = self.probed.call_validly(base).await?;
        self.is_root_served =
            is_served && self.probed.parameters(is_path).iter().any(|parameter| self.leads_to_root(parameter));
        // A tool that writes would write to a file of the user's.
        if !self.is_root_served && (only_reads || !is_served) {
            self.find_valid_call().await?;
        }
        Ok(is_served || self.is_root_served)
    }

    /// Tries a file within the root, absolute and relative, where the arguments that are known are refused.
    async fn find_valid_call(&mut self) -> Result<(), CheckEnd> {
        let file = first_file(self.root);
        let relative = file.as_ref().and_then(|file| file.strip_prefix(self.root).ok());
        let within = [file.as_deref(), relative, Some(self.root)].into_iter().flatten();
        let within: Vec<String> = within.map(|path| path.to_string_lossy().into_owned()).collect();
        for path in within {
            let mut arguments = self.probed.base.clone();
            for parameter in self.probed.parameters(is_path) {
                parameter.put_into(&mut arguments, &json!(path));
            }
            if self.probed.call_validly(arguments).await? {
                self.is_root_served = true;
                break;
            }
        }
        Ok(())
    }

    /// The valid value of a parameter is the root, or something in it that exists.
    fn leads_to_root(&self, parameter: &Parameter<'_>) -> bool {
        let Some(path) = parameter.text() else { return false };
        // A tool that takes addresses of pages has nothing to do in the root, and refuses files for good reason.
        self.in_root(path).is_some() || path.contains("://") && !path.starts_with("file:")
    }

    /// The place in the root where a path leads.
    fn in_root(&self, path: &str) -> Option<PathBuf> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        // The server chooses where relative paths begin.
        let server = self.probed.context.suite.servers.get(self.probed.context.server_name);
        let beginnings = [Some(self.root), self.root.parent(), server.map(|server| server.folder.as_path())];
        let mut paths = beginnings.into_iter().flatten().map(|beginning| beginning.join(path));
        paths.find_map(|path| real_path(path).ok().filter(|found| found.starts_with(self.root)))
    }

    fn spellings(&self, valid: Option<&str>, only_reads: bool) -> Vec<SpelledPath> {
        let of = |file| PathSpelling { root: self.root, outside: &self.outside, file, valid };
        let (canary, copy) = (of(&self.outside.file), self.copy.as_ref().map(|copy| of(&copy.name)));
        match (only_reads, copy) {
            (true, None) => canary.of_reads(),
            (true, Some(copy)) => [canary.of_reads(), copy.of_file()].concat(),
            (false, None) => canary.of_writes(),
            (false, Some(copy)) => [canary.of_writes(), copy.of_writes()].concat(),
        }
    }

    /// Plain paths to the folder that has nothing to do with the root.
    fn unrelated_paths(&self, only_reads: bool) -> Vec<SpelledPath> {
        let unrelated = self.unrelated.as_ref().map(|outside| PathSpelling {
            root: self.root,
            outside,
            file: &outside.file,
            valid: None,
        });
        unrelated.map(|spelled| spelled.of_unrelated(only_reads)).unwrap_or_default()
    }

    fn report(
        &mut self,
        first: PathEscape,
        spellings: &[&'static str],
        argument: Option<&str>,
        level: RequirementLevel,
    ) {
        let found = finding(&self.probed.subject(), argument, self.limit, level, &first);
        self.probed.note(found.with_evidence("ways out", first_ways(spellings)), first.call);
    }

    /// Reads addresses of resources that nobody listed.
    async fn in_resources(&mut self) -> Result<(), CheckEnd> {
        let listed = &self.probed.context.catalog.resources;
        let listed = listed.iter().filter_map(|resource| resource["uri"].as_str().map(str::to_owned));
        let file = first_file(self.root);
        let file = file.as_ref().and_then(|file| file.strip_prefix(self.root).ok()).unwrap_or(Path::new(""));
        let filled = self.template_beginnings().into_iter().map(|beginning| format!("{beginning}{}", file.display()));
        let valid: Vec<String> = listed.take(MOST_TEMPLATES).chain(filled).collect();
        let names_paths = self.templates().any(names_paths);
        for uri in valid {
            let reply = self.probed.request("resources/read", json!({"uri": uri})).await?;
            let is_served = reply.as_ref().is_some_and(|reply| reply.message.get("result").is_some());
            self.probed.note_valid(reply.as_ref(), is_served);
            self.is_root_served |= is_served && (!names_paths || self.is_in_root(&uri));
            if self.is_root_served {
                break;
            }
        }
        if !self.is_limited() {
            return Ok(());
        }
        let paths = self.addresses(&self.spellings(None, true));
        let unrelated = self.addresses(&self.unrelated_paths(true));
        self.attack(None, &paths, &unrelated).await
    }

    fn templates(&self) -> impl Iterator<Item = &str> {
        let templates = self.probed.context.catalog.resource_templates.iter();
        templates.filter_map(|template| template["uriTemplate"].as_str())
    }

    /// An address ends with the path of something in the root.
    fn is_in_root(&self, uri: &str) -> bool {
        let ends = uri.match_indices('/').map(|(at, _)| &uri[at + 1..]).filter(|end| !end.trim_matches('/').is_empty());
        ends.into_iter().any(|end| self.root.join(end.trim_start_matches('/')).exists())
    }

    /// The templates up to their first variable.
    fn template_beginnings(&self) -> Vec<String> {
        let beginnings = self.templates().take(MOST_TEMPLATES).filter_map(|template| template.split('{').next());
        beginnings.map(str::to_owned).collect()
    }

    /// Addresses of resources for paths: those that are addresses, and the others in every template.
    fn addresses(&self, paths: &[SpelledPath]) -> Vec<SpelledPath> {
        addresses(&self.template_beginnings(), paths)
    }
}

/// A template is about files if its scheme or the names of its variables say so; others say nothing about the root.
fn names_paths(template: &str) -> bool {
    let variables = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    template.starts_with("file:") || variables.flat_map(|names| names.split(',')).any(is_path_name)
}

fn addresses(beginnings: &[String], paths: &[SpelledPath]) -> Vec<SpelledPath> {
    let (files, others): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|path| path.text.starts_with("file:"));
    let filled = beginnings.iter().flat_map(|beginning| {
        others.iter().map(move |path| SpelledPath { text: format!("{beginning}{}", path.text), ..*path })
    });
    let filled: Vec<SpelledPath> = filled.collect();
    [files, filled].concat()
}

/// The finding about a path that led outside; `level` says whether the server keeps to a limit at all.
fn finding(
    subject: &str,
    argument: Option<&str>,
    limit: FolderLimit,
    level: RequirementLevel,
    first: &PathEscape,
) -> Finding {
    let at = argument.map(|name| format!(" by its argument `{name}`")).unwrap_or_default();
    let is_confined = level == RequirementLevel::Must;
    let (message, place) = match limit {
        FolderLimit::Suite => (format!("`{subject}` leaves the folder that it may use{at}"), "beside `root`"),
        FolderLimit::Client if is_confined => (format!("`{subject}` leaves the client's roots{at}"), "beside the root"),
        FolderLimit::Client => (format!("`{subject}` does not keep to the client's roots{at}"), "beside the root"),
        FolderLimit::Command => {
            (format!("`{subject}` leaves the folder of the server's command{at}"), "beside that folder")
        }
    };
    let help = if is_confined {
        "resolve the path with its links, and compare it with the folder name by name, not as the beginning of a text"
    } else {
        "check every path against the roots that the client gives; `security: { root: … }` makes this a failure"
    };
    let found = Finding::new("path-escape", message)
        .with_evidence("path", first.path.clone())
        .with_evidence("effect", format!("{}; the canary is in a folder {place}", first.effect));
    Finding { level, help: Some(help.to_owned()), ..found }
}

/// The ways out that an argument has.
#[derive(Default)]
struct PathEscapes {
    spellings: Vec<&'static str>,
    first: Option<PathEscape>,
}

/// A path that led outside.
struct PathEscape {
    path: String,
    effect: String,
    call: Option<Exchange>,
}

impl PathEscapes {
    fn note(&mut self, path: &SpelledPath, effect: String, reply: Option<&SessionReply>) {
        if !self.spellings.contains(&path.kind) {
            self.spellings.push(path.kind);
        }
        self.first.get_or_insert_with(|| PathEscape { path: path.text.clone(), effect, call: reply.map(shown_call) });
    }
}

/// The first ways of a list, so that each is legible.
fn first_ways(ways: &[&'static str]) -> String {
    let shown = ways[..ways.len().min(MOST_WAYS)].join(", ");
    if ways.len() > MOST_WAYS { format!("{shown} and {} more", ways.len() - MOST_WAYS) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_without_a_finding_is_a_pass_only_where_it_proves_something() {
        use Outcome::{Failed, Inconclusive, Passed, Skipped};
        let why = || Some("no attack could be made".to_owned());
        for (what, found, is_limited, is_root_served, unproven, expected) in [
            ("everything was tried", Passed, true, true, None, Passed),
            ("nothing in the folder was served", Passed, true, false, None, Inconclusive),
            ("no attack was made", Passed, true, true, why(), Inconclusive),
            ("the server has no limit", Passed, false, true, None, Skipped),
            ("no limit, and no valid call", Inconclusive, false, false, why(), Skipped),
            ("no valid call", Inconclusive, true, false, why(), Inconclusive),
            ("a way out", Failed, true, false, why(), Failed),
            ("a way out of a folder that is no limit", Failed, false, false, None, Failed),
        ] {
            for (subject, limit) in [("read", FolderLimit::Suite), (RESOURCES, FolderLimit::Client)] {
                let unproven = unproven.clone();
                let proof = SearchProof { is_limited, is_root_served, unproven };
                let result = proof.weigh(CheckResult::new(found), subject, limit);
                assert_eq!(result.outcome, expected, "{what}");
            }
        }
    }

    #[test]
    fn the_folder_of_a_command_is_no_limit_that_anybody_asked_for() {
        use Outcome::{Failed, Inconclusive, Passed, Skipped};
        for (found, expected) in [(Passed, Passed), (Failed, Failed), (Inconclusive, Skipped)] {
            let asked = |limit| as_asked(CheckResult::new(found), limit).outcome;
            assert_eq!(asked(FolderLimit::Command), expected, "{found:?}");
            assert_eq!(asked(FolderLimit::Suite), found, "{found:?}");
        }
    }

    #[test]
    fn a_missing_file_is_beside_the_valid_one() {
        for (path, above, end) in
            [("a/b/c.docx", "a/b/missing-", ".docx"), ("c", "missing-", ""), ("C:\\d.md", "C:\\missing-", ".md")]
        {
            let missing = missing_beside(path);
            assert!(missing.starts_with(above) && missing.ends_with(end), "{missing}");
        }
    }

    #[test]
    fn endings_are_those_of_names() {
        assert_eq!(ending("notes.d/today.md"), Some(".md".to_owned()));
        assert_eq!(ending("notes.d/today"), None);
        assert_eq!(ending(".profile"), None);
        assert_eq!(ending("a. b"), None);
    }

    fn spelled(kind: &'static str, text: &str) -> SpelledPath {
        SpelledPath { kind, text: text.to_owned() }
    }

    #[test]
    fn a_way_out_of_roots_is_a_failure_only_for_a_server_that_keeps_to_them() {
        use RequirementLevel::{Must, Should};
        let effect = "the answer shows `canary`".to_owned();
        let first = PathEscape { path: "../x".to_owned(), effect, call: None };
        for (limit, level, expected) in [
            (FolderLimit::Suite, Must, "`read` leaves the folder that it may use by its argument `path`"),
            (FolderLimit::Client, Must, "`read` leaves the client's roots by its argument `path`"),
            (FolderLimit::Client, Should, "`read` does not keep to the client's roots by its argument `path`"),
            (FolderLimit::Command, Must, "`read` leaves the folder of the server's command by its argument `path`"),
        ] {
            let found = finding("read", Some("path"), limit, level, &first);
            assert_eq!((found.message.as_str(), found.level), (expected, level));
        }
    }

    #[test]
    fn a_list_of_ways_out_stays_legible() {
        let mut escapes = PathEscapes::default();
        for kind in ["a link", "`..`", "a link", "two slashes"] {
            escapes.note(&spelled(kind, "p"), "seen".to_owned(), None);
        }
        assert_eq!(first_ways(&escapes.spellings), "a link, `..`, two slashes", "each once");
        assert_eq!(first_ways(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }

    #[test]
    fn paths_are_known_by_the_first_or_the_last_word() {
        for (name, expected) in [
            ("path", true),
            ("filePath", true),
            ("source_document", true),
            ("fileCount", true),
            ("max_files_total", false),
            ("profile", false),
            ("message", false),
        ] {
            assert_eq!(is_path_name(name), expected, "{name}");
        }
    }

    #[test]
    fn templates_say_by_scheme_or_variable_that_they_are_about_files() {
        for (template, expected) in [
            ("file:///{+rest}", true),
            ("notes://{path}", true),
            ("notes://{id,filename}", true),
            ("users://{id}", false),
            ("users://all", false),
        ] {
            assert_eq!(names_paths(template), expected, "{template}");
        }
        let paths = [spelled("`..`", "../x"), spelled("a `file:` address", "file:///x")];
        let made = addresses(&["notes://".to_owned(), "docs://a/".to_owned()], &paths);
        let texts: Vec<&str> = made.iter().map(|path| path.text.as_str()).collect();
        assert_eq!(texts, ["file:///x", "notes://../x", "docs://a/../x"]);
    }

    #[test]
    fn an_answer_shows_a_copy_if_it_is_that_to_the_file_itself() {
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        let (first, second) = (text("plan.md: buy milk (read 1)"), text("plan.md: buy milk (read 2)"));
        let copy = |pattern| FileCopy { name: "canary.md".to_owned(), path: "plan.md".to_owned(), pattern };
        for (what, pattern, answer, expected) in [
            ("the same text", Some(AnswerPattern::of(&first, &second)), text("plan.md: buy milk (read 7)"), true),
            ("the path that was sent", Some(AnswerPattern::of(&first, &second)), text("../x: buy milk (read 7)"), true),
            ("another text", Some(AnswerPattern::of(&first, &second)), text("../x: not found (read 7)"), false),
            ("an error", Some(AnswerPattern::of(&first, &second)), json!({"error": {"message": "../x"}}), false),
            // A tool that writes was not asked for the file.
            ("the same text of a tool that writes", None, text("plan.md: buy milk (read 7)"), false),
        ] {
            assert_eq!(copy(pattern).is_shown(&answer, "../x"), expected, "the answer is {what}");
        }
    }

    #[test]
    fn a_search_in_another_folder_says_how_to_name_the_right_one() {
        for (subject, limit, says) in [
            (
                "read",
                FolderLimit::Suite,
                "below `root`, so that no attack shows anything; name the folder that the server",
            ),
            (RESOURCES, FolderLimit::Suite, "`resources/read` served nothing below `root`"),
            ("read", FolderLimit::Client, "below the client's roots, so that no attack shows anything; give a path"),
            (RESOURCES, FolderLimit::Client, "under `security: { root: … }`"),
            ("read", FolderLimit::Command, "below the folder of its command"),
        ] {
            let result = not_the_root(subject, limit, CheckResult::new(Outcome::Passed));
            let reason = result.reason.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(result.outcome == Outcome::Inconclusive && reason.contains(says), "{reason}");
        }
    }
}
